//! All columns of one predicate in one table, seen as one.
//!
//! What the executor works with. Reading takes rows of the table, answers are appended to the
//! caller's vectors; many rows in an order that jumps between segments are put together by segment first. Cells never tell of irregular quads and of changes: rows
//! that have some are dirty ([`Snapshot::add_dirty_rows`](crate::Snapshot::add_dirty_rows)).

use super::cell_reader::CellReader;
use super::column::{Column, segment_of};
use super::definition::{CellStatistics, ColumnKind};
use super::reader::{PredicateColumns, Table};
use super::value_search::{TOGETHER_SEARCHES, ValueSearch};
use crate::inverse::{ALL_ROWS, Inverse};
use basalt_columns::segment::Zone;
use basalt_rdf::TermId;
use std::ops::{ControlFlow, Range};

/// Rows of which the distance of equal values is asked.
const APART_ROWS: u32 = 8;

/// The cells of one predicate in one table; a cheap view.
#[derive(Clone, Copy, Debug)]
pub struct Cells<'a> {
    table: &'a Table,
    columns: &'a PredicateColumns,
}

impl<'a> Cells<'a> {
    pub(super) fn new(table: &'a Table, columns: &'a PredicateColumns) -> Self {
        Self { table, columns }
    }

    pub(super) fn columns(self) -> impl ExactSizeIterator<Item = &'a Column> {
        let table = self.table;
        self.columns.column_idxs.iter().map(|&i| table.column(i))
    }

    fn first(self) -> &'a Column {
        self.table.column(self.columns.column_idxs[0])
    }

    /// Rows of the table.
    pub(super) fn table_rows(self) -> u32 {
        self.table.rows()
    }

    /// The predicate.
    pub fn predicate(self) -> TermId {
        self.columns.predicate
    }

    /// Whether a row can have several values: there are two columns, or one of lists in which
    /// some list has more than one value.
    pub fn multi_valued(self) -> bool {
        let statistics = self.statistics();
        // Lists of at most one value are encoded as single values.
        let lists = self.first().definition.kind == ColumnKind::List
            && statistics.values != statistics.rows_with_value;
        self.columns.column_idxs.len() > 1 || lists
    }

    /// Whether every row has exactly one value.
    pub fn full(self) -> bool {
        !self.multi_valued() && self.statistics().values == u64::from(self.table.rows())
    }

    /// What is known of all these cells.
    pub fn statistics(self) -> &'a CellStatistics {
        &self.columns.statistics
    }

    /// The first value of a row, or [`TermId::UNBOUND`].
    pub fn value(self, row: u32) -> TermId {
        let value = self.columns().map(|c| c.value(row)).find(|&v| v != 0);
        TermId(value.unwrap_or_default())
    }

    /// The number of values of a row; reads none of a list.
    pub fn value_count(self, row: u32) -> usize {
        self.columns().map(|column| column.value_count(row)).sum()
    }

    /// A reader for rows and objects that are looked at one after the other.
    pub fn reader(self) -> CellReader<'a> {
        CellReader::new(self.table.rows(), self.columns())
    }

    /// Appends all values of a row.
    pub fn values_into(self, row: u32, out: &mut Vec<u64>) {
        for column in self.columns() {
            column.values_into(row, out);
        }
    }

    /// Appends the value of each of the rows, in any order, 0 where there is none. Of several
    /// values only the first: for single-valued cells.
    pub fn gather(self, rows: &[u32], out: &mut Vec<u64>) {
        self.first().gather(rows, out);
    }

    /// Appends the value of each of consecutive rows, 0 where there is none. For single-valued
    /// cells.
    pub fn scan(self, rows: Range<u32>, out: &mut Vec<u64>) {
        self.first().scan(rows, out);
    }

    /// Appends the number of values of each of the rows, in any order, and the values.
    pub fn gather_lists(self, rows: &[u32], counts: &mut Vec<u32>, values: &mut Vec<u64>) {
        self.each_column_lists((counts, values), |column, counts, values| {
            column.gather_lists(rows, counts, values);
        });
    }

    /// The positions, ascending, of the rows that have the value in the same place of `wanted`, one of several or the only one.
    pub fn holding(self, rows: &[u32], wanted: &[u64]) -> Vec<u32> {
        let mut held = vec![false; rows.len()];
        for column in self.columns() {
            column.mark_holding(rows, wanted, &mut held);
        }
        let places = (0..).zip(&held);
        places
            .filter_map(|(place, held)| held.then_some(place))
            .collect()
    }

    /// Appends the number of values of each of consecutive rows, and the values.
    pub fn scan_lists(self, rows: Range<u32>, counts: &mut Vec<u32>, values: &mut Vec<u64>) {
        self.each_column_lists((counts, values), |column, counts, values| {
            column.scan_lists(rows.clone(), counts, values);
        });
    }

    /// Appends what is read of the only column, or of each by itself and then put together row by row.
    fn each_column_lists(
        self,
        (counts, values): (&mut Vec<u32>, &mut Vec<u64>),
        read: impl Fn(&Column, &mut Vec<u32>, &mut Vec<u64>),
    ) {
        if self.columns.column_idxs.len() == 1 {
            read(self.first(), counts, values);
            return;
        }
        let lists = |column| {
            let (mut counts, mut values) = (Vec::new(), Vec::new());
            read(column, &mut counts, &mut values);
            (counts, values)
        };
        let lists: Vec<(Vec<u32>, Vec<u64>)> = self.columns().map(lists).collect();
        let mut starts = vec![0; lists.len()];
        for row in 0..lists[0].0.len() {
            let before = values.len();
            for ((of_rows, cells), start) in lists.iter().zip(&mut starts) {
                let end = *start + of_rows[row] as usize;
                values.extend_from_slice(&cells[*start..end]);
                *start = end;
            }
            counts.push((values.len() - before) as u32);
        }
    }

    /// The number of segments.
    pub fn segment_count(self) -> usize {
        self.table.segment_count()
    }

    /// The rows of a segment.
    pub fn segment_rows(self, segment_idx: usize) -> Range<u32> {
        self.first().rows_of_segment(segment_idx)
    }

    /// Summary of one segment. With two columns `rows_with_value` is an upper bound.
    pub fn zone(self, segment_idx: usize) -> Zone {
        let mut union = Zone {
            min: u64::MAX,
            max: 0,
            rows_with_value: 0,
            values: 0,
        };
        for column in self.columns() {
            let zone = &column.segments[segment_idx].zone;
            if zone.values > 0 {
                union.min = union.min.min(zone.min);
                union.max = union.max.max(zone.max);
                union.rows_with_value += zone.rows_with_value;
                union.values += zone.values;
            }
        }
        let rows = self.segment_rows(segment_idx).len() as u32;
        union.rows_with_value = union.rows_with_value.min(rows);
        union
    }

    /// Appends the rows that have this value, ascending and without repeats: through an inverse
    /// if there is one, else by looking at the encoded cells of segments whose zone allows it.
    pub fn find(self, object: TermId, out: &mut Vec<u32>) {
        // Type classes do not overlap, so at most one column takes the value.
        for column in self.columns() {
            column.find(object, out);
        }
    }

    /// Whether some cell may have this value, by kind and range of the columns.
    pub fn may_hold(self, object: TermId) -> bool {
        let range = self.statistics().range;
        let within = range.is_some_and(|(low, high)| low <= object && object <= high);
        within
            && self
                .columns()
                .any(|c| c.definition.type_class.takes(object))
    }

    /// Appends those of consecutive rows that have a value, ascending and without repeats.
    pub fn rows_with_value(self, rows: Range<u32>, out: &mut Vec<u32>) {
        let start = out.len();
        for column in self.columns() {
            column.present_rows_into(rows.clone(), out);
        }
        self.merge_columns(start, out);
    }

    /// Appends those of consecutive rows that have a value whose id is from `low` to `high`, ascending and without repeats, by looking
    /// at the encoded cells of segments whose zone allows it. Tells at how many.
    pub fn rows_between(
        self,
        rows: Range<u32>,
        (low, high): (TermId, TermId),
        out: &mut Vec<u32>,
    ) -> usize {
        let start = out.len();
        let mut compared = 0;
        for column in self.columns() {
            compared += column.find_in_rows(rows.clone(), (low.0, high.0), out);
        }
        self.merge_columns(start, out);
        compared
    }

    /// Puts the rows from `start` on, which came column by column, in order and drops repeats.
    fn merge_columns(self, start: usize, out: &mut Vec<u32>) {
        if self.columns.column_idxs.len() > 1 {
            let mut rows = out.split_off(start);
            rows.sort_unstable();
            rows.dedup();
            out.append(&mut rows);
        }
    }

    /// Appends those of consecutive rows that have this value, ascending and without repeats, by looking at the encoded
    /// cells of segments whose zone allows it. Tells at how many.
    pub fn rows_with_object(self, rows: Range<u32>, object: TermId, out: &mut Vec<u32>) -> usize {
        // Type classes do not overlap, so at most one column takes the value.
        let takes = |column: &&Column| column.definition.type_class.takes(object);
        let column = self.columns().find(takes);
        column.map_or(0, |column| {
            column.find_in_rows(rows, (object.0, object.0), out)
        })
    }

    /// Whether a row has this value.
    pub fn has(self, row: u32, object: TermId) -> bool {
        self.columns()
            .filter(|c| c.definition.type_class.takes(object))
            .any(|column| {
                let zone = &column.segments[segment_of(row)].zone;
                if object.0 < zone.min || object.0 > zone.max {
                    return false;
                }
                let mut held = [false];
                column.mark_holding(&[row], &[object.0], &mut held);
                held[0]
            })
    }

    /// Whether [`Self::find`] needs no scan, whatever the value.
    pub fn has_inverse(self) -> bool {
        self.columns().all(|column| column.inverse.is_some())
    }

    /// The kind of inverse for people: `adjacency`, `bitmaps` or `permutation`; of the first
    /// column that has one.
    pub fn inverse_kind(self) -> Option<&'static str> {
        let mut inverses = self.columns().filter_map(|c| c.inverse.as_ref());
        inverses.next().map(Inverse::kind)
    }

    /// The exact number of cells with this value, if an inverse can tell.
    pub fn count_object(self, object: TermId) -> Option<u64> {
        let mut count = 0;
        for column in self.columns() {
            if column.definition.type_class.takes(object) {
                count += column.inverse.as_ref()?.count(object.0);
            }
        }
        Some(count)
    }

    /// How many rows further on the next row with the same value is, on average over some rows: 1 where rows with a value lie beside each
    /// other, and where no inverse tells.
    pub fn rows_apart(self) -> u32 {
        *self.columns.rows_apart.get_or_init(|| {
            let rows = self.table.rows();
            let step = rows / APART_ROWS + 1;
            let mut reader = self.reader();
            let (mut distance, mut steps, mut values) = (0, 0, Vec::new());
            for row in (step / 2..rows).step_by(step as usize) {
                values.clear();
                self.values_into(row, &mut values);
                let Some(&value) = values.first() else {
                    continue;
                };
                let value = TermId(value);
                let count = reader.count_object(value).unwrap_or(0);
                if count < 2 {
                    continue;
                }
                let ends = (reader.nth_with(value, 0), reader.nth_with(value, count - 1));
                if let (Some(first), Some(last)) = ends {
                    distance += u64::from(last.saturating_sub(first));
                    steps += count - 1;
                }
            }
            let apart = (distance as f64 / (steps as f64).max(1.0)).round();
            (apart as u32).max(1)
        })
    }

    /// Adds the exact number of cells with each object to its count; false, and nothing is added, if no inverse can tell.
    pub fn add_counts(self, objects: &[u64], counts: &mut [u64]) -> bool {
        if !self.has_inverse() {
            return false;
        }
        if let Some((low, high)) = self.statistics().range {
            let inverses = self.columns().filter_map(|column| column.inverse.as_ref());
            inverses.for_each(|inverse| inverse.add_counts(&(low.0..=high.0), objects, counts));
        }
        true
    }

    /// Adds the number of rows with each object that are taken (all if `None` says so) to its count; false, and nothing is added, where the objects are too few
    /// to be searched together, or an inverse finds them.
    pub fn add_counts_together(
        self,
        objects: &[u64],
        taken: &dyn Fn(&[u32]) -> Option<Vec<bool>>,
        counts: &mut [u64],
    ) -> bool {
        let are_many = objects.len() >= TOGETHER_SEARCHES as usize && !self.has_inverse();
        if are_many {
            let mut search = ValueSearch::new(objects);
            self.columns().for_each(|column| search.search(column));
            search.add_counts(taken, counts);
        }
        are_many
    }

    /// For each object appends the number of its rows, and the rows ascending. Many objects are searched together where a column
    /// has no inverse.
    pub fn find_many(self, objects: &[u64], counts: &mut Vec<u32>, rows: &mut Vec<u32>) {
        counts.reserve(objects.len());
        if self.columns.column_idxs.len() == 1
            && let Some(inverse) = &self.first().inverse
        {
            let all = (&ALL_ROWS, self.table.rows());
            inverse.find_many(objects, all, counts, rows);
            return;
        }
        if objects.len() >= TOGETHER_SEARCHES as usize && !self.has_inverse() {
            let mut search = ValueSearch::new(objects);
            // Type classes do not overlap, so at most one column takes a value.
            self.columns().for_each(|column| search.search(column));
            search.finish(counts, rows);
            return;
        }
        for &object in objects {
            let start = rows.len();
            self.find(TermId(object), rows);
            counts.push((rows.len() - start) as u32);
        }
    }

    /// The same of those rows of each object that have these numbers, from 0, among all of its rows. Quick where cells have an inverse.
    pub fn find_part(
        self,
        objects: &[u64],
        part: &Range<usize>,
        counts: &mut Vec<u32>,
        rows: &mut Vec<u32>,
    ) {
        if self.columns.column_idxs.len() == 1
            && let Some(inverse) = &self.first().inverse
        {
            inverse.find_many(objects, (part, self.table.rows()), counts, rows);
            return;
        }
        let mut of_object = Vec::new();
        for &object in objects {
            of_object.clear();
            self.find(TermId(object), &mut of_object);
            let end = of_object.len().min(part.end);
            let found = &of_object[part.start.min(end)..end];
            rows.extend_from_slice(found);
            counts.push(found.len() as u32);
        }
    }

    /// Visits the distinct values with the number of their cells, in ascending order of value
    /// for each column, if every column has an inverse; returns whether it did.
    pub fn visit_distinct(self, visit: &mut dyn FnMut(TermId, u64) -> ControlFlow<()>) -> bool {
        if !self.has_inverse() {
            return false;
        }
        for inverse in self.columns().filter_map(|c| c.inverse.as_ref()) {
            if inverse.visit_keys(visit).is_break() {
                break;
            }
        }
        true
    }
}
