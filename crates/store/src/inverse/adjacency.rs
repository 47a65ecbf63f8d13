//! Adjacency lists: the rows of each of a dense range of resource ordinals.
//!
//! `rows[offsets[o - base]..offsets[o - base + 1]]` are the rows whose value is ordinal `o`, in
//! ascending order: compressed sparse rows, built by one counting sort.

use super::chunked_sequence::{self, ChunkedSequence, Cursor};
use super::{part_of, push_rows};
use crate::byte_stream::{ByteReader, ByteWriter};
use crate::error::StoreError;
use crate::section_file::SectionSlice;
use basalt_rdf::TermId;
use std::ops::{ControlFlow, Range};

/// A range of ordinals counts as dense if it has at most so many ordinals for each value: empty
/// offsets then cost less than the sorted keys that a permutation would need.
const SPAN_FACTOR: u64 = 4;
/// Ordinals allowed for columns of very few values.
const SPAN_MIN: u64 = 1024;

/// Keys whose offsets are decoded together: one by one, each would unpack a block.
const KEYS_AT_ONCE: usize = 4096;
/// Keys for each value that is counted up to which the offsets of all keys between them are decoded together.
const KEYS_FOR_VALUE: u64 = 16;

/// Rows by ordinal.
#[derive(Debug)]
pub struct Adjacency {
    /// The id that the first offset belongs to.
    base: u64,
    /// Number of ids with an offset.
    span: usize,
    offsets: ChunkedSequence,
    rows: ChunkedSequence,
}

/// Smallest value and number of values up to the largest, if all are resources and dense.
pub(super) fn dense_range(pairs: &[(u64, u32)]) -> Option<(u64, usize)> {
    let min = pairs.iter().map(|p| p.0).min()?;
    let max = pairs.iter().map(|p| p.0).max()?;
    let span = max - min + 1;
    let dense = span <= SPAN_FACTOR * pairs.len() as u64 + SPAN_MIN;
    // Both ends having the tag of resources means that all have it.
    let resources = TermId(min).is_resource() && TermId(max).is_resource();
    (dense && resources).then_some((min, span as usize))
}

/// Writes the lists; returns the number of distinct values.
pub(super) fn build(pairs: &[(u64, u32)], base: u64, span: usize, out: &mut ByteWriter) -> u64 {
    let mut offsets = vec![0_u64; span + 1];
    for (value, _) in pairs {
        offsets[(value - base) as usize + 1] += 1;
    }
    let distinct = offsets.iter().filter(|&&count| count > 0).count() as u64;
    for i in 0..span {
        offsets[i + 1] += offsets[i];
    }
    let mut next = offsets.clone();
    let mut rows = vec![0_u64; pairs.len()];
    for &(value, row) in pairs {
        let at = &mut next[(value - base) as usize];
        rows[*at as usize] = u64::from(row);
        *at += 1;
    }
    out.long(base);
    out.long(span as u64);
    chunked_sequence::write(&offsets, out);
    chunked_sequence::write(&rows, out);
    distinct
}

impl Adjacency {
    pub(super) fn open(
        section: &SectionSlice,
        input: &mut ByteReader<'_>,
    ) -> Result<Self, StoreError> {
        let base = input.long()?;
        let span = input.long()?;
        let offsets = ChunkedSequence::open(section, input)?;
        let rows = ChunkedSequence::open(section, input)?;
        let span = usize::try_from(span).ok();
        let span = span.filter(|&s| s.checked_add(1) == Some(offsets.len()));
        Ok(Self {
            base,
            span: span.ok_or_else(|| input.corrupt("adjacency offsets do not fit their range"))?,
            offsets,
            rows,
        })
    }

    /// Where the rows of a value lie; `cursor` is one of [`Self::sequences`].
    pub(super) fn range(&self, cursor: &mut Cursor<'_>, value: u64) -> Range<usize> {
        match value.checked_sub(self.base) {
            Some(key) if key < self.span as u64 => {
                let key = key as usize;
                let (start, end) = cursor.get_pair(key);
                start as usize..end as usize
            }
            _ => 0..0,
        }
    }

