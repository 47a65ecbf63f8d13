//! Lists: the cells of a multi-valued column, as offsets into one sequence of values.
//!
//! Invariant: whatever the offsets hold, every list lies inside the values and the counts add up
//! to the values given out. Cost: a row is two offsets and its values; many rows decode all offsets
//! once.

use std::ops::Range;

use crate::ColumnError;
use crate::codec::{self, CodecKind, Sequence};

/// Gathering one row in this many decodes all offsets (an offset costs about this many times a
/// decoded one).
const DECODE_SHARE: usize = 16;

/// Whether the values of each list ascend.
pub(super) fn ascend(offsets: &[u64], values: &[u64]) -> bool {
    let mut lists = offsets.windows(2);
    lists.all(|ends| values[ends[0] as usize..ends[1] as usize].is_sorted())
}

/// Appends offsets and values.
pub(super) fn write(offsets: &[u64], values: &[u64], out: &mut Vec<u8>) {
    codec::encode(offsets, out);
    codec::encode(values, out);
}

/// A view of offsets and values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lists<'a> {
    /// Where each row's values begin, and the end of the last.
    offsets: Sequence<'a>,
    /// The values, row by row.
    values: Sequence<'a>,
    /// Whether the values of each row are known to ascend.
    ascend: bool,
}

impl<'a> Lists<'a> {
    /// Opens the lists at the start of `bytes`; also tells how many bytes they take.
    pub(super) fn open(
        bytes: &'a [u8],
        rows: usize,
        ascend: bool,
    ) -> Result<(Self, usize), ColumnError> {
        let (offsets, at) = Sequence::open(bytes)?;
        if offsets.len() != rows + 1 {
            let what = format!("{} offsets for {rows} rows", offsets.len());
            return Err(ColumnError::corrupt(what));
        }
        let (values, used) = Sequence::open(&bytes[at..])?;
        let end = offsets.get(rows);
        if end != values.len() as u64 {
            let what = format!("lists end at {end} of {} values", values.len());
            return Err(ColumnError::corrupt(what));
        }
        let lists = Self {
            offsets,
            values,
            ascend,
        };
        Ok((lists, at + used))
    }

    /// The codec of the values.
    pub(super) fn value_codec(&self) -> CodecKind {
        self.values.kind()
    }

    /// A range inside the values from two offsets.
    #[inline]
    fn clamp(&self, start: u64, end: u64) -> Range<usize> {
        let len = self.values.len() as u64;
        let start = start.min(len);
        start as usize..end.clamp(start, len) as usize
    }

    /// The positions of a row's values.
    #[inline]
    fn range(&self, row: usize) -> Range<usize> {
        let (start, end) = self.offsets.get_pair(row);
        self.clamp(start, end)
    }

    /// The positions of the values of consecutive rows.
    fn range_of(&self, rows: &Range<usize>) -> Range<usize> {
        self.clamp(self.offsets.get(rows.start), self.offsets.get(rows.end))
    }

    /// All offsets, made ascending and inside the values.
    fn all_offsets(&self, rows: Range<usize>) -> Vec<u64> {
        let mut offsets = Vec::with_capacity(rows.len() + 1);
        self.offsets.decode(rows.start..rows.end + 1, &mut offsets);
        let mut before = 0;
        for offset in &mut offsets {
            *offset = (*offset).clamp(before, self.values.len() as u64);
            before = *offset;
        }
        offsets
    }

    /// The first value of a row, or 0.
    pub(super) fn first(&self, row: usize) -> u64 {
        let range = self.range(row);
        if range.is_empty() {
            0
        } else {
            self.values.get(range.start)
        }
    }

    /// The number of a row's values.
    pub(super) fn count(&self, row: usize) -> usize {
        self.range(row).len()
    }

    pub(super) fn decode_row(&self, row: usize, out: &mut Vec<u64>) {
        self.values.decode(self.range(row), out);
    }

