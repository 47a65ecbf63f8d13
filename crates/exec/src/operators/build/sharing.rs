//! What threads that work on one pipeline share: where its chain of operators begins, and the rows made there.

use super::{Build, probe_and_build};
use crate::error::ExecError;
use crate::operators::shared_rows::{SharedRows, is_made_whole};
use basalt_plan::physical::{Node, Op};
use std::sync::Arc;

/// What is at the end of the chain of streaming operators below a node and can be dealt out to threads, if anything: a
/// star scan, or rows that are [made whole](is_made_whole).
pub fn shared_leaf(node: &Node) -> Option<&Node> {
    match &node.op {
        Op::StarScan { .. } => Some(node),
        _ if is_made_whole(node) => Some(node),
        Op::StarJoin { input, .. }
        | Op::PatternJoin { input, .. }
        | Op::PathJoin { input, .. }
        | Op::Filter { input, .. }
        | Op::Extend { input, .. }
        | Op::Project { input } => shared_leaf(input),
        Op::HashJoin { .. } => shared_leaf(probe_and_build(node)?.0),
        _ => None,
    }
}

impl Build {
    /// Makes the rows of a node that is [made whole](is_made_whole); every operator of the node made afterwards takes its
    /// share of them.
    pub fn share_rows(&self, node: &Node) -> Result<Arc<SharedRows>, ExecError> {
        let make = || SharedRows::new(self.plain_unary(node)?, &self.cx);
        let rows = Arc::new(self.cx.profile().within(node.id, make)?);
        let mut shared = self.shared.rows.lock().expect("no holder panics");
        shared.insert(node.id, Arc::clone(&rows));
        Ok(rows)
    }

    /// Ends the sharing, whether it went well or not: rows that nobody reads to the end would keep this alive, and it them.
    pub fn unshare_rows(&self, node: &Node) {
        let mut shared = self.shared.rows.lock().expect("no holder panics");
        let rows = shared.remove(&node.id);
        drop(shared);
        drop(rows);
    }

    pub(super) fn shared_rows_of(&self, node: &Node) -> Option<Arc<SharedRows>> {
        if !is_made_whole(node) {
            return None;
        }
        let shared = self.shared.rows.lock().expect("no holder panics");
        shared.get(&node.id).map(Arc::clone)
    }
}