    pub(super) fn find_many(
        &self,
        values: &[u64],
        (part, rows_max): (&Range<usize>, u32),
        counts: &mut Vec<u32>,
        out: &mut Vec<u32>,
    ) {
        let (mut offsets, mut rows) = (self.offsets.cursor(), self.rows.cursor());
        let ranges = values
            .iter()
            .map(|&value| part_of(self.range(&mut offsets, value), part));
        let ranges: Vec<Range<usize>> = ranges.collect();
        // Damaged offsets may say more than there are.
        let rows_all = self.rows.len();
        let lengths = || ranges.iter().map(|range| range.len().min(rows_all));
        let mut numbers = Vec::with_capacity(lengths().max().unwrap_or(0));
        out.reserve(lengths().sum());
        for range in ranges {
            numbers.clear();
            rows.decode(range, &mut numbers);
            let start = out.len();
            push_rows(&numbers, rows_max, out);
            counts.push((out.len() - start) as u32);
        }
    }

    /// Adds the number of rows of each value to its count.
    pub(super) fn add_counts(&self, values: &[u64], counts: &mut [u64]) {
        let mut offsets = self.offsets.cursor();
        if let Some((first, last)) = self.dense_keys(values) {
            let mut decoded = Vec::with_capacity(last - first + 2);
            offsets.decode(first..last + 2, &mut decoded);
            let start = self.base + first as u64;
            for (count, value) in counts.iter_mut().zip(values) {
                let key = (value - start) as usize;
                *count += decoded[key + 1].saturating_sub(decoded[key]);
            }
            return;
        }
        for (count, &value) in counts.iter_mut().zip(values) {
            *count += self.range(&mut offsets, value).len() as u64;
        }
    }

    /// The first and the last key, where all values have one and the keys between are no more than [`KEYS_FOR_VALUE`] for each.
    fn dense_keys(&self, values: &[u64]) -> Option<(usize, usize)> {
        let low = values.iter().min()?.checked_sub(self.base)?;
        let high = values.iter().max()?.checked_sub(self.base)?;
        let is_dense = high - low < values.len() as u64 * KEYS_FOR_VALUE;
        (is_dense && high < self.span as u64).then_some((low as usize, high as usize))
    }

    /// Offsets and rows.
    pub(super) fn sequences(&self) -> (Cursor<'_>, Cursor<'_>) {
        (self.offsets.cursor(), self.rows.cursor())
    }

    pub(super) fn count_in(&self, low: u64, high: u64) -> u64 {
        let first = low.saturating_sub(self.base).min(self.span as u64) as usize;
        let end = match high.checked_sub(self.base) {
            Some(last) => last.saturating_add(1).min(self.span as u64) as usize,
            None => return 0,
        };
        if first >= end {
            return 0;
        }
        let mut offsets = self.offsets.cursor();
        if end == first + 1 {
            let (start, end) = offsets.get_pair(first);
            return end.saturating_sub(start);
        }
        offsets.get(end).saturating_sub(offsets.get(first))
    }

    pub(super) fn visit_keys(
        &self,
        visit: &mut dyn FnMut(TermId, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut offsets = self.offsets.cursor();
        let mut start = offsets.get(0);
        let mut ends = Vec::with_capacity(KEYS_AT_ONCE.min(self.span));
        for first in (0..self.span).step_by(KEYS_AT_ONCE) {
            let last = self.span.min(first + KEYS_AT_ONCE);
            ends.clear();
            offsets.decode(first + 1..last + 1, &mut ends);
            for (key, &end) in (first..last).zip(&ends) {
                if end > start {
                    visit(TermId(self.base + key as u64), end - start)?;
                }
                start = end;
            }
        }
        ControlFlow::Continue(())
    }

    pub(crate) fn validate_deep(&self) -> Result<(), StoreError> {
        self.offsets.validate_deep()?;
        self.rows.validate_deep()
    }
}
