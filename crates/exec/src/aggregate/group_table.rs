//! `GroupTable`: from group keys (one or more ids) to dense group numbers, in order of first sight.
//!
//! ```text
//! keys      [k0 k1][k0 k1]...      one run of ids per group, by group number
//! ordinals  ordinal -> group number     keys of one resource that lie near each other
//! pairs     id, ordinal -> group number      keys of two ids, of which one has few values
//! table     hash -> group number        all other keys; compares with `keys`
//! ```
//!
//! Cost: one look-up per row, none where the key repeats the one before. Resources that lie too far apart for
//! [`OrdinalGroups`] or [`PairGroups`] are hashed, those known until then as well.

use super::ordinal_groups::OrdinalGroups;
use super::pair_groups::PairGroups;
use basalt_rdf::TermId;
use hashbrown::HashTable;

/// Bytes that [`OrdinalGroups`] may take whatever the number of groups: rows of a quarter of a million neighbours may come in any
/// order, and all pages are there before there are many groups.
const FREE_BYTES: usize = 1 << 20;
/// Bytes that they may take for each group more: some times what a hash table takes.
const GROUP_BYTES: usize = 64;
/// Groups of two ids from which on they are looked at whether to go by [`PairGroups`]: a hash table of fewer lies in the nearer caches, and
/// pages of ordinals that are far between take longer to make (measured: 2,855 groups of 5,752 rows take 290 us with pages, 164 without). Tests
/// have fewer.
const PAIRS_FROM: usize = if cfg!(test) { 1024 } else { 8192 };

/// Groups that there is room for from the first on that is hashed: some hundred bytes.
const GROUPS_FIRST: usize = 56;

/// Keys of one id that are looked up together.
const CHUNK: usize = 64;

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
    /// Keys of two ids; `None` where that does not pay.
    pairs: Option<Box<PairGroups>>,
    table: HashTable<u32>,
    /// The group that was asked for last.
    last: u32,
    /// Its first two ids.
    last_key: [u64; 2],
}

