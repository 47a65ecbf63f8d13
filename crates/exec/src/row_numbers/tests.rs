//! Tests of row numbers: one by one, at once and of another structure, beside a map.

use super::*;
use basalt_rdf::TermId;
use basalt_rdf::inline::dates::ZONE_BITS;
use basalt_rdf::term_id::tag;
use proptest::prelude::*;
use std::collections::HashMap;

/// A number that is an id.
fn number(mantissa: i64, scale: u8) -> u64 {
    TermId::numeric(0, mantissa, scale).expect("it fits").0
}

/// A day, with a zone or without.
fn day(day: u64, zone_code: u64) -> u64 {
    TermId::new(tag::DATE, 1 << 51 | day << ZONE_BITS | zone_code).0
}

/// Resources, numbers and dates near each other and far apart, and ids of other kinds.
fn id() -> impl Strategy<Value = u64> {
    let resource = |range: std::ops::Range<u64>| range.prop_map(|o| TermId::resource(o).0);
    prop_oneof![
        4 => resource(5_000..9_000_u64),
        2 => resource(0..3_000_000_u64),
        1 => resource(0..1 << 40),
        1 => 0..5_u64,
        2 => (-900..900_i64, 0..2_u8).prop_map(|(mantissa, scale)| number(mantissa, scale)),
        1 => (-1_i64 << 50..1 << 50).prop_map(|mantissa| number(mantissa, 0)),
        2 => (0..900_u64, 0..2_u64).prop_map(|(at, zone)| day(at, zone)),
    ]
}

proptest! {
    #[test]
    fn ones_are_numbered_by_first_sight(
        ids in prop::collection::vec(id(), 0..400),
        run in prop::sample::select(vec![1, 1, 3, 90]),
    ) {
        let ids: Vec<u64> = ids.into_iter().flat_map(|id| std::iter::repeat_n(id, run)).collect();
        let (mut table, mut oracle) = (RowNumbers::new(1), HashMap::new());
        let (mut at_once, mut numbers) = (RowNumbers::new(1), Vec::new());
        for (row, &id) in ids.iter().enumerate() {
            let new = oracle.len() as u32;
            prop_assert_eq!(table.find(&[id]), oracle.get(&id).copied());
            let number = *oracle.entry(id).or_insert(new);
            prop_assert_eq!(table.number_of(&[id]), number, "{}", row);
            numbers.push(number);
        }
        let mut found = Vec::new();
        for ids in ids.chunks(150) {
            at_once.numbers_of(&[ids], ids.len(), &mut found);
        }
        prop_assert_eq!(found, numbers);
        prop_assert_eq!(at_once.rows, &table.rows[..]);
        prop_assert_eq!(table.count(), oracle.len());
        for (&id, &group) in &oracle {
            prop_assert_eq!(table.find(&[id]), Some(group));
            prop_assert_eq!(table.row(group as usize), &[id]);
        }
    }

    /// Some at a time, and those of another: as one by one.
    #[test]
    fn rows_at_once_are_numbered_as_one_by_one(
        few in prop::collection::vec(id(), 1..9),
        step in 1..3_u64,
        width in 2..4_usize,
        at_once in 1..3_000_usize,
        others in 0..3_000_usize,
        run in prop::sample::select(vec![1, 1, 90]),
    ) {
        let column = |at: usize| -> Vec<u64> {
            let id = |i: u64| match at {
                0 => few[i as usize * 7 % few.len()],
                1 => TermId::resource(i * 61_837 % 900 * step).0,
                _ => i / 5 % 2,
            };
            (0..6_000).map(|i| id(i / run)).collect()
        };
        let columns: Vec<Vec<u64>> = (0..width).map(column).collect();
        let row = |i: usize| -> Vec<u64> { columns.iter().map(|column| column[i]).collect() };
        let mut one_by_one = RowNumbers::new(width);
        let expected: Vec<u32> = (0..6_000).map(|i| one_by_one.number_of(&row(i))).collect();
        let (mut table, mut numbers) = (RowNumbers::new(width), Vec::new());
        for start in (0..6_000).step_by(at_once) {
            let rows = start..6_000.min(start + at_once);
            let slices: Vec<&[u64]> = columns.iter().map(|column| &column[rows.clone()]).collect();
            table.numbers_of(&slices, rows.len(), &mut numbers);
        }
        prop_assert_eq!(&numbers, &expected);
        prop_assert_eq!(&table.rows, &one_by_one.rows);
        // Another that has some of them.
        let mut other = RowNumbers::new(width);
        (0..others).for_each(|i| _ = other.number_of(&row(i * 2)));
        let mut merged = Vec::new();
        let middle = table.count() / 2;
        other.numbers_of_others(&table, 0..middle, &mut merged);
        other.numbers_of_others(&table, middle..table.count(), &mut merged);
        for (row, number) in table.iter().zip(merged) {
            prop_assert_eq!(other.row(number as usize), row);
            prop_assert_eq!(other.find(row), Some(number));
        }
        let distinct: std::collections::HashSet<&[u64]> = other.iter().collect();
        prop_assert_eq!(distinct.len(), other.count());
    }

    #[test]
    fn wide_rows_are_numbered_by_first_sight(rows in prop::collection::vec((id(), id(), 0..2_u64), 0..100)) {
        let (mut table, mut oracle) = (RowNumbers::new(3), HashMap::new());
        for (a, b, c) in rows {
            let new = oracle.len() as u32;
            prop_assert_eq!(table.number_of(&[a, b, c]), *oracle.entry((a, b, c)).or_insert(new));
        }
    }

    /// Enough pairs that they may go by ordinal, of which one id has few values, or not; some are no resources.
    #[test]
    fn pairs_are_numbered_by_first_sight(
        few in prop::collection::vec(id(), 1..40),
        step in 1..5_000_u64,
        is_first in any::<bool>(),
        others in prop::collection::vec((0..6_000_usize, id(), id()), 0..30),
    ) {
        let (mut table, mut oracle) = (RowNumbers::new(2), HashMap::new());
        let mut check = |a: u64, b: u64| {
            let new = oracle.len() as u32;
            let expected = oracle.get(&(a, b)).copied();
            prop_assert_eq!(table.find(&[a, b]), expected);
            let group = *oracle.entry((a, b)).or_insert(new);
            prop_assert_eq!(table.number_of(&[a, b]), group);
            prop_assert_eq!(table.row(group as usize), &[a, b]);
            prop_assert_eq!(table.count(), oracle.len());
            Ok(())
        };
        for i in 0..6_000 {
            for (_, a, b) in others.iter().filter(|(at, ..)| *at == i) {
                check(*a, *b)?;
            }
            let one = few[i * 7 % few.len()];
            let other = TermId::resource(i as u64 % 900 * step).0;
            match is_first {
                true => check(one, other)?,
                false => check(other, one)?,
            }
        }
    }
}

