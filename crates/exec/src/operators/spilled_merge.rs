//! `SpilledMerge`: a merge join whose sides are in files.
//!
//! ```text
//! right rows of a key -> the run: rows in memory, and a file for those beyond
//! left rows of the key, block by block -> each with every row of the run
//! ```
//!
//! Pairs come by key; those of one key in no promised order. Memory: a block of left rows, a run up to its bound
//! (half a share), counted. Cost: 16 bytes of file traffic for each cell of either side; a run that does not fit is
//! written once, and read once for each block of left rows.

use super::merge_side::MergeSide;
use crate::batch::{Batch, columns_with_room};
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::spill::merge::{ByNumber, Merge};
use crate::spill::row_file::{RowFile, RowReader, RowWriter};
use crate::spill::share_bytes;

/// Left rows of a key that are paired at a time: many enough that reading a run's file costs little for each of them.
const BLOCK_ROWS: usize = 1024;

/// Bytes of a run that stay in memory.
fn run_bytes_max(cx: &Context) -> usize {
    share_bytes(cx) / 2
}

/// A side whose rows come by key.
struct Side {
    merge: Merge<ByNumber>,
    /// The first row that was not used, behind its key; empty at the end.
    head: Vec<u64>,
}

/// Right rows of one key.
struct Run {
    width: usize,
    /// Rows in memory, one after the other.
    cells: Vec<u64>,
    held: HeldMemory,
    /// The rows beyond.
    file: Option<RowFile>,
    /// Where the next row in memory begins.
    next: usize,
    /// Reads the file, once the rows in memory are used.
    reader: Option<RowReader>,
}

/// The join; see the [module documentation](self).
pub struct SpilledMerge {
    left: Side,
    right: Side,
    run: Run,
    /// Left rows of the key of the run, each behind its key.
    block: Vec<Vec<u64>>,
    /// The row of the run that is paired with the block; empty if there is none.
    right_row: Vec<u64>,
    /// Rows of the block that were paired with it.
    paired: usize,
    /// For each output column the side (true is left) and its column.
    sources: Vec<(bool, usize)>,
}

impl SpilledMerge {
    /// Joins two sides.
    pub fn new(
        left: MergeSide,
        right: MergeSide,
        sources: Vec<(bool, usize)>,
        cx: &Context,
    ) -> Result<Self, ExecError> {
        let run = Run::new(right.width());
        Ok(Self {
            left: Side::new(left, cx)?,
            right: Side::new(right, cx)?,
            run,
            block: Vec::new(),
            right_row: Vec::new(),
            paired: 0,
            sources,
        })
    }

    /// The next pairs.
    pub fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        cx.check()?;
        let rows_max = cx.options().batch_rows.max(1);
        let mut columns = columns_with_room(self.sources.len(), rows_max);
        let mut rows = 0;
        while rows < rows_max {
            if self.paired == self.block.len() || self.right_row.is_empty() {
                if !self.advance(cx)? {
                    break;
                }
                continue;
            }
            let left = &self.block[self.paired];
            for (column, &(is_left, source)) in columns.iter_mut().zip(&self.sources) {
                // A left row stands behind its key.
                column.push(if is_left {
                    left[source + 1]
                } else {
                    self.right_row[source]
                });
            }
            self.paired += 1;
            rows += 1;
        }
        Ok((rows > 0).then(|| Batch::from_vectors(columns, rows)))
    }

    /// Goes on to the next row of the run, else to the next block, else to the next key; false at the end.
    fn advance(&mut self, cx: &Context) -> Result<bool, ExecError> {
        self.paired = 0;
        if !self.block.is_empty() && self.run.next_row(&mut self.right_row, cx)? {
            return Ok(true);
        }
        self.right_row.clear();
        let key = self.block.first().map(|row| row[0]);
        if let Some(key) = key
            && self.read_block(key, cx)?
        {
            self.run.rewind();
            return Ok(true);
        }
        let Some(key) = self.next_key(cx)? else {
            return Ok(false);
        };
        self.run.fill(key, &mut self.right, cx)?;
        self.read_block(key, cx)
    }

    /// Passes over rows without partners; gives the next key that both sides have.
    fn next_key(&mut self, cx: &Context) -> Result<Option<u64>, ExecError> {
        while let (Some(left), Some(right)) = (self.left.key(), self.right.key()) {
            if left == right {
                return Ok(Some(left));
            }
            let behind = if left < right {
                &mut self.left
            } else {
                &mut self.right
            };
            behind.step(cx)?;
        }
        Ok(None)
    }

    /// Takes left rows of a key; false if there are no more.
    fn read_block(&mut self, key: u64, cx: &Context) -> Result<bool, ExecError> {
        self.block.clear();
        while self.block.len() < BLOCK_ROWS && self.left.key() == Some(key) {
            self.block.push(self.left.head.clone());
            self.left.step(cx)?;
        }
        Ok(!self.block.is_empty())
    }
}

