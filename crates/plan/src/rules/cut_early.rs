//! What a sort with a limit would turn away is dropped before it is joined further ([`Op::OrderBy`], `cut_after`).
//!
//! ```text
//! OrderBy ?price desc first 100      once it has 100 rows: nothing below the price of the last
//!   HashJoin on ?store
//!     HashJoin on ?item
//!       StarScan ?sale .. ?price     <- rows below that price need no item and no store
//! ```
//!
//! Applies where the first key is a variable that some operator further down the streaming sides has in every row: rows that are joined with one of
//! its rows have its value, so none of them would be kept. Sorts inside EXISTS and on the right of lateral joins are left alone: they begin anew for each row. Runs over
//! the finished plan, whose nodes have their numbers. Used where rows are several times as many as are kept, and what is joined to them costs more than a comparison each.

use super::share_subplans::{shareable_children, shareable_children_mut};
use crate::cost_constants::EXPRESSION;
use crate::physical::{Expr, Node, Op, Slot};
use crate::planner::Planner;

/// Rows that a sort collects before it turns any away.
const COLLECTED_ROWS: usize = 1024;
/// How many times as many as are kept there must be.
const ROWS_FACTOR: f64 = 4.0;

/// Marks where rows are dropped.
pub(crate) fn apply(root: &mut Node, planner: &Planner<'_>) {
    if planner.rule("cut_early") {
        visit(root);
    }
}

fn visit(node: &mut Node) {
    if let Op::OrderBy {
        input,
        keys,
        limit: Some(limit),
        cut_after,
    } = &mut node.op
        && let Some(Expr::Slot(slot)) = keys.first().map(|key| &key.expr)
        && input.certain.contains(slot)
    {
        let source = source(input, *slot);
        let kept = (*limit).max(COLLECTED_ROWS) as f64;
        let saved = input.estimated_cost - source.estimated_cost;
        let are_many = source.estimated_rows >= kept * ROWS_FACTOR;
        if source.id != input.id && are_many && saved > source.estimated_rows * EXPRESSION {
            *cut_after = Some(source.id);
        }
    }
    for child in shareable_children_mut(node) {
        visit(child);
    }
}

/// The last operator down the streaming sides whose rows all have a value of the slot, and after which something is joined; the node itself if there is none.
fn source(node: &Node, slot: Slot) -> &Node {
    let (mut found, mut next) = (node, Some(node));
    while let Some(at) = next {
        let is_set = matches!(&at.op, Op::HashJoin { partners, .. } if !partners.is_empty());
        let below = at.op.streamed_input().filter(|_| !is_set);
        next = below.filter(|below| below.certain.contains(&slot));
        let is_join = !matches!(
            at.op,
            Op::Project { .. } | Op::Filter { .. } | Op::Extend { .. } | Op::PartialDistinct { .. }
        );
        if is_join && let Some(below) = next {
            found = below;
        }
    }
    found
}

/// The node of this number.
pub(crate) fn find(node: &Node, id: usize) -> Option<&Node> {
    if node.id == id {
        return Some(node);
    }
    let children = shareable_children(node).into_iter();
    children.filter_map(|child| find(child, id)).next()
}
