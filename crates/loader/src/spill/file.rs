//! Temporary files: append pieces, read pieces.
//!
//! A file is unlinked at once after it was created: its space is given back when the load ends, even by a kill.
//! Between the two calls a kill leaves an empty file, which the next load that uses the folder removes (and
//! on systems that cannot unlink open files, it is removed at the end or then).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::LoadError;

/// What the names of temporary files begin with.
const PREFIX: &str = "basalt-spill-";
/// Files created by this process so far, for their names: several loads may use one folder.
static NAMES: AtomicU64 = AtomicU64::new(0);

/// Where temporary files go; made without touching the disk.
#[derive(Debug)]
pub(crate) struct SpillFolder {
    path: PathBuf,
    /// Files created so far.
    created: AtomicU64,
    /// Bytes written to all of them.
    written: AtomicU64,
}

impl SpillFolder {
    /// Temporary files in this folder.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            created: AtomicU64::new(0),
            written: AtomicU64::new(0),
        }
    }

    /// Bytes written to files of this folder so far.
    pub(crate) fn written_bytes(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    fn count(&self, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Removes what killed loads have left. A file that somebody still uses keeps its content.
    fn remove_leftovers(&self) {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        for entry in entries {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                // What cannot be removed is in use or not ours to remove.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// A piece of a [`SpillFile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Where it begins.
    pub offset: u64,
    /// Its length.
    pub bytes: usize,
}

/// A temporary file that grows at its end.
#[derive(Debug)]
pub(crate) struct SpillFile {
    folder: Arc<SpillFolder>,
    path: PathBuf,
    state: Mutex<State>,
    /// Whether the name is still there and to be removed at the end.
    named: bool,
}

#[derive(Debug)]
struct State {
    file: File,
    /// Where the next piece goes.
    end: u64,
    /// Where the next byte is read or written.
    position: u64,
}

impl SpillFile {
    /// Creates a file.
    pub(crate) fn create(folder: &Arc<SpillFolder>) -> Result<Self, LoadError> {
        if folder.created.fetch_add(1, Ordering::Relaxed) == 0 {
            folder.remove_leftovers();
        }
        let number = NAMES.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let path = folder.path.join(name);
        let file = open_new(&path).map_err(|e| LoadError::spill("create", &path, e))?;
        let named = fs::remove_file(&path).is_err();
        Ok(Self {
            folder: Arc::clone(folder),
            path,
            state: Mutex::new(State {
                file,
                end: 0,
                position: 0,
            }),
            named,
        })
    }

    /// Appends a piece.
    pub(crate) fn append(&self, bytes: &[u8]) -> Result<Extent, LoadError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = state.end;
        let written = state.go_to(offset).and_then(|()| {
            state.file.write_all(bytes)?;
            state.position += bytes.len() as u64;
            state.end = state.position;
            Ok(())
        });
        written.map_err(|e| LoadError::spill("write", &self.path, e))?;
        self.folder.count(bytes.len() as u64);
        Ok(Extent {
            offset,
            bytes: bytes.len(),
        })
    }

    /// Appends the bytes of a piece, from `skip` on and at most `bytes_max`, to `out`.
    pub(crate) fn read_part(
        &self,
        extent: Extent,
        skip: usize,
        bytes_max: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, LoadError> {
        let bytes = extent.bytes.saturating_sub(skip).min(bytes_max);
        let start = out.len();
        out.resize(start + bytes, 0);
        let offset = extent.offset + skip as u64;
        self.read_at(offset, &mut out[start..])?;
        Ok(bytes)
    }

    /// Replaces `out` by the bytes of a piece. Memory of `out` that is used again is not cleared first.
    pub(crate) fn read(&self, extent: Extent, out: &mut Vec<u8>) -> Result<(), LoadError> {
        out.resize(extent.bytes, 0);
        self.read_at(extent.offset, out)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), LoadError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let read = state.go_to(offset).and_then(|()| {
            state.file.read_exact(out)?;
            state.position += out.len() as u64;
            Ok(())
        });
        read.map_err(|e| LoadError::spill("read", &self.path, e))
    }
}

impl State {
    fn go_to(&mut self, offset: u64) -> io::Result<()> {
        if self.position != offset {
            // Until the seek and what follows have succeeded the position is unknown.
            self.position = u64::MAX;
            self.position = self.file.seek(SeekFrom::Start(offset))?;
        }
        Ok(())
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        if self.named {
            // What cannot be removed now is removed by the next load.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn open_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back_and_no_file_is_left() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        fs::write(dir.path().join("basalt-spill-1-0"), b"left by a kill").expect("written");
        let folder = Arc::new(SpillFolder::new(dir.path().to_path_buf()));
        let file = SpillFile::create(&folder).expect("created");
        let pieces: Vec<Vec<u8>> = (0..50u8).map(|i| vec![i; usize::from(i) * 100]).collect();
        let mut extents = Vec::new();
        let mut out = Vec::new();
        for piece in &pieces {
            extents.push(file.append(piece).expect("appended"));
            file.read(extents[extents.len() / 2], &mut out)
                .expect("read");
        }
        for (extent, piece) in extents.iter().zip(&pieces) {
            file.read(*extent, &mut out).expect("read");
            assert_eq!(&out, piece);
        }
        out.clear();
        let read = file.read_part(extents[3], 250, 1000, &mut out);
        assert_eq!((read.expect("read"), out), (50, vec![3; 50]));
        assert_eq!(folder.written_bytes(), 49 * 50 / 2 * 100);
        drop(file);
        assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn errors_name_the_file() {
        let folder = Arc::new(SpillFolder::new(PathBuf::from("/no/such/folder")));
        let error = SpillFile::create(&folder).expect_err("no folder");
        let message = error.to_string();
        assert!(
            message.contains("/no/such/folder/basalt-spill-"),
            "{message}"
        );
    }
}
