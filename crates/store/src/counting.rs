//! Counting quads without visiting them: from statistics, inverses and block headers.
//!
//! What the executor's `CountScan` reads; see `docs/statistics-answers.md`. Every quad stands in one
//! place, so a count is the sum over tables and quad table, exact for clean and dirty rows alike.
//!
//! Invariant: each answer equals what visiting all matching quads and counting them would give; the
//! tests do just that. Cost: [`distinct_subjects`] is computed once per question, [`predicate_graphs`] once per version where predicates
//! and graphs are few; the others read inverses and POSG each time.

mod by_graph;
mod tally;

pub(crate) use self::by_graph::predicate_graphs;

use self::by_graph::KeptByGraph;
use self::tally::Tally;
use crate::error::StoreError;
use crate::irregular_predicates;
use crate::link_sources::cells_that_may_hold;
use crate::snapshot::Version;
use crate::table::{Cells, Table};
use basalt_rdf::TermId;
use roaring::{RoaringBitmap, RoaringTreemap};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// Graphs whose rows are sought one after the other: each time the graph of every row is looked at, packed.
const FEW_GRAPHS: usize = 8;

/// The graphs whose quads count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GraphSet {
    /// One graph.
    One(TermId),
    /// Named graphs: these, or all.
    Named(Option<Vec<TermId>>),
    /// Graphs of any kind: these, or all.
    Any(Option<Vec<TermId>>),
}

impl GraphSet {
    /// Whether quads of this graph count.
    pub fn takes(&self, graph: TermId) -> bool {
        let among = |list: &Option<Vec<TermId>>| list.as_ref().is_none_or(|l| l.contains(&graph));
        match self {
            Self::One(one) => *one == graph,
            Self::Named(list) => graph != TermId::DEFAULT_GRAPH && among(list),
            Self::Any(list) => among(list),
        }
    }

    /// The graphs that count, each once and ascending; `None` if all do, or all named ones.
    pub(crate) fn listed(&self) -> Option<Vec<TermId>> {
        let mut listed = match self {
            Self::One(graph) => vec![*graph],
            Self::Named(among) | Self::Any(among) => among.clone()?,
        };
        listed.retain(|graph| self.takes(*graph));
        listed.sort_unstable();
        listed.dedup();
        Some(listed)
    }

    /// The same if they are few, so that the rows of each can be sought by themselves.
    pub fn few(&self) -> Option<Vec<TermId>> {
        self.listed().filter(|listed| listed.len() <= FEW_GRAPHS)
    }

    /// The same if they are few and the default graph is not among them, so that the quads of each can be found by its index.
    pub fn few_named(&self) -> Option<Vec<TermId>> {
        let few = self.few();
        few.filter(|few| !few.contains(&TermId::DEFAULT_GRAPH))
    }

    /// Whether the quads in the cells of a table count: all of them or none; `None` where it depends on the row.
    pub fn takes_table(&self, table: &Table) -> Option<bool> {
        if let Some(graph) = table.constant_graph() {
            return Some(self.takes(graph));
        }
        let all = table.quads_in_cells();
        let quads_in = |graph: &TermId| table.quads_in_graph(*graph);
        let taken = match self.listed() {
            Some(listed) => listed.iter().map(quads_in).sum(),
            None if *self == Self::Any(None) => return Some(true),
            None => all - quads_in(&TermId::DEFAULT_GRAPH),
        };
        match taken {
            0 => Some(false),
            _ => (taken == all).then_some(true),
        }
    }
}

/// The quads of one predicate in one graph, counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PredicateGraph {
    /// The predicate.
    pub predicate: TermId,
    /// The graph.
    pub graph: TermId,
    /// Quads, never 0.
    pub quads: u64,
}

/// Counts that were asked for, kept with the version.
#[derive(Debug, Default)]
pub(crate) struct CountCache {
    by_graph: KeptByGraph,
    subjects: Mutex<HashMap<(Option<TermId>, GraphSet), u64>>,
}

