//! The term table: texts to provisional ordinals, for all threads of a load at once.
//!
//! Two sharded hash tables, one of resources and one of dictionary literals. A term *is* its hash here: 128
//! bits, with a secret seed for each load, so equal hashes mean equal terms (odds and reasons:
//! `docs/decisions/0007-terms-by-hash-while-loading.md`) and no text is looked at again. A term's hash picks
//! the shard; the shard numbers its terms densely, and the provisional ordinal is `number * SHARDS + shard`.
//! Ordinals of resources fit in 32 bits, so quads stay small.
//!
//! ```text
//! per term: a slot of 20 B, of which a half to four fifths are used  ->  25 to 38 B; its text is in a slab or a file
//! ```
//!
//! Provisional ordinals depend on threads and on the seed; what is written does not.
//!
//! When the index outgrows its share of the budget, shards leave memory, the largest first, and begin empty again
//! ([`SharedTerms::write_out`]): the next *generation*. A term that is met again then gets a second ordinal, and its text is kept
//! a second time. When all terms are in, the generations of each shard are merged, and the first ordinal of a term stands for
//! all ([`FirstOrdinals`]).
//!
//! Cost: one cache miss for each term; terms that come as a batch wait for it together, and take one lock for each shard. Locks
//! are without contention: threads seldom meet in one of many shards.

use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use basalt_shapes::FastMap;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::error::LoadError;
use crate::first_ordinals::FirstOrdinals;
use crate::spill::{IndexRun, LoadMemory, SpillFile, merge_runs};
use crate::term_batch::{BatchTerm, FoundTerm, TermBatch};
use crate::term_index::TermIndex;
use crate::text_slabs::{TextSlab, TextSlabs};
use crate::texts::Texts;

const SHARD_BITS: u32 = 6;
/// Shards of a table.
pub(crate) const SHARDS: usize = 1 << SHARD_BITS;

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

/// The shard of a hash. Its index uses the upper half.
#[inline]
pub(crate) fn shard_of(hash: u128) -> usize {
    hash as usize & (SHARDS - 1)
}

/// The terms of some hashes.
struct Shard {
    index: TermIndex,
    /// The number of the next new term.
    next: u32,
    /// Earlier generations.
    runs: Vec<IndexRun>,
    /// Terms of the largest of them.
    run_terms_max: usize,
}

impl Shard {
    fn new(shard: usize) -> Self {
        Self {
            index: TermIndex::new(shard, SHARDS),
            next: 0,
            runs: Vec::new(),
            run_terms_max: 0,
        }
    }

    /// The number of a hash, given now if it had none, and whether that is so.
    #[inline]
    fn intern(&mut self, hash: u128) -> (u32, bool) {
        let number = self.index.intern(hash, self.next);
        let is_new = number == self.next;
        self.next += u32::from(is_new);
        (number, is_new)
    }

    /// Looks up the terms at some places of a batch.
    fn intern_all(&mut self, terms: &[BatchTerm], places: &[u32], numbers: &mut [FoundTerm]) {
        let mut touched = 0;
        for &place in places {
            touched ^= self.index.touch(terms[place as usize].hash);
        }
        // Without a use of what was read nothing would be.
        black_box(touched);
        for &place in places {
            let (ordinal, is_new) = self.intern(terms[place as usize].hash);
            numbers[place as usize] = FoundTerm { ordinal, is_new };
        }
    }
}

/// One of the two tables, shared by the threads.
pub(crate) struct SharedTerms {
    what: &'static str,
    /// Above the numbers of a shard.
    number_max: u32,
    hasher: TermHasher,
    shards: Vec<Mutex<Shard>>,
    /// Earlier generations of all shards; made with the first.
    file: Mutex<Option<Arc<SpillFile>>>,
    texts: TextSlabs,
}

impl SharedTerms {
    /// An empty table for ordinals up to `ordinal_max`, which fits in 32 bits.
    pub(crate) fn new(what: &'static str, ordinal_max: u64, memory: Arc<LoadMemory>) -> Self {
        let shards = (0..SHARDS).map(|shard| Mutex::new(Shard::new(shard)));
        Self {
            what,
            number_max: (ordinal_max >> SHARD_BITS) as u32,
            hasher: TermHasher::new(),
            shards: shards.collect(),
            file: Mutex::default(),
            texts: TextSlabs::new(memory),
        }
    }

