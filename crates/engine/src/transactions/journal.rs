//! The journal: what was committed since a merge began.
//!
//! Writers put each commit in, in their turn; the merge takes them out, without the turn, and says them again in ids of
//! the version that it has written. The merge takes only what is published: a commit whose sync fails is cut back and
//! leaves the journal as it leaves the log.
//!
//! Invariant: the numbers of the commits ascend without gaps. Memory: 32 bytes for each changed quad, beside what
//! the delta takes.

use basalt_store::NetChanges;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a commit has changed.
#[derive(Debug)]
pub(crate) struct Committed {
    /// Its number.
    pub(crate) number: u64,
    /// Its net changes, in ids of the version that it was made on; both lists ascend.
    pub(crate) changes: NetChanges,
}

/// See the [module documentation](self).
#[derive(Debug, Default)]
pub(crate) struct Journal {
    commits: Mutex<VecDeque<Committed>>,
    /// Nothing more is noted, and who reads it gives up.
    is_abandoned: AtomicBool,
}

impl Journal {
    fn commits(&self) -> MutexGuard<'_, VecDeque<Committed>> {
        // Each change is one call on the queue.
        self.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the merge that nothing more is noted.
    pub(crate) fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::Release);
    }

    /// Whether nothing more is noted.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.is_abandoned.load(Ordering::Acquire)
    }

    /// Notes the next commit.
    pub(crate) fn put(&self, commit: Committed) {
        let mut commits = self.commits();
        debug_assert!(commits.back().is_none_or(|c| c.number + 1 == commit.number));
        commits.push_back(commit);
    }

    /// Takes the commits up to this number.
    pub(crate) fn take_to(&self, number: u64) -> Vec<Committed> {
        let mut commits = self.commits();
        let count = commits.partition_point(|commit| commit.number <= number);
        commits.drain(..count).collect()
    }

    /// Changed quads of the commits up to this number.
    pub(crate) fn quads_to(&self, number: u64) -> usize {
        let commits = self.commits();
        let wanted = commits.iter().take_while(|commit| commit.number <= number);
        wanted.map(|commit| commit.changes.quads()).sum()
    }

    /// Forgets the commits after this number.
    pub(crate) fn cut_after(&self, number: u64) {
        let mut commits = self.commits();
        let count = commits.partition_point(|commit| commit.number <= number);
        commits.truncate(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_taken_once_and_in_order() {
        let journal = Journal::default();
        let put = |numbers: std::ops::Range<u64>| {
            for number in numbers {
                let changes = NetChanges::default();
                journal.put(Committed { number, changes });
            }
        };
        let take = |to| -> Vec<u64> {
            let taken = journal.take_to(to);
            taken.iter().map(|commit| commit.number).collect()
        };
        put(5..9);
        assert_eq!(take(6), [5, 6]);
        journal.cut_after(7);
        put(8..10);
        assert_eq!(take(100), [7, 8, 9]);
        assert!(take(100).is_empty());
    }
}
