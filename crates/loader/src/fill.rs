//! Filling the tables: rows to cells, segment by segment.
//!
//! A few segments at a time are taken through three steps: the quads of their rows are dealt out
//! to columns (in parallel over segments), terms get their numbers (in order, so that the
//! outcome does not depend on threads), and cells are encoded (in parallel over columns). Quads
//! that no cell takes are kept for the quad table. While the inverses of one table are built, the
//! next is being filled.
//!
//! Memory: the cells of a few segments, their quads if these are in a file, and 32 bytes for each irregular
//! quad up to the limit of the sorter.

use std::ops::Range;

use basalt_columns::SEGMENT_ROWS;
use basalt_rdf::TermId;
use basalt_shapes::{CharacteristicSets, ColumnShape, TypeClass};
use basalt_store::{
    ColumnDefinition, ColumnKind, HomeGraph, QuadIds, SegmentValues, StoreError, TableDefinition,
    TableWriter, VersionWriter, encode_segment,
};

use crate::error::LoadError;
use crate::grouped::{Gathered, Quad};
use crate::numbering::{ResourceNumbers, TermNumbers};
use crate::parallel::parallel_map;
use crate::placement::{PlacedTable, Placement, store_class};
use crate::progress::WorkCounter;
use crate::rows::{RowSource, Rows};
use crate::spill::QuadSorter;

/// A table of fewer cells than this is written on one thread: starting others takes longer than to encode these.
const SHARED_CELLS_MIN: usize = 1 << 14;

/// Subjects that are no rows and are read at a time.
const LOOSE_SUBJECTS: usize = 1 << 14;

/// Everything that is known before the tables are written.
pub(crate) struct Filling<'a> {
    /// The quads by table and row.
    pub rows: &'a RowSource<'a>,
    /// Home graphs.
    pub charsets: &'a CharacteristicSets,
    /// Tables and rows.
    pub placement: &'a Placement,
    /// Final ids of predicates by index.
    pub predicates: &'a [TermId],
    /// Final ids of graphs by index.
    pub graphs: &'a [TermId],
    /// Worker threads.
    pub threads: usize,
    /// Hears of the rows that are done.
    pub work: WorkCounter<'a>,
}

/// The cells of some rows.
struct Cells {
    /// For each column.
    columns: Vec<ColumnCells>,
    /// The home graph of each row.
    graphs: Vec<u64>,
    /// What no cell takes; objects still have provisional ids.
    irregular: Vec<QuadIds>,
}

/// The cells of one column for some rows; at first provisional ids.
struct ColumnCells {
    /// One for each row, or those of lists back to back.
    values: Vec<u64>,
    /// Where lists end, with a leading 0; empty for single values.
    offsets: Vec<u32>,
}

