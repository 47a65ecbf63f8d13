//! What threads that work on one pipeline share: where its chain of operators begins, and the rows made there.
//!
//! ```text
//! drain ─ joins, filters ─ StarJoin ─ StarScan          many morsels: dealt out at the scan
//! drain ─ joins, filters ─ StarJoin ─ [StarJoin ─ StarScan]   few rows that lead to many: dealt out above them
//! drain ─ joins, filters ─ StarJoin ─ [Group]                a few batches that lead to many: the same; otherwise as they come
//! drain ─ joins ─ HashJoin ─ [StarScan]                      rows that cost little beside the build side: the same, and it is not made
//!                                                            if there are none
//! ```

use super::Build;
use super::hash_join::cheap_probe;
use crate::context::ExecOptions;
use crate::error::ExecError;
use crate::operators::BoxOperator;
use crate::operators::shared_rows::{
    FAN_OUT_MIN, SharedRows, Shares, distinct_pays_whole, is_made_whole,
};
use basalt_plan::physical::{Node, Op, Position};
use std::sync::Arc;

/// Rows that each thread should find where few are dealt out, so that the last ones end about together.
const THREAD_ROWS: f64 = 16.0;
/// Rows that can be shared at all, where each leads to many.
const FEWEST_ROWS: f64 = 2.0;
/// How many times as much as the streaming side a build side must cost for one thread to look for rows of the former first.
const CHEAP_FACTOR: f64 = 8.0;

/// What is at the end of the chain of streaming operators below a node and can be dealt out to threads, if anything: a
/// star scan, or rows that are [taken batch by batch](is_shared_by_batch).
pub fn shared_leaf<'n>(node: &'n Node, options: &ExecOptions) -> Option<&'n Node> {
    match &node.op {
        Op::StarScan { .. } => Some(node),
        _ if is_shared_by_batch(node, options) => Some(node),
        _ => shared_leaf(node.op.streamed_input()?, options),
    }
}

/// Whether threads can take the rows of a node batch by batch: they are [made whole](is_made_whole), or a thread of its own scans for many of them.
pub fn is_shared_by_batch(node: &Node, options: &ExecOptions) -> bool {
    match &node.op {
        Op::PatternScan { pattern, .. } => {
            let ends = [pattern.subject, pattern.object];
            let is_scan = ends.iter().all(|end| matches!(end, Position::Slot(_)));
            is_scan && options.are_many(node.estimated_rows)
        }
        _ => is_made_whole(node, options),
    }
}

/// The DISTINCT at the end of what becomes of each row of a query, if it pays to make its rows whole.
pub(super) fn last_distinct(root: &Node, options: &ExecOptions) -> Option<usize> {
    match &root.op {
        Op::Distinct { .. } => distinct_pays_whole(root, options).then_some(root.id),
        Op::Project { input } | Op::Extend { input, .. } | Op::Filter { input, .. } => {
            last_distinct(input, options)
        }
        _ => None,
    }
}

/// The first operator of the chain below a node that gives few rows, enough for all threads, that lead to many above it, as
/// far as estimates tell; or else the last one of which each of some rows does.
pub fn few_that_lead_to_many<'n>(node: &'n Node, options: &ExecOptions) -> Option<&'n Node> {
    let many = options.dealt_rows_min as f64;
    let enough = THREAD_ROWS * options.threads as f64;
    let (mut found, mut found_fewer, mut most) = (None, None, node.estimated_rows);
    let mut next = node.op.streamed_input();
    while let Some(below) = next {
        let rows = below.estimated_rows;
        let leads_to_many = most >= many && most >= rows * FAN_OUT_MIN;
        if many == 0.0 || leads_to_many && rows >= enough {
            found = Some(below);
        } else if leads_to_many && rows >= FEWEST_ROWS && found_fewer.is_none() {
            found_fewer = Some(below);
        }
        most = most.max(rows);
        next = below.op.streamed_input();
    }
    found.or(found_fewer)
}

/// To how many rows all rows of an operator of the chain below a node lead there, at most and as far as estimates tell.
pub fn rows_led_to(node: &Node, below: &Node) -> f64 {
    let chain = std::iter::successors(Some(node), |node| node.op.streamed_input());
    let above = chain.take_while(|node| node.id != below.id);
    above.map(|node| node.estimated_rows).fold(0.0, f64::max)
}

/// Whether an operator is above another one of the same chain.
pub fn is_above(node: &Node, below: &Node) -> bool {
    let chain = std::iter::successors(node.op.streamed_input(), |node| node.op.streamed_input());
    chain.into_iter().any(|node| node.id == below.id)
}

/// Into what shares the rows of an operator of the chain below a node are cut where threads take them batch by batch.
pub fn shares_of(node: &Node, leaf: &Node, options: &ExecOptions) -> Shares {
    if options.threads == 1 || !is_made_whole(leaf, options) {
        return Shares::in_batches(options);
    }
    let fan_out = rows_led_to(node, leaf) / leaf.estimated_rows.max(1.0);
    Shares::of_rows(fan_out, options)
}

/// The streaming side of the lowest hash join of the chain below a node of which the build side is expected to cost many times as much:
/// without a row there nothing else need be made.
pub fn cheap_beside_build(node: &Node) -> Option<&Node> {
    let chain = std::iter::successors(Some(node), |node| node.op.streamed_input());
    chain
        .filter_map(|join| cheap_probe(join, CHEAP_FACTOR))
        .last()
}

impl Build {
    /// Makes the first rows of a node; every operator of the node made afterwards takes its share of all of them. If
    /// they are few, they are cut.
    pub fn share_rows(&self, node: &Node, shares: &Shares) -> Result<Arc<SharedRows>, ExecError> {
        let make = || SharedRows::new(self.whole(node)?, shares, &self.cx);
        let rows = Arc::new(self.cx.profile().within(node.id, make)?);
        let mut shared = self.shared.rows.lock().expect("no holder panics");
        shared.insert(node.id, Arc::clone(&rows));
        Ok(rows)
    }

    /// An operator for rows of which all are read: those of a DISTINCT are made as groups, where that pays.
    fn whole(&self, node: &Node) -> Result<BoxOperator, ExecError> {
        match &node.op {
            Op::Distinct { input } if distinct_pays_whole(node, self.cx.options()) => {
                Ok(self.distinct_as_groups(input, &node.schema))
            }
            _ => self.plain(node),
        }
    }

    /// Ends the sharing, whether it went well or not: rows that nobody reads to the end would keep this alive, and it them.
    pub fn unshare_rows(&self, node: &Node) {
        let mut shared = self.shared.rows.lock().expect("no holder panics");
        let rows = shared.remove(&node.id);
        drop(shared);
        drop(rows);
    }

    pub(super) fn shared_rows_of(&self, node: &Node) -> Option<Arc<SharedRows>> {
        let shared = self.shared.rows.lock().expect("no holder panics");
        shared.get(&node.id).map(Arc::clone)
    }
}
