//! Segments against plain vectors of lists.

use proptest::prelude::*;

use super::*;

/// Cells, 0 where absent, with any share of absent ones.
fn any_cells() -> impl Strategy<Value = Vec<u64>> {
    let value = prop_oneof![
        1u64..50,
        any::<u64>().prop_map(|v| v.max(1)),
        Just(1u64 << 56)
    ];
    (
        0u32..=100,
        proptest::collection::vec((0u32..100, value), 0..900),
    )
        .prop_map(|(share, cells)| {
            cells
                .into_iter()
                .map(|(roll, value)| if roll < share { value } else { 0 })
                .collect()
        })
}

fn any_lists() -> impl Strategy<Value = Vec<Vec<u64>>> {
    proptest::collection::vec(proptest::collection::vec(1u64..40, 0..5), 0..300)
}

fn offsets_of(lists: &[Vec<u64>]) -> Vec<u32> {
    let mut offsets = vec![0];
    for list in lists {
        offsets.push(offsets.last().copied().unwrap_or(0) + list.len() as u32);
    }
    offsets
}

/// Checks every method of a segment against the lists it stands for.
fn check(segment: &Segment<'_>, lists: &[Vec<u64>], picks: &[u32], range: Range<usize>) {
    let first = |row: usize| lists[row].first().copied().unwrap_or(0);
    assert_eq!(segment.rows(), lists.len());
    assert_eq!(segment.validate_deep(), Ok(()));
    let mut out = vec![9];
    segment.decode(range.clone(), &mut out);
    assert_eq!(out[1..], range.clone().map(first).collect::<Vec<_>>());
    out.truncate(1);
    segment.gather(picks, &mut out);
    assert_eq!(
        out[1..],
        picks
            .iter()
            .map(|&row| first(row as usize))
            .collect::<Vec<_>>()
    );
    let (mut counts, mut values) = (vec![3], vec![4]);
    segment.gather_lists(picks, &mut counts, &mut values);
    let picked: Vec<&Vec<u64>> = picks.iter().map(|&row| &lists[row as usize]).collect();
    assert_eq!(
        counts[1..],
        picked
            .iter()
            .map(|list| list.len() as u32)
            .collect::<Vec<_>>()
    );
    assert_eq!(
        values[1..],
        picked.into_iter().flatten().copied().collect::<Vec<_>>()
    );
    counts.clear();
    values.clear();
    segment.decode_lists(range.clone(), &mut counts, &mut values);
    let ranged = &lists[range.clone()];
    assert_eq!(
        counts,
        ranged
            .iter()
            .map(|list| list.len() as u32)
            .collect::<Vec<_>>()
    );
    assert_eq!(values, ranged.iter().flatten().copied().collect::<Vec<_>>());
    check_points(segment, lists, picks);
    check_holding(segment, lists, picks);
    check_filters(segment, lists, picks, 0..lists.len());
    check_filters(segment, lists, picks, range);
}

/// Checks the reading of single rows.
fn check_points(segment: &Segment<'_>, lists: &[Vec<u64>], picks: &[u32]) {
    for &row in picks {
        let row = row as usize;
        assert_eq!(segment.get(row), lists[row].first().copied().unwrap_or(0));
        let mut list = Vec::new();
        segment.list_into(row, &mut list);
        assert_eq!(list, lists[row]);
        assert_eq!(segment.value_count(row), lists[row].len());
    }
}

/// Checks which rows have a value each, one of theirs or of another's, next to one, or none at all.
fn check_holding(segment: &Segment<'_>, lists: &[Vec<u64>], picks: &[u32]) {
    let all: Vec<u32> = (0..lists.len() as u32).collect();
    for rows in [picks, &all] {
        for turn in 0..6 {
            let other = |place: usize| &lists[rows[(place + turn / 3) % rows.len()] as usize];
            let wanted: Vec<u64> = (0..rows.len())
                .map(|place| match other(place).get((place + turn) % 4) {
                    Some(value) => value.wrapping_add(turn as u64 % 3).wrapping_sub(1),
                    None => 7 * (turn as u64 % 2),
                })
                .collect();
            let expected: Vec<usize> = (0..rows.len())
                .filter(|&place| lists[rows[place] as usize].contains(&wanted[place]))
                .collect();
            let mut found = Vec::new();
            segment.holding(rows, &wanted, |place| found.push(place));
            assert_eq!(found, expected);
        }
    }
}

