//! Writing a table, segment by segment.
//!
//! Encoded segments are appended to the file in the order they come, so memory holds only the
//! directory, the sketches, and the encoded segments of columns that will be read again: those
//! that get an inverse and those that share their predicate. Inverses and statistics follow when
//! all rows are there, column by column.

use super::definition::{CellStatistics, HomeGraph, TableDefinition};
use super::distinct::DistinctSketch;
use super::encoded_segment::{EncodedSegment, SegmentValues, encode_segment};
use super::file_name;
use super::format::{self, SegmentEntry};
use super::reader::columns_by_predicate;
use crate::error::StoreError;
use crate::folder::Folder;
use crate::inverse;
use crate::section_file::{FileKind, SectionWriter};
use basalt_columns::SEGMENT_ROWS;
use basalt_columns::segment::Segment;
use basalt_rdf::TermId;
use roaring::RoaringBitmap;
use std::collections::BTreeMap;

/// Rows of at least so many home graphs get an inverse of them: of fewer each has many rows, which a search of the packed graphs finds as fast.
const INVERTED_GRAPHS_MIN: usize = 16;

/// The section that holds the inverse of a column; that of home graphs comes after the others.
pub(crate) fn inverse_section(column_idx: usize) -> String {
    format!("inverse-{column_idx}")
}

/// A column being written.
#[derive(Debug, Default)]
struct PendingColumn {
    /// Rows pushed so far.
    rows: u32,
    segments: Vec<SegmentEntry>,
    distinct: DistinctSketch,
    /// The encoded segments, of columns that are read again at the end.
    kept: Option<Vec<Vec<u8>>>,
}

/// Writes one table; independent of other writers, so tables can be written in parallel.
///
/// Nothing of it is visible before the version is committed; a writer that is dropped without
/// [`Self::finish`] makes the commit fail.
#[derive(Debug)]
pub struct TableWriter {
    definition: TableDefinition,
    file: SectionWriter,
    /// Those of the definition, then that of home graphs if there is one.
    columns: Vec<PendingColumn>,
    /// Values of each row, kept while home graphs differ.
    row_values: Vec<u32>,
    /// The home graph of each row, kept while home graphs differ.
    row_graphs: Vec<u64>,
}

impl TableWriter {
    pub(crate) fn create(
        folder: &Folder,
        table_idx: usize,
        definition: TableDefinition,
    ) -> Result<Self, StoreError> {
        format::check_definition(&definition).map_err(|what| StoreError::InvalidInput { what })?;
        let mut file = folder.create(&file_name(table_idx), FileKind::Table)?;
        file.begin("cells")?;
        let mut columns: Vec<PendingColumn> = definition
            .columns
            .iter()
            .map(|column| PendingColumn {
                kept: column.wants_inverse.then(Vec::new),
                ..PendingColumn::default()
            })
            .collect();
        for (_, column_idxs) in columns_by_predicate(&definition) {
            if column_idxs.len() > 1 {
                for i in column_idxs {
                    columns[i].kept = Some(Vec::new());
                }
            }
        }
        let mut row_values = Vec::new();
        if definition.home_graph == HomeGraph::Column {
            columns.push(PendingColumn::default());
            row_values = vec![0; definition.rows as usize];
        }
        Ok(Self {
            definition,
            file,
            columns,
            row_values,
            row_graphs: Vec::new(),
        })
    }

    /// The definition.
    pub fn definition(&self) -> &TableDefinition {
        &self.definition
    }

    /// Encodes and appends the next segment of a column.
    pub fn segment(
        &mut self,
        column_idx: usize,
        values: SegmentValues<'_>,
    ) -> Result<(), StoreError> {
        self.push(column_idx, encode_segment(&values))
    }

    /// Appends the next segment of a column.
    pub fn push(&mut self, column_idx: usize, segment: EncodedSegment) -> Result<(), StoreError> {
        let Some(column) = self.definition.columns.get(column_idx) else {
            return Err(StoreError::invalid(format!(
                "table `{}` has no column {column_idx}",
                self.definition.name
            )));
        };
        if segment.holds_lists && column.kind == super::ColumnKind::Single {
            return Err(StoreError::invalid(format!(
                "column {column_idx} of table `{}` takes one value for each row",
                self.definition.name
            )));
        }
        if !self.row_values.is_empty() {
            self.count_values(column_idx, &segment);
        }
        self.append(column_idx, segment)
    }

