//! Packed values with AVX2: four values of 64 bits or eight of 32 at a time.
//!
//! Bytes are shuffled within halves of 128 bits, so that each half has a load of its own: two values of 57 bits from any bit on lie in
//! 16 bytes, four of 25 in 14.
//!
//! BENEFIT: `cargo bench -p basalt-columns`, FrameOfReference/decode 1.3 times and FrameOfReference/find_in_range 3 times as fast as without.

use std::arch::x86_64::*;
use std::ops::Range;

use super::{CodeRange, Found};
use crate::packing::mask;

/// Bytes of half a vector.
const HALF_BYTES: usize = 16;
/// Widest codes of which a lane of 32 bits holds a whole one from any bit on.
const NARROW_MAX: u32 = 25;
/// Values of a group, whose bytes are as many as a value has bits.
const GROUP: usize = 8;

/// How the values of one vector come from the bytes of its two halves.
struct Lanes {
    /// Where the halves' bytes begin.
    at: [usize; 2],
    shuffle: __m256i,
    shift: __m256i,
}

impl Lanes {
    /// So many lanes, four of 64 bits or eight of 32, of values of so many bits, the first of which begins at a bit.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn of<const COUNT: usize>(width: u32, bit: usize) -> Self {
        let in_word = COUNT / 4;
        let lane_mask = mask(u64::BITS / in_word as u32);
        let (mut bytes, mut shifts) = ([0_u64; 4], [0_u64; 4]);
        let mut at = [0; 2];
        for lane in 0..COUNT {
            let half = lane / (COUNT / 2);
            at[half] = (bit + half * (COUNT / 2) * width as usize) / 8;
            let bit = bit + lane * width as usize - at[half] * 8;
            let from = 0x0706_0504_0302_0100 + 0x0101_0101_0101_0101 * (bit / 8) as u64;
            let place = lane % in_word * 32;
            bytes[lane / in_word] |= (from & lane_mask) << place;
            shifts[lane / in_word] |= (bit as u64 % 8) << place;
        }
        Self {
            at,
            shuffle: vector_of(bytes),
            shift: vector_of(shifts),
        }
    }

    /// The bytes of each value from a group's on, in its lane.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn bytes(&self, group: &[u8]) -> __m256i {
        let halves = self.at.map(|at| {
            let half = &group[at..at + HALF_BYTES];
            // SAFETY: the half has 16 bytes. BENEFIT: see the head.
            unsafe { _mm_loadu_si128(half.as_ptr().cast()) }
        });
        _mm256_shuffle_epi8(_mm256_set_m128i(halves[1], halves[0]), self.shuffle)
    }
}

/// Four words as a vector.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn vector_of(words: [u64; 4]) -> __m256i {
    _mm256_setr_epi64x(
        words[0] as i64,
        words[1] as i64,
        words[2] as i64,
        words[3] as i64,
    )
}

/// Bytes of a group of eight values from a bit of its first byte on, as far as halves are loaded.
#[inline]
fn group_bytes(width: u32) -> usize {
    let last_half = 6 * width as usize + 7;
    last_half / 8 + HALF_BYTES
}

/// See [`Wide::unpack`](super::Wide::unpack).
#[target_feature(enable = "avx2,popcnt")]
pub(super) fn unpack(bytes: &[u8], width: u32, start: usize, base: u64, out: &mut [u64]) -> usize {
    let bit = start * width as usize;
    let four = [
        Lanes::of::<4>(width, bit % 8),
        Lanes::of::<4>(width, bit % 8 + 4 * width as usize),
    ];
    let (base, mask) = (vector_of([base; 4]), vector_of([mask(width); 4]));
    let mut at = bit / 8;
    let mut filled = 0;
    for group in out.as_chunks_mut::<GROUP>().0 {
        let Some(bytes) = bytes.get(at..at + group_bytes(width)) else {
            break;
        };
        for (lanes, four) in four.iter().zip(group.as_chunks_mut::<4>().0) {
            let values = _mm256_srlv_epi64(lanes.bytes(bytes), lanes.shift);
            let values = _mm256_add_epi64(_mm256_and_si256(values, mask), base);
            // SAFETY: four values are 32 bytes. BENEFIT: see the head.
            unsafe { _mm256_storeu_si256(four.as_mut_ptr().cast(), values) };
        }
        at += width as usize;
        filled += GROUP;
    }
    filled
}

/// See [`Wide::find`](super::Wide::find); wide codes are left to the caller.
#[target_feature(enable = "avx2,popcnt")]
pub(super) fn find(
    bytes: &[u8],
    width: u32,
    values: Range<usize>,
    codes: CodeRange,
    found: &mut Found,
) -> (usize, usize) {
    if width > NARROW_MAX {
        return (0, 0);
    }
    let bit = values.start * width as usize;
    let lanes = Lanes::of::<8>(width, bit % 8);
    let mask = _mm256_set1_epi32(mask(width) as i32);
    let (low, span) = (codes.low as i32, codes.span as i32);
    let (low, span) = (_mm256_set1_epi32(low), _mm256_set1_epi32(span));
    let mut at = bit / 8;
    let (mut looked, mut count) = (0, 0);
    while looked + GROUP <= values.len() {
        let Some(bytes) = bytes.get(at..at + group_bytes(width)) else {
            break;
        };
        let codes = _mm256_and_si256(_mm256_srlv_epi32(lanes.bytes(bytes), lanes.shift), mask);
        let above = _mm256_sub_epi32(codes, low);
        let passes = _mm256_cmpeq_epi32(_mm256_min_epu32(above, span), above);
        let passes = _mm256_movemask_ps(_mm256_castsi256_ps(passes)) as u8;
        count += write_eight((values.start + looked) as u32, passes, count, found);
        at += width as usize;
        looked += GROUP;
    }
    (looked, count)
}

/// For every set of eight lanes, those that are in it, in order.
const LANES_OF: [[u8; 8]; 256] = lanes_of();

const fn lanes_of() -> [[u8; 8]; 256] {
    let mut all = [[0; 8]; 256];
    let mut set = 0;
    while set < 256 {
        let (mut lane, mut count) = (0, 0);
        while lane < 8 {
            if set >> lane & 1 == 1 {
                all[set][count] = lane as u8;
                count += 1;
            }
            lane += 1;
        }
        set += 1;
    }
    all
}

/// Writes the positions of those of eight values that pass, and returns how many.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn write_eight(first: u32, passes: u8, count: usize, found: &mut Found) -> usize {
    let lanes = u64::from_le_bytes(LANES_OF[passes as usize]);
    let lanes = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(lanes as i64));
    let positions = _mm256_add_epi32(lanes, _mm256_set1_epi32(first as i32));
    let room = &mut found[count..count + GROUP];
    // SAFETY: the room has eight places of 32 bits. BENEFIT: see the head.
    unsafe { _mm256_storeu_si256(room.as_mut_ptr().cast(), positions) };
    passes.count_ones() as usize
}