/// Checks what finds rows among those `within`.
fn check_filters(segment: &Segment<'_>, lists: &[Vec<u64>], picks: &[u32], within: Range<usize>) {
    let first = |row: usize| lists[row].first().copied().unwrap_or(0);
    let mut present = Vec::new();
    segment.present_rows_into(within.clone(), &mut present);
    let rows = || within.start as u32..within.end as u32;
    let expected: Vec<u32> = rows()
        .filter(|&row| !lists[row as usize].is_empty())
        .collect();
    assert_eq!(present, expected);
    let probes = picks
        .iter()
        .map(|&row| first(row as usize))
        .chain([0, 1, u64::MAX]);
    for low in probes {
        for high in [low, low.saturating_add(20), u64::MAX] {
            let mut found = Vec::new();
            segment.find_in_range(within.clone(), low, high, &mut found);
            let has = |row: &u32| {
                lists[*row as usize]
                    .iter()
                    .any(|v| (low..=high).contains(v))
            };
            assert_eq!(
                found,
                rows().filter(has).collect::<Vec<_>>(),
                "{low}..={high}"
            );
        }
    }
}

fn check_zone(zone: Zone, lists: &[Vec<u64>]) {
    let values = || lists.iter().flatten().copied();
    assert_eq!(zone.min, values().min().unwrap_or(u64::MAX));
    assert_eq!(zone.max, values().max().unwrap_or(0));
    assert_eq!(zone.values as usize, values().count());
    assert_eq!(
        zone.rows_with_value as usize,
        lists.iter().filter(|l| !l.is_empty()).count()
    );
}

fn picks_and_range(rows: usize, picks: &[u32], ends: (u32, u32)) -> (Vec<u32>, Range<usize>) {
    let picks = picks
        .iter()
        .filter(|_| rows > 0)
        .map(|p| p % rows.max(1) as u32)
        .collect();
    let (a, b) = (ends.0 as usize % (rows + 1), ends.1 as usize % (rows + 1));
    (picks, a.min(b)..a.max(b))
}

