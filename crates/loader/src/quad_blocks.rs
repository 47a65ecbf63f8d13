//! Blocks of parsed quads, put in by any thread and taken out in the order of the text.
//!
//! A block's place is its input and its number in the input, so the outcome does not depend on which
//! thread was faster.

use std::sync::{Mutex, PoisonError};

use crate::encoder::RawQuad;
use crate::error::LoadError;

/// A block and its place: input, number in the input.
type PlacedBlock = ((u32, usize), Vec<RawQuad>);

/// All parsed quads of a load.
#[derive(Default)]
pub(crate) struct QuadBlocks {
    blocks: Mutex<Vec<PlacedBlock>>,
}

impl QuadBlocks {
    /// Puts a block at its place. Empty blocks are dropped.
    pub(crate) fn put(
        &self,
        input: u32,
        number: usize,
        quads: Vec<RawQuad>,
    ) -> Result<(), LoadError> {
        if !quads.is_empty() {
            let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
            blocks.push(((input, number), quads));
        }
        Ok(())
    }

    /// Number of quads.
    pub(crate) fn quad_count(&self) -> u64 {
        let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.iter().map(|(_, quads)| quads.len() as u64).sum()
    }

    /// The blocks in the order of the text.
    pub(crate) fn into_ordered(self) -> Vec<Vec<RawQuad>> {
        let mut blocks = self
            .blocks
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        blocks.sort_unstable_by_key(|(place, _)| *place);
        blocks.into_iter().map(|(_, quads)| quads).collect()
    }
}
