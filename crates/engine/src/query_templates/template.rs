//! `Template`: the algebra of all texts that differ in constants only.

use super::same::is_same_query;
use super::terms::{TermMut, visit_terms};
use crate::query_text::lift::{Constant, ConstantKind, Lifted};
use oxrdf::{Literal, NamedNode};
use spargebra::Query;

/// See the [module documentation](self).
#[derive(Debug)]
pub struct Template {
    /// With placeholders.
    query: Query,
    /// Where these are: the number of the term in the order of the walk, and that of the constant.
    places: Vec<(usize, usize)>,
}

impl Template {
    /// That of a text, whose algebra is `parsed`; `parse` parses another text. `None` if algebra with constants put in place of placeholders
    /// is not what the parser makes of the text.
    pub fn new(
        lifted: &Lifted<'_>,
        parsed: &Query,
        parse: impl FnOnce(&str) -> Option<Query>,
    ) -> Option<Self> {
        let mut query = parse(&lifted.with_placeholders()?)?;
        let placeholders = lifted.constants.iter().enumerate();
        let placeholders = placeholders.map(|(idx, constant)| constant.kind.placeholder(idx));
        let placeholders: Vec<String> = placeholders.collect();
        let (mut places, mut term_idx) = (Vec::new(), 0);
        visit_terms(&mut query, &mut |term| {
            let text = match &term {
                TermMut::Iri(iri) => iri.as_str(),
                TermMut::Literal(literal) => literal.value(),
            };
            let found = placeholders
                .iter()
                .position(|placeholder| placeholder == text);
            places.extend(found.map(|constant_idx| (term_idx, constant_idx)));
            term_idx += 1;
        });
        let is_placed = |idx: usize| places.iter().any(|&(_, constant_idx)| constant_idx == idx);
        if !(0..placeholders.len()).all(is_placed) {
            return None;
        }
        let template = Self { query, places };
        let query = template.with(&lifted.constants)?;
        is_same_query(&query, parsed).then_some(template)
    }

    /// The algebra with these constants; `None` if one of them is no IRI where it should be one.
    pub fn with(&self, constants: &[Constant<'_>]) -> Option<Query> {
        let mut query = self.query.clone();
        let mut places = self.places.iter().peekable();
        let (mut term_idx, mut is_right) = (0, true);
        visit_terms(&mut query, &mut |term| {
            if let Some(&(_, constant_idx)) = places.next_if(|&&(place, _)| place == term_idx) {
                is_right &= put(constants[constant_idx], term).is_some();
            }
            term_idx += 1;
        });
        is_right.then_some(query)
    }
}

/// Puts a constant in place of a term; `None` if the term is of another kind, or the IRI is none.
fn put(constant: Constant<'_>, term: TermMut<'_>) -> Option<()> {
    match (term, constant.kind) {
        (TermMut::Iri(iri), ConstantKind::Iri) => *iri = NamedNode::new(constant.text).ok()?,
        (TermMut::Literal(literal), ConstantKind::Text) => {
            *literal = match literal.language() {
                Some(language) => {
                    Literal::new_language_tagged_literal_unchecked(constant.text, language)
                }
                None => Literal::new_typed_literal(constant.text, literal.datatype()),
            };
        }
        (TermMut::Literal(literal), ConstantKind::Integer | ConstantKind::Decimal) => {
            *literal = Literal::new_typed_literal(constant.text, literal.datatype());
        }
        _ => return None,
    }
    Some(())
}
