//! A version that is whole and durable, and not current yet.
//!
//! Between finishing and publishing stands whatever must be there at the moment at which the version becomes
//! current: the log with the commits that were made while it was written. Readers and writers of the store know
//! nothing of it until the manifest is renamed, which is all that publishing does.
//!
//! Invariant: dropped before it is published, it leaves neither its files nor its log; dropped after, it removes what it has
//! replaced. Cost: publishing is a write, two syncs and a rename, whatever the size of the version.

use super::Unpublished;
use crate::error::StoreError;
use crate::lock::StoreLock;
use crate::log;
use crate::manifest;
use crate::snapshot::Snapshot;
use crate::writers::Registration;
use std::sync::Arc;

/// How far a version has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No manifest names it.
    Unpublished,
    /// The manifest names it, and after a power cut may not.
    Current,
    /// The manifest names it for good.
    Durable,
}

/// A version whose files are durable and that can become the current one; dropped before that, it leaves no file.
#[derive(Debug)]
pub struct FinishedVersion {
    snapshot: Snapshot,
    unpublished: Unpublished,
    /// Of a version on disk.
    registration: Option<Registration>,
    state: State,
    /// Held until old files are removed.
    lock: Option<Arc<StoreLock>>,
}

impl FinishedVersion {
    pub(super) fn new(
        snapshot: Snapshot,
        unpublished: Unpublished,
        registration: Option<Registration>,
        lock: Option<Arc<StoreLock>>,
    ) -> Self {
        Self {
            snapshot,
            unpublished,
            registration,
            state: State::Unpublished,
            lock,
        }
    }

    /// The version, without any change.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The lock of the store, if it is on disk.
    pub fn lock(&self) -> Option<&Arc<StoreLock>> {
        self.lock.as_ref()
    }

    /// Makes the version current. What must be there then, such as its log, is durable before this is called. Files
    /// that it has replaced are removed when it is dropped.
    ///
    /// Errors: it was abandoned, or the disk has failed; nothing has changed then. [`StoreError::OutcomeUnknown`] if the manifest names
    /// it and only making that durable has failed.
    pub fn publish(&mut self) -> Result<(), StoreError> {
        let (Some(lock), Some(registration)) = (&self.lock, &self.registration) else {
            return Ok(());
        };
        let (dir, disk) = (lock.path(), &**lock.disk());
        registration.publish(|| self.snapshot.manifest().publish(disk, dir))?;
        // From here on the version is current, whatever goes wrong.
        self.unpublished.path = None;
        self.state = State::Current;
        manifest::sync_folder_on(disk, dir).map_err(|error| StoreError::OutcomeUnknown {
            path: dir.to_path_buf(),
            source: Box::new(error),
        })?;
        self.state = State::Durable;
        Ok(())
    }
}

impl Drop for FinishedVersion {
    fn drop(&mut self) {
        let Some(lock) = &self.lock else { return };
        let (dir, disk) = (lock.path(), &**lock.disk());
        // What cannot be removed now is removed by the next writer.
        match self.state {
            State::Unpublished => {
                let path = log::path_of_log(dir, self.snapshot.version());
                if path.exists() {
                    let _ = disk.remove(&path);
                }
            }
            // After a power cut the manifest before may be there again.
            State::Current => {}
            State::Durable => {
                let _ = manifest::remove_unnamed(disk, dir, Some(self.snapshot.manifest()));
            }
        }
    }
}
