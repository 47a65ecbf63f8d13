//! Codec: blocks of 128 values, each a first value and bit-packed differences between neighbours.
//!
//! ```text
//! header (A: bits of a first value, B: bits of a least step, C: bits of a width end)
//!   | first values: base u64, packed   (one per block)
//!   | least steps:  base u64, packed   (one per block; zigzag of a signed step)
//!   | width ends:   base u64, packed   (one per block; sum of the widths of the blocks so far)
//!   | blocks: 16 * width bytes each (the last one: as many as its steps need) | 8 zero bytes
//! ```
//!
//! In a block, `value[j] = value[j-1] + least step + code[j-1]`; all sums wrap. A block begins at 16
//! times the width end of the block before, so blocks have their own widths and an outlier costs
//! one block. A block of constant step has width 0: an arithmetic sequence costs its directory
//! only. Cost: `get` adds up the codes up to the value (at most 127), packed as they are; neighbours cost
//! one such sum, and where many values are gathered in any order all are read from one unpacking.

use std::ops::Range;

use super::Profile;
use super::span::Span;
use crate::ColumnError;
use crate::packed_sum::sum;
use crate::packing::{
    PADDING_BYTES, Packed, is_width, pack_bits, partition_point, select_in_span, unpack,
    unpack_one, width_of,
};
use crate::wide::{CodeRange, SCAN_VALUES};

/// Values of a block.
const BLOCK: usize = 128;
/// Values for each position that is asked for up to which all between them are decoded, in the time that one `get` takes.
const DECODED_FOR_POSITION: usize = 32;
/// Bytes of a full block per bit of width.
const BLOCK_UNIT: usize = BLOCK / 8;

const _: () = assert!(BLOCK <= SCAN_VALUES);

/// Directory entry of one block while encoding.
struct BlockShape {
    /// The least step, signed.
    least: u64,
    /// Bits of a step above the least.
    width: u32,
}

impl BlockShape {
    fn of(block: &[u64]) -> Self {
        let steps = || {
            block
                .windows(2)
                .map(|pair| pair[1].wrapping_sub(pair[0]) as i64)
        };
        let least = steps().min().unwrap_or(0);
        let greatest = steps().max().unwrap_or(0);
        let width = width_of((greatest as u64).wrapping_sub(least as u64));
        Self {
            least: least as u64,
            width,
        }
    }
}

/// Signed to unsigned with small magnitudes small.
fn zigzag(step: u64) -> u64 {
    (step << 1) ^ ((step as i64 >> 63) as u64)
}

/// The inverse of [`zigzag`].
fn unzigzag(code: u64) -> u64 {
    (code >> 1) ^ (code & 1).wrapping_neg()
}

/// A lower bound of the size, to skip [`size`] where deltas cannot win.
pub(super) fn size_min(profile: &Profile) -> usize {
    3 * 8 + profile.len.div_ceil(BLOCK) / 8
}

/// Exact bytes of the body.
pub(super) fn size(values: &[u64]) -> usize {
    let mut firsts = (u64::MAX, 0);
    let mut steps = (u64::MAX, 0);
    let (mut widths, mut first_width, mut last_bytes) = (0u64, 0, 0);
    for (i, block) in values.chunks(BLOCK).enumerate() {
        let shape = BlockShape::of(block);
        let step = zigzag(shape.least);
        firsts = (firsts.0.min(block[0]), firsts.1.max(block[0]));
        steps = (steps.0.min(step), steps.1.max(step));
        if i == 0 {
            first_width = u64::from(shape.width);
        }
        widths += u64::from(shape.width);
        last_bytes = last_block_bytes(block.len(), shape.width)
            + (widths - u64::from(shape.width)) as usize * BLOCK_UNIT;
    }
    let blocks = values.len().div_ceil(BLOCK);
    Packed::size(blocks, firsts.0, firsts.1)
        + Packed::size(blocks, steps.0, steps.1)
        + Packed::size(blocks, first_width, widths)
        + last_bytes
        + PADDING_BYTES
}

/// Bytes of the last block: only the steps it has.
fn last_block_bytes(values: usize, width: u32) -> usize {
    ((values - 1) * width as usize).div_ceil(8)
}

