//! `PutOffRows`: the end of a DISTINCT that did not fit into memory, be it of rows or of the values of an aggregate.
//!
//! ```text
//! rows that found no room, numbered -> partitions by hash
//! each partition -> its first rows, in a set of its own -> a file, ascending by number
//! files -> merged by number
//! ```
//!
//! Invariant: a row comes once, and rows come in the order of their first appearance, since DISTINCT keeps the order of
//! what it reads.
//!
//! Cost: 16 bytes of file traffic for each cell that found no room and 16 for each distinct one; again for each level of
//! partitions.

use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::row_numbers::{RowNumbers, hash_row};
use crate::spill::merge::{ByNumber, Merge};
use crate::spill::partitions::{LEVELS, Partition, Partitions};
use crate::spill::row_file::{RowFile, RowWriter};
use crate::spill::share_bytes;

/// Rows between two looks at the query's flag and clock, and at the memory held.
const CHECK_ROWS: usize = 512;

/// Rows to be looked at later.
pub struct PutOffRows {
    width: usize,
    /// The number of the row, then its ids.
    partitions: Partitions,
    /// Number of the next row.
    next: u64,
}

impl PutOffRows {
    /// No rows of `width` ids.
    pub fn new(width: usize) -> Self {
        Self {
            width,
            partitions: Partitions::new(width + 1, (0, 0)),
            next: 0,
        }
    }

    /// Adds a row that is in no set yet.
    pub fn push(&mut self, row: &[u64], cx: &Context) -> Result<(), ExecError> {
        let number = self.next;
        self.next += 1;
        let numbered = [number].into_iter().chain(row.iter().copied());
        self.partitions.push(hash_row(row), numbered, cx)
    }

    /// The distinct ones.
    pub fn finish(self, cx: &Context) -> Result<NumberedRows, ExecError> {
        let mut left = self.partitions.finish()?;
        let mut files = Vec::new();
        while let Some(partition) = left.pop() {
            let (distinct, more) = distinct_of(partition, self.width, cx)?;
            files.push(distinct);
            left.extend(more);
        }
        NumberedRows::new(files, self.width, cx)
    }
}

/// The first rows of a partition, as far as a set of them fits into memory; the others dealt out again.
fn distinct_of(
    partition: Partition,
    width: usize,
    cx: &Context,
) -> Result<(RowFile, Vec<Partition>), ExecError> {
    let before = (partition.level, partition.number);
    let mut seen = RowNumbers::new(width);
    let mut held = HeldMemory::default();
    let mut distinct = RowWriter::create(width + 1, 2, cx)?;
    let mut more: Option<Partitions> = None;
    let mut reader = partition.rows.reader(2, cx);
    let mut until_check = CHECK_ROWS;
    while let Some(numbered) = reader.next_row()? {
        let row = &numbered[1..];
        match &mut more {
            Some(more) if !seen.contains(row) => {
                more.push(hash_row(row), numbered.iter().copied(), cx)?;
            }
            Some(_) => {}
            None if seen.insert(row) => distinct.push(numbered.iter().copied())?,
            None => {}
        }
        until_check -= 1;
        if until_check == 0 {
            until_check = CHECK_ROWS;
            cx.check()?;
            // What has no room any more grows no more.
            if more.is_some() {
                continue;
            }
            let may_spill = before.0 < LEVELS;
            let is_full = match held.grow_to(seen.bytes(), "Distinct", cx) {
                // Others hold the rest.
                Err(ExecError::MemoryLimit { .. }) if may_spill => true,
                outcome => outcome.map(|()| seen.bytes() > share_bytes(cx))?,
            };
            if is_full && may_spill {
                more = Some(Partitions::new(width + 1, before));
            }
        }
    }
    let more = more.map_or(Ok(Vec::new()), Partitions::finish)?;
    Ok((distinct.finish()?, more))
}

/// Rows in the order of their numbers, from files that are in that order.
pub struct NumberedRows {
    width: usize,
    merge: Merge<ByNumber>,
}

impl NumberedRows {
    /// Merges files of rows of `width` ids behind their numbers.
    pub fn new(files: Vec<RowFile>, width: usize, cx: &Context) -> Result<Self, ExecError> {
        let merge = Merge::new(files, ByNumber, cx)?;
        Ok(Self { width, merge })
    }

    /// The next rows.
    pub fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        let rows_max = cx.options().batch_rows.max(1);
        self.merge.next_batch(1, self.width, rows_max, cx)
    }
}
