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
mod argument;
mod column;
mod concat;
mod dealt;
mod distinct;
mod extremes;
mod float_sum;
mod foremost;
mod group_through;
mod listed;
mod partitioned;
mod roll_up;
mod spilling;
mod sum;
mod sum_states;

use crate::batch::Batch;
use crate::computed_numbers::ComputedNumbers;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::row_numbers::RowNumbers;
use crate::spill::share_bytes;
use argument::Argument;
use basalt_plan::physical::{Aggregate, Slot};
use column::Column;
use sum_states::Results;

pub use group_through::Through;
pub use spilling::{Grouping, Groups, SpillingAggregator};

/// The name that memory errors give.
pub const OPERATOR: &str = "Group";

/// Groups merged, or whose results are made, between two looks at the query's flag and clock: some milliseconds where each misses the caches.
const CHECK_GROUPS: usize = 1 << 16;

/// Hash aggregation; see the [module documentation](self).
pub struct Aggregator {
    /// Column of the input for each key; `None` is a slot that the input lacks.
    keys: Vec<Option<usize>>,
    groups: RowNumbers,
    /// What the aggregates read of each row.
    arguments: Vec<Argument>,
    columns: Vec<Column>,
    /// Number of aggregates.
    width: usize,
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
        let (columns, arguments) = Column::of_all(aggregates, schema, cx)?;
        let keys: Vec<_> = keys
            .iter()
            .map(|key| schema.iter().position(|slot| slot == key))
            .collect();
        let mut aggregator = Self {
            groups: RowNumbers::new(keys.len()),
            keys,
            arguments,
            columns,
            width: aggregates.len(),
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
        self.update_states(batch, cx)
    }

    /// Adds the rows of a batch to the states of their groups.
    fn update_states(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError> {
        let mut values = Vec::with_capacity(self.arguments.len());
        for argument in &self.arguments {
            values.push(argument.values(batch, cx)?);
        }
        for column in &mut self.columns {
            column.update(batch, &self.group_numbers, &values, cx)?;
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
            self.update_states(&rows, cx)?;
            self.account_known(cx)?;
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
        let mut groups = Batch::from_vectors(self.groups.into_columns(), count);
        let mut results = Vec::with_capacity(self.width);
        for column in self.columns {
            cx.check()?;
            results.append(&mut column.finish(cx)?);
        }
        results.sort_by_key(|(place, _)| *place);
        for (_, results) in results {
            groups = match results {
                Results::Ids(ids) => groups.with_column(ids),
                Results::Numbers(numbers) => groups.with_numbers(ComputedNumbers::new(numbers, cx)),
            };
        }
        Ok(groups)
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

    /// The same where no group is added: what the states of those that are there grow by (a sum that a word no longer holds, a longer text) cannot go to
    /// files, and stays uncounted where there is no room, up to as much as is counted.
    fn account_known(&mut self, cx: &Context) -> Result<(), ExecError> {
        match self.account(cx) {
            Err(ExecError::MemoryLimit { .. }) if self.bytes() <= 2 * self.held.bytes() => {
                self.leave_uncounted();
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Leaves what is held now as it is, though there was no room for some of it: only what comes more counts.
    fn leave_uncounted(&mut self) {
        self.uncounted = self.bytes().saturating_sub(self.held.bytes());
    }
}

#[cfg(test)]
mod tests;
