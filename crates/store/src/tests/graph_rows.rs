//! The rows of a home graph: through the inverse where graphs are many, by searching and then through one in memory where they are few.

use super::splitter::{number, resource, write_resources};
use crate::table::{
    ColumnDefinition, ColumnKind, HomeGraph, SegmentValues, TableDefinition, TypeClass,
};
use crate::{CheckDepth, QuadPattern, Snapshot, Storage, VersionWriter, encode_segment};
use basalt_columns::SEGMENT_ROWS;
use basalt_rdf::TermId;
use std::ops::ControlFlow;

const ROWS: u32 = 40_000;
const FIRST: u64 = 1_000;

/// Every ninth row is in the default graph, the others in one of so many.
fn home_of(row: u32, graphs: u32) -> TermId {
    match row.is_multiple_of(9) {
        true => TermId::DEFAULT_GRAPH,
        false => resource(u64::from(row * 7 % graphs)),
    }
}

fn build(graphs: u32) -> Snapshot {
    let mut writer = VersionWriter::create(Storage::Memory).expect("a writer");
    write_resources(&mut writer, FIRST + u64::from(ROWS));
    let mut table = writer
        .begin_table(TableDefinition {
            name: "of many graphs".to_owned(),
            classes: Vec::new(),
            first_ordinal: FIRST,
            rows: ROWS,
            columns: vec![ColumnDefinition {
                predicate: resource(999),
                type_class: TypeClass::NUMERIC,
                kind: ColumnKind::Single,
                wants_inverse: false,
                link_target: None,
            }],
            home_graph: HomeGraph::Column,
        })
        .expect("a valid definition");
    let rows: Vec<u32> = (0..ROWS).collect();
    for part in rows.chunks(SEGMENT_ROWS) {
        let values: Vec<u64> = part.iter().map(|&r| number(i64::from(r)).0).collect();
        let segment = encode_segment(&SegmentValues::Single(&values));
        table.push(0, segment).expect("the segment fits");
        let homes: Vec<u64> = part.iter().map(|&row| home_of(row, graphs).0).collect();
        table.graph_segment(&homes).expect("graphs fit");
    }
    table.finish().expect("the table is complete");
    writer.commit().expect("the commit succeeds")
}

#[test]
fn all_rows_in_graphs_are_those_that_are_in_them() {
    for (graphs, has_inverse) in [(600, true), (20, true), (3, false)] {
        let snapshot = build(graphs);
        snapshot.check(CheckDepth::Deep).expect("it is whole");
        let table = &snapshot.tables()[0];
        let column = table.graph_column().expect("graphs differ");
        assert_eq!(column.inverse.is_some(), has_inverse, "{graphs}");
        let all = (0..u64::from(graphs) + 1).map(resource);
        for graph in all.chain([TermId::DEFAULT_GRAPH]) {
            let expected = || (0..ROWS).filter(|&row| home_of(row, graphs) == graph);
            // Often enough for an inverse in memory.
            for _ in 0..if has_inverse { 1 } else { 70 } {
                let mut rows = Vec::new();
                table.all_rows_in_graph(graph, &mut rows);
                assert!(rows.into_iter().eq(expected()), "{graph:?} of {graphs}");
            }
            let pattern = QuadPattern {
                graph: Some(graph),
                ..QuadPattern::default()
            };
            let mut subjects = Vec::new();
            let mut on_quad = |quad: crate::QuadIds| {
                subjects.push(quad.subject);
                ControlFlow::Continue(())
            };
            let visited = snapshot.matching(&pattern, &mut on_quad);
            visited.expect("it can be read");
            let expected = expected().map(|row| resource(FIRST + u64::from(row)));
            assert!(subjects.into_iter().eq(expected), "{graph:?} of {graphs}");
        }
    }
}
