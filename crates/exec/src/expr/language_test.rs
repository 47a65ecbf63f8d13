//! `langMatches(lang(?x), "en")` and `lang(?x) = "en"` on ids.
//!
//! The language code stands in the id of a stored string, so each distinct code is looked at once per
//! batch and no text is read. Other literals have the empty language; resources and unbound are errors.

use super::vector::Truth;
use crate::error::ExecError;
use crate::value::Reader;
use basalt_rdf::term_id::tag;
use basalt_rdf::{LiteralKind, TermId};

/// What a language tag must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LanguageTest {
    /// In this language range.
    Matches(String),
    /// Exactly this.
    Equals(String),
}

impl LanguageTest {
    /// Whether a language tag passes.
    fn accepts(&self, language: &str) -> bool {
        match self {
            Self::Matches(range) => lang_matches(language, range),
            Self::Equals(text) => text == language,
        }
    }

    /// The test in each row of a column.
    pub fn column(&self, ids: &[u64], reader: &mut Reader<'_>) -> Result<Vec<Truth>, ExecError> {
        let without_language = Some(self.accepts("")).into();
        let mut last: Option<(u16, Truth)> = None;
        let mut truths = Vec::with_capacity(ids.len());
        for &id in ids {
            let term_id = TermId(id);
            truths.push(match term_id.tag() {
                tag::UNBOUND | tag::RESOURCE | tag::DEFAULT_GRAPH => Truth::Error,
                tag::LANGUAGE => match last {
                    Some((code, truth)) if code == term_id.qualifier() => truth,
                    _ => {
                        let truth = self.one(id, reader)?;
                        last = Some((term_id.qualifier(), truth));
                        truth
                    }
                },
                tag::LOCAL => self.one(id, reader)?,
                _ => without_language,
            });
        }
        Ok(truths)
    }

    /// The test of any bound term.
    fn one(&self, id: u64, reader: &mut Reader<'_>) -> Result<Truth, ExecError> {
        Ok(match reader.literal_kind(id)? {
            Some(LiteralKind::Language(language)) => Some(self.accepts(language)).into(),
            Some(_) => Some(self.accepts("")).into(),
            None => Truth::Error,
        })
    }
}

/// Basic filtering of RFC 4647: the range is `*` or a prefix of the tag, subtag by subtag.
pub fn lang_matches(tag: &str, range: &str) -> bool {
    if range == "*" {
        return !tag.is_empty();
    }
    let mut subtags = tag.split('-');
    range
        .split('-')
        .all(|part| subtags.next().is_some_and(|s| s.eq_ignore_ascii_case(part)))
}
