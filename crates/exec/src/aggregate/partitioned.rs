//! Merging the groups of several threads in partitions by their keys, each of which one thread merges and finishes.
//!
//! ```text
//! thread 1    groups 0 1 2 3 ..  ->  listed       [ 1 .. ] [ 0 3 .. ] [ 2 .. ]
//! thread 2    groups 0 1 2 ..    ->               [ 0 2 .. ] [ .. ] [ 1 .. ]
//! partition   its groups of thread 1, then those of thread 2, then rows dealt out  ->  an aggregator of its own  ->  results
//! ```
//!
//! If one thread merges all of them, that takes about as long as making all groups on one thread. Few groups are merged sooner than they are
//! listed; DISTINCT and texts, whose states cannot be added while they stay as they are, are merged by one thread too.
//!
//! Invariant: a key is in one partition. Keys that [`RowNumbers`] has on one page are in the same if no rows were dealt out, so that what goes by id does so in
//! partitions too. Cost: a hash, a look-up and an addition of states for each group of each thread; memory, as much again as
//! the threads' groups hold.

use super::column::Column;
use super::dealt::{DealtRows, Part};
use super::listed::Listed;
use super::spilling::Grouping;
use super::{Aggregator, OPERATOR};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::operators::pieces::in_pieces;
use crate::partitioning::PARTITIONS;
use crate::row_numbers::RowNumbers;
use std::sync::{Arc, Mutex, PoisonError};

/// Groups of all threads but one from which on they are merged in partitions: a millisecond of merging, or two.
const GROUPS_MIN: usize = if cfg!(test) { 64 } else { 1 << 15 };

/// The same of keys that go by id: those of one thread more are found in a few nanoseconds each, where all would get new pages.
const NEAR_GROUPS_MIN: usize = if cfg!(test) { 96 } else { 1 << 17 };

/// Groups whose keys are looked up together: their keys and numbers lie in the nearest caches.
const LISTED_TOGETHER: usize = 1 << 10;

/// What a thread has seen.
pub struct Seen {
    /// The groups that it made.
    pub groups: Aggregator,
    /// Rows that it has put into partitions.
    pub dealt: Option<DealtRows>,
}

impl Seen {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.groups.bytes() + self.dealt.as_ref().map_or(0, DealtRows::bytes)
    }
}

/// Room for merging what several threads have seen in partitions, if that pays, is possible, and finds room.
pub fn room<'a>(
    threads: impl Iterator<Item = &'a Seen> + Clone,
    cx: &Context,
) -> Option<HeldMemory> {
    let counts = threads.clone().map(|thread| thread.groups.groups.count());
    let largest = counts.clone().max().unwrap_or_default();
    let is_hashed = |thread: &Seen| thread.groups.groups.is_hashed();
    let groups_min = match threads.clone().any(is_hashed) {
        true => GROUPS_MIN,
        false => NEAR_GROUPS_MIN,
    };
    let are_many = counts.sum::<usize>() - largest >= groups_min;
    let any_dealt = threads.clone().any(|thread| thread.dealt.is_some());
    let may_stay = |thread: &Seen| thread.groups.may_stay();
    if !(are_many || any_dealt) || !threads.clone().all(may_stay) {
        return None;
    }
    let bytes = threads.map(Seen::bytes).sum();
    let mut held = HeldMemory::default();
    held.grow_to(bytes, OPERATOR, cx).ok().map(|()| held)
}

/// Merges what several threads have seen, for which there is [`room`]: one row for each group, as [`Aggregator::finish`] gives them.
pub fn merge(
    threads: Vec<Seen>,
    grouping: &Arc<Grouping>,
    cx: &Context,
) -> Result<Vec<Batch>, ExecError> {
    let count = cx.options().threads;
    let any_dealt = threads.iter().any(|thread| thread.dealt.is_some());
    let largest = threads
        .iter()
        .max_by_key(|thread| thread.groups.groups.count());
    let near_bits = match largest {
        // Rows are dealt out by the hashes of their ids.
        Some(largest) if !any_dealt => largest.groups.groups.near_bits(),
        _ => vec![0; grouping.keys.len()],
    };
    let (mut groups, mut parts) = (Vec::new(), Vec::new());
    for thread in threads {
        groups.push(thread.groups);
        parts.extend(thread.dealt.map(|dealt| {
            let parts = dealt.into_parts().into_iter().map(Mutex::new);
            parts.collect::<Vec<Mutex<Part>>>()
        }));
    }
    let groups = Arc::new(groups);
    let list = {
        let groups = Arc::clone(&groups);
        move |thread: usize, cx: &Context| Listed::of(&groups[thread].groups, &near_bits, cx)
    };
    let listed = in_pieces(groups.len(), count, list, cx)?;
    let grouping = Arc::clone(grouping);
    let merge = move |partition: usize, cx: &Context| {
        let taken = |parts: &Vec<Mutex<Part>>| {
            let mut part = parts[partition]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *part)
        };
        let parts: Vec<Part> = parts.iter().map(taken).collect();
        let listed = listed.iter().map(|listed| listed.partition(partition));
        let mut all = grouping.aggregator(cx)?;
        if !parts.is_empty() {
            let of_threads: usize = listed.clone().map(<[u32]>::len).sum();
            let dealt: usize = parts.iter().map(Part::groups_max).sum();
            all.make_room(of_threads + dealt);
        }
        for (groups, listed) in groups.iter().zip(listed) {
            all.add_listed(groups, listed, cx)?;
        }
        for part in parts {
            all.add_part(part, cx)?;
        }
        all.finish(cx)
    };
    let mut batches = in_pieces(PARTITIONS, count, merge, cx)?;
    batches.retain(|batch| batch.rows() > 0);
    Ok(batches)
}

impl Aggregator {
    /// Whether all states can be added to others and stay as they are.
    pub fn may_stay(&self) -> bool {
        self.columns.iter().all(Column::may_stay)
    }

    /// Makes room for so many groups, of which there are none: nearly all of them will come.
    fn make_room(&mut self, groups: usize) {
        self.groups = RowNumbers::with_room(self.keys.len(), groups);
        for column in &mut self.columns {
            column.accumulator.reserve(groups);
        }
    }

    /// Adds groups of another, which stays as it is.
    fn add_listed(&mut self, other: &Self, listed: &[u32], cx: &Context) -> Result<(), ExecError> {
        for listed in listed.chunks(LISTED_TOGETHER) {
            cx.check()?;
            let columns = other.groups.columns_at(listed);
            let columns: Vec<&[u64]> = columns.iter().map(Vec::as_slice).collect();
            self.group_numbers.clear();
            self.groups
                .numbers_of(&columns, listed.len(), &mut self.group_numbers);
            self.grow();
            let to = self.group_numbers.iter().copied();
            let moves: Vec<(u32, u32)> = listed.iter().copied().zip(to).collect();
            for (column, more) in self.columns.iter_mut().zip(&other.columns) {
                column
                    .accumulator
                    .add_states(&more.accumulator, &moves, cx)?;
            }
        }
        Ok(())
    }

    /// Adds what is in a partition.
    fn add_part(&mut self, part: Part, cx: &Context) -> Result<(), ExecError> {
        if let Some(groups) = part.groups {
            self.add_all(groups, cx)?;
        }
        for block in part.blocks {
            cx.check()?;
            self.add(&block, cx)?;
        }
        Ok(())
    }
}
