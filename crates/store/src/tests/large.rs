//! A table of several segments, and predicates of many blocks.

use super::patterns::found;
use super::splitter::{number, resource, write_resources};
use crate::table::{
    CellReader, Cells, ColumnDefinition, ColumnKind, HomeGraph, SegmentValues, TableDefinition,
    TypeClass,
};
use crate::{CheckDepth, QuadIds, QuadPattern, Snapshot, Storage, VersionWriter, encode_segment};
use basalt_columns::SEGMENT_ROWS;
use basalt_rdf::TermId;

const ROWS: u32 = 40_000;
const FIRST: u64 = 1_000;

/// Column 0: a link with gaps; 1: a number that repeats every 300 rows; 2: an unordered number.
fn value(column_idx: usize, row: u32) -> TermId {
    match column_idx {
        0 if row.is_multiple_of(10) => TermId::UNBOUND,
        0 => resource(FIRST + u64::from(row) * 7919 % u64::from(ROWS)),
        1 => number(i64::from(row % 300)),
        _ => number(i64::from(row) * 104_729 % 1_000_003),
    }
}

fn irregular(i: u32) -> QuadIds {
    QuadIds {
        subject: resource(FIRST + u64::from(i / 3)),
        predicate: resource(10),
        object: number(i64::from(i % 50)),
        graph: TermId::DEFAULT_GRAPH,
    }
}

fn build() -> Snapshot {
    let mut writer = VersionWriter::create(Storage::Memory).expect("a writer");
    write_resources(&mut writer, FIRST + u64::from(ROWS));
    let column = |predicate, type_class, wants_inverse| ColumnDefinition {
        predicate: resource(predicate),
        type_class,
        kind: ColumnKind::Single,
        wants_inverse,
        link_target: None,
    };
    let mut table = writer
        .begin_table(TableDefinition {
            name: "large".to_owned(),
            classes: Vec::new(),
            first_ordinal: FIRST,
            rows: ROWS,
            columns: vec![
                column(0, TypeClass::RESOURCE, true),
                column(1, TypeClass::NUMERIC, true),
                column(2, TypeClass::NUMERIC, false),
            ],
            home_graph: HomeGraph::Constant(TermId::DEFAULT_GRAPH),
        })
        .expect("a valid definition");
    let rows: Vec<u32> = (0..ROWS).collect();
    for part in rows.chunks(SEGMENT_ROWS) {
        for column_idx in 0..3 {
            let values: Vec<u64> = part.iter().map(|&r| value(column_idx, r).0).collect();
            let segment = encode_segment(&SegmentValues::Single(&values));
            table.push(column_idx, segment).expect("the segment fits");
        }
    }
    table.finish().expect("the table is complete");
    writer
        .irregular_quads((0..9_000).map(irregular).collect())
        .expect("quads are valid");
    writer.commit().expect("the commit succeeds")
}

/// The number of rows with a value, and the last of them, are those that are found.
fn assert_read_by_number(cells: Cells<'_>, reader: &mut CellReader<'_>, object: TermId) {
    let counted = reader.count_object(object);
    assert_eq!(counted, cells.count_object(object));
    if let Some(last) = counted.and_then(|count| count.checked_sub(1)) {
        let mut found = Vec::new();
        cells.find(object, &mut found);
        assert_eq!(reader.nth_with(object, last), found.last().copied());
        assert_eq!(reader.nth_with(object, last + 1), None);
    }
}

