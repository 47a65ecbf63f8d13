//! Merging: the delta becomes part of a new version when it has grown large.
//!
//! Reading costs more with a large delta, and opening a store more with a long log. So a commit that crosses
//! a threshold starts a thread that takes the next turn and rewrites the store as `optimize` does. Writers wait
//! for it; readers go on with their snapshots. A merge that fails changes nothing and is tried again later.
//!
//! Invariant: at most one merge is due or running. Once one is due, no new writer gets a turn before it.

use crate::transactions::Core;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// When the delta is merged into a new version.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MergePolicy {
    /// No merge for fewer changed quads than this.
    pub quads_min: u64,
    /// No merge for changed quads below this share of the quads of the store.
    pub share_min: f64,
    /// A log of more bytes than this is merged whatever the number of quads.
    pub log_bytes_max: u64,
    /// After a merge that failed the next one waits so long.
    pub retry_after: Duration,
}

impl Default for MergePolicy {
    /// A merge rewrites the store: with a tenth of it each quad is rewritten some ten times while the store
    /// doubles. Below 200,000 quads reading the delta costs little, and replaying it less than a second.
    fn default() -> Self {
        Self {
            quads_min: 200_000,
            share_min: 0.1,
            log_bytes_max: 256 << 20,
            retry_after: Duration::from_secs(60),
        }
    }
}

impl MergePolicy {
    /// Never merges by itself.
    pub const NEVER: Self = Self {
        quads_min: u64::MAX,
        share_min: 1.0,
        log_bytes_max: u64::MAX,
        retry_after: Duration::ZERO,
    };

    /// Whether a delta of so many changed quads over a store of so many, with a log of so many bytes, is merged.
    pub(crate) fn is_due(&self, changed: u64, quads: u64, log_bytes: u64) -> bool {
        let share = (quads as f64 * self.share_min) as u64;
        log_bytes > self.log_bytes_max || changed > self.quads_min.max(share)
    }
}

/// What is known of merges.
#[derive(Debug, Default)]
pub(crate) struct MergeState {
    /// A merge is due or running.
    is_due: bool,
    /// Merges that were done.
    pub(crate) done: u64,
    /// Why the last one failed; `None` after one that did not.
    pub(crate) failure: Option<String>,
    /// When the next one may be tried.
    not_before: Option<Instant>,
    /// The thread of the last one.
    thread: Option<JoinHandle<()>>,
}

/// The merges of a database.
#[derive(Debug, Default)]
pub(crate) struct Merges {
    state: Mutex<MergeState>,
    over: Condvar,
}

impl Merges {
    /// What is known.
    pub(crate) fn state(&self) -> MutexGuard<'_, MergeState> {
        // The fields are plain and set one by one, so a panic leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no merge is due.
    pub(crate) fn wait(&self) {
        let mut state = self.state();
        while state.is_due {
            state = self
                .over
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for the thread of the last merge.
    pub(crate) fn join(&self) {
        let thread = self.state().thread.take();
        if let Some(thread) = thread {
            // It reports its failure in the state.
            let _ = thread.join();
        }
    }
}

/// Ends a merge, also if its thread panics.
struct Running<'c>(&'c Core);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let merges = &self.0.merges;
        merges.state().is_due = false;
        merges.over.notify_all();
    }
}

impl Core {
    /// Starts a merge if the delta is large enough and none is under way.
    pub(crate) fn merge_if_due(core: &Arc<Self>) {
        let policy = core.options.merge;
        let published = core.snapshot();
        let size = published.delta_size();
        let changed = size.added + size.removed;
        if !policy.is_due(changed, published.quad_count(), core.log_bytes()) {
            return;
        }
        let mut state = core.merges.state();
        if state.is_due || state.not_before.is_some_and(|t| Instant::now() < t) {
            return;
        }
        let of_thread = Arc::clone(core);
        let started = std::thread::Builder::new()
            .name("basalt-merge".to_owned())
            .spawn(move || of_thread.merge());
        match started {
            Ok(thread) => {
                state.is_due = true;
                state.thread = Some(thread);
            }
            Err(error) => {
                state.failure = Some(format!("cannot start a thread: {error}"));
                state.not_before = Some(Instant::now() + policy.retry_after);
            }
        }
    }

    /// Merges, on a thread of its own.
    fn merge(&self) {
        // The commit that has started this holds the state until it has noted that.
        drop(self.merges.state());
        let _running = Running(self);
        let merged = self.merge_in_turn();
        let mut state = self.merges.state();
        match merged {
            Ok(()) => {
                state.done += 1;
                state.failure = None;
                state.not_before = None;
            }
            Err(error) => {
                state.failure = Some(error.to_string());
                state.not_before = Some(Instant::now() + self.options.merge.retry_after);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_is_due_by_share_by_number_and_by_log() {
        let policy = MergePolicy::default();
        assert!(!policy.is_due(200_000, 0, 0));
        assert!(policy.is_due(200_001, 0, 0));
        assert!(!policy.is_due(1_000_000, 10_000_000, 0));
        assert!(policy.is_due(1_000_001, 10_000_000, 0));
        assert!(policy.is_due(0, 0, policy.log_bytes_max + 1));
        assert!(!MergePolicy::NEVER.is_due(u64::MAX, 0, u64::MAX));
    }
}
