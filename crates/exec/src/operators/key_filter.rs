//! `KeyFilter`: the keys of a finished build side as a set of ids, for scans to turn rows away that the join would drop.
//!
//! ```text
//! bits:   one bit for each id from the least to the greatest    ids that lie close together, as rows of one table do
//! bloom:  one word for each four keys, four of its bits a key    all others; few ids pass that are no keys
//! range:  the least and the greatest id alone                   where neither has room
//! ```
//!
//! Invariant: an id that is a key passes; one that is none may pass too, since the join looks at every row again. Bits alone are
//! exact: a semi or anti join by one key needs nothing else ([`KeyFilter::exact`]).
//! Cost: two passes over the keys, and one cache line for each id tested. Memory: at most a word a key, or a few KiB where keys are
//! few, and never more than `BYTES_MAX`; in an exact filter two words a key, whatever these are in all. Counted as long as the filter lives.

use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::row_numbers::hash_row;
use crate::selection::{positions, retain};
use hashbrown::HashMap;
use std::sync::{Arc, Mutex};

/// Most bytes of a filter: what a second-level cache or a share of the last one holds. Beyond that a test costs a cache
/// miss as the join's own does.
const BYTES_MAX: usize = 8 << 20;
/// Words of bits that are made however few the keys are: a quarter of a first-level cache.
const FREE_WORDS: usize = 1 << 10;
/// Keys for each word of a bloom, sixteen bits a key.
const WORD_KEYS: usize = 4;
/// Words of an exact filter for each key, at most: no more than the directory of a table takes.
const EXACT_WORDS: usize = 2;
/// Words of bits looked at for a stretch of ids, at most: those of a segment's rows.
const STRETCH_WORDS: u64 = 1 << 10;
/// Keys put in between two looks at the clock.
const CHECKED_KEYS: usize = 1 << 16;

/// The set; see the [module documentation](self).
pub struct KeyFilter {
    /// The least key; greater than `max` if there is none.
    min: u64,
    /// The greatest key.
    max: u64,
    members: Members,
    held: HeldMemory,
}

/// Which of the ids from the least to the greatest pass.
enum Members {
    All,
    /// A bit for each id, from the least on.
    Bits(Vec<u64>),
    /// Four bits of one word for each key.
    Bloom(Vec<u64>),
}

impl KeyFilter {
    /// The filter of these keys, which may repeat.
    pub fn of(keys: &[u64], cx: &Context) -> Result<Self, ExecError> {
        let mut filter = Self::range(&[keys]);
        if keys.is_empty() {
            return Ok(filter);
        }
        let words = filter.words();
        let is_dense = words <= keys.len().max(FREE_WORDS) as u64;
        let words = match is_dense {
            true => words as usize,
            false => keys.len().div_ceil(WORD_KEYS),
        };
        let bytes = words.saturating_mul(size_of::<u64>());
        if bytes > BYTES_MAX || !filter.held.grow_cache_to(bytes, "HashJoin", cx) {
            return Ok(filter);
        }
        filter.members = match is_dense {
            true => filter.bits(&[keys], words, cx)?,
            false => bloom(keys, words, cx)?,
        };
        Ok(filter)
    }

    /// The filter of the keys in all parts that lets nothing else pass; `None` where they lie too far apart.
    pub fn exact(parts: &[&[u64]], cx: &Context) -> Result<Option<Self>, ExecError> {
        let mut filter = Self::range(parts);
        let keys: usize = parts.iter().map(|part| part.len()).sum();
        let words = match keys {
            0 => return Ok(Some(filter)),
            _ => filter.words(),
        };
        if words > keys.saturating_mul(EXACT_WORDS).max(FREE_WORDS) as u64 {
            return Ok(None);
        }
        let bytes = words as usize * size_of::<u64>();
        filter.held.grow_to(bytes, "HashJoin", cx)?;
        filter.members = filter.bits(parts, words as usize, cx)?;
        Ok(Some(filter))
    }

    /// The least and the greatest id alone.
    fn range(parts: &[&[u64]]) -> Self {
        let (mut min, mut max) = (u64::MAX, 0);
        for &key in parts.iter().copied().flatten() {
            min = min.min(key);
            max = max.max(key);
        }
        Self {
            min,
            max,
            members: Members::All,
            held: HeldMemory::default(),
        }
    }

    /// A bit for each of the keys, in so many words.
    fn bits(&self, parts: &[&[u64]], words: usize, cx: &Context) -> Result<Members, ExecError> {
        let mut members = vec![0; words];
        for chunk in parts.iter().flat_map(|part| part.chunks(CHECKED_KEYS)) {
            cx.check()?;
            for &key in chunk {
                let at = key - self.min;
                members[(at / 64) as usize] |= 1 << (at % 64);
            }
        }
        Ok(Members::Bits(members))
    }

