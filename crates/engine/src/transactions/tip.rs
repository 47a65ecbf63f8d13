//! The tip: the newest state of a version, and the log that leads to it.
//!
//! The store that is written to has one, and a version that is about to replace it has another, whose log is written before
//! anybody knows of the version.
//!
//! Invariant: the log holds exactly the commits from the version's to the state's, and the terms that they use.

use basalt_store::{
    CommitRecord, LogSync, LogWriter, NetChanges, Recovered, Snapshot, StoreError, StoreLock,
    TermCounts,
};

/// See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Tip {
    state: Snapshot,
    /// `None` before the first commit of the version, and in memory.
    log: Option<LogWriter>,
    /// The terms of the delta dictionary that are in the log.
    logged: TermCounts,
}

impl Tip {
    /// The state of a version whose log, if any, has just these terms and is not open.
    pub(crate) fn of_version(state: Snapshot) -> Self {
        Self {
            log: None,
            logged: state.term_counts(),
            state,
        }
    }

    /// What the last writer of a store has left.
    pub(crate) fn recovered(recovered: Recovered) -> Self {
        Self {
            log: recovered.log,
            ..Self::of_version(recovered.snapshot)
        }
    }

    /// The newest state.
    pub(crate) fn state(&self) -> &Snapshot {
        &self.state
    }

    /// Bytes of the log.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.log.as_ref().map_or(0, LogWriter::bytes)
    }

    /// Whether the log can take more commits.
    pub(crate) fn is_sound(&self) -> bool {
        self.log.as_ref().is_none_or(LogWriter::is_sound)
    }

    /// Terms that no commit has written, nor the version: of changes that are not committed yet, or came to nothing.
    pub(crate) fn unlogged_terms(&self) -> u64 {
        let all = self.state.term_counts().total();
        all.saturating_sub(self.logged.total())
    }

    /// Closes the log.
    pub(crate) fn close(&mut self) {
        self.log = None;
    }

    /// Appends a commit to the log, which is made if there was none, or to nothing in memory (without a lock); its state
    /// is the tip. Gives the changes back. After an error the tip is what it was, but see [`Self::is_sound`].
    pub(crate) fn append(
        &mut self,
        lock: Option<&StoreLock>,
        state: Snapshot,
        changes: NetChanges,
    ) -> Result<(Option<LogSync>, NetChanges), StoreError> {
        let Some(lock) = lock else {
            self.state = state;
            return Ok((None, changes));
        };
        let log = match &mut self.log {
            Some(log) => log,
            none => none.insert(LogWriter::create(lock, &self.state)?),
        };
        let terms = state.terms_since(self.logged);
        let record = CommitRecord {
            number: state.commit_number(),
            terms_from: self.logged,
            terms,
            removed: changes.removed,
            added: changes.added,
        };
        log.append(&record)?;
        let sync = log.sync_handle();
        self.logged = record.terms_after();
        self.state = state;
        let CommitRecord { removed, added, .. } = record;
        Ok((Some(sync), NetChanges { removed, added }))
    }

    /// Makes all commits durable.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        match &self.log {
            Some(log) => log.sync_handle().sync(),
            None => Ok(()),
        }
    }

    /// Cuts the log back to what was synced, which ends with this state. After an error the state is this one
    /// nevertheless.
    pub(crate) fn go_back(&mut self, to: Snapshot) -> Result<(), StoreError> {
        let cut = self.log.as_mut().map(LogWriter::cut_to_synced);
        self.state = to;
        if let Some(logged) = cut {
            self.logged = logged?;
        }
        Ok(())
    }
}
