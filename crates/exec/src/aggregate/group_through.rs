//! `Through`: groups of joined rows from aggregates of one side, without making the joined rows.
//!
//! ```text
//! rows   (via, values)   ->  parts:   one state per via          price by product
//! pairs  (keys, via)     ->  groups:  states of parts added up   feature <- its products' states
//! ```
//!
//! Every group is the sum of the states of its pairs, as often as the pair occurs: what aggregating the
//! join of pairs and rows gives. With a domain ([`Aggregator::finish_without`]) a group is what is left of all rows when those of its
//! pairs are taken away: what aggregating the rows without a pair gives, for each row of the domain.
//!
//! What is taken away may have been made for another group of the plan, and all rows are then a group of their own, or the sum of the
//! states by via of those that all rows have.
//!
//! Invariant: the last aggregate is a count of rows, which tells whether a group has any.
//! Cost: one probe and one addition of states per pair, instead of one update per joined row.

use super::Aggregator;
use super::accumulator::Accumulator;
use super::column::Column;
use super::partitioned::{self, Seen};
use super::spilling::{Grouping, Groups};
use crate::batch::{Batch, columns_with_room};
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::operators::pipeline::Sink;
use std::iter::repeat;
use std::ops::Range;
use std::sync::Arc;

/// Groups through pairs.
pub struct Through {
    /// States by via, which all threads read.
    parts: Arc<Aggregator>,
    /// States by group.
    groups: Aggregator,
    /// Columns of the pairs that hold the via.
    via: Vec<usize>,
    /// Whether keys of pairs whose via has no state are groups too, without rows.
    all_keys: bool,
}

impl Through {
    /// No pairs yet. `groups` has seen nothing and aggregates like `parts`; its keys are columns of the
    /// pairs.
    pub fn new(parts: Arc<Aggregator>, groups: Aggregator, via: Vec<usize>) -> Self {
        Self {
            parts,
            groups,
            via,
            all_keys: false,
        }
    }

    /// The same, with groups without rows for keys of pairs whose via has no state.
    pub fn with_all_keys(self) -> Self {
        Self {
            all_keys: true,
            ..self
        }
    }

    /// Adds what another thread has grouped through the same parts.
    pub fn merge(&mut self, other: Self, cx: &Context) -> Result<(), ExecError> {
        self.groups.merge(other.groups, cx)
    }

    /// One row per group of all threads: the keys, then the aggregates. `grouping` is that of the groups.
    pub fn finish_all(
        threads: Vec<Self>,
        grouping: &Arc<Grouping>,
        cx: &Context,
    ) -> Result<Groups, ExecError> {
        let threads = threads.into_iter().map(|thread| Seen {
            groups: thread.groups,
            dealt: None,
        });
        let threads: Vec<Seen> = threads.collect();
        let Some(held) = partitioned::room(threads.iter(), cx) else {
            let mut threads = threads.into_iter().map(|thread| thread.groups);
            let first = threads.next();
            let mut all = first.map_or_else(|| grouping.aggregator(cx), Ok)?;
            threads.try_for_each(|groups| all.merge(groups, cx))?;
            let groups = vec![all.finish(cx)?];
            return Ok(Groups::made(groups, HeldMemory::default()));
        };
        let merged = partitioned::merge(threads, grouping, cx)?;
        Ok(Groups::made(merged, held))
    }

    /// The states by via.
    pub fn parts(&self) -> &Arc<Aggregator> {
        &self.parts
    }

    /// The states by group.
    pub fn groups(&self) -> &Aggregator {
        &self.groups
    }

    /// The states by group, alone.
    pub fn into_groups(self) -> Aggregator {
        self.groups
    }
}

impl Aggregator {
    /// The keys of all groups.
    pub fn group_keys(&self) -> Batch {
        self.keys_of(0..self.groups.count())
    }

    /// The keys of some groups.
    pub(super) fn keys_of(&self, groups: Range<usize>) -> Batch {
        let count = groups.len();
        let mut columns = columns_with_room(self.keys.len(), count);
        groups.for_each(|group| self.push_key(group, &mut columns));
        Batch::from_vectors(columns, count)
    }

    /// Appends the key of a group, to the first columns.
    fn push_key(&self, group: usize, columns: &mut [Vec<u64>]) {
        for (column, &id) in columns.iter_mut().zip(self.groups.row(group)) {
            column.push(id);
        }
    }

    /// One row for each group that has rows, as [`Self::finish`] gives them; the states stay.
    pub fn read(&self, cx: &Context) -> Result<Batch, ExecError> {
        let rows = self.rows_of_groups();
        let with_rows = (0_u32..).zip(rows);
        let with_rows = with_rows.filter_map(|(group, &rows)| (rows > 0).then_some(group));
        let with_rows: Vec<u32> = with_rows.collect();
        let (count, width) = (with_rows.len(), self.keys.len());
        let mut columns = columns_with_room(width + self.width, count);
        for groups in with_rows.chunks(cx.options().batch_rows.max(1)) {
            cx.check()?;
            for &group in groups {
                self.push_key(group as usize, &mut columns);
            }
            let moves: Vec<(u32, u32)> = groups.iter().copied().zip(0..).collect();
            for column in &self.columns {
                let mut states = column.accumulator.empty();
                states.resize(moves.len());
                states.add_states(&column.accumulator, &moves, cx)?;
                for (place, results) in column.results(states, cx)? {
                    columns[width + place].extend(results.into_ids(cx));
                }
            }
        }
        Ok(Batch::from_vectors(columns, count))
    }

