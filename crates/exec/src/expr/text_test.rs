//! Tests of a text with a constant: `REGEX`, `CONTAINS`, `STRSTARTS` and `STRENDS`, a column at a time.
//!
//! A text is read where it is decoded to, and not copied. What is looked for is prepared once.

use super::vector::{Argument, Truth, Vector, each_row};
use crate::error::ExecError;
use crate::value::{Reader, Value};
use basalt_rdf::{LiteralKind, TermView};
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
    Starts(String),
    /// Whether it ends so.
    Ends(String),
}

impl TextTest {
    /// The test of a function for a part without a language, if it is one of those that look for a part.
    pub fn of(function: &Function, part: &str) -> Option<Self> {
        Some(match function {
            Function::Contains => Self::Contains(Box::new(Finder::new(part).into_owned())),
            Function::StrStarts => Self::Starts(part.to_owned()),
            Function::StrEnds => Self::Ends(part.to_owned()),
            _ => return None,
        })
    }

    #[inline]
    fn holds(&self, text: &str) -> bool {
        match self {
            Self::Pattern(regex) => regex.is_match(text),
            Self::Contains(finder) => finder.find(text.as_bytes()).is_some(),
            Self::Starts(part) => text.starts_with(part.as_str()),
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
        Ok(match text {
            Argument::Error => None,
            Argument::Value(Value::String(text)) => Some(self.holds(text)),
            Argument::Value(Value::LangString(tagged)) => Some(self.holds(&tagged.0)),
            Argument::Value(value) if of_str => value.to_text().map(|text| self.holds(&text)),
            Argument::Value(_) => None,
            other => match reader.term(other.known_id())? {
                TermView::Literal(literal) => {
                    let is_string = !matches!(literal.kind, LiteralKind::Typed(_));
                    (is_string || of_str).then(|| self.holds(literal.lexical))
                }
                TermView::Iri(iri) if of_str => Some(self.holds(iri)),
                _ => None,
            },
        })
    }
}