    /// Gives the positions of the values of each row. Of many rows all offsets are decoded.
    fn each_range(&self, rows: &[u32], mut visit: impl FnMut(Range<usize>)) {
        let row_count = self.offsets.len() - 1;
        if rows.len() * DECODE_SHARE >= row_count {
            let offsets = self.all_offsets(0..row_count);
            for &row in rows {
                visit(offsets[row as usize] as usize..offsets[row as usize + 1] as usize);
            }
        } else {
            for &row in rows {
                visit(self.range(row as usize));
            }
        }
    }

    pub(super) fn gather(&self, rows: &[u32], counts: &mut Vec<u32>, values: &mut Vec<u64>) {
        // Ranges that touch are decoded together.
        let mut pending = 0..0;
        self.each_range(rows, |range| {
            counts.push(range.len() as u32);
            if range.start == pending.end {
                pending.end = range.end;
            } else {
                self.values.decode(pending.clone(), values);
                pending = range;
            }
        });
        self.values.decode(pending, values);
    }

    /// Gives the positions of the rows that have the value in the same place.
    pub(super) fn holding(&self, rows: &[u32], wanted: &[u64], mut found: impl FnMut(usize)) {
        let mut list = Vec::new();
        let mut place = 0;
        self.each_range(rows, |range| {
            if self.holds(range, wanted[place], &mut list) {
                found(place);
            }
            place += 1;
        });
    }

    /// Whether some position of the range has the value; `list` is scratch.
    #[inline]
    fn holds(&self, range: Range<usize>, value: u64, list: &mut Vec<u64>) -> bool {
        if self.ascend {
            return self.values.holds(range, value);
        }
        list.clear();
        self.values.decode(range, list);
        list.contains(&value)
    }

    pub(super) fn decode(&self, rows: Range<usize>, counts: &mut Vec<u32>, values: &mut Vec<u64>) {
        let offsets = self.all_offsets(rows);
        counts.extend(offsets.windows(2).map(|pair| (pair[1] - pair[0]) as u32));
        let ends = (offsets.first(), offsets.last());
        if let (Some(&start), Some(&end)) = ends {
            self.values.decode(start as usize..end as usize, values);
        }
    }

    pub(super) fn find_in_range(
        &self,
        within: Range<usize>,
        low: u64,
        high: u64,
        out: &mut Vec<u32>,
    ) -> usize {
        let base = within.start;
        let of_within = self.range_of(&within);
        let compared = of_within.len();
        let mut positions = Vec::new();
        self.values
            .find_in_range(of_within, low, high, &mut positions);
        if positions.is_empty() {
            return compared;
        }
        let offsets = self.all_offsets(within);
        let mut row = 0;
        let mut next = 0;
        // Invariant: offsets[row] <= position for the positions to come. `next` is the first row
        // that is not given out yet.
        for position in positions {
            while row + 1 < offsets.len() && offsets[row + 1] <= u64::from(position) {
                row += 1;
            }
            if row + 1 < offsets.len() && row >= next && offsets[row] <= u64::from(position) {
                out.push((base + row) as u32);
                next = row + 1;
            }
        }
        compared
    }

    pub(super) fn present_rows_into(&self, within: Range<usize>, out: &mut Vec<u32>) {
        let first = within.start as u32;
        let offsets = self.all_offsets(within);
        let rows = offsets
            .windows(2)
            .zip(first..)
            .filter(|(pair, _)| pair[0] < pair[1]);
        out.extend(rows.map(|(_, row)| row));
    }

    pub(super) fn validate_deep(&self) -> Result<(), ColumnError> {
        self.offsets.validate_deep()?;
        self.values.validate_deep()?;
        super::refuse_zeros(&self.values)?;
        let mut offsets = Vec::new();
        self.offsets.decode(0..self.offsets.len(), &mut offsets);
        if offsets[0] != 0 || !offsets.is_sorted() {
            return Err(ColumnError::corrupt("list offsets out of order"));
        }
        if self.ascend {
            let mut values = Vec::new();
            self.values.decode(0..self.values.len(), &mut values);
            if !ascend(&offsets, &values) {
                return Err(ColumnError::corrupt("values of a list out of order"));
            }
        }
        Ok(())
    }
}
