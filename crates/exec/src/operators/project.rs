//! `Project`: some columns in some order; a slot that the input lacks is unbound.

use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;

/// The operator; see the [module documentation](self).
pub struct Project {
    input: BoxOperator,
    columns: Vec<Option<usize>>,
}

impl Project {
    /// Takes these columns of `input`.
    pub fn new(input: BoxOperator, columns: Vec<Option<usize>>) -> Self {
        Self { input, columns }
    }
}

impl Operator for Project {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        Ok(self
            .input
            .next(cx)?
            .map(|batch| batch.select_columns(&self.columns)))
    }
}