    /// Appends the home graphs of the next rows; for tables whose home graph is a column.
    pub fn graph_segment(&mut self, graphs: &[u64]) -> Result<(), StoreError> {
        if self.definition.home_graph != HomeGraph::Column {
            return Err(StoreError::invalid(format!(
                "table `{}` has the same home graph for all rows",
                self.definition.name
            )));
        }
        if let Some(&graph) = graphs
            .iter()
            .find(|&&g| g != TermId::DEFAULT_GRAPH.0 && !TermId(g).is_resource())
        {
            return Err(StoreError::invalid(format!(
                "the home graph {:?} is no resource",
                TermId(graph)
            )));
        }
        self.row_graphs.extend_from_slice(graphs);
        let segment = encode_segment(&SegmentValues::Single(graphs));
        self.append(self.columns.len() - 1, segment)
    }

    fn append(&mut self, column_idx: usize, segment: EncodedSegment) -> Result<(), StoreError> {
        let column = &mut self.columns[column_idx];
        let left = self.definition.rows - column.rows;
        if segment.rows != left.min(SEGMENT_ROWS as u32) {
            return Err(StoreError::invalid(format!(
                "column {column_idx} of table `{}` got a segment of {} rows where {} rows are left",
                self.definition.name, segment.rows, left
            )));
        }
        let offset = self.file.section_position();
        self.file.write(&segment.bytes)?;
        column.rows += segment.rows;
        column.segments.push(SegmentEntry {
            offset,
            bytes: segment.bytes.len() as u64,
            zone: segment.zone,
        });
        column.distinct.merge(&segment.distinct);
        if let Some(kept) = &mut column.kept {
            kept.push(segment.bytes);
        }
        Ok(())
    }

    fn count_values(&mut self, column_idx: usize, segment: &EncodedSegment) {
        let first = self.columns[column_idx].rows as usize;
        let (counts, _) = read_counts(&open_own(&segment.bytes));
        for (total, count) in self.row_values[first..].iter_mut().zip(counts) {
            *total += count;
        }
    }

    /// Builds inverses and statistics and makes the file durable.
    pub fn finish(mut self) -> Result<(), StoreError> {
        if let Some(i) = self
            .columns
            .iter()
            .position(|c| c.rows != self.definition.rows)
        {
            return Err(StoreError::invalid(format!(
                "column {i} of table `{}` has {} rows of {}",
                self.definition.name, self.columns[i].rows, self.definition.rows
            )));
        }
        let exact = self.write_inverses()?;
        let statistics = self.cell_statistics(&exact);
        let graphs = self.graph_totals();
        if self.definition.home_graph == HomeGraph::Column {
            self.write_inverse_of_graphs(graphs.len())?;
        }
        let definition = format::write_definition(&self.definition);
        let all: Vec<Vec<SegmentEntry>> = self
            .columns
            .iter_mut()
            .map(|c| std::mem::take(&mut c.segments))
            .collect();
        let segments = format::write_segments(&all);
        self.file.section("definition", &definition)?;
        self.file.section("segments", &segments)?;
        self.file
            .section("statistics", &format::write_statistics(&statistics))?;
        self.file
            .section("graphs", &format::write_graph_totals(&graphs))?;
        self.file.finish()
    }

    /// Writes the inverses; returns the exact number of distinct values of columns that have one.
    fn write_inverses(&mut self) -> Result<Vec<Option<u64>>, StoreError> {
        let mut exact = vec![None; self.columns.len()];
        for (i, definition) in self.definition.columns.iter().enumerate() {
            if !definition.wants_inverse {
                continue;
            }
            let column = &self.columns[i];
            let pairs = read_pairs(column);
            let few = if definition.link_target.is_some() {
                None
            } else {
                column.distinct.exact()
            };
            let mut bytes = Vec::new();
            exact[i] = Some(inverse::build(pairs, few, &mut bytes));
            self.file.section(&inverse_section(i), &bytes)?;
        }
        Ok(exact)
    }

