//! `GroupTable`: from group keys (one or more ids) to dense group numbers, in order of first sight.
//!
//! ```text
//! keys   [k0 k1][k0 k1]...      one run of ids per group, by group number
//! table  hash -> group number   compares with `keys`
//! ```
//!
//! Cost: one probe per row, none where the key repeats the one before.

use hashbrown::HashTable;

/// Multiplier of the hash (the golden ratio in 64 bits).
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// Hashes a run of ids; the high and the low bits are both mixed.
pub fn hash_ids(ids: &[u64]) -> u64 {
    let mut hash = 0_u64;
    for &id in ids {
        let product = u128::from(hash ^ id) * u128::from(MIX);
        hash = (product as u64 ^ (product >> 64) as u64).wrapping_add(MIX);
    }
    hash
}

/// Group numbers by key; see the [module documentation](self).
pub struct GroupTable {
    /// Ids in a key.
    width: usize,
    count: usize,
    keys: Vec<u64>,
    table: HashTable<u32>,
    /// The group that was asked for last.
    last: u32,
}

impl GroupTable {
    /// No groups, for keys of `width` ids.
    pub fn new(width: usize) -> Self {
        Self {
            width,
            count: 0,
            keys: Vec::new(),
            table: HashTable::new(),
            last: 0,
        }
    }

    /// Number of groups.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The key of a group.
    pub fn key(&self, group: usize) -> &[u64] {
        &self.keys[group * self.width..][..self.width]
    }

    /// The number of a key's group, a new one if the key is new.
    pub fn group_of(&mut self, key: &[u64]) -> u32 {
        debug_assert_eq!(key.len(), self.width);
        if self.count > 0 && self.key(self.last as usize) == key {
            return self.last;
        }
        let (keys, width) = (&self.keys, self.width);
        let key_of = |group: u32| &keys[group as usize * width..][..width];
        let entry = self.table.entry(
            hash_ids(key),
            |&group| key_of(group) == key,
            |&group| hash_ids(key_of(group)),
        );
        let new = u32::try_from(self.count).expect("memory ends before 2^32 groups");
        let group = *entry.or_insert(new).get();
        if group == new {
            self.keys.extend_from_slice(key);
            self.count += 1;
        }
        self.last = group;
        group
    }

    /// The number of a key's group, if there is one.
    pub fn find(&self, key: &[u64]) -> Option<u32> {
        debug_assert_eq!(key.len(), self.width);
        let found = self
            .table
            .find(hash_ids(key), |&group| self.key(group as usize) == key);
        found.copied()
    }

    /// The keys as columns.
    pub fn into_columns(self) -> Vec<Vec<u64>> {
        let column = |idx| (0..self.count).map(|group| self.key(group)[idx]).collect();
        (0..self.width).map(column).collect()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.keys.capacity() * size_of::<u64>() + self.table.allocation_size()
    }
}
