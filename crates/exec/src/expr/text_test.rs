//! Tests of a text with a constant: `REGEX`, `CONTAINS`, `STRSTARTS` and `STRENDS`, a column at a time.
//!
//! A text is read where it is decoded to, as bytes, and not copied. What is looked for is prepared once.

use super::vector::{Argument, Truth, Vector, each_row};
use crate::error::ExecError;
use crate::value::Reader;
use memchr::memmem::Finder;
use regex::bytes::Regex;
use spargebra::algebra::Function;

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
    },
    /// Whether it ends so.
    Ends(String),
}

impl TextTest {
    /// The test of a function for a part without a language, if it is one of those that look for a part.
    pub fn of(function: &Function, part: &str) -> Option<Self> {
        Some(match function {
            Function::Contains => Self::Contains(Box::new(Finder::new(part).into_owned())),
            Function::StrStarts => Self::Starts {
                part: part.to_owned(),
                characters: part.chars().count(),
            },
            Function::StrEnds => Self::Ends(part.to_owned()),
            _ => return None,
        })
    }

    #[inline]
    fn holds(&self, text: &[u8]) -> bool {
        match self {
            Self::Pattern(regex) => regex.is_match(text),
            Self::Contains(finder) => finder.find(text).is_some(),
            Self::Starts { part, .. } => text.starts_with(part.as_bytes()),
            Self::Ends(part) => text.ends_with(part.as_bytes()),
        }
    }

    /// As many characters as tell whether a text passes.
    fn characters(&self) -> usize {
        match self {
            Self::Starts { characters, .. } => *characters,
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
        each_row(count, |row| {
            Ok(self.of_one(of_str, text.get(row), reader)?.into())
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
                let text = reader.string_bytes(id, self.characters())?;
                text.map(|text| self.holds(text))
            }
            (Argument::Id(id), true) => reader.text_bytes(id)?.map(|text| self.holds(text)),
            (other, false) => {
                let string = other.string(reader)?;
                string.map(|string| self.holds(string.lexical.as_bytes()))
            }
            (other, true) => other.text(reader)?.map(|text| self.holds(text.as_bytes())),
        })
    }
}
