//! The term table: texts to provisional ordinals, for all threads of a load at once.
//!
//! Two sharded hash tables, one of resources and one of dictionary literals. A term's hash picks
//! the shard; the shard numbers its terms densely, and the provisional ordinal is
//! `number * SHARDS + shard`. Ordinals of resources fit in 32 bits, so quads stay small.
//!
//! ```text
//! per term: index slot 16 B / load factor, entry 16 B, text in the arena  ->  about 36 B + text
//! ```
//!
//! Cost: one lock without contention (threads seldom meet in one of many shards) and usually two
//! cache misses, index and entry.

use std::sync::{Mutex, PoisonError};

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::error::LoadError;
use crate::text_arena::{Place, TextArena};

const SHARD_BITS: u32 = 6;
const SHARDS: usize = 1 << SHARD_BITS;

/// The kind of an IRI among resources; a blank node has 1 plus the number of its scope.
pub(crate) const IRI: u32 = 0;

/// The hash of a term.
#[inline]
pub(crate) fn hash(kind: u32, text: &[u8]) -> u64 {
    xxh3_64_with_seed(text, u64::from(kind))
}

struct Entry {
    place: Place,
    kind: u32,
}

#[derive(Default)]
struct Shard {
    index: HashTable<(u64, u32)>,
    entries: Vec<Entry>,
    arena: TextArena,
}

impl Shard {
    fn intern(&mut self, hash: u64, kind: u32, text: &[u8]) -> Option<u32> {
        let Self {
            index,
            entries,
            arena,
        } = self;
        let known = index.find(hash, |&(h, number)| {
            let entry = &entries[number as usize];
            h == hash && entry.kind == kind && arena.get(entry.place) == text
        });
        if let Some(&(_, number)) = known {
            return Some(number);
        }
        let number = u32::try_from(entries.len()).ok()?;
        entries.push(Entry {
            place: arena.push(text)?,
            kind,
        });
        index.insert_unique(hash, (hash, number), |&(h, _)| h);
        Some(number)
    }
}

/// One of the two tables, shared by the threads.
pub(crate) struct SharedTerms {
    what: &'static str,
    number_max: u64,
    shards: Vec<Mutex<Shard>>,
}

impl SharedTerms {
    /// An empty table for ordinals up to `ordinal_max`.
    pub(crate) fn new(what: &'static str, ordinal_max: u64) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self {
            what,
            number_max: ordinal_max >> SHARD_BITS,
            shards,
        }
    }

    /// The provisional ordinal of a term, given now if it had none.
    #[inline]
    pub(crate) fn intern(&self, hash: u64, kind: u32, text: &[u8]) -> Result<u64, LoadError> {
        // The index uses the low and the topmost bits of the hash; the shard takes others.
        let shard = (hash >> 40) as usize & (SHARDS - 1);
        let mut guard = self.shards[shard]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let number = guard.intern(hash, kind, text).map(u64::from);
        match number.filter(|n| *n < self.number_max) {
            Some(number) => Ok(number << SHARD_BITS | shard as u64),
            None => Err(LoadError::Limit {
                what: self.what,
                limit: self.number_max << SHARD_BITS,
            }),
        }
    }

    /// The table for reading, without locks and without the index.
    pub(crate) fn freeze(self) -> FrozenTerms {
        let open = |shard: Mutex<Shard>| {
            let Shard { entries, arena, .. } =
                shard.into_inner().unwrap_or_else(PoisonError::into_inner);
            FrozenShard { entries, arena }
        };
        FrozenTerms {
            shards: self.shards.into_iter().map(open).collect(),
        }
    }
}

struct FrozenShard {
    entries: Vec<Entry>,
    arena: TextArena,
}

/// A table when all terms are in.
pub(crate) struct FrozenTerms {
    shards: Vec<FrozenShard>,
}

impl FrozenTerms {
    /// One more than the largest provisional ordinal.
    pub(crate) fn ordinal_bound(&self) -> usize {
        self.shards
            .iter()
            .map(|s| s.entries.len())
            .max()
            .unwrap_or(0)
            << SHARD_BITS
    }

    /// Number of terms.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|s| s.entries.len()).sum()
    }

    /// Visits every term: provisional ordinal, kind, text.
    pub(crate) fn for_each(
        &self,
        visit: &mut dyn FnMut(u64, u32, &str) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        for (at, shard) in self.shards.iter().enumerate() {
            for number in 0..shard.entries.len() as u64 {
                let ordinal = number << SHARD_BITS | at as u64;
                let (kind, text) = self.get(ordinal);
                visit(ordinal, kind, text)?;
            }
        }
        Ok(())
    }

    /// Kind and text of a term.
    #[inline]
    pub(crate) fn get(&self, ordinal: u64) -> (u32, &str) {
        let shard = &self.shards[ordinal as usize & (SHARDS - 1)];
        let entry = &shard.entries[(ordinal >> SHARD_BITS) as usize];
        let text = std::str::from_utf8(shard.arena.get(entry.place));
        (entry.kind, text.expect("terms come from strings"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn equal_terms_have_equal_ordinals_and_texts_come_back() {
        let table = SharedTerms::new("terms", 1 << 30);
        let long = "x".repeat(3 << 20);
        let texts: Vec<String> = (0..5_000)
            .map(|i| format!("term {i}"))
            .chain([long])
            .collect();
        let intern = |kind: u32, text: &str| {
            table
                .intern(hash(kind, text.as_bytes()), kind, text.as_bytes())
                .expect("fits")
        };
        let first: Vec<u64> = texts.iter().map(|t| intern(0, t)).collect();
        let other: Vec<u64> = texts.iter().map(|t| intern(7, t)).collect();
        assert_eq!(
            first,
            texts.iter().map(|t| intern(0, t)).collect::<Vec<_>>()
        );
        let frozen = table.freeze();
        assert_eq!(frozen.len(), 2 * texts.len());
        for (i, text) in texts.iter().enumerate() {
            assert_eq!(frozen.get(first[i]), (0, text.as_str()));
            assert_eq!(frozen.get(other[i]), (7, text.as_str()));
        }
        let mut visited = 0;
        let mut visit = |ordinal, kind, text: &str| {
            assert_eq!(frozen.get(ordinal), (kind, text));
            visited += 1;
            Ok(())
        };
        frozen
            .for_each(&mut visit)
            .expect("the visitor fails never");
        assert_eq!(visited, frozen.len());
        let distinct: BTreeSet<u64> = first.into_iter().chain(other).collect();
        assert_eq!(distinct.len(), frozen.len());
        assert!(
            distinct
                .iter()
                .all(|o| (*o as usize) < frozen.ordinal_bound())
        );
    }

    #[test]
    fn too_many_terms_are_an_error() {
        let table = SharedTerms::new("terms", 2 * SHARDS as u64);
        let error = (0..1_000u32).find_map(|i| {
            let text = i.to_le_bytes();
            table.intern(hash(0, &text), 0, &text).err()
        });
        assert!(matches!(
            error,
            Some(LoadError::Limit { what: "terms", .. })
        ));
    }
}
