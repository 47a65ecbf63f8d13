//! Writing a whole new version.
//!
//! Files are written into a folder that no manifest names, and made durable one by one. The
//! commit reads them back through the same code that readers use, then replaces the manifest by
//! one atomic rename. Before that instant the store is what it was; after it, the old version's
//! files are unlinked. A writer that dies leaves a folder that the next writer removes.
//!
//! Memory: irregular quads (32 bytes each) until the commit, unless they come as sorted streams.

mod sorted_quads;

use crate::dictionary::DictionaryWriter;
use crate::dirty_rows::{self, DirtyRows};
use crate::error::StoreError;
use crate::folder::{Folder, Storage};
use crate::lock::StoreLock;
use crate::manifest::{self, Manifest, version_path};
use crate::matching::QuadIds;
use crate::quad_table::{self, QuadTable};
use crate::snapshot::{Snapshot, Version, extents_of};
use crate::statistics::{self, StoreStatistics};
use crate::table::{self, Table, TableDefinition, TableWriter, TypeClass};
use crate::writers::Registration;
use basalt_rdf::TermId;
use basalt_rdf::qualifiers::Qualifiers;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

/// A folder of unpublished files, removed when dropped.
#[derive(Debug)]
struct Unpublished {
    path: Option<PathBuf>,
}

impl Drop for Unpublished {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // What cannot be removed now is removed by the next writer.
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// Writes one version; nothing of it is visible before [`Self::commit`].
#[derive(Debug)]
pub struct VersionWriter {
    unpublished: Unpublished,
    /// Of a writer on disk.
    registration: Option<Registration>,
    folder: Folder,
    number: u64,
    /// The store folder and its current version, if on disk.
    dir: Option<(PathBuf, Option<u64>)>,
    _lock: Option<Arc<StoreLock>>,
    tables: usize,
    dictionary_begun: bool,
    quads: Vec<QuadIds>,
    /// What was noted of irregular quads that are written already.
    sorted: Option<DirtyRows>,
    statistics: StoreStatistics,
}

impl VersionWriter {
    /// Starts a version; takes the lock of the store folder and removes what dead writers left.
    pub fn create(storage: Storage) -> Result<Self, StoreError> {
        match storage {
            Storage::Memory => Ok(Self::new(Folder::memory(), 1, None, None)),
            Storage::Directory(dir) => Self::create_locked(Arc::new(StoreLock::acquire(&dir)?)),
        }
    }

    /// Starts a version of the store whose lock the caller holds.
    pub fn create_locked(lock: Arc<StoreLock>) -> Result<Self, StoreError> {
        let dir = lock.path().to_path_buf();
        let registration = Registration::new(&dir)?;
        let current = match Manifest::read(&dir) {
            Ok(manifest) => Some(manifest.version),
            Err(StoreError::NotAStore { .. }) => None,
            Err(error) => return Err(error),
        };
        // The writer before may have died between making its manifest current and making that
        // durable; until it is, what the manifest before names is no leftover.
        manifest::sync_folder(&dir)?;
        manifest::remove_leftovers(&dir, current)?;
        let number = current.unwrap_or(0) + 1;
        let path = version_path(&dir, number);
        fs::create_dir(&path).map_err(StoreError::io("create", &path))?;
        let folder = Folder::directory(&path);
        Ok(Self {
            registration: Some(registration),
            ..Self::new(folder, number, Some((dir, current)), Some(lock))
        })
    }

    fn new(
        folder: Folder,
        number: u64,
        dir: Option<(PathBuf, Option<u64>)>,
        lock: Option<Arc<StoreLock>>,
    ) -> Self {
        Self {
            unpublished: Unpublished {
                path: folder.path().map(Into::into),
            },
            registration: None,
            folder,
            number,
            dir,
            _lock: lock,
            tables: 0,
            dictionary_begun: false,
            quads: Vec::new(),
            sorted: None,
            statistics: StoreStatistics::default(),
        }
    }

