//! A backup: a consistent copy of a store, made while others read and write it.
//!
//! The copy is what a reader sees who opens the store now: the files of the current version, and of its log the
//! whole records. All files are open before the first byte is copied, so a merge that removes them meanwhile does no
//! harm; if another version becomes current before they are, all begins again. Commits that were acknowledged before
//! the backup began are in the copy, and of later ones the first few or none.
//!
//! Bytes are written, never shared: a hard link, or a copy that shares blocks, would be lost with the original when a
//! block of the disk is. The copy is read back and verified, and only then gets its manifest: a backup that
//! did not come to its end is no store, and the next backup or load into that folder removes what is there.
//!
//! Cost: one read and one write of the store, and one read of the copy; memory for the log, as in opening.

use crate::disk::RealDisk;
use crate::error::StoreError;
use crate::folder::{Folders, version_path};
use crate::lock::{StoreLock, is_free};
use crate::log::{of_current, open_unpublished, path_of_log, read_log_and_bytes};
use crate::manifest;
use crate::snapshot::Version;
use std::fs::{self, File};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

/// Bytes written between two calls that tell the progress.
const STEP_BYTES: usize = 8 << 20;

/// What a backup holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupReport {
    /// The number of the version.
    pub version: u64,
    /// The number of the last commit.
    pub commit_number: u64,
    /// All quads.
    pub quads: u64,
    /// Files, without the manifest.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// Hears how many bytes of how many are copied, and may end the backup.
pub type BackupProgress<'a> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'a;

/// What is copied: everything is open or in memory.
struct Source {
    version: Version,
    /// Header and whole records.
    log: Option<Vec<u8>>,
}

/// Copies the store in a folder to another one, which is made. It may hold nothing but what an unfinished backup
/// has left there. After an error, that of a last sync apart, the destination is no store.
pub fn back_up(
    dir: &Path,
    destination: &Path,
    progress: &mut BackupProgress<'_>,
) -> Result<BackupReport, StoreError> {
    let refused = |why| StoreError::Destination {
        path: destination.to_path_buf(),
        why,
    };
    if is_within(destination, dir) {
        return Err(refused("it is in the store"));
    }
    let taken = "it has files already, and a backup needs a new or an empty folder";
    // Before the lock is taken too, which leaves a file in a folder of somebody else.
    if !is_free(destination) {
        return Err(refused(taken));
    }
    let source = Source::open(dir)?;
    let lock = StoreLock::acquire(destination)?;
    if !is_free(destination) {
        return Err(refused(taken));
    }
    manifest::remove_unnamed(&RealDisk, destination, None)?;
    let copied = source.copy(destination, progress);
    let published = copied.and_then(|report| {
        let manifest = &source.version.manifest;
        manifest.publish(&RealDisk, destination).map(|()| report)
    });
    if published.is_err() {
        // What cannot be removed now is removed by the next writer.
        let _ = manifest::remove_unnamed(&RealDisk, destination, None);
    }
    let report = published?;
    manifest::sync_folder(destination)?;
    drop(lock);
    Ok(report)
}

impl Source {
    /// Opens the newest state of a store.
    fn open(dir: &Path) -> Result<Self, StoreError> {
        of_current(dir, |manifest| {
            let log = read_log_and_bytes(dir, &manifest)?;
            let version = Version::open(Folders::on_disk(dir), manifest)?;
            let log = log.map(|(log, mut bytes)| {
                bytes.truncate(usize::try_from(log.whole_bytes).unwrap_or(usize::MAX));
                bytes
            });
            Ok(Self {
                version,
                // A log that was being made has no commit.
                log: log.filter(|bytes| !bytes.is_empty()),
            })
        })
    }

    /// Writes and verifies everything but the manifest.
    fn copy(
        &self,
        destination: &Path,
        progress: &mut BackupProgress<'_>,
    ) -> Result<BackupReport, StoreError> {
        let manifest = &self.version.manifest;
        let files = self.files()?;
        let log_bytes = self.log.as_ref().map_or(0, |log| log.len() as u64);
        let total = files.iter().map(|(_, bytes)| bytes.len() as u64);
        let mut copying = Copying {
            destination,
            progress,
            done: 0,
            total: total.sum::<u64>() + log_bytes,
        };
        for folder in manifest.folders() {
            let path = version_path(destination, folder);
            fs::create_dir(&path).map_err(StoreError::io("create", &path))?;
        }
        for (name, bytes) in &files {
            copying.write(&destination.join(name), bytes)?;
        }
        if let Some(log) = &self.log {
            copying.write(&path_of_log(destination, manifest.version), log)?;
        }
        for folder in manifest.folders() {
            manifest::sync_folder(&version_path(destination, folder))?;
        }
        manifest::sync_folder(destination)?;
        let copy = open_unpublished(destination, manifest.clone())?;
        copying.tell()?;
        Ok(BackupReport {
            version: copy.version(),
            commit_number: copy.commit_number(),
            quads: copy.quad_count(),
            files: files.len() + usize::from(self.log.is_some()),
            bytes: copying.total,
        })
    }

    /// Names and bytes of all files that the manifest lists.
    fn files(&self) -> Result<Vec<(&str, &[u8])>, StoreError> {
        let open = self.version.files();
        let listed = self.version.manifest.files.iter();
        listed
            .map(|listed| {
                let file = open.iter().find(|file| file.name() == listed.name);
                let file = file.ok_or_else(|| {
                    let what = format!("it lists `{}`, which is no part of a store", listed.name);
                    StoreError::corrupt("MANIFEST", 0, what)
                })?;
                Ok((listed.name.as_str(), file.all_bytes()))
            })
            .collect()
    }
}

/// Copies under way.
struct Copying<'a, 'p> {
    destination: &'a Path,
    progress: &'a mut BackupProgress<'p>,
    done: u64,
    total: u64,
}

impl Copying<'_, '_> {
    /// Writes a new file and syncs it.
    fn write(&mut self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let options = || File::options().write(true).create_new(true).open(path);
        let mut file = options().map_err(StoreError::io("create", path))?;
        for step in bytes.chunks(STEP_BYTES) {
            file.write_all(step)
                .map_err(StoreError::io("write", path))?;
            self.done += step.len() as u64;
            self.tell()?;
        }
        file.sync_all().map_err(StoreError::io("sync", path))
    }

    /// Tells how far it has come.
    fn tell(&mut self) -> Result<(), StoreError> {
        match (self.progress)(self.done, self.total) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(StoreError::Abandoned {
                path: self.destination.to_path_buf(),
            }),
        }
    }
}

/// Whether a path, which need not exist, lies in a folder or is that folder.
fn is_within(path: &Path, folder: &Path) -> bool {
    let (Ok(folder), Ok(path)) = (fs::canonicalize(folder), std::path::absolute(path)) else {
        return false;
    };
    let known = path.ancestors().find_map(|above| above.canonicalize().ok());
    known.is_some_and(|known| known.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_the_store_is_told_from_what_lies_beside_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = folder.path().join("store");
        fs::create_dir(&store).expect("a folder");
        for inside in ["store", "store/a", "store/a/b", "other/../store/a"] {
            fs::create_dir_all(folder.path().join("other")).expect("a folder");
            assert!(is_within(&folder.path().join(inside), &store), "{inside}");
        }
        for outside in ["store2", "other/store", "store2/store"] {
            assert!(
                !is_within(&folder.path().join(outside), &store),
                "{outside}"
            );
        }
    }
}