#[test]
fn cells_of_many_segments_are_read_and_found() {
    let snapshot = build();
    snapshot.check(CheckDepth::Deep).expect("it is whole");
    let table = &snapshot.tables()[0];
    let rows: Vec<u32> = (0..ROWS).map(|i| (i * 7 + 3) % ROWS).collect();
    // From segment to segment: all rows, and so few of the last segment that it is not decoded.
    let mut scattered: Vec<u32> = (0..ROWS).map(|i| (i * 16_411 + 3) % ROWS).collect();
    scattered.extend((0..2_000).map(|i| i % 2 * SEGMENT_ROWS as u32 + i));
    let mut sparse: Vec<u32> = (0..2_400)
        .map(|i| i % 2 * SEGMENT_ROWS as u32 + i)
        .collect();
    sparse.extend((0..50).map(|i| ROWS - 1 - i));
    for column_idx in 0..3 {
        let cells = table.cells(resource(column_idx as u64)).expect("a column");
        assert_eq!(cells.segment_count(), 3);
        let mut scanned = Vec::new();
        cells.scan(5..ROWS - 5, &mut scanned);
        assert!(
            scanned
                .iter()
                .zip(5..)
                .all(|(&v, row)| v == value(column_idx, row).0)
        );
        assert_eq!(scanned.len() as u32, ROWS - 10);
        let mut gathered = Vec::new();
        cells.gather(&rows, &mut gathered);
        assert!(
            gathered
                .iter()
                .zip(&rows)
                .all(|(&v, &row)| v == value(column_idx, row).0)
        );
        for rows in [&scattered, &sparse] {
            let mut gathered = vec![7];
            cells.gather(rows, &mut gathered);
            let expected = rows.iter().map(|&row| value(column_idx, row).0);
            assert!(gathered.into_iter().eq(std::iter::once(7).chain(expected)));
        }
        let mut reader = cells.reader();
        for &row in scattered.iter().chain(&rows).step_by(7) {
            let mut read = Vec::new();
            reader.values_into(row, &mut read);
            let expected = Some(value(column_idx, row).0).filter(|v| *v != 0);
            assert_eq!(reader.value_count(row), usize::from(expected.is_some()));
            assert!(
                read.into_iter().eq(expected),
                "column {column_idx} row {row}"
            );
            assert_read_by_number(cells, &mut reader, value(column_idx, row));
        }
        // Often enough for a column without inverse to get one in memory.
        for row in (0..ROWS).step_by(331) {
            let wanted = value(column_idx, row);
            let mut found = Vec::new();
            cells.find(wanted, &mut found);
            if wanted.is_bound() {
                assert!(found.contains(&row), "column {column_idx} row {row}");
            }
            assert!(found.iter().all(|&r| value(column_idx, r) == wanted));
            assert!(found.is_sorted_by(|a, b| a < b));
        }
    }
    assert!(table.cells(resource(1)).expect("a column").full());
    assert!(!table.cells(resource(0)).expect("a column").full());
    let kinds: Vec<Option<&str>> = table.all_cells().map(|c| c.inverse_kind()).collect();
    assert_eq!(kinds, [Some("adjacency"), Some("bitmaps"), None]);
}

#[test]
fn distinct_counts_are_exact_or_near() {
    let snapshot = build();
    let statistics = |p| {
        let cells = snapshot.tables()[0].cells(resource(p));
        cells.expect("a column").statistics().clone()
    };
    assert_eq!(
        (statistics(0).distinct, statistics(0).distinct_is_exact),
        (36_000, true)
    );
    assert_eq!(
        (statistics(1).distinct, statistics(1).distinct_is_exact),
        (300, true)
    );
    let estimated = statistics(2);
    assert!(!estimated.distinct_is_exact);
    assert!(
        (38_000..=40_000).contains(&estimated.distinct),
        "{estimated:?}"
    );
    assert_eq!(statistics(0).links, [(0, 36_000)]);
}

#[test]
fn rows_with_a_value_are_as_far_apart_as_its_rows() {
    let snapshot = build();
    let table = &snapshot.tables()[0];
    let apart = |p| table.cells(resource(p)).expect("a column").rows_apart();
    // Each object once; the same number every 300 rows; no inverse.
    assert_eq!([apart(0), apart(1), apart(2)], [1, 300, 1]);
}

