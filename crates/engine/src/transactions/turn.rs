//! The writer's turn: the lock of the store, the log, and the tip.
//!
//! The first turn takes the store's lock, which the database then keeps, and *recovers*: it reads what other
//! processes have made of the store meanwhile, cuts off a torn tail of the log, and syncs it. After that nobody
//! else can change the store, so the state in memory is the state on disk.
//!
//! Invariant: unless writes are refused, the log holds exactly the commits from the version's to the tip's.

use crate::error::Error;
use crate::transactions::core;
use basalt_store::{
    CommitRecord, Disk, LogSync, LogWriter, QuadIds, Snapshot, StoreError, StoreLock, TermCounts,
    VersionWriter, recover,
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
    /// The log of the tip's version; `None` before its first commit, and in memory.
    log: Option<LogWriter>,
    /// The newest state.
    tip: Snapshot,
    /// The terms of the delta dictionary that are in the log.
    logged: TermCounts,
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
            log: None,
            logged: tip.term_counts(),
            tip,
            refusal: None,
        }
    }

    /// The newest state.
    pub(crate) fn tip(&self) -> &Snapshot {
        &self.tip
    }

    /// The lock, if it is held.
    pub(crate) fn lock(&self) -> Option<&Arc<StoreLock>> {
        self.lock.as_ref()
    }

    /// Bytes of the log.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.log.as_ref().map_or(0, LogWriter::bytes)
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
            let recovered = recover(lock, &self.tip)?;
            self.become_version(recovered.snapshot);
            self.log = recovered.log;
        }
        self.is_recovered = true;
        Ok(())
    }

    /// Makes an empty store if the folder has none, so that there is a version for the log to belong to;
    /// whether it was made now.
    pub(crate) fn make_store(&mut self, location: &Path) -> Result<bool, StoreError> {
        if self.tip.is_in(location) {
            return Ok(false);
        }
        let Some(lock) = &self.lock else {
            return Err(core::not_locked(location));
        };
        let snapshot = VersionWriter::create_locked(Arc::clone(lock))?.commit()?;
        self.become_version(snapshot);
        Ok(true)
    }

    /// Releases the lock, unless a transaction was begun.
    pub(crate) fn give_up_lock(&mut self) {
        if !self.keeps_lock && self.lock.take().is_some() {
            self.is_recovered = false;
            self.log = None;
        }
    }

    /// The tip is now this state of a version whose log, if any, has just these terms.
    pub(crate) fn become_version(&mut self, snapshot: Snapshot) {
        self.logged = snapshot.term_counts();
        self.log = None;
        self.tip = snapshot;
    }

    /// After a rewrite that failed: the version on disk may be the new one all the same.
    pub(crate) fn doubt(&mut self) {
        self.is_recovered = self.lock.is_none();
    }

    /// Appends a commit to the log, if there is one, and makes its state the tip.
    pub(crate) fn append(
        &mut self,
        snapshot: Snapshot,
        removed: Vec<QuadIds>,
        added: Vec<QuadIds>,
    ) -> Result<Option<LogSync>, StoreError> {
        let Some(lock) = &self.lock else {
            self.tip = snapshot;
            return Ok(None);
        };
        let log = match &mut self.log {
            Some(log) => log,
            none => none.insert(LogWriter::create(lock, &self.tip)?),
        };
        let terms = snapshot.terms_since(self.logged);
        let record = CommitRecord {
            number: snapshot.commit_number(),
            terms_from: self.logged,
            terms,
            removed,
            added,
        };
        if let Err(error) = log.append(&record) {
            if !log.is_sound() {
                self.refuse_from_now(&error);
            }
            return Err(error);
        }
        let sync = log.sync_handle();
        self.logged = record.terms_after();
        self.tip = snapshot;
        Ok(Some(sync))
    }

    /// Cuts the log back to what was synced, which ends with this state; refuses writes if that fails.
    pub(crate) fn go_back(&mut self, to: Snapshot, error: &StoreError) {
        match self.log.as_mut().map(LogWriter::cut_to_synced) {
            None => {}
            Some(Ok(logged)) => self.logged = logged,
            Some(Err(_)) => self.refuse_from_now(error),
        }
        self.tip = to;
    }

    /// Refuses all writes until the database is opened again.
    pub(crate) fn refuse_from_now(&mut self, error: &StoreError) {
        self.refusal = Some(error.to_string());
    }
}
