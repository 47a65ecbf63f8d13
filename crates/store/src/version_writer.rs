//! Writing a new version: a whole one, or the old one and more ([`VersionWriter::build_on`]).
//!
//! Files are written into a folder that no manifest names, and made durable while the next ones are written. The
//! commit reads them back through the same code that readers use (which gives a [`FinishedVersion`]), then
//! replaces the manifest by one atomic rename. Before that instant the store is what it was; after it, the files that the new
//! version does not name are unlinked. A writer that dies leaves a folder that the next writer removes.
//!
//! A version built on another names the other's tables and layers of the dictionary and has tables and
//! a layer of its own; quad table and statistics are written anew, by merging what is new into what was.
//!
//! Memory: irregular quads (32 bytes each) until the commit, of a version built on another the new ones;
//! none if they come as sorted streams.

mod finished;
mod sorted_quads;

pub use finished::FinishedVersion;

use crate::dictionary::{self, DictionaryWriter};
use crate::dirty_rows::{self, DirtyRows};
use crate::error::StoreError;
use crate::folder::{Folder, Folders, Storage, version_path};
use crate::history::{self, VersionReason};
use crate::lock::StoreLock;
use crate::manifest::{self, Manifest};
use crate::matching::QuadIds;
use crate::quad_table::{self, QuadTable};
use crate::snapshot::{Snapshot, Version, extents_of};
use crate::statistics::{self, StoreStatistics};
use crate::table::{self, Table, TableDefinition, TableWriter, TypeClass};
use crate::writers::Registration;
use basalt_rdf::qualifiers::Qualifiers;
use basalt_rdf::{InlineForms, TermId};
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
    /// The version that this one is built on.
    base: Option<Snapshot>,
    /// The state that this version takes over.
    before: Option<Snapshot>,
    /// Why it is written, if that was told.
    reason: Option<VersionReason>,
    /// Layers of the base's dictionary that this version's layer takes in.
    layers_taken_in: usize,
    /// The number of the last commit that is in this version.
    commits: u64,
    lock: Option<Arc<StoreLock>>,
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
            Storage::Memory => Ok(Self::new(Folder::of_version_in_memory(1), 1, None, None)),
            Storage::Directory(dir) => Self::create_locked(Arc::new(StoreLock::acquire(&dir)?)),
        }
    }

    /// Starts a version of the store whose lock the caller holds.
    pub fn create_locked(lock: Arc<StoreLock>) -> Result<Self, StoreError> {
        let dir = lock.path().to_path_buf();
        let registration = Registration::new(&dir)?;
        let current = match Manifest::read(&dir) {
            Ok(manifest) => Some(manifest),
            Err(StoreError::NotAStore { .. }) => None,
            Err(error) => return Err(error),
        };
        // The writer before may have died between making its manifest current and making that
        // durable; until it is, what the manifest before names is no leftover.
        let disk = &**lock.disk();
        manifest::sync_folder_on(disk, &dir)?;
        manifest::remove_unnamed(disk, &dir, current.as_ref())?;
        let commits = current.as_ref().map_or(0, |manifest| manifest.commits);
        let current = current.map(|manifest| manifest.version);
        let number = current.unwrap_or(0) + 1;
        let path = version_path(&dir, number);
        fs::create_dir(&path).map_err(StoreError::io("create", &path))?;
        let folder = Folder::of_version(&dir, number);
        Ok(Self {
            registration: Some(registration),
            commits,
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
            base: None,
            before: None,
            reason: None,
            layers_taken_in: 0,
            commits: 0,
            lock,
            tables: 0,
            dictionary_begun: false,
            quads: Vec::new(),
            sorted: None,
            statistics: StoreStatistics::default(),
        }
    }

    /// Makes this version one that has everything of another, the current one of the store, besides
    /// what is written. Ordinals of new terms and rows go on where those of the other end. Comes before
    /// everything else.
    pub fn build_on(&mut self, base: &Snapshot) -> Result<(), StoreError> {
        if self.dictionary_begun || self.tables > 0 || !self.quads.is_empty() {
            return Err(StoreError::invalid(
                "what a version is built on is told first",
            ));
        }
        if base.has_delta() {
            return Err(StoreError::invalid(
                "a version with changes in memory is rewritten and not built on",
            ));
        }
        match &self.dir {
            Some((_, current)) if *current != Some(base.version()) => {
                let what = format!("version {} is not the current one", base.version());
                return Err(StoreError::invalid(what));
            }
            Some(_) => {}
            None => {
                self.number = base.version() + 1;
                self.folder = Folder::of_version_in_memory(self.number);
            }
        }
        self.base = Some(base.clone());
        Ok(())
    }

    /// Tells that this version has everything of a state, the newest of the store, the commits of
    /// the log included, whatever way it is written.
    pub fn takes_over(&mut self, state: &Snapshot) {
        self.commits = state.commit_number();
        self.before = Some(state.clone());
    }

    /// Tells why the version is written, for the history; without that it is a new store, or a rewrite of the state taken
    /// over that was asked for.
    pub fn written_for(&mut self, reason: VersionReason) {
        self.reason = Some(reason);
    }

    /// Starts the layer of the dictionary of a version that is built on another, once. It begins with
    /// the terms of so many of the youngest layers of the other, which it replaces; their ordinals stay.
    /// A version without new terms needs no layer.
    pub fn dictionary_layer(
        &mut self,
        layers_taken_in: usize,
    ) -> Result<DictionaryWriter, StoreError> {
        let mut writer = self.dictionary()?;
        if let Some(base) = &self.base {
            let layers = base.dictionary().layer_terms();
            let kept = layers.len().saturating_sub(layers_taken_in);
            let resources = layers[kept..].iter().map(|l| l.0).sum();
            let literals = layers[kept..].iter().map(|l| l.1).sum();
            writer.take_in(base.dictionary(), resources, literals)?;
            self.layers_taken_in = layers.len() - kept;
        }
        Ok(writer)
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

    /// Starts the next table. Its index is the number of tables begun before, those of the version that
    /// this one is built on included. Several tables can be written at the same time.
    pub fn begin_table(&mut self, definition: TableDefinition) -> Result<TableWriter, StoreError> {
        let writer = TableWriter::create(&self.folder, self.tables, definition)?;
        self.tables += 1;
        Ok(writer)
    }

    /// Adds irregular quads, in any order; repeats are dropped. The version that this one is built on
    /// has none of them.
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
    pub fn commit(self) -> Result<Snapshot, StoreError> {
        let mut finished = self.finish()?;
        finished.publish()?;
        Ok(finished.snapshot().clone())
    }

    /// Makes everything durable and reads it back; the store is still what it was.
    pub fn finish(mut self) -> Result<FinishedVersion, StoreError> {
        let needs_dictionary = self.base.is_none() || self.tables > 0;
        if needs_dictionary && !self.dictionary_begun {
            let base = self.base.as_ref();
            let forms = base.map(|base| base.parts().manifest.forms);
            let qualifiers = Qualifiers::of_forms(forms.unwrap_or_default());
            self.dictionary()?.finish(&qualifiers)?;
        }
        let unfinished = |i: &usize| !self.folder.has_finished(&table::file_name(*i));
        if let Some(i) = (0..self.tables).find(unfinished) {
            return Err(StoreError::invalid(format!("table {i} was not finished")));
        }
        let mut quads = std::mem::take(&mut self.quads);
        let base = self.base.take();
        if let Some(base) = &base {
            // What is built on damage would look whole.
            base.verify()?;
        }
        let old = base.as_ref().map(Snapshot::parts);
        if self.sorted.is_none() {
            quad_table::write(&self.folder, old.map(|old| &old.quad_table), &mut quads)?;
        }
        self.write_statistics(old, &quads)?;
        drop(quads);
        let forms = self.forms(base.as_ref())?;
        let manifest = self.manifest(base.as_ref(), forms);
        let mut version = Version::open(self.folders(old), manifest)?;
        let before = self.before.take();
        let reason = self.reason.take();
        let history = history::write(&self.folder, &version, before.as_ref(), reason)?;
        version.history = Some(history);
        // Once more: it lists the history now, which is about the version.
        version.manifest = self.manifest(base.as_ref(), forms);
        self.folder.wait_until_durable()?;
        if let Some(lock) = &self.lock {
            manifest::sync_folder(&version_path(lock.path(), self.number))?;
            manifest::sync_folder_on(&**lock.disk(), lock.path())?;
        }
        Ok(FinishedVersion::new(
            Snapshot::of(version),
            self.unpublished,
            self.registration,
            self.lock,
        ))
    }

    /// Which literals are inline in the version: those of the layer that was written, if there is one.
    fn forms(&self, base: Option<&Snapshot>) -> Result<InlineForms, StoreError> {
        let below = base.map(|base| base.parts().manifest.forms);
        let forms = match self.dictionary_begun {
            true => dictionary::forms_in(&self.folder)?,
            false => below.unwrap_or_default(),
        };
        let has_quads = base.is_some_and(|base| base.quad_count() > 0);
        if has_quads && Some(forms) != below {
            return Err(StoreError::invalid(
                "other literals are inline in the layer than in the version below",
            ));
        }
        Ok(forms)
    }

    fn manifest(&self, base: Option<&Snapshot>, forms: InlineForms) -> Manifest {
        Manifest {
            commits: self.commits,
            forms,
            ..self.manifest_of_files(base)
        }
    }

    fn manifest_of_files(&self, base: Option<&Snapshot>) -> Manifest {
        let files = self.folder.finished();
        let Some(base) = base else {
            return Manifest::whole(self.number, self.tables, files);
        };
        let old = &base.parts().manifest;
        let mut layers = old.dictionaries.clone();
        if self.dictionary_begun {
            layers.truncate(layers.len() - self.layers_taken_in);
            layers.push(self.number);
        }
        let counts = base.base();
        Manifest::added_to(old, self.number, layers, self.tables, files, counts)
    }

    fn folders(&self, old: Option<&Version>) -> Folders {
        match (&self.dir, old) {
            (Some((dir, _)), _) => Folders::on_disk(dir),
            (None, None) => Folders::in_memory([(self.number, self.folder.clone())]),
            (None, Some(old)) => {
                let named = old.manifest.folders();
                old.folders.with(&named, self.number, &self.folder)
            }
        }
    }

    /// The tables that were begun, which must be finished.
    fn open_tables(&self) -> Result<Vec<Table>, StoreError> {
        (0..self.tables)
            .map(|i| Table::open(&self.folder, i))
            .collect()
    }

    fn write_statistics(
        &mut self,
        old: Option<&Version>,
        quads: &[QuadIds],
    ) -> Result<(), StoreError> {
        let new = self.open_tables()?;
        let known = old.map_or(&[][..], |old| &old.tables);
        let tables: Vec<&Table> = known.iter().chain(&new).collect();
        let extents = extents_of(&tables)?;
        let quad_table = QuadTable::open(&self.folder)?;
        let mut statistics = std::mem::take(&mut self.statistics);
        let mut dirty = match self.sorted.take() {
            Some(dirty) => dirty,
            None => dirty_rows::of_quads(&extents, tables.len(), quads),
        };
        let mut links = Vec::new();
        match old {
            None => statistics.compute_totals(&tables, &quad_table)?,
            Some(old) => {
                check_new_extents(old, &new)?;
                dirty_rows::add(&mut dirty, &old.tables);
                links = statistics::known_links(&old.tables);
                statistics.add_sets(old, &tables);
                statistics.add_totals(old, &tables, &quad_table, quads);
            }
        }
        statistics.normalise();
        let new: Vec<&Table> = new.iter().collect();
        links.extend(statistics::count_links(&new, &extents));
        statistics::write(&self.folder, &statistics, &dirty, &links)
    }
}

/// Rows of a new table are resources that the old version does not know, so that what is known of the
/// links of old tables stays true.
fn check_new_extents(old: &Version, new: &[Table]) -> Result<(), StoreError> {
    let known = old.dictionary.resource_count();
    match new.iter().find(|table| table.first_ordinal() < known) {
        Some(table) => Err(StoreError::invalid(format!(
            "table `{}` has rows that were known before",
            table.name()
        ))),
        None => Ok(()),
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
