//! Codec: the sorted distinct values once, and a bit-packed code for each value.
//!
//! ```text
//! header (A: bits of a code, B: bits of a distinct value)
//!   | distinct count u32 | distinct: base u64, packed | codes: base u64 (0), packed
//! ```
//!
//! Codes keep the order of the values, so ranges of values are ranges of codes and filters compare
//! codes. Cost: two loads per value; a filter is a binary search and a scan of narrow codes.

use std::ops::Range;

use super::Profile;
use crate::ColumnError;
use crate::packing::{Packed, load_u32};

/// Decoding this many values or more unpacks the distinct values first.
const TABLE_WORTH: usize = 64;

/// The sorted distinct values.
pub(super) fn distinct(values: &[u64]) -> Vec<u64> {
    let mut distinct = values.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}

/// Exact bytes of the body.
pub(super) fn size(profile: &Profile, distinct: &[u64]) -> usize {
    let codes = Packed::size(profile.len, 0, distinct.len().saturating_sub(1) as u64);
    4 + Packed::size(distinct.len(), profile.min, profile.max) + codes
}

/// Appends the body and returns the widths for the header.
pub(super) fn write(values: &[u64], distinct: &[u64], out: &mut Vec<u8>) -> [u8; 3] {
    let mut last = (distinct[0], 0);
    let codes: Vec<u64> = values
        .iter()
        .map(|&value| {
            if value != last.0 {
                last = (
                    value,
                    distinct.partition_point(|&other| other < value) as u64,
                );
            }
            last.1
        })
        .collect();
    out.extend_from_slice(&(distinct.len() as u32).to_le_bytes());
    let value_width = Packed::write(distinct, out);
    let code_width = Packed::write(&codes, out);
    [code_width, value_width, 0]
}

/// A view of distinct values and codes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dictionary<'a> {
    /// The distinct values, ascending.
    distinct: Packed<'a>,
    /// The index of each value in `distinct`.
    codes: Packed<'a>,
}

impl<'a> Dictionary<'a> {
    /// Opens the body at `at` and moves `at` behind it.
    pub(super) fn open(
        bytes: &'a [u8],
        at: &mut usize,
        len: usize,
        widths: [u8; 3],
    ) -> Result<Self, ColumnError> {
        if bytes.len() < *at + 4 {
            return Err(ColumnError::corrupt("dictionary without its count"));
        }
        let count = load_u32(bytes, *at) as usize;
        *at += 4;
        if count == 0 || count > len {
            let what = format!("{count} distinct values in {len} values");
            return Err(ColumnError::corrupt(what));
        }
        let distinct = Packed::open(bytes, at, count, widths[1])?;
        let codes = Packed::open(bytes, at, len, widths[0])?;
        Ok(Self { distinct, codes })
    }

    /// The value of a code; the last value if the code is damaged.
    #[inline]
    fn value(&self, code: u64) -> u64 {
        self.distinct
            .get(code.min(self.distinct.len() as u64 - 1) as usize)
    }

    pub(super) fn get(&self, i: usize) -> u64 {
        self.value(self.codes.get(i))
    }

    pub(super) fn decode(&self, range: Range<usize>, out: &mut Vec<u64>) {
        let old = out.len();
        self.codes.decode(range, out);
        self.replace_codes(&mut out[old..]);
    }

    pub(super) fn gather(&self, positions: &[u32], out: &mut Vec<u64>) {
        let old = out.len();
        self.codes.gather(positions, out);
        self.replace_codes(&mut out[old..]);
    }

    /// Replaces codes by their values.
    fn replace_codes(&self, codes: &mut [u64]) {
        if codes.len() < TABLE_WORTH || codes.len() < self.distinct.len() / 4 {
            for code in codes {
                *code = self.value(*code);
            }
        } else {
            let mut table = Vec::with_capacity(self.distinct.len());
            self.distinct.decode(0..self.distinct.len(), &mut table);
            look_up(&table, codes);
        }
    }

    pub(super) fn lower_bound(&self, value: u64) -> usize {
        self.codes
            .lower_bound(self.distinct.lower_bound(value) as u64)
    }

    pub(super) fn holds(&self, within: Range<usize>, value: u64) -> bool {
        let code = self.distinct.lower_bound(value);
        code < self.distinct.len()
            && self.distinct.get(code) == value
            && self.codes.holds(within, code as u64)
    }

    pub(super) fn find_in_range(
        &self,
        within: Range<usize>,
        low: u64,
        high: u64,
        out: &mut Vec<u32>,
    ) {
        let first = self.distinct.lower_bound(low) as u64;
        let end = match high.checked_add(1) {
            Some(above) => self.distinct.lower_bound(above),
            None => self.distinct.len(),
        } as u64;
        if first < end {
            self.codes.find_in_range(within, first, end - 1, out);
        }
    }

    pub(super) fn validate_deep(&self) -> Result<(), ColumnError> {
        let (distinct, codes) = (&self.distinct, &self.codes);
        if (1..distinct.len()).any(|i| distinct.get(i - 1) >= distinct.get(i)) {
            return Err(ColumnError::corrupt("distinct values out of order"));
        }
        // Codes without bits are one code, however many of them a damaged length tells of.
        let differing = match codes.is_constant() {
            true => codes.len().min(1),
            false => codes.len(),
        };
        let count = distinct.len() as u64;
        match (0..differing).find(|&i| codes.get(i) >= count) {
            Some(i) => {
                let what = format!("code {} at {i} of {count} distinct values", codes.get(i));
                Err(ColumnError::corrupt(what))
            }
            None => Ok(()),
        }
    }
}

/// Replaces each code by its value in a table that is not empty.
fn look_up(table: &[u64], codes: &mut [u64]) {
    let last = table.len() - 1;
    for code in codes {
        *code = table[(*code).min(last as u64) as usize];
    }
}
