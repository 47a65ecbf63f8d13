//! `JoinTable`: the build side of a hash join.
//!
//! ```text
//! directory: one u64 per bucket   [ tags: 16 bits, one set per key | head: index + 1 of the first row ]
//! next:      one u32 per row      index + 1 of the next row in the bucket, 0 at the end
//! columns:   the build rows, column by column, in input order
//! ```
//!
//! A probe that finds its tag bit unset ends after one cache line. Built once, read by all threads, counted
//! against the query's memory until the query ends.
//! Memory: 8 bytes per cell, 4 per row for `next`, 8 to 16 per row for the directory.

use super::distinct::hash_row;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;

/// Bits of a directory entry that hold the head of the chain.
const HEAD_BITS: u32 = 48;
const HEAD_MASK: u64 = (1 << HEAD_BITS) - 1;

/// The build side; see the [module documentation](self).
pub struct JoinTable {
    columns: Vec<Vec<u64>>,
    rows: usize,
    key_columns: Vec<usize>,
    directory: Vec<u64>,
    next: Vec<u32>,
}

impl JoinTable {
    /// A table without rows.
    pub fn empty() -> Self {
        Self {
            columns: Vec::new(),
            rows: 0,
            key_columns: Vec::new(),
            directory: vec![0; 2],
            next: Vec::new(),
        }
    }

    /// Builds the table of all rows of `batches`, which have `width` columns, by these key columns.
    pub fn build(
        batches: &[Batch],
        width: usize,
        key_columns: Vec<usize>,
        cx: &Context,
    ) -> Result<Self, ExecError> {
        let rows: usize = batches.iter().map(Batch::rows).sum();
        if rows >= u32::MAX as usize {
            return Err(ExecError::MemoryLimit {
                limit_bytes: cx.options().memory_bytes_max,
                operator: "HashJoin",
            });
        }
        let buckets = (rows * 2).next_power_of_two().max(2);
        let reserved =
            rows * (width * size_of::<u64>() + size_of::<u32>()) + buckets * size_of::<u64>();
        cx.reserve(reserved, "HashJoin")?;
        let columns = (0..width)
            .map(|column| {
                let mut values = Vec::with_capacity(rows);
                batches
                    .iter()
                    .for_each(|batch| values.extend_from_slice(batch.ids(column)));
                values
            })
            .collect();
        let mut table = Self {
            columns,
            rows,
            key_columns,
            directory: vec![0; buckets],
            next: vec![0; rows],
        };
        table.fill();
        Ok(table)
    }

    /// Chains the rows; from the last to the first, so that chains run in input order.
    fn fill(&mut self) {
        let mut key = Vec::with_capacity(self.key_columns.len());
        for row in (0..self.rows).rev() {
            key.clear();
            key.extend(
                self.key_columns
                    .iter()
                    .map(|&column| self.columns[column][row]),
            );
            let hash = hash_row(&key);
            let bucket = self.bucket(hash);
            let entry = self.directory[bucket];
            self.next[row] = (entry & HEAD_MASK) as u32;
            self.directory[bucket] = entry & !HEAD_MASK | tag_bit(hash) | (row as u64 + 1);
        }
    }

    fn bucket(&self, hash: u64) -> usize {
        hash as usize & (self.directory.len() - 1)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The values of one column.
    pub fn column(&self, column: usize) -> &[u64] {
        &self.columns[column]
    }

    /// Appends the rows whose key equals `key`, in input order.
    pub fn probe(&self, key: &[u64], out: &mut Vec<u32>) {
        let hash = hash_row(key);
        let entry = self.directory[self.bucket(hash)];
        if entry & tag_bit(hash) == 0 {
            return;
        }
        let mut row = (entry & HEAD_MASK) as u32;
        while row != 0 {
            let idx = row as usize - 1;
            if self
                .key_columns
                .iter()
                .zip(key)
                .all(|(&column, &id)| self.columns[column][idx] == id)
            {
                out.push(idx as u32);
            }
            row = self.next[idx];
        }
    }
}

/// One of sixteen bits, chosen by hash bits that do not choose the bucket.
fn tag_bit(hash: u64) -> u64 {
    1 << (HEAD_BITS as u64 + (hash >> 60))
}
