//! `Aggregator`: GROUP BY and aggregates by hashing, for one thread; partial results merge.
//!
//! ```text
//! batch -> group keys -> GroupTable -> group number of each row
//!       -> argument of each aggregate -> one state vector per aggregate, indexed by group number
//! ```
//!
//! Invariants: without keys there is exactly one group, also over no rows; a row whose argument is an
//! error is left out by COUNT and SAMPLE and makes every other aggregate unbound; groups come out in
//! the order in which they were first seen. Cost: one probe per row and one state update per row and
//! aggregate; memory is one key and one state per group, plus one entry per distinct value for
//! DISTINCT, counted through [`Context::reserve`].

mod accumulator;
mod distinct;
mod float_sum;
mod group_table;
mod group_through;
mod ordinal_groups;
mod pair_groups;
mod spilling;
mod sum;

use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::CompiledExpr;
use accumulator::Accumulator;
use basalt_plan::physical::{Aggregate, AggregateFunction, Slot};
use distinct::{DistinctRows, DistinctValues};
use group_table::GroupTable;

pub use group_through::Through;
pub use spilling::{Grouping, Groups, SpillingAggregator};

/// Groups merged between two looks at the query's flag and clock: some milliseconds where each misses the caches.
const CHECK_GROUPS: usize = 1 << 16;

/// One aggregate of the query and its states.
struct Column {
    /// The argument; `None` for `COUNT(*)`.
    argument: Option<CompiledExpr>,
    /// The states by group.
    accumulator: Accumulator,
    /// The values seen, for DISTINCT with an argument.
    values: Option<DistinctValues>,
    /// The rows seen, for `COUNT(DISTINCT *)`.
    rows: Option<DistinctRows>,
}

/// Hash aggregation; see the [module documentation](self).
pub struct Aggregator {
    /// Column of the input for each key; `None` is a slot that the input lacks.
    keys: Vec<Option<usize>>,
    groups: GroupTable,
    columns: Vec<Column>,
    /// Bytes counted against the limit.
    reserved: usize,
    /// Group numbers of the batch at hand.
    group_numbers: Vec<u32>,
}

impl Aggregator {
    /// No groups yet, for batches whose columns are `schema`.
    pub fn new(
        aggregates: &[Aggregate],
        keys: &[Slot],
        schema: &[Slot],
        cx: &Context,
    ) -> Result<Self, ExecError> {
        let columns = aggregates
            .iter()
            .map(|aggregate| Column::new(aggregate, schema, cx))
            .collect::<Result<Vec<_>, _>>()?;
        let keys: Vec<_> = keys
            .iter()
            .map(|key| schema.iter().position(|slot| slot == key))
            .collect();
        let mut aggregator = Self {
            groups: GroupTable::new(keys.len()),
            keys,
            columns,
            reserved: 0,
            group_numbers: Vec::new(),
        };
        if aggregator.keys.is_empty() {
            aggregator.groups.group_of(&[]);
            aggregator.grow();
        }
        Ok(aggregator)
    }

    /// The same with keys read from columns of another schema.
    pub fn with_keys_of(mut self, keys: &[Slot], schema: &[Slot]) -> Self {
        self.keys = keys
            .iter()
            .map(|key| schema.iter().position(|slot| slot == key))
            .collect();
        self
    }