impl Filling<'_> {
    /// Writes all tables, the irregular quads of their rows to `irregular`.
    pub(crate) fn write_tables(
        &self,
        writer: &mut VersionWriter,
        numbers: &mut TermNumbers,
        irregular: &mut QuadSorter,
    ) -> Result<(), LoadError> {
        std::thread::scope(|scope| {
            let mut finishing = None;
            for (at, table) in self.placement.tables.iter().enumerate() {
                let mut table_writer = writer.begin_table(self.definition(at, table, numbers))?;
                self.fill(at, &mut table_writer, numbers, irregular)?;
                if let Some(previous) = finishing.take() {
                    join(previous)?;
                }
                if self.threads_for(table) > 1 {
                    finishing = Some(scope.spawn(move || table_writer.finish()));
                } else {
                    table_writer.finish()?;
                }
            }
            Ok(finishing.map_or(Ok(()), join)?)
        })
    }

    /// How many threads write a table.
    fn threads_for(&self, table: &PlacedTable) -> usize {
        let cells = table.rows.len() * table.columns.len();
        if cells < SHARED_CELLS_MIN {
            1
        } else {
            self.threads
        }
    }

    fn definition(
        &self,
        at: usize,
        table: &PlacedTable,
        numbers: &mut TermNumbers,
    ) -> TableDefinition {
        let shape = &self.placement.schema.tables[at];
        let column = |c: &ColumnShape| ColumnDefinition {
            predicate: self.predicates[c.predicate as usize],
            type_class: store_class(c.type_class),
            kind: if c.multi_valued {
                ColumnKind::List
            } else {
                ColumnKind::Single
            },
            wants_inverse: c.type_class == TypeClass::Resource,
            link_target: c.link_target,
        };
        let mut graphs = table
            .rows
            .iter()
            .map(|r| self.charsets.home_graphs[*r as usize]);
        let first = graphs.next().unwrap_or(0);
        let home_graph = if graphs.all(|g| g == first) {
            HomeGraph::Constant(self.graphs[first as usize])
        } else {
            HomeGraph::Column
        };
        TableDefinition {
            name: shape.name.clone(),
            classes: shape
                .class
                .map(|c| TermId(numbers.resources.finalise(c)))
                .into_iter()
                .collect(),
            first_ordinal: table.first_ordinal,
            rows: table.rows.len() as u32,
            columns: table.columns.iter().map(column).collect(),
            home_graph,
        }
    }

    fn fill(
        &self,
        table_idx: usize,
        writer: &mut TableWriter,
        numbers: &mut TermNumbers,
        irregular: &mut QuadSorter,
    ) -> Result<(), LoadError> {
        let table = &self.placement.tables[table_idx];
        let rows = table.rows.len();
        let threads = self.threads_for(table);
        let mut stream = self.rows.rows_of(table_idx);
        let segments: Vec<Range<usize>> = (0..rows)
            .step_by(SEGMENT_ROWS)
            .map(|start| start..(start + SEGMENT_ROWS).min(rows))
            .collect();
        let has_graphs = writer.definition().home_graph == HomeGraph::Column;
        for batch in segments.chunks(threads * 2) {
            let first = batch[0].start;
            let quads = stream.next(&table.rows[first..batch[batch.len() - 1].end])?;
            let mut cells = parallel_map(threads, batch, |range| {
                self.deal(table, &quads, first, range.clone())
            });
            drop(quads);
            for (segment, column) in cells
                .iter_mut()
                .flat_map(|s| s.columns.iter_mut().zip(&table.columns))
            {
                numbers.finalise(column.type_class, &mut segment.values);
            }
            let columns: Vec<&ColumnCells> = cells.iter().flat_map(|s| &s.columns).collect();
            let encoded = parallel_map(threads, &columns, |c| encode_segment(&c.as_segment()));
            let mut encoded = encoded.into_iter();
            for segment in &mut cells {
                for (at, encoded) in encoded.by_ref().take(table.columns.len()).enumerate() {
                    writer.push(at, encoded)?;
                }
                if has_graphs {
                    writer.graph_segment(&segment.graphs)?;
                }
                irregular.append(&mut segment.irregular)?;
            }
            self.work.add(batch.iter().map(|s| s.len() as u64).sum())?;
        }
        Ok(())
    }

    /// Deals the quads of some rows out to the columns; `quads` begin with row `first`.
    fn deal(
        &self,
        table: &PlacedTable,
        quads: &Rows<'_>,
        first: usize,
        range: Range<usize>,
    ) -> Cells {
        let rows = range.len();
        let empty = |c: &ColumnShape| match c.multi_valued {
            true => ColumnCells {
                values: Vec::with_capacity(rows),
                offsets: vec![0],
            },
            false => ColumnCells {
                values: vec![0; rows],
                offsets: Vec::new(),
            },
        };
        let mut cells = Cells {
            columns: table.columns.iter().map(empty).collect(),
            graphs: Vec::with_capacity(rows),
            irregular: Vec::new(),
        };
        for (at, row) in range.enumerate() {
            let rank = table.rows[row];
            let of_row = quads.quads_of(row - first, rank);
            self.deal_row(table, of_row, (row, at), &mut cells);
            for column in cells.columns.iter_mut().filter(|c| !c.offsets.is_empty()) {
                column.offsets.push(column.values.len() as u32);
            }
        }
        cells
    }

    /// Deals the quads of one row out; it is row `at` of these cells.
    fn deal_row(
        &self,
        table: &PlacedTable,
        quads: &[Quad],
        (row, at): (usize, usize),
        cells: &mut Cells,
    ) {
        let rank = table.rows[row] as usize;
        let home = self.charsets.home_graphs[rank];
        cells.graphs.push(self.graphs[home as usize].0);
        for run in quads.chunk_by(|a, b| a.predicate == b.predicate) {
            let (first, columns) = table.columns_of(run[0].predicate);
            for quad in run {
                let class = TypeClass::of(quad.object);
                let column = columns
                    .iter()
                    .position(|c| c.type_class == class)
                    .map(|i| first + i);
                let taken = column.is_some_and(|column| {
                    quad.graph == home
                        && !self.placement.is_moved(row as u32, column)
                        && cells.columns[column].take(at, quad.object)
                });
                if !taken {
                    cells.irregular.push(QuadIds {
                        subject: TermId::resource(table.first_ordinal + row as u64),
                        predicate: self.predicates[quad.predicate as usize],
                        object: quad.object,
                        graph: self.graphs[quad.graph as usize],
                    });
                }
            }
        }
    }

    /// The quads of subjects that are no rows; objects still have provisional ids.
    pub(crate) fn loose_quads(
        &self,
        gathered: &Gathered,
        numbers: &ResourceNumbers,
        irregular: &mut QuadSorter,
    ) -> Result<(), LoadError> {
        let mut stream = self.rows.rows_of(self.placement.tables.len());
        for ranks in self.placement.loose.chunks(LOOSE_SUBJECTS) {
            let rows = stream.next(ranks)?;
            for (at, &rank) in ranks.iter().enumerate() {
                let subject = numbers.id(gathered.subjects[rank as usize]);
                for quad in rows.quads_of(at, rank) {
                    irregular.push(QuadIds {
                        subject,
                        predicate: self.predicates[quad.predicate as usize],
                        object: quad.object,
                        graph: self.graphs[quad.graph as usize],
                    })?;
                }
            }
        }
        Ok(())
    }
}

impl ColumnCells {
    /// Puts a value into the cell of row `at`, unless it holds one value and is full.
    #[inline]
    fn take(&mut self, at: usize, object: TermId) -> bool {
        if !self.offsets.is_empty() {
            self.values.push(object.0);
            return true;
        }
        let cell = &mut self.values[at];
        let free = *cell == 0;
        if free {
            *cell = object.0;
        }
        free
    }

    fn as_segment(&self) -> SegmentValues<'_> {
        if self.offsets.is_empty() {
            SegmentValues::Single(&self.values)
        } else {
            SegmentValues::Lists {
                offsets: &self.offsets,
                values: &self.values,
            }
        }
    }
}

fn join(
    thread: std::thread::ScopedJoinHandle<'_, Result<(), StoreError>>,
) -> Result<(), StoreError> {
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
