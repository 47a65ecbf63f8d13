//! The index of one shard of terms: hashes of 128 bits to numbers, in the order of the hashes.
//!
//! ```text
//! slots: | hash u128 | number u32 |  20 bytes each; empty ones have the largest hash
//!        a hash belongs at  (its upper half * homes) >> 64,  or behind that, up to the next empty slot
//! ```
//!
//! Linear probing in order: a slot stands in front of all slots with larger hashes. So a search for a term that is
//! not there ends at the first larger hash; growing copies one sequence into another; and all slots read from the
//! start to the end are sorted, which is how an index leaves memory. All of an entry is in one place, so a lookup costs one cache
//! miss, and [`TermIndex::touch`] starts it for many entries at once before the first of them is needed.
//!
//! Invariants: slots that are not empty ascend by hash; no slot is empty between the home of an entry and its
//! place; the last slot is empty.
//!
//! Memory: 20 bytes a slot, of which four in five are used at most and growing makes half as many again: 25 to 38 bytes an entry.

/// Homes of an index that was empty.
const FIRST_HOMES: usize = 64;
/// Slots behind the last home. With four fifths of the slots in use an entry is pushed so far about once in
/// 10^12 times; then the index grows.
const TAIL_SLOTS: usize = 64;

/// A term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, packed(4))]
pub(crate) struct Slot {
    hash: u128,
    number: u32,
}

/// Bytes of a slot, in memory and in a file.
pub(crate) const SLOT_BYTES: usize = size_of::<Slot>();
const _: () = assert!(SLOT_BYTES == 20);
/// Of these, bytes of the hash.
const HASH_BYTES: usize = size_of::<u128>();

impl Slot {
    const EMPTY: Self = Self {
        hash: u128::MAX,
        number: u32::MAX,
    };

    /// A term of this hash and number.
    #[inline]
    pub(crate) fn new(hash: u128, number: u32) -> Self {
        Self { hash, number }
    }

    /// The hash.
    #[inline]
    pub(crate) fn hash(&self) -> u128 {
        self.hash
    }

    /// The number of the term.
    #[inline]
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// The slot as it stands in files.
    pub(crate) fn record(&self) -> [u8; SLOT_BYTES] {
        let mut record = [0; SLOT_BYTES];
        record[..HASH_BYTES].copy_from_slice(&self.hash().to_le_bytes());
        record[HASH_BYTES..].copy_from_slice(&self.number().to_le_bytes());
        record
    }

    /// The slot in a record of a file.
    pub(crate) fn read(record: &[u8]) -> Self {
        let (mut hash, mut number) = ([0; HASH_BYTES], [0; SLOT_BYTES - HASH_BYTES]);
        hash.copy_from_slice(&record[..HASH_BYTES]);
        number.copy_from_slice(&record[HASH_BYTES..]);
        Self::new(u128::from_le_bytes(hash), u32::from_le_bytes(number))
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.number == Self::EMPTY.number
    }
}

/// Numbers by hash.
#[derive(Debug)]
pub(crate) struct TermIndex {
    slots: Vec<Slot>,
    /// Slots at which a hash can belong.
    homes: usize,
    /// Entries.
    len: usize,
    /// Homes when the first entry comes.
    first_homes: usize,
}

impl TermIndex {
    /// An empty index, which takes no memory. `place` of `count` tells it from others that are filled at the same
    /// pace: each begins with another size, so that they do not grow at the same time.
    pub(crate) fn new(place: usize, count: usize) -> Self {
        Self {
            slots: Vec::new(),
            homes: 0,
            len: 0,
            first_homes: FIRST_HOMES + FIRST_HOMES / 2 * place / count,
        }
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes that the slots take.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * SLOT_BYTES
    }

    /// Reads what a search for the hash will read first. The value means nothing; what counts is that the reads
    /// of several calls do not wait for each other.
    #[inline]
    pub(crate) fn touch(&self, hash: u128) -> u32 {
        let home = self.home(hash);
        match self.slots.get(home..home + 2) {
            // The first and the last word: an entry may lie across the end of a cache line.
            Some(slots) => slots[0].hash as u32 ^ slots[1].number,
            None => 0,
        }
    }

    /// The number of a hash.
    #[inline]
    pub(crate) fn find(&self, hash: u128) -> Option<u32> {
        self.seek(hash).ok()
    }

    /// The number of a hash, which is `next` from now on if it had none. No number is `u32::MAX`.
    #[inline]
    pub(crate) fn intern(&mut self, hash: u128, next: u32) -> u32 {
        match self.seek(hash) {
            Ok(number) => number,
            Err(at) => {
                self.add(at, Slot::new(hash, next));
                next
            }
        }
    }

