//! Snapshots: an open version and the changes made since, shared by all who read it.
//!
//! Opening maps the files, verifies their directories and metadata, and reads the small parts
//! into memory; contents are read from the maps on demand. A snapshot stays valid when a later
//! version replaces its own, even though files that the later one does not name are unlinked then. Changes
//! are told in `docs/delta.md`; a snapshot has those up to one commit.

use crate::characteristic_sets::SetsByPredicate;
use crate::check::{self, CheckDepth, CheckReport};
use crate::column_pairs::{ColumnPairs, PredicateCells};
use crate::counting::{CountCache, GraphSet, PredicateGraph};
use crate::delta::{self, BlockScan, Delta, StopCheck};
use crate::dictionary::{Dictionary, TermCounts};
use crate::error::StoreError;
use crate::extents::Extents;
use crate::folder::{Folder, Folders, Storage};
use crate::history::{self, VersionRecord};
use crate::irregular_predicates::IrregularPredicates;
use crate::link_sources::LinkSources;
use crate::log::LogContents;
use crate::manifest::{self, BaseCounts, Manifest};
use crate::matching::{QuadIds, QuadPattern};
use crate::neighbours::Direction;
use crate::predicate_tables::PredicateTables;
use crate::quad_table::QuadTable;
use crate::rare_sets::KnownRareSets;
use crate::scan_blocks::{Predicates, QuadBlock};
use crate::section_file::{FileKind, SectionFile};
use crate::snapshot_mark::SnapshotMark;
use crate::statistics::{StatisticsFile, StoreStatistics};
use crate::storage_report::StorageReport;
use crate::table::Table;
use crate::version_writer::VersionWriter;
use basalt_rdf::TermId;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An open version.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) manifest: Manifest,
    pub(crate) dictionary: Dictionary,
    pub(crate) tables: Vec<Table>,
    pub(crate) extents: Extents,
    pub(crate) quad_table: QuadTable,
    pub(crate) statistics: StoreStatistics,
    pub(crate) statistics_file: SectionFile,
    /// `None` in versions of programs that knew no history.
    pub(crate) history: Option<SectionFile>,
    pub(crate) folders: Folders,
    pub(crate) counts: CountCache,
    pub(crate) irregular_predicates: IrregularPredicates,
    pub(crate) link_sources: LinkSources,
    pub(crate) predicate_tables: PredicateTables,
    /// The characteristic sets by predicate.
    pub(crate) sets_by_predicate: SetsByPredicate,
    pub(crate) rare_sets: KnownRareSets,
    pub(crate) column_pairs: ColumnPairs,
    /// Whether the checksums of all files are known to be right; held while they are verified.
    is_verified: Mutex<bool>,
}

impl Version {
    /// Opens the files that a manifest lists.
    pub(crate) fn open(folders: Folders, manifest: Manifest) -> Result<Self, StoreError> {
        let layers: Vec<Folder> = manifest
            .dictionaries
            .iter()
            .map(|&number| folders.get(number))
            .collect();
        let dictionary = Dictionary::open_layers(&layers)?;
        if dictionary.qualifiers().forms() != manifest.forms {
            return Err(StoreError::corrupt(
                manifest::NAME,
                0,
                "its format and the dictionary differ about which literals are inline",
            ));
        }
        let mut tables = manifest
            .tables
            .iter()
            .map(|&(number, i)| Table::open(&folders.get(number), i))
            .collect::<Result<Vec<_>, _>>()?;
        let folder = folders.get(manifest.version);
        let quad_table = QuadTable::open(&folder)?;
        let StatisticsFile {
            file: statistics_file,
            statistics,
            dirty,
            links,
        } = StatisticsFile::open(&folder)?;
        if dirty.len() != tables.len() || links.len() != tables.len() {
            return Err(statistics_file.corrupt(0, "it is about another number of tables"));
        }
        let extents = extents_of(&tables.iter().collect::<Vec<_>>())?;
        for (table, (dirty, links)) in tables.iter_mut().zip(dirty.into_iter().zip(links)) {
            table.attach(dirty, links);
        }
        let history = match manifest.lists(&folder.full_name(history::FILE_NAME)) {
            true => Some(folder.open(history::FILE_NAME, FileKind::History)?),
            false => None,
        };
        let version = Self {
            manifest,
            dictionary,
            tables,
            extents,
            quad_table,
            statistics,
            statistics_file,
            history,
            folders,
            counts: CountCache::default(),
            irregular_predicates: IrregularPredicates::default(),
            link_sources: LinkSources::default(),
            predicate_tables: PredicateTables::default(),
            sets_by_predicate: SetsByPredicate::default(),
            rare_sets: KnownRareSets::default(),
            column_pairs: ColumnPairs::default(),
            is_verified: Mutex::new(false),
        };
        version.check_listed_files()?;
        Ok(version)
    }

