//! Rows in common of two values, in every pair of forms of inverses, of short and of long lists.

use super::splitter::{number, resource, write_resources};
use crate::table::{
    ColumnDefinition, ColumnKind, HomeGraph, SegmentValues, TableDefinition, TypeClass,
};
use crate::{Cells, CommonRows, Snapshot, Storage, VersionWriter, encode_segment};
use basalt_columns::SEGMENT_ROWS;
use basalt_rdf::TermId;

const ROWS: u32 = 40_000;
const FIRST: u64 = 1_000;

/// The value of a row.
type ValueOf = fn(u32) -> TermId;

/// Values in no order of which one has 3,000 rows, 70 have a hundred, and 7,500 have four.
fn scattered(row: u32, factor: u64) -> u64 {
    match u64::from(row) * factor % u64::from(ROWS) {
        x @ ..3_000 => x / 3_000,
        x @ 3_000..10_000 => 1 + x / 100,
        x => 1_000 + x / 4,
    }
}

/// Columns: links and numbers like that, numbers of 8,000 and of 134 rows, and a number that a third of the rows has beside others of one row each.
const COLUMNS: [(TypeClass, ValueOf); 5] = [
    (TypeClass::RESOURCE, |row| {
        resource(FIRST + scattered(row, 7_919))
    }),
    (TypeClass::NUMERIC, |row| {
        number(scattered(row, 104_729) as i64 * 3)
    }),
    (TypeClass::NUMERIC, |row| number(i64::from(row / 3 % 5))),
    (TypeClass::NUMERIC, |row| number(i64::from(row % 300))),
    (TypeClass::NUMERIC, |row| match row.is_multiple_of(3) {
        true => number(7),
        false => number(1_000 + i64::from(row)),
    }),
];
/// The number of a column without an inverse.
const UNINDEXED: u64 = COLUMNS.len() as u64;

fn build() -> Snapshot {
    let mut writer = VersionWriter::create(Storage::Memory).expect("a writer");
    write_resources(&mut writer, FIRST + u64::from(ROWS));
    let column = |predicate, type_class| ColumnDefinition {
        predicate: resource(predicate),
        type_class,
        kind: ColumnKind::Single,
        wants_inverse: predicate < UNINDEXED,
        link_target: None,
    };
    let indexed = COLUMNS.iter().zip(0..);
    let indexed = indexed.map(|((type_class, _), predicate)| column(predicate, *type_class));
    let unindexed = column(UNINDEXED, TypeClass::NUMERIC);
    let mut table = writer
        .begin_table(TableDefinition {
            name: "lists".to_owned(),
            classes: Vec::new(),
            first_ordinal: FIRST,
            rows: ROWS,
            columns: indexed.chain([unindexed]).collect(),
            home_graph: HomeGraph::Constant(TermId::DEFAULT_GRAPH),
        })
        .expect("a valid definition");
    let rows: Vec<u32> = (0..ROWS).collect();
    for part in rows.chunks(SEGMENT_ROWS) {
        let of_column = COLUMNS.iter().map(|(_, value)| *value);
        let all = of_column.chain([(|row| number(i64::from(row))) as ValueOf]);
        for (column_idx, value) in all.enumerate() {
            let values: Vec<u64> = part.iter().map(|&row| value(row).0).collect();
            let segment = encode_segment(&SegmentValues::Single(&values));
            table.push(column_idx, segment).expect("the segment fits");
        }
    }
    table.finish().expect("the table is complete");
    writer.commit().expect("the commit succeeds")
}

/// Values of some rows, twice each one after the other, and one that no row has.
fn values(column: usize) -> Vec<u64> {
    let rows = [0, 3, 3, 17, 9_999, 29_998, 39_999];
    let values = rows.map(|row| COLUMNS[column].1(row).0);
    values.into_iter().chain([resource(3).0]).collect()
}

fn rows_of(cells: Cells<'_>, value: u64) -> Vec<u32> {
    let mut rows = Vec::new();
    cells.find(TermId(value), &mut rows);
    rows
}

#[test]
fn rows_in_common_are_those_that_both_values_have() {
    let snapshot = build();
    let table = &snapshot.tables()[0];
    let cells = |column: u64| table.cells(resource(column)).expect("a column");
    let kinds = (0..UNINDEXED).map(|column| cells(column).inverse_kind());
    let expected = [
        "adjacency",
        "permutation",
        "bitmaps",
        "bitmaps",
        "permutation",
    ];
    assert!(kinds.eq(expected.map(Some)));
    let mut are_left = 0;
    for first in 0..COLUMNS.len() {
        for second in 0..COLUMNS.len() {
            let (a, b) = (cells(first as u64), cells(second as u64));
            let mut common = CommonRows::of(a, b).expect("both have inverses");
            for &x in &values(first) {
                for &y in &values(second) {
                    let of_other = rows_of(b, y);
                    let of_one = rows_of(a, x);
                    let is_long = of_one.len().min(of_other.len()) > 1_024;
                    let mut found = vec![u32::MAX];
                    assert_eq!(common.find(x, y, &mut found), !is_long);
                    assert_eq!(common.is_left(x, y), is_long);
                    let mut expected = vec![u32::MAX];
                    if !is_long {
                        let is_common = |row: &u32| of_other.binary_search(row).is_ok();
                        expected.extend(of_one.into_iter().filter(is_common));
                    }
                    assert_eq!(found, expected, "{first} {second} {x:x} {y:x}");
                    are_left += usize::from(is_long);
                }
            }
        }
    }
    assert!(are_left > 0, "some are long");
    let (unindexed, indexed) = (cells(UNINDEXED), cells(0));
    assert!(CommonRows::of(indexed, unindexed).is_none());
    assert!(CommonRows::of(unindexed, indexed).is_none());
}
