//! An OPTIONAL within another that names a variable of outside, which what is between them does not have.
//!
//! `L ⟕ (A ⟕ B)` joins A and B before L is seen, so where B shares a slot with L and not with A (the pattern is not well-designed: Pérez,
//! Arenas and Gutierrez, "Semantics and Complexity of SPARQL", 2009, section 4), each row of A meets each of B. As `A ⟕ B` is
//! `(A ⋈ B) ∪ (A ▷ B)`, the join of the three may be made for the rows of L alone: the first branch is one group, which what L has of it seeds.

use crate::logical::Logical;
use crate::physical::Node;
use crate::planner::Planner;
use crate::repeatable;
use crate::rules::{hoist_left_join, push_down_filter};
use crate::slot_set::SlotSet;

/// The right side of a join that keeps these left rows as a union of what its OPTIONAL part has partners for, and of what it has not;
/// `None` if no such part names what only the left rows have.
pub(super) fn branches(
    planner: &Planner<'_>,
    left: &Node,
    right: &Logical,
    outer: SlotSet,
) -> Option<Logical> {
    let is_tried = planner.rule("seed_join")
        && planner.options.force_join.is_none()
        && planner.alternatives > 0;
    let branches =
        is_tried.then(|| parted(planner, SlotSet::of(&left.certain), right, outer))??;
    repeatable::is_repeatable(planner, right, false).then(|| Logical::Union(branches.into()))
}

/// Both branches of the innermost part that names one of these slots.
fn parted(
    planner: &Planner<'_>,
    outside: SlotSet,
    right: &Logical,
    outer: SlotSet,
) -> Option<[Logical; 2]> {
    let Logical::LeftJoin {
        left: between,
        right: part,
        conditions,
    } = right
    else {
        return None;
    };
    if let Some(branches) = parted(planner, outside, between, outer) {
        return Some(branches.map(|branch| Logical::LeftJoin {
            left: Box::new(branch),
            right: part.clone(),
            conditions: conditions.clone(),
        }));
    }
    let named = part.certain().intersect(outside);
    if named.is_subset(&between.schema()) {
        return None;
    }
    let joined = hoist_left_join::join(planner, (**between).clone(), (**part).clone());
    let partners = conditions.iter().fold(joined, |joined, condition| {
        push_down_filter::filter(planner, outer, joined, condition.clone())
    });
    let without = Logical::AntiJoin {
        left: between.clone(),
        right: part.clone(),
        conditions: conditions.clone(),
    };
    Some([partners, without])
}
