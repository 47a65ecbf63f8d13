//! Making files durable while others are being written.
//!
//! A sync is a wait for the disk, of a millisecond or so however small the file is, and the disk takes several at once as one. So who has
//! written a file leaves it here and goes on; some threads sync what has been left, and end when there is nothing more. Whoever
//! publishes the files waits for all of them first.
//!
//! Invariants: [`Syncing::wait`] returns `Ok` only if every file left before was synced. The first failure
//! is kept and told to each who comes after. Bounds: [`OPEN_MAX`] files are open, who leaves another one waits; [`THREADS_MAX`] threads.

use crate::error::StoreError;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Threads that sync at the same time: a disk with a queue takes that many as one, and more gain little.
const THREADS_MAX: usize = 8;

/// Files that were left and are not synced yet.
const OPEN_MAX: usize = 64;

/// A written file, and its path for errors.
type Written = (File, PathBuf);

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Written>,
    /// Those waiting and those being synced.
    open: usize,
    threads: usize,
    failure: Option<Failure>,
}

/// What the system said, kept so that it can be told more than once.
#[derive(Debug)]
struct Failure {
    path: PathBuf,
    kind: io::ErrorKind,
    code: Option<i32>,
}

impl Failure {
    fn to_error(&self) -> StoreError {
        let again = self
            .code
            .map_or_else(|| self.kind.into(), io::Error::from_raw_os_error);
        StoreError::io("sync", &self.path)(again)
    }
}

/// The files of a folder that are being made durable.
#[derive(Debug, Default)]
pub(crate) struct Syncing {
    state: Mutex<State>,
    /// Told when a file is synced.
    synced: Condvar,
}

impl Syncing {
    /// Leaves a written file to be synced. Errors: that of a file left before.
    pub(crate) fn leave(self: &Arc<Self>, file: File, path: PathBuf) -> Result<(), StoreError> {
        let mut state = self.wait_while(|state| state.open >= OPEN_MAX)?;
        state.open += 1;
        state.waiting.push_back((file, path));
        if state.threads < THREADS_MAX {
            state.threads += 1;
            drop(state);
            let syncing = Arc::clone(self);
            let thread = std::thread::Builder::new().name("sync".to_owned());
            // Without another thread this one does the work, so nothing is left waiting.
            if thread.spawn(move || syncing.work()).is_err() {
                self.work();
            }
        }
        Ok(())
    }

    /// Waits until every file left so far is durable. Errors: the first of them.
    pub(crate) fn wait(&self) -> Result<(), StoreError> {
        self.wait_while(|state| state.open > 0).map(drop)
    }

    fn wait_while(
        &self,
        is_early: impl Fn(&State) -> bool,
    ) -> Result<MutexGuard<'_, State>, StoreError> {
        let state = self
            .synced
            .wait_while(self.lock(), |state| is_early(state))
            .unwrap_or_else(PoisonError::into_inner);
        match &state.failure {
            Some(failure) => Err(failure.to_error()),
            None => Ok(state),
        }
    }

    /// Syncs what waits until nothing does.
    fn work(&self) {
        // Termination: each round takes a file, or is the last.
        while let Some((file, path)) = self.take() {
            let outcome = file.sync_all();
            drop(file);
            self.note(&path, outcome);
        }
    }

    fn take(&self) -> Option<Written> {
        let mut state = self.lock();
        let written = state.waiting.pop_front();
        if written.is_none() {
            state.threads -= 1;
        }
        written
    }

    fn note(&self, path: &Path, outcome: io::Result<()>) {
        let mut state = self.lock();
        state.open -= 1;
        if let Err(error) = outcome {
            state.failure.get_or_insert_with(|| Failure {
                path: path.to_path_buf(),
                kind: error.kind(),
                code: error.raw_os_error(),
            });
        }
        self.synced.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_files_than_are_open_are_all_synced() {
        let dir = tempfile::tempdir().expect("a folder");
        let syncing = Arc::new(Syncing::default());
        for i in 0..3 * OPEN_MAX {
            let path = dir.path().join(i.to_string());
            let file = File::create(&path).expect("a file");
            syncing.leave(file, path).expect("no failure");
        }
        syncing.wait().expect("all are synced");
        let state = syncing.lock();
        assert_eq!((state.open, state.waiting.len()), (0, 0));
        drop(state);
        syncing.wait().expect("nothing is left to wait for");
    }

    #[test]
    fn a_failure_is_told_to_who_leaves_the_next_and_to_who_waits() {
        let dir = tempfile::tempdir().expect("a folder");
        let syncing = Arc::new(Syncing::default());
        syncing.lock().open = 1;
        let full = io::Error::from_raw_os_error(28);
        syncing.note(Path::new("v3/table-00007"), Err(full));
        let path = dir.path().join("next");
        let file = File::create(&path).expect("a file");
        for refused in [syncing.leave(file, path), syncing.wait()] {
            let text = refused.expect_err("a file was not synced").to_string();
            assert!(text.contains("v3/table-00007"), "{text}");
            assert!(text.contains("No space left"), "{text}");
        }
    }
}
