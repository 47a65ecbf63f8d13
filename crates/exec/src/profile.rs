//! `Profile`: what each node of a plan took, measured while a query runs.
//!
//! ```text
//! Profiled::next ─ within(node) ─ the operator ─ within(child) ─ ...
//!                                      └ read, reserve, release, spill: counted for the node that this thread is in
//! ```
//!
//! Each thread knows the node it works for. Time is that of the node alone: a scope subtracts the scopes
//! inside it, and what waits for other threads counts nowhere, since they count their own work. So times of
//! a node are sums over threads, and those of a node with all below it are a sum over nodes.
//! Cost: nothing without a profile but a test; with one, two readings of the clock for each batch.

use basalt_plan::NodeProfile;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

thread_local! {
    /// The node that this thread works for.
    static NODE: Cell<Option<usize>> = const { Cell::new(None) };
    /// Nanoseconds spent in scopes inside the current one.
    static NESTED_NANOS: Cell<u64> = const { Cell::new(0) };
}

/// Counters by node id; empty when no profile was asked for.
#[derive(Default)]
pub struct Profile {
    nodes: Vec<Counters>,
    /// The most bytes that all operators held together.
    memory_bytes_max: AtomicU64,
}

#[derive(Default)]
struct Counters {
    rows: AtomicU64,
    read_rows: AtomicU64,
    read_one_by_one: AtomicU64,
    compared_rows: AtomicU64,
    turned_away: AtomicU64,
    own_nanos: AtomicU64,
    /// Bytes held now.
    held_bytes: AtomicU64,
    held_bytes_max: AtomicU64,
    spilled_bytes: Arc<AtomicU64>,
    is_started: AtomicBool,
    is_complete: AtomicBool,
}

impl Profile {
    /// Counters for this many nodes.
    pub fn new(node_count: usize) -> Self {
        let mut nodes = Vec::new();
        nodes.resize_with(node_count, Default::default);
        Self {
            nodes,
            memory_bytes_max: AtomicU64::new(0),
        }
    }

