//! `PairGroups`: from pairs of ids to group numbers without hashing both.
//!
//! ```text
//! outer      id -> code          the one with few different values: a country
//! by code    ordinals -> group   of the other, which are resources near each other: products
//! ```
//!
//! Which is which is seen from the first groups ([`PairGroups::of`]). Where the second lie too far apart, or nearly every pair
//! of codes and pages has few groups, places are refused, and the caller hashes pairs.
//!
//! Invariant: what is held stays within [`FREE_BYTES`] and [`GROUP_BYTES`] for each group. Cost: a look-up of the outer id, none where it
//! repeats, and two dependent reads.

use super::group_table::GroupTable;
use super::ordinal_groups::OrdinalGroups;
use basalt_rdf::TermId;
use std::collections::HashSet;

/// Bytes that may be held whatever the number of groups: a million pairs.
const FREE_BYTES: usize = 4 << 20;
/// Bytes that may be held for each group more: about what hashing it takes.
const GROUP_BYTES: usize = 32;
/// Groups that are looked at to choose the outer id, or somewhat more.
const SEEN_GROUPS: usize = 1024;
/// For each value of the outer id that many of them have to be there.
const GROUPS_PER_CODE: usize = 8;

/// Group numbers by pair; see the [module documentation](self).
pub struct PairGroups {
    /// Which id of the pair is the outer one.
    outer: usize,
    codes: GroupTable,
    by_code: Vec<OrdinalGroups>,
    /// Bytes of `by_code`.
    bytes: usize,
}

impl PairGroups {
    /// For pairs like these, if one id has few values beside the other, which are resources.
    pub fn of(keys: &[u64]) -> Option<Self> {
        let pairs = keys.len() / 2;
        let seen = || keys.chunks_exact(2).step_by((pairs / SEEN_GROUPS).max(1));
        let distinct = |at: usize| {
            let ids: HashSet<u64> = seen().map(|pair| pair[at]).collect();
            ids.len()
        };
        let (first, second) = (distinct(0), distinct(1));
        let outer = usize::from(second < first);
        let mut inner = keys.chunks_exact(2).map(|pair| pair[1 - outer]);
        let is_few = first.min(second) * GROUPS_PER_CODE <= seen().count();
        let is_resources = inner.all(|id| TermId(id).is_resource());
        (is_few && is_resources).then(|| Self {
            outer,
            codes: GroupTable::new(1),
            by_code: Vec::new(),
            bytes: 0,
        })
    }

    /// The ordinal of a pair's other id, if that is a resource.
    #[inline]
    pub fn ordinal(&self, pair: [u64; 2]) -> Option<u64> {
        TermId(pair[1 - self.outer]).resource_ordinal()
    }

    /// The group of a pair with this ordinal, if it has one.
    pub fn find(&self, pair: [u64; 2], ordinal: u64) -> Option<u32> {
        let code = self.codes.find(&[pair[self.outer]])?;
        self.by_code[code as usize].find(ordinal)
    }

    /// Where the group of a pair with this ordinal is noted, plus one; 0 if it has none. `None` if there would be too much to hold for this number of
    /// groups.
    #[inline]
    pub fn place(&mut self, pair: [u64; 2], ordinal: u64, groups: usize) -> Option<&mut u32> {
        let code = self.codes.group_of_one(pair[self.outer]) as usize;
        let is_there = self
            .by_code
            .get_mut(code)
            .is_some_and(|ordinals| ordinals.place(ordinal).is_some());
        if !is_there {
            self.add_page(code, ordinal, groups)?;
        }
        self.by_code[code].place(ordinal)
    }

    fn add_page(&mut self, code: usize, ordinal: u64, groups: usize) -> Option<()> {
        if code == self.by_code.len() {
            self.by_code.push(OrdinalGroups::default());
        }
        let ordinals = &mut self.by_code[code];
        let others = self.bytes - ordinals.bytes();
        let bytes_max = FREE_BYTES + groups * GROUP_BYTES;
        ordinals.add_page(ordinal, bytes_max.checked_sub(others)?)?;
        self.bytes = others + ordinals.bytes();
        Some(())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.codes.bytes() + self.bytes + self.by_code.capacity() * size_of::<OrdinalGroups>()
    }
}
