//! A merge from end to end: the delta becomes part of a new version, while others commit.
//!
//! ```text
//! turn     begin: all is synced, the state S is noted, commits go to the journal from now on
//!  -       write S as a version that nobody knows
//!  -       catch up: what was committed since, in terms of the new version, to its log
//! turn     if who had it before has committed much, give it back and catch up once more
//! turn     the rest of it; the log is synced; the manifest is renamed; the new version is the tip, and published
//!  -       remove the files of the old version
//! ```
//!
//! Writers wait for the two moments in which the merge has the turn, each some syncs long, and readers never. A merge that fails, or
//! is given up, at any stage leaves the store as it was and no files.
//!
//! Invariants: what the manifest names is whole and durable, the log with the commits since S included, before it is
//! renamed; a commit is in the journal exactly if it is in the old log after S.

use crate::error::Error;
use crate::transactions::Core;
use crate::transactions::core::version_writer;
use crate::transactions::journal::Journal;
use crate::transactions::standing_back::standing_back;
use crate::transactions::successor::Successor;
use crate::transactions::turn::TurnGuard;
use basalt_loader::{CancelFlag, LoadError, LoadOptions, LoadReport, Progress, Rewritten, rewrite};
use basalt_store::{FinishedVersion, Snapshot, StoreLock, VersionReason};
use std::fmt;
use std::sync::Arc;

/// Changed quads that are left for the turn: few enough that writers do not notice, beside the syncs.
const LAST_QUADS_MAX: usize = 500;
/// Rounds of catching up without the turn, also after a turn in which much was left; writers that are faster than that wait for the rest.
const ROUNDS_MAX: usize = 10;

/// How far a merge has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeStage {
    /// The state to be written is noted.
    Begun,
    /// It is written.
    Written,
    /// Nearly all that was committed meanwhile is in the new log.
    CaughtUp,
    /// All is, and is durable; the merge has the turn.
    Ready,
}

/// Hears of merges; for tests that let others do something at a certain stage.
pub trait MergeWatcher: fmt::Debug + Send + Sync {
    /// A merge has come to this stage, and goes on when this returns.
    fn at(&self, stage: MergeStage);
}

/// Commits go to a journal until this is dropped.
struct Recording<'c> {
    core: &'c Core,
    /// The state before them.
    state: Snapshot,
    journal: Arc<Journal>,
    lock: Option<Arc<StoreLock>>,
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        // Who abandoned the journal has the turn, and waits for this.
        let is_abandoned = || match self.journal.is_abandoned() {
            true => Err(LoadError::Cancelled),
            false => Ok(()),
        };
        let Ok(mut turn) = self.core.lock_turn_unless(is_abandoned) else {
            return;
        };
        if turn.records_in(&self.journal) {
            turn.stop_recording();
        }
        turn.give_up_lock();
    }
}

impl Core {
    /// Merges; the caller has the right to write a version, and tells why of a state. The version is written by threads that are
    /// nicer than this one by `niceness`; what is done in the turn, and catching up, is done as it is.
    pub(crate) fn merge(
        &self,
        why: fn(&Snapshot) -> VersionReason,
        niceness: u8,
        options: LoadOptions,
        progress: &dyn Progress,
    ) -> Result<LoadReport, Error> {
        let cancel = options.cancel.clone();
        cancel.go_on()?;
        let recording = self.begin_merge(&cancel)?;
        self.merge_is_at(MergeStage::Begun);
        let mut writer = version_writer(recording.lock.as_ref())?;
        writer.written_for(why(&recording.state));
        let Rewritten {
            mut version,
            blank_nodes,
            report,
        } = standing_back(niceness, || {
            rewrite(writer, &recording.state, options, progress)
        })?;
        self.merge_is_at(MergeStage::Written);
        let (old, new) = (recording.state.clone(), version.snapshot().clone());
        let mut successor = Successor::new(old, new, blank_nodes, recording.lock.clone());
        let mut rounds = ROUNDS_MAX;
        let turn = loop {
            self.catch_up(&recording, &mut successor, (&mut rounds, &cancel))?;
            self.merge_is_at(MergeStage::CaughtUp);
            let turn = self.take_last_turn(&recording, &cancel)?;
            // Who had the turn before may have committed much.
            let left = recording.journal.quads_to(turn.tip().commit_number());
            if left <= LAST_QUADS_MAX || rounds == 0 {
                break turn;
            }
        };
        self.replace(turn, &recording, successor, (&mut version, &cancel))?;
        Ok(report)
    }

