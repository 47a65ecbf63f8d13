//! `SpillingAggregator`: GROUP BY within a share of the query's memory.
//!
//! ```text
//! rows -> groups that are known    -> updated in memory
//!      -> others, while there is room -> new groups
//!      -> others, when there is none  -> partitions by hash of the key, in files
//! end:    each partition -> groups of other threads in memory, or an aggregator of its own -> rows out
//! ```
//!
//! Invariant: once no room is left no group is added, so all rows of a group are either in memory or in one partition of
//! each thread. What grows without new groups (the values of DISTINCT, the texts of GROUP_CONCAT) goes to files of its own
//! from then on, also where there is only one group.
//!
//! Cost: as in memory for groups that find room; 16 bytes a cell of file traffic for each row of the others, again for each level
//! of partitions (one level for up to 32 times the memory).

use super::Aggregator;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::row_numbers::hash_row;
use crate::spill::partitions::{LEVELS, Partition, Partitions};
use crate::spill::share_bytes;
use arrow_array::UInt64Array;
use basalt_plan::physical::{Aggregate, Slot};
use std::sync::Arc;

/// What is grouped how.
pub struct Grouping {
    /// The aggregates.
    pub aggregates: Vec<Aggregate>,
    /// The grouping slots.
    pub keys: Vec<Slot>,
    /// The columns of the rows.
    pub schema: Vec<Slot>,
}

/// Groups of one thread within a share of memory; rows of further groups go to files.
pub struct SpillingAggregator {
    grouping: Arc<Grouping>,
    groups: Aggregator,
    /// Whether there is no more room.
    is_full: bool,
    /// Rows of groups that found no room.
    put_off: Option<Partitions>,
    /// How often the rows were dealt out before, and the bits of the hash by which.
    before: (u32, u64),
    /// Partitions of threads that were merged into this one.
    partitions: Vec<Partition>,
}

impl SpillingAggregator {
    /// No groups yet.
    pub fn new(grouping: &Arc<Grouping>, cx: &Context) -> Result<Self, ExecError> {
        Self::at_level(grouping, (0, 0), cx)
    }

    fn at_level(
        grouping: &Arc<Grouping>,
        before: (u32, u64),
        cx: &Context,
    ) -> Result<Self, ExecError> {
        let Grouping {
            aggregates,
            keys,
            schema,
        } = &**grouping;
        Ok(Self {
            grouping: Arc::clone(grouping),
            groups: Aggregator::new(aggregates, keys, schema, cx)?,
            is_full: false,
            put_off: None,
            before,
            partitions: Vec::new(),
        })
    }

