//! Bit packing: values of one width laid end to end, the ground of every codec.
//!
//! ```text
//! value i = bits i*width .. (i+1)*width of the stream, lowest bit of byte 0 first
//! +----------------------------+----------------+
//! | ceil(count*width/8) bytes  | 8 zero bytes   |   (no bytes at all for width 0)
//! +----------------------------+----------------+
//! ```
//!
//! Invariants: a width is 0..=57 or 64, so one unaligned 8-byte load at any bit offset holds a
//! whole value; the 8 bytes of padding keep that load inside the slice. Cost: one load, shift and
//! mask per value; unpacking is compiled once per width, eight values per step, with constant
//! shifts. Where the processor has wide instructions, `wide` does most of it.

use std::ops::Range;

use crate::ColumnError;
use crate::wide::{CodeRange, FOUND, SCAN_VALUES, Wide};

/// Bytes behind a packed stream, so that an 8-byte load of the last value stays inside.
pub const PADDING_BYTES: usize = 8;

/// The width to pack values up to `max` with.
#[inline]
pub const fn width_of(max: u64) -> u32 {
    let width = u64::BITS - max.leading_zeros();
    if width > 57 { 64 } else { width }
}

/// Whether a width read from a file is one that [`width_of`] gives.
#[inline]
pub const fn is_width(width: u32) -> bool {
    width <= 57 || width == 64
}

/// Bytes of `count` packed values, padding included.
#[inline]
pub const fn packed_bytes(count: usize, width: u32) -> usize {
    if width == 0 || count == 0 {
        0
    } else {
        (count as u64 * width as u64).div_ceil(8) as usize + PADDING_BYTES
    }
}

/// Mask of the low `width` bits.
#[inline]
pub(crate) const fn mask(width: u32) -> u64 {
    if width == 0 {
        0
    } else {
        u64::MAX >> (64 - width)
    }
}

/// Appends `codes`, each below `2^width`, and the padding to `out`.
pub fn pack(codes: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let start = out.len();
    pack_bits(codes, width, out);
    if out.len() > start {
        out.extend_from_slice(&[0; PADDING_BYTES]);
    }
}

/// Appends `codes` without padding; the last byte is filled with zero bits.
pub(crate) fn pack_bits(codes: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let mut word = 0u64;
    let mut used = 0u32;
    for code in codes {
        debug_assert!(code <= mask(width));
        word |= code << used;
        used += width;
        if used >= 64 {
            out.extend_from_slice(&word.to_le_bytes());
            used -= 64;
            word = if used == 0 { 0 } else { code >> (width - used) };
        }
    }
    out.extend_from_slice(&word.to_le_bytes()[..used.div_ceil(8) as usize]);
}

