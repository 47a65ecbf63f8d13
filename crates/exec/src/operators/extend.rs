//! `Extend`: BIND and computed projections, one new column.

use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::computed_numbers::ComputedNumbers;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::{CompiledExpr, Evaluated};

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

impl Extend {
    /// The batch with the new column.
    fn extended(&self, batch: Batch, cx: &Context) -> Result<Batch, ExecError> {
        if let Some(column) = self.expr.plain_column() {
            return Ok(batch.with_column_again(column));
        }
        let cast = self.expr.column_cast();
        let cast =
            cast.and_then(|cast| ComputedNumbers::of_cast(cast, batch.column(cast.column), cx));
        if let Some(numbers) = cast {
            return Ok(batch.with_numbers(numbers));
        }
        match self.expr.evaluate_numbers(&batch, cx)? {
            Evaluated::Numbers(numbers) => {
                let numbers = ComputedNumbers::new(numbers.into_owned(), cx);
                Ok(batch.with_numbers(numbers))
            }
            Evaluated::Ids(ids) => {
                let ids = ids.into_owned();
                Ok(batch.with_column(ids))
            }
            Evaluated::Items(items) => {
                let ids = items.iter().map(|item| item.id(cx));
                Ok(batch.with_column(ids.collect()))
            }
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
        let batch = self.extended(batch, cx)?;
        Ok(Some(batch.select_columns(&self.columns)))
    }
}