    /// Words of a bit for each id from the least to the greatest, of which there are some.
    fn words(&self) -> u64 {
        (self.max - self.min) / 64 + 1
    }

    /// Keeps those values whose ids pass.
    pub fn retain<T: Copy>(&self, values: &mut Vec<T>, id_of: impl Fn(T) -> u64) {
        self.select::<true, _>(Retain { values, id_of });
    }

    /// The positions of the ids that pass, or of those that do not.
    pub fn positions(&self, ids: &[u64], wanted: bool) -> Vec<u32> {
        match wanted {
            true => self.select::<true, _>(Positions { ids }),
            false => self.select::<false, _>(Positions { ids }),
        }
    }

    /// Selects by the ids that pass, or by those that do not.
    fn select<const WANTED: bool, S: Select>(&self, by: S) -> S::Selected {
        let (min, max) = (self.min, self.max);
        match &self.members {
            Members::All => by.select(|id| (min..=max).contains(&id) == WANTED),
            Members::Bits(words) => {
                let words = words.as_slice();
                let (span, last) = (max - min, words.len() - 1);
                by.select(|id| {
                    // What is less than the least key is beyond the last bit, too.
                    let at = id.wrapping_sub(min);
                    let word = words[((at / 64) as usize).min(last)];
                    ((word >> (at % 64) & u64::from(at <= span)) & 1 == 1) == WANTED
                })
            }
            Members::Bloom(words) => by.select(|id| {
                let (word, bits) = place(id, words.len());
                (words[word] & bits == bits) == WANTED
            }),
        }
    }

    /// Whether some id from `first` to `last` may pass.
    pub fn may_have(&self, first: u64, last: u64) -> bool {
        let (first, last) = (first.max(self.min), last.min(self.max));
        if first > last {
            return false;
        }
        let Members::Bits(words) = &self.members else {
            return true;
        };
        let (first, last) = ((first - self.min) / 64, (last - self.min) / 64);
        last - first > STRETCH_WORDS
            || words[first as usize..=last as usize]
                .iter()
                .any(|w| *w != 0)
    }
}

/// What is selected by a test of ids: each kind of set has a loop of its own for each.
trait Select {
    /// What comes of it.
    type Selected;

    /// Selects by the test.
    fn select(self, passes: impl Fn(u64) -> bool) -> Self::Selected;
}

/// Values with ids, which stay where these pass.
struct Retain<'a, T, F> {
    values: &'a mut Vec<T>,
    id_of: F,
}

impl<T: Copy, F: Fn(T) -> u64> Select for Retain<'_, T, F> {
    type Selected = ();

    fn select(self, passes: impl Fn(u64) -> bool) {
        retain(self.values, |value| passes((self.id_of)(value)));
    }
}

/// Ids, of which positions are asked for.
struct Positions<'a> {
    ids: &'a [u64],
}

impl Select for Positions<'_> {
    type Selected = Vec<u32>;

    fn select(self, passes: impl Fn(u64) -> bool) -> Vec<u32> {
        positions(self.ids, passes)
    }
}

/// Four bits for each of the keys, in so many words.
fn bloom(keys: &[u64], words: usize, cx: &Context) -> Result<Members, ExecError> {
    let mut members = vec![0; words];
    for chunk in keys.chunks(CHECKED_KEYS) {
        cx.check()?;
        for &key in chunk {
            let (word, bits) = place(key, words);
            members[word] |= bits;
        }
    }
    Ok(Members::Bloom(members))
}

/// The word of an id among so many, and its bits there (register-blocked Bloom filter: Lang et al., "Performance-optimal
/// filtering", VLDB 2019).
#[inline]
fn place(id: u64, words: usize) -> (usize, u64) {
    let hash = hash_row(&[id]);
    // The high half chooses the word, the low one the bits.
    let word = ((hash >> 32) * words as u64) >> 32;
    let bit = |shift: u32| 1u64 << (hash >> shift & 63);
    (word as usize, bit(0) | bit(6) | bit(12) | bit(18))
}

/// The key filters of a query that are made, by number.
#[derive(Default)]
pub struct MadeFilters(Mutex<HashMap<usize, Arc<KeyFilter>, std::hash::RandomState>>);

impl MadeFilters {
    /// The filter of a number, once it is made.
    pub fn get(&self, number: usize) -> Option<Arc<KeyFilter>> {
        let made = self.0.lock().expect("no holder panics");
        made.get(&number).map(Arc::clone)
    }

