//! A hash map for small integer keys: multiplicative mixing instead of a keyed hash.
//!
//! Keys are numbers that this program gave out itself, so nobody can choose them to collide; the
//! order of iteration is the same in every run.

use std::hash::{BuildHasherDefault, Hasher};

/// A map from integers (or tuples and slices of them).
pub type FastMap<K, V> = hashbrown::HashMap<K, V, BuildHasherDefault<MixHasher>>;

/// An odd constant with well-spread bits (the golden ratio in 64 bits).
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Folds words by rotation and multiplication.
#[derive(Default, Clone, Copy)]
pub struct MixHasher(u64);

impl Hasher for MixHasher {
    #[inline]
    fn finish(&self) -> u64 {
        (self.0 ^ (self.0 >> 32)).wrapping_mul(SPREAD)
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(SPREAD);
    }
}