    /// The budget.
    pub(crate) fn memory(&self) -> &LoadMemory {
        self.texts.memory()
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
    pub(crate) fn intern(
        &self,
        hash: u128,
        kind: u32,
        text: &str,
        slab: &mut TextSlab,
    ) -> Result<u32, LoadError> {
        let shard = shard_of(hash);
        let (number, is_new) = self.in_shard(shard, |shard| shard.intern(hash))?;
        let ordinal = ordinal(number, shard);
        if is_new {
            slab.push(&self.texts, ordinal, kind, text.as_bytes())?;
        }
        Ok(ordinal)
    }

    /// The same for all terms of a batch, which tells the ordinals afterwards.
    pub(crate) fn intern_batch(
        &self,
        batch: &mut TermBatch,
        slab: &mut TextSlab,
    ) -> Result<(), LoadError> {
        let Some(first) = batch.terms().first() else {
            return Ok(());
        };
        // Threads begin at different shards, so they do not follow each other from lock to lock.
        let first = shard_of(first.hash);
        let ends = batch.sort();
        for shard in (first..SHARDS).chain(0..first) {
            let start = shard.checked_sub(1).map_or(0, |before| ends[before]);
            let (terms, places, found) = batch.of_shard(start, ends[shard]);
            if places.is_empty() {
                continue;
            }
            self.in_shard(shard, |shard| shard.intern_all(terms, places, found))?;
            for &place in places {
                let found = &mut found[place as usize];
                found.ordinal = ordinal(found.ordinal, shard);
            }
        }
        for (place, term) in batch.terms().iter().enumerate() {
            let FoundTerm { ordinal, is_new } = batch.found[place];
            if is_new {
                slab.push(&self.texts, ordinal, term.kind, batch.text(place))?;
            }
        }
        Ok(())
    }

    fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        let shard = self.shards[shard].lock();
        shard.unwrap_or_else(PoisonError::into_inner)
    }

    /// Interns terms in a shard, and counts what that takes.
    #[inline]
    fn in_shard<R>(
        &self,
        shard: usize,
        intern: impl FnOnce(&mut Shard) -> R,
    ) -> Result<R, LoadError> {
        let mut shard = self.lock(shard);
        let before = shard.index.bytes();
        let found = intern(&mut shard);
        let (after, next) = (shard.index.bytes(), shard.next);
        if before < after {
            // Under the lock: whoever lets the shard leave memory takes off what was counted.
            self.memory().grow_index(before, after);
        }
        drop(shard);
        if self.number_max < next {
            return Err(LoadError::Limit {
                what: self.what,
                limit: u64::from(self.number_max) << SHARD_BITS,
            });
        }
        Ok(found)
    }

    /// The provisional ordinal of a term that is in memory.
    #[cfg(test)]
    pub(crate) fn find(&self, kind: u32, text: &str) -> Option<u32> {
        let hash = self.hash(kind, text);
        let shard = shard_of(hash);
        let number = self.lock(shard).index.find(hash)?;
        Some(ordinal(number, shard))
    }

    /// The shard whose index takes most memory, and its bytes.
    pub(crate) fn largest_shard(&self) -> (usize, usize) {
        let bytes = (0..SHARDS).map(|shard| (self.lock(shard).index.bytes(), shard));
        let (bytes, shard) = bytes.max().unwrap_or_default();
        (shard, bytes)
    }

    /// Lets the index of a shard leave memory: its next generation begins.
    pub(crate) fn write_out(&self, shard: usize) -> Result<(), LoadError> {
        let empty = TermIndex::new(shard, SHARDS);
        let index = std::mem::replace(&mut self.lock(shard).index, empty);
        // Others go on with the shard meanwhile.
        let file = self.file()?;
        let run = IndexRun::write(&file, &index)?;
        let mut shard = self.lock(shard);
        shard.runs.push(run);
        shard.run_terms_max = shard.run_terms_max.max(index.len());
        self.memory().shrink_index(index.bytes());
        Ok(())
    }

