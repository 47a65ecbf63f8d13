//! `?p IN (:a, :b)` of a predicate may be VALUES that the group is joined with: each predicate of a subject is looked up, where otherwise all of its quads are
//! read and tested. Chosen by cost in lowering, in which the quads of those predicates count in full: the search takes them for average ones. A scan asks for them
//! itself, so the pattern must be joined with something.
//!
//! Sound because predicates are IRIs, which are equal if they are the same term; what else the list has equals none of them.

use crate::cost_constants::LISTED_QUAD;
use crate::logical::{JoinGroup, Logical};
use crate::physical::{Constant, Expr, Position, Slot};
use crate::planner::Planner;
use oxrdf::Term;

/// More predicates are not listed: each is looked up for each row.
const LISTED_MAX: usize = 16;

/// The group with all such conditions as VALUES, and what the quads of their predicates cost; `None` if it has none.
pub(crate) fn as_values(planner: &Planner<'_>, group: &JoinGroup) -> Option<(JoinGroup, f64)> {
    if !planner.rule("listed_predicates") {
        return None;
    }
    let mut rewritten = JoinGroup {
        filters: Vec::new(),
        ..group.clone()
    };
    let mut quads = 0;
    for filter in &group.filters {
        match listed(group, filter) {
            Some((slot, constants)) => {
                let known = constants.iter().filter_map(|constant| constant.id);
                quads += known
                    .map(|id| planner.statistics.predicate_quads(id))
                    .sum::<u64>();
                let rows = constants.into_iter().map(|listed| vec![Some(listed)]);
                rewritten.children.push(Logical::Values {
                    slots: vec![slot],
                    rows: rows.collect(),
                });
            }
            None => rewritten.filters.push(filter.clone()),
        }
    }
    let has_some = rewritten.filters.len() < group.filters.len();
    has_some.then_some((rewritten, quads as f64 * LISTED_QUAD))
}

/// The predicates that a condition lists, each once, as far as there are quads of them, and the slot that they are of.
fn listed(group: &JoinGroup, filter: &Expr) -> Option<(Slot, Vec<Constant>)> {
    let Expr::In(slot, list) = filter else {
        return None;
    };
    let Expr::Slot(slot) = **slot else {
        return None;
    };
    let is_joined = |at: usize| {
        let mut others = group.clone();
        let triple = others.triples.remove(at);
        let others = others.schema();
        let ends = [triple.subject, triple.object].into_iter();
        ends.filter_map(Position::slot)
            .any(|end| others.contains(end))
    };
    let is_predicate = (0..group.triples.len()).any(|at| {
        let triple = &group.triples[at];
        triple.predicate.slot() == Some(slot) && !triple.optional && is_joined(at)
    });
    let is_listed = list.len() <= LISTED_MAX && is_predicate;
    let mut constants: Vec<Constant> = Vec::new();
    for expr in list.iter().filter(|_| is_listed) {
        let Expr::Constant(constant) = expr else {
            return None;
        };
        let is_known = matches!(constant.term, Term::NamedNode(_)) && constant.id.is_some();
        if is_known && !constants.contains(constant) {
            constants.push(constant.clone());
        }
    }
    is_listed.then_some((slot, constants))
}
