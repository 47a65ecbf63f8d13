//! `ByOrdinal`: something that is known of terms that have ordinals: literals and resources of the dictionary, and terms that the query has made.
//!
//! ```text
//! chunks   [ 0 2 0 1 .. ]       for every 64 ordinals, by kind: the number of their chunk, 0 for none
//! values   [ 64 | 64 | .. ]     chunk 1, chunk 2, ..
//! ```
//!
//! Literals of a predicate stand one after the other in the dictionary, so that those of a column lie in few chunks, and what is known of one of them is
//! found without a hash and without a search. Ordinals that lie far apart take a chunk each.
//!
//! Invariant: what is not known has the value that stands for that. Cost: two reads. Memory, counted as a cache of the query's: 64 values for a chunk, four
//! bytes for every 64 terms up to the last that was met; where there is no room for a chunk its terms have no place.

use crate::context::Context;
use crate::held_memory::HeldMemory;
use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;

/// Ordinals of a chunk.
const CHUNK: usize = 64;
/// Chunks for which there is room from the beginning.
const CHUNKS_MIN: usize = 64;
/// Terms that are asked for before it is told whether they repeat.
const ASKED_MIN: usize = 1 << 16;
/// Terms asked for for each that was known, above which they hardly do.
const ASKED_PER_FOUND_MAX: usize = 64;

/// Values by ordinal; see the [module documentation](self).
pub struct ByOrdinal<T> {
    unknown: T,
    /// The numbers of chunks from 1, of literals, of resources and of local terms.
    chunks: [Vec<u32>; 3],
    values: Vec<T>,
    held: HeldMemory,
}

/// The ordinal of a term among those of its kind, and the number of that; `None` if it has none.
#[inline]
fn ordinal(id: TermId) -> Option<(usize, u64)> {
    match id.tag() {
        tag::STRING | tag::LANGUAGE | tag::TYPED => Some((0, id.literal_ordinal())),
        tag::RESOURCE => Some((1, id.payload())),
        tag::LOCAL => Some((2, id.payload())),
        _ => None,
    }
}

/// Whether so few of the terms that were asked for were known that it is not worth to remember more.
pub fn hardly_repeat(asked: usize, found: usize) -> bool {
    asked >= ASKED_MIN && found * ASKED_PER_FOUND_MAX < asked
}

/// Whether a term has an ordinal.
#[inline]
pub fn has_ordinal(id: u64) -> bool {
    ordinal(TermId(id)).is_some()
}

impl<T: Copy> ByOrdinal<T> {
    /// Of no term anything but `unknown`.
    pub fn new(unknown: T) -> Self {
        Self {
            unknown,
            chunks: Default::default(),
            values: Vec::new(),
            held: HeldMemory::default(),
        }
    }

    /// The place of a term; `None` of one without an ordinal and of unbound, and where there is no room.
    #[inline]
    pub fn place(&mut self, id: u64, cx: &Context) -> Option<&mut T> {
        let (kind, ordinal) = ordinal(TermId(id))?;
        let at = (ordinal / CHUNK as u64) as usize;
        let number = match self.chunks[kind].get(at) {
            Some(&number) if number != 0 => number,
            _ => self.add_chunk(kind, at, cx)?,
        };
        let start = (number as usize - 1) * CHUNK;
        self.values.get_mut(start + ordinal as usize % CHUNK)
    }

    /// Makes a chunk; its number.
    #[cold]
    fn add_chunk(&mut self, kind: usize, at: usize, cx: &Context) -> Option<u32> {
        let chunks = &self.chunks[kind];
        let mut length = chunks.len();
        if at >= length {
            length = (at + 1).next_power_of_two();
        }
        let mut capacity = self.values.capacity();
        if self.values.len() + CHUNK > capacity {
            capacity = (2 * capacity).max(CHUNKS_MIN * CHUNK);
        }
        let now: usize = self.chunks.iter().map(Vec::len).sum();
        let chunk_bytes = (now - chunks.len() + length) * size_of::<u32>();
        let bytes = capacity * size_of::<T>() + chunk_bytes;
        if !self.held.grow_cache_to(bytes, "Expression", cx) {
            return None;
        }
        if length > chunks.len() {
            // Zeros that nobody looks at need no memory.
            let mut longer = vec![0; length];
            longer[..chunks.len()].copy_from_slice(chunks);
            self.chunks[kind] = longer;
        }
        let values = self.values.len();
        self.values.reserve_exact(capacity - values);
        self.values.resize(values + CHUNK, self.unknown);
        let number = u32::try_from(self.values.len() / CHUNK).ok()?;
        self.chunks[kind][at] = number;
        Some(number)
    }
}

