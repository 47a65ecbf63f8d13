//! One column: its segments in the map and its inverse.
//!
//! All segments were opened once with the table, so opening one again cannot fail as long as the
//! file is unchanged; a segment is opened in constant time at each use. Rows given to a column
//! are rows of its table.

use super::definition::{ColumnDefinition, ColumnKind};
use super::format::SegmentEntry;
use super::scattered_rows::ScatteredRows;
use crate::error::StoreError;
use crate::inverse::{Inverse, LazyInverse};
use crate::section_file::SectionSlice;
use basalt_columns::SEGMENT_ROWS;
use basalt_columns::segment::Segment;
use basalt_rdf::TermId;
use std::ops::Range;

/// Rows looked up in a segment at a time: positions fit into a few pages of stack.
const GATHER_ROWS: usize = 1024;

/// Decoding all rows of a segment costs less than looking up one of so many.
const DECODE_SHARE: usize = 16;

/// A column of a table.
#[derive(Debug)]
pub(crate) struct Column {
    /// What the column is.
    pub(crate) definition: ColumnDefinition,
    /// Rows of the table.
    pub(crate) rows: u32,
    /// The cells of all columns of the table.
    pub(crate) cells: SectionSlice,
    /// Directory of segments.
    pub(crate) segments: Vec<SegmentEntry>,
    /// The inverse made with the table.
    pub(crate) inverse: Option<Inverse>,
    /// The inverse made in memory after repeated use.
    pub(crate) lazy: LazyInverse,
}

/// The index of the segment of a row.
pub(crate) const fn segment_of(row: u32) -> usize {
    row as usize / SEGMENT_ROWS
}

/// The first row of a segment.
pub(crate) const fn first_row(segment_idx: usize) -> u32 {
    (segment_idx * SEGMENT_ROWS) as u32
}

/// The rows of a segment, where there are so many in all.
pub(crate) fn rows_of_segment(segment_idx: usize, rows: u32) -> Range<u32> {
    let first = first_row(segment_idx);
    first..rows.min(first + SEGMENT_ROWS as u32)
}

impl Column {
    /// Checks that every segment opens and has the rows it must have.
    pub(crate) fn check_segments(&self) -> Result<(), StoreError> {
        for (i, entry) in self.segments.iter().enumerate() {
            let corrupt = |what: String| {
                let at = self.cells.file_offset() + entry.offset;
                StoreError::corrupt(self.cells.file_name(), at, what)
            };
            let segment = Segment::open(self.segment_bytes(i))
                .map_err(|e| corrupt(format!("segment {i}: {e}")))?;
            let rows = self.rows_of_segment(i);
            if segment.rows() != rows.len() {
                let found = segment.rows();
                return Err(corrupt(format!("segment {i} has {found} rows")));
            }
            if segment.is_list() && self.definition.kind == ColumnKind::Single {
                return Err(corrupt(format!("segment {i} holds lists")));
            }
        }
        Ok(())
    }

    fn segment_bytes(&self, segment_idx: usize) -> &[u8] {
        let entry = &self.segments[segment_idx];
        &self.cells.bytes()[entry.offset as usize..(entry.offset + entry.bytes) as usize]
    }

    /// The rows of a segment.
    pub(crate) fn rows_of_segment(&self, segment_idx: usize) -> Range<u32> {
        rows_of_segment(segment_idx, self.rows)
    }

