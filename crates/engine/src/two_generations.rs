//! `TwoGenerations`: what is kept of texts within a bound of bytes.
//!
//! Admission is the caller's, with [`TwoGenerations::has_come`]: what is kept when it comes the second time costs 8 bytes of a fixed
//! table if it never comes again. Eviction: what is used goes to the younger generation; when that has half of the bytes, it becomes
//! the older one, and what was left there goes.
//!
//! Entries are found by hash alone; the caller compares what it finds in full. Cost: a look in one or two hash tables.

use std::collections::HashMap;

/// Hashes remembered as seen once.
const SEEN_MAX: usize = 4096;

/// Something that is counted with a number of bytes, which stays the same.
pub trait Counted {
    /// The bytes.
    fn bytes(&self) -> usize;
}

#[derive(Debug)]
struct Generation<E> {
    entries: HashMap<u64, E>,
    bytes: usize,
}

impl<E> Default for Generation<E> {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            bytes: 0,
        }
    }
}

impl<E: Counted> Generation<E> {
    /// Gives back what was there.
    fn insert(&mut self, hash: u64, entry: E) -> Option<E> {
        self.bytes += entry.bytes();
        let before = self.entries.insert(hash, entry)?;
        self.bytes -= before.bytes();
        Some(before)
    }

    fn remove(&mut self, hash: u64) -> Option<E> {
        let entry = self.entries.remove(&hash)?;
        self.bytes -= entry.bytes();
        Some(entry)
    }
}

/// See the [module documentation](self).
#[derive(Debug)]
pub struct TwoGenerations<E> {
    young: Generation<E>,
    old: Generation<E>,
    bytes_max: usize,
    /// Hashes that came once, each at its place.
    seen: Vec<u64>,
}

/// What is no longer kept; dropping it takes a while, and is better done outside a lock.
pub struct Gone<E> {
    _entries: [Option<E>; 2],
    _generation: Option<Generation<E>>,
}

impl<E: Counted> TwoGenerations<E> {
    /// Room for so many bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            young: Generation::default(),
            old: Generation::default(),
            bytes_max,
            seen: vec![0; SEEN_MAX],
        }
    }

    /// The entry of a hash, which is used by that, and what goes for it.
    pub fn find(&mut self, hash: u64) -> (Option<&E>, Option<Gone<E>>) {
        let used = self.old.remove(hash);
        let gone = used.map(|entry| self.put(hash, entry));
        (self.young.entries.get(&hash), gone)
    }

    /// The entry of a hash that was found or put lately.
    pub fn recent(&self, hash: u64) -> Option<&E> {
        self.young.entries.get(&hash)
    }

    /// Whether a hash has come before, as far as is known; from now on it has.
    pub fn has_come(&mut self, hash: u64) -> bool {
        let place = hash as usize % SEEN_MAX;
        std::mem::replace(&mut self.seen[place], hash) == hash
    }

    /// Puts an entry into the younger generation, and only there; that becomes the older one before if it would have more than
    /// its half. An entry that takes more than half of that goes at once. Gives back what goes.
    pub fn put(&mut self, hash: u64, entry: E) -> Gone<E> {
        if entry.bytes() > self.bytes_max / 4 {
            return Gone {
                _entries: [None, Some(entry)],
                _generation: None,
            };
        }
        let mut generation = None;
        if self.young.bytes + entry.bytes() > self.bytes_max / 2 {
            let young = std::mem::take(&mut self.young);
            generation = Some(std::mem::replace(&mut self.old, young));
        }
        let older = self.old.remove(hash);
        Gone {
            _entries: [older, self.young.insert(hash, entry)],
            _generation: generation,
        }
    }

    /// Entries kept.
    pub fn len(&self) -> usize {
        self.young.entries.len() + self.old.entries.len()
    }

    /// Bytes that they are counted with.
    pub fn bytes(&self) -> usize {
        self.young.bytes + self.old.bytes
    }
}
