//! A transaction: the writer's turn, and the changes made in it.
//!
//! Changes are ids; terms are interned through the snapshot. What a transaction changes twice is cancelled, so
//! that the record in the log has the net changes only. Memory: the net changes, 32 bytes each, besides the delta; nothing for those of
//! a last step that is written as a version.

use crate::error::Error;
use crate::transactions::Core;
use crate::transactions::replacement::{Before, LargeChanges, Replacement};
use crate::transactions::writer_turn::WriterTurn;
use basalt_loader::CancelFlag;
use basalt_store::{NetChanges, QuadIds, Snapshot};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A writer's turn. Dropped without [`commit`](Self::commit), it has done nothing; a few new terms stay until the next merge, which may begin for
/// them.
///
/// The thread that holds one must not begin another: it would wait for itself.
#[derive(Debug)]
pub struct Transaction<'d> {
    core: &'d Arc<Core>,
    /// The version that the commit is, if the last step was large. It stands before the turn, as the order matters: fields are dropped in
    /// this order, and its files and the right to write a version have to be gone when the next writer gets the turn.
    replacement: Option<Replacement<'d>>,
    turn: WriterTurn<'d>,
    /// The tip with the changes so far.
    snapshot: Snapshot,
    /// Quads of the tip that are gone.
    removed: BTreeSet<QuadIds>,
    /// Quads that the tip does not have.
    added: BTreeSet<QuadIds>,
    /// Dropped last, when the turn is free.
    _ending: Ending<'d>,
}

/// Asks at the end of a transaction whether its terms are to be merged: they stay also if its changes are given up.
#[derive(Debug)]
struct Ending<'d>(&'d Arc<Core>);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if self.0.are_terms_due() {
            Core::merge_if_due(self.0);
        }
    }
}

/// How many quads a step has really changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// Quads that were there and are gone.
    pub removed: u64,
    /// Quads that were not there and are.
    pub added: u64,
}

/// A commit that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its number in the store, from 1; of a transaction that has changed nothing, that of the commit before.
    pub number: u64,
    /// Quads of the state before that are gone.
    pub removed: u64,
    /// Quads that the state before did not have.
    pub added: u64,
}

impl<'d> Transaction<'d> {
    /// Begins the writer's turn; waits for the writer before, unless `go_on` fails meanwhile.
    pub(crate) fn begin(
        core: &'d Arc<Core>,
        go_on: &dyn Fn() -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let turn = WriterTurn::begin(core, go_on)?;
        let snapshot = turn.tip().clone();
        Ok(Self {
            core,
            replacement: None,
            turn,
            snapshot,
            removed: BTreeSet::new(),
            added: BTreeSet::new(),
            _ending: Ending(core),
        })
    }

    /// The newest state with the changes of this transaction.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Removes quads, then adds quads; the counts are of those that were there, and of those that were not.
    /// Ids are those of [`Self::snapshot`]. After an error nothing of this step is done.
    pub fn apply(&mut self, removed: &[QuadIds], added: &[QuadIds]) -> Result<ChangeCounts, Error> {
        if self.replacement.is_some() {
            let what = "a transaction goes on after its last step";
            return Err(Error::Internal(what.to_owned()));
        }
        let (snapshot, changes) = self.snapshot.with_changes(removed, added)?;
        self.snapshot = snapshot;
        let counts = ChangeCounts {
            removed: changes.removed.len() as u64,
            added: changes.added.len() as u64,
        };
        self.note(changes);
        Ok(counts)
    }

    /// Whether so many changes are better written as a version than put into the delta.
    pub(crate) fn is_large(&self, changed: u64) -> bool {
        self.core.is_large(changed, &self.snapshot)
    }

    /// As [`Self::apply`], for many changes, as the last step: they are written as a version, which the commit publishes.
    /// [`Self::snapshot`] does not have them. `None` if that is not possible now, and nothing was done.
    pub(crate) fn replace(
        &mut self,
        changes: &mut dyn LargeChanges,
        cancel: CancelFlag,
    ) -> Result<Option<ChangeCounts>, Error> {
        let before = Before {
            removed: &self.removed,
            added: &self.added,
        };
        let core: &'d Arc<Core> = self.core;
        let written =
            core.write_replacement(&mut self.turn, &self.snapshot, &before, changes, cancel);
        if written.is_err() {
            // One may have given up for this.
            Core::merge_if_due(core);
        }
        Ok(written?.map(|(replacement, counts)| {
            self.replacement = Some(replacement);
            counts
        }))
    }

    /// Adds the changes of a step to those of the steps before.
    fn note(&mut self, changes: NetChanges) {
        for quad in changes.removed {
            if !self.added.remove(&quad) {
                self.removed.insert(quad);
            }
        }
        for quad in changes.added {
            if !self.removed.remove(&quad) {
                self.added.insert(quad);
            }
        }
    }

    /// Makes the changes durable and visible, and gives the turn to the next writer. When this returns, the
    /// commit is as safe as the database's [`Durability`](crate::Durability) says. After an error nothing
    /// has changed, unless the error says that the outcome is unknown: [`StoreError::OutcomeUnknown`](basalt_store::StoreError), and what
    /// comes before [`Error::WritesRefused`].
    pub fn commit(self) -> Result<Commit, Error> {
        let Self {
            core,
            replacement,
            mut turn,
            snapshot,
            removed,
            added,
            ..
        } = self;
        let counts = match &replacement {
            Some(replacement) => (replacement.counts.removed, replacement.counts.added),
            None => (removed.len() as u64, added.len() as u64),
        };
        let number = if counts == (0, 0) {
            // What was read may not be synced yet, and the answer stands on it.
            let before = core.last_unsynced();
            let number = turn.tip().commit_number();
            let was_replaced = replacement.is_some();
            drop(replacement);
            drop(turn);
            if was_replaced {
                // One may have given up for the replacement.
                Core::merge_if_due(core);
            }
            if let Some(before) = before {
                core.wait(&before)?;
            }
            number
        } else if let Some(replacement) = replacement {
            let published = core.publish_replacement(&mut turn, replacement);
            drop(turn);
            if published.is_err() {
                Core::merge_if_due(core);
            }
            published?
        } else {
            let changes = NetChanges {
                removed: removed.into_iter().collect(),
                added: added.into_iter().collect(),
            };
            let commit = core.append(&mut turn, snapshot, changes)?;
            drop(turn);
            core.wait(&commit)?;
            Core::merge_if_due(core);
            commit.number()
        };
        Ok(Commit {
            number,
            removed: counts.0,
            added: counts.1,
        })
    }
}