    /// A segment.
    pub(crate) fn segment(&self, segment_idx: usize) -> Segment<'_> {
        Segment::open(self.segment_bytes(segment_idx))
            .expect("the segment was opened with its table and files do not change")
    }

    /// The first value of a row, or 0.
    pub(crate) fn value(&self, row: u32) -> u64 {
        let segment_idx = segment_of(row);
        let local = row - first_row(segment_idx);
        self.segment(segment_idx).get(local as usize)
    }

    /// The number of values of a row; reads none of a list.
    pub(crate) fn value_count(&self, row: u32) -> usize {
        let segment_idx = segment_of(row);
        let local = (row - first_row(segment_idx)) as usize;
        self.segment(segment_idx).value_count(local)
    }

    /// Appends the values of a row.
    pub(crate) fn values_into(&self, row: u32, out: &mut Vec<u64>) {
        let segment_idx = segment_of(row);
        let local = (row - first_row(segment_idx)) as usize;
        self.segment(segment_idx).list_into(local, out);
    }

    /// Appends the value of each row, 0 where there is none.
    pub(crate) fn gather(&self, rows: &[u32], out: &mut Vec<u64>) {
        match ScatteredRows::of(rows, self.segments.len()) {
            Some(scattered) => self.gather_scattered(&scattered, out),
            None => self.for_runs(rows, |segment, local| segment.gather(local, out)),
        }
    }

    /// Appends the value of each row, segment by segment. A segment of which many rows are wanted is decoded.
    fn gather_scattered(&self, scattered: &ScatteredRows, out: &mut Vec<u64>) {
        let start = out.len();
        out.resize(start + scattered.len(), 0);
        let out = &mut out[start..];
        let (mut cells, mut values) = (Vec::new(), Vec::new());
        for (segment_idx, places, local) in scattered.segments() {
            let (rows, segment) = (self.rows_of_segment(segment_idx), self.segment(segment_idx));
            if local.len() * DECODE_SHARE >= rows.len() {
                cells.clear();
                segment.decode(0..rows.len(), &mut cells);
                for (&place, &row) in places.iter().zip(local) {
                    out[place as usize] = cells[row as usize];
                }
            } else {
                values.clear();
                segment.gather(local, &mut values);
                for (&place, &value) in places.iter().zip(&values) {
                    out[place as usize] = value;
                }
            }
        }
    }

    /// Appends the number of values of each row, and the values.
    pub(crate) fn gather_lists(&self, rows: &[u32], counts: &mut Vec<u32>, values: &mut Vec<u64>) {
        self.for_runs(rows, |segment, local| {
            segment.gather_lists(local, counts, values);
        });
    }

    /// Marks the rows that have the value in the same place of `wanted`.
    pub(crate) fn mark_holding(&self, rows: &[u32], wanted: &[u64], held: &mut [bool]) {
        let Some(scattered) = ScatteredRows::of(rows, self.segments.len()) else {
            let mut start = 0;
            self.for_runs(rows, |segment, local| {
                let places = start..start + local.len();
                let held = &mut held[places.clone()];
                segment.holding(local, &wanted[places.clone()], |place| held[place] = true);
                start = places.end;
            });
            return;
        };
        let mut values = Vec::new();
        for (segment_idx, places, local) in scattered.segments() {
            values.clear();
            values.extend(places.iter().map(|&place| wanted[place as usize]));
            let segment = self.segment(segment_idx);
            segment.holding(local, &values, |at| held[places[at] as usize] = true);
        }
    }

    /// Appends the values of consecutive rows, 0 where there is none.
    pub(crate) fn scan(&self, rows: Range<u32>, out: &mut Vec<u64>) {
        self.for_segments(rows, |segment, local| segment.decode(local, out));
    }

    /// Appends the number of values of each of consecutive rows, and the values.
    pub(crate) fn scan_lists(
        &self,
        rows: Range<u32>,
        counts: &mut Vec<u32>,
        values: &mut Vec<u64>,
    ) {
        self.for_segments(rows, |segment, local| {
            segment.decode_lists(local, counts, values);
        });
    }

    /// Appends those of consecutive rows that have a value from the first to the second, by looking at encoded cells. Tells at how many.
    pub(crate) fn find_in_rows(
        &self,
        rows: Range<u32>,
        (low, high): (u64, u64),
        out: &mut Vec<u32>,
    ) -> usize {
        let mut compared = 0;
        self.find_in_parts(rows, (low, high), out, |segment, local, out| {
            compared += segment.find_in_range(local, low, high, out);
        });
        compared
    }

    /// Appends those of consecutive rows that have a value.
    pub(crate) fn present_rows_into(&self, rows: Range<u32>, out: &mut Vec<u32>) {
        self.find_in_parts(rows, (1, u64::MAX), out, |segment, local, out| {
            segment.present_rows_into(local, out);
        });
    }

    /// Appends those of consecutive rows that `find` appends, counted from the first of their segment; asks segments whose zone allows
    /// a value from the first to the second.
    fn find_in_parts<'a>(
        &'a self,
        rows: Range<u32>,
        (low, high): (u64, u64),
        out: &mut Vec<u32>,
        mut find: impl FnMut(&Segment<'a>, Range<usize>, &mut Vec<u32>),
    ) {
        self.for_parts(rows, |segment_idx, local| {
            if self.segments[segment_idx].zone.may_overlap(low, high) {
                let start = out.len();
                find(&self.segment(segment_idx), local, out);
                add_base(&mut out[start..], first_row(segment_idx));
            }
        });
    }

    /// Whether it is that of the home graphs of rows, which has no predicate.
    pub(crate) fn is_of_graphs(&self) -> bool {
        self.definition.predicate == TermId::UNBOUND
    }

    /// Appends the rows with the value in ascending order.
    pub(crate) fn find(&self, object: TermId, out: &mut Vec<u32>) {
        // The default graph is no kind of term, and a home graph.
        if !self.definition.type_class.takes(object) && !self.is_of_graphs() {
            return;
        }
        if let Some(inverse) = &self.inverse {
            inverse.find(object.0, self.rows, out);
        } else if let Some(lazy) = self.lazy.get_or_count(self, 1) {
            lazy.find(object.0, out);
        } else {
            self.find_in_rows(0..self.rows, (object.0, object.0), out);
        }
    }

    /// Runs over maximal parts of `rows` that lie in one segment, with rows counted from the
    /// segment's first.
    fn for_runs<'a>(&'a self, rows: &[u32], mut visit: impl FnMut(&Segment<'a>, &[u32])) {
        let mut local = [0_u32; GATHER_ROWS];
        let mut at = 0;
        while at < rows.len() {
            let segment_idx = segment_of(rows[at]);
            let first = first_row(segment_idx);
            let segment = self.segment(segment_idx);
            let mut filled = 0;
            // Invariant: local[..filled] are the rows before `at`, all of this segment.
            while at < rows.len() && segment_of(rows[at]) == segment_idx {
                local[filled] = rows[at] - first;
                filled += 1;
                at += 1;
                if filled == GATHER_ROWS {
                    visit(&segment, &local);
                    filled = 0;
                }
            }
            if filled > 0 {
                visit(&segment, &local[..filled]);
            }
        }
    }

    fn for_segments<'a>(
        &'a self,
        rows: Range<u32>,
        mut visit: impl FnMut(&Segment<'a>, Range<usize>),
    ) {
        self.for_parts(rows, |segment_idx, local| {
            visit(&self.segment(segment_idx), local);
        });
    }

    /// Visits the parts of consecutive rows that are in one segment, counted from its first.
    fn for_parts(&self, rows: Range<u32>, mut visit: impl FnMut(usize, Range<usize>)) {
        let mut at = rows.start;
        while at < rows.end {
            let segment_idx = segment_of(at);
            let of_segment = self.rows_of_segment(segment_idx);
            let end = of_segment.end.min(rows.end);
            let local = (at - of_segment.start) as usize..(end - of_segment.start) as usize;
            visit(segment_idx, local);
            at = end;
        }
    }
}

fn add_base(rows: &mut [u32], base: u32) {
    for row in rows {
        *row += base;
    }
}
