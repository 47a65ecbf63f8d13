//! The quad table: the irregular quads, in two sorted orders.
//!
//! Each order, PSOG and POSG, is a sequence of blocks of up to [`BLOCK_QUADS`] quads of one
//! predicate; a block holds three encoded sequences (subjects, objects, graphs). The directory
//! of blocks with the first and last key of each stays in memory, 32 bytes a block. A lookup is a
//! binary search in the directory and one in a block; a key that no block can hold costs no more
//! than the first.
//!
//! Invariants: both orders hold the same quads; within an order they ascend without repeats;
//! a block belongs to one predicate.

mod block;
mod reader;
mod sorted_writer;
#[cfg(test)]
mod tests;
mod writer;

pub use reader::{PredicateSizes, QuadTable};
pub(crate) use sorted_writer::write_sorted;
pub(crate) use writer::write;

/// Quads of a block: decoding one costs about a microsecond, and its directory entry little
/// beside it.
pub const BLOCK_QUADS: usize = 1024;
/// The file of the quad table.
pub(crate) const FILE_NAME: &str = "quads";

/// The irregular quads of one predicate, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PredicateQuads {
    /// Quads.
    pub quads: u64,
    /// Distinct subjects.
    pub subjects: u64,
    /// Distinct objects.
    pub objects: u64,
}

/// One of the two orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// By predicate, subject, object, graph.
    Psog,
    /// By predicate, object, subject, graph.
    Posg,
}

impl Order {
    /// The section of blocks.
    pub(crate) const fn blocks_section(self) -> &'static str {
        match self {
            Self::Psog => "psog",
            Self::Posg => "posg",
        }
    }

    /// The section of the block directory.
    pub(crate) const fn directory_section(self) -> &'static str {
        match self {
            Self::Psog => "psog-directory",
            Self::Posg => "posg-directory",
        }
    }
}