    fn file(&self) -> Result<Arc<SpillFile>, LoadError> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            *file = Some(Arc::new(SpillFile::create(&self.memory().folder)?));
        }
        Ok(Arc::clone(file.as_ref().expect("it was made above")))
    }

    /// One more than the largest provisional ordinal.
    pub(crate) fn ordinal_bound(&self) -> usize {
        let next = (0..SHARDS).map(|shard| self.lock(shard).next);
        (next.max().unwrap_or(0) as usize) << SHARD_BITS
    }

    /// How many terms there are at least: no generation has one twice.
    pub(crate) fn len_min(&self) -> usize {
        let of_shard = |shard: usize| {
            let shard = self.lock(shard);
            shard.run_terms_max.max(shard.index.len())
        };
        (0..SHARDS).map(of_shard).sum()
    }

    /// Lets text leave memory until so many bytes fit, when all slabs were given back.
    pub(crate) fn make_room(&self, bytes: u64) -> Result<(), LoadError> {
        self.texts.make_room(bytes)
    }

    /// The table for reading: no index, all slabs given back. `sought` is the kind and text of a term whose ordinal is
    /// wanted.
    pub(crate) fn freeze(self, sought: Option<(u32, &str)>) -> Result<Frozen, LoadError> {
        let bound = self.ordinal_bound();
        let sought = sought.map(|(kind, text)| self.hash(kind, text));
        let Self {
            shards,
            file,
            texts,
            ..
        } = self;
        let file = file.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut merged = Merged::default();
        for (number, shard) in shards.into_iter().enumerate() {
            let shard = shard.into_inner().unwrap_or_else(PoisonError::into_inner);
            merged.add(number, &shard, file.as_deref(), sought)?;
            texts.memory().shrink_index(shard.index.bytes());
        }
        Ok(Frozen {
            terms: FrozenTerms {
                bound,
                count: merged.terms,
                texts: texts.freeze(bound)?,
            },
            firsts: FirstOrdinals::new(merged.later, bound),
            sought: merged.sought,
        })
    }
}

/// What the generations of shards have told.
#[derive(Default)]
struct Merged {
    /// Terms.
    terms: usize,
    /// Ordinals that are not the first of their term, with the one that is.
    later: Vec<(u32, u32)>,
    /// The first ordinal of the term that is sought.
    sought: Option<u32>,
}

impl Merged {
    /// Adds a shard.
    fn add(
        &mut self,
        number: usize,
        shard: &Shard,
        file: Option<&SpillFile>,
        sought: Option<u128>,
    ) -> Result<(), LoadError> {
        let Some(file) = file.filter(|_| !shard.runs.is_empty()) else {
            self.terms += shard.index.len();
            let sought = sought.filter(|hash| shard_of(*hash) == number);
            let found = sought.and_then(|hash| shard.index.find(hash));
            self.sought = self.sought.or(found.map(|found| ordinal(found, number)));
            return Ok(());
        };
        merge_runs(
            file,
            &shard.runs,
            &shard.index,
            &mut |hash, later, first| {
                if later != first {
                    self.later
                        .push((ordinal(later, number), ordinal(first, number)));
                    return;
                }
                self.terms += 1;
                if sought == Some(hash) {
                    self.sought = Some(ordinal(first, number));
                }
            },
        )
    }
}

/// The provisional ordinal of a term by its number in a shard.
#[inline]
fn ordinal(number: u32, shard: usize) -> u32 {
    number << SHARD_BITS | shard as u32
}

/// What becomes of a table when all terms are in.
pub(crate) struct Frozen {
    /// The terms.
    pub terms: FrozenTerms,
    /// Which ordinals are of one term.
    pub firsts: FirstOrdinals,
    /// The first ordinal of the term that was sought, if there is such a term.
    pub sought: Option<u32>,
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

    /// Kind and text of the terms with some ordinals.
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
mod tests;
