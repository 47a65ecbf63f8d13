//! Every codec against plain vectors: round trip, point reads, filters, sizes, damaged bytes.

use proptest::prelude::*;

use super::*;

/// Values of every kind of regularity, so that each codec meets its best and its worst.
fn any_values() -> impl Strategy<Value = Vec<u64>> {
    let wide = proptest::collection::vec(any::<u64>(), 0..400);
    let narrow = (any::<u64>(), proptest::collection::vec(0u64..1000, 0..700))
        .prop_map(|(base, v)| v.into_iter().map(|x| base.wrapping_add(x)).collect());
    let runs = proptest::collection::vec((0u64..5, 1usize..90), 0..20).prop_map(|runs| {
        runs.into_iter()
            .flat_map(|(value, count)| vec![value << 56; count])
            .collect()
    });
    let sorted = proptest::collection::vec(0u64..1 << 40, 0..700).prop_map(|mut v| {
        v.sort_unstable();
        v
    });
    let steps = (any::<u64>(), any::<u64>(), 0usize..500).prop_map(|(first, step, n)| {
        (0..n as u64)
            .map(|i| first.wrapping_add(step.wrapping_mul(i)))
            .collect()
    });
    let few = (
        proptest::collection::vec(any::<u64>(), 1..9),
        proptest::collection::vec(0usize..9, 0..600),
    )
        .prop_map(|(values, picks)| {
            picks
                .into_iter()
                .map(|p| values[p % values.len()])
                .collect()
        });
    let outliers = (0usize..600, any::<u64>(), 0usize..600).prop_map(|(n, outlier, at)| {
        (0..n)
            .map(|i| if i == at { outlier } else { i as u64 * 3 })
            .collect()
    });
    prop_oneof![wide, narrow, runs, sorted, steps, few, outliers]
}

/// All encodings of `values`: each codec that can hold them and the chosen one.
fn encodings(values: &[u64]) -> Vec<(CodecKind, Vec<u8>)> {
    let mut all = Vec::new();
    for kind in CodecKind::ALL {
        let mut bytes = Vec::new();
        if encode_as(kind, values, &mut bytes) {
            assert_eq!(Some(bytes.len()), size_as(kind, values), "{kind:?} size");
            all.push((kind, bytes));
        } else {
            assert!(bytes.is_empty());
        }
    }
    let mut bytes = Vec::new();
    let kind = encode(values, &mut bytes);
    all.push((kind, bytes));
    all
}

fn find_plainly(values: &[u64], low: u64, high: u64) -> Vec<u32> {
    (0..values.len() as u32)
        .filter(|&i| (low..=high).contains(&values[i as usize]))
        .collect()
}

