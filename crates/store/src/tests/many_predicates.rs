//! Many tables and predicates of which most are in few of them: what is found through the tables of a predicate is what a filter over the set finds, of the
//! version alone and with changes.

use super::patterns::{check_blocks, check_patterns, found};
use super::splitter::{number, quad, resource, write_resources};
use super::{counts, neighbours};
use crate::table::{
    ColumnDefinition, ColumnKind, HomeGraph, SegmentValues, TableDefinition, TypeClass,
};
use crate::{CheckDepth, QuadIds, QuadPattern, Snapshot, Storage, VersionWriter};
use basalt_rdf::TermId;
use proptest::test_runner::TestCaseError;
use std::collections::BTreeSet;

const TABLES: u64 = 30;
const ROWS: u64 = 4;
/// The first subject of the first table; between tables are subjects of none.
const FIRST: u64 = 1_000;
const APART: u64 = 7;
const RESOURCES: u64 = FIRST + TABLES * APART;

/// A predicate with a column in every table, whose values are rows of others.
const OF_ALL: u64 = 0;
/// One with a column in every third table, and irregular quads in others.
const OF_SOME: u64 = 1;
/// One with a column in one table.
const OF_ONE: u64 = 2;
/// One of irregular quads alone, of rows and of other subjects.
const IRREGULAR: u64 = 3;
/// One that only changes have, and one that no quad has.
const ADDED: u64 = 4;
const OF_NONE: u64 = 5;
/// From here on: predicates with a column in one table each, and then those of one irregular quad each.
const OWN: u64 = 100;
const RARE: u64 = 200;

fn first_of(table: u64) -> u64 {
    FIRST + table * APART
}

/// The home graph of a row: tables have one in turn, or several.
fn home_of(table: u64, row: u64) -> TermId {
    match (table % 3, row % 3) {
        (0, _) | (2, 0) => TermId::DEFAULT_GRAPH,
        (1, _) | (2, 1) => resource(6),
        _ => resource(7),
    }
}

/// The predicates with a column in a table.
fn predicates_of(table: u64) -> Vec<u64> {
    let some = table.is_multiple_of(3).then_some(OF_SOME);
    let one = (table == 7).then_some(OF_ONE);
    let all = [OF_ALL, OWN + table].into_iter();
    all.chain(some).chain(one).collect()
}

/// The value of a cell; some have none.
fn value(table: u64, row: u64, predicate: u64) -> Option<TermId> {
    let of = match predicate {
        OF_ALL => resource(first_of((table * 5 + row) % TABLES) + row % ROWS),
        _ => number(((table + row * predicate) % 5) as i64),
    };
    (!(table + row + predicate).is_multiple_of(4)).then_some(of)
}

fn write_table(writer: &mut VersionWriter, table: u64, quads: &mut BTreeSet<QuadIds>) {
    let predicates = predicates_of(table);
    let column = |predicate: &u64| ColumnDefinition {
        predicate: resource(*predicate),
        type_class: match *predicate {
            OF_ALL => TypeClass::RESOURCE,
            _ => TypeClass::NUMERIC,
        },
        kind: ColumnKind::Single,
        wants_inverse: *predicate == OF_ALL,
        link_target: None,
    };
    let has_graphs = table % 3 == 2;
    let mut made = writer
        .begin_table(TableDefinition {
            name: format!("table {table}"),
            classes: Vec::new(),
            first_ordinal: first_of(table),
            rows: ROWS as u32,
            columns: predicates.iter().map(column).collect(),
            home_graph: match has_graphs {
                true => HomeGraph::Column,
                false => HomeGraph::Constant(home_of(table, 0)),
            },
        })
        .expect("a valid definition");
    for (column_idx, &predicate) in predicates.iter().enumerate() {
        let values: Vec<Option<TermId>> =
            (0..ROWS).map(|row| value(table, row, predicate)).collect();
        for (row, object) in (0..).zip(&values) {
            let home = home_of(table, row);
            quads.extend(object.map(|object| quad(first_of(table) + row, predicate, object, home)));
        }
        let ids: Vec<u64> = values.iter().map(|id| id.map_or(0, |id| id.0)).collect();
        let segment = SegmentValues::Single(&ids);
        made.segment(column_idx, segment).expect("the segment fits");
    }
    if has_graphs {
        let homes: Vec<u64> = (0..ROWS).map(|row| home_of(table, row).0).collect();
        made.graph_segment(&homes).expect("graphs fit");
    }
    made.finish().expect("the table is complete");
}

