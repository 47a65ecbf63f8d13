//! One writer at a time: an advisory lock on the file `LOCK` of the store folder.
//!
//! The operating system releases the lock when its holder ends, however it ends, so there is
//! never a stale lock to remove. Readers need no lock: they map immutable files.

use crate::error::StoreError;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// The right to write to a store folder, held until dropped.
#[derive(Debug)]
pub struct StoreLock {
    _file: File,
    path: PathBuf,
}

impl StoreLock {
    /// Takes the lock, creating the folder if it does not exist.
    pub fn acquire(dir: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(dir).map_err(StoreError::io("create", dir))?;
        let path = dir.join("LOCK");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(StoreError::io("open", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self {
                _file: file,
                path: dir.to_path_buf(),
            }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Locked {
                path: dir.to_path_buf(),
            }),
            Err(TryLockError::Error(source)) => Err(StoreError::Io {
                op: "lock",
                path,
                source,
            }),
        }
    }

    /// The store folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
