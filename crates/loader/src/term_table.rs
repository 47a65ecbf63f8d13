//! The term table: texts to provisional ordinals, for all threads of a load at once.
//!
//! Two sharded hash tables, one of resources and one of dictionary literals. A term *is* its hash here: 128
//! bits, with a secret seed for each load, so equal hashes mean equal terms (odds and reasons:
//! `docs/decisions/0007-terms-by-hash-while-loading.md`) and no text is looked at again. A term's hash picks
//! the shard; the shard numbers its terms densely, and the provisional ordinal is `number * SHARDS + shard`.
//! Ordinals of resources fit in 32 bits, so quads stay small.
//!
//! ```text
//! per term: index slot 21 B / load factor (7/16 to 7/8)  ->  24 to 48 B; its text is in a slab or a file
//! ```
//!
//! Provisional ordinals depend on threads and on the seed; what is written does not.
//!
//! Cost: one lock without contention (threads seldom meet in one of many shards) and one cache miss.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use basalt_shapes::FastMap;
use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::error::LoadError;
use crate::spill::LoadMemory;
use crate::text_slabs::{Record, TextSlab, TextSlabs, Texts};

const SHARD_BITS: u32 = 6;
const SHARDS: usize = 1 << SHARD_BITS;

/// The kind of an IRI among resources; a blank node has 1 plus the number of its scope.
pub(crate) const IRI: u32 = 0;

/// Hashes terms with the secret of one table.
#[derive(Clone, Copy)]
struct TermHasher {
    seed: u64,
    /// Odd.
    kind_factor: u128,
}

impl TermHasher {
    fn new() -> Self {
        let random = RandomState::new();
        let word = |i: u64| random.hash_one(i);
        Self {
            seed: word(0),
            kind_factor: u128::from(word(1)) << 64 | u128::from(word(2)) | 1,
        }
    }

    /// The hash of a term. Hashes of one text and two kinds differ always.
    #[inline]
    fn hash(self, kind: u32, text: &[u8]) -> u128 {
        xxh3_128_with_seed(text, self.seed) ^ u128::from(kind).wrapping_mul(self.kind_factor)
    }
}

/// A hash and the number of its term, without padding.
#[derive(Clone, Copy)]
struct Slot {
    hash: [u32; 4],
    number: u32,
}

impl Slot {
    fn new(hash: u128, number: u32) -> Self {
        let part = |i: u32| (hash >> (32 * i)) as u32;
        Self {
            hash: [part(0), part(1), part(2), part(3)],
            number,
        }
    }

    /// The half of the hash by which the index finds the slot.
    #[inline]
    fn low(&self) -> u64 {
        u64::from(self.hash[1]) << 32 | u64::from(self.hash[0])
    }
}

#[derive(Default)]
struct Shard {
    index: HashTable<Slot>,
}

impl Shard {
    #[inline]
    fn find(&self, hash: u128) -> Option<u32> {
        let wanted = Slot::new(hash, 0).hash;
        let found = self.index.find(hash as u64, |slot| slot.hash == wanted);
        found.map(|slot| slot.number)
    }

    /// Adds a term that is not there and returns its number.
    fn add(&mut self, hash: u128, memory: &LoadMemory) -> Result<Option<u32>, LoadError> {
        let index = &mut self.index;
        let Ok(number) = u32::try_from(index.len()) else {
            return Ok(None);
        };
        let grows = index.len() == index.capacity();
        let old = if grows { index.allocation_size() } else { 0 };
        index.insert_unique(hash as u64, Slot::new(hash, number), Slot::low);
        if grows {
            memory.grow_index(old, index.allocation_size())?;
        }
        Ok(Some(number))
    }
}

/// One of the two tables, shared by the threads.
pub(crate) struct SharedTerms {
    what: &'static str,
    number_max: u64,
    hasher: TermHasher,
    shards: Vec<Mutex<Shard>>,
    texts: TextSlabs,
}

