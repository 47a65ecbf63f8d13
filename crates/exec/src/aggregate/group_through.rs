//! `Through`: groups of joined rows from aggregates of one side, without making the joined rows.
//!
//! ```text
//! rows   (via, values)   ->  parts:   one state per via          price by product
//! pairs  (keys, via)     ->  groups:  states of parts added up   feature <- its products' states
//! ```
//!
//! Every group is the sum of the states of its pairs, as often as the pair occurs: what aggregating the
//! join of pairs and rows gives. With a domain (`finish_without`) a group is what is left of all rows when those of its
//! pairs are taken away: what aggregating the rows without a pair gives, for each row of the domain.
//!
//! Invariant: the last aggregate is a count of rows, which tells whether a group has any.
//! Cost: one probe and one addition of states per pair, instead of one update per joined row.

use super::Aggregator;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::pipeline::Sink;
use std::sync::Arc;

/// Groups through pairs.
pub struct Through {
    /// States by via, which all threads read.
    parts: Arc<Aggregator>,
    /// States by group.
    groups: Aggregator,
    /// Columns of the pairs that hold the via.
    via: Vec<usize>,
}

impl Through {
    /// No pairs yet. `groups` has seen nothing and aggregates like `parts`; its keys are columns of the
    /// pairs.
    pub fn new(parts: Arc<Aggregator>, groups: Aggregator, via: Vec<usize>) -> Self {
        Self { parts, groups, via }
    }

    /// Adds what another thread has grouped through the same parts.
    pub fn merge(&mut self, other: Self, cx: &Context) -> Result<(), ExecError> {
        self.groups.merge(other.groups, cx)
    }

    /// One row per group: the keys, then the aggregates.
    pub fn finish(self, cx: &Context) -> Result<Batch, ExecError> {
        cx.release(self.parts.reserved);
        self.groups.finish(cx)
    }

    /// One row for each of the domain's rows that any row is left for: its ids, then the aggregates of
    /// all rows but those of its pairs. The domain's columns are the keys in order.
    pub fn finish_without(self, domain: &[Batch], cx: &Context) -> Result<Batch, ExecError> {
        let Self { parts, groups, .. } = self;
        let mut total = Vec::with_capacity(parts.columns.len());
        let moves: Vec<(u32, u32)> = (0..parts.groups.count())
            .map(|part| (part as u32, 0))
            .collect();
        for (column, part) in groups.columns.iter().zip(&parts.columns) {
            let mut state = column.accumulator.empty();
            state.resize(1);
            state.add_states(&part.accumulator, &moves, cx)?;
            total.push(state);
        }
        let width = groups.keys.len();
        let mut columns = vec![Vec::new(); width + total.len()];
        let mut key = Vec::with_capacity(width);
        for batch in domain {
            cx.check()?;
            for row in 0..batch.rows() {
                key.clear();
                batch.row_into(row, &mut key);
                let known = groups.groups.find(&key);
                let mut left = Vec::with_capacity(total.len());
                for (state, column) in total.iter().zip(&groups.columns) {
                    let mut state = state.copied()?;
                    if let Some(group) = known {
                        state.subtract(&column.accumulator, group as usize)?;
                    }
                    left.push(state);
                }
                if left.last().is_none_or(|rows| rows.counts() == [0]) {
                    continue;
                }
                let values = left.into_iter().flat_map(|state| state.finish(cx));
                let ids = key.iter().copied().chain(values);
                for (column, id) in columns.iter_mut().zip(ids) {
                    column.push(id);
                }
            }
        }
        cx.release(parts.reserved + groups.reserved);
        let rows = columns.first().map_or(0, Vec::len);
        Ok(Batch::from_vectors(columns, rows))
    }
}

impl Sink for Through {
    /// Adds pairs.
    fn push(&mut self, pairs: &Batch, cx: &Context) -> Result<(), ExecError> {
        let mut key = vec![0; self.via.len()];
        let mut part_of_row = Vec::with_capacity(pairs.rows());
        let mut rows = Vec::with_capacity(pairs.rows());
        for row in 0..pairs.rows() {
            for (id, &column) in key.iter_mut().zip(&self.via) {
                *id = pairs.ids(column)[row];
            }
            if let Some(part) = self.parts.groups.find(&key) {
                part_of_row.push(part);
                rows.push(row as u32);
            }
        }
        self.groups.find_groups(&pairs.take(&rows));
        self.groups.grow();
        let numbers = self.groups.group_numbers.iter().copied();
        let moves: Vec<(u32, u32)> = part_of_row.into_iter().zip(numbers).collect();
        for (group, part) in self.groups.columns.iter_mut().zip(&self.parts.columns) {
            group
                .accumulator
                .add_states(&part.accumulator, &moves, cx)?;
        }
        self.groups.account(cx)
    }
}
