//! MINUS: dropped where the sides share no variable, an anti join where a shared slot is certain.
//!
//! With one shared slot bound on both sides in every row, "compatible and sharing a binding" is
//! just "compatible", which the anti join checks by id.
//!
//! A triple that stands on both sides, as MINUS needs something to share, says nothing on the right side: what is compatible with a left row has its
//! values there, for which it holds. Without it conditions on these values are conditions of the join.

use crate::expression::{has_exists, slots_of};
use crate::logical::{JoinGroup, Logical, Triple};
use crate::physical::{Expr, Position, Slot};
use crate::planner::Planner;
use crate::slot_set::SlotSet;

/// The left rows that MINUS keeps.
pub(crate) fn minus(
    planner: &Planner<'_>,
    left: Logical,
    right: Logical,
    graph: Option<Slot>,
) -> Logical {
    let mut shared = left.schema().intersect(right.schema());
    if let Some(graph) = graph {
        shared.remove(graph);
    }
    let (left, right) = match (left, right) {
        (left, Logical::Empty) => return left,
        (Logical::Empty, _) => return Logical::Empty,
        sides => sides,
    };
    if shared.is_empty() {
        return left;
    }
    let certain: SlotSet = left.certain().intersect(right.certain()).intersect(shared);
    if !certain.is_empty() && planner.rule("minus_to_anti") {
        let (right, conditions) = match right {
            Logical::Group(group) => without_repeated(&left, group),
            right => (right, Vec::new()),
        };
        let (left, right) = (Box::new(left), Box::new(right));
        return Logical::AntiJoin {
            left,
            right,
            conditions,
        };
    }
    let (left, right) = (Box::new(left), Box::new(right));
    Logical::Minus { left, right, graph }
}

/// The right side without the triples that each left row is made of, and the conditions that are about values of these.
fn without_repeated(left: &Logical, group: JoinGroup) -> (Logical, Vec<Expr>) {
    let has_optional = |triple: &Triple| {
        let mut others = group.triples.iter().filter(|other| other.optional);
        others.any(|other| other.subject == triple.subject && other.graphs == triple.graphs)
    };
    // A constant object tells which tables have the subjects; a star has more than what is optional.
    let is_repeated = |triple: &Triple| {
        matches!(triple.object, Position::Slot(_)) && !has_optional(triple) && is_part(left, triple)
    };
    let certain = group.certain();
    let mut rest = group.clone();
    rest.triples.retain(|triple| !is_repeated(triple));
    let gone = group.schema().minus(rest.schema());
    let is_about = |filter: &Expr| !slots_of(filter).is_disjoint(&gone);
    let conditions: Vec<Expr> = rest
        .filters
        .extract_if(.., |filter| is_about(filter))
        .collect();
    // In a joined row others could have a value of the left side.
    let are_the_same = |filter: &Expr| slots_of(filter).is_subset(&certain);
    if group.filters.iter().any(has_exists) || !conditions.iter().all(are_the_same) {
        return (Logical::Group(group), Vec::new());
    }
    (Logical::Group(rest), conditions)
}

/// Whether every row of a plan is made of this triple.
fn is_part(plan: &Logical, triple: &Triple) -> bool {
    match plan {
        Logical::Group(group) => group.triples.contains(triple),
        Logical::Filter { input, .. }
        | Logical::Extend { input, .. }
        | Logical::Distinct { input }
        | Logical::LeftJoin { left: input, .. }
        | Logical::AntiJoin { left: input, .. }
        | Logical::Minus { left: input, .. } => is_part(input, triple),
        _ => false,
    }
}