impl SharedTerms {
    /// An empty table for ordinals up to `ordinal_max`, which fits in 32 bits.
    pub(crate) fn new(what: &'static str, ordinal_max: u64, memory: Arc<LoadMemory>) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self {
            what,
            number_max: ordinal_max >> SHARD_BITS,
            hasher: TermHasher::new(),
            shards,
            texts: TextSlabs::new(memory),
        }
    }

    /// A slab for the texts of new terms; each thread has its own.
    pub(crate) fn take_slab(&self) -> TextSlab {
        self.texts.take()
    }

    /// Takes a slab back.
    pub(crate) fn give_back(&self, slab: TextSlab) {
        self.texts.give_back(slab);
    }

    /// The hash of a term.
    #[inline]
    pub(crate) fn hash(&self, kind: u32, text: &str) -> u128 {
        self.hasher.hash(kind, text.as_bytes())
    }

    /// The provisional ordinal of a term with its hash, given now if it had none; the text of a new term goes to
    /// `slab`.
    #[inline]
    pub(crate) fn intern(
        &self,
        hash: u128,
        kind: u32,
        text: &str,
        slab: &mut TextSlab,
    ) -> Result<u64, LoadError> {
        let (shard, index) = self.shard_of(hash);
        let mut guard = index.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = guard.find(hash) {
            return Ok(u64::from(number) << SHARD_BITS | shard);
        }
        let number = guard.add(hash, self.texts.memory())?.map(u64::from);
        drop(guard);
        let Some(number) = number.filter(|n| *n < self.number_max) else {
            return Err(LoadError::Limit {
                what: self.what,
                limit: self.number_max << SHARD_BITS,
            });
        };
        let ordinal = number << SHARD_BITS | shard;
        slab.push(&self.texts, ordinal as u32, kind, text.as_bytes())?;
        Ok(ordinal)
    }

    /// The index uses the low half of the hash, the shard bits of the high one.
    fn shard_of(&self, hash: u128) -> (u64, &Mutex<Shard>) {
        let shard = (hash >> 64) as usize & (SHARDS - 1);
        (shard as u64, &self.shards[shard])
    }

    /// The provisional ordinal of a term, if it has one.
    pub(crate) fn find(&self, kind: u32, text: &str) -> Option<u64> {
        let hash = self.hash(kind, text);
        let (shard, index) = self.shard_of(hash);
        let guard = index.lock().unwrap_or_else(PoisonError::into_inner);
        let number = guard.find(hash)?;
        Some(u64::from(number) << SHARD_BITS | shard)
    }

    /// One more than the largest provisional ordinal.
    pub(crate) fn ordinal_bound(&self) -> usize {
        self.lens().max().unwrap_or(0) << SHARD_BITS
    }

    fn lens(&self) -> impl Iterator<Item = usize> + '_ {
        let len = |shard: &Mutex<Shard>| {
            let guard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            guard.index.len()
        };
        self.shards.iter().map(len)
    }

    /// The table for reading: no index, all slabs given back.
    pub(crate) fn freeze(self) -> Result<FrozenTerms, LoadError> {
        let (bound, count) = (self.ordinal_bound(), self.lens().sum());
        let Self { shards, texts, .. } = self;
        drop(shards);
        Ok(FrozenTerms {
            bound,
            count,
            texts: texts.freeze(bound)?,
        })
    }
}

/// A table when all terms are in.
pub(crate) struct FrozenTerms {
    bound: usize,
    count: usize,
    /// The texts by provisional ordinal.
    pub texts: Texts,
}

impl FrozenTerms {
    /// One more than the largest provisional ordinal.
    pub(crate) fn ordinal_bound(&self) -> usize {
        self.bound
    }

    /// Number of terms.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Visits every term: provisional ordinal, kind, text.
    pub(crate) fn for_each(
        &self,
        visit: &mut dyn FnMut(u64, u32, &str) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let visit =
            &mut |record: Record<'_>| visit(u64::from(record.ordinal), record.kind, record.str());
        match &self.texts {
            Texts::Memory(texts) => texts.for_each(visit),
            Texts::Spilled(texts) => texts.for_each(visit),
        }
    }

