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
use crate::cost_constants::{GROUP_ROW, SEED_COST_FACTOR, SEED_COST_MIN, SEED_ROWS_MIN};
use crate::expression::{has_exists, slots_of};
use crate::logical::{JoinGroup, Logical};
use crate::lower::{Outer, read_again};
use crate::physical::{Expr, Node};
use crate::planner::{PlanError, Planner};
use crate::slot_set::SlotSet;

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
        (is_dear && is_seedable(&group.children[child_idx])).then_some(child)
    }

    /// That child, which has so many rows and is the unit at `unit_idx`, for the values which the rest of the group has of what it shares with it;
    /// `None` if there are too many of these. The units of the rest give the same rows whenever they are evaluated then.
    pub(super) fn seeded_child(
        &mut self,
        group: &JoinGroup,
        (child_idx, child_rows): (usize, f64),
        (kinds, unit_idx): (&mut [UnitKind], usize),
        whole: &Node,
    ) -> Result<Option<Node>, PlanError> {
        let Some(left) = self.alternatives.checked_sub(1) else {
            return Ok(None);
        };
        self.alternatives = left;
        let mut rest = Vec::new();
        for (idx, kind) in kinds.iter_mut().enumerate() {
            if idx == unit_idx {
                continue;
            }
            if let UnitKind::Plan(plan) = kind {
                match self.repeatable(plan) {
                    Some(kept) => *plan = kept,
                    None => return Ok(None),
                }
            }
            rest.push(kind.clone());
        }
        let schema = rest.iter().map(UnitKind::slots);
        let schema = schema.fold(SlotSet::default(), SlotSet::union);
        let is_of_rest =
            |filter: &&Expr| !has_exists(filter) && slots_of(filter).is_subset(&schema);
        let filters = group.filters.iter().filter(is_of_rest).cloned().collect();
        let rest = self.order(rest, filters)?;
        let again = read_again(&rest).estimated_cost + rest.estimated_rows * GROUP_ROW;
        let is_dear = rest.estimated_cost + again > whole.estimated_cost * SEED_COST_FACTOR;
        if is_dear || rest.estimated_rows * SEED_ROWS_MIN > child_rows {
            return Ok(None);
        }
        let child = &group.children[child_idx];
        self.lower_seeded(&rest, child.schema(), child, &Outer::default())
    }
}

/// Whether a plan may be made for some values of what it is grouped by, or of what its parts have.
fn is_seedable(plan: &Logical) -> bool {
    match plan {
        Logical::Aggregate { keys, .. } => !keys.is_empty(),
        Logical::Union(_) | Logical::LeftJoin { .. } | Logical::AntiJoin { .. } => true,
        Logical::Extend { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Project { input, .. } => is_seedable(input),
        Logical::Distinct { input } => is_seedable(input) || matches!(**input, Logical::Group(_)),
        _ => false,
    }
}
