//! `NumberTable`: from hashes of rows to their numbers; the rows themselves are with the caller.
//!
//! ```text
//! hash    [ place | tag | .. ]       a table of 2^b slots: b bits and 32 - b bits
//! slot    [ tag | number + 1 ]       32 - b bits and b bits; 0 is free
//! ```
//!
//! Open addressing with linear probing. Rows with another tag are not looked at. A slot does not tell where its search began, so whoever has the rows
//! makes a larger table of them. Invariant: a quarter of the slots is free, of few slots three quarters, and a number has room in `b` bits, also
//! where the table has few of many rows. Cost: mostly one line of the caches for a look-up, and one where the row is compared; 5 to 11 bytes for
//! a number, 16 or more where there are few.

use basalt_columns::prefetch;

/// Slots of the smallest table, as a power of two: a few lines of the caches, and room for some dozen numbers.
const FIRST_BITS: u32 = 7;
/// As many bits as a slot has.
const BITS_MAX: u32 = u32::BITS;
/// Multiplier that spreads all bits of a hash over the highest (the golden ratio in 64 bits): rows that were dealt out by some of them
/// share those.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// A number that is none: there are always fewer.
pub const NO_NUMBER: u32 = u32::MAX;
/// Slots up to which a quarter of them is taken at most, so that nearly all rows are in the first slot that is looked at: 16 KiB.
const SPARSE_SLOTS: usize = 1 << 12;

/// Numbers by hash; see the [module documentation](self).
#[derive(Default)]
pub struct NumberTable {
    /// Two to the power of `bits`, or none yet.
    slots: Vec<u32>,
    bits: u32,
    count: usize,
}

/// Where the search for a hash begins, and what is in its slot but for the number.
#[derive(Clone, Copy)]
struct Search {
    place: usize,
    tag: u32,
}

impl NumberTable {
    /// An empty table with twice the slots of this one.
    pub fn doubled(&self) -> Self {
        let bits = (self.bits + 1).clamp(FIRST_BITS, BITS_MAX);
        Self {
            slots: vec![0; 1 << bits],
            bits,
            count: 0,
        }
    }

    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether so many more may be put in, all of them below a number.
    #[inline]
    pub fn has_room(&self, more: usize, below: usize) -> bool {
        let taken_max = match self.slots.len() {
            slots @ ..=SPARSE_SLOTS => slots / 4,
            slots => slots / 4 * 3,
        };
        self.count + more <= taken_max && below < self.slots.len()
    }