    /// The entries, sorted by hash.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        self.slots.iter().filter(|slot| !slot.is_empty()).copied()
    }

    /// The number of a hash, or the slot where it belongs.
    #[inline]
    fn seek(&self, hash: u128) -> Result<u32, usize> {
        let home = self.home(hash);
        // An empty slot ends the search too: its hash is the largest.
        let behind = self.slots[home..]
            .iter()
            .position(|slot| hash <= slot.hash());
        let at = home + behind.unwrap_or(0);
        match self.slots.get(at) {
            Some(slot) if slot.hash() == hash && !slot.is_empty() => Ok(slot.number),
            _ => Err(at),
        }
    }

    #[inline]
    fn home(&self, hash: u128) -> usize {
        home(hash, self.homes)
    }

    /// Adds an entry that is not there and belongs at `at`.
    fn add(&mut self, mut at: usize, slot: Slot) {
        debug_assert!(!slot.is_empty());
        // Termination: what has grown has room for one more.
        while self.homes / 5 * 4 <= self.len || !self.put(at, slot) {
            self.grow();
            at = self.seek(slot.hash()).expect_err("it is added now");
        }
        self.len += 1;
    }

    /// Moves what stands at `at` and behind it by one; `false` if that would take the last slot.
    #[inline]
    fn put(&mut self, at: usize, slot: Slot) -> bool {
        let empty = self.slots[at..].iter().position(Slot::is_empty);
        let end = at + empty.expect("the last slot is empty");
        if end + 1 == self.slots.len() {
            return false;
        }
        self.slots.copy_within(at..end, at + 1);
        self.slots[at] = slot;
        true
    }

    fn grow(&mut self) {
        self.homes = (self.homes + self.homes / 2).max(self.first_homes);
        let mut tail = TAIL_SLOTS;
        // Termination: a tail of two slots more than there are entries has room for all.
        self.slots = loop {
            match spread(&self.slots, self.homes, tail) {
                Some(slots) => break slots,
                None => tail *= 2,
            }
        };
    }
}

/// Where a hash belongs among so many homes.
#[inline]
fn home(hash: u128, homes: usize) -> usize {
    let upper = hash >> 64;
    ((upper * homes as u128) >> 64) as usize
}

/// The entries of `old` in new slots; `None` if the tail is too short.
fn spread(old: &[Slot], homes: usize, tail: usize) -> Option<Vec<Slot>> {
    let mut slots = vec![Slot::EMPTY; homes + tail];
    let last = slots.len() - 1;
    let mut free = 0;
    for slot in old.iter().filter(|slot| !slot.is_empty()) {
        // Invariant: the slots from the home to `free` are taken if the home is in front of it.
        let at = home(slot.hash(), homes).max(free);
        // One more must find room behind it, in front of the last.
        if last <= at + 1 {
            return None;
        }
        slots[at] = *slot;
        free = at + 1;
    }
    Some(slots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn check(hashes: &[u128]) {
        let mut index = TermIndex::new(3, 8);
        assert_eq!((index.bytes(), index.find(5)), (0, None));
        let mut expected = BTreeMap::new();
        for &hash in hashes {
            index.touch(hash);
            let next = expected.len() as u32;
            let number = *expected.entry(hash).or_insert(next);
            let found = index.find(hash);
            assert_eq!(found, (number < next).then_some(number), "{hash}");
            assert_eq!(index.intern(hash, next), number, "{hash}");
        }
        assert_eq!(index.len(), expected.len());
        for (&hash, &number) in &expected {
            assert_eq!(index.find(hash), Some(number), "{hash}");
            let other = hash ^ 1;
            assert_eq!(index.find(other), expected.get(&other).copied());
        }
        let read = index.iter().map(|slot| Slot::read(&slot.record()));
        let sorted = read.map(|slot| (slot.hash(), slot.number()));
        assert!(sorted.eq(expected));
    }

    /// A number that looks random.
    fn mixed(i: u64) -> u128 {
        let word = |i: u64| {
            let word = (i ^ i >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (word ^ word >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
        };
        u128::from(word(i)) << 64 | u128::from(word(!i))
    }

    #[test]
    fn an_index_is_a_sorted_map() {
        check(&[]);
        let hashes: Vec<u128> = (0..20_000).map(|i| mixed(i * i % 7_919)).collect();
        check(&hashes);
        check(&(0..5_000).map(mixed).collect::<Vec<_>>());
    }

    #[test]
    fn hashes_with_one_home_and_at_the_end_find_room() {
        check(&(0..1_000).map(|i| i * 7 % 1_000).collect::<Vec<_>>());
        check(&(0..1_000).map(|i| u128::MAX - i).collect::<Vec<_>>());
        check(&(0..1_000).map(|i| u128::MAX - 999 + i).collect::<Vec<_>>());
        check(&[u128::MAX, 0, u128::MAX, 1 << 127]);
    }

    #[test]
    fn bytes_of_an_entry_are_as_said() {
        let mut index = TermIndex::new(0, 1);
        let mut bytes = index.bytes();
        for i in 0..200_000u32 {
            index.intern(mixed(u64::from(i)), i);
            let entries = f64::from(i + 1);
            if 10_000.0 < entries {
                let each = index.bytes() as f64 / entries;
                assert!((25.0..39.0).contains(&each), "{each} at {entries}");
            }
            assert!(bytes <= index.bytes());
            bytes = index.bytes();
        }
    }

    proptest! {
        #[test]
        fn any_hashes_are_found(
            hashes in proptest::collection::vec((any::<u128>(), any::<bool>()), 0..400),
        ) {
            // Half of them crowd together.
            let hashes = hashes.into_iter().map(|(hash, near)| if near { hash >> 122 } else { hash });
            check(&hashes.collect::<Vec<_>>());
        }
    }
}
