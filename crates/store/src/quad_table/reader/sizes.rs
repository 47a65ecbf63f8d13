//! What the quads of each predicate take in the two orders, for reports.

use super::{QuadTable, SortedQuads};
use basalt_rdf::TermId;
use std::ops::Range;

/// The irregular quads of one predicate and the bytes of their blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredicateSizes {
    /// The predicate.
    pub predicate: TermId,
    /// Its quads.
    pub quads: u64,
    /// Bytes in the order by subject.
    pub psog_bytes: u64,
    /// Bytes in the order by object.
    pub posg_bytes: u64,
}

impl QuadTable {
    /// Sizes by predicate, ascending by predicate.
    pub(crate) fn predicate_sizes(&self) -> Vec<PredicateSizes> {
        let sizes = self.predicates.iter().map(|p| PredicateSizes {
            predicate: p.predicate,
            quads: p.counts.quads,
            psog_bytes: block_bytes(&self.psog, p.psog.clone()),
            posg_bytes: block_bytes(&self.posg, p.posg.clone()),
        });
        sizes.collect()
    }
}

fn block_bytes(order: &SortedQuads, blocks: Range<usize>) -> u64 {
    let blocks = order.directory[blocks].iter();
    blocks.map(|block| u64::from(block.bytes)).sum()
}
