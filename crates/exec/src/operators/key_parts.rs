//! `KeyParts`: rows in parts by ranges of their key words, so that threads sort a part each and the sorted parts stand one behind the other.
//!
//! ```text
//! words -> their highest bits counted, in pieces -> ranges with about as many rows each -> rows of each range, in pieces, ascending
//! ```
//!
//! Invariant: all words of a part are less than those of the next one, and its rows are ascending. Words whose highest bits are all the same are in one part.
//! Cost: two passes over the words, some 4 ns a row together; memory, 5 bytes a row.

use super::key_words::KeyWords;
use super::pieces::in_ranges;
use crate::context::Context;
use crate::error::ExecError;
use crate::partitioning::{PARTITIONS, positions_by};
use std::ops::Range;
use std::sync::Arc;

/// Bits of a word that choose its part: counts of as many values fit into the nearest cache.
const BIN_BITS: u32 = 10;
const BINS: usize = 1 << BIN_BITS;

/// Rows of a piece.
const PIECE_ROWS: usize = if cfg!(test) { 32 } else { 1 << 16 };

/// The parts; see the [module documentation](self).
pub struct KeyParts {
    /// Of each piece where its rows of each part begin, and the last ones end; and its rows by part, counted from its first.
    pieces: Vec<(Vec<usize>, Vec<u32>)>,
}

impl KeyParts {
    /// The parts of these rows, [`PARTITIONS`] of them.
    pub fn of(keys: &Arc<KeyWords>, cx: &Context) -> Result<Self, ExecError> {
        let shift = keys.bits.saturating_sub(BIN_BITS);
        let count = {
            let keys = Arc::clone(keys);
            move |piece: Range<usize>, _: &Context| {
                let mut counts = vec![0_usize; BINS];
                keys.words[piece]
                    .iter()
                    .for_each(|word| counts[(word >> shift) as usize] += 1);
                Ok(counts)
            }
        };
        let rows = keys.words.len();
        let threads = cx.options().threads;
        let counts = in_ranges(rows, PIECE_ROWS, threads, count, cx)?;
        let mut before = 0;
        let part_of_bin: Vec<u8> = (0..BINS)
            .map(|bin| {
                let part = before * PARTITIONS / rows.max(1);
                before += counts.iter().map(|counts| counts[bin]).sum::<usize>();
                // Bins behind the last row have none.
                part.min(PARTITIONS - 1) as u8
            })
            .collect();
        let deal = {
            let keys = Arc::clone(keys);
            move |piece: Range<usize>, _: &Context| {
                let part = |word: &u64| part_of_bin[(word >> shift) as usize];
                let parts: Vec<u8> = keys.words[piece].iter().map(part).collect();
                Ok(positions_by(&parts))
            }
        };
        let pieces = in_ranges(rows, PIECE_ROWS, threads, deal, cx)?;
        Ok(Self { pieces })
    }

    /// The rows of a part, ascending.
    pub fn rows(&self, part: usize) -> Vec<u32> {
        let of_part = |starts: &[usize]| starts[part]..starts[part + 1];
        let counts = self.pieces.iter().map(|(starts, _)| of_part(starts).len());
        let mut all = Vec::with_capacity(counts.sum());
        for (piece, (starts, rows)) in self.pieces.iter().enumerate() {
            let first = (piece * PIECE_ROWS) as u32;
            all.extend(rows[of_part(starts)].iter().map(|row| first + row));
        }
        all
    }
}