    /// Whether anything is counted.
    pub fn is_on(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// Does some work of a node: time and memory count for it.
    pub fn within<T>(&self, node_id: usize, work: impl FnOnce() -> T) -> T {
        let Some(counters) = self.nodes.get(node_id) else {
            return work();
        };
        let _scope = Scope {
            counters,
            start: Instant::now(),
            outer_node: NODE.replace(Some(node_id)),
            outer_nested: NESTED_NANOS.replace(0),
        };
        work()
    }

    /// Does some work of a node that another thread gave away; `None` is no node.
    pub fn resume<T>(&self, node_id: Option<usize>, work: impl FnOnce() -> T) -> T {
        match node_id {
            Some(node_id) => self.within(node_id, work),
            None => work(),
        }
    }

    /// Counts what a node gave: rows, or its end.
    pub fn gave(&self, node_id: usize, rows: Option<usize>) {
        let Some(counters) = self.nodes.get(node_id) else {
            return;
        };
        counters.is_started.store(true, Ordering::Relaxed);
        match rows {
            Some(rows) => {
                counters.rows.fetch_add(rows as u64, Ordering::Relaxed);
            }
            None => counters.is_complete.store(true, Ordering::Relaxed),
        }
    }

    /// Counts rows that a node reads from the store: rows of tables that it looks at, subjects of the general way, quads,
    /// links. The node is the [current one](current_node), but for threads that work for none.
    pub fn read(&self, node_id: Option<usize>, rows: usize) {
        if let Some(counters) = node_id.and_then(|node_id| self.nodes.get(node_id)) {
            counters.read_rows.fetch_add(rows as u64, Ordering::Relaxed);
        }
    }

    /// Counts subjects that a node reads from the store one by one, which are read rows too.
    pub fn read_one_by_one(&self, node_id: Option<usize>, subjects: usize) {
        self.read(node_id, subjects);
        if let Some(counters) = node_id.and_then(|node_id| self.nodes.get(node_id)) {
            let count = &counters.read_one_by_one;
            count.fetch_add(subjects as u64, Ordering::Relaxed);
        }
    }

    /// Counts rows of which a node compared a packed value, or only asked whether they have one.
    pub fn compared(&self, node_id: Option<usize>, rows: usize) {
        if let Some(counters) = node_id.and_then(|node_id| self.nodes.get(node_id)) {
            let count = &counters.compared_rows;
            count.fetch_add(rows as u64, Ordering::Relaxed);
        }
    }

    /// Counts candidates that a node turned away by key filters.
    pub fn turned_away(&self, node_id: Option<usize>, rows: usize) {
        if let Some(counters) = node_id.and_then(|node_id| self.nodes.get(node_id)) {
            let count = &counters.turned_away;
            count.fetch_add(rows as u64, Ordering::Relaxed);
        }
    }

    /// Counts bytes that the current node holds from now on; `all` are held by all together.
    pub fn hold(&self, bytes: usize, all: usize) {
        self.memory_bytes_max
            .fetch_max(all as u64, Ordering::Relaxed);
        if let Some(counters) = NODE.get().and_then(|node_id| self.nodes.get(node_id)) {
            let held = &counters.held_bytes;
            let held = held.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
            counters.held_bytes_max.fetch_max(held, Ordering::Relaxed);
        }
    }

    /// Counts bytes that a node holds no longer.
    pub fn give_back(&self, node_id: Option<usize>, bytes: usize) {
        if let Some(counters) = node_id.and_then(|node_id| self.nodes.get(node_id)) {
            // What one node reserved another may give back, so the count must not go below nothing.
            let less = |held: u64| Some(held.saturating_sub(bytes as u64));
            let _ = counters
                .held_bytes
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }

    /// The counter of bytes that the current node writes to files.
    pub fn spilled_bytes(&self) -> Option<Arc<AtomicU64>> {
        let counters = self.nodes.get(NODE.get()?)?;
        Some(Arc::clone(&counters.spilled_bytes))
    }

    /// The most bytes that all operators held together; 0 without a profile.
    pub fn memory_bytes_max(&self) -> u64 {
        self.memory_bytes_max.load(Ordering::Relaxed)
    }

    /// The counters now.
    pub fn snapshot(&self) -> Vec<NodeProfile> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.nodes
            .iter()
            .map(|counters| NodeProfile {
                rows: read(&counters.rows),
                read_rows: read(&counters.read_rows),
                read_one_by_one: read(&counters.read_one_by_one),
                compared_rows: read(&counters.compared_rows),
                turned_away: read(&counters.turned_away),
                own_nanos: read(&counters.own_nanos),
                memory_bytes: read(&counters.held_bytes_max),
                spilled_bytes: read(&counters.spilled_bytes),
                is_started: counters.is_started.load(Ordering::Relaxed),
                is_complete: counters.is_complete.load(Ordering::Relaxed),
            })
            .collect()
    }
}

/// The node that this thread works for, if a profile was asked for.
pub fn current_node() -> Option<usize> {
    NODE.get()
}

/// Waits for other threads: the time counts for no node.
pub fn waiting<T>(wait: impl FnOnce() -> T) -> T {
    if NODE.get().is_none() {
        return wait();
    }
    let start = Instant::now();
    let result = wait();
    let nanos = start.elapsed().as_nanos() as u64;
    NESTED_NANOS.set(NESTED_NANOS.get() + nanos);
    result
}

/// A stretch of work for a node; counted when dropped, so that a panic of the work leaves no trace on the thread.
struct Scope<'a> {
    counters: &'a Counters,
    start: Instant,
    outer_node: Option<usize>,
    outer_nested: u64,
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        let nanos = self.start.elapsed().as_nanos() as u64;
        let nested = NESTED_NANOS.replace(self.outer_nested + nanos);
        NODE.set(self.outer_node);
        let own = nanos.saturating_sub(nested);
        self.counters.own_nanos.fetch_add(own, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_counts_its_own_time_and_memory() {
        let profile = Profile::new(3);
        let busy = || {
            let start = Instant::now();
            while start.elapsed().as_micros() < 300 {}
        };
        let whole = Instant::now();
        profile.within(0, || {
            profile.hold(10, 10);
            profile.within(1, || {
                busy();
                profile.hold(7, 17);
                profile.give_back(current_node(), 7);
                profile.hold(5, 15);
            });
            profile.give_back(current_node(), 100);
            profile.hold(1, 6);
            waiting(busy);
        });
        let whole = whole.elapsed().as_nanos() as u64;
        profile.gave(1, Some(4));
        profile.gave(1, None);
        profile.read(Some(1), 9);
        profile.read(None, 100);
        profile.compared(Some(1), 12);
        profile.turned_away(Some(1), 3);
        let nodes = profile.snapshot();
        assert!(nodes[1].own_nanos >= 300_000, "{nodes:?}");
        assert!(
            nodes[0].own_nanos + nodes[1].own_nanos + 300_000 <= whole,
            "neither what is inside nor waiting counts: {nodes:?} of {whole}"
        );
        assert_eq!([nodes[0].memory_bytes, nodes[1].memory_bytes], [10, 7]);
        assert_eq!(profile.memory_bytes_max(), 17);
        assert_eq!((nodes[1].rows, nodes[1].is_complete), (4, true));
        assert_eq!([nodes[0].read_rows, nodes[1].read_rows], [0, 9]);
        assert_eq!([nodes[0].compared_rows, nodes[1].compared_rows], [0, 12]);
        assert_eq!([nodes[0].turned_away, nodes[1].turned_away], [0, 3]);
        assert_eq!(nodes[2], NodeProfile::default());
        assert_eq!(current_node(), None);
    }

    #[test]
    fn without_a_profile_nothing_is_counted() {
        let profile = Profile::default();
        profile.within(0, || profile.hold(10, 10));
        assert!(!profile.is_on() && profile.snapshot().is_empty());
        assert!(profile.spilled_bytes().is_none());
    }
}
