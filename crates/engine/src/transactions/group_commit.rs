//! Group commit: those that wait for the disk wait together.
//!
//! ```text
//! append A, append B, append C ... wait: the first that finds nobody syncing leads, and syncs for all appended so far
//! ```
//!
//! A commit that is appended stands in the queue until it is synced. The leader takes the last of the queue, syncs without
//! any lock, then publishes that state and wakes all that stand before it. While it syncs, more are appended;
//! one of those leads next.
//!
//! If the sync fails, what is on the disk is not known. The leader notes the failure, which stops all other
//! writers, takes the turn, cuts the log back to what was synced before, and fails everything in the queue.
//!
//! Invariants: the queue is in the order of the log; at most one thread syncs; while a failure is noted nothing is appended.

use crate::transactions::Core;
use crate::transactions::turn::Turn;
use crate::transactions::{Durability, core};
use basalt_store::{LogSync, Snapshot, StoreError};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// A commit that is in the log and may not be synced.
#[derive(Debug)]
pub(crate) struct Appended {
    /// The state after it.
    snapshot: Snapshot,
    /// Syncs the log up to its end; `None` in memory.
    sync: Option<LogSync>,
    /// How it ended.
    outcome: OnceLock<Result<(), StoreError>>,
}

impl Appended {
    pub(crate) fn new(snapshot: Snapshot, sync: Option<LogSync>) -> Self {
        Self {
            snapshot,
            sync,
            outcome: OnceLock::new(),
        }
    }

    /// The number of the commit.
    pub(crate) fn number(&self) -> u64 {
        self.snapshot.commit_number()
    }
}

/// What is under way.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// Commits in the log that are not synced, in its order.
    queue: VecDeque<Arc<Appended>>,
    /// Somebody syncs.
    is_syncing: bool,
    /// A sync has failed, and the queue is not cut back yet.
    failure: Option<StoreError>,
    /// Syncs done.
    pub(crate) syncs: u64,
    /// The database is being closed.
    is_closing: bool,
}

/// The commits that wait for the disk.
#[derive(Debug, Default)]
pub(crate) struct GroupCommit {
    group: Mutex<Group>,
    changed: Condvar,
}