/// Answers kept at most; beyond that, all are forgotten.
pub(crate) const SUBJECT_COUNTS_MAX: usize = 1 << 14;

/// Quads with this object by predicate (this one, or any) and graph, ascending by both.
pub(crate) fn object_graphs(
    version: &Version,
    predicate: Option<TermId>,
    object: TermId,
) -> Result<Vec<PredicateGraph>, StoreError> {
    let mut tally = Tally::default();
    let (mut rows, mut graphs) = (Vec::new(), Vec::new());
    for (table_idx, cells) in cells_that_may_hold(version, predicate, object) {
        let table = &version.tables[table_idx];
        let graph = table.constant_graph();
        if let (Some(graph), Some(quads)) = (graph, cells.count_object(object)) {
            tally.add(cells.predicate(), graph, quads);
            continue;
        }
        rows.clear();
        cells.find(object, &mut rows);
        graphs.clear();
        table.gather_graphs(&rows, &mut graphs);
        tally.add_all(cells.predicate(), &graphs);
    }
    let predicates = match predicate {
        Some(predicate) => vec![predicate],
        None => irregular_predicates::of_object(version, object)?,
    };
    let mut found = Vec::new();
    for predicate in predicates {
        found.clear();
        version
            .quad_table
            .by_object(predicate, object, &mut found)?;
        for &(_, graph) in &found {
            tally.add(predicate, graph, 1);
        }
    }
    Ok(tally.finish())
}

/// The cells of a predicate that may be in these graphs with their tables, and whether all of them are known to be.
fn cells_in<'a>(
    version: &'a Version,
    predicate: TermId,
    graphs: &'a GraphSet,
) -> impl Iterator<Item = (&'a Table, Cells<'a>, bool)> {
    version.cells_of(predicate).filter_map(|(_, table, cells)| {
        let is_taken = graphs.takes_table(table);
        (is_taken != Some(false)).then_some((table, cells, is_taken == Some(true)))
    })
}

/// The objects of a predicate in these graphs with the number of their quads, ascending.
pub(crate) fn object_counts(
    version: &Version,
    predicate: TermId,
    graphs: &GraphSet,
) -> Result<Vec<(TermId, u64)>, StoreError> {
    let mut pairs: Vec<(TermId, u64)> = Vec::new();
    for (table, cells, is_taken) in cells_in(version, predicate, graphs) {
        let counted = is_taken
            && cells.visit_distinct(&mut |object, quads| {
                pairs.push((object, quads));
                ControlFlow::Continue(())
            });
        if !counted {
            count_values(table, cells, graphs, &mut pairs);
        }
    }
    let mut visit = |_: &[u64], objects: &[u64], of_block: &[u64]| {
        for (&object, &graph) in objects.iter().zip(of_block) {
            if graphs.takes(TermId(graph)) {
                match pairs.last_mut() {
                    Some((last, quads)) if last.0 == object => *quads += 1,
                    _ => pairs.push((TermId(object), 1)),
                }
            }
        }
        ControlFlow::Continue(())
    };
    version.quad_table.scan_by_object(predicate, &mut visit)?;
    // Runs that ascend already, one for each place, which a stable sort merges.
    pairs.sort_by_key(|(object, _)| *object);
    pairs.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    Ok(pairs)
}

