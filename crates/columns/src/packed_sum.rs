//! Sums of packed codes: where a value is the sum of the steps before it, these need not be unpacked.
//!
//! Codes of up to eight bits are added eight at a time within one word, neighbours first:
//!
//! ```text
//! c7 c6 c5 c4 c3 c2 c1 c0      eight codes of W bits
//! c7+c6 c5+c4 c3+c2 c1+c0      four sums of 2 W bits: none can overflow
//! c7+..+c4    c3+..+c0         two of 4 W bits
//! ```
//!
//! Cost: some dozen instructions for eight such codes, five or so for each code that is wider.

use crate::packing::{PADDING_BYTES, by_width, load, mask, unpack_one};

/// The sum, wrapping, of the first `count` codes of a packed stream.
#[inline]
pub(crate) fn sum(bytes: &[u8], width: u32, count: usize) -> u64 {
    SUMMERS[width as usize](bytes, count)
}

/// [`sum`] for one width.
type Summer = fn(&[u8], usize) -> u64;

/// [`sum_width`] for every width.
const SUMMERS: [Summer; 65] = by_width!(sum_width);

/// Codes that are added at a time.
const GROUP: usize = 8;

fn sum_width<const WIDTH: usize>(bytes: &[u8], count: usize) -> u64 {
    if WIDTH == 0 {
        return 0;
    }
    let groups = count / GROUP;
    let mut sum = 0_u64;
    for group in 0..groups {
        let at = group * WIDTH;
        let window = &bytes[at..at + WIDTH + PADDING_BYTES];
        if WIDTH <= 8 {
            sum += sum_of_word::<WIDTH>(load(window, 0) & mask(8 * WIDTH as u32));
        } else {
            for i in 0..GROUP {
                let bit = i * WIDTH;
                let code = load(window, bit / 8) >> (bit % 8) & mask(WIDTH as u32);
                sum = sum.wrapping_add(code);
            }
        }
    }
    let left = count % GROUP;
    if WIDTH <= 8 && left > 0 {
        let word = load(bytes, groups * WIDTH);
        return sum + sum_of_word::<WIDTH>(word & mask((left * WIDTH) as u32));
    }
    for i in groups * GROUP..count {
        sum = sum.wrapping_add(unpack_one(bytes, WIDTH as u32, i));
    }
    sum
}

/// The sum of the eight codes in a word.
fn sum_of_word<const WIDTH: usize>(word: u64) -> u64 {
    let pairs = (word & every_second(WIDTH)) + (word >> WIDTH & every_second(WIDTH));
    let double = 2 * WIDTH;
    let fours = (pairs & every_second(double)) + (pairs >> double & every_second(double));
    let half = 4 * WIDTH;
    (fours & mask(half as u32)) + (fours >> half)
}

/// A mask of every second field of so many bits, from the lowest on.
const fn every_second(width: usize) -> u64 {
    let mut all = 0;
    let mut at = 0;
    while at < 64 {
        all |= mask(width as u32) << at;
        at += 2 * width;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packing::{pack, width_of};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_are_those_of_the_unpacked(
            width in prop_oneof![0..=57_u32, Just(64_u32)],
            codes in prop::collection::vec(any::<u64>(), 0..130),
        ) {
            let codes: Vec<u64> = codes.iter().map(|code| code & mask(width)).collect();
            let mut bytes = Vec::new();
            pack(codes.iter().copied(), width, &mut bytes);
            for count in 0..=codes.len() {
                let expected = codes[..count].iter().fold(0_u64, |sum, code| sum.wrapping_add(*code));
                prop_assert_eq!(sum(&bytes, width, count), expected, "{} of {} bits", count, width);
            }
        }
    }

    #[test]
    fn no_width_overflows() {
        for width in 1..=57 {
            let most = mask(width);
            assert_eq!(width_of(most), width);
            let mut bytes = Vec::new();
            pack(std::iter::repeat_n(most, 127), width, &mut bytes);
            for count in [1, 7, 8, 9, 127] {
                let expected = most.wrapping_mul(count as u64);
                assert_eq!(
                    sum(&bytes, width, count),
                    expected,
                    "{count} of {width} bits"
                );
            }
        }
    }
}
