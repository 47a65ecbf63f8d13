//! Which rows of a sparse segment have a value, and the position of the value among the packed.
//!
//! ```text
//! | one u64 per 64 rows: bit r % 64 of word r / 64 is row r | one u16 per word: rows set before |
//! ```
//!
//! Bits beyond the last row are 0. Cost: a position is one word, one popcount and one rank.

use crate::ColumnError;
use crate::SEGMENT_ROWS;
use crate::packing::load;
use std::ops::Range;

const _: () = assert!(SEGMENT_ROWS <= u16::MAX as usize, "a rank fits 16 bits");

/// Appends words and ranks of the cells that are not 0.
pub(super) fn write(cells: &[u64], out: &mut Vec<u8>) {
    let words: Vec<u64> = cells
        .chunks(64)
        .map(|cells| {
            cells
                .iter()
                .rev()
                .fold(0, |word, &value| word << 1 | u64::from(value != 0))
        })
        .collect();
    for word in &words {
        out.extend_from_slice(&word.to_le_bytes());
    }
    let mut rank = 0u16;
    for word in &words {
        out.extend_from_slice(&rank.to_le_bytes());
        rank += word.count_ones() as u16;
    }
}

/// A view of words and ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Presence<'a> {
    /// Eight bytes per word.
    words: &'a [u8],
    /// Two bytes per word.
    ranks: &'a [u8],
    /// Number of rows.
    rows: usize,
}

impl<'a> Presence<'a> {
    /// Opens the words and ranks at the start of `bytes`; also tells how many bytes they take.
    pub(super) fn open(bytes: &'a [u8], rows: usize) -> Result<(Self, usize), ColumnError> {
        let count = rows.div_ceil(64);
        let used = count * 10;
        if rows == 0 || bytes.len() < used {
            let what = format!("presence of {rows} rows in {} bytes", bytes.len());
            return Err(ColumnError::corrupt(what));
        }
        let (words, ranks) = bytes[..used].split_at(count * 8);
        Ok((Self { words, ranks, rows }, used))
    }

    #[inline]
    fn word(&self, word: usize) -> u64 {
        load(self.words, word * 8)
    }

    #[inline]
    fn rank_of_word(&self, word: usize) -> usize {
        usize::from(u16::from_le_bytes([
            self.ranks[word * 2],
            self.ranks[word * 2 + 1],
        ]))
    }

    /// Rows that have a value.
    pub(super) fn count(&self) -> usize {
        self.rank(self.rows)
    }

    /// Rows before `row` that have a value; `row` may be the number of rows.
    pub(super) fn rank(&self, row: usize) -> usize {
        let last = self.rows.div_ceil(64) - 1;
        let word = (row / 64).min(last);
        let bits = row - word * 64;
        let below = if bits == 64 {
            u64::MAX
        } else {
            (1 << bits) - 1
        };
        self.rank_of_word(word) + (self.word(word) & below).count_ones() as usize
    }

    /// Whether a row has a value.
    #[inline]
    pub(super) fn has(&self, row: usize) -> bool {
        self.word(row / 64) >> (row % 64) & 1 == 1
    }

    /// The position of a row's value among the packed values.
    #[inline]
    pub(super) fn position(&self, row: usize) -> Option<usize> {
        let word = self.word(row / 64);
        let below = word & ((1 << (row % 64)) - 1);
        let has = word >> (row % 64) & 1 == 1;
        has.then(|| self.rank_of_word(row / 64) + below.count_ones() as usize)
    }

    /// The positions of the values of consecutive rows, of so many in all.
    pub(super) fn positions(&self, rows: Range<usize>, values: usize) -> Range<usize> {
        let first = self.rank(rows.start).min(values);
        first..self.rank(rows.end).clamp(first, values)
    }

    /// Replaces the ascending positions from `start` on, which are of the rows `within`, by these rows; none is lost
    /// unless the words are damaged.
    pub(super) fn positions_to_rows(&self, within: Range<usize>, start: usize, out: &mut Vec<u32>) {
        if out.len() == start {
            return;
        }
        let mut word_idx = within.start / 64;
        let mut word = self.word(word_idx);
        let mut passed = self.rank_of_word(word_idx);
        let mut found = start;
        for slot in &mut out[start..] {
            let position = *slot as usize;
            // Invariant: `passed` rows are set before the lowest set bit of `word`.
            while position.saturating_sub(passed) >= word.count_ones() as usize
                && word_idx * 64 < within.end
            {
                passed += word.count_ones() as usize;
                word_idx += 1;
                let is_within = word_idx * 64 < within.end;
                word = if is_within { self.word(word_idx) } else { 0 };
            }
            for _ in passed..position {
                word &= word.wrapping_sub(1);
            }
            let row = word_idx * 64 + word.trailing_zeros() as usize;
            if row >= within.end {
                break;
            }
            *slot = row as u32;
            found += 1;
            word &= word - 1;
            passed = position + 1;
        }
        out.truncate(found);
    }

    /// Appends those of consecutive rows that have a value, ascending.
    pub(super) fn rows_into(&self, rows: Range<usize>, out: &mut Vec<u32>) {
        for word_idx in rows.start / 64..rows.end.div_ceil(64) {
            let first = word_idx * 64;
            let mut word = self.word(word_idx);
            if first < rows.start {
                word &= u64::MAX << (rows.start - first);
            }
            if rows.end - first < 64 {
                word &= (1 << (rows.end - first)) - 1;
            }
            while word != 0 {
                out.push(first as u32 + word.trailing_zeros());
                word &= word - 1;
            }
        }
    }

    /// Checks the ranks and the bits beyond the last row.
    pub(super) fn validate_deep(&self) -> Result<(), ColumnError> {
        let mut rank = 0;
        let words = self.rows.div_ceil(64);
        for word in 0..words {
            if self.rank_of_word(word) != rank {
                let what = format!(
                    "rank {} of word {word}, not {rank}",
                    self.rank_of_word(word)
                );
                return Err(ColumnError::corrupt(what));
            }
            rank += self.word(word).count_ones() as usize;
        }
        let beyond = self.rows % 64;
        if beyond != 0 && self.word(words - 1) >> beyond != 0 {
            return Err(ColumnError::corrupt("rows present beyond the last"));
        }
        Ok(())
    }
}
