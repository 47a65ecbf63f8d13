//! `SlicePer`: OFFSET and LIMIT for each value of a slot, for subselects inside `GRAPH ?g`.
//!
//! Streams, and keeps the order of its input. Memory: one counter for each value, counted.

use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use hashbrown::HashMap;
use std::hash::RandomState;
use std::ops::Range;

/// The operator; see the [module documentation](self).
pub struct SlicePer {
    input: BoxOperator,
    /// The column of the slot.
    column: usize,
    /// Numbers of the rows of one value that are kept.
    kept: Range<usize>,
    /// Rows seen of each value.
    seen: HashMap<u64, usize, RandomState>,
    held: HeldMemory,
}

impl SlicePer {
    /// Skips `offset` rows of each value in a column, and then produces at most `limit`.
    pub fn new(input: BoxOperator, column: usize, offset: usize, limit: Option<usize>) -> Self {
        let end = limit.map_or(usize::MAX, |limit| offset.saturating_add(limit));
        Self {
            input,
            column,
            kept: offset..end,
            seen: HashMap::default(),
            held: HeldMemory::default(),
        }
    }
}

impl Operator for SlicePer {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        if self.kept.is_empty() {
            return Ok(None);
        }
        while let Some(batch) = self.input.next(cx)? {
            cx.check()?;
            let mut positions = Vec::new();
            for (position, &value) in (0_u32..).zip(batch.ids(self.column)) {
                let seen = self.seen.entry(value).or_insert(0);
                if self.kept.contains(seen) {
                    positions.push(position);
                }
                *seen += 1;
            }
            let bytes = self.seen.len() * 2 * size_of::<(u64, usize)>();
            self.held.grow_to(bytes, "SlicePer", cx)?;
            if positions.len() == batch.rows() {
                return Ok(Some(batch));
            }
            if !positions.is_empty() {
                return Ok(Some(batch.take(&positions)));
            }
        }
        Ok(None)
    }
}
