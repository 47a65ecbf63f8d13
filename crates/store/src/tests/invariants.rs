//! Versions that break an invariant are written on purpose; the deep check must say so.

use super::splitter::{number, quad, resource, string, write_dictionary};
use crate::table::{
    ColumnDefinition, ColumnKind, HomeGraph, SegmentValues, TableDefinition, TypeClass,
};
use crate::{CheckDepth, QuadIds, Snapshot, Storage, StoreError, VersionWriter};
use basalt_rdf::{InlineForms, TermId};

fn table(first_ordinal: u64) -> TableDefinition {
    let column = |predicate, type_class, kind| ColumnDefinition {
        predicate: resource(predicate),
        type_class,
        kind,
        wants_inverse: true,
        link_target: None,
    };
    TableDefinition {
        name: "table".to_owned(),
        classes: Vec::new(),
        first_ordinal,
        rows: 3,
        columns: vec![
            column(0, TypeClass::NUMERIC, ColumnKind::Single),
            column(1, TypeClass::ANY, ColumnKind::List),
        ],
        home_graph: HomeGraph::Constant(TermId::DEFAULT_GRAPH),
    }
}

/// A table of three rows; row `i` has number `i`, and row 1 the list.
fn build(single: [TermId; 3], list: &[TermId], quads: &[QuadIds]) -> Snapshot {
    let mut writer = VersionWriter::create(Storage::Memory).expect("a writer");
    write_dictionary(&mut writer, InlineForms::default());
    let mut table = writer.begin_table(table(10)).expect("it is valid");
    table
        .segment(0, SegmentValues::Single(&single.map(|id| id.0)))
        .expect("it fits");
    let values: Vec<u64> = list.iter().map(|id| id.0).collect();
    let end = values.len() as u32;
    let lists = SegmentValues::Lists {
        offsets: &[0, 0, end, end],
        values: &values,
    };
    table.segment(1, lists).expect("it fits");
    table.finish().expect("it is complete");
    writer
        .irregular_quads(quads.to_vec())
        .expect("they are valid");
    writer.commit().expect("it opens")
}

fn numbers() -> [TermId; 3] {
    [number(0), number(1), number(2)]
}

fn complaint(snapshot: &Snapshot) -> String {
    match snapshot.check(CheckDepth::Deep) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_sound_version_passes() {
    let quads = [
        quad(10, 0, number(5), TermId::DEFAULT_GRAPH),
        quad(11, 1, string(4), resource(6)),
    ];
    let list = [string(3), string(4), resource(5)];
    assert_eq!(complaint(&build(numbers(), &list, &quads)), "");
}

#[test]
fn a_quad_in_two_places_is_found() {
    let quads = [quad(12, 0, number(2), TermId::DEFAULT_GRAPH)];
    let complaint = complaint(&build(numbers(), &[], &quads));
    assert!(complaint.contains("also in a cell"), "{complaint}");
}

#[test]
fn a_value_twice_in_a_list_is_found() {
    let complaint = complaint(&build(numbers(), &[string(3), string(3)], &[]));
    assert!(complaint.contains("twice"), "{complaint}");
}

#[test]
fn a_value_of_another_type_class_is_found() {
    let complaint = complaint(&build([string(1), number(1), number(2)], &[], &[]));
    assert!(complaint.contains("does not belong"), "{complaint}");
}

#[test]
fn an_id_without_term_is_found() {
    let complaint = complaint(&build(numbers(), &[string(99)], &[]));
    assert!(complaint.contains("does not belong"), "{complaint}");
    let quads = [quad(10, 0, resource(500), TermId::DEFAULT_GRAPH)];
    let complaint = self::complaint(&build(numbers(), &[], &quads));
    assert!(complaint.contains("unknown"), "{complaint}");
}

#[test]
fn overlapping_extents_are_refused() {
    let mut writer = VersionWriter::create(Storage::Memory).expect("a writer");
    for first in [10, 12] {
        let mut table = writer.begin_table(table(first)).expect("it is valid");
        let none = [0; 3];
        for column_idx in 0..2 {
            table
                .segment(column_idx, SegmentValues::Single(&none))
                .expect("it fits");
        }
        table.finish().expect("it is complete");
    }
    let error = writer.commit().expect_err("rows 12 are two");
    assert!(error.to_string().contains("overlaps"), "{error}");
}

#[test]
fn what_cannot_be_stored_is_refused() {
    let mut writer = VersionWriter::create(Storage::Memory).expect("a writer");
    for wrong in [
        quad(1, 2, TermId::UNBOUND, TermId::DEFAULT_GRAPH),
        quad(1, 2, TermId::DEFAULT_GRAPH, TermId::DEFAULT_GRAPH),
        quad(1, 2, number(1), TermId::UNBOUND),
        quad(1, 2, number(1), number(1)),
    ] {
        let refused = writer.irregular_quads(vec![wrong]);
        assert!(matches!(refused, Err(StoreError::InvalidInput { .. })));
    }
}

#[test]
fn segments_that_do_not_fit_are_refused() {
    let mut writer = VersionWriter::create(Storage::Memory).expect("a writer");
    let mut table = writer.begin_table(table(10)).expect("it is valid");
    let too_many = [number(1).0; 4];
    let two_of_one_row = SegmentValues::Lists {
        offsets: &[0, 2, 2, 2],
        values: &too_many[..2],
    };
    for refused in [
        table.segment(0, SegmentValues::Single(&too_many)),
        table.segment(0, SegmentValues::Single(&too_many[..2])),
        table.segment(0, two_of_one_row),
        table.segment(7, SegmentValues::Single(&too_many[..3])),
        table.graph_segment(&too_many[..3]),
        table.finish(),
    ] {
        assert!(matches!(refused, Err(StoreError::InvalidInput { .. })));
    }
}

#[test]
fn overlapping_type_classes_are_refused() {
    let mut writer = VersionWriter::create(Storage::Memory).expect("a writer");
    let mut definition = table(10);
    definition.columns[1].predicate = resource(0);
    let refused = writer.begin_table(definition);
    assert!(matches!(refused, Err(StoreError::InvalidInput { .. })));
}
