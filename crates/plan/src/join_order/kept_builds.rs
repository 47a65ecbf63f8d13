//! What the evaluations of a correlated plan share: a hash table of rows that do not depend on the outer row is built for the first of them, and
//! kept for the others.
//!
//! So its cost counts by the share of one evaluation, as a table of all pairs may cost a thousand lookups and is right for a million.

use super::costs::hash_cost;
use super::{Unit, UnitKind};
use crate::expression::{is_volatile_plan, outer_slots};
use crate::physical::Node;
use crate::planner::Planner;

/// Whether rows differ from one outer row to the next.
fn is_of_outer_row(node: &Node) -> bool {
    !outer_slots(node).is_empty() || is_volatile_plan(node)
}

impl Planner<'_> {
    /// The units whose rows differ from one outer row to the next, by bits; none where the plan that is made runs once.
    pub(super) fn of_outer_row(&self, units: &[Unit]) -> u64 {
        let differs = |unit: &Unit| match &unit.kind {
            UnitKind::Plan(node) => self.shares_builds() && is_of_outer_row(node),
            _ => false,
        };
        let units = units.iter().enumerate();
        let units = units.filter(|(_, unit)| differs(unit));
        units.fold(0, |mask, (idx, _)| mask | 1 << idx)
    }

    /// What the build of a finished join costs that need not be paid in each evaluation; its right side is built.
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

    /// What is not paid in each evaluation of a build of so many rows that cost so much.
    pub(super) fn saved_of_build(&self, rows: f64, cost: f64) -> f64 {
        (cost + hash_cost(rows, 0.0, false)) * (1.0 - 1.0 / self.evaluations)
    }
}
