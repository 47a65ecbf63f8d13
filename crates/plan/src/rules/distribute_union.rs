//! `G ⋈ (A ∪ B)` may be `(G ⋈ A) ∪ (G ⋈ B)`: the branches then join the group's stars (or VALUES) directly
//! instead of being read whole. Chosen by cost in lowering, as G is evaluated for each branch.
//!
//! Only for a group with one union of few branches, and if evaluating the rest twice gives the same
//! rows (no LIMIT and no random number inside). What a branch computes at its end is computed after the join, where the
//! same row gives the same value: `G ⋈ Extend(B)` is `Extend(G ⋈ B)` if G has neither the new slot nor what may be unbound in B.

use crate::expression::{self, slots_of};
use crate::logical::{JoinGroup, Logical};
use crate::physical::{Expr, Slot};
use crate::planner::Planner;
use crate::repeatable::is_repeatable;
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
    if !planner.rule("distribute_union") {
        return None;
    }
    let is_union = |child: &&Logical| matches!(child, Logical::Union(_));
    let mut unions = group.children.iter().filter(is_union);
    let (Some(Logical::Union(inputs)), None) = (unions.next(), unions.next()) else {
        return None;
    };
    let others = group.children.iter().filter(|child| !is_union(child));
    let others: Vec<Logical> = others.cloned().collect();
    if group.triples.is_empty() && group.paths.is_empty() && others.is_empty() {
        return None;
    }
    // A service beside the union would be asked once for each branch.
    let asks = |other: &Logical| matches!(other, Logical::Service(_));
    if others.iter().any(asks) {
        return None;
    }
    let is_same = |plan: &Logical| is_repeatable(planner, plan, false);
    if inputs.len() > BRANCHES_MAX || !others.iter().chain(inputs).all(is_same) {
        return None;
    }
    let rest = JoinGroup {
        triples: group.triples.clone(),
        paths: group.paths.clone(),
        children: others,
        filters: Vec::new(),
    };
    let distribute = |branch: &Logical| {
        let joined = join(planner, Logical::Group(rest.clone()), branch.clone());
        group.filters.iter().cloned().fold(joined, |plan, filter| {
            push_down_filter::filter(planner, outer, plan, filter)
        })
    };
    Some(inputs.iter().map(distribute).collect())
}

/// The rest of the group joined with a branch.
fn join(planner: &Planner<'_>, rest: Logical, branch: Logical) -> Logical {
    match branch {
        Logical::Extend { input, slot, expr } if is_movable(&rest, (&input, slot, &expr)) => {
            let input = Box::new(join(planner, rest, *input));
            Logical::Extend { input, slot, expr }
        }
        branch => hoist_left_join::join(planner, rest, branch),
    }
}

/// Whether a computed slot may be computed after the join with `rest`. What is inside an EXISTS was planned for the slots that it had.
fn is_movable(rest: &Logical, (input, slot, expr): (&Logical, Slot, &Expr)) -> bool {
    let has_exists = expression::any(expr, &|e| matches!(e, Expr::Exists(_)));
    let needed = slots_of(expr).intersect(rest.schema());
    !has_exists && !rest.mentioned().contains(slot) && needed.is_subset(&input.certain())
}