/// The eight bytes at `at` as an integer.
#[inline]
pub(crate) fn load(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// The four bytes at `at` as an integer.
#[inline]
pub(crate) fn load_u32(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

/// Value `i` of a packed stream.
#[inline]
pub(crate) fn unpack_one(bytes: &[u8], width: u32, i: usize) -> u64 {
    if width == 0 {
        return 0;
    }
    let bit = i * width as usize;
    (load(bytes, bit / 8) >> (bit % 8)) & mask(width)
}

/// Fills `out` with `base` plus the values from `start` on of a packed stream.
#[inline]
pub(crate) fn unpack(bytes: &[u8], width: u32, start: usize, base: u64, out: &mut [u64]) {
    let filled = Wide::here().unpack(bytes, width, start, base, out);
    if filled < out.len() {
        UNPACKERS[width as usize](bytes, start + filled, base, &mut out[filled..]);
    }
}

/// [`unpack`] for one width.
type Unpacker = fn(&[u8], usize, u64, &mut [u64]);

/// A function of a width for every width; the widths that are never written stand in for nothing.
macro_rules! by_width {
    ($function:ident) => {
        by_width!($function: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27
            28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57
            64 64 64 64 64 64 64)
    };
    ($function:ident: $($width:literal)*) => { [$($function::<$width>),*] };
}
pub(crate) use by_width;

/// [`unpack_width`] for every width.
const UNPACKERS: [Unpacker; 65] = by_width!(unpack_width);

fn unpack_width<const WIDTH: usize>(bytes: &[u8], start: usize, base: u64, out: &mut [u64]) {
    if WIDTH == 0 {
        out.fill(base);
        return;
    }
    let head = start.next_multiple_of(8).min(start + out.len()) - start;
    let (first, rest) = out.split_at_mut(head);
    for (i, slot) in first.iter_mut().enumerate() {
        *slot = base.wrapping_add(unpack_one(bytes, WIDTH as u32, start + i));
    }
    let mask = mask(WIDTH as u32);
    let mut next = start + head;
    let mut groups = rest.chunks_exact_mut(8);
    for group in &mut groups {
        let at = next / 8 * WIDTH;
        let window = &bytes[at..at + WIDTH + PADDING_BYTES];
        for (i, slot) in group.iter_mut().enumerate() {
            let bit = i * WIDTH;
            *slot = base.wrapping_add((load(window, bit / 8) >> (bit % 8)) & mask);
        }
        next += 8;
    }
    for (i, slot) in groups.into_remainder().iter_mut().enumerate() {
        *slot = base.wrapping_add(unpack_one(bytes, WIDTH as u32, next + i));
    }
}

/// A view of packed values with a base: value `i` is `base + code i`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<'a> {
    /// The packed stream with its padding.
    bytes: &'a [u8],
    /// Added to every code.
    base: u64,
    /// Bits of a code.
    width: u32,
    /// Number of values.
    len: usize,
}

/// Bytes before the stream: the base.
const BASE_BYTES: usize = 8;

impl<'a> Packed<'a> {
    /// Bytes of `count` values between `min` and `max`.
    pub(crate) fn size(count: usize, min: u64, max: u64) -> usize {
        BASE_BYTES + packed_bytes(count, width_of(max.wrapping_sub(min)))
    }

    /// Appends the base and the packed values and returns the width, which the caller stores.
    pub(crate) fn write(values: &[u64], out: &mut Vec<u8>) -> u8 {
        let min = values.iter().copied().min().unwrap_or(0);
        let max = values.iter().copied().max().unwrap_or(0);
        let width = width_of(max - min);
        out.extend_from_slice(&min.to_le_bytes());
        pack(values.iter().map(|value| value - min), width, out);
        width as u8
    }

    /// Opens `len` values at `at` and moves `at` behind them.
    pub(crate) fn open(
        bytes: &'a [u8],
        at: &mut usize,
        len: usize,
        width: u8,
    ) -> Result<Self, ColumnError> {
        let width = u32::from(width);
        if !is_width(width) {
            return Err(ColumnError::corrupt(format!("packed width {width}")));
        }
        let start = *at + BASE_BYTES;
        let end = start + packed_bytes(len, width);
        if end > bytes.len() {
            let have = bytes.len();
            let what = format!("{len} values of {width} bits end at {end} of {have} bytes");
            return Err(ColumnError::corrupt(what));
        }
        let base = load(bytes, *at);
        *at = end;
        Ok(Self {
            bytes: &bytes[start..end],
            base,
            width,
            len,
        })
    }

    /// Number of values.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether values take no bits: all are the same, and any number of them takes as many bytes.
    pub(crate) fn is_constant(&self) -> bool {
        self.width == 0
    }

    /// Value `i`.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> u64 {
        self.base
            .wrapping_add(unpack_one(self.bytes, self.width, i))
    }

    /// Appends the values of a range.
    pub(crate) fn decode(&self, range: Range<usize>, out: &mut Vec<u64>) {
        let old = out.len();
        out.resize(old + range.len(), 0);
        self.decode_into(range.start, &mut out[old..]);
    }

    /// Fills a slice with the values from `start` on.
    #[inline]
    pub(crate) fn decode_into(&self, start: usize, out: &mut [u64]) {
        assert!(
            start + out.len() <= self.len,
            "range beyond the end of a sequence"
        );
        unpack(self.bytes, self.width, start, self.base, out);
    }

    /// Appends the values at some positions.
    pub(crate) fn gather(&self, positions: &[u32], out: &mut Vec<u64>) {
        let (bytes, width, base) = (self.bytes, self.width as usize, self.base);
        if width == 0 {
            out.resize(out.len() + positions.len(), base);
            return;
        }
        let mask = mask(self.width);
        out.extend(positions.iter().map(|&i| {
            let bit = i as usize * width;
            base.wrapping_add((load(bytes, bit / 8) >> (bit % 8)) & mask)
        }));
    }

    /// Appends those of the positions `within` that have values in `low..=high`, comparing codes.
    pub(crate) fn find_in_range(
        &self,
        within: Range<usize>,
        low: u64,
        high: u64,
        out: &mut Vec<u32>,
    ) {
        if high < self.base || low > high {
            return;
        }
        let low = low.saturating_sub(self.base);
        let high = (high - self.base).min(mask(self.width));
        if low > high {
            return;
        }
        if self.width == 0 {
            out.extend(within.start as u32..within.end as u32);
            return;
        }
        let codes = CodeRange {
            low,
            span: high - low,
        };
        let (bytes, width) = (self.bytes, self.width);
        let (wide, mut found) = (Wide::here(), FOUND);
        let mut unpacked = [0; SCAN_VALUES];
        let mut start = within.start;
        while start < within.end {
            let values = start..within.end.min(start + SCAN_VALUES);
            let (looked, count) = wide.find(bytes, width, values.clone(), codes, &mut found);
            out.extend_from_slice(&found[..count]);
            start += looked;
            let left = &mut unpacked[..values.end - start];
            if !left.is_empty() {
                unpack(bytes, width, start, 0, left);
                select_in_span(left, codes, start as u32, out);
                start = values.end;
            }
        }
    }

    /// The first position whose value is not less than `value`, in ascending values.
    pub(crate) fn lower_bound(&self, value: u64) -> usize {
        partition_point(self.len, |i| self.get(i) < value)
    }

    /// Whether one of the positions `within`, whose values ascend, has the value. Halves without branches: where a value lies is as good as
    /// random.
    #[inline]
    pub(crate) fn holds(&self, within: Range<usize>, value: u64) -> bool {
        let (mut start, mut len) = (within.start, within.len());
        // Invariant: if a position has the value, it is one of the `len` from `start`. Termination: len shrinks to 1.
        while len > 1 {
            let half = len / 2;
            let is_behind = self.get(start + half) <= value;
            start += half * usize::from(is_behind);
            len -= half;
        }
        len == 1 && self.get(start) == value
    }
}

