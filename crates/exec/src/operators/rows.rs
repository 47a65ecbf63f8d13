//! `Rows`: a leaf whose rows are known beforehand (`Unit`, `Empty`, `Values`, `Outer`).

use super::Operator;
use super::output::Output;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;

/// The operator; see the [module documentation](self).
pub struct Rows {
    output: Output,
}

impl Rows {
    /// Produces the rows of one batch.
    pub fn new(batch: Batch) -> Self {
        let mut output = Output::default();
        output.put(batch);
        Self { output }
    }
}

impl Operator for Rows {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        Ok(self.output.take(cx))
    }
}
