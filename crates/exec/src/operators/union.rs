//! `Union`: all rows of its inputs, one input after the other.

use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;

/// The operator; see the [module documentation](self).
pub struct Union {
    /// The inputs with the columns that the output takes from each; in reverse order.
    inputs: Vec<(BoxOperator, Vec<Option<usize>>)>,
}

impl Union {
    /// Concatenates `inputs`.
    pub fn new(mut inputs: Vec<(BoxOperator, Vec<Option<usize>>)>) -> Self {
        inputs.reverse();
        Self { inputs }
    }
}

impl Operator for Union {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        while let Some((input, columns)) = self.inputs.last_mut() {
            if let Some(batch) = input.next(cx)? {
                return Ok(Some(batch.select_columns(columns)));
            }
            self.inputs.pop();
        }
        Ok(None)
    }
}
