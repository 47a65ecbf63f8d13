//! Every way that the processor has against one value after the other.

use proptest::prelude::*;

use super::*;
use crate::packing::{mask, pack, unpack_one};

/// The ways to try here.
fn ways() -> Vec<Wide> {
    let mut ways = vec![Wide::None, Wide::here()];
    ways.dedup();
    ways
}

/// Packed codes of a width, from any numbers.
fn packed(numbers: &[u64], width: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let codes = numbers.iter().map(|number| number & mask(width));
    pack(codes, width, &mut bytes);
    bytes
}

/// Codes of these values, one after the other.
fn codes_of(bytes: &[u8], width: u32, values: Range<usize>) -> Vec<u64> {
    values.map(|i| unpack_one(bytes, width, i)).collect()
}

proptest! {
    #[test]
    fn values_are_unpacked_as_one_by_one(
        width in 0..=57_u32,
        numbers in prop::collection::vec(any::<u64>(), 1..200),
        start in 0..200_usize,
        base in any::<u64>(),
    ) {
        let bytes = packed(&numbers, width);
        let start = start % numbers.len();
        let expected: Vec<u64> = codes_of(&bytes, width, start..numbers.len())
            .into_iter()
            .map(|code| code.wrapping_add(base))
            .collect();
        for way in ways() {
            let mut out = vec![7; expected.len()];
            let filled = way.unpack(&bytes, width, start, base, &mut out);
            prop_assert_eq!(&out[..filled], &expected[..filled], "{:?}", way);
            prop_assert!(out[filled..].iter().all(|&value| value == 7), "{:?}", way);
        }
    }

    #[test]
    fn codes_in_a_range_are_found_as_one_by_one(
        width in 1..=57_u32,
        numbers in prop::collection::vec(any::<u64>(), 1..=SCAN_VALUES),
        start in 0..SCAN_VALUES,
        ends in (any::<u64>(), any::<u64>()),
    ) {
        let bytes = packed(&numbers, width);
        let start = start % numbers.len();
        let ends = (ends.0 & mask(width), ends.1 & mask(width));
        let (low, high) = (ends.0.min(ends.1), ends.0.max(ends.1));
        let range = CodeRange { low, span: high - low };
        let codes = codes_of(&bytes, width, 0..numbers.len());
        let expected = |looked: usize| -> Vec<u32> {
            (start..start + looked)
                .filter(|&i| (low..=high).contains(&codes[i]))
                .map(|i| i as u32)
                .collect()
        };
        for way in ways() {
            let mut found = [0; SCAN_VALUES + BESIDE];
            let (looked, count) = way.find(&bytes, width, start..numbers.len(), range, &mut found);
            prop_assert_eq!(&found[..count], &expected(looked)[..], "{:?}", way);
        }
    }
}

#[test]
fn a_damaged_stream_is_not_read_beyond_its_end() {
    for way in ways() {
        let mut out = [0; 40];
        let filled = way.unpack(&[1, 2, 3], 1, 0, 0, &mut out[..24]);
        assert!(filled <= 24);
        assert_eq!(out[..2], if filled == 0 { [0, 0] } else { [1, 0] });
    }
}