    /// Every file.
    pub(crate) fn files(&self) -> Vec<&SectionFile> {
        let tables = self.tables.iter().map(Table::file);
        tables
            .chain([self.quad_table.file(), &self.statistics_file])
            .chain(self.dictionary.files())
            .chain(&self.history)
            .collect()
    }

    /// Verifies every section of every file, those of at least so many bytes on a thread each: a damaged store is
    /// refused before it can answer wrongly. Cost: one read of all files, 5 to 10 GB/s a core once
    /// they are cached.
    fn verify_checksums(&self, own_thread_bytes: u64) -> Result<(), StoreError> {
        let (large, small): (Vec<_>, Vec<_>) = self
            .files()
            .into_iter()
            .partition(|file| file.file_bytes() >= own_thread_bytes);
        std::thread::scope(|scope| {
            let started: Vec<_> = large
                .into_iter()
                .map(|file| scope.spawn(|| file.verify()))
                .collect();
            let small = small.into_iter().try_for_each(SectionFile::verify);
            started.into_iter().fold(small, |result, thread| {
                result.and(thread.join().expect("verifying does not panic"))
            })
        })
    }

    /// Verifies what was not verified yet, as above. Who calls while another thread does it waits.
    fn verify(&self, own_thread_bytes: u64) -> Result<(), StoreError> {
        let mut is_verified = self.lock_verified();
        if !*is_verified {
            self.verify_checksums(own_thread_bytes)?;
            *is_verified = true;
        }
        Ok(())
    }

    fn lock_verified(&self) -> MutexGuard<'_, bool> {
        self.is_verified
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Confirms that the files are those that the manifest lists.
    fn check_listed_files(&self) -> Result<(), StoreError> {
        let files = self.manifest.files.iter();
        let by_name: HashMap<&str, _> = files.map(|f| (f.name.as_str(), f)).collect();
        for file in self.files() {
            let Some(listed) = by_name.get(file.name()) else {
                return Err(file.corrupt(0, "the manifest does not list this file"));
            };
            if (listed.bytes, listed.checksum) != (file.file_bytes(), file.directory_checksum()) {
                return Err(file.corrupt(0, "this is not the file that the manifest lists"));
            }
        }
        Ok(())
    }
}

/// Files from this size on are verified on a thread of their own: below, starting one costs more.
const OWN_THREAD_BYTES: u64 = 4 << 20;

/// The extents of tables; overlap is corruption.
pub(crate) fn extents_of(tables: &[&Table]) -> Result<Extents, StoreError> {
    let extents = tables.iter().map(|t| (t.first_ordinal(), t.rows()));
    Extents::new(extents).map_err(|(a, b)| {
        let what = format!("its extent overlaps that of `{}`", tables[a].file().name());
        tables[b].file().corrupt(0, what)
    })
}

/// An immutable view of a store; cheap to clone.
#[derive(Clone, Debug)]
pub struct Snapshot {
    version: Arc<Version>,
    delta: Option<Arc<Delta>>,
    /// The number of the last commit.
    commit_number: u64,
    /// The log that it was read from, unless it has changed since.
    read_from: Option<LogContents>,
}

impl Snapshot {
    /// A store without quads, in memory.
    pub fn empty() -> Self {
        VersionWriter::create(Storage::Memory)
            .and_then(VersionWriter::commit)
            .expect("an empty version in memory meets no obstacle")
    }