fn irregular() -> Vec<QuadIds> {
    let mut quads = Vec::new();
    for table in 0..TABLES {
        let (row, outside) = (first_of(table) + table % ROWS, first_of(table) + ROWS);
        // The same triple in two graphs, neither of which is that of the row.
        let others = [resource(8), resource(9)];
        quads.extend(others.map(|graph| quad(row, IRREGULAR, number(1), graph)));
        quads.push(quad(outside, IRREGULAR, resource(row), resource(6)));
        quads.push(quad(outside, OF_SOME, number(2), TermId::DEFAULT_GRAPH));
        if table % 3 == 1 {
            quads.push(quad(row, OF_SOME, number(9), resource(7)));
        }
        quads.push(quad(
            outside,
            RARE + table,
            resource(row),
            home_of(table, 2),
        ));
    }
    quads
}

/// The version and what it has.
fn build() -> (Snapshot, BTreeSet<QuadIds>) {
    let mut writer = VersionWriter::create(Storage::Memory).expect("a writer");
    write_resources(&mut writer, RESOURCES);
    let mut quads = BTreeSet::new();
    for table in 0..TABLES {
        write_table(&mut writer, table, &mut quads);
    }
    quads.extend(irregular());
    writer
        .irregular_quads(irregular())
        .expect("quads are valid");
    (writer.commit().expect("the commit succeeds"), quads)
}

/// Everything that may be asked by predicate.
fn check(snapshot: &Snapshot, quads: &BTreeSet<QuadIds>) -> Result<(), TestCaseError> {
    snapshot.check(CheckDepth::Deep).expect("it is whole");
    let all = found(snapshot, &QuadPattern::default());
    assert!(all.iter().eq(quads), "it has these quads");
    let nowhere = quad(FIRST, OF_NONE, number(0), resource(6));
    let probes: Vec<QuadIds> = all.iter().step_by(23).copied().chain([nowhere]).collect();
    check_patterns(snapshot, quads, &probes)?;
    let objects: Vec<TermId> = probes.iter().map(|probe| probe.object).collect();
    counts::check(snapshot, &objects)?;
    neighbours::check(snapshot, quads, 2)?;
    check_blocks(snapshot)
}

#[test]
fn a_predicate_is_found_wherever_it_is_and_nowhere_else() {
    let (snapshot, quads) = build();
    check(&snapshot, &quads).expect("the version has all that it should");
    // Some of each predicate go, others come, in tables with a column of it, in others, and where there is no table.
    let removed: Vec<QuadIds> = quads.iter().step_by(3).copied().collect();
    let subjects = (FIRST..RESOURCES).step_by(5);
    let added: Vec<QuadIds> = subjects
        .zip((OF_ALL..OF_NONE).cycle())
        .flat_map(|(subject, predicate)| {
            [TermId::DEFAULT_GRAPH, resource(6)]
                .map(|graph| quad(subject, predicate, resource(FIRST), graph))
        })
        .collect();
    let changed = |snapshot: &Snapshot, removed: &[QuadIds], added: &[QuadIds]| {
        let changed = snapshot.with_changes(removed, added);
        changed.expect("they are valid").0
    };
    let fewer = changed(&snapshot, &removed, &[]);
    let mut left = quads.clone();
    left.retain(|quad| removed.binary_search(quad).is_err());
    check(&fewer, &left).expect("removed quads are gone");
    assert_eq!(fewer.predicate_quads(resource(ADDED)), 0);
    let more = changed(&fewer, &[], &added);
    left.extend(added);
    check(&more, &left).expect("added quads are there");
    assert!(more.predicate_quads(resource(ADDED)) > 0);
    check(&snapshot, &quads).expect("the version is as it was");
}

#[test]
fn cells_and_tables_of_a_predicate_are_those_of_a_look_at_each_table() {
    let (snapshot, _) = build();
    let version = snapshot.parts();
    let predicates = (0..RARE + TABLES).map(resource).chain([number(1)]);
    for predicate in predicates {
        let tables = version.tables.iter().enumerate();
        let expected: Vec<usize> = tables
            .filter(|(_, table)| table.cells(predicate).is_some())
            .map(|(table_idx, _)| table_idx)
            .collect();
        let cells = version.cells_of(predicate);
        assert_eq!(cells.len(), expected.len());
        for (&expected, (table_idx, table, cells)) in expected.iter().zip(cells) {
            assert_eq!((table_idx, cells.predicate()), (expected, predicate));
            assert_eq!(table.name(), version.tables[expected].name());
        }
        let tables = version.tables_with(Some(predicate));
        assert!(tables.map(|(table_idx, _)| table_idx).eq(expected));
    }
    let all = version.tables_with(None).map(|(table_idx, _)| table_idx);
    assert!(all.eq(0..TABLES as usize));
}

#[test]
fn links_to_a_table_are_the_values_that_are_its_rows() {
    let (snapshot, _) = build();
    for target in 0..TABLES {
        let rows = first_of(target)..first_of(target) + ROWS;
        let values = (0..TABLES)
            .flat_map(|table| (0..ROWS).filter_map(move |row| value(table, row, OF_ALL)));
        let expected = values
            .filter(|value| rows.contains(&value.payload()))
            .count();
        assert_eq!(snapshot.links_to_table(target as usize), expected as u64);
    }
}