/// Counts the quads of a predicate in these graphs that have each of some objects, which may repeat.
pub(crate) fn count_objects(
    version: &Version,
    predicate: TermId,
    graphs: &GraphSet,
    objects: &[u64],
) -> Result<Vec<u64>, StoreError> {
    let mut counts = vec![0; objects.len()];
    let (mut rows, mut homes) = (Vec::new(), Vec::new());
    for (table, cells, is_taken) in cells_in(version, predicate, graphs) {
        if is_taken && cells.add_counts(objects, &mut counts) {
            continue;
        }
        let taken = |rows: &[u32]| {
            if is_taken {
                return None;
            }
            let mut homes = Vec::with_capacity(rows.len());
            table.gather_graphs(rows, &mut homes);
            let homes = homes.iter();
            Some(homes.map(|&home| graphs.takes(TermId(home))).collect())
        };
        if cells.add_counts_together(objects, &taken, &mut counts) {
            continue;
        }
        for (count, &object) in counts.iter_mut().zip(objects) {
            let object = TermId(object);
            if !cells.may_hold(object) {
                continue;
            }
            rows.clear();
            cells.find(object, &mut rows);
            homes.clear();
            table.gather_graphs(&rows, &mut homes);
            let taken = homes.iter().filter(|&&home| graphs.takes(TermId(home)));
            *count += taken.count() as u64;
        }
    }
    if version.quad_table.predicate(predicate).is_none() {
        return Ok(counts);
    }
    let mut found = Vec::new();
    for (count, &object) in counts.iter_mut().zip(objects) {
        found.clear();
        version
            .quad_table
            .by_object(predicate, TermId(object), &mut found)?;
        let taken = found.iter().filter(|(_, graph)| graphs.takes(*graph));
        *count += taken.count() as u64;
    }
    Ok(counts)
}

/// Counts the values of rows whose home graph counts, cell by cell.
fn count_values(
    table: &Table,
    cells: Cells<'_>,
    graphs: &GraphSet,
    pairs: &mut Vec<(TermId, u64)>,
) {
    let mut by_value: HashMap<u64, u64> = HashMap::new();
    let (mut counts, mut values, mut homes) = (Vec::new(), Vec::new(), Vec::new());
    for segment_idx in 0..table.segment_count() {
        if cells.zone(segment_idx).values == 0 {
            continue;
        }
        let rows = cells.segment_rows(segment_idx);
        let numbers: Vec<u32> = rows.clone().collect();
        counts.clear();
        values.clear();
        homes.clear();
        cells.scan_lists(rows, &mut counts, &mut values);
        table.gather_graphs(&numbers, &mut homes);
        let mut at = 0;
        for (&count, &home) in counts.iter().zip(&homes) {
            let of_row = &values[at..at + count as usize];
            at += of_row.len();
            if count > 0 && graphs.takes(TermId(home)) {
                for &value in of_row {
                    *by_value.entry(value).or_default() += 1;
                }
            }
        }
    }
    let start = pairs.len();
    pairs.extend(by_value.into_iter().map(|(value, n)| (TermId(value), n)));
    pairs[start..].sort_unstable();
}

/// The number of subjects that have a quad of the predicate (or of any) in these graphs.
pub(crate) fn distinct_subjects(
    version: &Version,
    predicate: Option<TermId>,
    graphs: &GraphSet,
) -> Result<u64, StoreError> {
    let key = (predicate, graphs.clone());
    let kept = || {
        let cache = version.counts.subjects.lock();
        cache.unwrap_or_else(PoisonError::into_inner)
    };
    if let Some(&known) = kept().get(&key) {
        return Ok(known);
    }
    let count = count_subjects(version, predicate, graphs)?;
    let mut cache = kept();
    if cache.len() >= SUBJECT_COUNTS_MAX {
        cache.clear();
    }
    cache.insert(key, count);
    Ok(count)
}

/// The rows of a table that have a cell that counts.
enum CellRows {
    /// Every row.
    All,
    /// These.
    Some(RoaringBitmap),
}

/// Such rows by table; of tables that were not looked at there are none.
#[derive(Default)]
struct RowsOfTables {
    rows: Vec<CellRows>,
    /// Where those of each table are.
    places: HashMap<usize, usize>,
    /// The table asked for last and the place of its rows: subjects of one table come together.
    last: Option<(usize, usize)>,
}

impl RowsOfTables {
    fn set(&mut self, table_idx: usize, rows: CellRows) {
        self.places.insert(table_idx, self.rows.len());
        self.rows.push(rows);
    }

