//! `DealtRows`: rows of many groups, put into partitions by their keys before they are grouped.
//!
//! ```text
//! batch      ->  the rows of each partition, in blocks           8 bytes a cell, written one after the other
//! partition  ->  blocks -> an aggregator of its own              a table that lies in the nearer caches
//! ```
//!
//! Where hardly a row has the key of another, an aggregator for all of them waits for memory with each, and threads that have one each do the same
//! work again when these are merged. So rows wait here, and the threads group them partition by partition, each of which one
//! thread does.
//!
//! Invariant: what waits is bounded ([`WAITING_PARTS`]); beyond, the partitions are grouped one after the other, and wait as groups. Cost: a hash and a copy of
//! each cell, and a look-up that waits for no memory (`docs/decisions/0043-groups-in-partitions.md`).

use super::Aggregator;
use super::spilling::Grouping;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::partitioning::{PARTITIONS, partition_of, positions_by};
use crate::row_numbers::hash_rows;
use crate::selection::taken;
use crate::spill::share_bytes;

/// Of an operator's share of memory on a thread, the rows that wait may take one part in so many.
const WAITING_PARTS: usize = if cfg!(test) { 1 << 5 } else { 4 };

/// Rows of a block.
const BLOCK_ROWS: usize = if cfg!(test) { 16 } else { 1 << 10 };

/// Rows by partition; see the [module documentation](self).
pub struct DealtRows {
    parts: Vec<Part>,
    /// Bytes of the blocks that wait.
    waiting: usize,
}

/// What is in a partition.
#[derive(Default)]
pub struct Part {
    /// Groups that were made before.
    pub groups: Option<Aggregator>,
    /// Rows that wait, a block each.
    pub blocks: Vec<Batch>,
    /// The last rows, by column.
    last: Vec<Vec<u64>>,
}

impl Part {
    /// How many groups there are at most.
    pub fn groups_max(&self) -> usize {
        let groups = self
            .groups
            .as_ref()
            .map_or(0, |groups| groups.groups.count());
        groups + self.blocks.iter().map(Batch::rows).sum::<usize>()
    }

    /// Makes a block of the last rows; gives its bytes.
    fn close(&mut self) -> usize {
        let rows = self.last.first().map_or(0, Vec::len);
        if rows == 0 {
            return 0;
        }
        let columns = self.last.iter_mut().map(std::mem::take).collect();
        let block = Batch::from_vectors(columns, rows);
        let bytes = block.bytes();
        self.blocks.push(block);
        bytes
    }
}

impl DealtRows {
    /// No rows.
    pub fn new() -> Self {
        Self {
            parts: std::iter::repeat_with(Part::default)
                .take(PARTITIONS)
                .collect(),
            waiting: 0,
        }
    }

    /// Adds rows with keys in these columns, which there are.
    pub fn push(&mut self, batch: &Batch, key_columns: &[usize]) {
        let keys = key_columns.iter().map(|&column| batch.ids(column));
        let keys: Vec<&[u64]> = keys.collect();
        let mut hashes = vec![0; batch.rows()];
        hash_rows(&keys, 0, &mut hashes);
        let partitions: Vec<u8> = hashes
            .into_iter()
            .map(|hash| partition_of(hash) as u8)
            .collect();
        let (starts, positions) = positions_by(&partitions);
        for (part, range) in self.parts.iter_mut().zip(starts.windows(2)) {
            let positions = &positions[range[0]..range[1]];
            if positions.is_empty() {
                continue;
            }
            part.last.resize_with(batch.width(), Vec::new);
            for (column, last) in part.last.iter_mut().enumerate() {
                if last.is_empty() {
                    last.reserve_exact(BLOCK_ROWS + positions.len());
                }
                last.extend(taken(batch.ids(column), positions));
            }
            if part.last[0].len() >= BLOCK_ROWS {
                self.waiting += part.close();
            }
        }
    }

    /// Groups what waits, if that is too much.
    pub fn group_if_many(&mut self, grouping: &Grouping, cx: &Context) -> Result<(), ExecError> {
        if self.waiting <= share_bytes(cx) / WAITING_PARTS {
            return Ok(());
        }
        for part in &mut self.parts {
            part.close();
            let mut groups = match part.groups.take() {
                Some(groups) => groups,
                None => grouping.aggregator(cx)?,
            };
            for block in part.blocks.drain(..) {
                cx.check()?;
                groups.add(&block, cx)?;
            }
            part.groups = Some(groups);
        }
        self.waiting = 0;
        Ok(())
    }

    /// The partitions.
    pub fn into_parts(mut self) -> Vec<Part> {
        for part in &mut self.parts {
            part.close();
        }
        self.parts
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let groups = self.parts.iter().filter_map(|part| part.groups.as_ref());
        let last = self.parts.iter().flat_map(|part| &part.last);
        let last: usize = last.map(Vec::capacity).sum();
        self.waiting + last * size_of::<u64>() + groups.map(Aggregator::bytes).sum::<usize>()
    }
}
