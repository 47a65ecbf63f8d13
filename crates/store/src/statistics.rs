//! Statistics of a version, and the file that keeps them with dirty rows and links.
//!
//! Characteristic sets come from the loader. Totals are computed when a version is committed,
//! from what was really written, so they are exact. Cost: everything here is in memory while a
//! version is open; characteristic sets are bounded by [`CHARACTERISTIC_SETS_MAX`].

use crate::byte_stream::{ByteReader, ByteWriter};
use crate::dirty_rows::{self, DirtyRows};
use crate::error::StoreError;
use crate::extents::Extents;
use crate::folder::Folder;
use crate::matching::QuadIds;
use crate::quad_table::QuadTable;
use crate::section_file::{FileKind, SectionFile};
use crate::snapshot::Version;
use crate::table::Table;
use basalt_rdf::TermId;
use std::collections::{BTreeMap, HashMap};

/// The most characteristic sets kept: enough for the error of estimates to stay small on very
/// diverse data (Neumann and Moerkotte, Characteristic sets, ICDE 2011, section 5).
pub const CHARACTERISTIC_SETS_MAX: usize = 10_000;
/// The file of statistics.
pub(crate) const FILE_NAME: &str = "statistics";

/// The subjects that have exactly the same predicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CharacteristicSet {
    /// The predicates, ascending.
    pub predicates: Vec<TermId>,
    /// Number of subjects.
    pub subjects: u64,
    /// Number of values of each predicate, over all subjects.
    pub values: Vec<u64>,
    /// The table whose rows the subjects are.
    pub table: Option<usize>,
}

/// The quads of one predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredicateTotal {
    /// The predicate.
    pub predicate: TermId,
    /// Quads in cells of tables.
    pub in_cells: u64,
    /// Irregular quads.
    pub irregular: u64,
}

impl PredicateTotal {
    /// All quads of the predicate.
    pub fn quads(&self) -> u64 {
        self.in_cells + self.irregular
    }
}

/// Statistics of a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStatistics {
    /// The characteristic sets with most subjects first. Given by the loader.
    pub characteristic_sets: Vec<CharacteristicSet>,
    /// Subjects of all characteristic sets, also of those not kept. Given by the loader.
    pub subject_count: u64,
    /// All quads. Computed at commit.
    pub quad_count: u64,
    /// Every predicate, ascending. Computed at commit.
    pub predicates: Vec<PredicateTotal>,
    /// Every graph that has quads, the default graph included, ascending. Computed at commit.
    pub graphs: Vec<(TermId, u64)>,
}

impl StoreStatistics {
    /// The quads of a predicate, if it has any.
    pub fn predicate(&self, predicate: TermId) -> Option<PredicateTotal> {
        let i = self
            .predicates
            .binary_search_by_key(&predicate, |p| p.predicate)
            .ok()?;
        Some(self.predicates[i])
    }

    /// The quads of a graph.
    pub fn graph(&self, graph: TermId) -> u64 {
        let found = self
            .graphs
            .binary_search_by_key(&graph, |(graph, _)| *graph);
        found.map_or(0, |idx| self.graphs[idx].1)
    }

    /// The named graphs: the id of the default graph is greater than all others.
    pub(crate) fn named_graphs(&self) -> &[(TermId, u64)] {
        match self.graphs.split_last() {
            Some(((TermId::DEFAULT_GRAPH, _), named)) => named,
            _ => &self.graphs,
        }
    }

    /// Keeps the most frequent sets, in an order that does not depend on the order given.
    pub(crate) fn normalise(&mut self) {
        self.characteristic_sets.sort_by(|a, b| {
            let by_subjects = b.subjects.cmp(&a.subjects);
            by_subjects
                .then_with(|| a.predicates.cmp(&b.predicates))
                .then_with(|| a.table.cmp(&b.table))
        });
        self.characteristic_sets.truncate(CHARACTERISTIC_SETS_MAX);
    }

    /// Computes the totals from the parts of a version; reads the graphs of all irregular quads.
    pub(crate) fn compute_totals(
        &mut self,
        tables: &[&Table],
        quads: &QuadTable,
    ) -> Result<(), StoreError> {
        let mut graphs: BTreeMap<TermId, u64> = BTreeMap::new();
        for (predicate, _) in quads.predicates() {
            quads.graphs_of(predicate, &mut |graph, count| {
                *graphs.entry(graph).or_default() += count;
            })?;
        }
        self.set_totals(tables, quads, graphs);
        Ok(())
    }

