//! Read-only memory maps of the immutable files of a version; the only `unsafe` of this crate.
//!
//! Invariant: files of a version are never changed after they were written, only unlinked, which
//! leaves existing maps intact.

use crate::error::StoreError;
use memmap2::Mmap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A whole file mapped for reading.
#[derive(Debug)]
pub(crate) struct MappedFile {
    map: Mmap,
    path: PathBuf,
}

impl MappedFile {
    /// Maps the file.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(StoreError::io("open", path))?;
        // SAFETY: the file belongs to a version of the store. Writers create such files under
        // new names, finish them before a manifest names them, and afterwards only unlink them,
        // so nobody shortens or rewrites the bytes while the map exists. Interference by other
        // programs is outside what a map can be protected against; every reader of the bytes
        // bounds-checks what it reads, so changed bytes lead to errors and not to bad memory
        // accesses.
        let map = unsafe { Mmap::map(&file) }.map_err(StoreError::io("map", path))?;
        let path = path.to_path_buf();
        Ok(Self { map, path })
    }

    /// Where the file was; it may have been unlinked since.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }
}
