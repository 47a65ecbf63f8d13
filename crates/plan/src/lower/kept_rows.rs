//! Rows under a LIMIT that a plan reads twice: to be joined, and as the seed of what is joined to them.
//!
//! ```text
//! { SELECT ?file .. ORDER BY ?file LIMIT 100 }  OPTIONAL { .. OPTIONAL { .. } }      a page, and the details of its rows
//! ```
//!
//! Two evaluations of a LIMIT may give different rows (the first that come, or others that are equal in the order), so these are made once and kept
//! ([`Op::Spool`]). The two copies of such a plan stay alike: no rule moves anything across a LIMIT, and columns are not dropped below a spool.
//!
//! Memory: [`KEPT_ROWS_MAX`] rows, for which room there must be.

use super::joinable::is_repeatable;
use crate::cost_constants::{KEPT_ROWS_MAX, SPOOL_VALUE};
use crate::expression::outer_slots;
use crate::physical::{Node, Op};
use crate::planner::{Planner, take_node};

impl Planner<'_> {
    /// A plan that gives the same rows whenever it is evaluated: this one, or with the rows of its limits kept. `None` if others differ too.
    pub(crate) fn repeatable(&mut self, plan: &Node) -> Option<Node> {
        let mut kept = plan.clone();
        if !is_repeatable(plan) {
            self.keep_limits(&mut kept);
        }
        is_repeatable(&kept).then_some(kept)
    }

    /// Keeps the rows of the outermost limits.
    fn keep_limits(&mut self, node: &mut Node) {
        if !is_cut(node) {
            let inputs = node.op.children_mut();
            return inputs.into_iter().for_each(|input| self.keep_limits(input));
        }
        if !outer_slots(node).is_empty() {
            return;
        }
        let input = take_node(node);
        let (rows, cost) = (input.estimated_rows, input.estimated_cost);
        let (spool, always) = (self.spools, true);
        let cost = cost + values_cost(&input);
        self.spools += 1;
        *node = self.pass(input, rows, cost, |input| Op::Spool {
            input,
            spool,
            always,
        });
    }
}

/// Whether a node gives a few of its rows.
fn is_cut(node: &Node) -> bool {
    match &node.op {
        Op::Slice { limit, .. } | Op::OrderBy { limit, .. } => {
            limit.is_some_and(|limit| limit <= KEPT_ROWS_MAX)
        }
        _ => false,
    }
}

fn values_cost(node: &Node) -> f64 {
    node.estimated_rows * node.schema.len() as f64 * SPOOL_VALUE
}

/// The plan, which is evaluated elsewhere too: what is kept in it is only read.
pub(crate) fn read_again(plan: &Node) -> Node {
    let mut again = plan.clone();
    if has_kept(&again) {
        spare(&mut again);
    }
    again
}

fn has_kept(node: &Node) -> bool {
    matches!(node.op, Op::Spool { .. }) || node.op.children().into_iter().any(has_kept)
}

/// Takes off what making kept rows costs; returns how much that is.
fn spare(node: &mut Node) -> f64 {
    let spared = match &mut node.op {
        Op::Spool { .. } => node.estimated_cost - values_cost(node),
        op => op.children_mut().into_iter().map(spare).sum(),
    };
    node.estimated_cost = (node.estimated_cost - spared).max(0.0);
    spared.max(0.0)
}
