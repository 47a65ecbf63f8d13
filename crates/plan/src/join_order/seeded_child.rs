//! A subselect of a group that is planned for what the rest of the group needs.
//!
//! ```text
//! { SELECT ?x (COUNT(?y) AS ?n) { ?x :parent* ?y } GROUP BY ?x }  ?game :opening ?x .        each ?x with its ancestors, of which few are asked for
//! { SELECT ?x .. { DISTINCT ?x of the games . ?x :parent* ?y } GROUP BY ?x }  ?game :opening ?x .
//! ```
//!
//! The rest of the group runs twice, so this is planned beside the group as it stands and taken where it is far cheaper. Sound as the same is of the right
//! side of an OPTIONAL ([`partner_join`](crate::lower)): groups of other keys lose none of their rows.
//!
//! Cost: three more searches, for groups in which a subselect takes [`SEED_COST_MIN`] or more, and most of all.

use super::UnitKind;
use crate::cost_constants::{GROUP_ROW, SEED_COST_FACTOR, SEED_COST_MIN, SEED_GROUPS_MIN};
use crate::expression::{has_exists, slots_of};
use crate::logical::{JoinGroup, Logical};
use crate::lower::Outer;
use crate::physical::{Expr, Node};
use crate::planner::{PlanError, Planner};

impl Planner<'_> {
    /// The child of a group that takes most of its time, if it is one that may be planned for what the others need.
    pub(super) fn dear_child(
        &self,
        group: &JoinGroup,
        children: &[UnitKind],
        outer: &Outer,
    ) -> Option<(usize, f64)> {
        let is_alone = children.len() == 1 && group.triples.is_empty() && group.paths.is_empty();
        if is_alone || !outer.slots.is_empty() || !self.rule("seed_join") {
            return None;
        }
        let plans = children.iter().enumerate();
        let plans = plans.filter_map(|(child_idx, kind)| match kind {
            UnitKind::Plan(plan) => Some((child_idx, plan)),
            _ => None,
        });
        let (child_idx, plan) =
            plans.max_by(|(_, a), (_, b)| a.estimated_cost.total_cmp(&b.estimated_cost))?;
        let is_dear = plan.estimated_cost >= SEED_COST_MIN;
        let child = (child_idx, plan.estimated_rows);
        (is_dear && is_grouped(&group.children[child_idx])).then_some(child)
    }

    /// That child, which has so many groups, for the values which the rest of the group has of its keys; `None` if there are too many of these.
    pub(super) fn seeded_child(
        &mut self,
        group: &JoinGroup,
        (child_idx, groups): (usize, f64),
        whole: &Node,
        outer: &Outer,
    ) -> Result<Option<Node>, PlanError> {
        let Some(left) = self.alternatives.checked_sub(1) else {
            return Ok(None);
        };
        self.alternatives = left;
        let mut rest = group.clone();
        let child = rest.children.remove(child_idx);
        let schema = rest.schema();
        let is_of_rest = |filter: &Expr| !has_exists(filter) && slots_of(filter).is_subset(&schema);
        rest.filters.retain(is_of_rest);
        let rest = self.join_units(&rest, outer, None)?;
        let twice = 2.0 * rest.estimated_cost + rest.estimated_rows * GROUP_ROW;
        let is_dear = twice > whole.estimated_cost * SEED_COST_FACTOR;
        if is_dear || rest.estimated_rows * SEED_GROUPS_MIN > groups {
            return Ok(None);
        }
        self.lower_seeded(&rest, child.schema(), &child, outer)
    }
}

/// Whether a plan is a subselect with GROUP BY.
fn is_grouped(plan: &Logical) -> bool {
    match plan {
        Logical::Aggregate { keys, .. } => !keys.is_empty(),
        Logical::Extend { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Project { input, .. }
        | Logical::Distinct { input } => is_grouped(input),
        _ => false,
    }
}