    /// Adds rows.
    pub fn update(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError> {
        self.add(batch, cx)?;
        self.account(cx)
    }

    /// Adds rows without counting what is held then.
    fn add(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError> {
        self.find_groups(batch);
        self.grow();
        for column in &mut self.columns {
            column.update(batch, &self.group_numbers, cx)?;
        }
        Ok(())
    }

    /// Adds the rows whose groups are there; gives the positions of the others, ascending.
    fn update_known(&mut self, batch: &Batch, cx: &Context) -> Result<Vec<u32>, ExecError> {
        let (mut known, mut others) = (Vec::new(), Vec::new());
        let mut key = Vec::new();
        self.group_numbers.clear();
        for row in 0..batch.rows() {
            self.key_into(batch, row, &mut key);
            match self.groups.find(&key) {
                Some(group) => {
                    self.group_numbers.push(group);
                    known.push(row as u32);
                }
                None => others.push(row as u32),
            }
        }
        if !known.is_empty() {
            let rows = batch.keep(&known);
            for column in &mut self.columns {
                column.update(&rows, &self.group_numbers, cx)?;
            }
            self.account(cx)?;
        }
        Ok(others)
    }

    /// Puts the key of a row into `key`.
    fn key_into(&self, batch: &Batch, row: usize, key: &mut Vec<u64>) {
        key.clear();
        let columns = self.keys.iter();
        key.extend(columns.map(|column| column.map_or(0, |column| batch.ids(column)[row])));
    }

    /// Bytes held.
    fn bytes(&self) -> usize {
        self.groups.bytes() + self.columns.iter().map(Column::bytes).sum::<usize>()
    }

    /// Adds what another aggregator of the same query has seen.
    pub fn merge(&mut self, other: Self, cx: &Context) -> Result<(), ExecError> {
        let mut numbers: Vec<u32> = Vec::with_capacity(other.groups.count());
        for group in 0..other.groups.count() {
            if group % CHECK_GROUPS == 0 {
                cx.check()?;
            }
            numbers.push(self.groups.group_of(other.groups.key(group)));
        }
        self.grow();
        for (column, more) in self.columns.iter_mut().zip(other.columns) {
            cx.check()?;
            column.merge(more, &numbers, cx)?;
        }
        cx.release(other.reserved);
        self.account(cx)
    }

    /// One row per group: the keys in order, then the aggregates in order.
    pub fn finish(self, cx: &Context) -> Result<Batch, ExecError> {
        let count = self.groups.count();
        let mut columns = self.groups.into_columns();
        for column in self.columns {
            cx.check()?;
            columns.push(column.accumulator.finish(cx));
        }
        cx.release(self.reserved);
        Ok(Batch::from_vectors(columns, count))
    }

    /// Puts the group number of each row into `group_numbers`.
    fn find_groups(&mut self, batch: &Batch) {
        self.group_numbers.clear();
        match self.keys.as_slice() {
            [] => self.group_numbers.resize(batch.rows(), 0),
            [Some(column)] => {
                for &id in batch.ids(*column) {
                    self.group_numbers.push(self.groups.group_of_one(id));
                }
            }
            [Some(first), Some(second)] => {
                for (&first, &second) in batch.ids(*first).iter().zip(batch.ids(*second)) {
                    self.group_numbers
                        .push(self.groups.group_of_two([first, second]));
                }
            }
            keys => {
                let mut key = vec![0; keys.len()];
                for row in 0..batch.rows() {
                    for (part, column) in key.iter_mut().zip(keys) {
                        *part = column.map_or(0, |column| batch.ids(column)[row]);
                    }
                    self.group_numbers.push(self.groups.group_of(&key));
                }
            }
        }
    }

    /// Gives every group a state.
    fn grow(&mut self) {
        for column in &mut self.columns {
            column.accumulator.resize(self.groups.count());
        }
    }

    /// Counts the bytes that came to be held since the last time.
    fn account(&mut self, cx: &Context) -> Result<(), ExecError> {
        let bytes = self.bytes();
        if bytes > self.reserved {
            cx.reserve(bytes - self.reserved, "Group")?;
            self.reserved = bytes;
        }
        Ok(())
    }
}

impl Column {
    fn new(aggregate: &Aggregate, schema: &[Slot], cx: &Context) -> Result<Self, ExecError> {
        let argument = aggregate
            .argument
            .as_ref()
            .map(|argument| CompiledExpr::compile(argument, schema, cx))
            .transpose()?;
        if argument.is_none() && aggregate.function != AggregateFunction::Count {
            return Err(ExecError::Unsupported(
                "an aggregate other than COUNT over *".to_owned(),
            ));
        }
        // Repeats change neither the least, nor the greatest, nor the first value.
        let is_distinct = aggregate.distinct
            && !matches!(
                aggregate.function,
                AggregateFunction::Min | AggregateFunction::Max | AggregateFunction::Sample
            );
        Ok(Self {
            accumulator: Accumulator::new(&aggregate.function),
            values: (is_distinct && argument.is_some()).then(DistinctValues::default),
            rows: (is_distinct && argument.is_none()).then(|| DistinctRows::new(schema.len())),
            argument,
        })
    }

    fn update(&mut self, batch: &Batch, groups: &[u32], cx: &Context) -> Result<(), ExecError> {
        let Some(argument) = &self.argument else {
            match &mut self.rows {
                None => self.accumulator.count_rows(groups),
                Some(rows) => {
                    rows.insert(batch, groups, |group| self.accumulator.count_rows(&[group]))
                }
            }
            return Ok(());
        };
        let ids = argument.evaluate(batch, cx)?;
        match &mut self.values {
            None => self.accumulator.update(groups, &ids, cx),
            Some(values) => {
                let (groups, ids) = values.insert(groups, &ids);
                self.accumulator.update(&groups, &ids, cx)
            }
        }
    }

    /// Adds another's states, whose group `g` is `numbers[g]` here.
    fn merge(&mut self, other: Self, numbers: &[u32], cx: &Context) -> Result<(), ExecError> {
        if let (Some(rows), Some(more)) = (&mut self.rows, &other.rows) {
            rows.merge(more, numbers, |group| self.accumulator.count_rows(&[group]));
            return Ok(());
        }
        if let (Some(values), Some(more)) = (&mut self.values, other.values) {
            // Values that both have seen may count once only: the new ones are added again.
            let (groups, ids) = more.into_pairs(numbers);
            let (groups, ids) = values.insert(&groups, &ids);
            return self.accumulator.update(&groups, &ids, cx);
        }
        self.accumulator.merge(other.accumulator, numbers, cx)
    }

    fn bytes(&self) -> usize {
        self.accumulator.bytes()
            + self.values.as_ref().map_or(0, DistinctValues::bytes)
            + self.rows.as_ref().map_or(0, DistinctRows::bytes)
    }
}

#[cfg(test)]
mod tests;
