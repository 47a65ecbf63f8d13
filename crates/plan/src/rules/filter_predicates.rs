//! Conditions over the predicate of a pattern are asked once for each predicate that there is, and its quads are scanned or not.
//!
//! ```text
//! Filter (STRSTARTS(STR(?p), "http://..") && isLiteral(?o))        Filter isLiteral(?o)
//!   PatternScan ?s ?p ?o                                      =>     PatternScan ?s ?p ?o if STRSTARTS(STR(?p), "http://..")
//! ```
//!
//! Quads are stored by predicate, so a scan passes over all others. Where the pattern is looked up, by a constant or in a small graph, the scan asks
//! the condition of what it finds.

use crate::expression::{conjunction, conjuncts, is_pure, slots_of};
use crate::physical::{Expr, Node, Op, Position};
use crate::planner::Planner;
use crate::slot_set::SlotSet;
use std::sync::Arc;

/// Moves conditions over predicates into scans, in the whole plan.
pub(crate) fn apply(root: &mut Node, planner: &Planner<'_>) {
    if planner.rule("filter_predicates") {
        visit(root);
    }
}

fn visit(node: &mut Node) {
    for child in node.op.children_mut() {
        visit(child);
    }
    if let Op::Filter { input, condition } = &mut node.op
        && let Some((scan, rest)) =
            filtered(input, condition, (node.estimated_rows, node.estimated_cost))
    {
        match rest {
            Some(rest) => {
                *condition = rest;
                *input = Arc::new(scan);
            }
            None => *node = scan,
        }
    }
}

/// A scan that takes its part of a condition, after all of which there are so many rows at such a cost, and the rest of it; `None` if none of it is about the
/// predicate.
fn filtered(
    scan: &Node,
    condition: &Expr,
    (rows, cost): (f64, f64),
) -> Option<(Node, Option<Expr>)> {
    let Op::PatternScan {
        pattern,
        filter: None,
    } = &scan.op
    else {
        return None;
    };
    let Position::Slot(predicate) = pattern.predicate else {
        return None;
    };
    let own = SlotSet::of(&[predicate]);
    let is_own = |conjunct: &Expr| is_pure(conjunct) && slots_of(conjunct) == own;
    let (of_predicate, rest): (Vec<Expr>, Vec<Expr>) =
        conjuncts(condition).into_iter().partition(is_own);
    let op = Op::PatternScan {
        pattern: pattern.clone(),
        filter: Some(conjunction(of_predicate)?),
    };
    let mut scan = Node { op, ..scan.clone() };
    if rest.is_empty() {
        scan.estimated_rows = rows;
        scan.estimated_cost = scan.estimated_cost.min(cost);
    }
    Some((scan, conjunction(rest)))
}
