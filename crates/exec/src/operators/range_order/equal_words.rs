//! One word of several values, each of which is equal to something: those of rows that fulfil all equalities are the same.
//!
//! ```text
//! FILTER(YEAR(?a) = YEAR(?b) && FLOOR(?x) = FLOOR(?y))     words of YEAR(?b), FLOOR(?y) -> hash
//! ```
//!
//! The condition is asked of what has the same word. Words of floats lie near those of what they are equal to, so a column that has some has no part in the
//! word of a table; of a batch that has some nothing is known.

use super::{RangeExpr, Words};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::RangeWords;
use crate::operators::join_table::JoinTable;
use crate::value::{RangeWord, Told};
use std::ops::Range;

/// Rows for each place of the directory.
const ROWS_PER_PLACE: usize = 2;

/// What the words of a table are made of, and where they lie.
pub struct Parts {
    /// Of each equality whether the words have it.
    parts: Vec<bool>,
    /// Where words begin with these bits, and after the last of these the end; none where rows of several keys have the words.
    directory: Vec<u32>,
}

impl Parts {
    /// The words of all rows of a table, and what they are made of.
    pub fn of_table(
        range: &RangeExpr,
        table: &JoinTable,
        cx: &Context,
    ) -> Result<(Vec<u64>, Self), ExecError> {
        let mut words = vec![0; table.rows()];
        let mut parts = Vec::with_capacity(range.of.len());
        for place in 0..range.of.len() {
            let own = range.words_of(place, table, cx)?;
            let is_part = own.told != Some(Told::Float);
            add(&mut words, &own, is_part);
            parts.push(is_part);
        }
        let directory = Vec::new();
        Ok((words, Self { parts, directory }))
    }

    /// The same with a directory of the words in their order.
    pub fn with_directory(self, words: &[u64]) -> Self {
        let bits = (words.len() / ROWS_PER_PLACE).checked_ilog2().unwrap_or(0);
        let mut directory = Vec::with_capacity((1 << bits) + 1);
        let mut place = 0;
        for start in 0..1_u64 << bits {
            // Words are spread evenly, so this passes over some at a time.
            while words
                .get(place)
                .is_some_and(|&word| first_bits(word, bits) < start)
            {
                place += 1;
            }
            directory.push(place as u32);
        }
        directory.push(words.len() as u32);
        Self { directory, ..self }
    }

    /// The places of the words that begin as this one, if there is a directory.
    #[inline]
    pub fn places(&self, word: u64) -> Option<Range<usize>> {
        let count = self.directory.len().checked_sub(1)?;
        let place = first_bits(word, count.ilog2()) as usize;
        Some(self.directory[place] as usize..self.directory[place + 1] as usize)
    }

    /// The words that the partners of each row of a batch have.
    pub fn of_batch(
        &self,
        range: &RangeExpr,
        batch: &Batch,
        cx: &Context,
    ) -> Result<Vec<Words>, ExecError> {
        let mut words = vec![0; batch.rows()];
        let mut is_known = true;
        for (own, &is_part) in range.bounds.iter().zip(&self.parts) {
            let own = own.by.range_words(batch, true, cx)?;
            is_known &= !is_part || own.told != Some(Told::Float);
            add(&mut words, &own, is_part);
        }
        Ok(match is_known {
            true => words.into_iter().map(Words::equal_to).collect(),
            false => vec![Words::ALL; batch.rows()],
        })
    }
}

/// The first so many bits of a word.
#[inline]
fn first_bits(word: u64, bits: u32) -> u64 {
    word.checked_shr(u64::BITS - bits).unwrap_or(0)
}

/// Adds the words of one more value to those of rows; where it is in no range neither are they.
fn add(all: &mut [u64], own: &RangeWords, is_part: bool) {
    /// An odd number without a pattern in its bits.
    const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
    for (word, &own) in all.iter_mut().zip(&own.words) {
        if own == RangeWord::NOTHING || *word == RangeWord::NOTHING {
            *word = RangeWord::NOTHING;
        } else if is_part {
            let product = u128::from(*word ^ own).wrapping_mul(u128::from(MIX));
            *word = (product as u64 ^ (product >> u64::BITS) as u64).rotate_left(23);
            // No hash stands for what is in no range, or is the last before that.
            *word = (*word).min(RangeWord::NOTHING - 2);
        }
    }
}
