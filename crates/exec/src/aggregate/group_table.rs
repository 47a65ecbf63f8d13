//! `GroupTable`: from group keys (one or more ids) to dense group numbers, in order of first sight.
//!
//! ```text
//! keys      [k0 k1][k0 k1]...      one run of ids per group, by group number
//! ordinals  ordinal -> group number     keys of one resource that lie near each other
//! table     hash -> group number        all other keys; compares with `keys`
//! ```
//!
//! Cost: one look-up per row, none where the key repeats the one before. Resources that lie too far apart for
//! [`OrdinalGroups`] are hashed, those known until then as well.

use super::ordinal_groups::OrdinalGroups;
use basalt_rdf::TermId;
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
    /// Keys of one resource; `None` where keys are wider, or once resources lie too far apart.
    ordinals: Option<OrdinalGroups>,
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
            ordinals: (width == 1).then(OrdinalGroups::default),
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

    /// The number of the group of a key of one id, a new one if the key is new.
    #[inline]
    pub fn group_of_one(&mut self, id: u64) -> u32 {
        debug_assert_eq!(self.width, 1);
        if self.keys.get(self.last as usize) == Some(&id) {
            return self.last;
        }
        if let Some(ordinals) = &mut self.ordinals
            && let Some(ordinal) = TermId(id).resource_ordinal()
        {
            if let Some(place) = ordinals.place(ordinal, self.count) {
                if *place == 0 {
                    self.keys.push(id);
                    self.count += 1;
                    *place = number_of(self.count);
                }
                self.last = *place - 1;
                return self.last;
            }
            self.hash_all();
        }
        self.group_by_hash(&[id])
    }

    /// The number of a key's group, a new one if the key is new.
    pub fn group_of(&mut self, key: &[u64]) -> u32 {
        debug_assert_eq!(key.len(), self.width);
        match key {
            [id] => self.group_of_one(*id),
            _ if self.count > 0 && self.key(self.last as usize) == key => self.last,
            _ => self.group_by_hash(key),
        }
    }

    fn group_by_hash(&mut self, key: &[u64]) -> u32 {
        let (keys, width) = (&self.keys, self.width);
        let key_of = |group: u32| &keys[group as usize * width..][..width];
        let entry = self.table.entry(
            hash_ids(key),
            |&group| key_of(group) == key,
            |&group| hash_ids(key_of(group)),
        );
        let new = number_of(self.count);
        let group = *entry.or_insert(new).get();
        if group == new {
            self.keys.extend_from_slice(key);
            self.count += 1;
        }
        self.last = group;
        group
    }

    /// Hashes the resources that had places by ordinal.
    fn hash_all(&mut self) {
        self.ordinals = None;
        let keys = &self.keys;
        let hash_of = |&group: &u32| hash_ids(&keys[group as usize..][..1]);
        for (group, &id) in (0_u32..).zip(keys) {
            if TermId(id).is_resource() {
                self.table.insert_unique(hash_of(&group), group, hash_of);
            }
        }
    }

    /// The number of a key's group, if there is one.
    #[inline]
    pub fn find(&self, key: &[u64]) -> Option<u32> {
        debug_assert_eq!(key.len(), self.width);
        if let (Some(ordinals), [id]) = (&self.ordinals, key)
            && let Some(ordinal) = TermId(*id).resource_ordinal()
        {
            return ordinals.find(ordinal);
        }
        let found = self
            .table
            .find(hash_ids(key), |&group| self.key(group as usize) == key);
        found.copied()
    }

    /// The keys as columns.
    pub fn into_columns(self) -> Vec<Vec<u64>> {
        if self.width == 1 {
            return vec![self.keys];
        }
        let column = |idx| (0..self.count).map(|group| self.key(group)[idx]).collect();
        (0..self.width).map(column).collect()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let ordinals = self.ordinals.as_ref().map_or(0, OrdinalGroups::bytes);
        self.keys.capacity() * size_of::<u64>() + self.table.allocation_size() + ordinals
    }
}

fn number_of(count: usize) -> u32 {
    u32::try_from(count).expect("memory ends before 2^32 groups")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// Resources near each other and far apart, and ids that are no resources.
    fn id() -> impl Strategy<Value = u64> {
        let resource = |range: std::ops::Range<u64>| range.prop_map(|o| TermId::resource(o).0);
        prop_oneof![
            4 => resource(5_000..9_000_u64),
            2 => resource(0..3_000_000_u64),
            1 => resource(0..1 << 40),
            1 => 0..5_u64,
            1 => Just(TermId::numeric(0, 7, 0).expect("fits").0),
        ]
    }

    proptest! {
        #[test]
        fn groups_are_numbered_by_first_sight(ids in prop::collection::vec(id(), 0..400)) {
            let (mut table, mut oracle) = (GroupTable::new(1), HashMap::new());
            for (row, &id) in ids.iter().enumerate() {
                let new = oracle.len() as u32;
                prop_assert_eq!(table.find(&[id]), oracle.get(&id).copied());
                prop_assert_eq!(table.group_of(&[id]), *oracle.entry(id).or_insert(new), "{}", row);
            }
            prop_assert_eq!(table.count(), oracle.len());
            for (&id, &group) in &oracle {
                prop_assert_eq!(table.find(&[id]), Some(group));
                prop_assert_eq!(table.key(group as usize), &[id]);
            }
        }

        #[test]
        fn wide_keys_are_numbered_by_first_sight(rows in prop::collection::vec((id(), id()), 0..100)) {
            let (mut table, mut oracle) = (GroupTable::new(2), HashMap::new());
            for (a, b) in rows {
                let new = oracle.len() as u32;
                prop_assert_eq!(table.group_of(&[a, b]), *oracle.entry((a, b)).or_insert(new));
            }
        }
    }

    #[test]
    fn neighbours_are_not_hashed_and_strangers_are() {
        let mut table = GroupTable::new(1);
        for ordinal in (1_000_000..1_030_000).rev() {
            table.group_of(&[TermId::resource(ordinal).0]);
        }
        assert!(table.ordinals.is_some() && table.table.is_empty());
        for far in 1..1_000_u64 {
            table.group_of(&[TermId::resource(far << 32).0]);
        }
        assert!(table.ordinals.is_none());
        assert_eq!(table.table.len(), 30_999);
        assert!(table.bytes() < 30_999 * 40);
    }

    #[test]
    fn neighbours_may_come_in_any_order() {
        let mut table = GroupTable::new(1);
        for i in 0..100_000_u64 {
            table.group_of(&[TermId::resource(i * 61_837 % 100_000 + 77).0]);
        }
        assert!(table.ordinals.is_some() && table.count() == 100_000);
    }
}
