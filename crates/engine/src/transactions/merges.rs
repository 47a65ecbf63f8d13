//! Which merge runs, who may write a version, and how a merge is given up.
//!
//! A commit that crosses a threshold of the policy starts a thread that merges ([`merge`](super::merge)), and so does a transaction
//! that was given up and leaves too many terms. At most one version is written at a time: a load, a merge that somebody asks for, and a transaction whose commit is a version make the
//! one in the background give up, wait until its files are gone, and take the changes in themselves. Closing the database gives
//! it up too. A merge that was given up has not failed; the next commit starts another if one is due, and so does a request or such a
//! transaction that comes to nothing. After a request that did, the next ones wait for the merge: loads that are refused, one after the
//! other, would let none end.
//!
//! Locks: who writes a version holds that right before it takes the turn, but for a transaction, which has the turn: it gets the
//! right from nobody but a merge in the background, which gives up instead of waiting for the turn. The state is held for moments only.

use crate::error::Error;
use crate::transactions::Core;
use basalt_loader::{CancelFlag, LoadError, NoProgress};
use basalt_store::VersionReason;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// What is known of merges.
#[derive(Debug, Default)]
pub(crate) struct MergeState {
    /// A merge runs in the background.
    pub(crate) is_running: bool,
    /// Makes it give up.
    cancel: CancelFlag,
    /// Merges that were done.
    pub(crate) done: u64,
    /// Why the last one failed; `None` after one that did not.
    pub(crate) failure: Option<String>,
    /// When the next one may be tried.
    not_before: Option<Instant>,
    /// The thread of the last one.
    thread: Option<JoinHandle<()>>,
    /// Who writes, or waits to write, a version by request, or as the commit of a transaction.
    requests: usize,
    /// Who writes a version and waits for the turn.
    waiting: usize,
    /// A merge gave up for a request that came to nothing, and none was done since.
    gave_up_in_vain: bool,
}

/// The merges of a database.
#[derive(Debug, Default)]
pub(crate) struct Merges {
    state: Mutex<MergeState>,
    /// Nobody who writes a version waits for the turn any more.
    passed: Condvar,
    /// The right to write a version.
    right: Mutex<()>,
}

/// The right to write a version by request, held.
#[derive(Debug)]
pub(crate) struct ByRequest<'m> {
    merges: &'m Merges,
    /// A merge in the background gives up for it.
    made_give_up: bool,
    _right: MutexGuard<'m, ()>,
}

impl ByRequest<'_> {
    /// Notes that nothing was written.
    pub(crate) fn came_to_nothing(&self) {
        self.merges.state().gave_up_in_vain |= self.made_give_up;
    }
}

impl Drop for ByRequest<'_> {
    fn drop(&mut self) {
        self.merges.state().requests -= 1;
    }
}

/// One who writes a version waits for the turn, until this is dropped.
#[derive(Debug)]
pub(crate) struct Waiting<'m>(&'m Merges);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.state().waiting -= 1;
        self.0.passed.notify_all();
    }
}

impl Merges {
    /// What is known.
    pub(crate) fn state(&self) -> MutexGuard<'_, MergeState> {
        // The fields are plain and set one by one, so a panic leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the merge in the background give up.
    pub(crate) fn cancel(&self) {
        self.state().cancel.cancel();
    }

    /// Whether the merge in the background was told to give up.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.state().cancel.is_cancelled()
    }

    /// The right to write a version for somebody who asks for that; a merge in the background gives it up, unless the last
    /// one did so in vain.
    pub(crate) fn by_request(&self) -> ByRequest<'_> {
        let state = self.state();
        let gives_up = !state.gave_up_in_vain;
        self.claim(state, gives_up, || ())
    }

    /// The right to write a version for a transaction, which has the turn already; a merge in the background gives it up. `None`
    /// if a load or a merge by request has it, or waits for it: that one may wait for the turn. `abandon` is
    /// called before this waits, and tells the merge that nothing more is noted for it.
    pub(crate) fn in_turn(&self, abandon: impl FnOnce()) -> Option<ByRequest<'_>> {
        let state = self.state();
        match state.requests {
            0 => Some(self.claim(state, true, abandon)),
            _ => None,
        }
    }

    fn claim(
        &self,
        mut state: MutexGuard<'_, MergeState>,
        gives_up: bool,
        before_waiting: impl FnOnce(),
    ) -> ByRequest<'_> {
        state.requests += 1;
        let made_give_up = gives_up && state.is_running;
        if gives_up {
            state.cancel.cancel();
        }
        drop(state);
        before_waiting();
        ByRequest {
            merges: self,
            made_give_up,
            _right: self.right(),
        }
    }

    fn right(&self) -> MutexGuard<'_, ()> {
        // It protects nothing by itself.
        self.right.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells writers that somebody who writes a version wants the turn: among many writers it might not come to it.
    pub(crate) fn wait_for_turn(&self) -> Waiting<'_> {
        self.state().waiting += 1;
        Waiting(self)
    }

    /// Lets those have the turn first who write a version and wait for it; they need it for moments.
    pub(crate) fn let_pass(&self) {
        let mut state = self.state();
        while state.waiting > 0 {
            state = self
                .passed
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
        self.0.merges.state().is_running = false;
    }
}

