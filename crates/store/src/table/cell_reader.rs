//! `CellReader`: the cells of one predicate, read one row or one object after the other.
//!
//! A segment is opened in constant time, but that costs several times what a value does. So each column's segment that was read last stays
//! open, and so do the parts of its inverse: rows that are looked at here and there, ascending, open each segment once.
//! Invariant: values and counts are those of [`Cells`](super::Cells), rows by number those that it finds.

use super::column::{Column, first_row, segment_of};
use crate::inverse::InverseReader;
use crate::last_open::LastOpen;
use basalt_columns::segment::Segment;
use basalt_rdf::TermId;

/// Reads the cells of one predicate in one table, one row or one object after the other; what was read last stays open.
pub struct CellReader<'a> {
    rows: u32,
    columns: Vec<OpenColumn<'a>>,
}

/// A column with what is open of it.
struct OpenColumn<'a> {
    column: &'a Column,
    segment: LastOpen<Segment<'a>>,
    inverse: Option<InverseReader<'a>>,
}

impl<'a> CellReader<'a> {
    pub(super) fn new(rows: u32, columns: impl Iterator<Item = &'a Column>) -> Self {
        let opened = |column: &'a Column| OpenColumn {
            column,
            segment: LastOpen::nothing(),
            inverse: column.inverse.as_ref().map(InverseReader::new),
        };
        Self {
            rows,
            columns: columns.map(opened).collect(),
        }
    }

    /// Appends all values of a row, as [`Cells::values_into`](super::Cells::values_into) does.
    pub fn values_into(&mut self, row: u32, out: &mut Vec<u64>) {
        for open in &mut self.columns {
            let local = row - first_row(segment_of(row));
            open.segment(segment_of(row)).list_into(local as usize, out);
        }
    }

    /// The number of values of a row, as [`Cells::value_count`](super::Cells::value_count) tells it.
    pub fn value_count(&mut self, row: u32) -> usize {
        let local = (row - first_row(segment_of(row))) as usize;
        let columns = self.columns.iter_mut();
        columns
            .map(|open| open.segment(segment_of(row)).value_count(local))
            .sum()
    }

    /// The exact number of cells with this value, as [`Cells::count_object`](super::Cells::count_object) tells it.
    pub fn count_object(&mut self, object: TermId) -> Option<u64> {
        let mut count = 0;
        for open in &mut self.columns {
            if open.column.definition.type_class.takes(object) {
                count += open.inverse.as_mut()?.count(object.0);
            }
        }
        Some(count)
    }

    /// The row with this number, from 0, among those with this value in ascending order; `None` if there are no more than so
    /// many, or no inverse can tell.
    pub fn nth_with(&mut self, object: TermId, number: u64) -> Option<u32> {
        let mut columns = self.columns.iter_mut();
        // Type classes do not overlap, so at most one column takes the value.
        let open = columns.find(|open| open.column.definition.type_class.takes(object))?;
        let row = open.inverse.as_mut()?.nth(object.0, number)?;
        u32::try_from(row).ok().filter(|row| *row < self.rows)
    }
}

impl<'a> OpenColumn<'a> {
    fn segment(&mut self, segment_idx: usize) -> &Segment<'a> {
        let column = self.column;
        let open = || column.segment(segment_idx);
        self.segment.get(segment_idx, open)
    }
}
