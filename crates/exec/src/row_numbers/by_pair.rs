//! `ByPair`: from pairs of ids to numbers without hashing both.
//!
//! ```text
//! outer      id -> code          the one with few different values: a country
//! by code    ordinals -> number   of the other, which are resources near each other: products
//! ```
//!
//! Which is which is seen from the first rows ([`ByPair::of`]). Where the second lie too far apart, or nearly every pair
//! of codes and pages has few rows, places are refused, and the caller hashes pairs.
//!
//! Invariant: what is held stays within [`FREE_BYTES`] and [`PAIR_BYTES`] for each pair. Cost: a look-up of the outer id, none where it
//! repeats, and two dependent reads.

use super::RowNumbers;
use super::by_ordinal::{ByOrdinal, PAGE_BITS};
use basalt_rdf::TermId;
use std::collections::HashSet;

/// Bytes that may be held whatever the number of rows: a million pairs.
const FREE_BYTES: usize = 4 << 20;
/// Bytes that may be held for each pair more: about what hashing it takes.
const PAIR_BYTES: usize = 32;
/// Pairs that are looked at to choose the outer id, or somewhat more.
const SEEN_PAIRS: usize = 1024;
/// For each value of the outer id that many of them have to be there.
const PAIRS_PER_CODE: usize = 8;

/// Numbers by pair; see the [module documentation](self).
pub struct ByPair {
    /// Which id of the pair is the outer one.
    outer: usize,
    codes: RowNumbers,
    by_code: Vec<ByOrdinal>,
    /// Bytes of `by_code`.
    bytes: usize,
}

impl ByPair {
    /// For pairs like these, if one id has few values beside the other, which are resources.
    pub fn of(keys: &[u64]) -> Option<Self> {
        let pairs = keys.len() / 2;
        let seen = || keys.chunks_exact(2).step_by((pairs / SEEN_PAIRS).max(1));
        let distinct = |at: usize| {
            let ids: HashSet<u64> = seen().map(|pair| pair[at]).collect();
            ids.len()
        };
        let (first, second) = (distinct(0), distinct(1));
        let outer = usize::from(second < first);
        let mut inner = keys.chunks_exact(2).map(|pair| pair[1 - outer]);
        let is_few = first.min(second) * PAIRS_PER_CODE <= seen().count();
        let is_resources = inner.all(|id| TermId(id).is_resource());
        (is_few && is_resources).then(|| Self {
            outer,
            codes: RowNumbers::new(1),
            by_code: Vec::new(),
            bytes: 0,
        })
    }

    /// The ordinal of a pair's other id, if that is a resource.
    #[inline]
    pub fn ordinal(&self, pair: [u64; 2]) -> Option<u64> {
        TermId(pair[1 - self.outer]).resource_ordinal()
    }

    /// The number of a pair with this ordinal, if it has one.
    pub fn find(&self, pair: [u64; 2], ordinal: u64) -> Option<u32> {
        let code = self.codes.find(&[pair[self.outer]])?;
        self.by_code.get(code as usize)?.find(ordinal)
    }

    /// The code of a pair's outer id.
    #[inline]
    pub fn code(&mut self, pair: [u64; 2]) -> u32 {
        self.codes.number_of_one(pair[self.outer])
    }

    /// Appends the codes of some pairs, which come by column.
    pub fn codes_of(&mut self, columns: [&[u64]; 2], codes: &mut Vec<u32>) {
        let outer = columns[self.outer];
        self.codes.numbers_of(&[outer], outer.len(), codes);
    }

    /// Where the number of a pair with this code and ordinal is noted, plus one; 0 if it has none. `None` if there would be too much to hold for
    /// this count of pairs.
    #[inline]
    pub fn place(&mut self, code: u32, ordinal: u64, count: usize) -> Option<&mut u32> {
        if self.known_place(code, ordinal).is_none() {
            self.add_page(code as usize, ordinal, count)?;
        }
        self.known_place(code, ordinal)
    }

    /// The same, if its page is there.
    #[inline]
    pub fn known_place(&mut self, code: u32, ordinal: u64) -> Option<&mut u32> {
        self.by_code.get_mut(code as usize)?.place(ordinal)
    }

    fn add_page(&mut self, code: usize, ordinal: u64, count: usize) -> Option<()> {
        if code >= self.by_code.len() {
            self.by_code.resize_with(code + 1, ByOrdinal::default);
        }
        let ordinals = &mut self.by_code[code];
        let others = self.bytes - ordinals.bytes();
        let bytes_max = FREE_BYTES + count * PAIR_BYTES;
        ordinals.add_page(ordinal, bytes_max.checked_sub(others)?)?;
        self.bytes = others + ordinals.bytes();
        Some(())
    }

    /// How many of the lowest bits of each id tell those of a page apart.
    pub fn near_bits(&self) -> [u32; 2] {
        let mut bits = [PAGE_BITS; 2];
        bits[self.outer] = 0;
        bits
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.codes.bytes() + self.bytes + self.by_code.capacity() * size_of::<ByOrdinal>()
    }
}
