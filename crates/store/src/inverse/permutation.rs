//! Sorted permutations: the distinct values in order, and the rows of each.
//!
//! `rows[offsets[k]..offsets[k + 1]]` are the rows of `keys[k]`. A lookup is a binary search in
//! the encoded keys.

use super::chunked_sequence::{self, ChunkedSequence, Cursor};
use super::{part_of, push_rows};
use crate::byte_stream::{ByteReader, ByteWriter};
use crate::error::StoreError;
use crate::section_file::SectionSlice;
use basalt_rdf::TermId;
use std::ops::{ControlFlow, Range};

/// Rows by sorted value.
#[derive(Debug)]
pub struct Permutation {
    keys: ChunkedSequence,
    offsets: ChunkedSequence,
    rows: ChunkedSequence,
}

/// Writes the permutation; returns the number of distinct values.
pub(super) fn build(mut pairs: Vec<(u64, u32)>, out: &mut ByteWriter) -> u64 {
    pairs.sort_unstable();
    let (mut keys, mut offsets) = (Vec::new(), Vec::new());
    for (i, &(value, _)) in pairs.iter().enumerate() {
        if keys.last() != Some(&value) {
            keys.push(value);
            offsets.push(i as u64);
        }
    }
    offsets.push(pairs.len() as u64);
    chunked_sequence::write(&keys, out);
    chunked_sequence::write(&offsets, out);
    let rows: Vec<u64> = pairs.iter().map(|&(_, row)| u64::from(row)).collect();
    chunked_sequence::write(&rows, out);
    keys.len() as u64
}

impl Permutation {
    pub(super) fn open(
        section: &SectionSlice,
        input: &mut ByteReader<'_>,
    ) -> Result<Self, StoreError> {
        let keys = ChunkedSequence::open(section, input)?;
        let offsets = ChunkedSequence::open(section, input)?;
        let rows = ChunkedSequence::open(section, input)?;
        if keys.len().checked_add(1) != Some(offsets.len()) {
            return Err(input.corrupt("permutation offsets do not fit their keys"));
        }
        Ok(Self {
            keys,
            offsets,
            rows,
        })
    }

    pub(super) fn find_many(
        &self,
        values: &[u64],
        (part, rows_max): (&Range<usize>, u32),
        counts: &mut Vec<u32>,
        out: &mut Vec<u32>,
    ) {
        let mut keys = self.keys.cursor();
        let (mut offsets, mut rows) = (self.offsets.cursor(), self.rows.cursor());
        let mut numbers = Vec::new();
        // Values between the last one and the key that was found for it have no rows, and need no search.
        let (mut last, mut next) = (u64::MAX, 0);
        let mut key = 0;
        for &value in values {
            let start = out.len();
            if value < last || value > next {
                key = self.keys.lower_bound(value);
                next = match key < self.keys.len() {
                    true => keys.get(key),
                    false => u64::MAX,
                };
            }
            last = value;
            if key < self.keys.len() && next == value {
                let range = offsets.get(key) as usize..offsets.get(key + 1) as usize;
                numbers.clear();
                rows.decode(part_of(range, part), &mut numbers);
                push_rows(&numbers, rows_max, out);
            }
            counts.push((out.len() - start) as u32);
        }
    }

    /// Where the rows of a value lie.
    pub(super) fn range(&self, value: u64) -> Range<usize> {
        let key = self.keys.lower_bound(value);
        if key >= self.keys.len() || self.keys.cursor().get(key) != value {
            return 0..0;
        }
        let (start, end) = self.offsets.cursor().get_pair(key);
        start as usize..end as usize
    }

    pub(super) fn rows(&self) -> Cursor<'_> {
        self.rows.cursor()
    }

    pub(super) fn count_in(&self, low: u64, high: u64) -> u64 {
        let first = self.keys.lower_bound(low);
        let end = match high.checked_add(1) {
            Some(after) => self.keys.lower_bound(after),
            None => self.keys.len(),
        };
        if first >= end {
            return 0;
        }
        let mut offsets = self.offsets.cursor();
        offsets.get(end).saturating_sub(offsets.get(first))
    }

    pub(super) fn visit_keys(
        &self,
        visit: &mut dyn FnMut(TermId, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (mut keys, mut offsets) = (self.keys.cursor(), self.offsets.cursor());
        for key in 0..self.keys.len() {
            let rows = offsets.get(key + 1).saturating_sub(offsets.get(key));
            visit(TermId(keys.get(key)), rows)?;
        }
        ControlFlow::Continue(())
    }

    pub(crate) fn validate_deep(&self) -> Result<(), StoreError> {
        self.keys.validate_deep()?;
        self.offsets.validate_deep()?;
        self.rows.validate_deep()
    }
}