impl Core {
    /// Starts a merge if the delta is large enough and nobody writes a version.
    pub(crate) fn merge_if_due(core: &Arc<Self>) {
        if !core.is_merge_due() {
            return;
        }
        let policy = core.options.merge;
        let mut state = core.merges.state();
        let is_too_soon = state.not_before.is_some_and(|t| Instant::now() < t);
        if state.is_running || state.requests > 0 || is_too_soon {
            return;
        }
        let cancel = CancelFlag::default();
        let (of_thread, flag) = (Arc::clone(core), cancel.clone());
        let started = std::thread::Builder::new()
            .name("basalt-merge".to_owned())
            .spawn(move || of_thread.merge_by_itself(flag));
        match started {
            Ok(thread) => {
                state.is_running = true;
                state.cancel = cancel;
                state.thread = Some(thread);
            }
            Err(error) => {
                state.failure = Some(format!("cannot start a thread: {error}"));
                state.not_before = Some(Instant::now() + policy.retry_after);
            }
        }
    }

    /// Whether added terms take so much memory that they are merged, those of changes that were given up included.
    pub(crate) fn are_terms_due(&self) -> bool {
        let term_bytes = self.snapshot().added_term_bytes();
        self.options.merge.are_terms_due(term_bytes)
    }

    /// Whether so much was changed that it is merged.
    pub(crate) fn is_merge_due(&self) -> bool {
        let published = self.snapshot();
        let size = published.delta_size();
        let changed = size.added + size.removed;
        let policy = self.options.merge;
        policy.is_due(changed, published.quad_count())
            || policy.is_log_due(self.log_bytes(), published.file_bytes())
            || policy.are_terms_due(published.added_term_bytes())
    }

    /// Whether a merge runs and so much has come to the log or the terms meanwhile that writers wait for it.
    pub(crate) fn is_merge_behind(&self) -> bool {
        let policy = self.options.merge;
        let published = self.snapshot();
        let (log, terms) = (self.log_bytes(), published.added_term_bytes());
        policy.is_behind(log, published.file_bytes(), terms) && self.merges.state().is_running
    }

    /// Merges, on a thread of its own, and again as long as what was committed meanwhile is enough for another merge: no
    /// commit need come after it.
    fn merge_by_itself(&self, cancel: CancelFlag) {
        // The commit that has started this holds the state until it has noted that.
        drop(self.merges.state());
        let running = Running(self);
        // Termination: each time others have committed meanwhile.
        loop {
            let right = self.merges.right();
            let goes_on = self.merge_once(cancel.clone())
                && self.snapshot().has_delta()
                && self.is_merge_due()
                && self.merges.state().requests == 0
                && !cancel.is_cancelled();
            if !goes_on {
                // Before the right: who gets that may want another merge to start.
                drop(running);
                drop(right);
                return;
            }
        }
    }

    /// Merges, for who has the right to, and notes the outcome; whether it was done.
    fn merge_once(&self, cancel: CancelFlag) -> bool {
        let policy = self.options.merge;
        let options = policy.load_options(&self.snapshot(), cancel);
        let merged = self.merge(VersionReason::merge, policy.niceness, options, &NoProgress);
        let is_done = merged.is_ok();
        let mut state = self.merges.state();
        match merged {
            Ok(_) => {
                state.done += 1;
                state.gave_up_in_vain = false;
                state.failure = None;
                state.not_before = None;
            }
            Err(Error::Load(error)) if matches!(*error, LoadError::Cancelled) => {}
            Err(error) => {
                state.gave_up_in_vain = false;
                state.failure = Some(error.to_string());
                state.not_before = Some(Instant::now() + self.options.merge.retry_after);
            }
        }
        is_done
    }
}
