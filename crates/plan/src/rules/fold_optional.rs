//! `OPTIONAL { ?s p ?o }` on a subject that the group has already becomes an optional pattern of
//! its star: a nullable column instead of an outer join.
//!
//! Sound when the object is a variable that occurs nowhere else (in EXISTS, also not outside) and
//! the condition is empty. Conditions of other OPTIONALs that only concern the inside move there, also EXISTS.

use crate::expression::{slots_of, slots_of_all};
use crate::logical::{JoinGroup, Logical, Triple};
use crate::physical::{Expr, Position};
use crate::planner::Planner;
use crate::repeatable::is_fixed;
use crate::rules::{push_down_filter, term_equality, value_equality};
use crate::slot_set::SlotSet;

/// The left join of two plans.
pub(crate) fn left_join(
    planner: &mut Planner<'_>,
    outer: SlotSet,
    left: Logical,
    right: Logical,
    conditions: Vec<Expr>,
) -> Logical {
    if left == Logical::Empty || right == Logical::Empty {
        return left;
    }
    let mut conditions = conditions;
    let right = term_equality::optional(planner, outer, &left, right, &mut conditions);
    let (left, mut right) = value_equality::optional(planner, outer, left, right, &conditions);
    let mut kept = Vec::new();
    for condition in conditions {
        let slots = slots_of(&condition);
        let inside = slots
            .intersect(left.schema().union(outer))
            .is_subset(&right.certain())
            && !slots.intersect(right.schema()).is_empty();
        if inside && is_fixed(planner, &condition) && planner.rule("push_down_filter") {
            right = push_down_filter::filter(planner, outer, right, condition);
        } else {
            kept.push(condition);
        }
    }
    if let Logical::Group(group) = &left
        && let Logical::Group(optional) = &right
        && kept.is_empty()
        && planner.rule("fold_optional")
        && let Some(triple) = foldable(group, optional, outer)
        && let Logical::Group(mut group) = left
    {
        group.triples.push(Triple {
            optional: true,
            ..triple
        });
        return Logical::Group(group);
    }
    Logical::LeftJoin {
        left: Box::new(left),
        right: Box::new(right),
        conditions: kept,
    }
}

/// The only triple of the optional group, if the left group can take it into a star.
fn foldable(left: &JoinGroup, optional: &JoinGroup, outer: SlotSet) -> Option<Triple> {
    let [triple] = optional.triples.as_slice() else {
        return None;
    };
    let plain = optional.paths.is_empty()
        && optional.children.is_empty()
        && optional.filters.is_empty()
        && !triple.optional
        && matches!(triple.predicate, Position::Id(_));
    let object = triple.object.slot()?;
    let taken = left
        .schema()
        .union(slots_of_all(&left.filters))
        .union(outer);
    let fresh = !taken.contains(object)
        && triple.subject != triple.object
        && triple.graphs.slot() != Some(object);
    let has_star = left.triples.iter().any(|other| {
        other.subject == triple.subject
            && other.graphs == triple.graphs
            && !other.optional
            && other.object != other.subject
            && other
                .graphs
                .slot()
                .is_none_or(|g| other.subject.slot() != Some(g) && other.object.slot() != Some(g))
            && matches!(other.predicate, Position::Id(_))
    });
    (plain && fresh && has_star).then(|| triple.clone())
}