    /// The numbers, in any order.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        let taken = self.slots.iter().filter(|&&slot| slot != 0);
        taken.map(|&slot| self.number_in(slot))
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u32>()
    }

    #[inline]
    fn search(&self, hash: u64) -> Search {
        let hash = hash.wrapping_mul(SPREAD) >> u32::BITS;
        Search {
            place: (hash >> (BITS_MAX - self.bits)) as usize,
            tag: (hash << self.bits) as u32,
        }
    }

    /// The number in a slot; [`NO_NUMBER`] in a free one.
    #[inline]
    fn number_in(&self, slot: u32) -> u32 {
        ((u64::from(slot) & ((1 << self.bits) - 1)) as u32).wrapping_sub(1)
    }

    #[inline]
    fn has_tag(&self, slot: u32, tag: u32) -> bool {
        u64::from(slot ^ tag) >> self.bits == 0
    }

    /// Asks for the line where the search for a hash begins.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        prefetch(&self.slots, self.search(hash).place);
    }

    /// The number in the first slot for this hash, if it has the same tag: mostly the one that is looked for. Else one that no row has.
    #[inline]
    pub fn first_guess(&self, hash: u64) -> u32 {
        let Search { place, tag } = self.search(hash);
        match self.slots.get(place) {
            // A free slot's number is none either.
            Some(&slot) if self.has_tag(slot, tag) => self.number_in(slot),
            _ => NO_NUMBER,
        }
    }

    /// The number with this hash of which `is_same` is true.
    #[inline]
    pub fn find(&self, hash: u64, is_same: impl FnMut(u32) -> bool) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        self.find_or_place(hash, is_same).ok()
    }

    /// The same, or the free slot for it. There are slots.
    #[inline]
    fn find_or_place(
        &self,
        hash: u64,
        mut is_same: impl FnMut(u32) -> bool,
    ) -> Result<u32, Search> {
        let Search { mut place, tag } = self.search(hash);
        // Termination: some slots are free.
        loop {
            let slot = self.slots[place];
            if slot == 0 {
                return Err(Search { place, tag });
            }
            if self.has_tag(slot, tag) && is_same(self.number_in(slot)) {
                return Ok(self.number_in(slot));
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
    }

    /// The same, or if there is none `new`, which is put in. There [is room](Self::has_room) for one more.
    #[inline]
    pub fn find_or_insert(&mut self, hash: u64, new: u32, is_same: impl FnMut(u32) -> bool) -> u32 {
        debug_assert!(self.has_room(1, new as usize), "no room for {new}");
        match self.find_or_place(hash, is_same) {
            Ok(number) => number,
            Err(Search { place, tag }) => {
                self.slots[place] = tag | (new + 1);
                self.count += 1;
                new
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Puts a number in that is not there; `hash_of` tells the hashes of all.
    fn insert(table: &mut NumberTable, number: u32, hash_of: impl Fn(u32) -> u64) {
        while !table.has_room(1, number as usize + 1) {
            let mut larger = table.doubled();
            for number in table.numbers() {
                larger.find_or_insert(hash_of(number), number, |_| false);
            }
            *table = larger;
        }
        table.find_or_insert(hash_of(number), number, |_| false);
    }

    proptest! {
        /// Few hashes, so that many rows share one.
        #[test]
        fn rows_have_their_numbers(rows in prop::collection::vec((0..40_u64, 0..4_u8), 0..300)) {
            let (mut table, mut seen) = (NumberTable::default(), Vec::new());
            for row in rows {
                let before = seen.iter().position(|&other| other == row);
                let number = table.find(row.0, |number| seen[number as usize] == row);
                prop_assert_eq!(number, before.map(|number| number as u32));
                let guess = table.first_guess(row.0);
                prop_assert!(guess == NO_NUMBER || (guess as usize) < seen.len());
                match number {
                    Some(number) => {
                        let new = seen.len() as u32;
                        if table.has_room(1, seen.len() + 1) {
                            let found = table.find_or_insert(row.0, new, |number| seen[number as usize] == row);
                            prop_assert_eq!(found, number);
                        }
                    }
                    None => {
                        seen.push(row);
                        insert(&mut table, seen.len() as u32 - 1, |number| seen[number as usize].0);
                    }
                }
                prop_assert_eq!(table.count(), seen.len());
            }
            let mut numbers: Vec<u32> = table.numbers().collect();
            numbers.sort_unstable();
            prop_assert_eq!(numbers, (0..seen.len() as u32).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn few_numbers_may_be_large() {
        let mut table = NumberTable::default();
        for number in [5, 1_000_000, 70_000, 3_000_000] {
            insert(&mut table, number, u64::from);
        }
        let mut numbers: Vec<u32> = table.numbers().collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [5, 70_000, 1_000_000, 3_000_000]);
        assert_eq!(table.find(70_000, |number| number == 70_000), Some(70_000));
        assert_eq!(table.find(70_001, |_| true), None);
    }

    #[test]
    fn hashes_that_share_bits_are_spread() {
        let mut table = NumberTable::default();
        // As in a partition: some bits in the midst are the same.
        let hash_of =
            |number: u32| u64::from(number & 0xFFFF) | u64::from(number >> 16) << 60 | 5 << 30;
        for number in 0..100_000_u32 {
            insert(&mut table, number, hash_of);
        }
        let is_far = |number: u32| {
            let mut looked_at = 0;
            let found = table.find(hash_of(number), |other| {
                looked_at += 1;
                other == number
            });
            assert_eq!(found, Some(number));
            looked_at > 1
        };
        assert!((0..100_000).filter(|&number| is_far(number)).count() < 1_000);
        assert!(table.bytes() <= 100_000 * 11);
    }
}
