//! A table opened for reading.

use super::cells::Cells;
use super::column::{Column, rows_of_segment};
use super::definition::{CellStatistics, ColumnDefinition, ColumnKind, HomeGraph, TypeClass};
use super::{TableDefinition, file_name, format};
use crate::error::StoreError;
use crate::folder::Folder;
use crate::inverse::{Inverse, LazyInverse};
use crate::irregular_predicates::LazyIndex;
use crate::section_file::{FileKind, SectionFile};
use basalt_columns::SEGMENT_ROWS;
use basalt_rdf::TermId;
use roaring::RoaringBitmap;
use std::ops::Range;
use std::sync::OnceLock;

/// The columns of one predicate, and what is known of them together.
#[derive(Debug)]
pub(crate) struct PredicateColumns {
    pub(crate) predicate: TermId,
    pub(crate) column_idxs: Vec<usize>,
    pub(crate) statistics: CellStatistics,
    /// What [`Cells::rows_apart`] tells, once it was asked.
    pub(crate) rows_apart: OnceLock<u32>,
}

/// An open table.
#[derive(Debug)]
pub struct Table {
    definition: TableDefinition,
    file: SectionFile,
    columns: Vec<Column>,
    /// The home graph of each row, if it is not the same for all.
    graphs: Option<Column>,
    /// By predicate, ascending.
    predicates: Vec<PredicateColumns>,
    quads_in_cells: u64,
    /// Quads in cells by home graph.
    graph_totals: Vec<(TermId, u64)>,
    /// By predicate, ascending; none of them empty.
    dirty: Vec<(TermId, RoaringBitmap)>,
    /// The same by row, when that has become worth making.
    dirty_by_row: LazyIndex,
    /// The union of all of `dirty`.
    dirty_for_any: RoaringBitmap,
}

impl Table {
    /// Opens the table with this index.
    pub(crate) fn open(folder: &Folder, table_idx: usize) -> Result<Self, StoreError> {
        let name = file_name(table_idx);
        let file = folder.open(&name, FileKind::Table)?;
        let definition =
            format::read_definition(file.verified_section("definition")?, file.name())?;
        let columns = open_columns(&file, &definition)?;
        let predicates = group_by_predicate(&file, &definition)?;
        let graph_totals =
            format::read_graph_totals(file.verified_section("graphs")?, file.name(), "graphs")?;
        let (columns, graphs) = columns;
        Ok(Self {
            quads_in_cells: predicates.iter().map(|p| p.statistics.values).sum(),
            definition,
            columns,
            graphs,
            predicates,
            graph_totals,
            dirty: Vec::new(),
            dirty_by_row: LazyIndex::default(),
            dirty_for_any: RoaringBitmap::new(),
            file,
        })
    }

    /// The name, for people.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Number of rows.
    pub fn rows(&self) -> u32 {
        self.definition.rows
    }

    /// The definition it was made with.
    pub fn definition(&self) -> &TableDefinition {
        &self.definition
    }

    /// The resource ordinal of row 0.
    pub fn first_ordinal(&self) -> u64 {
        self.definition.first_ordinal
    }

    /// The subject of a row.
    #[inline]
    pub fn subject(&self, row: u32) -> TermId {
        TermId::resource(self.definition.first_ordinal + u64::from(row))
    }

    /// Number of segments of each column.
    pub fn segment_count(&self) -> usize {
        (self.definition.rows as usize).div_ceil(SEGMENT_ROWS)
    }

