//! `Aggregator`: GROUP BY and aggregates by hashing, for one thread; partial results merge.
//!
//! ```text
//! batch -> group keys -> RowNumbers -> group number of each row
//!       -> argument of each aggregate -> one state vector per aggregate, indexed by group number
//! ```
//!
//! Invariants: without keys there is exactly one group, also over no rows; a row whose argument is an
//! error is left out by COUNT and SAMPLE and makes every other aggregate unbound; groups come out in
//! the order in which they were first seen. Cost: one probe per row and one state update per row and
//! aggregate; memory is one key and one state per group, plus one entry per distinct value for
//! DISTINCT, counted through [`Context::reserve`]; what grows without new groups, distinct values and texts, can go to files.

mod accumulator;
mod concat;
mod distinct;
mod extremes;
mod float_sum;
mod group_through;
mod spilling;
mod sum;

use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::{CompiledExpr, Evaluated};
use crate::held_memory::HeldMemory;
use crate::row_numbers::RowNumbers;
use crate::spill::share_bytes;
use accumulator::Accumulator;
use basalt_plan::physical::{Aggregate, AggregateFunction, Slot};
use distinct::DistinctRows;

pub use group_through::Through;
pub use spilling::{Grouping, Groups, SpillingAggregator};

/// The name that memory errors give.
pub const OPERATOR: &str = "Group";

/// Groups merged between two looks at the query's flag and clock: some milliseconds where each misses the caches.
const CHECK_GROUPS: usize = 1 << 16;

/// One aggregate of the query and its states.
struct Column {
    /// The argument; `None` for `COUNT(*)`.
    argument: Option<CompiledExpr>,
    /// The states by group.
    accumulator: Accumulator,
    /// For DISTINCT the values seen; for `COUNT(DISTINCT *)` the rows.
    distinct: Option<DistinctRows>,
}

