//! `LANG` and `DATATYPE`, a column at a time.
//!
//! The id of a stored literal says which language or datatype it has, so each distinct one is turned into
//! a term once per batch and no text is read. Computed terms are looked at one by one; a computed value
//! counts as the term it would be. Anything but a literal is an error, here id 0.

use super::vector::Vector;
use crate::context::Context;
use crate::error::ExecError;
use crate::value::Reader;
use basalt_rdf::term_id::{LITERAL_ORDINAL_BITS, tag};
use basalt_rdf::{LiteralKind, LiteralView, TermId, TermView};
use hashbrown::HashMap;
use spargebra::algebra::Function;
use std::hash::RandomState;

/// What is asked of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Annotation {
    /// `LANG`
    Language,
    /// `DATATYPE`
    Datatype,
}

impl Annotation {
    /// What a function asks, if it is one of the two.
    pub fn of(function: &Function) -> Option<Self> {
        match function {
            Function::Lang => Some(Self::Language),
            Function::Datatype => Some(Self::Datatype),
            _ => None,
        }
    }

    /// The ids of the answers for `count` terms, 0 for an error.
    pub fn column(
        self,
        terms: &Vector<'_>,
        count: usize,
        reader: &mut Reader<'_>,
    ) -> Result<Vec<u64>, ExecError> {
        let mut known: HashMap<u64, u64, RandomState> = HashMap::default();
        let mut last = None;
        let mut answers = Vec::with_capacity(count);
        for row in 0..count {
            let term = terms.get(row);
            if let Some(string) = term.known_string() {
                answers.push(self.of_kind(string.kind, reader.context()));
                continue;
            }
            let id = term.id(reader.context());
            let Some(group) = group(TermId(id)) else {
                answers.push(self.one(id, reader)?);
                continue;
            };
            let answer = match last {
                Some((last_group, answer)) if last_group == group => answer,
                _ => match known.get(&group) {
                    Some(&answer) => answer,
                    None => {
                        let answer = self.one(id, reader)?;
                        known.insert(group, answer);
                        answer
                    }
                },
            };
            last = Some((group, answer));
            answers.push(answer);
        }
        Ok(answers)
    }

    /// The id of the answer for any term.
    fn one(self, id: u64, reader: &mut Reader<'_>) -> Result<u64, ExecError> {
        let cx = reader.context();
        let kind = reader.literal_kind(id)?;
        Ok(kind.map_or(0, |kind| self.of_kind(kind, cx)))
    }

    /// The id of the answer for a literal with this language or datatype.
    fn of_kind(self, kind: LiteralKind<'_>, cx: &Context) -> u64 {
        let answer = match (self, kind) {
            (Self::Language, LiteralKind::Language(language)) => TermView::simple(language),
            (Self::Language, _) => TermView::simple(""),
            (Self::Datatype, kind) => TermView::Iri(LiteralView { lexical: "", kind }.datatype()),
        };
        cx.terms().intern(answer).0
    }
}

/// A number that all ids with the same answer share: the tag, and the qualifier of a stored literal;
/// `None` for computed terms, whose ids do not tell.
fn group(id: TermId) -> Option<u64> {
    match id.tag() {
        tag::LOCAL => None,
        _ if id.is_dictionary_literal() => Some(id.0 >> LITERAL_ORDINAL_BITS),
        _ => Some(u64::from(id.datatype_tag()) << u16::BITS),
    }
}
