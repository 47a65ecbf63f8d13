//! Tests of a text with a constant: `REGEX`, `CONTAINS`, `STRSTARTS` and `STRENDS`, a column at a time.
//!
//! A text is read where it is decoded to, and not copied. What is looked for is prepared once.

use super::vector::{Argument, Truth, Vector, each_row};
use crate::error::ExecError;
use crate::value::Reader;
use memchr::memmem::Finder;
use regex::Regex;
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
    fn holds(&self, text: &str) -> bool {
        match self {
            Self::Pattern(regex) => regex.is_match(text),
            Self::Contains(finder) => finder.find(text.as_bytes()).is_some(),
            Self::Starts { part, .. } => text.starts_with(part.as_str()),
            Self::Ends(part) => text.ends_with(part.as_str()),
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
        if let (Self::Starts { characters, .. }, Argument::Id(id), false) = (self, text, of_str) {
            let start = reader.string_start(id, *characters)?;
            return Ok(start.map(|start| self.holds(start.lexical)));
        }
        Ok(match of_str {
            true => text.text(reader)?.map(|text| self.holds(&text)),
            false => text.string(reader)?.map(|text| self.holds(text.lexical)),
        })
    }
}
