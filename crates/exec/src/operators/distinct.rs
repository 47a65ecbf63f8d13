//! `Distinct`: each distinct row once, in order of first appearance.
//!
//! Layout: distinct rows flat in one vector, a hash table of their indices. Memory: 8 bytes per cell
//! and about 8 per row, counted against the query's limit; streams its output. Rows that find no room are put off
//! (see [`late_rows`](super::late_rows)) and come after all others, in the order in which they were first seen.

use super::late_rows::{NumberedRows, PutOffRows};
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::spill::share_bytes;
use hashbrown::HashTable;

/// A set of rows of ids, all of one width.
pub struct RowSet {
    width: usize,
    /// The rows, one after the other.
    cells: Vec<u64>,
    rows: usize,
    table: HashTable<u32>,
}

impl RowSet {
    /// An empty set of rows with `width` ids.
    pub fn new(width: usize) -> Self {
        Self {
            width,
            cells: Vec::new(),
            rows: 0,
            table: HashTable::new(),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds a row; false if it was there.
    pub fn insert(&mut self, row: &[u64]) -> bool {
        debug_assert_eq!(row.len(), self.width);
        let width = self.width;
        let cells = &self.cells;
        let stored = |idx: u32| &cells[idx as usize * width..(idx as usize + 1) * width];
        let hash = hash_row(row);
        if self.table.find(hash, |&idx| stored(idx) == row).is_some() {
            return false;
        }
        self.table
            .insert_unique(hash, self.rows as u32, |&idx| hash_row(stored(idx)));
        self.cells.extend_from_slice(row);
        self.rows += 1;
        true
    }

    /// Whether a row is there.
    pub fn contains(&self, row: &[u64]) -> bool {
        self.find(row).is_some()
    }

    /// The number of a row, in the order in which they came.
    pub fn find(&self, row: &[u64]) -> Option<usize> {
        let width = self.width;
        let stored = |idx: u32| &self.cells[idx as usize * width..(idx as usize + 1) * width];
        let found = self.table.find(hash_row(row), |&idx| stored(idx) == row);
        found.map(|&idx| idx as usize)
    }

    /// The rows, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = &[u64]> {
        let row = |idx: usize| &self.cells[idx * self.width..(idx + 1) * self.width];
        (0..self.rows).map(row)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.cells.capacity() * size_of::<u64>() + self.table.capacity() * 2 * size_of::<u32>()
    }

    /// Bytes that a row of this width takes.
    pub fn row_bytes(width: usize) -> usize {
        width * size_of::<u64>() + 2 * size_of::<u32>()
    }
}

/// A hash of some ids: multiply and fold, good in the high and the low bits.
pub fn hash_row(row: &[u64]) -> u64 {
    row.iter().fold(0x9E37_79B9_7F4A_7C15, |hash, &id| {
        let product = u128::from(hash ^ id) * 0xA076_1D64_78BD_642F_u128;
        (product >> 64) as u64 ^ product as u64
    })
}

/// The operator; see the [module documentation](self).
pub struct Distinct {
    input: BoxOperator,
    seen: RowSet,
    /// Rows that found no room in the set.
    put_off: Option<PutOffRows>,
    /// Those that are distinct, once the input is at its end.
    late: Option<NumberedRows>,
    /// Bytes counted against the limit so far.
    held: HeldMemory,
}

impl Distinct {
    /// Drops repeated rows of `input`, which has `width` columns.
    pub fn new(input: BoxOperator, width: usize) -> Self {
        Self {
            input,
            seen: RowSet::new(width),
            put_off: None,
            late: None,
            held: HeldMemory::default(),
        }
    }

    /// Adds the rows of a batch to the set; gives the positions of those that were not there.
    fn add(&mut self, batch: &Batch, cx: &Context) -> Result<Vec<u32>, ExecError> {
        let mut fresh = Vec::new();
        let mut row = Vec::new();
        for position in 0..batch.rows() {
            row.clear();
            batch.row_into(position, &mut row);
            if let Some(put_off) = &mut self.put_off {
                if !self.seen.contains(&row) {
                    put_off.push(&row, cx)?;
                }
            } else if self.seen.insert(&row) {
                fresh.push(position as u32);
            }
        }
        Ok(fresh)
    }

    /// Counts the set, which takes no more rows if it holds its share.
    fn hold(&mut self, cx: &Context) -> Result<(), ExecError> {
        let bytes = self.seen.bytes();
        let is_full = match self.held.grow_to(bytes, "Distinct", cx) {
            // Others hold the rest.
            Err(ExecError::MemoryLimit { .. }) => true,
            outcome => outcome.map(|()| bytes > share_bytes(cx))?,
        };
        if is_full && self.put_off.is_none() && self.seen.width > 0 {
            self.put_off = Some(PutOffRows::new(self.seen.width));
        }
        Ok(())
    }
}

impl Operator for Distinct {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        if let Some(late) = &mut self.late {
            return late.next(cx);
        }
        while let Some(batch) = self.input.next(cx)? {
            cx.check()?;
            let fresh = self.add(&batch, cx)?;
            self.hold(cx)?;
            if fresh.len() == batch.rows() {
                return Ok(Some(batch));
            }
            if !fresh.is_empty() {
                return Ok(Some(batch.take(&fresh)));
            }
        }
        let width = self.seen.width;
        self.seen = RowSet::new(width);
        self.held.release();
        match self.put_off.take() {
            None => Ok(None),
            Some(put_off) => self.late.insert(put_off.finish(cx)?).next(cx),
        }
    }
}
