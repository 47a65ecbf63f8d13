//! `Distinct`: each distinct row once, in order of first appearance.
//!
//! Memory: that of `RowNumbers`, counted against the query's limit; streams its output. Rows that find no room are put off
//! (see [`late_rows`](super::late_rows)) and come after all others, in the order in which they were first seen.

use super::late_rows::{NumberedRows, PutOffRows};
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::row_numbers::RowNumbers;
use crate::spill::share_bytes;
/// The operator; see the [module documentation](self).
pub struct Distinct {
    input: BoxOperator,
    seen: RowNumbers,
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
            seen: RowNumbers::new(width),
            put_off: None,
            late: None,
            held: HeldMemory::default(),
        }
    }

    /// Adds the rows of a batch to the set; gives the positions of those that were not there.
    fn add(&mut self, batch: &Batch, cx: &Context) -> Result<Vec<u32>, ExecError> {
        let Some(put_off) = &mut self.put_off else {
            return Ok(self.seen.insert_all(&batch.slices(), batch.rows()));
        };
        let mut row = Vec::with_capacity(batch.width());
        for position in 0..batch.rows() {
            row.clear();
            batch.row_into(position, &mut row);
            if !self.seen.contains(&row) {
                put_off.push(&row, cx)?;
            }
        }
        Ok(Vec::new())
    }

    /// Counts the set, which takes no more rows if it holds its share.
    fn hold(&mut self, cx: &Context) -> Result<(), ExecError> {
        let bytes = self.seen.bytes();
        let is_full = match self.held.grow_to(bytes, "Distinct", cx) {
            // Others hold the rest.
            Err(ExecError::MemoryLimit { .. }) => true,
            outcome => outcome.map(|()| bytes > share_bytes(cx))?,
        };
        if is_full && self.put_off.is_none() && self.seen.width() > 0 {
            self.put_off = Some(PutOffRows::new(self.seen.width()));
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
        let width = self.seen.width();
        self.seen = RowNumbers::new(width);
        self.held.release();
        match self.put_off.take() {
            None => Ok(None),
            Some(put_off) => self.late.insert(put_off.finish(cx)?).next(cx),
        }
    }
}
