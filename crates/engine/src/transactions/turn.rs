//! The writer's turn: the lock of the store, the log, and the tip.
//!
//! The first turn takes the store's lock, which the database then keeps, and *recovers*: it reads what other
//! processes have made of the store meanwhile, cuts off a torn tail of the log, and syncs it. After that nobody
//! else can change the store, so the state in memory is the state on disk.
//!
//! Invariant: unless writes are refused, the log holds exactly the commits from the version's to the tip's.

use crate::error::Error;
use crate::transactions::core;
use crate::transactions::journal::{Committed, Journal};
use crate::transactions::tip::Tip;
use basalt_store::{
    Disk, LogSync, NetChanges, Snapshot, StoreError, StoreLock, VersionWriter, recover,
};
use std::path::Path;
use std::sync::{Arc, MutexGuard};

/// The turn, held.
pub(crate) type TurnGuard<'d> = MutexGuard<'d, Turn>;

/// What the writer whose turn it is may change.
#[derive(Debug)]
pub(crate) struct Turn {
    /// The lock of the store folder, once it was needed.
    lock: Option<Arc<StoreLock>>,
    /// Whether a transaction was begun; from then on the lock is kept.
    keeps_lock: bool,
    /// Whether tip and log are those of the disk; always in memory.
    is_recovered: bool,
    /// The newest state and its log.
    tip: Tip,
    /// Where commits are noted for a merge that is under way.
    journal: Option<Arc<Journal>>,
    /// Why nothing more is written until the database is opened again.
    refusal: Option<String>,
}

impl Turn {
    /// The turn of a database in memory, or of one that was opened for reading so far.
    pub(crate) fn new(tip: Snapshot, in_memory: bool) -> Self {
        Self {
            lock: None,
            keeps_lock: false,
            is_recovered: in_memory,
            tip: Tip::of_version(tip),
            journal: None,
            refusal: None,
        }
    }

    /// The newest state.
    pub(crate) fn tip(&self) -> &Snapshot {
        self.tip.state()
    }

    /// The lock, if it is held.
    pub(crate) fn lock(&self) -> Option<&Arc<StoreLock>> {
        self.lock.as_ref()
    }

    /// Bytes of the log.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.tip.log_bytes()
    }

    /// Terms that are in no commit.
    pub(crate) fn unlogged_terms(&self) -> u64 {
        self.tip.unlogged_terms()
    }

    /// Notes commits from now on; they are commits to the version of the tip.
    pub(crate) fn begin_recording(&mut self) -> Arc<Journal> {
        Arc::clone(self.journal.insert(Arc::default()))
    }

    /// Whether commits are noted there.
    pub(crate) fn records_in(&self, journal: &Arc<Journal>) -> bool {
        let current = self.journal.as_ref();
        current.is_some_and(|current| Arc::ptr_eq(current, journal))
    }

    /// Notes no more commits.
    pub(crate) fn stop_recording(&mut self) {
        self.journal = None;
    }

    /// Notes no more commits, for a transaction that writes a version in the place of the one who notes them: it need not
    /// wait for the turn to end that.
    pub(crate) fn abandon_recording(&mut self) {
        if let Some(journal) = self.journal.take() {
            journal.abandon();
        }
    }

    /// Keeps the lock from now on.
    pub(crate) fn keep_lock(&mut self) {
        self.keeps_lock = true;
    }

    /// Takes the lock and recovers, if that was not done; whether it was done now.
    pub(crate) fn prepare(&mut self, location: &Path, disk: &Arc<dyn Disk>) -> Result<bool, Error> {
        if let Some(refusal) = &self.refusal {
            return Err(Error::WritesRefused(refusal.clone()));
        }
        if self.lock.is_none() {
            let lock = StoreLock::acquire_on(location, Arc::clone(disk))?;
            self.lock = Some(Arc::new(lock));
            self.is_recovered = false;
        }
        if self.is_recovered {
            return Ok(false);
        }
        let recovered = self.recover(location);
        if recovered.is_err() {
            self.give_up_lock();
        }
        recovered?;
        Ok(true)
    }

    fn recover(&mut self, location: &Path) -> Result<(), StoreError> {
        let Some(lock) = &self.lock else {
            return Err(core::not_locked(location));
        };
        if Snapshot::current_version(location)?.is_some() {
            let recovered = recover(lock, self.tip.state())?;
            self.become_tip(Tip::recovered(recovered));
        }
        self.is_recovered = true;
        Ok(())
    }

    /// Makes an empty store if the folder has none, so that there is a version for the log to belong to;
    /// whether it was made now.
    pub(crate) fn make_store(&mut self, location: &Path) -> Result<bool, StoreError> {
        if self.tip.state().is_in(location) {
            return Ok(false);
        }
        let Some(lock) = &self.lock else {
            return Err(core::not_locked(location));
        };
        let snapshot = VersionWriter::create_locked(Arc::clone(lock))?.commit()?;
        self.become_tip(Tip::of_version(snapshot));
        Ok(true)
    }

    /// Releases the lock, unless a transaction was begun or a merge needs it.
    pub(crate) fn give_up_lock(&mut self) {
        if !self.keeps_lock && self.journal.is_none() && self.lock.take().is_some() {
            self.is_recovered = false;
            self.tip.close();
        }
    }

    /// The tip is now one of another version. A merge of the version before has nothing more to note.
    pub(crate) fn become_tip(&mut self, tip: Tip) {
        self.tip = tip;
        // The merge need not have the turn once more: who has it next may wait for the merge to end.
        self.abandon_recording();
    }

    /// Has the next turn read the newest state from disk: after a version could not be put in place, since the one on disk may be the new
    /// one all the same, or to forget terms that no commit has. Nothing may wait to be synced.
    pub(crate) fn doubt(&mut self) {
        self.is_recovered = self.lock.is_none();
    }

    /// Appends a commit to the log, if there is one, and makes its state the tip.
    pub(crate) fn append(
        &mut self,
        state: Snapshot,
        changes: NetChanges,
    ) -> Result<Option<LogSync>, StoreError> {
        let number = state.commit_number();
        let appended = self.tip.append(self.lock.as_deref(), state, changes);
        if let Err(error) = &appended
            && !self.tip.is_sound()
        {
            self.refuse_from_now(error);
        }
        let (sync, changes) = appended?;
        if let Some(journal) = &self.journal {
            journal.put(Committed { number, changes });
        }
        Ok(sync)
    }

    /// Cuts the log back to what was synced, which ends with this state; refuses writes if that fails.
    pub(crate) fn go_back(&mut self, to: Snapshot, error: &StoreError) {
        if let Some(journal) = &self.journal {
            journal.cut_after(to.commit_number());
        }
        if self.tip.go_back(to).is_err() {
            self.refuse_from_now(error);
        }
    }

    /// Refuses all writes until the database is opened again.
    pub(crate) fn refuse_from_now(&mut self, error: &StoreError) {
        self.refusal = Some(error.to_string());
    }
}
