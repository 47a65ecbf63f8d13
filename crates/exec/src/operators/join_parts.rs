//! `Piece`: rows of a join's build side, dealt out by the buckets of their keys.
//!
//! ```text
//! word       [ bucket within its partition: 28 bits | tag: 4 bits | row: 32 bits ]
//! piece 1    [ words of partition 0 | words of partition 1 | .. ]     rows 0 .. of the input
//! piece 2    [ words of partition 0 | words of partition 1 | .. ]     the next rows
//! ```
//!
//! A partition is a stretch of the directory: buckets whose numbers have the same highest bits. Pieces are stretches of the input, which
//! threads deal out each for itself. Invariant: the words of a partition, piece after piece, are in input order.
//! Cost: a hash and two writes of 8 bytes a row, to places in the nearer caches; 8 bytes a row, and
//! 9 more for each that is being dealt out.

use super::input_rows::InputRows;
use super::join_directory::{KEYS_TOGETHER, bucket_of, tag_of};
use crate::context::Context;
use crate::error::ExecError;
use crate::row_numbers::hash_rows;
use std::ops::Range;

/// Partitions, as a power of two: some for each thread, so that the last ones end about together, and the directory's part of each
/// in the second-level cache up to some million rows.
const PARTITION_BITS: u32 = 6;

/// Bits of a word that hold the row.
const ROW_BITS: u32 = 32;
/// Bits of a word that hold the tag: as many as tell one of sixteen.
const TAG_BITS: u32 = 4;

/// A row, as partitions have it.
#[derive(Clone, Copy)]
pub struct Word(u64);

impl Word {
    #[inline]
    fn new(bucket: usize, tag: u32, row: usize) -> Self {
        Self((bucket as u64) << (ROW_BITS + TAG_BITS) | u64::from(tag) << ROW_BITS | row as u64)
    }

    /// The bucket, from the first of its partition on.
    #[inline]
    pub fn bucket(self) -> usize {
        (self.0 >> (ROW_BITS + TAG_BITS)) as usize
    }

    /// Which tag the key has.
    #[inline]
    pub fn tag(self) -> u32 {
        (self.0 >> ROW_BITS) as u32 & ((1 << TAG_BITS) - 1)
    }

    /// The row.
    #[inline]
    pub fn row(self) -> usize {
        self.0 as u32 as usize
    }
}

/// How buckets, a power of two, are dealt out.
#[derive(Clone, Copy, Debug)]
pub struct Parting {
    buckets: usize,
    /// Bits of a bucket's number that do not tell its partition.
    shift: u32,
}

impl Parting {
    /// That of so many buckets.
    pub fn of(buckets: usize) -> Self {
        debug_assert!(buckets.is_power_of_two());
        let shift = buckets.trailing_zeros().saturating_sub(PARTITION_BITS);
        Self { buckets, shift }
    }

    /// How many partitions there are.
    pub fn count(self) -> usize {
        self.buckets >> self.shift
    }

    /// The buckets of a partition.
    pub fn buckets(self, partition: usize) -> Range<usize> {
        partition << self.shift..(partition + 1) << self.shift
    }
}

/// The rows of a piece; see the [module documentation](self).
pub struct Piece {
    words: Vec<Word>,
    /// Where each partition ends.
    ends: Vec<usize>,
}

impl Piece {
    /// The rows of a partition.
    pub fn words(&self, partition: usize) -> &[Word] {
        let start = partition.checked_sub(1).map_or(0, |last| self.ends[last]);
        &self.words[start..self.ends[partition]]
    }
}

/// Deals the rows of a piece out, whose keys are in these columns.
pub fn deal_out(
    rows: &InputRows,
    piece: usize,
    (parting, key_columns): (Parting, &[usize]),
    cx: &Context,
) -> Result<Piece, ExecError> {
    let own = rows.piece(piece);
    let mut dealing = Dealing {
        parting,
        counts: vec![0; parting.count()],
        partitions: Vec::with_capacity(own.len()),
        words: Vec::with_capacity(own.len()),
    };
    for (batch, within) in rows.batches(own.clone()) {
        cx.check()?;
        let keys = key_columns.iter().map(|&column| batch.ids(column));
        let keys: Vec<&[u64]> = keys.collect();
        dealing.push(&keys, within, own.start);
    }
    Ok(dealing.finish())
}

/// Rows of a piece that are seen one after the other.
struct Dealing {
    parting: Parting,
    /// Rows of each partition.
    counts: Vec<usize>,
    /// The partition of each row.
    partitions: Vec<u8>,
    words: Vec<Word>,
}

impl Dealing {
    /// Adds rows of a batch; `start` is the first row of the piece.
    fn push(&mut self, keys: &[&[u64]], rows: Range<usize>, start: usize) {
        let Parting { buckets, shift } = self.parting;
        let mut hashes = [0; KEYS_TOGETHER];
        for first in rows.clone().step_by(KEYS_TOGETHER) {
            let hashes = &mut hashes[..KEYS_TOGETHER.min(rows.end - first)];
            hash_rows(keys, first, hashes);
            for &hash in hashes.iter() {
                let bucket = bucket_of(hash, buckets);
                let partition = bucket >> shift;
                self.counts[partition] += 1;
                self.partitions.push(partition as u8);
                let within = bucket & ((1 << shift) - 1);
                let row = start + self.words.len();
                self.words.push(Word::new(within, tag_of(hash), row));
            }
        }
    }

    /// Puts the rows of each partition side by side.
    fn finish(self) -> Piece {
        let mut ends = self.counts;
        let mut end = 0;
        for count in &mut ends {
            let start = end;
            end += *count;
            *count = start;
        }
        let mut words = vec![Word(0); self.words.len()];
        for (&partition, &word) in self.partitions.iter().zip(&self.words) {
            let place = &mut ends[usize::from(partition)];
            words[*place] = word;
            *place += 1;
        }
        Piece { words, ends }
    }
}
