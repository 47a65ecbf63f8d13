//! A transaction that changes so much that its commit is a new version.
//!
//! ```text
//! turn     the state with the changes of the steps before -> rewritten, with the changes of the last step on the way
//!          commit: the manifest is renamed; the new version is the tip, and published
//! ```
//!
//! Where a merge would follow the commit at once, the changes need not stand in the delta and in the log first: that would take
//! some microseconds and 130 bytes for each of them, and the merge comes on top. The version has the number of the commit; there
//! is no record of it in a log. The right to write a version comes before the turn, which the transaction has already. So
//! a merge that has it gives up, and looks whether it should while it waits for the turn; if somebody else has it the changes
//! go to the delta.
//!
//! Invariants: before the manifest is renamed the store is what it was, and dropping the transaction leaves no file; what the
//! version is made of is synced before. After an error of publishing the outcome is unknown if the error says so; the next turn reads it
//! from the disk. Memory: as a merge, whatever the number of changes of the last step; those of the steps before are in the
//! delta and in two sets.

use crate::error::Error;
use crate::transactions::core::version_writer;
use crate::transactions::merge_policy::StoreSize;
use crate::transactions::merges::ByRequest;
use crate::transactions::tip::Tip;
use crate::transactions::turn::Turn;
use crate::transactions::{ChangeCounts, Core};
use basalt_loader::{CancelFlag, LoadError, NoProgress, QuadEdits, Rewritten, rewrite_with};
use basalt_store::{FinishedVersion, QuadIds, Snapshot, VersionReason};
use std::collections::BTreeSet;

/// The changes of a step, however many. Removals come first: a quad that is in both is there in the end.
pub(crate) trait LargeChanges {
    /// Whether a quad is among those to be removed.
    fn removes(&mut self, quad: &QuadIds) -> Result<bool, Error>;
    /// Whether a quad is among those to be added.
    fn adds(&mut self, quad: &QuadIds) -> Result<bool, Error>;
    /// Visits those to be added, each once.
    fn visit_added(
        &mut self,
        visit: &mut dyn FnMut(QuadIds) -> Result<(), Error>,
    ) -> Result<(), Error>;
}

/// A version that has the changes of a transaction, until it is published.
#[derive(Debug)]
pub(crate) struct Replacement<'d> {
    /// Dropped before the right is given up, as then its files go.
    version: FinishedVersion,
    /// What the transaction has changed in all.
    pub(crate) counts: ChangeCounts,
    _right: ByRequest<'d>,
}

/// The net changes of the steps before.
pub(crate) struct Before<'t> {
    pub(crate) removed: &'t BTreeSet<QuadIds>,
    pub(crate) added: &'t BTreeSet<QuadIds>,
}

/// Changes on the way, and the error that ended them.
struct Editing<'e> {
    changes: &'e mut dyn LargeChanges,
    failure: Option<Error>,
}

impl Editing<'_> {
    fn noted<T>(&mut self, outcome: Result<T, Error>) -> Result<T, LoadError> {
        outcome.map_err(|error| {
            self.failure = Some(error);
            LoadError::Cancelled
        })
    }
}

impl QuadEdits for Editing<'_> {
    fn leaves_out(&mut self, quad: &QuadIds) -> Result<bool, LoadError> {
        let outcome = match self.changes.removes(quad) {
            Ok(true) => self.changes.adds(quad).map(|stays| !stays),
            other => other,
        };
        self.noted(outcome)
    }

    fn visit_added(
        &mut self,
        visit: &mut dyn FnMut(QuadIds) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let mut failure = None;
        let outcome = self.changes.visit_added(&mut |quad| {
            visit(quad).map_err(|error| {
                failure = Some(error);
                Error::Cancelled
            })
        });
        match failure {
            Some(error) => Err(error),
            None => self.noted(outcome),
        }
    }
}

/// Counts the changes of a transaction: those of the steps before, which changed the state until now, and the last one's.
fn count(
    before: &Before<'_>,
    changes: &mut dyn LargeChanges,
    last: ChangeCounts,
) -> Result<ChangeCounts, Error> {
    let mut counts = ChangeCounts {
        removed: before.removed.len() as u64 + last.removed,
        added: before.added.len() as u64 + last.added,
    };
    // What came and goes was never there, what went and comes was never gone.
    for quad in before.added {
        if changes.removes(quad)? && !changes.adds(quad)? {
            counts.removed -= 1;
            counts.added -= 1;
        }
    }
    for quad in before.removed {
        if changes.adds(quad)? {
            counts.removed -= 1;
            counts.added -= 1;
        }
    }
    Ok(counts)
}

impl Core {
    /// Whether so many changes of a state are written as a version.
    pub(crate) fn is_large(&self, changed: u64, state: &Snapshot) -> bool {
        let policy = &self.options.merge;
        policy.is_written_at_once(changed, StoreSize::of(state))
    }

    /// Writes a state with changes as a version, for who has the turn; `None` if somebody else has the right to
    /// write a version and keeps it. The second part of the outcome are the changes of this step alone.
    pub(crate) fn write_replacement(
        &self,
        turn: &mut Turn,
        state: &Snapshot,
        before: &Before<'_>,
        changes: &mut dyn LargeChanges,
        cancel: CancelFlag,
    ) -> Result<Option<(Replacement<'_>, ChangeCounts)>, Error> {
        let Some(right) = self.merges.in_turn(|| turn.abandon_recording()) else {
            return Ok(None);
        };
        // What is not synced might be cut back, and would be in the new version.
        self.drain(turn)?;
        // With the terms that were added since it was made.
        let (state, _) = state.with_changes(&[], &[])?;
        let state = state.with_commit_number(turn.tip().commit_number() + 1);
        let options = self.options.merge.replace_options(&state, cancel);
        let mut writer = version_writer(turn.lock())?;
        writer.written_for(VersionReason::Transaction {
            commit: state.commit_number(),
        });
        let mut editing = Editing {
            changes,
            failure: None,
        };
        let written = rewrite_with(writer, &state, &mut editing, options, &NoProgress);
        let Rewritten {
            version, report, ..
        } = match (written, editing.failure) {
            (Ok(written), _) => written,
            (Err(_), Some(failure)) => return Err(failure),
            (Err(LoadError::Cancelled), None) => return Err(Error::Cancelled),
            (Err(error), None) => return Err(error.into()),
        };
        let last = ChangeCounts {
            removed: state.quad_count() - report.quads_before,
            added: report.quads_stored - report.quads_before,
        };
        let replacement = Replacement {
            version,
            counts: count(before, changes, last)?,
            _right: right,
        };
        Ok(Some((replacement, last)))
    }

    /// Makes a replacement the current version; returns the number of the commit.
    ///
    /// Errors: nothing has changed, or [`StoreError::OutcomeUnknown`](basalt_store::StoreError).
    pub(crate) fn publish_replacement(
        &self,
        turn: &mut Turn,
        mut replacement: Replacement<'_>,
    ) -> Result<u64, Error> {
        if let Err(error) = replacement.version.publish() {
            turn.doubt();
            return Err(error.into());
        }
        turn.become_tip(Tip::of_version(replacement.version.snapshot().clone()));
        self.publish_tip(turn);
        Ok(turn.tip().commit_number())
    }
}
