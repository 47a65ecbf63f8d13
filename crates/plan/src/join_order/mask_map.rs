//! `MaskMap`: what is known of sets of units, by the bits of their numbers.
//!
//! A search of ten units asks some hundred thousand times, so a key is spread by one multiplication: masks are made by the
//! planner, nobody chooses them to collide.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// By set of units.
pub(crate) type MaskMap<T> = HashMap<u64, T, BuildHasherDefault<MaskHasher>>;

/// An odd number with bits in no order: two to the 64th divided by the golden ratio.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Spreads one mask.
#[derive(Default)]
pub(crate) struct MaskHasher(u64);

impl Hasher for MaskHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, mask: u64) {
        // The table takes the low bits for the place and the high ones for a tag.
        let spread = (self.0 ^ mask).wrapping_mul(SPREAD);
        self.0 = spread ^ (spread >> 32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