impl GroupCommit {
    /// What is under way.
    pub(crate) fn group(&self) -> MutexGuard<'_, Group> {
        // Nothing between two changes of the fields can panic.
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep<'g>(&self, group: MutexGuard<'g, Group>) -> MutexGuard<'g, Group> {
        self.changed
            .wait(group)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Core {
    /// The newest commit that may not be synced.
    pub(crate) fn last_unsynced(&self) -> Option<Arc<Appended>> {
        match self.options.durability {
            Durability::Always => self.commits.group().queue.back().cloned(),
            Durability::Interval(_) | Durability::None => None,
        }
    }

    /// Fails while a sync has failed and the log is not cut back.
    pub(crate) fn refuse_after_failure(&self) -> Result<(), StoreError> {
        match &self.commits.group().failure {
            Some(failure) => Err(core::same_error(failure)),
            None => Ok(()),
        }
    }

    /// Puts a commit that was appended into the queue, or publishes it, as the durability asks.
    pub(crate) fn enqueue(&self, commit: Arc<Appended>) {
        let waits = commit.sync.is_some() && self.options.durability == Durability::Always;
        let mut group = self.commits.group();
        if !waits {
            self.publish(commit.snapshot.clone());
            // Nobody waits for those before it.
            group.queue.clear();
        }
        match (&commit.sync, self.options.durability) {
            (None, _) | (_, Durability::None) => {}
            _ => group.queue.push_back(commit),
        }
    }

    /// Waits until a commit is as durable as was asked for; syncs if nobody else does.
    pub(crate) fn wait(&self, commit: &Appended) -> Result<(), StoreError> {
        if commit.sync.is_none() || self.options.durability != Durability::Always {
            return Ok(());
        }
        let mut group = self.commits.group();
        // Termination: a commit in the queue is synced or cut back by whoever leads, or by this thread.
        loop {
            if let Some(outcome) = commit.outcome.get() {
                return outcome.as_ref().map_err(core::same_error).copied();
            }
            if group.is_syncing || group.failure.is_some() {
                group = self.commits.sleep(group);
                continue;
            }
            drop(group);
            if self.sync_queue() {
                self.cut_back(&mut self.lock_turn());
            }
            group = self.commits.group();
        }
    }

    /// Syncs what is in the queue, unless somebody does; whether that failed.
    pub(crate) fn sync_queue(&self) -> bool {
        let mut group = self.commits.group();
        if group.is_syncing || group.failure.is_some() {
            return false;
        }
        let Some(last) = group.queue.back().cloned() else {
            return false;
        };
        group.is_syncing = true;
        drop(group);
        let synced = last.sync.as_ref().map_or(Ok(()), LogSync::sync);
        let mut group = self.commits.group();
        group.is_syncing = false;
        let failed = synced.is_err();
        match synced {
            Ok(()) => {
                group.syncs += 1;
                if self.options.durability == Durability::Always {
                    self.publish(last.snapshot.clone());
                }
                let is_done = |commit: &Arc<Appended>| commit.number() <= last.number();
                while let Some(commit) = group.queue.pop_front_if(|c| is_done(c)) {
                    // It was not set before: commits leave the queue here or when it is cut back.
                    let _ = commit.outcome.set(Ok(()));
                }
            }
            Err(error) => group.failure = Some(error),
        }
        drop(group);
        self.commits.changed.notify_all();
        failed
    }

    /// Syncs the whole queue, for one who holds the turn. After this the tip is published, whether that failed or
    /// not.
    pub(crate) fn drain(&self, turn: &mut Turn) -> Result<(), StoreError> {
        let mut failure = None;
        loop {
            self.sync_queue();
            let group = self.commits.group();
            if let Some(error) = &group.failure {
                // The leader may wait for the turn, which is held here.
                failure = Some(core::same_error(error));
                drop(group);
                self.cut_back(turn);
            } else if group.is_syncing {
                drop(self.commits.sleep(group));
            } else if group.queue.is_empty() {
                return failure.map_or(Ok(()), Err);
            }
        }
    }

    /// After a failed sync: the log and the tip go back to what was synced, and all that wait are failed.
    /// Does nothing if somebody has done it.
    pub(crate) fn cut_back(&self, turn: &mut Turn) {
        let Some(error) = self.commits.group().failure.as_ref().map(core::same_error) else {
            return;
        };
        // Nothing is appended while this holds the turn, and nobody syncs while a failure is noted.
        if self.options.durability == Durability::Always {
            turn.go_back(self.snapshot(), &error);
        } else {
            // Readers have seen what was not synced, so there is no state to go back to.
            turn.refuse_from_now(&error);
        }
        let mut group = self.commits.group();
        while let Some(commit) = group.queue.pop_front() {
            let _ = commit.outcome.set(Err(core::same_error(&error)));
        }
        group.failure = None;
        drop(group);
        self.commits.changed.notify_all();
    }

    /// Syncs the queue every so often until the database is closed.
    pub(crate) fn sync_by_interval(&self, interval: Duration) {
        let mut group = self.commits.group();
        while !group.is_closing {
            let waited = self.commits.changed.wait_timeout(group, interval);
            let (held, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            drop(held);
            if timeout.timed_out() && self.sync_queue() {
                self.cut_back(&mut self.lock_turn());
            }
            group = self.commits.group();
        }
        drop(group);
        if self.sync_queue() {
            self.cut_back(&mut self.lock_turn());
        }
    }

    /// Ends [`Self::sync_by_interval`]; whether that was asked for before.
    pub(crate) fn close_commits(&self) -> bool {
        let was_closing = std::mem::replace(&mut self.commits.group().is_closing, true);
        self.commits.changed.notify_all();
        was_closing
    }
}