impl Side {
    fn new(side: MergeSide, cx: &Context) -> Result<Self, ExecError> {
        let mut side = Self {
            merge: side.into_merge(cx)?,
            head: Vec::new(),
        };
        side.step(cx)?;
        Ok(side)
    }

    fn key(&self) -> Option<u64> {
        self.head.first().copied()
    }

    /// Goes on by one row.
    fn step(&mut self, cx: &Context) -> Result<(), ExecError> {
        if !self.merge.next_row(&mut self.head, cx)? {
            self.head.clear();
        }
        Ok(())
    }
}

impl Run {
    fn new(width: usize) -> Self {
        Self {
            width,
            cells: Vec::new(),
            held: HeldMemory::default(),
            file: None,
            next: 0,
            reader: None,
        }
    }

    /// Takes all rows of a key.
    fn fill(&mut self, key: u64, side: &mut Side, cx: &Context) -> Result<(), ExecError> {
        self.cells.clear();
        self.file = None;
        self.rewind();
        let mut beyond: Option<RowWriter> = None;
        while side.key() == Some(key) {
            let row = &side.head[1..];
            match &mut beyond {
                Some(file) => file.push(row.iter().copied())?,
                None => {
                    self.cells.extend_from_slice(row);
                    if !self.has_room(cx)? {
                        beyond = Some(RowWriter::create(self.width, 1, cx)?);
                    }
                }
            }
            side.step(cx)?;
        }
        self.file = beyond.map(RowWriter::finish).transpose()?;
        Ok(())
    }

    /// Counts the rows in memory; whether there may be more of them.
    fn has_room(&mut self, cx: &Context) -> Result<bool, ExecError> {
        let bytes = self.cells.capacity() * size_of::<u64>();
        match self.held.grow_to(bytes, "MergeJoin", cx) {
            // Others hold the rest.
            Err(ExecError::MemoryLimit { .. }) => Ok(false),
            outcome => outcome.map(|()| self.cells.len() * size_of::<u64>() < run_bytes_max(cx)),
        }
    }

    /// Begins again.
    fn rewind(&mut self) {
        self.next = 0;
        self.reader = None;
    }

    /// Puts the next row into `row`; false at the end.
    fn next_row(&mut self, row: &mut Vec<u64>, cx: &Context) -> Result<bool, ExecError> {
        row.clear();
        if self.next < self.cells.len() {
            row.extend_from_slice(&self.cells[self.next..][..self.width]);
            self.next += self.width;
            return Ok(true);
        }
        let Some(file) = &self.file else {
            return Ok(false);
        };
        let reader = self
            .reader
            .get_or_insert_with(|| file.clone().reader(1, cx));
        let next = reader.next_row()?;
        row.extend_from_slice(next.unwrap_or_default());
        Ok(!row.is_empty())
    }
}
