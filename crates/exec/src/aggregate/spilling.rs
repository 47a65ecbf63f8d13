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

use super::dealt::DealtRows;
use super::partitioned::{self, Seen};
use super::{Aggregator, OPERATOR};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::partitioning::are_mostly_new;
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

impl Grouping {
    /// No groups yet.
    pub fn aggregator(&self, cx: &Context) -> Result<Aggregator, ExecError> {
        Aggregator::new(&self.aggregates, &self.keys, &self.schema, cx)
    }

    /// The columns of the keys, if the rows have all of them.
    fn key_columns(&self) -> Option<Vec<usize>> {
        let column = |key| self.schema.iter().position(|slot| slot == key);
        self.keys.iter().map(column).collect()
    }
}

/// Groups from which on it is looked whether rows have keys of others: tables of fewer lie in the nearer caches.
const LOOK_GROUPS: usize = if cfg!(test) { 32 } else { 1 << 15 };

/// Rows and groups when it was last looked whether to deal rows out.
#[derive(Default)]
struct Looked {
    rows: usize,
    groups: usize,
}

/// Groups of one thread within a share of memory; rows of further groups go to files.
pub struct SpillingAggregator {
    grouping: Arc<Grouping>,
    seen: Seen,
    /// The columns of the keys, if rows may be dealt out in memory.
    key_columns: Option<Vec<usize>>,
    looked: Looked,
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
        let groups = grouping.aggregator(cx)?;
        let key_columns = grouping.key_columns();
        let may_deal = groups.may_stay() && before.0 == 0 && !grouping.keys.is_empty();
        Ok(Self {
            grouping: Arc::clone(grouping),
            seen: Seen {
                groups,
                dealt: None,
            },
            key_columns: key_columns.filter(|_| may_deal),
            looked: Looked::default(),
            is_full: false,
            put_off: None,
            before,
            partitions: Vec::new(),
        })
    }

    /// Adds rows.
    pub fn update(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError> {
        if self.put_off.is_some() {
            let rest = self.seen.groups.update_known(batch, cx)?;
            return self.put_off(batch, &rest, cx);
        }
        match (&mut self.seen.dealt, &self.key_columns) {
            (Some(dealt), Some(key_columns)) if is_plain(batch) => {
                dealt.push(batch, key_columns);
                dealt.group_if_many(&self.grouping, cx)?;
            }
            _ => {
                self.seen.groups.add(batch, cx)?;
                self.look(batch.rows());
            }
        }
        self.hold(cx)
    }

    /// Looks whether rows that come from now on are to be dealt out: whenever there are twice as many groups.
    fn look(&mut self, rows: usize) {
        self.looked.rows += rows;
        let groups = self.seen.groups.groups.count();
        if groups < LOOK_GROUPS.max(2 * self.looked.groups) {
            return;
        }
        let new = groups - self.looked.groups;
        let deals = self.key_columns.is_some() && self.seen.groups.groups.is_hashed();
        if deals && self.seen.dealt.is_none() && are_mostly_new(new, self.looked.rows) {
            self.seen.dealt = Some(DealtRows::new());
        }
        self.looked = Looked { rows: 0, groups };
    }

    /// Groups the rows that were dealt out, as if they had not been.
    fn undeal(&mut self, cx: &Context) -> Result<(), ExecError> {
        let parts = self.seen.dealt.take().map(DealtRows::into_parts);
        self.key_columns = None;
        for part in parts.unwrap_or_default() {
            if let Some(groups) = part.groups {
                self.seen.groups.add_all(groups, cx)?;
            }
            for block in part.blocks {
                cx.check()?;
                self.update(&block, cx)?;
            }
        }
        Ok(())
    }

    /// Whether something can go to files: one group cannot be dealt out, and there is a last level.
    fn may_spill(&self) -> bool {
        let deals_out = !self.grouping.keys.is_empty() && self.before.0 < LEVELS;
        deals_out || self.seen.groups.may_spill()
    }

    /// Counts what is held; from where that is too much, further groups and what grows in those that are known go to files.
    fn hold(&mut self, cx: &Context) -> Result<(), ExecError> {
        let may_spill = self.may_spill();
        if let Some(dealt) = &self.seen.dealt {
            let bytes = self.seen.groups.bytes() + dealt.bytes();
            let has_room = self.seen.groups.held.grow_to(bytes, OPERATOR, cx);
            if has_room.is_err() || bytes > share_bytes(cx) {
                self.undeal(cx)?;
            }
            return Ok(());
        }
        let is_full = match self.seen.groups.account(cx) {
            // Others hold the rest. What the last rows came to hold stays uncounted.
            Err(ExecError::MemoryLimit { .. }) if may_spill && !self.is_full => {
                self.seen.groups.leave_uncounted();
                true
            }
            outcome => outcome.map(|()| self.seen.groups.bytes() > share_bytes(cx))?,
        };
        if is_full && may_spill && !self.is_full {
            self.spill(cx);
        }
        Ok(())
    }

    /// Keeps to what is in memory from now on.
    fn spill(&mut self, cx: &Context) {
        self.is_full = true;
        self.seen.groups.spill(cx);
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
            self.seen.groups.key_into(batch, row, &mut key);
            let solution = batch.solutions().map_or(0, |numbers| numbers[row]);
            let ids = columns.iter().map(|ids| ids[row]);
            partitions.push(hash_row(&key), ids.chain([solution]), cx)?;
        }
        Ok(())
    }

    /// The groups of all threads, to be read.
    pub fn finish_all(mut threads: Vec<Self>, cx: &Context) -> Result<Groups, ExecError> {
        let spills = |thread: &Self| thread.is_full || !thread.partitions.is_empty();
        let room = match threads.iter().any(spills) {
            true => None,
            false => partitioned::room(threads.iter().map(|thread| &thread.seen), cx),
        };
        if let Some(held) = room {
            let grouping = threads.first().map(|thread| Arc::clone(&thread.grouping));
            let grouping = grouping.ok_or_else(no_thread)?;
            let seen = threads.into_iter().map(|thread| thread.seen);
            let merged = partitioned::merge(seen.collect(), &grouping, cx)?;
            return Ok(Groups::made(merged, held));
        }
        for thread in &mut threads {
            thread.undeal(cx)?;
        }
        let mut threads = threads.into_iter();
        let mut all = threads.next().ok_or_else(no_thread)?;
        threads.try_for_each(|thread| all.merge(thread, cx))?;
        all.finish()
    }

    /// Adds what another thread has seen.
    fn merge(&mut self, mut other: Self, cx: &Context) -> Result<(), ExecError> {
        self.partitions.append(&mut other.partitions);
        if let Some(partitions) = other.put_off.take() {
            self.partitions.extend(partitions.finish()?);
        }
        if other.is_full && !self.is_full {
            // Groups that the other knew no more are in its files: this one may meet them as known ones only.
            self.is_full = true;
            self.seen.groups.spill(cx);
        }
        self.seen.groups.add_all(other.seen.groups, cx)?;
        match self.seen.groups.account(cx) {
            Err(ExecError::MemoryLimit { .. }) if self.is_full => {
                self.seen.groups.leave_uncounted()
            }
            Err(ExecError::MemoryLimit { .. }) if self.may_spill() => {
                self.seen.groups.leave_uncounted();
                self.spill(cx);
            }
            outcome => outcome?,
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Groups, ExecError> {
        if let Some(partitions) = self.put_off.take() {
            self.partitions.extend(partitions.finish()?);
        }
        let known = Known {
            grouping: self.grouping,
            groups: Some(self.seen.groups),
            left: self.partitions,
        };
        Ok(Groups {
            known: Some(known),
            ..Groups::default()
        })
    }
}

/// All groups, some at a time.
#[derive(Default)]
pub struct Groups {
    /// Those that are made, the last ones first.
    made: Vec<Batch>,
    /// What is held for them.
    _held: HeldMemory,
    /// Those that are not.
    known: Option<Known>,
}

impl Groups {
    /// Groups that are made, and what is held for them.
    pub fn made(mut groups: Vec<Batch>, held: HeldMemory) -> Self {
        groups.reverse();
        Self {
            made: groups,
            _held: held,
            known: None,
        }
    }

    /// Some more groups, one row each: the keys in order, then the aggregates in order. `None` at the end.
    pub fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        match (self.made.pop(), &mut self.known) {
            (None, Some(known)) => known.next(cx),
            (made, _) => Ok(made),
        }
    }
}

/// Groups in memory, and rows of others in files.
struct Known {
    grouping: Arc<Grouping>,
    /// Groups in memory; they come last, since partitions of other threads may have rows of them.
    groups: Option<Aggregator>,
    /// Partitions that were not read yet.
    left: Vec<Partition>,
}

impl Known {
    /// Some more groups.
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
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
        let groups = self.groups.take();
        groups.map(|groups| groups.finish(cx)).transpose()
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
                let rest = match &mut self.groups {
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
        groups.seen.groups.finish(cx)
    }
}

fn no_thread() -> ExecError {
    ExecError::Internal("groups of no thread".to_owned())
}

/// Whether rows can be told by their ids: they have some, no column was computed without them, and no rows are told apart as solutions.
fn is_plain(batch: &Batch) -> bool {
    let mut columns = 0..batch.width();
    batch.width() > 0
        && batch.solutions().is_none()
        && columns.all(|column| batch.numbers(column).is_none())
}

/// The batch whose last column is the numbers of solutions.
fn with_solutions(mut columns: Vec<Vec<u64>>, rows: usize) -> Batch {
    let solutions = columns.pop().unwrap_or_default();
    Batch::from_vectors(columns, rows).with_solutions(UInt64Array::from(solutions))
}
