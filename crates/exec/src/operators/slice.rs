//! `Slice`: OFFSET and LIMIT. Stops pulling as soon as it has enough.

use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;

/// The operator; see the [module documentation](self).
pub struct Slice {
    input: BoxOperator,
    /// Rows still to skip.
    skip: usize,
    /// Rows still to produce; `None` is all.
    left: Option<usize>,
}

impl Slice {
    /// Skips `offset` rows and then produces at most `limit`.
    pub fn new(input: BoxOperator, offset: usize, limit: Option<usize>) -> Self {
        Self {
            input,
            skip: offset,
            left: limit,
        }
    }
}

impl Operator for Slice {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        loop {
            if self.left == Some(0) {
                return Ok(None);
            }
            let Some(batch) = self.input.next(cx)? else {
                return Ok(None);
            };
            let skipped = self.skip.min(batch.rows());
            self.skip -= skipped;
            let rows = (batch.rows() - skipped).min(self.left.unwrap_or(usize::MAX));
            if rows > 0 {
                self.left = self.left.map(|left| left - rows);
                return Ok(Some(batch.slice(skipped, rows)));
            }
        }
    }
}
