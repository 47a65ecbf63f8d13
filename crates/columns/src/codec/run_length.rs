//! Codec: runs of equal values, each with the position where it ends.
//!
//! ```text
//! header (A: bits of a value, B: bits of an end) | runs u32 | values: base u64, packed
//!                                                           | ends:   base u64, packed
//! ```
//!
//! Ends are exclusive and ascending; the last is the length. Cost: `get` is a binary search over
//! the ends; decoding and filtering cost per run. Where positions ascend, gathering steps from run to run, unless runs are so short that decoding all
//! between the positions takes less. Where they do not, it compares each with all ends if these are few, decodes all between positions that are near each
//! other, and else makes an index of the runs (`run_index`) for many of them, or searches for some at a time.

use std::ops::Range;

use super::Profile;
use super::run_index::RunIndex;
use super::span::Span;
use crate::ColumnError;
use crate::gallop;
use crate::packing::{Packed, load_u32, partition_point};

/// Values for each position that is asked for up to which all between them are decoded: half of what finding a position's run takes, some
/// 20 to 40 ns (measured: 500,000 rows of 1,400 runs).
const DECODED_FOR_POSITION: usize = 16;

/// Tenths of a nanosecond that stepping to another run takes, and that a run and sixteen values take to be decoded (measured: 150,000 rows with runs of 2 to
/// 2,000, a position in 2 to 200; a position in the run of the one before it takes 7, and one of decoded values 9).
const STEP: usize = 70;
const DECODED_RUN: usize = 20;
const DECODED_SIXTEEN: usize = 21;

/// Positions searched for at a time: the steps of one search wait for each other, those of several do not.
const SEARCHED_AT_ONCE: usize = 8;

/// Runs up to which a position in no order is compared with all their ends, which is no branch to be guessed (measured: 1.9 to 2.4 ns a
/// position, where a search takes 6 ns of two runs and 11 of sixteen, and where stepping through positions in order takes 0.6 to 0.8).
const FEW_RUNS: usize = 16;

/// Exact bytes of the body.
pub(super) fn size(profile: &Profile) -> usize {
    let ends = Packed::size(profile.runs, profile.first_run as u64, profile.len as u64);
    4 + Packed::size(profile.runs, profile.min, profile.max) + ends
}

/// Appends the body and returns the widths for the header.
pub(super) fn write(values: &[u64], profile: &Profile, out: &mut Vec<u8>) -> [u8; 3] {
    let mut run_values = Vec::with_capacity(profile.runs);
    let mut ends = Vec::with_capacity(profile.runs);
    let mut end = 0;
    for run in values.chunk_by(|a, b| a == b) {
        end += run.len() as u64;
        run_values.push(run[0]);
        ends.push(end);
    }
    out.extend_from_slice(&(ends.len() as u32).to_le_bytes());
    let value_width = Packed::write(&run_values, out);
    let end_width = Packed::write(&ends, out);
    [value_width, end_width, 0]
}

/// A view of runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunLength<'a> {
    /// The value of each run.
    values: Packed<'a>,
    /// The position behind each run.
    ends: Packed<'a>,
    /// Number of values.
    len: usize,
}

impl<'a> RunLength<'a> {
    /// Opens the body at `at` and moves `at` behind it.
    pub(super) fn open(
        bytes: &'a [u8],
        at: &mut usize,
        len: usize,
        widths: [u8; 3],
    ) -> Result<Self, ColumnError> {
        if bytes.len() < *at + 4 {
            return Err(ColumnError::corrupt("runs without their count"));
        }
        let runs = load_u32(bytes, *at) as usize;
        *at += 4;
        if runs == 0 || runs > len {
            return Err(ColumnError::corrupt(format!("{runs} runs in {len} values")));
        }
        let values = Packed::open(bytes, at, runs, widths[0])?;
        let ends = Packed::open(bytes, at, runs, widths[1])?;
        if ends.get(runs - 1) != len as u64 {
            let what = format!("runs end at {} of {len} values", ends.get(runs - 1));
            return Err(ColumnError::corrupt(what));
        }
        Ok(Self { values, ends, len })
    }

    /// The run that holds position `i`; the last one if the ends are damaged.
    fn run_of(&self, i: usize) -> usize {
        let runs = self.ends.len();
        partition_point(runs, |run| self.ends.get(run) <= i as u64).min(runs - 1)
    }

    /// The position behind a run, within the sequence.
    fn end(&self, run: usize) -> usize {
        usize::try_from(self.ends.get(run)).map_or(self.len, |end| end.min(self.len))
    }

    pub(super) fn get(&self, i: usize) -> u64 {
        self.values.get(self.run_of(i))
    }

    pub(super) fn decode(&self, range: Range<usize>, out: &mut Vec<u64>) {
        let mut next = range.start;
        let mut run = if range.is_empty() {
            0
        } else {
            self.run_of(next)
        };
        // Termination: the last run ends at the length, which open has checked; others only add.
        while next < range.end {
            let last = run + 1 == self.ends.len();
            let end = if last {
                range.end
            } else {
                self.end(run).clamp(next, range.end)
            };
            out.resize(out.len() + (end - next), self.values.get(run));
            next = end;
            run += 1;
        }
    }

