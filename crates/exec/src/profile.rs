//! `Profile`: rows and nanoseconds by plan node, counted while a query runs.

use basalt_plan::NodeProfile;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters by node id; empty when no profile was asked for.
#[derive(Default)]
pub struct Profile {
    nodes: Vec<(AtomicU64, AtomicU64)>,
}

impl Profile {
    /// Counters for this many nodes.
    pub fn new(node_count: usize) -> Self {
        let mut nodes = Vec::new();
        nodes.resize_with(node_count, Default::default);
        Self { nodes }
    }

    /// Whether anything is counted.
    pub fn is_on(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// Adds to a node's counters.
    pub fn add(&self, node_id: usize, rows: u64, nanos: u64) {
        if let Some((row_count, nano_count)) = self.nodes.get(node_id) {
            row_count.fetch_add(rows, Ordering::Relaxed);
            nano_count.fetch_add(nanos, Ordering::Relaxed);
        }
    }

    /// The counters now. Times of nodes that several threads ran are sums over the threads.
    pub fn snapshot(&self) -> Vec<NodeProfile> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.nodes
            .iter()
            .map(|(rows, nanos)| NodeProfile {
                rows: read(rows),
                nanos: read(nanos),
            })
            .collect()
    }
}
