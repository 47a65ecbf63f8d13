//! `Keys`: rows of one, two or more ids that are looked up by hash, some at a time, and their hashes.
//!
//! One loop for all widths: rows of one and of two ids come as their columns and are hashed and compared without a loop over the ids,
//! wider ones one after the other.

use std::ops::Range;

/// The hash of no ids.
const HASH_SEED: u64 = 0x9E37_79B9_7F4A_7C15;

/// Hashes a row of ids: multiply and fold, good in the high and the low bits.
pub fn hash_row(row: &[u64]) -> u64 {
    row.iter().fold(HASH_SEED, |hash, &id| with_id(hash, id))
}

/// The same of some rows that come by column, from row `first` on.
pub fn hash_rows(columns: &[&[u64]], first: usize, hashes: &mut [u64]) {
    hashes.fill(HASH_SEED);
    for column in columns {
        for (hash, &id) in hashes.iter_mut().zip(&column[first..]) {
            *hash = with_id(*hash, id);
        }
    }
}

/// The hash with one more id.
#[inline]
fn with_id(hash: u64, id: u64) -> u64 {
    let product = u128::from(hash ^ id) * 0xA076_1D64_78BD_642F_u128;
    (product >> 64) as u64 ^ product as u64
}

/// Rows of ids; see the head of this module.
pub trait Keys {
    /// The hash of a row, that of [`hash_row`].
    fn hash(&self, row: usize) -> u64;
    /// Whether a row is the one with a number of those that lie one after the other in `rows`.
    fn is_at(&self, row: usize, rows: &[u64], number: u32) -> bool;
    /// Appends a row.
    fn push(&self, row: usize, rows: &mut Vec<u64>);
    /// Whether some rows, at least one, are all the same: ends of most that are not tell so.
    fn are_same(&self, rows: Range<usize>) -> bool;
}

/// Whether some ids are all the same.
#[inline]
pub fn are_same(ids: &[u64]) -> bool {
    let Some((&first, rest)) = ids.split_first() else {
        return true;
    };
    ids.last() == Some(&first) && rest.iter().fold(0, |bits, id| bits | (id ^ first)) == 0
}

/// Rows of one id.
pub struct Ones<'a>(pub &'a [u64]);

impl Keys for Ones<'_> {
    #[inline]
    fn hash(&self, row: usize) -> u64 {
        hash_row(&[self.0[row]])
    }

    #[inline]
    fn is_at(&self, row: usize, rows: &[u64], number: u32) -> bool {
        rows.get(number as usize) == Some(&self.0[row])
    }

    #[inline]
    fn push(&self, row: usize, rows: &mut Vec<u64>) {
        rows.push(self.0[row]);
    }

    fn are_same(&self, rows: Range<usize>) -> bool {
        are_same(&self.0[rows])
    }
}

/// Rows of two ids, by column.
pub struct Twos<'a>(pub &'a [u64], pub &'a [u64]);

impl Keys for Twos<'_> {
    #[inline]
    fn hash(&self, row: usize) -> u64 {
        hash_row(&[self.0[row], self.1[row]])
    }

    #[inline]
    fn is_at(&self, row: usize, rows: &[u64], number: u32) -> bool {
        let known = rows
            .get(number as usize * 2..)
            .and_then(<[u64]>::first_chunk);
        known.is_some_and(|&[first, second]| (first ^ self.0[row]) | (second ^ self.1[row]) == 0)
    }

    #[inline]
    fn push(&self, row: usize, rows: &mut Vec<u64>) {
        rows.extend([self.0[row], self.1[row]]);
    }

    fn are_same(&self, rows: Range<usize>) -> bool {
        are_same(&self.0[rows.clone()]) && are_same(&self.1[rows])
    }
}

/// Rows of so many ids, at least one, one after the other.
pub struct Flat<'a>(pub &'a [u64], pub usize);

impl Flat<'_> {
    #[inline]
    fn row(&self, row: usize) -> &[u64] {
        &self.0[row * self.1..][..self.1]
    }
}

impl Keys for Flat<'_> {
    #[inline]
    fn hash(&self, row: usize) -> u64 {
        hash_row(self.row(row))
    }

    #[inline]
    fn is_at(&self, row: usize, rows: &[u64], number: u32) -> bool {
        let known = rows.get(number as usize * self.1..);
        known.is_some_and(|known| known.len() >= self.1 && super::is_same(known, self.row(row)))
    }

    #[inline]
    fn push(&self, row: usize, rows: &mut Vec<u64>) {
        rows.extend_from_slice(self.row(row));
    }

    fn are_same(&self, rows: Range<usize>) -> bool {
        let first = self.row(rows.start);
        rows.rev().all(|row| self.row(row) == first)
    }
}
