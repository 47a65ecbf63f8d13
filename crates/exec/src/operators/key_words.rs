//! `KeyWords`: what a sort compares of each row, in one word.
//!
//! ```text
//! ranks of each key -> bits in which they differ -> | first key | second key | ..
//! too many bits     -> the keys so far are sorted and numbered anew, by as many numbers as there are rows at most
//! ```
//!
//! Invariant: two words compare as the ranks of their rows do, key by key. Where there is only one key its word may have all bits; otherwise words leave
//! room for a position as far as that can be. Cost: two passes over the ranks of each key, and a sort where they have too many bits.

use super::digit_sort::order_of_words;
use crate::context::Context;
use crate::error::ExecError;
use std::sync::Arc;

/// Ranks between two looks at the query's flag and clock.
const CHECK_RANKS: usize = 1 << 16;

/// The words, by row.
pub struct KeyWords {
    /// A word for each row.
    pub words: Vec<u64>,
    /// Bits that are used, from the lowest on.
    pub bits: u32,
}

/// How many bits numbers up to this one have.
pub fn bits_of(greatest: u64) -> u32 {
    u64::BITS - greatest.leading_zeros()
}

impl KeyWords {
    /// The words of rows with these ranks, a column for each key.
    pub fn of(ranks: &[Vec<u64>], rows: usize, cx: &Context) -> Result<Self, ExecError> {
        let [first, further @ ..] = ranks else {
            let words = vec![0; rows];
            return Ok(Self { words, bits: 0 });
        };
        let mut keys = Self::of_key(first, cx)?;
        for ranks in further {
            keys = keys.then(&Codes::of(ranks, cx)?, cx)?;
        }
        Ok(keys)
    }

    /// The words of rows with these ranks of one key.
    pub fn of_key(ranks: &[u64], cx: &Context) -> Result<Self, ExecError> {
        Codes::of(ranks, cx)?.words(cx)
    }

    /// The words of these keys and a further one.
    fn then(mut self, next: &Codes<'_>, cx: &Context) -> Result<Self, ExecError> {
        let row_bits = bits_of(self.words.len() as u64);
        let room = u64::BITS - row_bits;
        if self.bits + next.bits > room && self.bits > row_bits {
            self = self.numbered(cx)?;
        }
        if self.bits + next.bits > room && next.bits > row_bits {
            let next = next.words(cx)?.numbered(cx)?;
            self.append(next.bits, |row| next.words[row], cx)?;
        } else {
            self.append(next.bits, |row| next.code(row), cx)?;
        }
        Ok(self)
    }

    fn append(
        &mut self,
        bits: u32,
        code: impl Fn(usize) -> u64,
        cx: &Context,
    ) -> Result<(), ExecError> {
        self.bits += bits;
        debug_assert!(self.bits <= u64::BITS, "rows have 32-bit numbers");
        let mut row = 0;
        for words in self.words.chunks_mut(CHECK_RANKS) {
            cx.check()?;
            for word in words {
                *word = word.unbounded_shl(bits) | code(row);
                row += 1;
            }
        }
        Ok(())
    }

    /// Numbers in the order of the words, the same for those that are equal.
    pub fn numbered(self, cx: &Context) -> Result<Self, ExecError> {
        let keys = Arc::new(self);
        let order = order_of_words(&keys, cx)?;
        let mut words = vec![0; order.len()];
        let (mut number, mut last) = (0, order.first().map(|&row| keys.words[row as usize]));
        for rows in order.chunks(CHECK_RANKS) {
            cx.check()?;
            for &row in rows {
                let word = keys.words[row as usize];
                number += u64::from(last != Some(word));
                last = Some(word);
                words[row as usize] = number;
            }
        }
        let bits = bits_of(number);
        Ok(Self { words, bits })
    }
}

/// The codes of one key: as its ranks are ordered, from 0 on.
struct Codes<'r> {
    ranks: &'r [u64],
    /// The least rank that is neither 0 nor the greatest there can be: those, which are unbound, lie far from all others.
    first: u64,
    /// Lower bits in which all those are the same.
    same_bits: u32,
    bits: u32,
}

impl<'r> Codes<'r> {
    fn of(ranks: &'r [u64], cx: &Context) -> Result<Self, ExecError> {
        let (mut first, mut last, mut any, mut all) = (u64::MAX, 0, 0, u64::MAX);
        for ranks in ranks.chunks(CHECK_RANKS) {
            cx.check()?;
            for &rank in ranks.iter().filter(|&&rank| rank != 0 && rank != u64::MAX) {
                first = first.min(rank);
                last = last.max(rank);
                any |= rank;
                all &= rank;
            }
        }
        // Lower bits that are set in all or in none.
        let same_bits = (any ^ all).trailing_zeros() % u64::BITS;
        // One code before all, one behind.
        let greatest = (last.saturating_sub(first) >> same_bits).saturating_add(2);
        Ok(Self {
            ranks,
            first,
            same_bits,
            bits: bits_of(greatest),
        })
    }

    #[inline]
    fn code(&self, row: usize) -> u64 {
        match self.ranks[row] {
            0 => 0,
            u64::MAX => u64::MAX >> (u64::BITS - self.bits),
            rank => ((rank - self.first) >> self.same_bits) + 1,
        }
    }

    fn words(&self, cx: &Context) -> Result<KeyWords, ExecError> {
        let words = vec![0; self.ranks.len()];
        let mut keys = KeyWords { words, bits: 0 };
        keys.append(self.bits, |row| self.code(row), cx)?;
        Ok(keys)
    }
}
