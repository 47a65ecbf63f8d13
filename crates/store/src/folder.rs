//! Where the files of a load live: a folder on disk, or memory.
//!
//! Both kinds hold the same bytes; memory serves tests and small embedded stores. A folder
//! remembers the files finished through it, which is how the manifest learns of them. A version is
//! made of files of one folder or of several: `Folders`.

use crate::error::StoreError;
use crate::section_file::{FileKind, SectionFile, SectionWriter};
use crate::syncing::Syncing;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// Where a store lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Storage {
    /// In this folder.
    Directory(PathBuf),
    /// Nowhere else than in memory.
    Memory,
}

/// A finished file, as the manifest lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FinishedFile {
    /// Length of the file.
    pub(crate) bytes: u64,
    /// Checksum of its directory, which holds the checksums of its sections.
    pub(crate) directory_checksum: u64,
}

/// The bytes of a file in memory; words, so that sections are aligned as in a mapped file.
pub(crate) type MemoryBytes = Arc<AlignedBytes>;

/// Bytes that start at an address divisible by eight.
#[derive(Debug)]
pub(crate) struct AlignedBytes {
    words: Vec<u64>,
    length: usize,
}

impl AlignedBytes {
    /// Copies bytes to an aligned place.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut words = vec![0_u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self {
            words,
            length: bytes.len(),
        }
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.length]
    }
}

#[derive(Debug)]
enum Place {
    Directory(PathBuf),
    Memory(Mutex<BTreeMap<String, MemoryBytes>>),
}

/// The files that one load has written; cheap to clone, shared between threads.
#[derive(Clone, Debug)]
pub struct Folder {
    place: Arc<Place>,
    /// What stands before the names of files in the manifest and in errors: `v3/`, or nothing.
    label: Arc<str>,
    finished: Arc<Mutex<BTreeMap<String, FinishedFile>>>,
    syncing: Arc<Syncing>,
}

impl Folder {
    /// The folder `v<number>` of a store on disk.
    pub(crate) fn of_version(dir: &Path, number: u64) -> Self {
        Self::at(
            Place::Directory(version_path(dir, number)),
            &version_label(number),
        )
    }

    /// The folder of a version in memory, empty.
    pub(crate) fn of_version_in_memory(number: u64) -> Self {
        Self::at(Place::Memory(Mutex::default()), &version_label(number))
    }

    /// A folder on disk, which must exist.
    #[cfg(test)]
    pub(crate) fn directory(path: &Path) -> Self {
        Self::at(Place::Directory(path.to_path_buf()), "")
    }

    /// An empty folder in memory.
    #[cfg(test)]
    pub(crate) fn memory() -> Self {
        Self::at(Place::Memory(Mutex::default()), "")
    }

    fn at(place: Place, label: &str) -> Self {
        Self {
            place: Arc::new(place),
            label: label.into(),
            finished: Arc::default(),
            syncing: Arc::default(),
        }
    }

    /// The name of a file for the manifest and for errors.
    pub(crate) fn full_name(&self, name: &str) -> String {
        format!("{}{name}", self.label)
    }

    /// Starts a new file.
    pub fn create(&self, name: &str, kind: FileKind) -> Result<SectionWriter, StoreError> {
        SectionWriter::create(self.clone(), name, kind)
    }

    /// Opens a finished file.
    pub fn open(&self, name: &str, kind: FileKind) -> Result<SectionFile, StoreError> {
        let full_name = self.full_name(name);
        match &*self.place {
            Place::Directory(path) => SectionFile::map(&path.join(name), &full_name, kind),
            Place::Memory(files) => {
                let bytes = lock(files).get(name).cloned().ok_or_else(|| {
                    StoreError::corrupt(&full_name, 0, "the file is missing from memory")
                })?;
                SectionFile::from_memory(bytes, &full_name, kind)
            }
        }
    }

