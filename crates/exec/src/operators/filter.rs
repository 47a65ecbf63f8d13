//! `Filter`: rows for which a condition is true.

use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::CompiledExpr;

/// The operator; see the [module documentation](self).
pub struct Filter {
    input: BoxOperator,
    condition: CompiledExpr,
}

impl Filter {
    /// Filters `input`.
    pub fn new(input: BoxOperator, condition: CompiledExpr) -> Self {
        Self { input, condition }
    }
}

impl Operator for Filter {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        while let Some(batch) = self.input.next(cx)? {
            cx.check()?;
            let batch = self.condition.with_solutions(batch, cx);
            let positions = self.condition.select(&batch, cx)?;
            if positions.len() == batch.rows() {
                return Ok(Some(batch));
            }
            if !positions.is_empty() {
                return Ok(Some(batch.keep(&positions)));
            }
        }
        Ok(None)
    }
}