/// What is remembered of terms as long as they come again. Of the first nothing is: what few rows ask for is worked out as fast.
pub struct Remembered<T> {
    unknown: T,
    /// Until it is given up.
    values: Option<ByOrdinal<T>>,
    asked: usize,
    found: usize,
}

/// What is remembered of a term.
pub enum Recalled<T> {
    /// This.
    Known(T),
    /// Nothing yet.
    Unknown,
    /// Nothing, and it is not to be.
    Never,
}

impl<T: Copy + PartialEq> Remembered<T> {
    /// The number of the first term of which something is remembered.
    pub const FIRST: usize = 1 << 11;

    /// Of no term anything but `unknown`.
    pub fn new(unknown: T) -> Self {
        Self {
            unknown,
            values: Some(ByOrdinal::new(unknown)),
            asked: 0,
            found: 0,
        }
    }

    /// What is remembered of a term.
    #[inline]
    pub fn recall(&mut self, id: u64, cx: &Context) -> Recalled<T> {
        let Some(values) = &mut self.values else {
            return Recalled::Never;
        };
        self.asked += 1;
        if self.asked < Self::FIRST {
            return Recalled::Never;
        }
        match values.place(id, cx) {
            None => Recalled::Never,
            Some(value) if *value != self.unknown => {
                self.found += 1;
                Recalled::Known(*value)
            }
            Some(_) => {
                if hardly_repeat(self.asked, self.found) {
                    self.values = None;
                    return Recalled::Never;
                }
                Recalled::Unknown
            }
        }
    }

    /// Remembers this of a term of which nothing was [known](Recalled::Unknown).
    pub fn keep(&mut self, id: u64, value: T, cx: &Context) {
        let values = self.values.as_mut();
        if let Some(place) = values.and_then(|values| values.place(id, cx)) {
            *place = value;
        }
    }

    /// Whether terms hardly came again, so that nothing is remembered any more.
    pub fn is_given_up(&self) -> bool {
        self.values.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_store::Snapshot;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn id(kind: u8, ordinal: u64) -> u64 {
        match kind {
            0 => TermId::new(tag::RESOURCE, ordinal).0,
            1 => TermId::new(tag::STRING, ordinal).0,
            3 => TermId::new(tag::LOCAL, ordinal).0,
            _ => TermId::new(tag::DATE, ordinal).0,
        }
    }

    proptest! {
        #[test]
        fn each_term_has_its_own_value(
            terms in prop::collection::vec((0..4_u8, prop_oneof![0..300_u64, 0..9_000_000_u64]), 1..200),
        ) {
            let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
            let mut known = ByOrdinal::new(0_usize);
            let mut expected = HashMap::new();
            for (number, (kind, ordinal)) in (1..).zip(terms) {
                let id = id(kind, ordinal);
                let place = known.place(id, &cx);
                prop_assert_eq!(place.is_some(), kind != 2);
                if let Some(place) = place {
                    prop_assert_eq!(*place, expected.insert(id, number).unwrap_or(0));
                    *place = number;
                }
            }
        }
    }

    #[test]
    fn without_room_there_are_no_places() {
        let options = ExecOptions {
            memory_bytes_max: 1 << 20,
            ..ExecOptions::default()
        };
        let cx = Context::new(Snapshot::empty(), options, 0);
        let mut known = ByOrdinal::new(0_u64);
        let placed = (0..1000).filter(|&chunk| known.place(id(1, chunk * 64), &cx).is_some());
        // A sixteenth of the memory, of which some is for the numbers of chunks.
        assert_eq!(placed.count(), 64);
        assert!(known.place(id(1, 1 << 32), &cx).is_none());
        assert!(known.place(id(1, 64), &cx).is_some());
    }
}
