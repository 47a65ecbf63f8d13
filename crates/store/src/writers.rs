//! The writers of this process by store folder, so that one can be told to give up.
//!
//! A process that gets a signal wants to end now, in the middle of a load, and leave nothing behind.
//! Its writer's threads cannot be stopped, but the version can be kept from being published: a
//! writer registers here, publishes under this lock, and [`abandon`] bars it from doing so before
//! it removes the files.
//!
//! Invariant: an abandoned writer never publishes, and a published version is never abandoned.

use crate::disk::RealDisk;
use crate::error::StoreError;
use crate::manifest::{self, Manifest};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How far the last writer of a folder has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriterState {
    /// Its version is not published yet.
    Writing,
    /// Its version is current.
    Published,
    /// It may not publish, and nobody of this process may write there again.
    Abandoned,
}

static WRITERS: Mutex<BTreeMap<PathBuf, WriterState>> = Mutex::new(BTreeMap::new());

/// Attempts to remove a folder in which another thread still creates files. Each attempt that fails
/// has met a new file, and a writer that finds its folder gone creates no more.
const REMOVALS_MAX: usize = 1000;

/// What became of the writer of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abandoned {
    /// It will not publish; the store is what it was, and no file of the writer is left.
    Yes,
    /// It had published its version before: the store is what the writer made it.
    TooLate,
}

/// A writer's entry, removed when dropped unless it was abandoned.
#[derive(Debug)]
pub(crate) struct Registration {
    key: PathBuf,
}

impl Registration {
    /// Registers the writer that holds the lock of the folder.
    pub(crate) fn new(dir: &Path) -> Result<Self, StoreError> {
        let key = key(dir);
        let mut writers = writers();
        if writers.get(&key) == Some(&WriterState::Abandoned) {
            return Err(gone(dir));
        }
        writers.insert(key.clone(), WriterState::Writing);
        Ok(Self { key })
    }

    /// Publishes by this function, unless the writer was abandoned. An abandonment waits until it is done.
    pub(crate) fn publish(
        &self,
        publish: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut writers = writers();
        if writers.get(&self.key) != Some(&WriterState::Writing) {
            return Err(gone(&self.key));
        }
        publish()?;
        writers.insert(self.key.clone(), WriterState::Published);
        Ok(())
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut writers = writers();
        if writers.get(&self.key) == Some(&WriterState::Writing) {
            writers.remove(&self.key);
        }
    }
}

/// Gives up whatever this process writes to the store in this folder, for good: until the process
/// ends nothing more can be written there by it.
pub fn abandon(dir: &Path) -> Result<Abandoned, StoreError> {
    let key = key(dir);
    let mut writers = writers();
    let state = writers.get(&key).copied();
    if state == Some(WriterState::Published) {
        return Ok(Abandoned::TooLate);
    }
    writers.insert(key, WriterState::Abandoned);
    // Without a writer of this process the lock, and with it the right to clean up, is elsewhere.
    if state == Some(WriterState::Writing) {
        let current = match Manifest::read(dir) {
            Ok(manifest) => Some(manifest),
            Err(StoreError::NotAStore { .. }) => None,
            Err(error) => return Err(error),
        };
        let mut attempts = 1;
        while let Err(error) = manifest::remove_unnamed(&RealDisk, dir, current.as_ref()) {
            if attempts == REMOVALS_MAX {
                return Err(error);
            }
            attempts += 1;
        }
    }
    Ok(Abandoned::Yes)
}

fn gone(dir: &Path) -> StoreError {
    StoreError::Abandoned {
        path: dir.to_path_buf(),
    }
}

/// One name for a folder, however it was given.
fn key(dir: &Path) -> PathBuf {
    fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf())
}

/// A thread that panicked cannot have left the map half-changed, so poisoning is ignored.
fn writers() -> MutexGuard<'static, BTreeMap<PathBuf, WriterState>> {
    WRITERS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Storage;
    use crate::version_writer::VersionWriter;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).expect("the folder is there");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn an_abandoned_writer_leaves_nothing_and_cannot_commit() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path().join("store");
        let writer = VersionWriter::create(Storage::Directory(dir.clone())).expect("a writer");
        assert_eq!(names(&dir), ["LOCK", "v1"]);
        assert_eq!(abandon(&dir).expect("it is abandoned"), Abandoned::Yes);
        assert_eq!(names(&dir), ["LOCK"]);
        assert!(writer.commit().is_err());
        assert_eq!(names(&dir), ["LOCK"]);
        let next = VersionWriter::create(Storage::Directory(dir.clone()));
        assert!(matches!(next, Err(StoreError::Abandoned { .. })));
        assert_eq!(names(&dir), ["LOCK"]);
    }

    #[test]
    fn an_abandoned_writer_that_has_written_all_is_refused_at_the_end() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let registration = Registration::new(folder.path()).expect("nobody writes there");
        abandon(folder.path()).expect("it is abandoned");
        let published = registration.publish(|| Ok(()));
        assert!(matches!(published, Err(StoreError::Abandoned { .. })));
    }

    #[test]
    fn a_published_version_stays() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path().to_path_buf();
        let writer = VersionWriter::create(Storage::Directory(dir.clone())).expect("a writer");
        writer.commit().expect("it is committed");
        assert_eq!(abandon(&dir).expect("an answer"), Abandoned::TooLate);
        assert_eq!(names(&dir), ["LOCK", "MANIFEST", "v1"]);
        // A writer that failed is forgotten.
        drop(VersionWriter::create(Storage::Directory(dir.clone())).expect("a writer"));
        assert_eq!(abandon(&dir).expect("an answer"), Abandoned::Yes);
        assert_eq!(names(&dir), ["LOCK", "MANIFEST", "v1"]);
    }
}
