//! What DISTINCT aggregates have seen: (group, value) pairs, or (group, row) for `COUNT(DISTINCT *)`.
//!
//! Equal terms have equal ids, so distinct values are distinct ids. Memory: one entry per distinct
//! value of each group.

use super::group_table::GroupTable;
use crate::batch::Batch;

/// Distinct values by group, in order of first sight.
pub struct DistinctValues {
    seen: GroupTable,
}

impl Default for DistinctValues {
    fn default() -> Self {
        Self {
            seen: GroupTable::new(2),
        }
    }
}

impl DistinctValues {
    /// Adds the values of rows; gives back those that are new, with their groups. The error value 0
    /// is a value too.
    pub fn insert(&mut self, groups: &[u32], ids: &[u64]) -> (Vec<u32>, Vec<u64>) {
        let mut new_groups = Vec::new();
        let mut new_ids = Vec::new();
        for (&group, &id) in groups.iter().zip(ids) {
            let count = self.seen.count();
            self.seen.group_of(&[u64::from(group), id]);
            if self.seen.count() > count {
                new_groups.push(group);
                new_ids.push(id);
            }
        }
        (new_groups, new_ids)
    }

    /// All pairs, with group `g` renamed to `numbers[g]`.
    pub fn into_pairs(self, numbers: &[u32]) -> (Vec<u32>, Vec<u64>) {
        let pairs = (0..self.seen.count()).map(|i| {
            let pair = self.seen.key(i);
            (numbers[pair[0] as usize], pair[1])
        });
        pairs.unzip()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.seen.bytes()
    }
}

/// Distinct rows by group.
pub struct DistinctRows {
    /// Keys are the group number and the ids of the row.
    seen: GroupTable,
}

impl DistinctRows {
    /// No rows yet, for rows of `width` ids.
    pub fn new(width: usize) -> Self {
        Self {
            seen: GroupTable::new(width + 1),
        }
    }

    /// Adds rows; calls `count` with the group of each one that is new.
    pub fn insert(&mut self, batch: &Batch, groups: &[u32], mut count: impl FnMut(u32)) {
        let mut key = Vec::with_capacity(batch.width() + 1);
        for (row, &group) in groups.iter().enumerate() {
            key.clear();
            key.push(u64::from(group));
            batch.row_into(row, &mut key);
            self.insert_key(&key, &mut count);
        }
    }

    /// Adds another's rows, whose group `g` is `numbers[g]` here.
    pub fn merge(&mut self, other: &Self, numbers: &[u32], mut count: impl FnMut(u32)) {
        for i in 0..other.seen.count() {
            let mut key = other.seen.key(i).to_vec();
            key[0] = u64::from(numbers[key[0] as usize]);
            self.insert_key(&key, &mut count);
        }
    }

    fn insert_key(&mut self, key: &[u64], count: &mut impl FnMut(u32)) {
        let known = self.seen.count();
        self.seen.group_of(key);
        if self.seen.count() > known {
            count(key[0] as u32);
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.seen.bytes()
    }
}