    /// The predicates that have a column, ascending.
    pub fn predicates(&self) -> impl Iterator<Item = TermId> + '_ {
        self.predicates.iter().map(|p| p.predicate)
    }

    /// The cells of a predicate, if it has a column.
    pub fn cells(&self, predicate: TermId) -> Option<Cells<'_>> {
        let i = self
            .predicates
            .binary_search_by_key(&predicate, |p| p.predicate)
            .ok()?;
        Some(Cells::new(self, &self.predicates[i]))
    }

    /// The cells of the predicate with this index in the order of [`Self::predicates`].
    pub(crate) fn cells_at(&self, idx: usize) -> Cells<'_> {
        Cells::new(self, &self.predicates[idx])
    }

    /// The cells of a predicate, if it has any, or those of all.
    pub(crate) fn cells_of(&self, predicate: Option<TermId>) -> Vec<Cells<'_>> {
        match predicate {
            Some(predicate) => self.cells(predicate).into_iter().collect(),
            None => self.all_cells().collect(),
        }
    }

    /// The cells of every predicate that has a column.
    pub fn all_cells(&self) -> impl Iterator<Item = Cells<'_>> {
        self.predicates.iter().map(|p| Cells::new(self, p))
    }

    /// The home graph, if it is the same for all rows.
    pub fn constant_graph(&self) -> Option<TermId> {
        match self.definition.home_graph {
            HomeGraph::Constant(graph) => Some(graph),
            HomeGraph::Column => None,
        }
    }

    /// The home graph of a row.
    #[inline]
    pub fn graph(&self, row: u32) -> TermId {
        match (self.definition.home_graph, &self.graphs) {
            (HomeGraph::Column, Some(graphs)) => TermId(graphs.value(row)),
            (HomeGraph::Constant(graph), _) => graph,
            (HomeGraph::Column, None) => TermId::DEFAULT_GRAPH,
        }
    }

    /// Appends the home graph of each row.
    pub fn gather_graphs(&self, rows: &[u32], out: &mut Vec<u64>) {
        match (self.constant_graph(), &self.graphs) {
            (None, Some(graphs)) => graphs.gather(rows, out),
            (graph, _) => {
                let graph = graph.unwrap_or(TermId::DEFAULT_GRAPH);
                out.extend(std::iter::repeat_n(graph.0, rows.len()));
            }
        }
    }

    /// Appends the home graphs of consecutive rows.
    pub(crate) fn scan_graphs(&self, rows: Range<u32>, out: &mut Vec<u64>) {
        match &self.graphs {
            Some(graphs) => graphs.scan(rows, out),
            None => {
                let graph = self.constant_graph().unwrap_or(TermId::DEFAULT_GRAPH);
                out.extend(std::iter::repeat_n(graph.0, rows.len()));
            }
        }
    }

    /// The rows of one segment.
    pub fn rows_of_segment(&self, segment_idx: usize) -> Range<u32> {
        rows_of_segment(segment_idx, self.rows())
    }

    /// Appends those of consecutive rows whose home graph is this.
    pub fn rows_in_graph(&self, rows: Range<u32>, graph: TermId, out: &mut Vec<u32>) {
        match &self.graphs {
            Some(graphs) => {
                graphs.find_in_rows(rows, (graph.0, graph.0), out);
            }
            None if self.constant_graph() == Some(graph) => out.extend(rows),
            None => {}
        }
    }

    /// Appends all rows whose home graph is this, ascending: through the inverse of graphs, or one made in memory after repeated use; until
    /// then all packed graphs are searched.
    pub fn all_rows_in_graph(&self, graph: TermId, out: &mut Vec<u32>) {
        if self.quads_in_graph(graph) == 0 {
            return;
        }
        match &self.graphs {
            Some(graphs) => graphs.find(graph, out),
            None => out.extend(0..self.rows()),
        }
    }

    /// The least and the greatest home graph of the rows of a segment, if rows of the table have several.
    pub fn graph_zone(&self, segment_idx: usize) -> Option<(TermId, TermId)> {
        let zone = &self.graphs.as_ref()?.segments[segment_idx].zone;
        Some((TermId(zone.min), TermId(zone.max)))
    }

    /// The home graph of all rows of a segment, if they have the same.
    pub(crate) fn graph_of_segment(&self, segment_idx: usize) -> Option<TermId> {
        let Some(graphs) = &self.graphs else {
            return self.constant_graph();
        };
        let zone = &graphs.segments[segment_idx].zone;
        let rows = graphs.rows_of_segment(segment_idx).len();
        let same = zone.min == zone.max && zone.values as usize == rows;
        same.then_some(TermId(zone.min))
    }

    /// Quads in cells.
    pub fn quads_in_cells(&self) -> u64 {
        self.quads_in_cells
    }

    /// Quads in cells whose rows have this home graph.
    pub fn quads_in_graph(&self, graph: TermId) -> u64 {
        let totals = &self.graph_totals;
        let found = totals.binary_search_by_key(&graph, |(graph, _)| *graph);
        found.map_or(0, |idx| totals[idx].1)
    }

    /// Quads in cells by home graph, ascending by graph.
    pub fn graph_totals(&self) -> &[(TermId, u64)] {
        &self.graph_totals
    }

    /// The rows that have irregular quads with this predicate, whether it has a column or not; the delta is
    /// not looked at, a snapshot does.
    pub(crate) fn dirty_rows(&self, predicate: TermId) -> Option<&RoaringBitmap> {
        let i = self
            .dirty
            .binary_search_by_key(&predicate, |(p, _)| *p)
            .ok()?;
        Some(&self.dirty[i].1)
    }

    /// Whether a row has irregular quads, whatever their predicates.
    pub(crate) fn is_dirty(&self, row: u32) -> bool {
        self.dirty_for_any.contains(row)
    }

    /// Whether any row has irregular quads.
    pub(crate) fn has_dirty_rows(&self) -> bool {
        !self.dirty_for_any.is_empty()
    }

    /// Every predicate of irregular quads of rows, ascending, with the rows.
    pub(crate) fn dirty_predicates(&self) -> impl Iterator<Item = (TermId, &RoaringBitmap)> {
        self.dirty.iter().map(|(p, rows)| (*p, rows))
    }

    /// The predicates of irregular quads of a row, ascending.
    pub(crate) fn dirty_predicates_of(&self, row: u32) -> Vec<TermId> {
        self.dirty_by_row.of_row(&self.dirty, row)
    }

    /// Bytes of the table's file.
    pub fn file_bytes(&self) -> u64 {
        self.file.file_bytes()
    }

    pub(crate) fn file(&self) -> &SectionFile {
        &self.file
    }

    pub(crate) fn column(&self, column_idx: usize) -> &Column {
        &self.columns[column_idx]
    }

    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub(crate) fn graph_column(&self) -> Option<&Column> {
        self.graphs.as_ref()
    }

    pub(crate) fn predicate_columns(&self) -> &[PredicateColumns] {
        &self.predicates
    }

    /// Takes in what stands in the statistics file: dirty rows and links.
    pub(crate) fn attach(
        &mut self,
        dirty: Vec<(TermId, RoaringBitmap)>,
        links: Vec<(TermId, Vec<(usize, u64)>)>,
    ) {
        self.dirty_for_any = dirty
            .iter()
            .fold(RoaringBitmap::new(), |mut all, (_, rows)| {
                all |= rows;
                all
            });
        self.dirty = dirty;
        for (predicate, counts) in links {
            let found = self
                .predicates
                .binary_search_by_key(&predicate, |p| p.predicate);
            if let Ok(i) = found {
                self.predicates[i].statistics.links = counts;
            }
        }
    }
}

