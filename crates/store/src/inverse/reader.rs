//! `InverseReader`: how many rows values have, and which, asked for one value after the other.
//!
//! Opening a chunk of a sequence costs several times what an entry of it does, so the chunks read last stay open where an inverse
//! has sequences that are read by place. Invariant: counts are those of the [`Inverse`], rows by number those that it finds.

use super::adjacency::AdjacencyReader;
use super::{Bitmaps, Inverse, Permutation};

/// See the [module documentation](self).
pub(crate) enum InverseReader<'a> {
    Adjacency(Box<AdjacencyReader<'a>>),
    Bitmaps(&'a Bitmaps),
    Permutation(&'a Permutation),
}

impl<'a> InverseReader<'a> {
    pub(crate) fn new(inverse: &'a Inverse) -> Self {
        match inverse {
            Inverse::Adjacency(inverse) => Self::Adjacency(Box::new(inverse.reader())),
            Inverse::Bitmaps(inverse) => Self::Bitmaps(inverse),
            Inverse::Permutation(inverse) => Self::Permutation(inverse),
        }
    }

    /// The number of rows of a value.
    pub(crate) fn count(&mut self, value: u64) -> u64 {
        match self {
            Self::Adjacency(reader) => reader.count(value),
            Self::Bitmaps(inverse) => inverse.count_in(value, value),
            Self::Permutation(inverse) => inverse.count_in(value, value),
        }
    }

    /// The row with this number, from 0, among those of a value; `None` if it has no more than so many.
    pub(crate) fn nth(&mut self, value: u64, number: u64) -> Option<u64> {
        match self {
            Self::Adjacency(reader) => reader.nth(value, number),
            Self::Bitmaps(inverse) => inverse.nth(value, number),
            Self::Permutation(inverse) => inverse.nth(value, number),
        }
    }
}