/// Hash aggregation; see the [module documentation](self).
pub struct Aggregator {
    /// Column of the input for each key; `None` is a slot that the input lacks.
    keys: Vec<Option<usize>>,
    groups: RowNumbers,
    columns: Vec<Column>,
    /// Bytes counted against the limit.
    held: HeldMemory,
    /// Bytes held when there was no more room, which are not counted.
    uncounted: usize,
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
            groups: RowNumbers::new(keys.len()),
            keys,
            columns,
            held: HeldMemory::default(),
            uncounted: 0,
            group_numbers: Vec::new(),
        };
        if aggregator.keys.is_empty() {
            aggregator.groups.number_of(&[]);
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

    /// Whether [`Self::spill`] makes room.
    fn may_spill(&self) -> bool {
        self.columns.iter().any(Column::may_spill)
    }

    /// Lets what grows without new groups go to files from now on: distinct values, and texts.
    fn spill(&mut self, cx: &Context) {
        for column in &mut self.columns {
            column.spill(cx);
        }
    }

    /// Adds what another aggregator of the same query has seen.
    pub fn merge(&mut self, other: Self, cx: &Context) -> Result<(), ExecError> {
        self.add_all(other, cx)?;
        self.account(cx)
    }

    /// Adds what another has seen without counting what is held then.
    fn add_all(&mut self, other: Self, cx: &Context) -> Result<(), ExecError> {
        let count = other.groups.count();
        let mut numbers: Vec<u32> = Vec::with_capacity(count);
        for start in (0..count).step_by(CHECK_GROUPS) {
            cx.check()?;
            let groups = start..count.min(start + CHECK_GROUPS);
            self.groups
                .numbers_of_others(&other.groups, groups, &mut numbers);
        }
        self.grow();
        let mut bytes = self.bytes();
        for (column, more) in self.columns.iter_mut().zip(other.columns) {
            cx.check()?;
            let own = column.bytes();
            // What is there of all threads may take the shares of all of them.
            let bytes_max =
                (share_bytes(cx) * cx.options().threads.max(1)).saturating_sub(bytes - own);
            column.merge(more, &numbers, bytes_max, cx)?;
            bytes = bytes - own + column.bytes();
        }
        Ok(())
    }

    /// One row per group: the keys in order, then the aggregates in order.
    pub fn finish(self, cx: &Context) -> Result<Batch, ExecError> {
        let count = self.groups.count();
        let mut columns = self.groups.into_columns();
        for column in self.columns {
            cx.check()?;
            columns.push(column.finish(cx)?);
        }
        Ok(Batch::from_vectors(columns, count))
    }

    /// Puts the group number of each row into `group_numbers`.
    fn find_groups(&mut self, batch: &Batch) {
        self.group_numbers.clear();
        if self.keys.is_empty() {
            self.group_numbers.resize(batch.rows(), 0);
            return;
        }
        // What the input lacks is unbound.
        let is_lacking = self.keys.contains(&None);
        let unbound = vec![0; if is_lacking { batch.rows() } else { 0 }];
        let column = |column: &Option<usize>| column.map_or(&*unbound, |idx| batch.ids(idx));
        let columns: Vec<&[u64]> = self.keys.iter().map(column).collect();
        self.groups
            .numbers_of(&columns, batch.rows(), &mut self.group_numbers);
    }

    /// Gives every group a state.
    fn grow(&mut self) {
        for column in &mut self.columns {
            column.accumulator.resize(self.groups.count());
        }
    }

    /// Counts the bytes that came to be held since the last time.
    fn account(&mut self, cx: &Context) -> Result<(), ExecError> {
        let bytes = self.bytes().saturating_sub(self.uncounted);
        self.held.grow_to(bytes, OPERATOR, cx)
    }

    /// Leaves what is held now as it is, though there was no room for some of it: only what comes more counts.
    fn leave_uncounted(&mut self) {
        self.uncounted = self.bytes().saturating_sub(self.held.bytes());
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
        let width = if argument.is_some() { 1 } else { schema.len() };
        Ok(Self {
            accumulator: Accumulator::new(&aggregate.function),
            distinct: is_distinct.then(|| DistinctRows::new(width)),
            argument,
        })
    }

    fn update(&mut self, batch: &Batch, groups: &[u32], cx: &Context) -> Result<(), ExecError> {
        let Some(argument) = &self.argument else {
            match &mut self.distinct {
                None => self.accumulator.count_rows(groups),
                Some(rows) => {
                    let groups = rows.insert_rows(batch, groups, cx)?;
                    self.accumulator.count_rows(&groups);
                }
            }
            return Ok(());
        };
        let done = match argument.floating_cast() {
            Some(cast) if self.distinct.is_none() => {
                let ids = batch.ids(cast.column);
                self.accumulator.update_casts(groups, ids, cast)?
            }
            _ => 0,
        };
        if done == groups.len() {
            return Ok(());
        }
        let ids = if self.distinct.is_none() && self.accumulator.reads_numbers() {
            match argument.evaluate_numbers(batch, cx)? {
                Evaluated::Ids(ids) => ids,
                Evaluated::Numbers(numbers) => {
                    return self.accumulator.update_numbers(groups, &numbers, done, cx);
                }
            }
        } else {
            argument.evaluate(batch, cx)?
        };
        match &mut self.distinct {
            None => self.accumulator.update(&groups[done..], &ids[done..], cx),
            Some(values) => {
                let (groups, ids) = values.insert_values(groups, &ids, cx)?;
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
    fn merge(
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

    fn may_spill(&self) -> bool {
        self.distinct.is_some() || self.accumulator.may_spill()
    }

    fn spill(&mut self, cx: &Context) {
        if let Some(distinct) = &mut self.distinct {
            distinct.spill();
        }
        self.accumulator.spill(cx);
    }

    /// The results by group.
    fn finish(mut self, cx: &Context) -> Result<Vec<u64>, ExecError> {
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
        self.accumulator.finish(cx)
    }

    fn bytes(&self) -> usize {
        self.accumulator.bytes() + self.distinct.as_ref().map_or(0, DistinctRows::bytes)
    }
}

#[cfg(test)]
mod tests;
