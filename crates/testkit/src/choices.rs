//! Where the generators take their decisions from: a seed, or a string of bytes.
//!
//! A seed gives as many decisions as anyone asks for. Bytes come from a fuzzer that watches which code
//! they reach and changes them a little; when they are used up every decision is 0, which every
//! generator must answer with something small, so that every byte string means one dataset or query.
//!
//! Invariant: equal sources give equal decisions, on every machine and for ever.

use crate::split_mix::SplitMix;

/// A stream of decisions.
#[derive(Debug, Clone)]
pub struct Choices {
    /// Where the next one comes from.
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    /// Random numbers without end.
    Seed(SplitMix),
    /// What is left of a string of bytes, the next one last.
    Bytes(Vec<u8>),
}

impl Choices {
    /// The decisions of a seed.
    pub fn from_seed(seed: u64) -> Self {
        Self {
            source: Source::Seed(SplitMix::new(seed)),
        }
    }

    /// The decisions that a string of bytes stands for.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self {
            source: Source::Bytes(bytes.iter().rev().copied().collect()),
        }
    }

    /// A number below `bound`, or 0 if there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        match &mut self.source {
            Source::Seed(random) => random.below(bound),
            Source::Bytes(bytes) => {
                let mut value = usize::from(bytes.pop().unwrap_or(0));
                if bound > 256 {
                    value = value << 8 | usize::from(bytes.pop().unwrap_or(0));
                }
                value % bound.max(1)
            }
        }
    }

    /// True in about `percent` of a hundred calls, false where bytes are used up.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) >= 100_usize.saturating_sub(percent)
    }

    /// Any element of a slice, nothing if it is empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::Choices;

    #[test]
    fn bytes_are_decisions_and_zeros_follow_them() {
        let mut choices = Choices::from_bytes(&[7, 1, 2, 255]);
        assert_eq!(choices.below(5), 2);
        assert_eq!(choices.below(1000), 258);
        assert!(choices.chance(60));
        assert_eq!(choices.below(5), 0);
        assert!(!choices.chance(99));
        assert_eq!(choices.pick(&[8, 9]), Some(&8));
        assert_eq!(choices.pick::<u8>(&[]), None);
    }
}