impl GroupTable {
    /// No groups, for keys of `width` ids.
    pub fn new(width: usize) -> Self {
        Self {
            width,
            count: 0,
            keys: Vec::new(),
            ordinals: (width == 1).then(OrdinalGroups::default),
            pairs: None,
            table: HashTable::new(),
            last: 0,
            last_key: [0; 2],
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
        if self.last_key[0] == id && self.count > 0 {
            return self.last;
        }
        self.last_key[0] = id;
        if let Some(ordinals) = &mut self.ordinals
            && let Some(ordinal) = TermId(id).resource_ordinal()
        {
            let bytes_max = FREE_BYTES + self.count * GROUP_BYTES;
            let is_there = ordinals.place(ordinal).is_some();
            if (is_there || ordinals.add_page(ordinal, bytes_max).is_some())
                && let Some(place) = ordinals.place(ordinal)
            {
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

    /// Appends the numbers of the groups of keys of one id, new ones where keys are new.
    pub fn groups_of_ones(&mut self, ids: &[u64], numbers: &mut Vec<u32>) {
        for ids in ids.chunks(CHUNK) {
            let mut rest = self.after_places(ids, numbers);
            while let [id, others @ ..] = rest {
                numbers.push(self.group_of_one(*id));
                // Where one has no place the next ones will have none, but for those of its page.
                rest = match TermId(*id).is_resource() {
                    true => self.after_places(others, numbers),
                    false => others,
                };
            }
        }
    }

    /// Appends the numbers of the groups of the first ids, as far as they have places by ordinal; the other ids. Whether a key is new is
    /// as good as random, so there is no branch on it: each is written behind the last one, and stays there if it is new.
    fn after_places<'a>(&mut self, ids: &'a [u64], numbers: &mut Vec<u32>) -> &'a [u64] {
        let Some(ordinals) = &mut self.ordinals else {
            return ids;
        };
        let before = numbers.len();
        self.keys.resize(self.count + ids.len(), 0);
        for &id in ids {
            let place = TermId(id).resource_ordinal();
            let Some(place) = place.and_then(|ordinal| ordinals.place(ordinal)) else {
                break;
            };
            self.keys[self.count] = id;
            let is_new = u32::from(*place == 0);
            *place += is_new * number_of(self.count + 1);
            self.count += is_new as usize;
            numbers.push(*place - 1);
        }
        self.keys.truncate(self.count);
        let (placed, others) = ids.split_at(numbers.len() - before);
        if let (Some(&id), Some(&group)) = (placed.last(), numbers.last()) {
            self.last_key[0] = id;
            self.last = group;
        }
        others
    }

    /// The number of the group of a key of two ids, a new one if the key is new.
    #[inline]
    pub fn group_of_two(&mut self, key: [u64; 2]) -> u32 {
        debug_assert_eq!(self.width, 2);
        if self.last_key == key && self.count > 0 {
            return self.last;
        }
        self.last_key = key;
        if let Some(pairs) = &mut self.pairs
            && let Some(ordinal) = pairs.ordinal(key)
        {
            if let Some(place) = pairs.place(key, ordinal, self.count) {
                if *place == 0 {
                    self.keys.extend_from_slice(&key);
                    self.count += 1;
                    *place = number_of(self.count);
                }
                self.last = *place - 1;
                return self.last;
            }
            self.hash_all();
        }
        let before = self.count;
        let group = self.group_by_hash(&key);
        if self.count == PAIRS_FROM && before < PAIRS_FROM {
            self.try_pairs();
        }
        group
    }

    /// The number of a key's group, a new one if the key is new.
    pub fn group_of(&mut self, key: &[u64]) -> u32 {
        debug_assert_eq!(key.len(), self.width);
        match *key {
            [id] => self.group_of_one(id),
            [first, second] => self.group_of_two([first, second]),
            _ => self.group_by_hash(key),
        }
    }

    fn group_by_hash(&mut self, key: &[u64]) -> u32 {
        if self.table.capacity() == 0 {
            self.reserve_some();
        }
        let (keys, width) = (&self.keys, self.width);
        let key_of = |group: u32| &keys[group as usize * width..][..width];
        let entry = self.table.entry(
            hash_ids(key),
            |&group| is_same(key_of(group), key),
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

    /// Room for the first groups: growing from nothing takes longer than some dozen look-ups.
    #[cold]
    fn reserve_some(&mut self) {
        self.keys.reserve(GROUPS_FIRST * self.width);
        let (keys, width) = (&self.keys, self.width);
        let hash_of = |&group: &u32| hash_ids(&keys[group as usize * width..][..width]);
        self.table.reserve(GROUPS_FIRST, hash_of);
    }

    /// Takes the groups out of the hash table that can go by pairs, if it pays.
    fn try_pairs(&mut self) {
        let Some(mut pairs) = PairGroups::of(&self.keys) else {
            return;
        };
        for (group, key) in self.keys.chunks_exact(2).enumerate() {
            let key = [key[0], key[1]];
            let place = pairs
                .ordinal(key)
                .and_then(|ordinal| pairs.place(key, ordinal, self.count));
            match place {
                Some(place) => *place = number_of(group + 1),
                None => return,
            }
        }
        self.table.clear();
        self.pairs = Some(Box::new(pairs));
    }

    /// Hashes the groups that had places by ordinal.
    fn hash_all(&mut self) {
        self.ordinals = None;
        let pairs = self.pairs.take();
        let (keys, width) = (&self.keys, self.width);
        let key_of = |group: u32| &keys[group as usize * width..][..width];
        let hash_of = |&group: &u32| hash_ids(key_of(group));
        for group in 0..number_of(self.count) {
            let had_place = match (&pairs, key_of(group)) {
                (Some(pairs), &[first, second]) => pairs.ordinal([first, second]).is_some(),
                (_, key) => TermId(key[0]).is_resource(),
            };
            if had_place {
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
        if let (Some(pairs), &[first, second]) = (&self.pairs, key)
            && let Some(ordinal) = pairs.ordinal([first, second])
        {
            return pairs.find([first, second], ordinal);
        }
        let is_same = |group: &u32| is_same(self.key(*group as usize), key);
        self.table.find(hash_ids(key), is_same).copied()
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
        let pairs = self.pairs.as_ref().map_or(0, |pairs| pairs.bytes());
        let keys = self.keys.capacity() * size_of::<u64>();
        keys + self.table.allocation_size() + ordinals + pairs
    }
}

/// Whether keys are equal; without a call for a few words.
#[inline]
fn is_same(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a == b)
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
            let (mut at_once, mut numbers) = (GroupTable::new(1), Vec::new());
            for (row, &id) in ids.iter().enumerate() {
                let new = oracle.len() as u32;
                prop_assert_eq!(table.find(&[id]), oracle.get(&id).copied());
                let number = *oracle.entry(id).or_insert(new);
                prop_assert_eq!(table.group_of(&[id]), number, "{}", row);
                numbers.push(number);
            }
            let mut found = Vec::new();
            for ids in ids.chunks(150) {
                at_once.groups_of_ones(ids, &mut found);
            }
            prop_assert_eq!(found, numbers);
            prop_assert_eq!(at_once.keys, &table.keys[..]);
            prop_assert_eq!(table.count(), oracle.len());
            for (&id, &group) in &oracle {
                prop_assert_eq!(table.find(&[id]), Some(group));
                prop_assert_eq!(table.key(group as usize), &[id]);
            }
        }

        #[test]
        fn wide_keys_are_numbered_by_first_sight(rows in prop::collection::vec((id(), id(), 0..2_u64), 0..100)) {
            let (mut table, mut oracle) = (GroupTable::new(3), HashMap::new());
            for (a, b, c) in rows {
                let new = oracle.len() as u32;
                prop_assert_eq!(table.group_of(&[a, b, c]), *oracle.entry((a, b, c)).or_insert(new));
            }
        }

        /// Enough pairs that they may go by ordinal, of which one id has few values, or not; some are no resources.
        #[test]
        fn pairs_are_numbered_by_first_sight(
            few in prop::collection::vec(id(), 1..40),
            step in 1..5_000_u64,
            is_first in any::<bool>(),
            others in prop::collection::vec((0..6_000_usize, id(), id()), 0..30),
        ) {
            let (mut table, mut oracle) = (GroupTable::new(2), HashMap::new());
            let mut check = |a: u64, b: u64| {
                let new = oracle.len() as u32;
                let expected = oracle.get(&(a, b)).copied();
                prop_assert_eq!(table.find(&[a, b]), expected);
                let group = *oracle.entry((a, b)).or_insert(new);
                prop_assert_eq!(table.group_of(&[a, b]), group);
                prop_assert_eq!(table.key(group as usize), &[a, b]);
                prop_assert_eq!(table.count(), oracle.len());
                Ok(())
            };
            for i in 0..6_000 {
                for (_, a, b) in others.iter().filter(|(at, ..)| *at == i) {
                    check(*a, *b)?;
                }
                let one = few[i * 7 % few.len()];
                let other = TermId::resource(i as u64 % 900 * step).0;
                match is_first {
                    true => check(one, other)?,
                    false => check(other, one)?,
                }
            }
        }
    }

    #[test]
    fn pairs_of_few_and_neighbours_are_not_hashed_and_strangers_are() {
        for is_first in [true, false] {
            let mut table = GroupTable::new(2);
            let pair = |few: u64, many: u64| match is_first {
                true => [few, TermId::resource(many).0],
                false => [TermId::resource(many).0, few],
            };
            for i in 0..60_000_u64 {
                table.group_of(&pair(i % 10, 5_000 + i * 61_837 % 20_000));
            }
            assert!(table.pairs.is_some() && table.table.is_empty());
            let count = table.count();
            for far in 1..2_000_u64 {
                table.group_of(&pair(3, far << 32));
            }
            assert!(table.pairs.is_none());
            assert_eq!(table.table.len(), count + 1_999);
        }
        // Where both have many values.
        let mut table = GroupTable::new(2);
        for i in 0..5_000 {
            table.group_of(&[TermId::resource(i).0, TermId::resource(i + 1).0]);
        }
        assert!(table.pairs.is_none() && table.table.len() == 5_000);
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