    fn merge_is_at(&self, stage: MergeStage) {
        if let Some(watcher) = &self.options.merge_watcher {
            watcher.at(stage);
        }
    }

    /// The turn, before all writers.
    pub(crate) fn take_turn_first(&self) -> Result<TurnGuard<'_>, Error> {
        let _waiting = self.merges.wait_for_turn();
        self.take_turn()
    }

    /// As [`Self::take_turn_first`], for a merge that may be told to give up by who has the turn.
    fn take_turn_to_merge(&self, cancel: &CancelFlag) -> Result<TurnGuard<'_>, Error> {
        let _waiting = self.merges.wait_for_turn();
        let turn = self.lock_turn_unless(|| cancel.go_on())?;
        self.prepare_turn(turn)
    }

    /// Notes the state to be written, and begins to record what comes after it.
    fn begin_merge(&self, cancel: &CancelFlag) -> Result<Recording<'_>, Error> {
        let mut turn = self.take_turn_to_merge(cancel)?;
        // What is not synced might be cut back, and would be in the new version.
        let drained = self.drain(&mut turn);
        if let Err(error) = drained.and_then(|()| self.make_store(&mut turn)) {
            turn.give_up_lock();
            return Err(error.into());
        }
        Ok(Recording {
            core: self,
            journal: turn.begin_recording(),
            state: turn.tip().clone(),
            lock: turn.lock().cloned(),
        })
    }

    /// Makes what was committed meanwhile once more, without the turn, until little is left.
    fn catch_up(
        &self,
        recording: &Recording<'_>,
        successor: &mut Successor,
        (rounds, cancel): (&mut usize, &CancelFlag),
    ) -> Result<(), Error> {
        while *rounds > 0 {
            *rounds -= 1;
            let published = self.snapshot().commit_number();
            let mut quads = 0;
            for commit in recording.journal.take_to(published) {
                cancel.go_on()?;
                quads += commit.changes.quads();
                successor.apply(&commit)?;
            }
            successor.sync()?;
            if quads <= LAST_QUADS_MAX {
                break;
            }
        }
        Ok(())
    }

    /// The turn in which the new version takes the place of the old one; all commits are synced.
    fn take_last_turn(
        &self,
        recording: &Recording<'_>,
        cancel: &CancelFlag,
    ) -> Result<TurnGuard<'_>, Error> {
        let mut turn = self.take_turn_to_merge(cancel)?;
        if !turn.records_in(&recording.journal) || !turn.tip().shares_version_with(&recording.state)
        {
            let what = "another version was written during a merge";
            return Err(Error::Internal(what.to_owned()));
        }
        // If a sync fails now, the store is as uncertain as its disk; the next merge begins with what is left.
        self.drain(&mut turn)?;
        Ok(turn)
    }

    /// Puts the new version in the place of the old one, in the turn.
    fn replace(
        &self,
        mut turn: TurnGuard<'_>,
        recording: &Recording<'_>,
        mut successor: Successor,
        (version, cancel): (&mut FinishedVersion, &CancelFlag),
    ) -> Result<(), Error> {
        for commit in recording.journal.take_to(turn.tip().commit_number()) {
            successor.apply(&commit)?;
        }
        successor.sync()?;
        cancel.go_on()?;
        self.merge_is_at(MergeStage::Ready);
        if let Err(error) = version.publish() {
            turn.doubt();
            return Err(error.into());
        }
        turn.become_tip(successor.into_tip());
        self.publish_tip(&turn);
        Ok(())
    }
}