/// Appends the body and returns the widths for the header.
pub(super) fn write(values: &[u64], out: &mut Vec<u8>) -> [u8; 3] {
    let shapes: Vec<BlockShape> = values.chunks(BLOCK).map(BlockShape::of).collect();
    let firsts: Vec<u64> = values.iter().step_by(BLOCK).copied().collect();
    let steps: Vec<u64> = shapes.iter().map(|shape| zigzag(shape.least)).collect();
    let ends: Vec<u64> = shapes
        .iter()
        .scan(0, |end, shape| {
            *end += u64::from(shape.width);
            Some(*end)
        })
        .collect();
    let widths = [
        Packed::write(&firsts, out),
        Packed::write(&steps, out),
        Packed::write(&ends, out),
    ];
    let blocks_start = out.len();
    for ((block, shape), end) in values.chunks(BLOCK).zip(&shapes).zip(&ends) {
        let start = (*end as usize - shape.width as usize) * BLOCK_UNIT;
        out.resize(blocks_start + start, 0);
        let steps = block.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]));
        pack_bits(
            steps.map(|step| step.wrapping_sub(shape.least)),
            shape.width,
            out,
        );
    }
    out.extend_from_slice(&[0; PADDING_BYTES]);
    widths
}

/// One block: its first value, and how each of the others follows.
struct Steps<'a> {
    first: u64,
    least: u64,
    bytes: &'a [u8],
    width: u32,
}

impl Steps<'_> {
    /// The value at a place in the block.
    fn value(&self, within: usize) -> u64 {
        self.first
            .wrapping_add(self.least.wrapping_mul(within as u64))
            .wrapping_add(sum(self.bytes, self.width, within))
    }

    /// By how much the value after it is greater.
    fn step(&self, within: usize) -> u64 {
        self.least
            .wrapping_add(unpack_one(self.bytes, self.width, within))
    }
}

/// A view of blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delta<'a> {
    /// The first value of each block.
    firsts: Packed<'a>,
    /// The least step of each block, zigzag.
    steps: Packed<'a>,
    /// The sum of the widths up to each block.
    ends: Packed<'a>,
    /// The packed steps with padding.
    blocks: &'a [u8],
    /// Number of values.
    len: usize,
}

impl<'a> Delta<'a> {
    /// Opens the body at `at` and moves `at` behind it.
    pub(super) fn open(
        bytes: &'a [u8],
        at: &mut usize,
        len: usize,
        widths: [u8; 3],
    ) -> Result<Self, ColumnError> {
        if len == 0 {
            return Err(ColumnError::corrupt("delta blocks of no values"));
        }
        let count = len.div_ceil(BLOCK);
        let firsts = Packed::open(bytes, at, count, widths[0])?;
        let steps = Packed::open(bytes, at, count, widths[1])?;
        let ends = Packed::open(bytes, at, count, widths[2])?;
        let end = ends.get(count - 1);
        let before = if count == 1 { 0 } else { ends.get(count - 2) };
        let width = end.wrapping_sub(before);
        if end > count as u64 * 64 || width > 64 || !is_width(width as u32) {
            let what = format!("last delta block has width {width} of {end} in {count} blocks");
            return Err(ColumnError::corrupt(what));
        }
        let last = last_block_bytes(len - (count - 1) * BLOCK, width as u32);
        let size = before as usize * BLOCK_UNIT + last + PADDING_BYTES;
        let Some(blocks) = bytes.get(*at..*at + size) else {
            let what = format!("delta blocks of {size} bytes at {at} of {}", bytes.len());
            return Err(ColumnError::corrupt(what));
        };
        *at += size;
        Ok(Self {
            firsts,
            steps,
            ends,
            blocks,
            len,
        })
    }

    /// Values of a block.
    fn block_len(&self, block: usize) -> usize {
        BLOCK.min(self.len - block * BLOCK)
    }

    /// The bytes from a block's start on and its width; no bytes and 0 if they are damaged.
    fn block(&self, block: usize) -> (&'a [u8], u32) {
        let start = if block == 0 {
            0
        } else {
            self.ends.get(block - 1)
        };
        let width = self.ends.get(block).wrapping_sub(start);
        let needed = last_block_bytes(self.block_len(block), width.min(64) as u32) + PADDING_BYTES;
        let bytes = usize::try_from(start)
            .ok()
            .and_then(|start| start.checked_mul(BLOCK_UNIT))
            .and_then(|start| self.blocks.get(start..));
        match bytes {
            Some(bytes) if width <= 64 && is_width(width as u32) && bytes.len() >= needed => {
                (bytes, width as u32)
            }
            _ => (&[], 0),
        }
    }

    /// Fills the front of `out` with the first `count` values of a block.
    fn decode_block(&self, block: usize, count: usize, out: &mut [u64; BLOCK]) {
        let (bytes, width) = self.block(block);
        let least = unzigzag(self.steps.get(block));
        out[0] = self.firsts.get(block);
        unpack(bytes, width, 0, least, &mut out[1..count.max(1)]);
        sum_up(&mut out[..count]);
    }