    /// Adds rows.
    pub fn update(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError> {
        if self.put_off.is_some() {
            let rest = self.groups.update_known(batch, cx)?;
            return self.put_off(batch, &rest, cx);
        }
        self.groups.add(batch, cx)?;
        self.hold(cx)
    }

    /// Whether something can go to files: one group cannot be dealt out, and there is a last level.
    fn may_spill(&self) -> bool {
        let deals_out = !self.grouping.keys.is_empty() && self.before.0 < LEVELS;
        deals_out || self.groups.may_spill()
    }

    /// Counts what is held; from where that is too much, further groups and what grows in those that are known go to files.
    fn hold(&mut self, cx: &Context) -> Result<(), ExecError> {
        let may_spill = self.may_spill();
        let is_full = match self.groups.account(cx) {
            // Others hold the rest. What the last rows came to hold stays uncounted.
            Err(ExecError::MemoryLimit { .. }) if may_spill && !self.is_full => {
                self.groups.leave_uncounted();
                true
            }
            outcome => outcome.map(|()| self.groups.bytes() > share_bytes(cx))?,
        };
        if is_full && may_spill && !self.is_full {
            self.spill(cx);
        }
        Ok(())
    }

    /// Keeps to what is in memory from now on.
    fn spill(&mut self, cx: &Context) {
        self.is_full = true;
        self.groups.spill(cx);
        if !self.grouping.keys.is_empty() && self.before.0 < LEVELS {
            let width = self.grouping.schema.len() + 1;
            self.put_off = Some(Partitions::new(width, self.before));
        }
    }

    /// Writes rows of groups that have no room.
    fn put_off(&mut self, batch: &Batch, rows: &[u32], cx: &Context) -> Result<(), ExecError> {
        let Some(partitions) = &mut self.put_off else {
            return Ok(());
        };
        let (mut key, columns) = (Vec::new(), batch.slices());
        for &row in rows {
            let row = row as usize;
            self.groups.key_into(batch, row, &mut key);
            let solution = batch.solutions().map_or(0, |numbers| numbers[row]);
            let ids = columns.iter().map(|ids| ids[row]);
            partitions.push(hash_row(&key), ids.chain([solution]), cx)?;
        }
        Ok(())
    }

    /// Adds what another thread has seen.
    pub fn merge(&mut self, mut other: Self, cx: &Context) -> Result<(), ExecError> {
        self.partitions.append(&mut other.partitions);
        if let Some(partitions) = other.put_off.take() {
            self.partitions.extend(partitions.finish()?);
        }
        if other.is_full && !self.is_full {
            // Groups that the other knew no more are in its files: this one may meet them as known ones only.
            self.is_full = true;
            self.groups.spill(cx);
        }
        self.groups.add_all(other.groups, cx)?;
        match self.groups.account(cx) {
            Err(ExecError::MemoryLimit { .. }) if self.is_full => self.groups.leave_uncounted(),
            Err(ExecError::MemoryLimit { .. }) if self.may_spill() => {
                self.groups.leave_uncounted();
                self.spill(cx);
            }
            outcome => outcome?,
        }
        Ok(())
    }

    /// The groups, to be read.
    pub fn finish(mut self) -> Result<Groups, ExecError> {
        if let Some(partitions) = self.put_off.take() {
            self.partitions.extend(partitions.finish()?);
        }
        Ok(Groups {
            grouping: self.grouping,
            known: Some(self.groups),
            left: self.partitions,
        })
    }
}

/// All groups, some at a time.
pub struct Groups {
    grouping: Arc<Grouping>,
    /// Groups in memory; they come last, since partitions of other threads may have rows of them.
    known: Option<Aggregator>,
    /// Partitions that were not read yet.
    left: Vec<Partition>,
}

impl Groups {
    /// Some more groups, one row each: the keys in order, then the aggregates in order. `None` at the end.
    pub fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        while let Some(first) = self.left.pop() {
            // The same partition of other threads has rows of the same groups.
            let same =
                |other: &Partition| other.level == first.level && other.number == first.number;
            let (mut parts, left) = std::mem::take(&mut self.left).into_iter().partition(same);
            self.left = left;
            parts.push(first);
            let groups = self.of_partition(parts, cx)?;
            if groups.rows() > 0 {
                return Ok(Some(groups));
            }
        }
        self.known.take().map(|known| known.finish(cx)).transpose()
    }

    /// The groups of a partition that are not known; what finds no room again is left for later.
    fn of_partition(&mut self, parts: Vec<Partition>, cx: &Context) -> Result<Batch, ExecError> {
        let before = parts
            .first()
            .map_or((0, 0), |part| (part.level, part.number));
        let mut groups = SpillingAggregator::at_level(&self.grouping, before, cx)?;
        let files = parts.len();
        for part in parts {
            let mut reader = part.rows.reader(files, cx);
            loop {
                cx.check()?;
                let (columns, rows) = reader.next_columns(cx.options().batch_rows.max(1))?;
                if rows == 0 {
                    break;
                }
                let batch = with_solutions(columns, rows);
                let rest = match &mut self.known {
                    Some(known) => known.update_known(&batch, cx)?,
                    None => Vec::new(),
                };
                if !rest.is_empty() {
                    groups.update(&batch.keep(&rest), cx)?;
                }
            }
        }
        if let Some(partitions) = groups.put_off.take() {
            self.left.extend(partitions.finish()?);
        }
        groups.groups.finish(cx)
    }
}

/// The batch whose last column is the numbers of solutions.
fn with_solutions(mut columns: Vec<Vec<u64>>, rows: usize) -> Batch {
    let solutions = columns.pop().unwrap_or_default();
    Batch::from_vectors(columns, rows).with_solutions(UInt64Array::from(solutions))
}
