//! One writer at a time: an advisory lock on the file `LOCK` of the store folder.
//!
//! The operating system releases the lock when its holder ends, however it ends, so there is
//! never a stale lock to remove. Readers need no lock: they map immutable files.
//!
//! The lock file stays when its holder ends: removing it would let two writers hold locks on two files of
//! one name. So a folder in which the first load failed holds that file, and is still free for a store.

use crate::disk::{Disk, RealDisk};
use crate::error::StoreError;
use crate::manifest;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const NAME: &str = "LOCK";

/// The right to write to a store folder, held until dropped.
#[derive(Debug)]
pub struct StoreLock {
    file: File,
    path: PathBuf,
    /// What its holder writes log and manifest to.
    disk: Arc<dyn Disk>,
}

impl StoreLock {
    /// Takes the lock, creating the folder if it does not exist.
    pub fn acquire(dir: &Path) -> Result<Self, StoreError> {
        Self::acquire_on(dir, Arc::new(RealDisk))
    }

    /// As [`Self::acquire`], for a holder who writes log and manifest to a disk of its own.
    pub fn acquire_on(dir: &Path, disk: Arc<dyn Disk>) -> Result<Self, StoreError> {
        create_durably(dir)?;
        let path = dir.join(NAME);
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(StoreError::io("open", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self {
                file,
                path: dir.to_path_buf(),
                disk,
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

    /// What the holder writes log and manifest to.
    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }
}

impl Drop for StoreLock {
    fn drop(&mut self) {
        // Closing is not enough while another thread starts a process, which has a copy of the open file for a moment. What
        // cannot be released now is when that is closed.
        let _ = self.file.unlock();
    }
}

/// Creates a folder, and those above it, so that they are still there after the power was cut: a
/// commit is worth nothing in a folder that is lost.
fn create_durably(dir: &Path) -> Result<(), StoreError> {
    if dir.is_dir() {
        return Ok(());
    }
    let above = match dir.parent() {
        Some(above) if !above.as_os_str().is_empty() => {
            create_durably(above)?;
            above
        }
        Some(_) => Path::new("."),
        None => Path::new("/"),
    };
    match fs::create_dir(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists || !dir.is_dir() => {
            Err(StoreError::io("create", dir)(error))
        }
        // Another process that made it may not have come to this.
        _ => manifest::sync_folder(above),
    }
}

/// Whether a new store may be made in a folder: it does not exist, or it is empty, or it holds nothing but
/// what a first writer left that did not come to its end. Nobody else's files are ever taken for that.
pub fn is_free(dir: &Path) -> bool {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) => return error.kind() == std::io::ErrorKind::NotFound,
    };
    let (mut has_lock, mut others) = (false, false);
    for entry in entries {
        let Ok(entry) = entry else { return false };
        let name = entry.file_name();
        let name = name.to_string_lossy();
        match &*name {
            NAME => has_lock = true,
            name if manifest::is_leftover_name(name) => others = true,
            _ => return false,
        }
    }
    has_lock || !others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_first_writer_leaves_is_free() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path();
        assert!(is_free(&dir.join("absent")));
        assert!(is_free(dir));
        // Somebody's own folder of this name.
        fs::create_dir(dir.join("v1")).expect("a folder");
        assert!(!is_free(dir));
        fs::write(dir.join(NAME), "").expect("a file");
        assert!(is_free(dir));
        fs::write(dir.join("MANIFEST.tmp"), "").expect("a file");
        assert!(is_free(dir));
        fs::write(dir.join("log-1"), "").expect("a file");
        assert!(is_free(dir));
        fs::write(dir.join("v1.txt"), "").expect("a file");
        assert!(!is_free(dir));
        fs::remove_file(dir.join("v1.txt")).expect("it is removed");
        fs::write(dir.join("MANIFEST"), "").expect("a file");
        assert!(!is_free(dir));
    }

    #[test]
    fn folders_above_are_made_too_and_a_file_in_the_way_is_told() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let deep = folder.path().join("a/b/c");
        drop(StoreLock::acquire(&deep).expect("the lock of a new folder"));
        assert!(deep.join(NAME).is_file());
        fs::write(folder.path().join("file"), "").expect("a file");
        for name in ["file", "file/below"] {
            let refused = StoreLock::acquire(&folder.path().join(name));
            assert!(matches!(refused, Err(StoreError::Io { .. })), "{name}");
        }
    }
}