    pub(super) fn gather(&self, positions: &[u32], out: &mut Vec<u64>) {
        let is_few = self.ends.len() <= FEW_RUNS;
        let is_sorted = positions.is_sorted();
        let steps = is_few || is_sorted && self.stepping_takes_less(positions);
        if !steps && let Some(span) = Span::worth_decoding(positions, DECODED_FOR_POSITION) {
            span.gather(|range, all| self.decode(range, all), out);
        } else if is_sorted {
            let runs = self.ends.len();
            let is_before = |run: usize, position: u32| self.ends.get(run) <= u64::from(position);
            let mut from = 0;
            self.gather_by(positions, out, |position| {
                from += gallop(runs - from, |step| is_before(from + step, position));
                from = from.min(runs - 1);
                from
            });
        } else if is_few {
            self.gather_of_few(positions, out);
        } else if RunIndex::is_worth(positions.len(), self.ends.len()) {
            let mut ends = Vec::with_capacity(self.ends.len());
            self.ends.decode(0..self.ends.len(), &mut ends);
            let index = RunIndex::new(ends, self.len);
            let runs = positions
                .iter()
                .map(|&position| index.run_of(position) as u32);
            self.values.gather(&runs.collect::<Vec<_>>(), out);
        } else {
            self.gather_searched(positions, out);
        }
    }

    /// Whether stepping through ascending positions takes less than decoding all between them.
    fn stepping_takes_less(&self, positions: &[u32]) -> bool {
        let (Some(&first), Some(&last)) = (positions.first(), positions.last()) else {
            return true;
        };
        let span = (last - first) as usize + 1;
        let runs = self.run_of(last as usize) + 1;
        let runs = runs.saturating_sub(self.run_of(first as usize));
        let stepped = runs.min(positions.len()).saturating_mul(STEP);
        let decoded = runs.saturating_mul(DECODED_RUN);
        stepped <= decoded.saturating_add(span / 16 * DECODED_SIXTEEN)
    }

    /// Appends the values at some positions, each found by a search of its own, of which some go on at the same time.
    fn gather_searched(&self, positions: &[u32], out: &mut Vec<u64>) {
        let chunks = positions.chunks_exact(SEARCHED_AT_ONCE);
        let rest = chunks.remainder();
        for chunk in chunks {
            // Invariant: a position lies in one of the `count` runs from its `from` on.
            let mut from = [0_usize; SEARCHED_AT_ONCE];
            let mut count = self.ends.len();
            // Termination: at least one run fewer each time.
            while count > 1 {
                let half = count / 2;
                for (from, &position) in from.iter_mut().zip(chunk) {
                    let is_behind = self.ends.get(*from + half - 1) <= u64::from(position);
                    *from += if is_behind { half } else { 0 };
                }
                count -= half;
            }
            out.extend(from.iter().map(|&run| self.values.get(run)));
        }
        let value = |&position: &u32| self.get(position as usize);
        out.extend(rest.iter().map(value));
    }

    /// Appends the values at some positions of few runs.
    fn gather_of_few(&self, positions: &[u32], out: &mut Vec<u64>) {
        let runs = self.ends.len();
        // The last run takes what lies behind all ends that are compared.
        let (mut ends, mut values) = ([u32::MAX; FEW_RUNS], [0; FEW_RUNS]);
        for (run, end) in ends.iter_mut().enumerate().take(runs - 1) {
            *end = u32::try_from(self.end(run)).unwrap_or(u32::MAX);
        }
        let run_of = |position: u32| {
            let before: u32 = ends.iter().map(|&end| u32::from(end <= position)).sum();
            before as usize % FEW_RUNS
        };
        if positions.len() < runs {
            let value = |&position: &u32| self.values.get(run_of(position));
            out.extend(positions.iter().map(value));
            return;
        }
        for (run, value) in values.iter_mut().enumerate().take(runs) {
            *value = self.values.get(run);
        }
        out.extend(positions.iter().map(|&position| values[run_of(position)]));
    }

    /// Appends the values at some positions; `run_of` is asked where a position is not in the run of the one before it.
    fn gather_by(
        &self,
        positions: &[u32],
        out: &mut Vec<u64>,
        mut run_of: impl FnMut(u32) -> usize,
    ) {
        let (mut start, mut end, mut value) = (0, 0, 0);
        out.extend(positions.iter().map(|&position| {
            if (position as usize) < start || position as usize >= end {
                let run = run_of(position);
                start = if run == 0 { 0 } else { self.end(run - 1) };
                end = self.end(run);
                value = self.values.get(run);
            }
            value
        }));
    }

    pub(super) fn lower_bound(&self, value: u64) -> usize {
        match self.values.lower_bound(value) {
            0 => 0,
            run => self.end(run - 1),
        }
    }

    pub(super) fn holds(&self, within: Range<usize>, value: u64) -> bool {
        let place = partition_point(within.len(), |i| self.get(within.start + i) < value);
        place < within.len() && self.get(within.start + place) == value
    }

    pub(super) fn find_in_range(
        &self,
        within: Range<usize>,
        low: u64,
        high: u64,
        out: &mut Vec<u32>,
    ) {
        if within.is_empty() {
            return;
        }
        let of_within = self.run_of(within.start)..self.run_of(within.end - 1) + 1;
        let mut runs = Vec::new();
        // Damaged ends may be in any order.
        if of_within.start < of_within.end {
            self.values.find_in_range(of_within, low, high, &mut runs);
        }
        let mut next = within.start;
        for run in runs {
            let run = run as usize;
            let start = match run {
                0 => next,
                _ => self.end(run - 1).clamp(next, within.end),
            };
            next = self.end(run).clamp(start, within.end);
            out.extend(start as u32..next as u32);
        }
    }

    pub(super) fn validate_deep(&self) -> Result<(), ColumnError> {
        let mut before = 0;
        for run in 0..self.ends.len() {
            let end = self.ends.get(run);
            if end <= before || end > self.len as u64 {
                let what = format!("run {run} ends at {end} after {before}");
                return Err(ColumnError::corrupt(what));
            }
            before = end;
        }
        Ok(())
    }
}
