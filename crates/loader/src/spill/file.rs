//! Temporary files of a load: append pieces, read pieces, count the bytes.
//!
//! The space of a file is given back when the load ends, even by a kill. What a kill leaves of names is removed by the next load that uses the
//! folder ([`TemporaryFile`]).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use basalt_store::TemporaryFile;

use crate::error::LoadError;

/// What files are for, in their names.
const PURPOSE: &str = "spill";

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
    file: TemporaryFile,
}

impl SpillFile {
    /// Creates a file.
    pub(crate) fn create(folder: &Arc<SpillFolder>) -> Result<Self, LoadError> {
        if folder.created.fetch_add(1, Ordering::Relaxed) == 0 {
            TemporaryFile::remove_leftovers(&folder.path, PURPOSE);
        }
        Ok(Self {
            folder: Arc::clone(folder),
            file: TemporaryFile::create(Some(&folder.path), PURPOSE)?,
        })
    }

    /// Appends a piece.
    pub(crate) fn append(&self, bytes: &[u8]) -> Result<Extent, LoadError> {
        let offset = self.file.append(bytes)?;
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
        self.file.read_at(offset, &mut out[start..])?;
        Ok(bytes)
    }

    /// Replaces `out` by the bytes of a piece. Memory of `out` that is used again is not cleared first.
    pub(crate) fn read(&self, extent: Extent, out: &mut Vec<u8>) -> Result<(), LoadError> {
        out.resize(extent.bytes, 0);
        Ok(self.file.read_at(extent.offset, out)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
