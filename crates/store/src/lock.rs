//! One writer at a time: an advisory lock on the file `LOCK` of the store folder.
//!
//! The operating system releases the lock when its holder ends, however it ends, so there is
//! never a stale lock to remove. Readers need no lock: they map immutable files.
//!
//! The lock file stays when its holder ends: removing it would let two writers hold locks on two files of
//! one name. So a folder in which the first load failed holds that file, and is still free for a store.
//!
//! A holder that others can reach says so in the file ([`Holder`]), so that who finds the store locked can ask it. The text is
//! removed with the lock; that of a holder that died means nothing, since nobody reads it while the lock is free, and who is asked
//! compares the key.

use crate::disk::{Disk, DiskFile, RealDisk};
use crate::error::StoreError;
use crate::manifest;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const NAME: &str = "LOCK";
/// More than what a holder writes into the file.
const HOLDER_BYTES_MAX: u64 = 4096;

/// Who holds the lock of a store and where it can be asked to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The number of its process.
    pub pid: u32,
    /// Where it serves the store.
    pub url: String,
    /// Tells this holder from all others.
    pub key: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} serves it at {}", self.pid, self.url)
    }
}

/// The right to write to a store folder, held until dropped.
#[derive(Debug)]
pub struct StoreLock {
    file: File,
    path: PathBuf,
    /// Whether the file tells who holds the lock.
    is_announced: AtomicBool,
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
            Ok(()) => {
                let lock = Self {
                    file,
                    path: dir.to_path_buf(),
                    is_announced: AtomicBool::new(false),
                    disk,
                };
                lock.forget_holder();
                Ok(lock)
            }
            Err(TryLockError::WouldBlock) => Err(StoreError::Locked {
                path: dir.to_path_buf(),
                holder: read_holder(&path).map(Box::new),
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

    /// Tells those who find the store locked whom they can ask.
    pub fn announce(&self, holder: &Holder) -> Result<(), StoreError> {
        let path = self.path.join(NAME);
        let mut text = serde_json::to_string(holder).expect("a holder is plain data");
        text.push('\n');
        self.is_announced.store(true, Ordering::Relaxed);
        let written = DiskFile::truncate(&self.file, 0)
            .and_then(|()| DiskFile::write_at(&self.file, 0, text.as_bytes()));
        written.map_err(StoreError::io("write", &path))
    }

    /// Removes what the holder before has left in the file, if anything.
    fn forget_holder(&self) {
        // What stays is harmless: its key is not known to anybody.
        if self.file.metadata().is_ok_and(|known| known.len() > 0) {
            let _ = DiskFile::truncate(&self.file, 0);
        }
    }

    /// What the holder writes log and manifest to.
    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }
}

impl Drop for StoreLock {
    fn drop(&mut self) {
        if self.is_announced.load(Ordering::Relaxed) {
            self.forget_holder();
        }
        // Closing is not enough while another thread starts a process, which has a copy of the open file for a moment. What
        // cannot be released now is when that is closed.
        let _ = self.file.unlock();
    }
}

/// Who holds the lock of a store and can be asked to write, if there is one who says so. Nothing is made for that.
pub fn holder_of(dir: &Path) -> Option<Holder> {
    read_holder(&dir.join(NAME))?;
    match StoreLock::acquire(dir) {
        Err(StoreError::Locked { holder, .. }) => holder.map(|holder| *holder),
        _ => None,
    }
}

/// What the holder of a lock says in the file.
fn read_holder(path: &Path) -> Option<Holder> {
    let is_small = path.metadata().ok()?.len() < HOLDER_BYTES_MAX;
    let text = is_small.then(|| fs::read(path).ok()).flatten()?;
    serde_json::from_slice(&text).ok()
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
    fn who_finds_the_store_locked_hears_of_its_holder() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path();
        let refused = || match StoreLock::acquire(dir) {
            Err(StoreError::Locked { holder, .. }) => holder.map(|holder| *holder),
            other => unreachable!("{other:?}"),
        };
        let holder = Holder {
            pid: 7,
            url: "http://127.0.0.1:1".to_owned(),
            key: "k".to_owned(),
        };
        let lock = StoreLock::acquire(dir).expect("the lock");
        assert_eq!(refused(), None);
        assert_eq!(holder_of(dir), None);
        lock.announce(&holder).expect("it can be written");
        assert_eq!(holder_of(dir), Some(holder.clone()));
        assert_eq!(refused(), Some(holder.clone()));
        drop(lock);
        let bytes = |dir: &Path| fs::read(dir.join(NAME)).expect("the file is there");
        assert!(bytes(dir).is_empty());
        // A holder that died has left its words, and others something else.
        for left in [
            serde_json::to_string(&holder).expect("plain data"),
            "{".repeat(5000),
        ] {
            fs::write(dir.join(NAME), left).expect("a file");
            assert_eq!(holder_of(dir), None);
            let lock = StoreLock::acquire(dir).expect("the lock");
            assert_eq!(refused(), None);
            drop(lock);
        }
        let lock = StoreLock::acquire(dir).expect("the lock");
        fs::write(dir.join(NAME), "{\"pid\":").expect("a file");
        assert_eq!(refused(), None);
        drop(lock);
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