    /// Starts the dictionary, once. It can be written while tables are. A version committed
    /// without one has an empty dictionary.
    pub fn dictionary(&mut self) -> Result<DictionaryWriter, StoreError> {
        if self.dictionary_begun {
            return Err(StoreError::invalid("a version has one dictionary"));
        }
        self.dictionary_begun = true;
        DictionaryWriter::create(&self.folder)
    }

    /// Starts the next table. Its index is the number of tables begun before. Several tables can
    /// be written at the same time.
    pub fn begin_table(&mut self, definition: TableDefinition) -> Result<TableWriter, StoreError> {
        let writer = TableWriter::create(&self.folder, self.tables, definition)?;
        self.tables += 1;
        Ok(writer)
    }

    /// Adds irregular quads, in any order; repeats are dropped.
    pub fn irregular_quads(&mut self, mut quads: Vec<QuadIds>) -> Result<(), StoreError> {
        if self.sorted.is_some() {
            return Err(StoreError::invalid(
                "the irregular quads are written already",
            ));
        }
        quads.iter().try_for_each(check_quad)?;
        if self.quads.is_empty() {
            self.quads = quads;
        } else {
            self.quads.append(&mut quads);
        }
        Ok(())
    }

    /// Gives the statistics that only the loader knows; totals are computed.
    pub fn statistics(&mut self, statistics: StoreStatistics) {
        self.statistics = statistics;
    }

    /// Makes everything durable, then current.
    pub fn commit(mut self) -> Result<Snapshot, StoreError> {
        if !self.dictionary_begun {
            self.dictionary()?.finish(&Qualifiers::new())?;
        }
        let finished = self.folder.finished();
        if let Some(i) = (0..self.tables).find(|&i| !finished.contains_key(&table::file_name(i))) {
            return Err(StoreError::invalid(format!("table {i} was not finished")));
        }
        if self.sorted.is_none() {
            let mut quads = std::mem::take(&mut self.quads);
            quad_table::write(&self.folder, &mut quads)?;
            let tables = self.open_tables()?;
            let extents = extents_of(&tables)?;
            self.sorted = Some(dirty_rows::of_quads(&extents, tables.len(), &quads));
        }
        self.write_statistics()?;
        let manifest = Manifest::new(self.number, self.tables, self.folder.finished());
        let version = Version::open(self.folder.clone(), manifest)?;
        if let (Some((dir, previous)), Some(registration)) = (&self.dir, &self.registration) {
            manifest::sync_folder(&version_path(dir, self.number))?;
            manifest::sync_folder(dir)?;
            registration.publish(|| version.manifest.publish(dir))?;
            // From here on the version is current, whatever goes wrong.
            self.unpublished.path = None;
            manifest::sync_folder(dir)?;
            if let Some(previous) = previous {
                // What cannot be removed now is removed by the next writer.
                let _ = fs::remove_dir_all(version_path(dir, *previous));
            }
        }
        Ok(Snapshot::of(version))
    }

    fn open_tables(&self) -> Result<Vec<Table>, StoreError> {
        (0..self.tables)
            .map(|i| Table::open(&self.folder, i))
            .collect()
    }

    fn write_statistics(&mut self) -> Result<(), StoreError> {
        let tables = self.open_tables()?;
        let extents = extents_of(&tables)?;
        let quad_table = QuadTable::open(&self.folder)?;
        let mut statistics = std::mem::take(&mut self.statistics);
        statistics.normalise();
        statistics.compute_totals(&tables, &quad_table)?;
        let dirty = self.sorted.take().unwrap_or_default();
        let links = statistics::count_links(&tables, &extents);
        statistics::write(&self.folder, &statistics, &dirty, &links)
    }
}

/// Refuses a quad that cannot be stored.
fn check_quad(quad: &QuadIds) -> Result<(), StoreError> {
    let is_graph = quad.graph == TermId::DEFAULT_GRAPH || quad.graph.is_resource();
    let is_quad = quad.subject.is_resource()
        && quad.predicate.is_resource()
        && TypeClass::ANY.takes(quad.object)
        && is_graph;
    match is_quad {
        true => Ok(()),
        false => Err(StoreError::invalid(format!("{quad:?} cannot be stored"))),
    }
}
