//! `PartialDistinct`: drops rows that have come before, as far as it remembers them.
//!
//! It stands below whatever does not count repeated rows, before work that would be done for each of them again. So some may still come
//! twice: each thread remembers its own, no more are remembered once they hold their share of memory, and where there are far more
//! different rows than expected and hardly one repeats, they are forgotten and all pass.
//!
//! Order: that of the input. Cost: a look-up for each row. Memory: that of `RowNumbers`, of which the query's limit is asked but never exceeded.

use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::row_numbers::RowNumbers;
use crate::spill::share_bytes;

/// Rows after which it is asked whether they repeat.
const WINDOW_ROWS: usize = 16_384;
/// How many of four rows are new where hardly one repeats.
const NEW_OF_FOUR_MAX: usize = 3;
/// More different rows than so many times those expected, and it is asked.
const EXPECTED_FACTOR: usize = 2;
/// Of an operator's share of memory, one part in so many is for this.
const SHARE_PARTS: usize = 4;

/// The operator; see the [module documentation](self).
pub struct PartialDistinct {
    input: BoxOperator,
    /// The rows that have come; `None` once they are forgotten.
    seen: Option<RowNumbers>,
    /// Whether no more are remembered.
    is_full: bool,
    /// Different rows that are expected.
    expected: usize,
    /// Rows and new rows since it was last asked whether they repeat.
    window: (usize, usize),
    width: usize,
    held: HeldMemory,
}

impl PartialDistinct {
    /// Drops repeated rows of `input`, which has `width` columns and about so many different rows.
    pub fn new(input: BoxOperator, width: usize, expected: f64) -> Self {
        Self {
            input,
            seen: Some(RowNumbers::new(width)),
            is_full: false,
            // Casts of floats saturate.
            expected: expected as usize,
            window: (0, 0),
            width,
            held: HeldMemory::default(),
        }
    }

    /// Whether every row that may come has come: a row without columns.
    fn is_over(&self) -> bool {
        self.width == 0 && self.seen.as_ref().is_some_and(|seen| seen.count() > 0)
    }

    /// The positions of rows that are not known to have come before.
    fn fresh(&mut self, batch: &Batch) -> Option<Vec<u32>> {
        let seen = self.seen.as_mut()?;
        let fresh = match self.is_full {
            true => new_rows(seen, batch),
            false => seen.insert_all(&batch.slices(), batch.rows()),
        };
        self.window.0 += batch.rows();
        self.window.1 += fresh.len();
        Some(fresh)
    }

    /// Counts what is remembered, and decides whether it goes on.
    fn hold(&mut self, cx: &Context) -> Result<(), ExecError> {
        let Some(seen) = &self.seen else {
            return Ok(());
        };
        let bytes = seen.bytes();
        if !self.is_full {
            self.is_full = match self.held.grow_to(bytes, "PartialDistinct", cx) {
                Err(ExecError::MemoryLimit { .. }) => true,
                outcome => outcome.map(|()| bytes > share_bytes(cx) / SHARE_PARTS)?,
            };
        }
        let (rows, new) = self.window;
        if rows < WINDOW_ROWS {
            return Ok(());
        }
        let are_many = seen.count() > self.expected.saturating_mul(EXPECTED_FACTOR) || self.is_full;
        if are_many && 4 * new > NEW_OF_FOUR_MAX * rows {
            self.seen = None;
            self.held.release();
        }
        self.window = (0, 0);
        Ok(())
    }
}

/// The positions of rows that are not among those seen.
fn new_rows(seen: &RowNumbers, batch: &Batch) -> Vec<u32> {
    let mut row = Vec::with_capacity(batch.width());
    let is_new = |position: &u32| {
        row.clear();
        batch.row_into(*position as usize, &mut row);
        !seen.contains(&row)
    };
    (0..batch.rows() as u32).filter(is_new).collect()
}

impl Operator for PartialDistinct {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        while !self.is_over()
            && let Some(batch) = self.input.next(cx)?
        {
            cx.check()?;
            let Some(fresh) = self.fresh(&batch) else {
                return Ok(Some(batch));
            };
            self.hold(cx)?;
            if fresh.len() == batch.rows() {
                return Ok(Some(batch));
            }
            if !fresh.is_empty() {
                return Ok(Some(batch.take(&fresh)));
            }
        }
        Ok(None)
    }
}