    /// Adds the filter of a number.
    pub fn put(&self, number: usize, filter: Arc<KeyFilter>) {
        let mut made = self.0.lock().expect("no holder panics");
        made.insert(number, filter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_rdf::TermId;
    use basalt_store::Snapshot;
    use proptest::prelude::*;

    fn filter_of(keys: &[u64], memory_bytes_max: usize) -> KeyFilter {
        let options = ExecOptions {
            memory_bytes_max,
            ..ExecOptions::default()
        };
        let cx = Context::new(Snapshot::empty(), options, 0);
        KeyFilter::of(keys, &cx).expect("nothing cancels it")
    }

    fn exact_of(parts: &[&[u64]]) -> Option<KeyFilter> {
        let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
        KeyFilter::exact(parts, &cx).expect("nothing cancels it")
    }

    fn passes(filter: &KeyFilter, id: u64) -> bool {
        filter.positions(&[id], true) == [0]
    }

    /// Ids of rows, and of values that are held in the id itself, whose tags spread them over all numbers.
    fn id() -> impl Strategy<Value = u64> {
        prop_oneof![
            (0u64..5_000).prop_map(|ordinal| TermId::resource(ordinal).0),
            (0u64..1 << 40).prop_map(|ordinal| TermId::resource(ordinal).0),
            any::<u64>(),
        ]
    }

    proptest! {
        #[test]
        fn every_key_passes(keys in prop::collection::vec(id(), 0..600), others in prop::collection::vec(id(), 0..200)) {
            for memory_bytes_max in [1 << 30, 0] {
                let filter = filter_of(&keys, memory_bytes_max);
                let positions = filter.positions(&keys, true);
                prop_assert_eq!(positions.len(), keys.len());
                prop_assert!(keys.iter().all(|&key| filter.may_have(key, key)));
                let (few, rest) = keys.split_at(keys.len() / 3);
                let exact = exact_of(&[few, rest]);
                // Bits and ranges are exact.
                for &id in &others {
                    let is_key = keys.contains(&id);
                    let is_within = filter.min <= id && id <= filter.max;
                    let expected = match &filter.members {
                        Members::All => is_within,
                        Members::Bits(_) => is_key,
                        Members::Bloom(_) => passes(&filter, id) || is_key,
                    };
                    prop_assert_eq!(passes(&filter, id), expected);
                    let places = exact.as_ref().map(|exact| exact.positions(&[id], is_key));
                    prop_assert!(places.is_none_or(|places| places == [0]));
                }
            }
        }

        #[test]
        fn a_stretch_with_a_key_may_have_one(keys in prop::collection::vec(id(), 1..100), from in id(), to in id()) {
            let filter = filter_of(&keys, 1 << 30);
            let (from, to) = (from.min(to), from.max(to));
            if keys.iter().any(|key| (from..=to).contains(key)) {
                prop_assert!(filter.may_have(from, to));
            }
        }
    }

    #[test]
    fn rows_of_a_table_are_bits_and_values_are_not() {
        let rows: Vec<u64> = (0..100).map(|row| TermId::resource(7 * row).0).collect();
        let bits = filter_of(&rows, 1 << 30);
        assert!(matches!(bits.members, Members::Bits(_)));
        let far = filter_of(&[rows[0], rows[0] + 10_000], 1 << 30);
        assert!(!far.may_have(rows[0] + 200, rows[0] + 9_000));
        assert!(!bits.may_have(rows[99] + 1, u64::MAX) && !bits.may_have(0, rows[0] - 1));
        let spread: Vec<u64> = (1..5_000u64)
            .map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15))
            .collect();
        let bloom = filter_of(&spread, 1 << 30);
        assert!(matches!(bloom.members, Members::Bloom(_)));
        let others = (5_000..105_000u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let others: Vec<u64> = others.collect();
        let too_many = bloom.positions(&others, true).len();
        assert!(too_many < others.len() / 50, "{too_many} pass");
        assert!(matches!(filter_of(&spread, 1 << 10).members, Members::All));
    }

    #[test]
    fn no_keys_let_nothing_pass() {
        let filter = filter_of(&[], 1 << 30);
        assert_eq!(filter.positions(&[0, 1, u64::MAX], true), [0u32; 0]);
        assert!(!filter.may_have(0, u64::MAX));
    }

    #[test]
    fn memory_is_given_back() {
        let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
        let keys: Vec<u64> = (0..100_000).collect();
        let filter = KeyFilter::of(&keys, &cx).expect("nothing cancels it");
        let whole = cx.options().memory_bytes_max;
        assert!(cx.reserve(whole, "Unit").is_err(), "the filter is counted");
        drop(filter);
        cx.reserve(whole, "Unit").expect("nothing is held");
    }
}
