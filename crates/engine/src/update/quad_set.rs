//! `QuadSet`: quads that an operation removes or adds, each once.
//!
//! Invariant: its memory is asked for before it is taken. Cost: a hash and a place of [`ENTRY_BYTES`] for each quad.

use basalt_store::QuadIds;
use std::collections::HashSet;

/// Bytes that a quad takes in the set: four ids, with the share of free places and control bytes.
pub(super) const ENTRY_BYTES: usize = 56;
/// Places that a set begins with.
const ENTRIES_MIN: usize = 64;

/// A set of quads.
#[derive(Debug, Default)]
pub(super) struct QuadSet {
    quads: HashSet<QuadIds>,
}

impl QuadSet {
    /// Adds a quad; `reserve` is asked for more memory where it is needed.
    pub(super) fn insert<E>(
        &mut self,
        quad: QuadIds,
        reserve: impl FnOnce(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.quads.len() == self.quads.capacity() {
            let more = self.quads.len().max(ENTRIES_MIN);
            reserve(more * ENTRY_BYTES)?;
            self.quads.reserve(more);
        }
        self.quads.insert(quad);
        Ok(())
    }

    /// Whether a quad is in it.
    pub(super) fn contains(&self, quad: &QuadIds) -> bool {
        self.quads.contains(quad)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.quads.len()
    }

    /// The quads in order, so that the same update makes the same record.
    pub(super) fn into_sorted(self) -> Vec<QuadIds> {
        let mut quads: Vec<QuadIds> = self.quads.into_iter().collect();
        quads.sort_unstable();
        quads
    }
}
