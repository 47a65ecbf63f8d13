//! `MergeSide`: one input of a merge join, in memory or in files, by key.
//!
//! Rows are collected until they hold their share of memory; then they are sorted and written as a run, the key before the
//! columns. Runs are merged by key, rows of one key in the order in which they came on one thread.
//!
//! Memory: a share on each thread while the input is read, counted.

use super::pipeline::{Collected, Sink};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::spill::merge::{ByNumber, Merge, add_run};
use crate::spill::row_file::{RowFile, RowWriter};
use crate::spill::share_bytes;

/// Fewest rows of a run, whatever the memory: there is a file for each.
const RUN_ROWS_MIN: usize = 256;

/// The rows of a side; see the [module documentation](self).
pub struct MergeSide {
    key_column: usize,
    rows: Collected,
    held: HeldMemory,
    runs: Vec<RowFile>,
}

/// A side in memory.
pub struct SideInMemory {
    /// The columns.
    pub columns: Vec<Vec<u64>>,
    /// The rows by key.
    pub order: Vec<u32>,
    /// Column of the key.
    pub key_column: usize,
    /// The bytes of all that.
    _held: HeldMemory,
}

impl MergeSide {
    /// No rows of `width` columns.
    pub fn new(key_column: usize, width: usize) -> Self {
        Self {
            key_column,
            rows: Collected::new(width),
            held: HeldMemory::default(),
            runs: Vec::new(),
        }
    }

    /// Adds another thread's rows.
    pub fn append(&mut self, mut other: Self) {
        self.runs.append(&mut other.runs);
        self.rows.append(other.rows);
        self.held.take_over(other.held);
    }

    /// Whether there are rows in files.
    pub fn is_spilled(&self) -> bool {
        !self.runs.is_empty()
    }

    /// Columns of a row.
    pub fn width(&self) -> usize {
        self.rows.columns.len()
    }

    fn bytes(&self) -> usize {
        let cells: usize = self.rows.columns.iter().map(Vec::capacity).sum();
        cells * size_of::<u64>() + self.rows.rows * size_of::<u32>()
    }

    /// The rows by key.
    fn order(&self) -> Vec<u32> {
        let keys = &self.rows.columns[self.key_column];
        let mut order: Vec<u32> = (0..self.rows.rows as u32).collect();
        if !keys.is_sorted() {
            order.sort_by_key(|&row| keys[row as usize]);
        }
        order
    }

    /// Moves the rows in memory to a file.
    fn write_run(&mut self, cx: &Context) -> Result<(), ExecError> {
        cx.check()?;
        let order = self.order();
        let width = self.width();
        let rows = std::mem::replace(&mut self.rows, Collected::new(width));
        let mut run = RowWriter::create(width + 1, 1, cx)?;
        for row in order {
            let key = rows.columns[self.key_column][row as usize];
            let cells = rows.columns.iter().map(|column| column[row as usize]);
            run.push([key].into_iter().chain(cells))?;
        }
        let run = run.finish()?;
        drop(rows);
        self.held.release();
        add_run(&mut self.runs, run, &ByNumber, cx)
    }

    /// All rows, of which none is in a file.
    pub fn into_memory(self) -> SideInMemory {
        debug_assert!(!self.is_spilled());
        SideInMemory {
            order: self.order(),
            columns: self.rows.columns,
            key_column: self.key_column,
            _held: self.held,
        }
    }

    /// All rows by key, each behind its key.
    pub fn into_merge(mut self, cx: &Context) -> Result<Merge<ByNumber>, ExecError> {
        if self.rows.rows > 0 {
            self.write_run(cx)?;
        }
        Merge::new(self.runs, ByNumber, cx)
    }
}

impl Sink for MergeSide {
    fn push(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError> {
        self.rows.push(batch, cx)?;
        let bytes = self.bytes();
        let is_full = match self.held.grow_to(bytes, "MergeJoin", cx) {
            // Others hold the rest.
            Err(ExecError::MemoryLimit { .. }) => true,
            outcome => outcome.map(|()| bytes > share_bytes(cx))?,
        };
        match is_full && self.rows.rows >= RUN_ROWS_MIN {
            true => self.write_run(cx),
            false => Ok(()),
        }
    }
}
