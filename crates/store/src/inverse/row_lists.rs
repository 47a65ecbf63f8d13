//! `RowLists`: the rows of values, each a list that ascends, of which as much is read as is asked for.
//!
//! The chunks read last stay open from one value to the next. Invariant: a list has the rows that
//! [`Inverse::find`] gives for its value.

use super::chunked_sequence::Cursor;
use super::{Adjacency, Inverse, Permutation, push_rows};
use roaring::RoaringBitmap;
use std::ops::Range;

/// Reads lists of one inverse; see the [module documentation](self).
pub(crate) enum RowLists<'a> {
    Adjacency(&'a Adjacency, Box<(Cursor<'a>, Cursor<'a>)>),
    Permutation(&'a Permutation, Box<Cursor<'a>>),
    Bitmaps(&'a super::Bitmaps),
}

/// Where the rows of a value are.
pub(crate) enum RowList<'a> {
    /// Places of the sequence of rows.
    Places(Range<usize>),
    /// A bitmap of them, if there are any.
    Bitmap(Option<&'a RoaringBitmap>),
}

impl RowList<'_> {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Places(places) => places.len(),
            Self::Bitmap(rows) => rows.map_or(0, |rows| rows.len() as usize),
        }
    }
}

impl<'a> RowLists<'a> {
    pub(crate) fn new(inverse: &'a Inverse) -> Self {
        match inverse {
            Inverse::Adjacency(inverse) => Self::Adjacency(inverse, Box::new(inverse.sequences())),
            Inverse::Permutation(inverse) => Self::Permutation(inverse, Box::new(inverse.rows())),
            Inverse::Bitmaps(inverse) => Self::Bitmaps(inverse),
        }
    }

    /// The list of a value.
    pub(crate) fn list(&mut self, value: u64) -> RowList<'a> {
        let (range, all) = match self {
            Self::Adjacency(inverse, cursors) => {
                (inverse.range(&mut cursors.0, value), cursors.1.len())
            }
            Self::Permutation(inverse, rows) => (inverse.range(value), rows.len()),
            Self::Bitmaps(inverse) => return RowList::Bitmap(inverse.rows(value)),
        };
        // Damaged offsets may say more than there are.
        let end = range.end.min(all);
        RowList::Places(range.start.min(end)..end)
    }

    /// Appends the rows of a list that are less than `rows_max`.
    pub(crate) fn decode(
        &mut self,
        list: &RowList<'_>,
        (numbers, rows_max): (&mut Vec<u64>, u32),
        out: &mut Vec<u32>,
    ) {
        match (self, list) {
            (_, RowList::Bitmap(rows)) => {
                let rows = rows.iter().flat_map(|rows| rows.iter());
                out.extend(rows.take_while(|&row| row < rows_max));
            }
            (Self::Adjacency(_, cursors), RowList::Places(places)) => {
                numbers.clear();
                cursors.1.decode(places.clone(), numbers);
                push_rows(numbers, rows_max, out);
            }
            (Self::Permutation(_, rows), RowList::Places(places)) => {
                numbers.clear();
                rows.decode(places.clone(), numbers);
                push_rows(numbers, rows_max, out);
            }
            (Self::Bitmaps(_), RowList::Places(_)) => {}
        }
    }

    /// Whether a list has a row, by halves.
    pub(crate) fn contains(&mut self, list: &RowList<'_>, row: u32) -> bool {
        let (places, cursor) = match (self, list) {
            (_, RowList::Bitmap(rows)) => return rows.is_some_and(|rows| rows.contains(row)),
            (Self::Adjacency(_, cursors), RowList::Places(places)) => (places, &mut cursors.1),
            (Self::Permutation(_, rows), RowList::Places(places)) => (places, &mut **rows),
            (Self::Bitmaps(_), RowList::Places(_)) => return false,
        };
        let Range { mut start, mut end } = places.clone();
        while start < end {
            let middle = start + (end - start) / 2;
            let there = cursor.get(middle);
            if there == u64::from(row) {
                return true;
            }
            match there < u64::from(row) {
                true => start = middle + 1,
                false => end = middle,
            }
        }
        false
    }
}
