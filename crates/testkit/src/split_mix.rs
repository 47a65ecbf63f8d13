//! The random numbers of the generators: SplitMix64, eight bytes of state, the same on every machine.
//!
//! A seed must mean the same data and the same query for ever, so that a failing seed in a report can
//! be replayed; that is why no external generator is used. Algorithm: Steele, Lea, Flood, "Fast
//! splittable pseudorandom number generators", OOPSLA 2014.

/// A seeded generator.
#[derive(Debug, Clone)]
pub struct SplitMix {
    /// The counter that is mixed into each number.
    state: u64,
}

impl SplitMix {
    /// Starts from a seed; nearby seeds give unrelated sequences.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 random bits.
    pub fn next_bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, or 0 if there is none; the tiny bias does not matter for tests.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next_bits() % bound).unwrap_or(0)
    }

    /// True in about `percent` of a hundred calls.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Any element of a slice, nothing if it is empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix;

    #[test]
    fn first_numbers_of_seed_zero_are_those_of_the_reference_implementation() {
        let mut random = SplitMix::new(0);
        assert_eq!(random.next_bits(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.next_bits(), 0x6e78_9e6a_a1b9_65f4);
    }
}
