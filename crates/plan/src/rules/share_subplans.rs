//! Groups that stand several times in a plan are made once ([`Op::Spool`]).
//!
//! Two subselects often count the same: the most reviewed products of each country are the counts by country
//! and product, once for their maximum and once to be compared with it. The planner plans both alike, so equal
//! sub-plans are found in the finished plan, whatever their variables are called. Only groups are looked at:
//! they read all their input before the first row anyway, and what they make is small beside it.
//!
//! Sound where two evaluations give the same rows: nothing volatile, nothing remote. Plans inside EXISTS and right
//! sides of lateral joins, which are evaluated anew for each row, are left alone.

use crate::cost_constants::SPOOL_VALUE;
use crate::expression::{any, is_volatile_plan};
use crate::physical::{Expr, Node, Op};
use crate::planner::Planner;
use crate::rename_slots::canonical;
use std::sync::Arc;

/// Puts a [`Op::Spool`] over each of equal groups.
pub(crate) fn apply(root: &mut Node, planner: &Planner<'_>) {
    if !planner.rule("share_subplans") {
        return;
    }
    let mut found = Vec::new();
    find(root, &mut found);
    if found.len() < 2 {
        return;
    }
    let plans: Vec<Node> = found.into_iter().map(canonical).collect();
    let shared: Vec<Node> = (0..plans.len())
        .filter(|&at| plans[at + 1..].contains(&plans[at]))
        .map(|at| plans[at].clone())
        .collect();
    share(root, (&shared, planner.spools), &mut Vec::new());
}

/// Collects what is worth being kept, from the root.
fn find<'a>(node: &'a Node, found: &mut Vec<&'a Node>) {
    if is_worthwhile(node) {
        found.push(node);
    }
    if !is_kept(node) {
        for child in shareable_children(node) {
            find(child, found);
        }
    }
}

/// Whether rows are [kept](crate::lower) already: what makes them stands in several places, and runs in one.
fn is_kept(node: &Node) -> bool {
    matches!(node.op, Op::Spool { .. })
}

/// The inputs that are evaluated once.
pub(super) fn shareable_children(node: &Node) -> Vec<&Node> {
    match &node.op {
        Op::LateralJoin { left, .. } => vec![left],
        // Its states are shared already.
        Op::RollUp(_) => Vec::new(),
        op => op.children(),
    }
}

/// The same, mutably.
pub(super) fn shareable_children_mut(node: &mut Node) -> Vec<&mut Node> {
    match &mut node.op {
        Op::LateralJoin { left, .. } => vec![Arc::make_mut(left)],
        Op::RollUp(_) => Vec::new(),
        op => op.children_mut(),
    }
}

/// A group that costs more to make than to keep and read again.
fn is_worthwhile(node: &Node) -> bool {
    let keep = node.estimated_rows * node.schema.len() as f64 * SPOOL_VALUE;
    matches!(node.op, Op::Group { .. } | Op::GroupThrough(_))
        && node.estimated_cost > 2.0 * keep
        && is_evaluated_alike(node)
}

/// Whether two evaluations of a plan give the same rows.
pub(crate) fn is_evaluated_alike(node: &Node) -> bool {
    !is_volatile_plan(node) && !has_service(node)
}

fn has_service(node: &Node) -> bool {
    let in_exists = |expr: &Expr| matches!(expr, Expr::Exists(inside) if has_service(inside));
    let mut expressions = node.op.expressions().into_iter();
    matches!(node.op, Op::Service { .. })
        || expressions.any(|expr| any(expr, &in_exists))
        || node.op.children().into_iter().any(has_service)
}

/// Wraps the outermost nodes that are one of the shared plans; those in `spools` have numbers already, by their place, from `first` on. (One that
/// stands inside others may be left with one place to read it: it is then read once.)
fn share<'p>(node: &mut Node, (shared, first): (&'p [Node], usize), spools: &mut Vec<&'p Node>) {
    if shared.is_empty() || is_kept(node) {
        return;
    }
    if is_worthwhile(node) {
        let plan = canonical(node);
        if let Some(known) = shared.iter().find(|other| **other == plan) {
            let numbered = spools.iter().position(|other| std::ptr::eq(*other, known));
            let spool = numbered.unwrap_or_else(|| {
                spools.push(known);
                spools.len() - 1
            });
            let op = std::mem::replace(&mut node.op, Op::Unit);
            let input = Arc::new(Node { op, ..node.clone() });
            node.op = Op::Spool {
                input,
                spool: first + spool,
                always: false,
            };
            return;
        }
    }
    for child in shareable_children_mut(node) {
        share(child, (shared, first), spools);
    }
}
