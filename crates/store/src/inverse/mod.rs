//! Inverses: from a value of a column to the rows that have it.
//!
//! Three forms, chosen by the values when the table is finished:
//!
//! - [`Adjacency`]: the values are resources with dense ordinals (links into a table): an array
//!   of offsets by ordinal, so the neighbours of a row are a slice;
//! - [`Bitmaps`]: few distinct values: a Roaring bitmap each;
//! - [`Permutation`]: anything else: the distinct values sorted, with their rows.
//!
//! Columns without one get a [`LazyInverse`] in memory once they have been searched often.
//! Invariant: an inverse holds exactly the (value, row) pairs of its column; rows of a value
//! ascend. Cost of a lookup: a few cache misses plus the rows.

mod adjacency;
mod bitmaps;
mod chunked_sequence;
mod lazy;
mod permutation;
mod reader;

use crate::byte_stream::{ByteReader, ByteWriter};
use crate::error::StoreError;
use crate::section_file::SectionSlice;
use basalt_rdf::TermId;
use std::ops::{ControlFlow, Range, RangeInclusive};

pub use adjacency::Adjacency;
pub use bitmaps::Bitmaps;
pub(crate) use lazy::{LazyInverse, SortedPairs};
pub use permutation::Permutation;
pub(crate) use reader::{InverseReader, RowList};

const ADJACENCY: u8 = 1;
const BITMAPS: u8 = 2;
const PERMUTATION: u8 = 3;

/// The numbers of all rows of a value.
pub(crate) const ALL_ROWS: Range<usize> = 0..usize::MAX;

/// An inverse of one column.
#[derive(Debug)]
pub enum Inverse {
    /// Rows by dense ordinal.
    Adjacency(Adjacency),
    /// A bitmap for each value.
    Bitmaps(Bitmaps),
    /// Rows sorted by value.
    Permutation(Permutation),
}

/// Builds the inverse of these (value, row) pairs, which come in row order, and appends its
/// bytes. `few` are the distinct values if bitmaps are wanted. Returns the number of distinct
/// values.
pub(crate) fn build(pairs: Vec<(u64, u32)>, few: Option<Vec<u64>>, out: &mut Vec<u8>) -> u64 {
    let mut bytes = ByteWriter::new();
    let distinct = if let Some(values) = few {
        bytes.byte(BITMAPS);
        bitmaps::build(&pairs, &values, &mut bytes)
    } else if let Some((base, span)) = adjacency::dense_range(&pairs) {
        bytes.byte(ADJACENCY);
        adjacency::build(&pairs, base, span, &mut bytes)
    } else {
        bytes.byte(PERMUTATION);
        permutation::build(pairs, &mut bytes)
    };
    out.extend_from_slice(&bytes.finish());
    distinct
}

impl Inverse {
    /// Opens an inverse; reads its directory only.
    pub(crate) fn open(section: &SectionSlice) -> Result<Self, StoreError> {
        let bytes = section.bytes();
        let mut input = ByteReader::new(bytes, section.file_name(), "inverse");
        match input.byte()? {
            ADJACENCY => Adjacency::open(section, &mut input).map(Self::Adjacency),
            BITMAPS => Bitmaps::open(section, &mut input).map(Self::Bitmaps),
            PERMUTATION => Permutation::open(section, &mut input).map(Self::Permutation),
            kind => Err(section.corrupt(0, format!("an inverse is of unknown kind {kind}"))),
        }
    }

    /// The kind, for people.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Adjacency(_) => "adjacency",
            Self::Bitmaps(_) => "bitmaps",
            Self::Permutation(_) => "permutation",
        }
    }

    /// Appends the rows of a value, ascending.
    pub(crate) fn find(&self, value: u64, rows_max: u32, out: &mut Vec<u32>) {
        self.find_many(&[value], (&ALL_ROWS, rows_max), &mut Vec::new(), out);
    }

    /// For each value takes the part of its rows with these numbers, from 0: appends how many there are, and the rows. Rows from
    /// `rows_max` on (there are none in an intact file) are passed over.
    pub(crate) fn find_many(
        &self,
        values: &[u64],
        (part, rows_max): (&Range<usize>, u32),
        counts: &mut Vec<u32>,
        out: &mut Vec<u32>,
    ) {
        match self {
            Self::Adjacency(inverse) => inverse.find_many(values, (part, rows_max), counts, out),
            Self::Bitmaps(inverse) => inverse.find_many(values, (part, rows_max), counts, out),
            Self::Permutation(inverse) => inverse.find_many(values, (part, rows_max), counts, out),
        }
    }

    /// The number of rows of a value.
    pub(crate) fn count(&self, value: u64) -> u64 {
        match self {
            Self::Adjacency(inverse) => inverse.count_in(value, value),
            Self::Bitmaps(inverse) => inverse.count_in(value, value),
            Self::Permutation(inverse) => inverse.count_in(value, value),
        }
    }

    /// The number of cells with a value in the range, bounds included.
    pub(crate) fn count_in(&self, low: u64, high: u64) -> u64 {
        match self {
            Self::Adjacency(inverse) => inverse.count_in(low, high),
            Self::Bitmaps(inverse) => inverse.count_in(low, high),
            Self::Permutation(inverse) => inverse.count_in(low, high),
        }
    }

    /// Adds the number of rows of each value to its count; those out of the range are known to have none.
    pub(crate) fn add_counts(
        &self,
        range: &RangeInclusive<u64>,
        values: &[u64],
        counts: &mut [u64],
    ) {
        if let Self::Adjacency(inverse) = self {
            inverse.add_counts(values, counts);
            return;
        }
        for (count, &value) in counts.iter_mut().zip(values) {
            if range.contains(&value) {
                *count += self.count_in(value, value);
            }
        }
    }

    /// Visits the values in ascending order with the number of their rows.
    pub(crate) fn visit_keys(
        &self,
        visit: &mut dyn FnMut(TermId, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self {
            Self::Adjacency(inverse) => inverse.visit_keys(visit),
            Self::Bitmaps(inverse) => inverse.visit_keys(visit),
            Self::Permutation(inverse) => inverse.visit_keys(visit),
        }
    }
}

/// The entries with these numbers of a range.
fn part_of(range: Range<usize>, part: &Range<usize>) -> Range<usize> {
    let end = range.end.min(range.start.saturating_add(part.end));
    range.start.saturating_add(part.start).min(end)..end
}

/// The rows of one value as numbers of a sequence, appended as rows.
fn push_rows(numbers: &[u64], rows_max: u32, out: &mut Vec<u32>) {
    let rows_max = u64::from(rows_max);
    out.reserve(numbers.len());
    out.extend(
        numbers
            .iter()
            .filter(|&&row| row < rows_max)
            .map(|&row| row as u32),
    );
}