fn open_columns(
    file: &SectionFile,
    definition: &TableDefinition,
) -> Result<(Vec<Column>, Option<Column>), StoreError> {
    let cells = file.slice("cells")?;
    let has_graphs = definition.home_graph == HomeGraph::Column;
    let segment_count = (definition.rows as usize).div_ceil(SEGMENT_ROWS);
    let mut directory = format::read_segments(
        file.verified_section("segments")?,
        file.name(),
        definition.columns.len() + usize::from(has_graphs),
        segment_count,
        cells.bytes().len() as u64,
    )?;
    let open = |definition_of_column: ColumnDefinition, segments, inverse| {
        let column = Column {
            definition: definition_of_column,
            rows: definition.rows,
            cells: cells.clone(),
            segments,
            inverse,
            lazy: LazyInverse::default(),
        };
        column.check_segments()?;
        Ok::<_, StoreError>(column)
    };
    let graph_segments = if has_graphs { directory.pop() } else { None };
    let graphs = match graph_segments {
        Some(segments) => {
            let inverse = open_inverse(file, definition.columns.len())?;
            Some(open(graph_column(), segments, inverse)?)
        }
        None => None,
    };
    let mut columns = Vec::with_capacity(definition.columns.len());
    for (i, (column, segments)) in definition.columns.iter().zip(directory).enumerate() {
        let inverse = open_inverse(file, i)?;
        columns.push(open(column.clone(), segments, inverse)?);
    }
    Ok((columns, graphs))
}

/// The inverse of a column, if it has one.
fn open_inverse(file: &SectionFile, column_idx: usize) -> Result<Option<Inverse>, StoreError> {
    let section = super::writer::inverse_section(column_idx);
    match file.has_section(&section) {
        true => Inverse::open(&file.slice(&section)?).map(Some),
        false => Ok(None),
    }
}

/// The column of home graphs has no predicate and takes any id.
fn graph_column() -> ColumnDefinition {
    ColumnDefinition {
        predicate: TermId::UNBOUND,
        type_class: TypeClass::ANY,
        kind: ColumnKind::Single,
        wants_inverse: false,
        link_target: None,
    }
}

/// The columns of each predicate, ascending by predicate.
pub(crate) fn columns_by_predicate(definition: &TableDefinition) -> Vec<(TermId, Vec<usize>)> {
    let mut all: Vec<(TermId, usize)> = definition
        .columns
        .iter()
        .enumerate()
        .map(|(i, column)| (column.predicate, i))
        .collect();
    all.sort_unstable();
    all.chunk_by(|a, b| a.0 == b.0)
        .map(|group| (group[0].0, group.iter().map(|&(_, i)| i).collect()))
        .collect()
}

fn group_by_predicate(
    file: &SectionFile,
    definition: &TableDefinition,
) -> Result<Vec<PredicateColumns>, StoreError> {
    let statistics = format::read_statistics(file.verified_section("statistics")?, file.name())?;
    let groups = columns_by_predicate(definition);
    if statistics.len() != groups.len() {
        let offset = file.section_offset("statistics");
        return Err(file.corrupt(offset, "there are not as many statistics as predicates"));
    }
    Ok(groups
        .into_iter()
        .zip(statistics)
        .map(|((predicate, column_idxs), statistics)| PredicateColumns {
            predicate,
            column_idxs,
            rows_apart: OnceLock::new(),
            statistics,
        })
        .collect())
}