    fn get(&mut self, table_idx: usize) -> &mut CellRows {
        let place = match self.last {
            Some((last, place)) if last == table_idx => place,
            _ => match self.places.get(&table_idx) {
                Some(place) => *place,
                None => {
                    self.set(table_idx, CellRows::Some(RoaringBitmap::new()));
                    self.rows.len() - 1
                }
            },
        };
        self.last = Some((table_idx, place));
        &mut self.rows[place]
    }
}

fn count_subjects(
    version: &Version,
    predicate: Option<TermId>,
    graphs: &GraphSet,
) -> Result<u64, StoreError> {
    let mut count = 0;
    let mut of_tables = RowsOfTables::default();
    for (table_idx, table) in version.tables_with(predicate) {
        let is_dirty = match predicate {
            Some(predicate) => table.dirty_rows(predicate).is_some(),
            None => table.has_dirty_rows(),
        };
        let rows = match clean_count(table, predicate, graphs) {
            // Without dirty rows nobody asks which rows they were.
            Some(rows) if !is_dirty => {
                count += rows;
                CellRows::All
            }
            _ => {
                let rows = cell_rows(table, predicate, graphs);
                count += match &rows {
                    CellRows::All => u64::from(table.rows()),
                    CellRows::Some(rows) => rows.len(),
                };
                rows
            }
        };
        of_tables.set(table_idx, rows);
    }
    let mut outside = RoaringTreemap::new();
    for predicate in version.quad_table.predicates_of(predicate) {
        let mut last = 0;
        version
            .quad_table
            .scan(predicate, &mut |subjects, _, of_block| {
                for (&subject, &graph) in subjects.iter().zip(of_block) {
                    if subject == last || !graphs.takes(TermId(graph)) {
                        continue;
                    }
                    last = subject;
                    match version.extents.row_of(TermId(subject)) {
                        Some((table_idx, row)) => {
                            if let CellRows::Some(rows) = of_tables.get(table_idx) {
                                count += u64::from(rows.insert(row));
                            }
                        }
                        None => {
                            outside.insert(TermId(subject).payload());
                        }
                    }
                }
                ControlFlow::Continue(())
            })?;
    }
    Ok(count + outside.len())
}

/// The number of rows with a cell that counts, where statistics tell it.
fn clean_count(table: &Table, predicate: Option<TermId>, graphs: &GraphSet) -> Option<u64> {
    if !graphs.takes_table(table)? {
        return Some(0);
    }
    match predicate {
        Some(predicate) => Some(
            table
                .cells(predicate)
                .map_or(0, |cells| cells.statistics().rows_with_value),
        ),
        None => has_full_column(table).then_some(u64::from(table.rows())),
    }
}

fn has_full_column(table: &Table) -> bool {
    let rows = u64::from(table.rows());
    table
        .all_cells()
        .any(|cells| cells.statistics().rows_with_value == rows)
}

/// The rows that have a value of the predicate (or of any) in a graph that counts.
fn cell_rows(table: &Table, predicate: Option<TermId>, graphs: &GraphSet) -> CellRows {
    let is_taken = graphs.takes_table(table);
    if is_taken == Some(false) {
        return CellRows::Some(RoaringBitmap::new());
    }
    let mut all = RoaringBitmap::new();
    for cells in table.cells_of(predicate) {
        if cells.statistics().rows_with_value == u64::from(table.rows()) {
            all.insert_range(0..table.rows());
            break;
        }
        let mut rows = Vec::new();
        for segment_idx in 0..table.segment_count() {
            rows.clear();
            cells.rows_with_value(cells.segment_rows(segment_idx), &mut rows);
            all.extend(rows.iter().copied());
        }
    }
    if is_taken.is_none() {
        let rows: Vec<u32> = all.iter().collect();
        let mut homes = Vec::new();
        table.gather_graphs(&rows, &mut homes);
        let taken = rows.iter().zip(&homes);
        let taken = taken.filter(|(_, home)| graphs.takes(TermId(**home)));
        all = taken.map(|(row, _)| *row).collect();
    }
    if all.len() == u64::from(table.rows()) {
        CellRows::All
    } else {
        CellRows::Some(all)
    }
}