#[test]
fn pairs_of_few_and_neighbours_are_not_hashed_and_strangers_are() {
    for is_first in [true, false] {
        let mut table = RowNumbers::new(2);
        let pair = |few: u64, many: u64| match is_first {
            true => [few, TermId::resource(many).0],
            false => [TermId::resource(many).0, few],
        };
        for i in 0..60_000_u64 {
            table.number_of(&pair(i % 10, 5_000 + i * 61_837 % 20_000));
        }
        assert!(table.pairs.is_some() && table.table.count() == 0);
        let count = table.count();
        for far in 1..2_000_u64 {
            table.number_of(&pair(3, far << 32));
        }
        assert!(table.pairs.is_none());
        assert_eq!(table.table.count(), count + 1_999);
    }
    // Where both have many values.
    let mut table = RowNumbers::new(2);
    for i in 0..5_000 {
        table.number_of(&[TermId::resource(i).0, TermId::resource(i + 1).0]);
    }
    assert!(table.pairs.is_none() && table.table.count() == 5_000);
}

#[test]
fn neighbours_are_not_hashed_and_strangers_are() {
    let mut table = RowNumbers::new(1);
    for ordinal in (1_000_000..1_030_000).rev() {
        table.number_of(&[TermId::resource(ordinal).0]);
    }
    assert!(table.by_id.is_some() && table.table.count() == 0);
    for far in 1..1_000_u64 {
        table.number_of(&[TermId::resource(far << 32).0]);
    }
    assert!(table.by_id.is_none());
    assert_eq!(table.table.count(), 30_999);
    assert!(table.bytes() < 30_999 * 40);
}

#[test]
fn numbers_and_dates_near_each_other_are_not_hashed() {
    for id in [|i: u64| number(i as i64 - 500, 2), |i: u64| day(i, 1)] {
        let mut table = RowNumbers::new(1);
        for i in 0..4_000_u64 {
            table.number_of(&[id(i * 617 % 1_000)]);
        }
        assert!(table.by_id.is_some() && table.table.count() == 0);
        assert_eq!(table.count(), 1_000);
        // Ids of other kinds are hashed beside them, and all once they are far apart.
        table.number_of(&[TermId::resource(7).0]);
        table.number_of(&[number(7, 5)]);
        assert!(table.by_id.is_some() && table.table.count() == 2);
        for i in 0..1_000 {
            table.number_of(&[id(i << 20)]);
        }
        assert!(table.by_id.is_none());
        assert_eq!(table.table.count(), table.count());
        assert_eq!(table.count(), 2_001);
        assert!(table.bytes() < 2_001 * 40);
    }
}

#[test]
fn neighbours_may_come_in_any_order() {
    let mut table = RowNumbers::new(1);
    for i in 0..100_000_u64 {
        table.number_of(&[TermId::resource(i * 61_837 % 100_000 + 77).0]);
    }
    assert!(table.by_id.is_some() && table.count() == 100_000);
}

#[test]
fn hashed_rows_take_what_is_said() {
    for width in 1..4 {
        let (mut table, mut numbers) = (RowNumbers::hashed(width), Vec::new());
        // Neighbours, beside few values.
        let column = |at: u64| -> Vec<u64> {
            let id = |i: u64| TermId::resource(if at == 0 { i * 61_837 % 60_000 } else { i % 3 }).0;
            (0..60_000).map(id).collect()
        };
        let columns: Vec<Vec<u64>> = (0..width as u64).map(column).collect();
        let slices: Vec<&[u64]> = columns.iter().map(Vec::as_slice).collect();
        table.numbers_of(&slices, 60_000, &mut numbers);
        assert!(table.by_id.is_none() && table.pairs.is_none());
        assert_eq!(table.table.count(), table.count());
        // Vectors and tables may be half empty.
        assert!(table.bytes() <= 2 * table.count() * RowNumbers::row_bytes(width));
    }
}