    /// The path of a file, if this is a folder on disk.
    pub(crate) fn path_of(&self, name: &str) -> Option<PathBuf> {
        match &*self.place {
            Place::Directory(path) => Some(path.join(name)),
            Place::Memory(_) => None,
        }
    }

    /// The folder's path, if it is on disk.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &*self.place {
            Place::Directory(path) => Some(path),
            Place::Memory(_) => None,
        }
    }

    /// Puts the bytes of a finished file into memory.
    pub(crate) fn store_memory(&self, name: &str, bytes: &[u8]) {
        if let Place::Memory(files) = &*self.place {
            lock(files).insert(name.to_owned(), Arc::new(AlignedBytes::new(bytes)));
        }
    }

    /// Leaves a written file to be made durable; see [`Self::wait_until_durable`].
    pub(crate) fn make_durable(&self, file: File, path: PathBuf) -> Result<(), StoreError> {
        self.syncing.leave(file, path)
    }

    /// Waits until all finished files are durable; their names are not yet. Errors: of any of them.
    pub(crate) fn wait_until_durable(&self) -> Result<(), StoreError> {
        self.syncing.wait()
    }

    /// Notes a finished file.
    pub(crate) fn note_finished(&self, name: &str, file: FinishedFile) {
        lock(&self.finished).insert(name.to_owned(), file);
    }

    /// Whether a file of this name was finished.
    pub(crate) fn has_finished(&self, name: &str) -> bool {
        lock(&self.finished).contains_key(name)
    }

    /// The files finished so far, by name.
    pub(crate) fn finished(&self) -> BTreeMap<String, FinishedFile> {
        lock(&self.finished).clone()
    }

    /// The bytes of a file in memory, for tests that damage them.
    #[cfg(test)]
    pub(crate) fn memory_files(&self) -> Vec<(String, Vec<u8>)> {
        match &*self.place {
            Place::Directory(_) => Vec::new(),
            Place::Memory(files) => lock(files)
                .iter()
                .map(|(name, bytes)| (name.clone(), bytes.bytes().to_vec()))
                .collect(),
        }
    }
}

/// The folders that the files of a version lie in, by the number of the version that made them.
#[derive(Clone, Debug)]
pub(crate) struct Folders {
    /// The store folder; `None` in memory.
    dir: Option<PathBuf>,
    /// In memory, every folder; on disk none.
    in_memory: BTreeMap<u64, Folder>,
}

impl Folders {
    /// The folders of a store on disk.
    pub(crate) fn on_disk(dir: &Path) -> Self {
        Self {
            dir: Some(dir.to_path_buf()),
            in_memory: BTreeMap::new(),
        }
    }

    /// Folders in memory.
    pub(crate) fn in_memory(folders: impl IntoIterator<Item = (u64, Folder)>) -> Self {
        Self {
            dir: None,
            in_memory: folders.into_iter().collect(),
        }
    }

    /// The store folder, if it is on disk.
    pub(crate) fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// The folder of the files that a version has made.
    pub(crate) fn get(&self, number: u64) -> Folder {
        match &self.dir {
            Some(dir) => Folder::of_version(dir, number),
            None => {
                let known = self.in_memory.get(&number).cloned();
                known.unwrap_or_else(|| Folder::of_version_in_memory(number))
            }
        }
    }

    /// Those of these folders that a version still names, and one more.
    pub(crate) fn with(&self, named: &[u64], number: u64, folder: &Folder) -> Self {
        let mut folders = self.clone();
        if folders.dir.is_none() {
            folders.in_memory.retain(|number, _| named.contains(number));
            folders.in_memory.insert(number, folder.clone());
        }
        folders
    }
}

/// The folder of the files that a version has made.
pub(crate) fn version_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("v{number}"))
}

/// What stands before the names of the files that a version has made.
pub(crate) fn version_label(number: u64) -> String {
    format!("v{number}/")
}

/// A thread that panicked cannot have left these maps half-changed, so poisoning is ignored.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
