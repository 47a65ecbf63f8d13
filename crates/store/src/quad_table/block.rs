//! Blocks of the quad table: three encoded sequences one after the other.
//!
//! The first sequence ascends (it is the leading key after the predicate), the second ascends
//! within equal firsts. Graphs of a block are mostly one and the same, which costs some bytes.

use basalt_columns::ColumnError;
use basalt_columns::codec::{self, Sequence};

/// Entry of the block directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockEntry {
    /// Where the block starts in its section.
    pub(crate) offset: u64,
    /// Its length in bytes.
    pub(crate) bytes: u32,
    /// Its quads.
    pub(crate) quads: u32,
    /// Leading key of its first quad (subject in PSOG, object in POSG).
    pub(crate) first: u64,
    /// Leading key of its last quad.
    pub(crate) last: u64,
}

/// Appends a block of (first, second, graph) keys.
pub(crate) fn encode(keys: &[[u64; 3]], out: &mut Vec<u8>) {
    let mut values = Vec::with_capacity(keys.len());
    for part in 0..3 {
        values.clear();
        values.extend(keys.iter().map(|key| key[part]));
        codec::encode(&values, out);
    }
}

/// An open block.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    /// Leading keys, ascending.
    pub(crate) first: Sequence<'a>,
    /// Second keys, ascending where the leading ones are equal.
    pub(crate) second: Sequence<'a>,
    /// Graphs.
    pub(crate) graphs: Sequence<'a>,
}

impl<'a> Block<'a> {
    /// Opens a block without decoding it.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, ColumnError> {
        let (first, used) = Sequence::open(bytes)?;
        let bytes = bytes.get(used..).unwrap_or_default();
        let (second, used) = Sequence::open(bytes)?;
        let bytes = bytes.get(used..).unwrap_or_default();
        let (graphs, _) = Sequence::open(bytes)?;
        Ok(Self {
            first,
            second,
            graphs,
        })
    }
}