    /// Computes the totals of a version that was made from another by adding tables, which come last,
    /// and these irregular quads. Reads nothing of the old data.
    pub(crate) fn add_totals(
        &mut self,
        old: &Version,
        tables: &[&Table],
        quads: &QuadTable,
        added: &[QuadIds],
    ) {
        let mut graphs: BTreeMap<TermId, u64> = old.statistics.graphs.iter().copied().collect();
        for &(graph, in_cells) in old.tables.iter().flat_map(Table::graph_totals) {
            if let Some(count) = graphs.get_mut(&graph) {
                *count = count.saturating_sub(in_cells);
            }
        }
        for run in added.chunk_by(|a, b| a.graph == b.graph) {
            *graphs.entry(run[0].graph).or_default() += run.len() as u64;
        }
        self.set_totals(tables, quads, graphs);
    }

    /// Sets the totals; `graphs` are those of the irregular quads.
    fn set_totals(
        &mut self,
        tables: &[&Table],
        quads: &QuadTable,
        mut graphs: BTreeMap<TermId, u64>,
    ) {
        let mut predicates: BTreeMap<TermId, (u64, u64)> = BTreeMap::new();
        for table in tables {
            for columns in table.predicate_columns() {
                predicates.entry(columns.predicate).or_default().0 += columns.statistics.values;
            }
            for &(graph, count) in table.graph_totals() {
                *graphs.entry(graph).or_default() += count;
            }
        }
        for (predicate, counts) in quads.predicates() {
            predicates.entry(predicate).or_default().1 += counts.quads;
        }
        self.predicates = predicates
            .into_iter()
            .filter(|(_, (in_cells, irregular))| in_cells + irregular > 0)
            .map(|(predicate, (in_cells, irregular))| PredicateTotal {
                predicate,
                in_cells,
                irregular,
            })
            .collect();
        self.graphs = graphs.into_iter().filter(|&(_, quads)| quads > 0).collect();
        self.quad_count = self.predicates.iter().map(PredicateTotal::quads).sum();
    }

    /// Adds the characteristic sets of the version that is added to; those of equal predicates and of
    /// tables of one name become one. Subjects that only get more predicates stay in their old set.
    pub(crate) fn add_sets(&mut self, old: &Version, tables: &[&Table]) {
        let name = |set: &CharacteristicSet| set.table.and_then(|t| Some(tables.get(t)?.name()));
        let new = std::mem::take(&mut self.characteristic_sets);
        let mut sets = old.statistics.characteristic_sets.clone();
        let mut index: HashMap<(Vec<TermId>, Option<&str>), usize> = HashMap::new();
        for (at, set) in sets.iter().enumerate() {
            index
                .entry((set.predicates.clone(), name(set)))
                .or_insert(at);
        }
        for set in new {
            match index.get(&(set.predicates.clone(), name(&set))) {
                Some(&at) => {
                    let known = &mut sets[at];
                    known.subjects += set.subjects;
                    for (sum, values) in known.values.iter_mut().zip(&set.values) {
                        *sum += values;
                    }
                }
                None => sets.push(set),
            }
        }
        self.characteristic_sets = sets;
        self.subject_count += old.statistics.subject_count;
    }
}

/// For each table and predicate, how many values are rows of which table.
pub(crate) type Links = Vec<Vec<(TermId, Vec<(usize, u64)>)>>;

/// The links of tables as they were counted before.
pub(crate) fn known_links(tables: &[Table]) -> Links {
    let of_table = |table: &Table| {
        let cells = table
            .all_cells()
            .map(|c| (c.predicate(), c.statistics().links.clone()));
        cells.filter(|(_, counts)| !counts.is_empty()).collect()
    };
    tables.iter().map(of_table).collect()
}

/// Counts links through the inverses.
pub(crate) fn count_links(tables: &[&Table], extents: &Extents) -> Links {
    let of_predicate = |table: &Table, column_idxs: &[usize]| {
        let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
        for column in column_idxs.iter().map(|&i| table.column(i)) {
            let zones = column
                .segments
                .iter()
                .map(|s| &s.zone)
                .filter(|z| z.values > 0);
            let min = zones.clone().map(|z| z.min).min();
            let max = zones.map(|z| z.max).max();
            let (Some(inverse), Some(min), Some(max)) = (&column.inverse, min, max) else {
                continue;
            };
            for (target_idx, first, last) in extents.within(TermId(min), TermId(max)) {
                let count = inverse.count_in(first.0, last.0);
                if count > 0 {
                    *counts.entry(target_idx).or_default() += count;
                }
            }
        }
        counts.into_iter().collect::<Vec<_>>()
    };
    let of_table = |table: &Table| {
        let predicates = table.predicate_columns().iter();
        predicates
            .map(|p| (p.predicate, of_predicate(table, &p.column_idxs)))
            .filter(|(_, counts)| !counts.is_empty())
            .collect()
    };
    tables.iter().map(|table| of_table(table)).collect()
}

/// What the statistics file holds.
#[derive(Debug)]
pub(crate) struct StatisticsFile {
    pub(crate) file: SectionFile,
    pub(crate) statistics: StoreStatistics,
    pub(crate) dirty: DirtyRows,
    pub(crate) links: Links,
}

