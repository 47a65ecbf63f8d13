//! What the evaluations of a correlated plan share: a hash table of rows that do not depend on the outer row is built for the first of them, and
//! kept for the others.
//!
//! So its cost counts by the share of one evaluation, as a table of all pairs may cost a thousand lookups and is right for a million.

use super::costs::hash_cost;
use super::search::{Candidate, bits};
use super::{Problem, UnitKind};
use crate::expression::{is_volatile_plan, outer_slots};
use crate::physical::Node;
use crate::planner::Planner;

/// Whether rows differ from one outer row to the next.
fn is_of_outer_row(node: &Node) -> bool {
    !outer_slots(node).is_empty() || is_volatile_plan(node)
}

impl Problem<'_> {
    /// What a candidate's build costs that need not be paid in each evaluation, in a join of the sets of units `build` and `probe`.
    pub(super) fn saved_by_keeping(
        &self,
        planner: &Planner<'_>,
        side: &Candidate,
        [build, probe]: [u64; 2],
    ) -> f64 {
        let is_of_outer_row = |mask: u64| {
            bits(mask).any(|idx| match &self.units[idx].kind {
                UnitKind::Plan(node) => is_of_outer_row(node),
                _ => false,
            })
        };
        match planner.shares_builds() && is_of_outer_row(probe) && !is_of_outer_row(build) {
            true => planner.saved_of_build(side.rows, side.cost),
            false => 0.0,
        }
    }
}

impl Planner<'_> {
    /// The same of a finished join whose right side is built.
    pub(crate) fn saved_by_keeping(&self, left: &Node, right: &Node) -> f64 {
        match self.shares_builds() && is_of_outer_row(left) && !is_of_outer_row(right) {
            true => self.saved_of_build(right.estimated_rows, right.estimated_cost),
            false => 0.0,
        }
    }

    /// Whether what is built in the plan that is made serves several evaluations.
    fn shares_builds(&self) -> bool {
        self.keeps_builds && self.evaluations > 1.0
    }

    fn saved_of_build(&self, rows: f64, cost: f64) -> f64 {
        (cost + hash_cost(rows, 0.0, false)) * (1.0 - 1.0 / self.evaluations)
    }
}