    /// A version whose files are known to be right.
    pub(crate) fn of(version: Version) -> Self {
        *version.lock_verified() = true;
        Self::of_unverified(version)
    }

    /// A version whose files may be damaged.
    pub(crate) fn of_unverified(version: Version) -> Self {
        Self {
            commit_number: version.manifest.commits,
            version: Arc::new(version),
            delta: None,
            read_from: None,
        }
    }

    /// The same version with these changes.
    pub(crate) fn with_delta(&self, delta: Delta) -> Self {
        Self {
            version: Arc::clone(&self.version),
            delta: Some(Arc::new(delta)),
            commit_number: self.commit_number,
            read_from: None,
        }
    }

    /// The number of the last commit of the store that this view has; 0 before the first.
    pub fn commit_number(&self) -> u64 {
        self.commit_number
    }

    /// What tells this state from others without keeping it.
    pub fn mark(&self) -> SnapshotMark {
        SnapshotMark::new(&self.version, self.delta.as_ref())
    }

    /// The same view as the state after the commit with this number.
    pub fn with_commit_number(&self, commit_number: u64) -> Self {
        Self {
            commit_number,
            read_from: None,
            ..self.clone()
        }
    }

    /// The same view, known to be what a log with these contents says.
    pub(crate) fn read_from(self, contents: LogContents) -> Self {
        Self {
            read_from: Some(contents),
            ..self
        }
    }

    /// Whether this view is what a log of its version with these contents says, and no other of its open version has added terms.
    pub(crate) fn is_read_from(&self, digest: u64) -> bool {
        let contents = LogContents {
            digest,
            terms: self.term_counts(),
        };
        self.read_from == Some(contents)
    }

    /// What lists the files of the version.
    pub(crate) fn manifest(&self) -> &Manifest {
        &self.version.manifest
    }

    /// All terms of the version's files.
    pub(crate) fn version_term_counts(&self) -> TermCounts {
        self.version.dictionary.visible()
    }

    /// Whether neither this view nor any other of its open version has changed anything, terms included.
    pub(crate) fn is_untouched(&self) -> bool {
        self.delta.is_none() && self.term_counts() == self.version_term_counts()
    }

    /// Whether the files of the version are known to be right; waits for who is verifying them.
    pub(crate) fn is_verified(&self) -> bool {
        *self.version.lock_verified()
    }

    /// Verifies the checksums of all files, unless that was done or is being done; waits for that.
    pub fn verify(&self) -> Result<(), StoreError> {
        self.version.verify(OWN_THREAD_BYTES)
    }

    /// Begins to verify on one other thread, unless that was done; [`Self::verify`] tells how it ended.
    pub fn begin_to_verify(&self) {
        if !*self.version.lock_verified() {
            let version = Arc::clone(&self.version);
            std::thread::spawn(move || {
                // Whoever wants to know asks again, and finds the same damage.
                let _ = version.verify(u64::MAX);
            });
        }
    }

    /// The open version.
    pub(crate) fn parts(&self) -> &Version {
        &self.version
    }

    /// The changes since.
    pub(crate) fn delta(&self) -> Option<&Delta> {
        self.delta.as_deref()
    }

    /// The terms.
    pub fn dictionary(&self) -> &Dictionary {
        match &self.delta {
            Some(delta) => delta.dictionary(),
            None => &self.version.dictionary,
        }
    }

    /// The tables of the version. Their cells tell of clean rows all there is, of dirty rows
    /// ([`Self::add_dirty_rows`]) neither all nor only what is there.
    pub fn tables(&self) -> &[Table] {
        &self.version.tables
    }

    /// Table and row of a resource, if it is a row.
    #[inline]
    pub fn row_of(&self, id: TermId) -> Option<(usize, u32)> {
        self.version.extents.row_of(id)
    }

    /// [`Self::row_of`] for ids that mostly are rows of the same table; `near` is 0 at first, and left to this between them.
    #[inline]
    pub fn row_of_near(&self, id: TermId, near: &mut usize) -> Option<(usize, u32)> {
        self.version.extents.row_of_near(id, near)
    }