    /// Kind and text of some terms.
    pub(crate) fn names(
        &self,
        mut ordinals: Vec<u32>,
    ) -> Result<FastMap<u32, (u32, String)>, LoadError> {
        let mut names = FastMap::default();
        match &self.texts {
            Texts::Memory(texts) => {
                for ordinal in ordinals {
                    let record = texts.get(ordinal);
                    names.insert(ordinal, (record.kind, record.str().to_owned()));
                }
            }
            Texts::Spilled(texts) => {
                ordinals.sort_unstable();
                texts.for_each_near(&ordinals, &mut |record| {
                    if ordinals.binary_search(&record.ordinal).is_ok() {
                        names.insert(record.ordinal, (record.kind, record.str().to_owned()));
                    }
                    Ok(())
                })?;
            }
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::SpillSettings;
    use std::collections::BTreeSet;

    fn texts_come_back(memory: LoadMemory) {
        let table = SharedTerms::new("terms", 1 << 30, Arc::new(memory));
        let long = "x".repeat(3 << 20);
        let texts: Vec<String> = (0..5_000)
            .map(|i| format!("term {i}"))
            .chain([long, String::new()])
            .collect();
        let mut slab = table.take_slab();
        let mut intern = |kind: u32, text: &str| {
            let hash = table.hash(kind, text);
            let ordinal = table.intern(hash, kind, text, &mut slab).expect("fits");
            assert_eq!(table.find(kind, text), Some(ordinal));
            ordinal as u32
        };
        let first: Vec<u32> = texts.iter().map(|t| intern(0, t)).collect();
        let other: Vec<u32> = texts.iter().map(|t| intern(7, t)).collect();
        let again: Vec<u32> = texts.iter().map(|t| intern(0, t)).collect();
        assert_eq!(first, again);
        assert_eq!(table.find(3, "term 1"), None);
        table.give_back(slab);
        let frozen = table.freeze().expect("texts can be kept");
        assert_eq!(frozen.len(), 2 * texts.len());
        let all: Vec<u32> = first.iter().chain(&other).copied().collect();
        let names = frozen.names(all.clone()).expect("texts can be read");
        for (i, text) in texts.iter().enumerate() {
            assert_eq!(names[&first[i]], (0, text.clone()));
            assert_eq!(names[&other[i]], (7, text.clone()));
        }
        let mut visited = 0;
        let mut visit = |ordinal: u64, kind, text: &str| {
            assert_eq!(names[&(ordinal as u32)], (kind, text.to_owned()));
            visited += 1;
            Ok(())
        };
        frozen.for_each(&mut visit).expect("texts can be read");
        assert_eq!(visited, frozen.len());
        let distinct: BTreeSet<u32> = all.into_iter().collect();
        assert_eq!(distinct.len(), frozen.len());
        assert!(
            distinct
                .iter()
                .all(|o| (*o as usize) < frozen.ordinal_bound())
        );
        let few = frozen.names(vec![other[4_000], first[17]]).expect("read");
        assert_eq!(few.len(), 2);
    }

    #[test]
    fn equal_terms_have_equal_ordinals_and_texts_come_back() {
        texts_come_back(LoadMemory::unlimited());
    }

    #[test]
    fn spilled_texts_come_back() {
        for (parse_bytes, slab_bytes) in [(0, 1_000), (50_000, 5_000), (6 << 20, 1 << 20)] {
            let settings = SpillSettings {
                parse_bytes: Some(parse_bytes),
                slab_bytes: Some(slab_bytes),
                ..SpillSettings::default()
            };
            let memory = LoadMemory::new(None, 1, std::env::temp_dir(), settings);
            texts_come_back(memory.expect("the budget is large enough"));
        }
    }

    #[test]
    fn too_many_terms_are_an_error() {
        let memory = Arc::new(LoadMemory::unlimited());
        let table = SharedTerms::new("terms", 2 * SHARDS as u64, memory);
        let mut slab = table.take_slab();
        let error = (0..1_000u32).find_map(|i| {
            let text = i.to_string();
            table
                .intern(table.hash(0, &text), 0, &text, &mut slab)
                .err()
        });
        assert!(matches!(
            error,
            Some(LoadError::Limit { what: "terms", .. })
        ));
    }
}
