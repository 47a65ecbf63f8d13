//! `Template`: the algebra of all texts that differ in constants only.

use super::same::is_same_query;
use super::terms::{Role, TermMut, visit_terms};
use crate::query_text::lift::{Constant, ConstantKind, Lifted};
use basalt_plan::{TemplateInstance, is_made_by_planner};
use oxrdf::{Literal, NamedNode, Term};
use spargebra::Query;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of the next template.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

/// See the [module documentation](self).
#[derive(Debug)]
pub struct Template {
    /// With placeholders.
    query: Query,
    /// Where these are: the number of the term in the order of the walk, and that of the constant.
    places: Vec<(usize, usize)>,
    number: u64,
    /// Of each constant, whether plans may be shared between others in its places.
    is_open: Vec<bool>,
    /// The IRIs of the template, and the texts of its literals.
    texts: Vec<String>,
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
        let (mut places, mut term_idx, mut texts) = (Vec::new(), 0, Vec::new());
        let mut is_open = vec![true; placeholders.len()];
        let mut literals: Vec<Option<Literal>> = vec![None; placeholders.len()];
        visit_terms(&mut query, &mut |term, role| {
            let text = match &term {
                TermMut::Iri(iri) => iri.as_str(),
                TermMut::Literal(literal) => literal.value(),
            };
            let found = placeholders
                .iter()
                .position(|placeholder| placeholder == text);
            match found {
                Some(constant_idx) => {
                    places.push((term_idx, constant_idx));
                    is_open[constant_idx] &= match (role, term) {
                        (Role::Other, _) | (Role::End, TermMut::Literal(_)) => false,
                        (_, TermMut::Iri(_)) => true,
                        (Role::Value, TermMut::Literal(literal)) => {
                            literals[constant_idx].get_or_insert_with(|| literal.clone()) == literal
                        }
                    };
                }
                None => texts.push(text.to_owned()),
            }
            term_idx += 1;
        });
        let is_placed = |idx: usize| places.iter().any(|&(_, constant_idx)| constant_idx == idx);
        if !(0..placeholders.len()).all(is_placed) {
            return None;
        }
        let template = Self {
            query,
            places,
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            is_open,
            texts,
        };
        let (query, _) = template.with(&lifted.constants)?;
        is_same_query(&query, parsed).then_some(template)
    }

    /// The algebra with these constants, and what a plan for it may be shared with; `None` if one of them is no IRI where it should be one.
    pub fn with(&self, constants: &[Constant<'_>]) -> Option<(Query, TemplateInstance)> {
        let mut query = self.query.clone();
        let mut places = self.places.iter().peekable();
        let (mut term_idx, mut is_right) = (0, true);
        let mut terms = vec![None; constants.len()];
        visit_terms(&mut query, &mut |term, _| {
            if let Some(&(_, constant_idx)) = places.next_if(|&&(place, _)| place == term_idx) {
                let constant = put(constants[constant_idx], term);
                is_right &= constant.is_some();
                terms[constant_idx] = constant;
            }
            term_idx += 1;
        });
        is_right.then(|| (query, self.instance(constants, terms)))
    }

    /// What a plan for these constants may be shared with. A constant that stands elsewhere in the query too, or that the planner makes
    /// itself, stays as it is.
    fn instance(&self, constants: &[Constant<'_>], terms: Vec<Option<Term>>) -> TemplateInstance {
        let is_fixed = |constant_idx: usize| {
            let text = constants[constant_idx].text;
            let is_it = |(other_idx, other): (usize, &Constant<'_>)| {
                other_idx != constant_idx && other.text == text
            };
            !self.is_open[constant_idx]
                || is_made_by_planner(text)
                || self.texts.iter().any(|other| other == text)
                || constants.iter().enumerate().any(is_it)
        };
        let (mut fixed, mut open) = (Vec::new(), Vec::new());
        for (constant_idx, term) in terms.into_iter().enumerate() {
            match term {
                Some(term) if !is_fixed(constant_idx) => open.push(term),
                _ => fixed.push((constant_idx, constants[constant_idx].text.to_owned())),
            }
        }
        TemplateInstance {
            template: self.number,
            fixed,
            constants: open,
        }
    }
}

/// Puts a constant in place of a term, and gives what it is then; `None` if the term is of another kind, or the IRI is none.
fn put(constant: Constant<'_>, term: TermMut<'_>) -> Option<Term> {
    match (term, constant.kind) {
        (TermMut::Iri(iri), ConstantKind::Iri) => {
            *iri = NamedNode::new(constant.text).ok()?;
            Some(iri.clone().into())
        }
        (TermMut::Literal(literal), kind) => {
            *literal = match (literal.language(), kind) {
                (_, ConstantKind::Iri) => return None,
                (Some(language), ConstantKind::Text) => {
                    Literal::new_language_tagged_literal_unchecked(constant.text, language)
                }
                _ => Literal::new_typed_literal(constant.text, literal.datatype()),
            };
            Some(literal.clone().into())
        }
        _ => None,
    }
}
