//! Tests of a text with a constant: `REGEX`, `CONTAINS`, `STRSTARTS` and `STRENDS`, and comparisons of `STR(?x)`, a column at a time.
//!
//! A text is read where it is decoded to, as bytes, and not copied; of some tests only as much as tells the answer. What is looked for is
//! prepared once. Which stored strings have a text is told by their ids, whatever their languages; that no number or date has a word, by the word.

use super::comparison::CompareOp;
use super::pattern;
use super::vector::{Argument, Truth, Vector, each_row};
use crate::error::ExecError;
use crate::value::{Reader, first_word};
use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;
use memchr::memmem::Finder;
use regex::bytes::Regex;
use spargebra::algebra::Function;
use std::sync::OnceLock;

/// The bytes that literals whose ids tell their values are written with: numbers, dates, times, durations, `true` and `false`.
pub const INLINE_BYTES: &[u8] = b"0123456789+-.:TZPDHMSEINFNaetrufls";

/// What a text is asked.
pub enum TextTest {
    /// Whether a pattern matches.
    Pattern(Regex),
    /// Whether it has this part.
    Contains(Box<Finder<'static>>),
    /// Whether it begins so.
    Starts {
        /// How.
        part: String,
        /// Its characters.
        characters: usize,
        /// Its first bytes, if they tell.
        first: Option<FirstBytes>,
    },
    /// Whether it ends so.
    Ends(String),
    /// How it compares with a text.
    Order {
        /// The operator.
        op: CompareOp,
        /// The text on its right.
        text: String,
        /// The characters of that, and one more, which tells whether a longer text goes on.
        characters: usize,
        /// The ids of all stored strings that are this text, ascending, once they are asked for.
        stored: OnceLock<Vec<TermId>>,
    },
}

/// The first bytes of a part that texts may begin with.
#[derive(Clone, Copy)]
pub struct FirstBytes {
    /// As [`Reader::string_word`] gives those of a text.
    word: u128,
    /// The bits that count.
    mask: u128,
    /// Whether these bytes are the whole part.
    are_all: bool,
}

impl FirstBytes {
    /// Those of a part; `None` of one with a zero, which the word of a shorter text might have.
    fn of(part: &str) -> Option<Self> {
        const BYTES: usize = size_of::<u128>();
        let bytes = part.as_bytes();
        let unused = 8 * (BYTES - bytes.len().min(BYTES)) as u32;
        (!bytes.contains(&0)).then(|| Self {
            word: first_word(bytes),
            mask: u128::MAX.checked_shl(unused).unwrap_or(0),
            are_all: bytes.len() <= BYTES,
        })
    }

    /// Whether a text with this word begins with the part, if that is told.
    #[inline]
    fn tell(self, word: u128) -> Option<bool> {
        match (word ^ self.word) & self.mask {
            0 => self.are_all.then_some(true),
            _ => Some(false),
        }
    }
}

impl TextTest {
    /// The test of a function for a part without a language, if it is one of those that look for a part.
    pub fn of(function: &Function, part: &str) -> Option<Self> {
        Some(match function {
            Function::Contains => Self::Contains(Box::new(Finder::new(part).into_owned())),
            Function::StrStarts => Self::Starts {
                part: part.to_owned(),
                characters: part.chars().count(),
                first: FirstBytes::of(part),
            },
            Function::StrEnds => Self::Ends(part.to_owned()),
            _ => return None,
        })
    }

    /// A comparison with a text.
    pub fn order(op: CompareOp, text: &str) -> Self {
        Self::Order {
            op,
            text: text.to_owned(),
            characters: text.chars().count() + 1,
            stored: OnceLock::new(),
        }
    }

    /// Whether a stored string equals the text, if that is what is asked: its id tells.
    #[inline]
    fn by_id(&self, id: TermId, reader: &Reader<'_>) -> Option<bool> {
        let Self::Order {
            op: CompareOp::Equal,
            text,
            stored,
            ..
        } = self
        else {
            return None;
        };
        let dictionary = || reader.context().snapshot().dictionary();
        let stored = stored.get_or_init(|| dictionary().find_in_all_languages(text));
        Some(stored.binary_search(&id).is_ok())
    }

    /// Whether a stored string begins with the part, if that is what is asked and its first bytes tell.
    #[inline]
    fn by_first(&self, id: u64, reader: &mut Reader<'_>) -> Result<Option<bool>, ExecError> {
        match self {
            Self::Starts {
                first: Some(first), ..
            } => Ok(reader.string_word(id)?.and_then(|word| first.tell(word))),
            _ => Ok(None),
        }
    }

    #[inline]
    fn holds(&self, text: &[u8]) -> bool {
        match self {
            Self::Pattern(regex) => pattern::matches_bytes(regex, text),
            Self::Contains(finder) => finder.find(text).is_some(),
            Self::Starts { part, .. } => text.starts_with(part.as_bytes()),
            Self::Ends(part) => text.ends_with(part.as_bytes()),
            Self::Order {
                op, text: other, ..
            } => op.accepts(text.cmp(other.as_bytes())),
        }
    }

    /// Whether no literal whose id tells its value passes, as what it would have to have is no part of such.
    fn fails_inline(&self) -> bool {
        let part = match self {
            Self::Contains(finder) => finder.needle(),
            Self::Starts { part, .. } | Self::Ends(part) => part.as_bytes(),
            Self::Order {
                op: CompareOp::Equal,
                text,
                ..
            } => text.as_bytes(),
            Self::Pattern(_) | Self::Order { .. } => return false,
        };
        part.iter().any(|byte| !INLINE_BYTES.contains(byte))
    }

    /// As many characters as tell whether a text passes.
    fn characters(&self) -> usize {
        match self {
            Self::Starts { characters, .. } | Self::Order { characters, .. } => *characters,
            _ => usize::MAX,
        }
    }

    /// The answers in each of `count` rows; with `of_str` the text is `STR` of the rows, else anything but a string is an error.
    pub fn column(
        &self,
        of_str: bool,
        text: &Vector<'_>,
        count: usize,
        reader: &mut Reader<'_>,
    ) -> Result<Vec<Truth>, ExecError> {
        let fails_inline = of_str && self.fails_inline();
        each_row(count, |row| match text.get(row) {
            Argument::Id(id) if fails_inline && TermId(id).is_inline() => Ok(Truth::False),
            text => Ok(self.of_one(of_str, text, reader)?.into()),
        })
    }

    fn of_one(
        &self,
        of_str: bool,
        text: Argument<'_>,
        reader: &mut Reader<'_>,
    ) -> Result<Option<bool>, ExecError> {
        Ok(match (text, of_str) {
            (Argument::Id(id), false) => {
                let told = self.by_first(id, reader)?;
                if told.is_some() {
                    return Ok(told);
                }
                let text = reader.string_bytes(id, self.characters())?;
                text.map(|text| self.holds(text))
            }
            (Argument::Id(id), true) => {
                let is_string = matches!(TermId(id).tag(), tag::STRING | tag::LANGUAGE);
                let told = match is_string.then(|| self.by_id(TermId(id), reader)).flatten() {
                    None => self.by_first(id, reader)?,
                    told => told,
                };
                if told.is_some() {
                    return Ok(told);
                }
                let text = match is_string {
                    true => reader.string_bytes(id, self.characters())?,
                    false => reader.text_bytes(id)?,
                };
                text.map(|text| self.holds(text))
            }
            (other, false) => {
                let string = other.string(reader)?;
                string.map(|string| self.holds(string.lexical.as_bytes()))
            }
            (other, true) => other.text(reader)?.map(|text| self.holds(text.as_bytes())),
        })
    }
}
