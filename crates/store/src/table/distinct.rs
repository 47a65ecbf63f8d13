//! Counting distinct values of a column while it is written.
//!
//! Up to [`EXACT_MAX`] values are counted exactly; beyond that a HyperLogLog sketch estimates
//! (Flajolet et al., HyperLogLog, 2007, with linear counting for small ranges). Sketches of
//! segments are made in parallel and merged; the result does not depend on the order. Cost: one
//! multiplication chain for each value, [`REGISTERS`] bytes for each sketch.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// Distinct values counted exactly; also the most for which a column gets a bitmap per value.
pub(crate) const EXACT_MAX: usize = 1024;
/// Registers of the sketch; the standard error is `1.04 / sqrt(REGISTERS)`, 1.6 percent.
const REGISTERS: usize = 1 << REGISTER_BITS;
const REGISTER_BITS: u32 = 12;

/// The finalizer of splitmix64: every bit of the input reaches every bit of the output.
fn mix(value: u64) -> u64 {
    let mut x = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A hasher for values that are already mixed.
#[derive(Default)]
struct MixedHasher(u64);

impl Hasher for MixedHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = mix(self.0 ^ u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = mix(value);
    }
}

type ValueSet = HashSet<u64, BuildHasherDefault<MixedHasher>>;

/// The distinct values of a part of a column.
#[derive(Clone, Debug)]
pub(crate) struct DistinctSketch {
    /// The values, while there are few.
    exact: Option<ValueSet>,
    /// The largest rank seen for each register.
    registers: Vec<u8>,
}

impl Default for DistinctSketch {
    fn default() -> Self {
        Self {
            exact: Some(ValueSet::default()),
            registers: vec![0; REGISTERS],
        }
    }
}

impl DistinctSketch {
    /// Adds values; zeros (absent) are passed over.
    pub(crate) fn add_all(&mut self, values: &[u64]) {
        let mut last = 0;
        for &value in values {
            if value == last || value == 0 {
                continue;
            }
            last = value;
            if let Some(set) = &mut self.exact {
                set.insert(value);
                if set.len() > EXACT_MAX {
                    self.exact = None;
                }
            }
            let hash = mix(value);
            let register = (hash >> (64 - REGISTER_BITS)) as usize;
            let rank = ((hash << REGISTER_BITS) | (1 << (REGISTER_BITS - 1))).leading_zeros() + 1;
            self.registers[register] = self.registers[register].max(rank as u8);
        }
    }

    /// Adds what another sketch has seen.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.exact = match (self.exact.take(), &other.exact) {
            (Some(mut mine), Some(theirs)) => {
                mine.extend(theirs);
                (mine.len() <= EXACT_MAX).then_some(mine)
            }
            _ => None,
        };
        for (mine, theirs) in self.registers.iter_mut().zip(&other.registers) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// The values in order, if there are few.
    pub(crate) fn exact(&self) -> Option<Vec<u64>> {
        let mut values: Vec<u64> = self.exact.as_ref()?.iter().copied().collect();
        values.sort_unstable();
        Some(values)
    }

    /// The number of distinct values and whether it is exact.
    pub(crate) fn count(&self) -> (u64, bool) {
        if let Some(set) = &self.exact {
            return (set.len() as u64, true);
        }
        let registers = REGISTERS as f64;
        let sum: f64 = self.registers.iter().map(|&r| (-f64::from(r)).exp2()).sum();
        let estimate = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum;
        let zeros = self.registers.iter().filter(|&&r| r == 0).count();
        let estimate = if estimate < 2.5 * registers && zeros > 0 {
            registers * (registers / zeros as f64).ln()
        } else {
            estimate
        };
        ((estimate.round() as u64).max(EXACT_MAX as u64 + 1), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_are_counted() {
        let mut sketch = DistinctSketch::default();
        sketch.add_all(&[5, 5, 0, 7, 5, 9]);
        let mut other = DistinctSketch::default();
        other.add_all(&[9, 11]);
        sketch.merge(&other);
        assert_eq!(sketch.count(), (4, true));
        assert_eq!(sketch.exact(), Some(vec![5, 7, 9, 11]));
    }

    #[test]
    fn many_values_are_estimated_within_six_percent() {
        for count in [1_500_u64, 5_000, 12_000, 100_000, 1_000_000] {
            let values: Vec<u64> = (1..=count).map(|v| v * 3).collect();
            let mut sketch = DistinctSketch::default();
            for part in values.chunks(700) {
                let mut of_part = DistinctSketch::default();
                of_part.add_all(part);
                sketch.merge(&of_part);
            }
            let (estimate, exact) = sketch.count();
            assert!(!exact);
            let error = (estimate as f64 - count as f64).abs() / count as f64;
            assert!(error < 0.06, "{count}: {estimate}");
        }
    }
}