    /// Adds all groups of another, which stays as it is, to the only one here, which has no key.
    pub fn add_total(&mut self, other: &Self, cx: &Context) -> Result<(), ExecError> {
        let moves: Vec<(u32, u32)> = (0..other.groups.count() as u32).zip(repeat(0)).collect();
        for (column, more) in self.columns.iter_mut().zip(&other.columns) {
            column
                .accumulator
                .add_states(&more.accumulator, &moves, cx)?;
        }
        Ok(())
    }

    /// One row for each of the domain's rows that any row is left for: its ids, then the aggregates of
    /// all rows, which `total` has as one group, but those of its group. The domain's columns are the keys in order.
    pub fn finish_without(
        &self,
        total: &Self,
        domain: &[Batch],
        cx: &Context,
    ) -> Result<Batch, ExecError> {
        let total = total.columns.iter().map(|column| &column.accumulator);
        let total: Vec<&Accumulator> = total.collect();
        let mut columns = vec![Vec::new(); self.keys.len() + self.width];
        for batch in domain {
            let step = cx.options().batch_rows.max(1);
            for start in (0..batch.rows()).step_by(step) {
                cx.check()?;
                let rows = batch.slice(start, step.min(batch.rows() - start));
                let left = self.left_of(&total, &rows, cx)?;
                for (column, ids) in columns.iter_mut().zip(left) {
                    column.extend(ids);
                }
            }
        }
        let rows = columns.first().map_or(0, Vec::len);
        Ok(Batch::from_vectors(columns, rows))
    }

    /// The columns of what is left of `total` for each of the rows in `domain`, less the group of that key: the rows'
    /// ids, then the aggregates. Rows for which no row is left are left out.
    fn left_of(
        &self,
        total: &[&Accumulator],
        domain: &Batch,
        cx: &Context,
    ) -> Result<Vec<Vec<u64>>, ExecError> {
        let (mut known, mut key) = (Vec::new(), Vec::new());
        for row in 0..domain.rows() {
            key.clear();
            domain.row_into(row, &mut key);
            known.extend(self.groups.find(&key).map(|group| (group, row as u32)));
        }
        let mut left = Vec::with_capacity(total.len());
        for (state, column) in total.iter().zip(&self.columns) {
            let mut states = state.repeated(domain.rows())?;
            states.subtract_states(&column.accumulator, &known)?;
            left.push(states);
        }
        let rows = self.rows_column().and_then(|column| left.get(column));
        let counts = rows.map(Accumulator::counts).unwrap_or_default();
        let rows: Vec<u32> = (0_u32..)
            .zip(counts)
            .filter_map(|(row, &count)| (count > 0).then_some(row))
            .collect();
        let keys = domain.slices().into_iter();
        let chosen = |ids: &[u64]| rows.iter().map(|&row| ids[row as usize]).collect();
        let mut columns: Vec<Vec<u64>> = keys.map(chosen).collect();
        let first = columns.len();
        columns.resize(first + self.width, Vec::new());
        for (states, column) in left.into_iter().zip(&self.columns) {
            for (place, results) in column.results(states, cx)? {
                columns[first + place] = chosen(&results.into_ids(cx));
            }
        }
        Ok(columns)
    }

    /// The place of the states of the last aggregate, which counts rows.
    fn rows_column(&self) -> Option<usize> {
        let last = self.width.checked_sub(1)?;
        let is_last = |column: &Column| column.places().any(|place| place == last);
        self.columns.iter().position(is_last)
    }

    /// The number of rows of each group.
    fn rows_of_groups(&self) -> &[u64] {
        let column = self.rows_column().map(|column| &self.columns[column]);
        column.map_or(&[], |column| column.accumulator.counts())
    }
}

impl Sink for Through {
    /// Adds pairs.
    fn push(&mut self, pairs: &Batch, cx: &Context) -> Result<(), ExecError> {
        let mut part_of_row = Vec::with_capacity(pairs.rows());
        let mut rows: Vec<u32> = Vec::with_capacity(pairs.rows());
        let parts = &self.parts.groups;
        let mut found = |row: usize, part: Option<u32>| {
            if let Some(part) = part {
                part_of_row.push(part);
                rows.push(row as u32);
            }
        };
        if let [column] = self.via.as_slice() {
            // Pairs mostly come with all keys of one via together.
            let mut last = (0, None);
            for (row, &id) in pairs.ids(*column).iter().enumerate() {
                if last.0 != id {
                    last = (id, parts.find(&[id]));
                }
                found(row, last.1);
            }
        } else {
            let mut key = vec![0; self.via.len()];
            for row in 0..pairs.rows() {
                for (id, &column) in key.iter_mut().zip(&self.via) {
                    *id = pairs.ids(column)[row];
                }
                found(row, parts.find(&key));
            }
        }
        let all_found = rows.len() == pairs.rows();
        let pairs = match all_found || self.all_keys {
            true => pairs.clone(),
            false => pairs.take(&rows),
        };
        self.groups.find_groups(&pairs);
        self.groups.grow();
        let numbers = &self.groups.group_numbers;
        let moves: Vec<(u32, u32)> = if all_found || !self.all_keys {
            part_of_row
                .into_iter()
                .zip(numbers.iter().copied())
                .collect()
        } else {
            let numbers = rows.iter().map(|&row| numbers[row as usize]);
            part_of_row.into_iter().zip(numbers).collect()
        };
        for (group, part) in self.groups.columns.iter_mut().zip(&self.parts.columns) {
            group
                .accumulator
                .add_states(&part.accumulator, &moves, cx)?;
        }
        self.groups.account(cx)
    }
}
