//! `Extend`: BIND and computed projections, one new column.

use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::CompiledExpr;

/// The operator; see the [module documentation](self).
pub struct Extend {
    input: BoxOperator,
    expr: CompiledExpr,
    /// Where the columns of the output come from: the input's columns, then the new one.
    columns: Vec<Option<usize>>,
}

impl Extend {
    /// Computes `expr` for each row; `columns` orders the output (the new column is the last index).
    pub fn new(input: BoxOperator, expr: CompiledExpr, columns: Vec<Option<usize>>) -> Self {
        Self {
            input,
            expr,
            columns,
        }
    }
}

impl Operator for Extend {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        let Some(batch) = self.input.next(cx)? else {
            return Ok(None);
        };
        cx.check()?;
        let batch = self.expr.with_solutions(batch, cx);
        let values = self.expr.evaluate(&batch, cx)?;
        Ok(Some(
            batch.with_column(values).select_columns(&self.columns),
        ))
    }
}
