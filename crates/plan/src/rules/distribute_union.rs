//! `G ⋈ (A ∪ B)` may be `(G ⋈ A) ∪ (G ⋈ B)`: the branches then join the group's stars directly
//! instead of being read whole. Chosen by cost in lowering, as G is evaluated for each branch.
//!
//! Only for a group with one union of few branches, and if evaluating the rest twice gives the same
//! rows (no LIMIT and no random number inside).

use crate::expression::is_volatile;
use crate::logical::{JoinGroup, Logical};
use crate::planner::Planner;
use crate::rules::{hoist_left_join, push_down_filter};
use crate::slot_set::SlotSet;

/// More branches are not distributed: planning grows with each.
const BRANCHES_MAX: usize = 6;

/// The branches, each joined with the rest of the group; `None` where the rule does not apply.
pub(crate) fn branches(
    planner: &Planner<'_>,
    outer: SlotSet,
    group: &JoinGroup,
) -> Option<Vec<Logical>> {
    if !planner.rule("distribute_union") || group.triples.is_empty() {
        return None;
    }
    let is_union = |child: &&Logical| matches!(child, Logical::Union(_));
    let mut unions = group.children.iter().filter(is_union);
    let (Some(Logical::Union(inputs)), None) = (unions.next(), unions.next()) else {
        return None;
    };
    let others = group.children.iter().filter(|child| !is_union(child));
    let others: Vec<Logical> = others.cloned().collect();
    // A service beside the union would be asked once for each branch.
    let asks = |other: &Logical| matches!(other, Logical::Service(_));
    if others.iter().any(asks) {
        return None;
    }
    if inputs.len() > BRANCHES_MAX || !others.iter().chain(inputs).all(is_repeatable) {
        return None;
    }
    let rest = JoinGroup {
        triples: group.triples.clone(),
        paths: group.paths.clone(),
        children: others,
        filters: Vec::new(),
    };
    let distribute = |branch: &Logical| {
        let joined = hoist_left_join::join(planner, Logical::Group(rest.clone()), branch.clone());
        group.filters.iter().cloned().fold(joined, |plan, filter| {
            push_down_filter::filter(planner, outer, plan, filter)
        })
    };
    Some(inputs.iter().map(distribute).collect())
}

/// Whether two evaluations give the same rows.
fn is_repeatable(plan: &Logical) -> bool {
    is_computed_alike(plan, false)
}

/// Whether nothing in a plan is computed anew in each evaluation; a slice counts as that unless `slices` says otherwise, since it may
/// take other rows.
pub(crate) fn is_computed_alike(plan: &Logical, slices: bool) -> bool {
    let is_repeatable = |plan: &Logical| is_computed_alike(plan, slices);
    match plan {
        Logical::Empty
        | Logical::Values { .. }
        | Logical::GraphNames { .. }
        | Logical::Service(_) => true,
        Logical::Slice { input, .. } => slices && is_repeatable(input),
        Logical::Group(group) => {
            !group.filters.iter().any(is_volatile) && group.children.iter().all(is_repeatable)
        }
        Logical::LeftJoin {
            left,
            right,
            conditions,
        }
        | Logical::AntiJoin {
            left,
            right,
            conditions,
        } => !conditions.iter().any(is_volatile) && is_repeatable(left) && is_repeatable(right),
        Logical::Minus { left, right, .. } | Logical::Lateral { left, right } => {
            is_repeatable(left) && is_repeatable(right)
        }
        Logical::Filter { input, conditions } => {
            !conditions.iter().any(is_volatile) && is_repeatable(input)
        }
        Logical::Extend { input, expr, .. } => !is_volatile(expr) && is_repeatable(input),
        Logical::Project { input, .. }
        | Logical::Distinct { input }
        | Logical::OrderBy { input, .. }
        | Logical::Aggregate { input, .. } => is_repeatable(input),
        Logical::Union(inputs) => inputs.iter().all(is_repeatable),
    }
}