    /// The extent directory.
    pub fn extents(&self) -> &Extents {
        &self.version.extents
    }

    /// What is known of the data of the version; changes since are not counted.
    pub fn statistics(&self) -> &StoreStatistics {
        &self.version.statistics
    }

    /// How many partners the values of some cells have in others: what `work_out` says, which is asked once for each
    /// pair of a version.
    pub fn partners(
        &self,
        from: PredicateCells,
        into: PredicateCells,
        work_out: impl FnOnce() -> Option<f64>,
    ) -> Option<f64> {
        self.version.column_pairs.partners((from, into), work_out)
    }

    /// The named graphs with the number of their quads, ascending by id.
    pub fn named_graphs(&self) -> &[(TermId, u64)] {
        let of_version = self.version.statistics.named_graphs();
        match &self.delta {
            Some(delta) => delta::named_graphs(of_version, delta),
            None => of_version,
        }
    }

    /// How many named graphs there are.
    pub fn named_graph_count(&self) -> u64 {
        let of_version = self.version.statistics.named_graphs().len() as u64;
        match &self.delta {
            Some(delta) => delta.named_graph_count(of_version),
            None => of_version,
        }
    }

    /// All quads.
    pub fn quad_count(&self) -> u64 {
        let of_version = self.version.statistics.quad_count;
        match &self.delta {
            Some(delta) => delta.quad_count(of_version),
            None => of_version,
        }
    }

    /// Number of the version; 0 never.
    pub fn version(&self) -> u64 {
        self.version.manifest.version
    }