    /// Writes the rows of each home graph, where there are many.
    fn write_inverse_of_graphs(&mut self, graphs: usize) -> Result<(), StoreError> {
        if graphs < INVERTED_GRAPHS_MIN {
            return Ok(());
        }
        let pairs = self.row_graphs.iter().copied().zip(0..).collect();
        let mut bytes = Vec::new();
        inverse::build(pairs, None, &mut bytes);
        let column_idx = self.definition.columns.len();
        self.file.section(&inverse_section(column_idx), &bytes)
    }

    fn cell_statistics(&self, exact: &[Option<u64>]) -> Vec<CellStatistics> {
        let groups = columns_by_predicate(&self.definition);
        let of_group = |(_, column_idxs): (TermId, Vec<usize>)| {
            let mut all = CellStatistics {
                distinct_is_exact: true,
                ..CellStatistics::default()
            };
            let mut present = RoaringBitmap::new();
            for &i in &column_idxs {
                let column = &self.columns[i];
                let (distinct, is_exact) =
                    exact[i].map_or_else(|| column.distinct.count(), |count| (count, true));
                let values: u64 = column
                    .segments
                    .iter()
                    .map(|s| u64::from(s.zone.values))
                    .sum();
                all.distinct += distinct.min(values);
                all.distinct_is_exact &= is_exact;
                all.values += values;
                for zone in column.segments.iter().map(|s| &s.zone) {
                    if zone.values > 0 {
                        all.rows_with_value += u64::from(zone.rows_with_value);
                        let (min, max) = (TermId(zone.min), TermId(zone.max));
                        let (low, high) = all.range.unwrap_or((min, max));
                        all.range = Some((low.min(min), high.max(max)));
                    }
                }
                if column_idxs.len() > 1 {
                    present |= present_rows(column);
                }
            }
            if column_idxs.len() > 1 {
                all.rows_with_value = present.len();
            }
            all
        };
        groups.into_iter().map(of_group).collect()
    }

    fn graph_totals(&self) -> Vec<(TermId, u64)> {
        match self.definition.home_graph {
            HomeGraph::Constant(graph) => {
                let values = |c: &PendingColumn| -> u64 {
                    c.segments.iter().map(|s| u64::from(s.zone.values)).sum()
                };
                vec![(graph, self.columns.iter().map(values).sum())]
            }
            HomeGraph::Column => {
                let mut totals = BTreeMap::new();
                for (&graph, &values) in self.row_graphs.iter().zip(&self.row_values) {
                    *totals.entry(TermId(graph)).or_default() += u64::from(values);
                }
                totals.into_iter().collect()
            }
        }
    }
}

/// Opens bytes that this program has encoded itself.
fn open_own(bytes: &[u8]) -> Segment<'_> {
    Segment::open(bytes).expect("a segment just encoded opens")
}

fn read_counts(segment: &Segment<'_>) -> (Vec<u32>, Vec<u64>) {
    let (mut counts, mut values) = (Vec::new(), Vec::new());
    segment.decode_lists(0..segment.rows(), &mut counts, &mut values);
    (counts, values)
}

/// Every value of a column with its row, in row order.
fn read_pairs(column: &PendingColumn) -> Vec<(u64, u32)> {
    let mut pairs = Vec::new();
    let mut row = 0;
    for bytes in column.kept.iter().flatten() {
        let (counts, values) = read_counts(&open_own(bytes));
        let mut values = values.into_iter();
        for count in counts {
            pairs.extend(values.by_ref().take(count as usize).map(|v| (v, row)));
            row += 1;
        }
    }
    pairs
}

fn present_rows(column: &PendingColumn) -> RoaringBitmap {
    let mut rows: Vec<u32> = read_pairs(column).into_iter().map(|(_, row)| row).collect();
    rows.dedup();
    RoaringBitmap::from_sorted_iter(rows).expect("rows ascend")
}