proptest! {
    #[test]
    fn single_values_read_as_plain(
        cells in any_cells(),
        picks in proptest::collection::vec(any::<u32>(), 0..40),
        ends in any::<(u32, u32)>(),
    ) {
        let mut bytes = Vec::new();
        let zone = encode_single(&cells, &mut bytes);
        let used = bytes.len();
        bytes.extend_from_slice(b"next");
        let (segment, taken) = Segment::open_prefix(&bytes).expect("what was encoded opens");
        prop_assert_eq!(taken, used);
        prop_assert!(!segment.is_list());
        let lists: Vec<Vec<u64>> =
            cells.iter().map(|&v| Some(v).filter(|&v| v != 0).into_iter().collect()).collect();
        let (picks, range) = picks_and_range(cells.len(), &picks, ends);
        check(&segment, &lists, &picks, range);
        check_zone(zone, &lists);
    }

    #[test]
    fn lists_read_as_plain(
        lists in any_lists(),
        picks in proptest::collection::vec(any::<u32>(), 0..40),
        ends in any::<(u32, u32)>(),
    ) {
        let values: Vec<u64> = lists.iter().flatten().copied().collect();
        let mut bytes = Vec::new();
        let zone = encode_lists(&offsets_of(&lists), &values, &mut bytes);
        let segment = Segment::open(&bytes).expect("what was encoded opens");
        prop_assert!(segment.is_list());
        let (picks, range) = picks_and_range(lists.len(), &picks, ends);
        check(&segment, &lists, &picks, range);
        check_zone(zone, &lists);
    }

    #[test]
    fn lists_in_order_read_as_plain(
        lists in any_lists(),
        long in proptest::collection::vec(any::<u64>().prop_map(|v| v.max(1)), 0..700),
        step in 1u64..1 << 40,
        picks in proptest::collection::vec(any::<u32>(), 0..40),
        ends in any::<(u32, u32)>(),
    ) {
        let mut lists = lists;
        lists.push(long.clone());
        lists.push((1..=long.len() as u64).map(|i| i * step).collect());
        for list in &mut lists {
            list.sort_unstable();
        }
        let values: Vec<u64> = lists.iter().flatten().copied().collect();
        let mut bytes = Vec::new();
        encode_lists(&offsets_of(&lists), &values, &mut bytes);
        prop_assert_eq!(bytes[1], ASCENDING);
        let segment = Segment::open(&bytes).expect("what was encoded opens");
        let (picks, range) = picks_and_range(lists.len(), &picks, ends);
        check(&segment, &lists, &picks, range);
    }

    #[test]
    fn damaged_bytes_never_panic(
        cells in any_cells(),
        lists in any_lists(),
        damage in proptest::collection::vec((any::<u32>(), any::<u8>()), 1..6),
        cut in proptest::option::of(any::<u32>()),
    ) {
        let (mut single, mut list) = (Vec::new(), Vec::new());
        encode_single(&cells, &mut single);
        let values: Vec<u64> = lists.iter().flatten().copied().collect();
        encode_lists(&offsets_of(&lists), &values, &mut list);
        for mut bytes in [single, list] {
            for (at, byte) in &damage {
                let at = *at as usize % bytes.len();
                bytes[at] = *byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut as usize % (bytes.len() + 1));
            }
            let Ok(segment) = Segment::open(&bytes) else { continue };
            let _outcome_may_be_either = segment.validate_deep();
            let rows = segment.rows();
            let all: Vec<u32> = (0..rows as u32).rev().collect();
            let (mut out, mut counts) = (Vec::new(), Vec::new());
            segment.decode(0..rows, &mut out);
            segment.gather(&all, &mut out);
            prop_assert_eq!(out.len(), 2 * rows);
            out.clear();
            segment.decode_lists(0..rows, &mut counts, &mut out);
            segment.gather_lists(&all, &mut counts, &mut out);
            prop_assert_eq!(counts.len(), 2 * rows);
            prop_assert_eq!(counts.iter().map(|&c| c as usize).sum::<usize>(), out.len());
            let mut found = Vec::new();
            segment.find_in_range(0..rows, 1, 30, &mut found);
            prop_assert!(found.is_sorted() && found.iter().all(|&row| (row as usize) < rows));
            let wanted: Vec<u64> = all.iter().map(|&row| u64::from(row % 40)).collect();
            segment.holding(&all, &wanted, |place| assert!(place < rows));
            found.clear();
            segment.present_rows_into(0..rows, &mut found);
            prop_assert!(found.iter().all(|&row| (row as usize) < rows));
        }
    }
}

#[test]
fn absent_cells_make_a_segment_sparse_only_where_that_is_smaller() {
    let half: Vec<u64> = (0..4096)
        .map(|i| if i % 2 == 0 { 1 << 56 | (i * 7) } else { 0 })
        .collect();
    let mut bytes = Vec::new();
    encode_single(&half, &mut bytes);
    assert_eq!(bytes[0], kind::SPARSE);
    bytes.clear();
    encode_single(&[0; 4096], &mut bytes);
    assert_eq!(bytes[0], kind::DENSE);
    assert!(bytes.len() < 32);
}

#[test]
fn a_full_segment_of_sparse_cells_keeps_its_last_row() {
    let mut cells: Vec<u64> = (0..SEGMENT_ROWS as u64).map(|i| (1 << 56) + i).collect();
    cells[5] = 0;
    let mut bytes = Vec::new();
    let zone = encode_single(&cells, &mut bytes);
    let segment = Segment::open(&bytes).expect("what was encoded opens");
    assert_eq!(segment.get(SEGMENT_ROWS - 1), cells[SEGMENT_ROWS - 1]);
    assert_eq!(zone.rows_with_value as usize, SEGMENT_ROWS - 1);
    assert!(zone.may_overlap(0, 1 << 56) && !zone.may_overlap(0, 1 << 55));
}
