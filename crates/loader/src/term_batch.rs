//! Terms that are looked up together.
//!
//! A lookup in a large index waits for memory. Those of a batch do not wait for each other: they are sorted by
//! shard, and the lines that the terms of a shard need are asked for before the first of them is compared
//! ([`SharedTerms::intern_batch`](crate::term_table::SharedTerms::intern_batch)).
//!
//! The texts are copied, because those that a reader hands out may be gone with the next line. Only new ones are needed
//! again, but which ones these are is not known before.
//!
//! Memory: some hundred KiB, beside a text that is longer.

use crate::term_table::{SHARDS, shard_of};

/// Terms of a batch: some fifty for each shard, as many as have lines under way in a processor and some more. What a batch
/// takes stays in the caches of a core.
const BATCH_TERMS: usize = 1 << 12;
/// Bytes of text that end a batch too.
const BATCH_TEXT_BYTES: usize = 1 << 18;

/// A term to be looked up.
pub(crate) struct BatchTerm {
    /// Its hash.
    pub hash: u128,
    /// Its kind.
    pub kind: u32,
    /// Where its text begins.
    start: usize,
}

/// What a lookup found.
#[derive(Clone, Copy, Default)]
pub(crate) struct FoundTerm {
    /// The provisional ordinal.
    pub ordinal: u32,
    /// Whether nobody has asked for the term before, not in this batch either.
    pub is_new: bool,
}

/// Terms in the order in which they came.
#[derive(Default)]
pub(crate) struct TermBatch {
    terms: Vec<BatchTerm>,
    /// The texts, end to end.
    texts: Vec<u8>,
    /// Places of the terms, sorted by shard.
    by_shard: Vec<u32>,
    /// What was found, when all were looked up.
    pub(crate) found: Vec<FoundTerm>,
}

impl TermBatch {
    /// Adds a term and returns its place.
    #[inline]
    pub(crate) fn push(&mut self, hash: u128, kind: u32, text: &str) -> u32 {
        let place = self.terms.len() as u32;
        self.terms.push(BatchTerm {
            hash,
            kind,
            start: self.texts.len(),
        });
        self.texts.extend_from_slice(text.as_bytes());
        place
    }

    /// Whether it is to be looked up before many more terms come.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        BATCH_TERMS <= self.terms.len() || BATCH_TEXT_BYTES <= self.texts.len()
    }

    /// The terms.
    pub(crate) fn terms(&self) -> &[BatchTerm] {
        &self.terms
    }

    /// The text of the term at a place.
    pub(crate) fn text(&self, place: usize) -> &[u8] {
        let start = self.terms[place].start;
        let next = self.terms.get(place + 1);
        let end = next.map_or(self.texts.len(), |next| next.start);
        &self.texts[start..end]
    }

    /// Sorts the terms by shard; those of one shard stay in order. Returns where those of each end among
    /// [`TermBatch::by_shard`].
    pub(crate) fn sort(&mut self) -> [u32; SHARDS] {
        let mut next = [0; SHARDS];
        for term in &self.terms {
            next[shard_of(term.hash)] += 1;
        }
        let mut sum = 0;
        for count in &mut next {
            let start = sum;
            sum += *count;
            *count = start;
        }
        self.by_shard.clear();
        self.by_shard.resize(self.terms.len(), 0);
        for (place, term) in (0..).zip(&self.terms) {
            let to = &mut next[shard_of(term.hash)];
            self.by_shard[*to as usize] = place;
            *to += 1;
        }
        self.found.clear();
        self.found.resize(self.terms.len(), FoundTerm::default());
        next
    }

    /// The terms that were sorted, their places from `start` to `end` in this order, and room for what is found.
    pub(crate) fn of_shard(
        &mut self,
        start: u32,
        end: u32,
    ) -> (&[BatchTerm], &[u32], &mut [FoundTerm]) {
        let places = &self.by_shard[start as usize..end as usize];
        (&self.terms, places, &mut self.found)
    }

    /// Forgets the terms.
    pub(crate) fn clear(&mut self) {
        self.terms.clear();
        self.texts.clear();
        // A long text must not stay in memory, nor its room.
        self.texts.shrink_to(2 * BATCH_TEXT_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_sorted_by_shard_and_keep_their_order_and_texts() {
        let mut batch = TermBatch::default();
        let texts: Vec<String> = (0..500).map(|i| "x".repeat(i * i % 90)).collect();
        let hash = |i: usize| (i * i * 31) as u128;
        for (i, text) in texts.iter().enumerate() {
            assert_eq!(batch.push(hash(i), i as u32, text), i as u32);
        }
        let ends = batch.sort();
        let mut start = 0;
        let mut seen = 0;
        for (shard, end) in ends.into_iter().enumerate() {
            let (terms, places, found) = batch.of_shard(start, end);
            assert_eq!(found.len(), texts.len());
            assert!(places.is_sorted());
            for &place in places {
                assert_eq!(shard_of(terms[place as usize].hash), shard);
                seen += 1;
            }
            start = end;
        }
        assert_eq!((start, seen), (500, 500));
        for (i, text) in texts.iter().enumerate() {
            assert_eq!(batch.text(i), text.as_bytes());
        }
        batch.clear();
        assert!(batch.terms().is_empty());
    }

    #[test]
    fn a_batch_is_full_by_terms_or_by_text() {
        let mut batch = TermBatch::default();
        let mut count = 0;
        while !batch.is_full() {
            count = batch.push(1, 0, "text") + 1;
        }
        assert_eq!(count as usize, BATCH_TERMS);
        batch.clear();
        batch.push(1, 0, &"long".repeat(1 << 20));
        assert!(batch.is_full());
        batch.clear();
        assert!(!batch.is_full() && batch.texts.capacity() < 1 << 20);
    }
}
