//! `Group`: GROUP BY and aggregates, by hashing.
//!
//! Reads everything through [`crate::aggregate::Aggregator`], one per thread, merged at the end.
//! Memory: one entry per group and aggregate.

use super::Operator;
use super::output::Output;
use super::pipeline::Sink;
use crate::aggregate::Aggregator;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;

impl Sink for Aggregator {
    fn push(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError> {
        self.update(batch, cx)
    }
}

/// What a `Group` reads its rows from, once.
pub type Collect = Box<dyn FnOnce(&Context) -> Result<Aggregator, ExecError> + Send>;

/// The operator; see the [module documentation](self).
pub struct Group {
    collect: Option<Collect>,
    /// The aggregator's column for each output column.
    columns: Vec<Option<usize>>,
    output: Output,
}

impl Group {
    /// Groups what `collect` brings.
    pub fn new(collect: Collect, columns: Vec<Option<usize>>) -> Self {
        Self {
            collect: Some(collect),
            columns,
            output: Output::default(),
        }
    }
}

impl Operator for Group {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        if let Some(collect) = self.collect.take() {
            let groups = collect(cx)?.finish(cx)?;
            self.output.put(groups.select_columns(&self.columns));
        }
        Ok(self.output.take(cx))
    }
}
