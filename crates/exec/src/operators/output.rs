//! `Output`: cuts what an operator produced into batches of the wanted size.

use crate::batch::Batch;
use crate::context::Context;

/// Rows produced and not yet handed on.
#[derive(Default)]
pub struct Output {
    batch: Batch,
    /// Rows of `batch` that were handed on.
    taken: usize,
}

impl Output {
    /// Takes over rows; what was there must have been handed on.
    pub fn put(&mut self, batch: Batch) {
        debug_assert_eq!(self.taken, self.batch.rows());
        self.batch = batch;
        self.taken = 0;
    }

    /// The next batch of at most `batch_rows` rows, if there are rows left.
    pub fn take(&mut self, cx: &Context) -> Option<Batch> {
        let left = self.batch.rows() - self.taken;
        if left == 0 {
            return None;
        }
        let rows = left.min(cx.options().batch_rows.max(1));
        let batch = self.batch.slice(self.taken, rows);
        self.taken += rows;
        if self.taken == self.batch.rows() {
            self.batch = Batch::default();
            self.taken = 0;
        }
        Some(batch)
    }
}
