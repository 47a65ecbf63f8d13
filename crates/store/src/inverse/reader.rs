//! `InverseReader`: how many rows values have, and which, asked for one value after the other.
//!
//! Opening a chunk of a sequence costs several times what an entry of it does, so the chunks read last stay open where an inverse
//! has sequences that are read by place. Invariant: the answers are those of the [`Inverse`].

use super::Inverse;
use super::adjacency::AdjacencyReader;

/// See the [module documentation](self).
pub(crate) enum InverseReader<'a> {
    Adjacency(Box<AdjacencyReader<'a>>),
    Other(&'a Inverse),
}

impl<'a> InverseReader<'a> {
    pub(crate) fn new(inverse: &'a Inverse) -> Self {
        match inverse {
            Inverse::Adjacency(inverse) => Self::Adjacency(Box::new(inverse.reader())),
            other => Self::Other(other),
        }
    }

    /// The number of rows of a value.
    pub(crate) fn count(&mut self, value: u64) -> u64 {
        match self {
            Self::Adjacency(reader) => reader.count(value),
            Self::Other(inverse) => inverse.count(value),
        }
    }

    /// The row with this number, from 0, among those of a value; `None` if it has no more than so many.
    pub(crate) fn nth(&mut self, value: u64, number: u64) -> Option<u64> {
        match self {
            Self::Adjacency(reader) => reader.nth(value, number),
            Self::Other(inverse) => inverse.nth(value, number),
        }
    }
}