/// A length that is damaged may be any number where values take no bits.
#[test]
fn damaged_lengths_take_no_memory() {
    for values in [vec![7; 300], (0..300).collect(), vec![1, 1, 9]] {
        for (kind, bytes) in encodings(&values) {
            for at in 0..bytes.len().saturating_sub(4).min(64) {
                let mut bytes = bytes.clone();
                bytes[at..at + 4].copy_from_slice(&0xFFFF_FFF0_u32.to_le_bytes());
                if let Ok((sequence, used)) = Sequence::open(&bytes) {
                    assert!(used <= bytes.len(), "{kind:?} {at}");
                    let _outcome_may_be_either = sequence.validate_deep();
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn encoded_reads_as_plain(
        values in any_values(),
        picks in proptest::collection::vec(any::<u32>(), 0..50),
        ends in any::<(u32, u32)>(),
        bounds in any::<(u64, u64)>(),
    ) {
        let n = values.len();
        let picks: Vec<u32> = picks.iter().filter(|_| n > 0).map(|p| p % n.max(1) as u32).collect();
        let (a, b) = (ends.0 as usize % (n + 1), ends.1 as usize % (n + 1));
        let range = a.min(b)..a.max(b);
        let mut probes = vec![bounds, (0, u64::MAX), (5, 4)];
        probes.extend(picks.iter().map(|&p| (values[p as usize], values[p as usize])));
        probes.extend(picks.windows(2).map(|p| (values[p[0] as usize], values[p[1] as usize])));
        for (kind, mut bytes) in encodings(&values) {
            let used = bytes.len();
            bytes.extend_from_slice(b"next");
            let (sequence, taken) = Sequence::open(&bytes).expect("what was encoded opens");
            prop_assert_eq!((taken, sequence.len(), sequence.kind()), (used, n, kind));
            prop_assert_eq!(sequence.validate_deep(), Ok(()));
            let mut out = vec![7];
            sequence.decode(0..n, &mut out);
            prop_assert_eq!(&out[1..], &values[..]);
            out.clear();
            sequence.decode(range.clone(), &mut out);
            prop_assert_eq!(&out[..], &values[range.clone()]);
            out.clear();
            sequence.gather(&picks, &mut out);
            let expected: Vec<u64> = picks.iter().map(|&p| values[p as usize]).collect();
            prop_assert_eq!(&out, &expected);
            for &p in &picks {
                let p = p as usize;
                prop_assert_eq!(sequence.get(p), values[p]);
                if p + 1 < n {
                    prop_assert_eq!(sequence.get_pair(p), (values[p], values[p + 1]));
                }
            }
            for &(low, high) in &probes {
                let mut found = Vec::new();
                sequence.find_in_range(0..n, low, high, &mut found);
                let expected = find_plainly(&values, low, high);
                prop_assert_eq!(&found, &expected);
                found.clear();
                sequence.find_in_range(range.clone(), low, high, &mut found);
                let is_within = |i: &u32| range.contains(&(*i as usize));
                let expected: Vec<u32> = expected.into_iter().filter(is_within).collect();
                prop_assert_eq!(&found, &expected);
            }
        }
    }

    #[test]
    fn lower_bound_of_sorted_values(
        mut values in any_values(),
        probes in proptest::collection::vec(any::<u64>(), 0..5),
    ) {
        values.sort_unstable();
        for (_, bytes) in encodings(&values) {
            let (sequence, _) = Sequence::open(&bytes).expect("what was encoded opens");
            for &probe in probes.iter().chain(values.iter().step_by(37)) {
                for probe in [probe, probe.wrapping_add(1), probe.wrapping_sub(1)] {
                    let expected = values.partition_point(|&value| value < probe);
                    prop_assert_eq!(sequence.lower_bound(probe), expected);
                }
            }
        }
    }

    #[test]
    fn a_value_is_held_where_the_values_ascend(
        mut values in any_values(),
        ends in any::<(u32, u32)>(),
        probes in proptest::collection::vec(any::<u64>(), 0..5),
    ) {
        let ends = [ends.0, ends.1].map(|end| end as usize % (values.len() + 1));
        let within = ends[0].min(ends[1])..ends[0].max(ends[1]);
        values[within.clone()].sort_unstable();
        for (_, bytes) in encodings(&values) {
            let (sequence, _) = Sequence::open(&bytes).expect("what was encoded opens");
            for &probe in probes.iter().chain(values.iter().step_by(37)) {
                for probe in [probe, probe.wrapping_add(1), probe.wrapping_sub(1)] {
                    let expected = values[within.clone()].contains(&probe);
                    prop_assert_eq!(sequence.holds(within.clone(), probe), expected);
                }
            }
        }
    }

    /// Damaged bytes are refused, or give answers of the right size.
    #[test]
    fn damaged_bytes_never_panic(
        values in any_values(),
        damage in proptest::collection::vec((any::<u32>(), any::<u8>()), 1..6),
        cut in proptest::option::of(any::<u32>()),
    ) {
        for (_, mut bytes) in encodings(&values) {
            for (at, byte) in &damage {
                let at = *at as usize % bytes.len();
                bytes[at] = *byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut as usize % (bytes.len() + 1));
            }
            let Ok((sequence, used)) = Sequence::open(&bytes) else { continue };
            prop_assert!(used <= bytes.len());
            let is_valid = sequence.validate_deep().is_ok();
            // A damaged length of a constant may be large; nobody decodes more than he expects.
            let n = sequence.len().min(2000);
            let mut out = Vec::new();
            sequence.decode(0..n, &mut out);
            prop_assert_eq!(out.len(), n);
            let positions: Vec<u32> = (0..n as u32).rev().collect();
            sequence.gather(&positions, &mut out);
            prop_assert_eq!(out.len(), 2 * n);
            // Damaged runs may read in another way each time.
            if n > 0 && (is_valid || sequence.kind() != CodecKind::RunLength) {
                prop_assert_eq!(sequence.get(n - 1), out[n]);
            }
            if n > 0 && is_valid {
                prop_assert_eq!(out[n - 1], out[n]);
            }
            prop_assert!(sequence.lower_bound(77) <= sequence.len());
            if sequence.len() == n {
                let mut found = Vec::new();
                sequence.find_in_range(0..n, 1, u64::MAX / 2, &mut found);
                prop_assert!(found.iter().all(|&i| (i as usize) < n));
            }
        }
    }
}

#[test]
fn each_codec_wins_where_it_should() {
    let chosen = |values: Vec<u64>| encode(&values, &mut Vec::new());
    assert_eq!(chosen(vec![]), CodecKind::Constant);
    assert_eq!(chosen(vec![9; 1000]), CodecKind::Constant);
    assert_eq!(
        chosen((0..5000).map(|i| i / 500).collect()),
        CodecKind::RunLength
    );
    assert_eq!(
        chosen((0..5000).map(|i| i * 7919 % 1000).collect()),
        CodecKind::FrameOfReference
    );
    assert_eq!(
        chosen((0..5000).map(|i| i * 3 + i % 2).collect()),
        CodecKind::Delta
    );
    assert_eq!(
        chosen((0..5000).map(|i| (i * 7919 % 7) << 56).collect()),
        CodecKind::Dictionary
    );
}

#[test]
fn an_arithmetic_sequence_costs_its_directory_only() {
    let values: Vec<u64> = (0..16_384).map(|i| 1 << 56 | (i * 12)).collect();
    let mut bytes = Vec::new();
    assert_eq!(encode(&values, &mut bytes), CodecKind::Delta);
    assert!(bytes.len() < 400, "{} bytes", bytes.len());
}

#[test]
fn unknown_codecs_and_widths_are_refused() {
    let mut bytes = Vec::new();
    encode(
        &(0..100).map(|i| i * i % 64).collect::<Vec<u64>>(),
        &mut bytes,
    );
    let mut unknown = bytes.clone();
    unknown[0] = 9;
    let error = Sequence::open(&unknown).expect_err("codec 9 does not exist");
    assert_eq!(error.to_string(), "corrupt column data: unknown codec 9");
    for width in [58, 63, 65, 255] {
        bytes[1] = width;
        assert!(Sequence::open(&bytes).is_err(), "width {width}");
    }
}

#[test]
fn positions_in_any_order_find_their_values() {
    // Long runs and short ones, next to each other.
    let lengths = (0..900u64).map(|run| match run % 50 {
        0 => 1_000,
        n if n < 30 => 3,
        n => n * 2,
    });
    let run =
        |(number, length)| std::iter::repeat_n((number as u64 * 7_919) << 20, length as usize);
    let runs: Vec<u64> = lengths.enumerate().flat_map(run).collect();
    // Steps of different widths.
    let steps: Vec<u64> = (0..20_000u64)
        .map(|i| i * 1_000 + i * i % 7 + (i / 900) * (i % 40))
        .collect();
    for (kind, values) in [(CodecKind::RunLength, runs), (CodecKind::Delta, steps)] {
        let mut bytes = Vec::new();
        assert_eq!(encode(&values, &mut bytes), kind);
        let (sequence, _) = Sequence::open(&bytes).expect("what was encoded opens");
        let len = values.len() as u64;
        // Few and many, scattered and in order, from the first to the last and in the midst.
        for count in [1u64, 7, 100, 300, 5_000] {
            for spread in [1, 3, 40] {
                let at = |i: u64| (len / 5 + i * 2_654_435_761 % (len / spread)) % len;
                let mut positions: Vec<u32> = (0..count).map(|i| at(i) as u32).collect();
                if spread == 1 {
                    positions.extend([0, len as u32 - 1, 0]);
                }
                for is_sorted in [false, true] {
                    if is_sorted {
                        positions.sort_unstable();
                    }
                    let mut out = Vec::new();
                    sequence.gather(&positions, &mut out);
                    let expected: Vec<u64> =
                        positions.iter().map(|&p| values[p as usize]).collect();
                    assert_eq!(out, expected, "{kind:?} {count} {spread} {is_sorted}");
                }
            }
        }
    }
}
