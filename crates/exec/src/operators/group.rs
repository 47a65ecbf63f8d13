//! `Group`: GROUP BY and aggregates, by hashing.
//!
//! Reads everything through [`crate::aggregate::SpillingAggregator`], one per thread, merged at the end.
//! Memory: one entry per group and aggregate; groups beyond its share are made later, from rows in temporary files.

use super::Operator;
use super::build::Build;
use super::output::Output;
use super::pipeline::{Sink, drain};
use crate::aggregate::{Aggregator, Grouping, Groups, SpillingAggregator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use basalt_plan::physical::{Aggregate, AggregateFunction, Expr, Node, Slot};
use std::sync::Arc;

impl Sink for Aggregator {
    fn push(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError> {
        self.update(batch, cx)
    }
}

impl Sink for SpillingAggregator {
    fn push(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError> {
        self.update(batch, cx)
    }
}

/// Makes the groups, once.
pub type Collect = Box<dyn FnOnce(&Context) -> Result<Groups, ExecError> + Send>;

/// The groups of all rows of a node, read on several threads where that pays; what finds no room goes to files.
pub fn groups(
    input: &Node,
    keys: &[Slot],
    aggregates: &[Aggregate],
    build: &Build,
    cx: &Context,
) -> Result<Groups, ExecError> {
    let are_many = cx.options().are_many(input.estimated_rows);
    if let Some(value) = only_distinct(aggregates).filter(|_| are_many) {
        return groups_of_distinct(input, (keys, value), aggregates, build, cx);
    }
    let grouping = Arc::new(Grouping {
        aggregates: aggregates.to_vec(),
        keys: keys.to_vec(),
        schema: input.schema.clone(),
    });
    let make = || SpillingAggregator::new(&grouping, cx);
    SpillingAggregator::finish_all(drain(input, build, cx, make)?, cx)
}

/// The slot whose distinct values all aggregates take, if that is all they take.
fn only_distinct(aggregates: &[Aggregate]) -> Option<Slot> {
    let value = |aggregate: &Aggregate| match (&aggregate.function, &aggregate.argument) {
        // Texts are joined in the order in which values come.
        (AggregateFunction::GroupConcat { .. }, _) => None,
        (_, Some(Expr::Slot(slot))) if aggregate.distinct => Some(*slot),
        _ => None,
    };
    let first = value(aggregates.first()?)?;
    let mut others = aggregates.iter();
    others
        .all(|other| value(other) == Some(first))
        .then_some(first)
}

/// The groups of rows of which only the distinct values of one slot count: those are found as groups by key and value, in which all threads have a share, and
/// grouped by key then.
fn groups_of_distinct(
    input: &Node,
    (keys, value): (&[Slot], Slot),
    aggregates: &[Aggregate],
    build: &Build,
    cx: &Context,
) -> Result<Groups, ExecError> {
    let mut schema = keys.to_vec();
    if !schema.contains(&value) {
        schema.push(value);
    }
    let mut distinct = groups(input, &schema, &[], build, cx)?;
    let of_each = |aggregate: &Aggregate| Aggregate {
        distinct: false,
        ..aggregate.clone()
    };
    let grouping = Arc::new(Grouping {
        aggregates: aggregates.iter().map(of_each).collect(),
        keys: keys.to_vec(),
        schema,
    });
    let mut of_keys = SpillingAggregator::new(&grouping, cx)?;
    let mut output = Output::default();
    while let Some(rows) = distinct.next(cx)? {
        output.put(rows);
        while let Some(rows) = output.take(cx) {
            cx.check()?;
            of_keys.update(&rows, cx)?;
        }
    }
    SpillingAggregator::finish_all(vec![of_keys], cx)
}

/// The aggregates of all rows of a node in memory, read on several threads where that pays.
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
    /// Groups that were not put out yet.
    groups: Groups,
    /// The groups' column for each output column.
    columns: Vec<Option<usize>>,
    output: Output,
}

impl Group {
    /// Groups what `collect` brings.
    pub fn new(collect: Collect, columns: Vec<Option<usize>>) -> Self {
        Self {
            collect: Some(collect),
            groups: Groups::default(),
            columns,
            output: Output::default(),
        }
    }
}

impl Operator for Group {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        if let Some(collect) = self.collect.take() {
            self.groups = collect(cx)?;
        }
        loop {
            let batch = self.output.take(cx);
            if batch.is_some() {
                return Ok(batch);
            }
            match self.groups.next(cx)? {
                Some(groups) => self.output.put(groups.select_columns(&self.columns)),
                None => return Ok(None),
            }
        }
    }
}
