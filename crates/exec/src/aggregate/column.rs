//! `Column`: the states of one aggregate, or of two that are of one sum, and what they have seen for DISTINCT.

use super::accumulator::Accumulator;
use super::argument::{Argument, Values};
use super::distinct::DistinctRows;
use super::sum_states::Results;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use basalt_plan::physical::{Aggregate, AggregateFunction, Slot};

/// The states of aggregates; see the head of this module.
pub struct Column {
    /// The place of the argument; `None` for `COUNT(*)`.
    argument: Option<usize>,
    /// The aggregates whose results these states are, by their places in the query: one, or SUM and AVG of the same values.
    results: Vec<(usize, AggregateFunction)>,
    /// The states by group.
    pub accumulator: Accumulator,
    /// For DISTINCT the values seen; for `COUNT(DISTINCT *)` the rows.
    distinct: Option<DistinctRows>,
}

impl Column {
    /// The states of all aggregates of a query, without groups, and their arguments.
    pub fn of_all(
        aggregates: &[Aggregate],
        schema: &[Slot],
        cx: &Context,
    ) -> Result<(Vec<Self>, Vec<Argument>), ExecError> {
        let (mut columns, mut arguments) = (Vec::<Self>::new(), Vec::new());
        for (place, aggregate) in aggregates.iter().enumerate() {
            let column = Self::new(aggregate, place, schema, &mut arguments, cx)?;
            match columns.iter_mut().find(|known| known.has_sums_of(&column)) {
                Some(known) => known.results.extend(column.results),
                None => columns.push(column),
            }
        }
        Ok((columns, arguments))
    }

    fn new(
        aggregate: &Aggregate,
        place: usize,
        schema: &[Slot],
        arguments: &mut Vec<Argument>,
        cx: &Context,
    ) -> Result<Self, ExecError> {
        let function = &aggregate.function;
        if aggregate.argument.is_none() && *function != AggregateFunction::Count {
            return Err(ExecError::Unsupported(
                "an aggregate other than COUNT over *".to_owned(),
            ));
        }
        // Repeats change neither the least, nor the greatest, nor the first value.
        let is_distinct = aggregate.distinct
            && !matches!(
                function,
                AggregateFunction::Min | AggregateFunction::Max | AggregateFunction::Sample
            );
        let accumulator = Accumulator::new(function);
        let reads_numbers = accumulator.reads_numbers() && !is_distinct;
        let argument = match &aggregate.argument {
            Some(source) => Some(Argument::place(
                arguments,
                source,
                reads_numbers,
                schema,
                cx,
            )?),
            None => None,
        };
        let width = if argument.is_some() { 1 } else { schema.len() };
        Ok(Self {
            argument,
            results: vec![(place, function.clone())],
            accumulator,
            distinct: is_distinct.then(|| DistinctRows::new(width)),
        })
    }

    /// Whether these are the sums that another would have.
    fn has_sums_of(&self, other: &Self) -> bool {
        let are_sums = |column: &Self| matches!(column.accumulator, Accumulator::Sum(_));
        let is_distinct = |column: &Self| column.distinct.is_some();
        are_sums(self)
            && are_sums(other)
            && self.argument == other.argument
            && is_distinct(self) == is_distinct(other)
    }

    /// The places in the query of the aggregates whose results these states are.
    pub fn places(&self) -> impl Iterator<Item = usize> {
        self.results.iter().map(|(place, _)| *place)
    }

    /// Adds rows; `values` are those of the arguments.
    pub fn update(
        &mut self,
        batch: &Batch,
        groups: &[u32],
        values: &[Values<'_>],
        cx: &Context,
    ) -> Result<(), ExecError> {
        let Some(argument) = self.argument else {
            match &mut self.distinct {
                None => self.accumulator.count_rows(groups),
                Some(rows) => {
                    let groups = rows.insert_rows(batch, groups, cx)?;
                    self.accumulator.count_rows(&groups);
                }
            }
            return Ok(());
        };
        let values = &values[argument];
        match &mut self.distinct {
            None => self.accumulator.update_values(groups, values, cx),
            Some(seen) => {
                let (groups, ids) = seen.insert_values(groups, values.ids(cx), cx)?;
                self.accumulator.update(&groups, &ids, cx)
            }
        }
    }

    /// Adds distinct values, or rows.
    fn add_distinct(&mut self, groups: &[u32], ids: &[u64], cx: &Context) -> Result<(), ExecError> {
        if self.argument.is_some() {
            return self.accumulator.update(groups, ids, cx);
        }
        self.accumulator.count_rows(groups);
        Ok(())
    }

    /// Adds another's states, whose group `g` is `numbers[g]` here; distinct values stay below some bytes in memory.
    pub fn merge(
        &mut self,
        other: Self,
        numbers: &[u32],
        bytes_max: usize,
        cx: &Context,
    ) -> Result<(), ExecError> {
        if let (Some(rows), Some(more)) = (&mut self.distinct, other.distinct) {
            // What both have seen may count once only: what is new is added again.
            let (groups, ids) = rows.merge(more, numbers, bytes_max, cx)?;
            return self.add_distinct(&groups, &ids, cx);
        }
        self.accumulator.merge(other.accumulator, numbers, cx)
    }

    /// Whether its states can be added to others and stay as they are.
    pub fn may_stay(&self) -> bool {
        self.distinct.is_none() && self.accumulator.may_stay()
    }

    /// Whether [`Self::spill`] makes room.
    pub fn may_spill(&self) -> bool {
        self.distinct.is_some() || self.accumulator.may_spill()
    }

    /// Lets what grows without new groups go to files from now on.
    pub fn spill(&mut self, cx: &Context) {
        if let Some(distinct) = &mut self.distinct {
            distinct.spill();
        }
        self.accumulator.spill(cx);
    }

    /// The results of each aggregate by group, with its place in the query.
    pub fn finish(mut self, cx: &Context) -> Result<Vec<(usize, Results)>, ExecError> {
        let late = match &mut self.distinct {
            Some(distinct) => distinct.finish(cx)?,
            None => None,
        };
        if let Some(mut late) = late {
            while let Some(rows) = late.next(cx)? {
                cx.check()?;
                let groups: Vec<u32> = rows.ids(0).iter().map(|&group| group as u32).collect();
                let ids = if rows.width() > 1 { rows.ids(1) } else { &[] };
                self.add_distinct(&groups, ids, cx)?;
            }
        }
        self.accumulator.finish(&self.results, cx)
    }

    /// The results that other states of these aggregates have.
    pub fn results(
        &self,
        states: Accumulator,
        cx: &Context,
    ) -> Result<Vec<(usize, Results)>, ExecError> {
        states.finish(&self.results, cx)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.accumulator.bytes() + self.distinct.as_ref().map_or(0, DistinctRows::bytes)
    }
}