    pub(super) fn get(&self, i: usize) -> u64 {
        let (block, within) = (i / BLOCK, i % BLOCK);
        match within {
            0 => self.firsts.get(block),
            _ => self.steps_of(block).value(within),
        }
    }

    /// Values `i` and `i + 1`, where one block has both at the cost of one.
    pub(super) fn get_pair(&self, i: usize) -> (u64, u64) {
        let (block, within) = (i / BLOCK, i % BLOCK);
        if within == BLOCK - 1 {
            return (self.get(i), self.get(i + 1));
        }
        let steps = self.steps_of(block);
        let value = steps.value(within);
        (value, value.wrapping_add(steps.step(within)))
    }

    fn steps_of(&self, block: usize) -> Steps<'a> {
        let (bytes, width) = self.block(block);
        Steps {
            first: self.firsts.get(block),
            least: unzigzag(self.steps.get(block)),
            bytes,
            width,
        }
    }

    pub(super) fn decode(&self, range: Range<usize>, out: &mut Vec<u64>) {
        let mut values = [0; BLOCK];
        let mut next = range.start;
        while next < range.end {
            let (block, within) = (next / BLOCK, next % BLOCK);
            let count = (range.end - block * BLOCK).min(BLOCK);
            self.decode_block(block, count, &mut values);
            out.extend_from_slice(&values[within..count]);
            next = block * BLOCK + count;
        }
    }

    pub(super) fn gather(&self, positions: &[u32], out: &mut Vec<u64>) {
        // Positions in order unpack each block once at most.
        if !positions.is_sorted()
            && let Some(span) = Span::worth_decoding(positions, DECODED_FOR_POSITION)
        {
            span.gather(|range, all| self.decode(range, all), out);
            return;
        }
        let mut values = [0; BLOCK];
        for run in positions.chunk_by(|a, b| *a as usize / BLOCK == *b as usize / BLOCK) {
            if let [position] = run {
                out.push(self.get(*position as usize));
                continue;
            }
            let block = run[0] as usize / BLOCK;
            self.decode_block(block, self.block_len(block), &mut values);
            out.extend(
                run.iter()
                    .map(|&position| values[position as usize % BLOCK]),
            );
        }
    }

    pub(super) fn lower_bound(&self, value: u64) -> usize {
        let block = partition_point(self.firsts.len(), |block| self.firsts.get(block) < value);
        let Some(block) = block.checked_sub(1) else {
            return 0;
        };
        let mut values = [0; BLOCK];
        let count = self.block_len(block);
        self.decode_block(block, count, &mut values);
        block * BLOCK + values[..count].partition_point(|&other| other < value)
    }

    /// Finds the block by the first values of those that begin within, and looks at that one.
    pub(super) fn holds(&self, within: Range<usize>, value: u64) -> bool {
        let begin = within.start.div_ceil(BLOCK);
        let blocks = within.end.div_ceil(BLOCK).saturating_sub(begin);
        let behind = begin + partition_point(blocks, |i| self.firsts.get(begin + i) <= value);
        let start = match behind == begin {
            true => within.start,
            false => (behind - 1) * BLOCK,
        };
        let end = within.end.min(behind * BLOCK);
        if start >= end {
            return false;
        }
        let mut values = [0; BLOCK];
        let first = start - start % BLOCK;
        self.decode_block(start / BLOCK, end - first, &mut values);
        values[start - first..end - first].contains(&value)
    }

    pub(super) fn find_in_range(
        &self,
        within: Range<usize>,
        low: u64,
        high: u64,
        out: &mut Vec<u32>,
    ) {
        if low > high {
            return;
        }
        let codes = CodeRange {
            low,
            span: high - low,
        };
        let mut values = [0; BLOCK];
        let mut start = within.start;
        while start < within.end {
            let block = start / BLOCK;
            let end = within.end.min((block + 1) * BLOCK) - block * BLOCK;
            self.decode_block(block, end, &mut values);
            let values = &values[start - block * BLOCK..end];
            select_in_span(values, codes, start as u32, out);
            start = (block + 1) * BLOCK;
        }
    }

    pub(super) fn validate_deep(&self) -> Result<(), ColumnError> {
        let mut before = 0;
        for block in 0..self.ends.len() {
            let end = self.ends.get(block);
            let width = end.wrapping_sub(before);
            if width > 64 || !is_width(width as u32) {
                let what = format!("delta block {block} has width {width}");
                return Err(ColumnError::corrupt(what));
            }
            before = end;
        }
        Ok(())
    }
}

/// Replaces each value by the wrapping sum of the values up to it.
fn sum_up(values: &mut [u64]) {
    let mut sum = 0u64;
    for value in values {
        sum = sum.wrapping_add(*value);
        *value = sum;
    }
}
