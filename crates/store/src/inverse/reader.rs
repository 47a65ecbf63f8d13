//! `InverseReader`: how many rows values have, and which, asked for one value after the other, of which as much is read as is asked for.
//!
//! Opening a chunk of a sequence costs several times what an entry of it does, so the chunks read last stay open where an inverse
//! has sequences that are read by place. Invariant: counts are those of the [`Inverse`], and a list has the rows that it finds, ascending.

use super::chunked_sequence::Cursor;
use super::{Adjacency, Bitmaps, Inverse, Permutation, push_rows};
use roaring::RoaringBitmap;
use std::ops::Range;

/// See the [module documentation](self).
pub(crate) enum InverseReader<'a> {
    /// With its offsets and its rows.
    Adjacency(&'a Adjacency, Box<(Cursor<'a>, Cursor<'a>)>),
    /// With its rows.
    Permutation(&'a Permutation, Box<Cursor<'a>>),
    Bitmaps(&'a Bitmaps),
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

impl<'a> InverseReader<'a> {
    pub(crate) fn new(inverse: &'a Inverse) -> Self {
        match inverse {
            Inverse::Adjacency(inverse) => Self::Adjacency(inverse, Box::new(inverse.sequences())),
            Inverse::Permutation(inverse) => Self::Permutation(inverse, Box::new(inverse.rows())),
            Inverse::Bitmaps(inverse) => Self::Bitmaps(inverse),
        }
    }

    /// The sequence of rows, where there is one.
    fn rows(&mut self) -> Option<&mut Cursor<'a>> {
        match self {
            Self::Adjacency(_, cursors) => Some(&mut cursors.1),
            Self::Permutation(_, rows) => Some(rows),
            Self::Bitmaps(_) => None,
        }
    }

    /// The number of rows of a value.
    pub(crate) fn count(&mut self, value: u64) -> u64 {
        match self {
            Self::Adjacency(inverse, cursors) => inverse.range(&mut cursors.0, value).len() as u64,
            Self::Permutation(inverse, _) => inverse.range(value).len() as u64,
            // It needs no bitmap.
            Self::Bitmaps(inverse) => inverse.count_in(value, value),
        }
    }

    /// The row with this number, from 0, among those of a value; `None` if it has no more than so many.
    pub(crate) fn nth(&mut self, value: u64, number: u64) -> Option<u64> {
        match self.list(value) {
            RowList::Bitmap(rows) => Some(u64::from(rows?.select(u32::try_from(number).ok()?)?)),
            RowList::Places(places) => {
                let place = places.start.checked_add(usize::try_from(number).ok()?)?;
                let rows = self.rows()?;
                (place < places.end).then(|| rows.get(place))
            }
        }
    }

    /// The rows of a value.
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
        match list {
            RowList::Bitmap(rows) => {
                let rows = rows.iter().flat_map(|rows| rows.iter());
                out.extend(rows.take_while(|&row| row < rows_max));
            }
            RowList::Places(places) => {
                numbers.clear();
                if let Some(rows) = self.rows() {
                    rows.decode(places.clone(), numbers);
                }
                push_rows(numbers, rows_max, out);
            }
        }
    }

    /// Whether a list has a row, by halves.
    pub(crate) fn contains(&mut self, list: &RowList<'_>, row: u32) -> bool {
        let places = match list {
            RowList::Bitmap(rows) => return rows.is_some_and(|rows| rows.contains(row)),
            RowList::Places(places) => places.clone(),
        };
        let Some(rows) = self.rows() else {
            return false;
        };
        let Range { mut start, mut end } = places;
        while start < end {
            let middle = start + (end - start) / 2;
            let there = rows.get(middle);
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