#[test]
fn blocks_are_searched_in_both_orders() {
    let snapshot = build();
    let quads = &snapshot.parts().quad_table;
    let predicate = resource(10);
    let counts = quads.predicate(predicate).expect("the predicate has quads");
    assert_eq!(
        (counts.quads, counts.subjects, counts.objects),
        (9_000, 3_000, 50)
    );
    for object in 0..50 {
        let mut found = Vec::new();
        quads
            .by_object(predicate, number(object), &mut found)
            .expect("it is whole");
        assert_eq!(found.len(), 180);
        let counted = quads.count_object(predicate, number(object));
        assert_eq!(counted.expect("it is whole"), 180);
        let mut by_number: Vec<TermId> = (0..180)
            .filter_map(|n| quads.nth_with(predicate, number(object), n).expect("reads"))
            .collect();
        by_number.sort_unstable();
        found.sort_unstable();
        let subjects: Vec<TermId> = found.iter().map(|(subject, _)| *subject).collect();
        assert_eq!(by_number, subjects);
        let beyond = quads.nth_with(predicate, number(object), 180);
        assert_eq!(beyond.expect("it is whole"), None);
    }
    for count in [0, 1, 64, 9_000, 20_000] {
        let mut spread = Vec::new();
        quads
            .spread_subjects(predicate, count, &mut spread)
            .expect("it is whole");
        assert_eq!(spread.len(), count.min(9_000));
        assert!(spread.is_sorted());
        // Subjects are spread over all of them, and three quads are of each.
        for (place, subject) in spread.iter().enumerate() {
            let expected = (place * 9_000 + 4_500) / spread.len() / 3;
            assert_eq!(*subject, resource(FIRST + expected as u64));
        }
    }
    for subject in (0..3_000).step_by(97) {
        let mut found = Vec::new();
        quads
            .by_subject(predicate, resource(FIRST + subject), &mut found)
            .expect("it is whole");
        assert_eq!(found.len(), 3);
    }
    let dirty = snapshot.tables()[0].dirty_rows(predicate);
    assert_eq!(dirty.map(roaring::RoaringBitmap::len), Some(3_000));
    let pattern = QuadPattern {
        subject: Some(resource(FIRST + 17)),
        ..QuadPattern::default()
    };
    assert_eq!(found(&snapshot, &pattern).len(), 6);
}

#[test]
fn changes_reach_all_segments_and_blocks() {
    let snapshot = build();
    let all = 0..9_000;
    for quad in all.clone().map(irregular) {
        assert!(snapshot.contains(&quad).expect("reads"), "{quad:?}");
        for other in [
            QuadIds {
                graph: resource(3),
                ..quad
            },
            QuadIds {
                object: number(50),
                ..quad
            },
            QuadIds {
                subject: resource(FIRST + 3_000 + quad.subject.payload() % 90),
                ..quad
            },
        ] {
            assert!(!snapshot.contains(&other).expect("reads"), "{other:?}");
        }
    }
    let cell = |row: u32| QuadIds {
        subject: resource(FIRST + u64::from(row)),
        predicate: resource(1),
        object: value(1, row),
        graph: TermId::DEFAULT_GRAPH,
    };
    let rows = (0..ROWS).step_by(13);
    let moved = |quad: QuadIds| QuadIds {
        object: number(-1),
        ..quad
    };
    let mut removed: Vec<QuadIds> = rows.clone().map(cell).collect();
    let added: Vec<QuadIds> = removed.iter().copied().map(moved).collect();
    removed.extend(all.step_by(7).map(irregular));
    let changed = snapshot.with_changes(&removed, &added);
    let (changed, net) = changed.expect("they are valid");
    assert_eq!(
        (net.removed.len(), net.added.len()),
        (removed.len(), added.len())
    );
    changed.check(CheckDepth::Deep).expect("it is sound");
    assert_eq!(changed.dirty_row_count(0, resource(1)), rows.len() as u64);
    let pattern = QuadPattern {
        object: Some(number(-1)),
        ..QuadPattern::default()
    };
    assert!(found(&changed, &pattern).into_iter().eq(added.clone()));
    for quad in &removed {
        assert!(!changed.contains(quad).expect("reads"), "{quad:?}");
    }
    let (back, _) = changed
        .with_changes(&added, &removed)
        .expect("they are valid");
    let size = back.delta_size();
    assert_eq!((size.added, size.removed), (0, 0));
    assert_eq!(back.dirty_row_count(0, resource(1)), 0);
}