/// Writes the statistics file.
pub(crate) fn write(
    folder: &Folder,
    statistics: &StoreStatistics,
    dirty: &DirtyRows,
    links: &Links,
) -> Result<(), StoreError> {
    let mut file = folder.create(FILE_NAME, FileKind::Statistics)?;
    file.section("dirty-rows", &dirty_rows::write(dirty))?;
    file.section("links", &write_links(links))?;
    file.section("characteristic-sets", &write_sets(statistics))?;
    file.section("totals", &write_totals(statistics))?;
    file.finish()
}

impl StatisticsFile {
    pub(crate) fn open(folder: &Folder) -> Result<Self, StoreError> {
        let file = folder.open(FILE_NAME, FileKind::Statistics)?;
        let name = file.name().to_owned();
        let mut statistics = StoreStatistics::default();
        read_sets(
            file.verified_section("characteristic-sets")?,
            &name,
            &mut statistics,
        )?;
        read_totals(file.verified_section("totals")?, &name, &mut statistics)?;
        let dirty = dirty_rows::read(file.verified_section("dirty-rows")?, &name)?;
        let links = read_links(file.verified_section("links")?, &name)?;
        Ok(Self {
            statistics,
            dirty,
            links,
            file,
        })
    }
}

fn write_links(links: &Links) -> Vec<u8> {
    let mut out = ByteWriter::new();
    out.long(links.len() as u64);
    for table in links {
        out.long(table.len() as u64);
        for (predicate, counts) in table {
            out.id(*predicate);
            out.long(counts.len() as u64);
            for &(target_idx, count) in counts {
                out.long(target_idx as u64);
                out.long(count);
            }
        }
    }
    out.finish()
}

fn read_links(bytes: &[u8], file: &str) -> Result<Links, StoreError> {
    let mut input = ByteReader::new(bytes, file, "links");
    let mut links = Vec::new();
    for _ in 0..input.count(8)? {
        let mut table = Vec::new();
        for _ in 0..input.count(16)? {
            let predicate = input.id()?;
            let counts = (0..input.count(16)?)
                .map(|_| Ok((input.long()? as usize, input.long()?)))
                .collect::<Result<Vec<_>, StoreError>>()?;
            table.push((predicate, counts));
        }
        links.push(table);
    }
    input.finish()?;
    Ok(links)
}

/// No table.
const NO_TABLE: u64 = u64::MAX;

fn write_sets(statistics: &StoreStatistics) -> Vec<u8> {
    let mut out = ByteWriter::new();
    out.long(statistics.subject_count);
    out.long(statistics.characteristic_sets.len() as u64);
    for set in &statistics.characteristic_sets {
        out.long(set.subjects);
        out.long(set.table.map_or(NO_TABLE, |t| t as u64));
        out.long(set.predicates.len() as u64);
        for (&predicate, &values) in set.predicates.iter().zip(&set.values) {
            out.id(predicate);
            out.long(values);
        }
    }
    out.finish()
}

fn read_sets(bytes: &[u8], file: &str, statistics: &mut StoreStatistics) -> Result<(), StoreError> {
    let mut input = ByteReader::new(bytes, file, "characteristic-sets");
    statistics.subject_count = input.long()?;
    for _ in 0..input.count(24)? {
        let subjects = input.long()?;
        let table = input.long()?;
        let mut set = CharacteristicSet {
            subjects,
            table: (table != NO_TABLE).then_some(table as usize),
            ..CharacteristicSet::default()
        };
        for _ in 0..input.count(16)? {
            set.predicates.push(input.id()?);
            set.values.push(input.long()?);
        }
        statistics.characteristic_sets.push(set);
    }
    input.finish()
}

fn write_totals(statistics: &StoreStatistics) -> Vec<u8> {
    let mut out = ByteWriter::new();
    out.long(statistics.quad_count);
    out.long(statistics.predicates.len() as u64);
    for total in &statistics.predicates {
        out.id(total.predicate);
        out.long(total.in_cells);
        out.long(total.irregular);
    }
    out.long(statistics.graphs.len() as u64);
    for &(graph, quads) in &statistics.graphs {
        out.id(graph);
        out.long(quads);
    }
    out.finish()
}

fn read_totals(
    bytes: &[u8],
    file: &str,
    statistics: &mut StoreStatistics,
) -> Result<(), StoreError> {
    let mut input = ByteReader::new(bytes, file, "totals");
    statistics.quad_count = input.long()?;
    for _ in 0..input.count(24)? {
        statistics.predicates.push(PredicateTotal {
            predicate: input.id()?,
            in_cells: input.long()?,
            irregular: input.long()?,
        });
    }
    statistics.graphs = input.counted_ids()?;
    input.finish()
}
