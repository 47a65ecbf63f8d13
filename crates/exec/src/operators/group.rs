//! `Group`: GROUP BY and aggregates, by hashing.
//!
//! Reads everything through [`crate::aggregate::Aggregator`], one per thread, merged at the end.
//! Memory: one entry per group and aggregate.

use super::Operator;
use super::build::Build;
use super::output::Output;
use super::pipeline::{Sink, drain};
use crate::aggregate::Aggregator;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use basalt_plan::physical::{Aggregate, Node, Slot};

impl Sink for Aggregator {
    fn push(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError> {
        self.update(batch, cx)
    }
}

/// Makes the groups, once.
pub type Collect = Box<dyn FnOnce(&Context) -> Result<Batch, ExecError> + Send>;

/// The aggregates of all rows of a node, read on several threads where that pays.
pub fn aggregate(
    input: &Node,
    keys: &[Slot],
    aggregates: &[Aggregate],
    build: &Build,
    cx: &Context,
) -> Result<Aggregator, ExecError> {
    let make = || Aggregator::new(aggregates, keys, &input.schema, cx);
    let mut sinks = drain(input, build, cx, make)?.into_iter();
    let mut groups = sinks.next().map_or_else(make, Ok)?;
    sinks.try_for_each(|more| groups.merge(more, cx))?;
    Ok(groups)
}

/// The operator; see the [module documentation](self).
pub struct Group {
    collect: Option<Collect>,
    /// The groups' column for each output column.
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
            self.output.put(collect(cx)?.select_columns(&self.columns));
        }
        Ok(self.output.take(cx))
    }
}