    /// The number of the version that is current in a store folder, if there is a store.
    pub fn current_version(dir: &Path) -> Result<Option<u64>, StoreError> {
        match Manifest::read(dir) {
            Ok(manifest) => Ok(Some(manifest.version)),
            Err(StoreError::NotAStore { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether ids mean the same in both views: they are of one open version.
    pub fn shares_version_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.version, &other.version)
    }

    /// Whether the version is that of a store in this folder.
    pub fn is_in(&self, dir: &Path) -> bool {
        self.version.folders.dir() == Some(dir)
    }

    /// What the store held when it was last written as a whole; loads since then were added to it.
    pub fn base(&self) -> BaseCounts {
        self.version.manifest.base.unwrap_or(BaseCounts {
            quads: self.quad_count(),
            irregular: self.quad_table().quad_count(),
            tables: self.tables().len(),
        })
    }

    /// The number of loads whose tables the version has.
    pub fn table_layers(&self) -> usize {
        let mut folders: Vec<u64> = self.version.manifest.tables.iter().map(|t| t.0).collect();
        folders.sort_unstable();
        folders.dedup();
        folders.len()
    }

    /// Bytes of all files of the version; changes since are in none of them.
    pub fn file_bytes(&self) -> u64 {
        self.version.manifest.files.iter().map(|f| f.bytes).sum()
    }

    /// What is remembered of the versions up to this one, the oldest first; those before the first that knew a history
    /// are not there.
    pub fn history(&self) -> Result<Vec<VersionRecord>, StoreError> {
        match &self.version.history {
            Some(file) => history::read(file),
            None => Ok(Vec::new()),
        }
    }

    /// What every part of the files takes.
    pub fn storage_report(&self) -> StorageReport {
        StorageReport::of(&self.version)
    }

    /// Visits every quad that matches, each exactly once, in no particular order.
    pub fn matching(
        &self,
        pattern: &QuadPattern,
        visit: &mut dyn FnMut(QuadIds) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        delta::matching(&self.version, self.delta(), pattern, None, visit)
    }

    /// As [`Self::matching`], but places that have no quads in these graphs are passed over. Quads of other
    /// graphs may be visited nevertheless.
    pub fn matching_among(
        &self,
        pattern: &QuadPattern,
        graphs: &GraphSet,
        visit: &mut dyn FnMut(QuadIds) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        delta::matching(&self.version, self.delta(), pattern, Some(graphs), visit)
    }

    /// Visits the quads of these graphs by blocks, those of some predicates, each exactly once.
    pub fn scan_blocks(
        &self,
        predicates: Predicates<'_>,
        graphs: &GraphSet,
        visit: &mut dyn FnMut(QuadBlock<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.block_scan(graphs).quads(predicates, visit)
    }

    /// As [`Self::scan_blocks`], the triples of the merge of the graphs: of quads that differ in their graph only one is there.
    pub fn scan_merged_blocks(
        &self,
        predicates: Predicates<'_>,
        graphs: &GraphSet,
        visit: &mut dyn FnMut(QuadBlock<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.block_scan(graphs).triples(predicates, visit)
    }

    /// How many quads of these graphs more there are than triples of their merge, of one predicate or of all; `check` is asked for each block. Cost: reads what does
    /// not stand in cells.
    pub fn repeats_in_merge<E: From<StoreError>>(
        &self,
        predicate: Option<TermId>,
        graphs: &GraphSet,
        check: StopCheck<'_, E>,
    ) -> Result<u64, E> {
        let predicates = predicate.map_or(Predicates::All, Predicates::One);
        self.block_scan(graphs).repeats(predicates, check)
    }

    fn block_scan<'a>(&'a self, graphs: &'a GraphSet) -> BlockScan<'a> {
        BlockScan {
            version: &self.version,
            delta: self.delta(),
            graphs,
        }
    }

    /// The quads of a predicate in these graphs by graph, ascending.
    pub fn predicate_graphs(
        &self,
        predicate: TermId,
        graphs: &GraphSet,
    ) -> Result<Cow<'_, [PredicateGraph]>, StoreError> {
        delta::predicate_graphs(&self.version, self.delta(), predicate, graphs)
    }

    /// How many quads some graphs have together.
    pub fn quads_in(&self, graphs: &GraphSet) -> u64 {
        delta::quads_in(&self.version, self.delta(), graphs)
    }

    /// Quads with this object by predicate (this one, or any) and graph, ascending by both.
    pub fn object_graphs(
        &self,
        predicate: Option<TermId>,
        object: TermId,
    ) -> Result<Vec<PredicateGraph>, StoreError> {
        delta::object_graphs(&self.version, self.delta(), predicate, object)
    }

    /// The objects of a predicate in these graphs with the number of their quads, ascending.
    pub fn object_counts(
        &self,
        predicate: TermId,
        graphs: &GraphSet,
    ) -> Result<Vec<(TermId, u64)>, StoreError> {
        delta::object_counts(&self.version, self.delta(), predicate, graphs)
    }

    /// Counts the quads of a predicate in these graphs that have each of some objects, which may repeat.
    pub fn count_objects(
        &self,
        predicate: TermId,
        graphs: &GraphSet,
        objects: &[u64],
    ) -> Result<Vec<u64>, StoreError> {
        delta::count_objects(&self.version, self.delta(), predicate, graphs, objects)
    }

    /// The number of subjects that have a quad of the predicate (or of any) in these graphs.
    pub fn distinct_subjects(
        &self,
        predicate: Option<TermId>,
        graphs: &GraphSet,
    ) -> Result<u64, StoreError> {
        delta::distinct_subjects(&self.version, self.delta(), predicate, graphs)
    }

    /// Visits the quads of a predicate at many nodes: their subjects (objects, backwards), whose ids
    /// ascend without repeats. The visitor gets the position of the node in the list, the other
    /// end and the graph, in no particular order.
    pub fn neighbours(
        &self,
        predicate: TermId,
        direction: Direction,
        nodes: &[u64],
        visit: &mut dyn FnMut(usize, TermId, TermId),
    ) -> Result<(), StoreError> {
        delta::neighbours(
            &self.version,
            self.delta(),
            predicate,
            direction,
            nodes,
            visit,
        )
    }

    /// Verifies the version: that its files are whole, and if `deep` is wanted every checksum
    /// and every invariant, those of the changes included, which reads everything.
    pub fn check(&self, depth: CheckDepth) -> Result<CheckReport, StoreError> {
        check::check(&self.version, self.delta(), depth)
    }
}