/// Appends `start + i` for each code that is in the range, without branches per code.
pub(crate) fn select_in_span(values: &[u64], codes: CodeRange, start: u32, out: &mut Vec<u32>) {
    let mut found = FOUND;
    for (values, start) in values
        .chunks(SCAN_VALUES)
        .zip((start..).step_by(SCAN_VALUES))
    {
        let mut count = 0;
        for (&value, position) in values.iter().zip(start..) {
            found[count] = position;
            count += usize::from(value.wrapping_sub(codes.low) <= codes.span);
        }
        out.extend_from_slice(&found[..count]);
    }
}

/// The first `i` in `0..len` for which `below(i)` is false, if it is true before and false after.
#[inline]
pub(crate) fn partition_point(len: usize, below: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    // Invariant: below(i) for i < low, not below(i) for i >= high. Termination: high - low shrinks.
    while low < high {
        let middle = low + (high - low) / 2;
        if below(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_unpacks_what_was_packed() {
        for width in (0..=64).filter(|&width| is_width(width)) {
            let max = mask(width);
            let mut seed = 0x9E37_79B9_7F4A_7C15u64;
            let codes: Vec<u64> = (0..300)
                .map(|_| {
                    seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                    (seed ^ (seed >> 31)) & max
                })
                .collect();
            let mut bytes = Vec::new();
            pack(codes.iter().copied(), width, &mut bytes);
            assert_eq!(bytes.len(), packed_bytes(codes.len(), width));
            for start in [0, 1, 7, 8, 9, 100, 299, 300] {
                let mut out = vec![0; codes.len() - start];
                unpack(&bytes, width, start, 5, &mut out);
                let expected: Vec<u64> = codes[start..]
                    .iter()
                    .map(|code| code.wrapping_add(5))
                    .collect();
                assert_eq!(out, expected, "width {width} from {start}");
            }
            assert_eq!(unpack_one(&bytes, width, 299), codes[299]);
        }
    }

    #[test]
    fn widths_in_between_are_never_used() {
        assert_eq!(width_of(0), 0);
        assert_eq!(width_of((1 << 57) - 1), 57);
        assert_eq!(width_of(1 << 57), 64);
        assert!(!is_width(58) && !is_width(63) && !is_width(65));
    }
}
