//! A small world of two tables, and a loader for it that decides quad by quad.
//!
//! Table 0 has one home graph, a single link column with adjacency, two columns of one predicate
//! and a list column of anything with an inverse. Table 1 has home graphs of its own.

use crate::table::{
    ColumnDefinition, ColumnKind, HomeGraph, SegmentValues, TableDefinition, TypeClass,
};
use crate::{CharacteristicSet, QuadIds, Snapshot, Storage, StoreStatistics, VersionWriter};
use basalt_rdf::qualifiers::Qualifiers;
use basalt_rdf::term_id::tag;
use basalt_rdf::{InlineForms, TermId};
use std::collections::{BTreeMap, BTreeSet};

/// Resources of the dictionary; predicates are 0..6, graphs 6..9, other subjects 60..80.
pub(super) const RESOURCES: u64 = 80;
/// Literals of the dictionary.
pub(super) const LITERALS: u64 = 10;

pub(super) fn resource(ordinal: u64) -> TermId {
    TermId::resource(ordinal)
}

pub(super) fn quad(subject: u64, predicate: u64, object: TermId, graph: TermId) -> QuadIds {
    QuadIds {
        subject: resource(subject),
        predicate: resource(predicate),
        object,
        graph,
    }
}

pub(super) fn number(value: i64) -> TermId {
    TermId::numeric(0, value, 0).expect("a small number")
}

pub(super) fn string(ordinal: u64) -> TermId {
    TermId::new(tag::STRING, ordinal)
}

fn column(
    predicate: u64,
    type_class: TypeClass,
    kind: ColumnKind,
    wants_inverse: bool,
    link_target: Option<usize>,
) -> ColumnDefinition {
    ColumnDefinition {
        predicate: resource(predicate),
        type_class,
        kind,
        wants_inverse,
        link_target,
    }
}

fn definitions() -> [TableDefinition; 2] {
    use ColumnKind::{List, Single};
    let first = TableDefinition {
        name: "first".to_owned(),
        classes: vec![resource(60)],
        first_ordinal: 10,
        rows: 20,
        columns: vec![
            column(0, TypeClass::RESOURCE, Single, true, Some(1)),
            column(1, TypeClass::NUMERIC, List, false, None),
            column(1, TypeClass::RESOURCE, List, true, None),
            column(2, TypeClass::ANY, List, true, None),
        ],
        home_graph: HomeGraph::Constant(TermId::DEFAULT_GRAPH),
    };
    let second = TableDefinition {
        name: "second".to_owned(),
        classes: Vec::new(),
        first_ordinal: 40,
        rows: 15,
        columns: vec![
            column(0, TypeClass::RESOURCE, List, true, Some(0)),
            column(3, TypeClass::NUMERIC, Single, false, None),
            column(2, TypeClass::STRING, Single, true, None),
        ],
        home_graph: HomeGraph::Column,
    };
    [first, second]
}

/// The home graph of a row of table 1.
fn home_of(row: u32) -> TermId {
    match row % 3 {
        0 => TermId::DEFAULT_GRAPH,
        1 => resource(6),
        _ => resource(7),
    }
}

/// Whether the loader moves this quad to the quad table though a cell would take it.
pub(super) fn is_moved(quad: &QuadIds) -> bool {
    let sum = quad.subject.0 ^ quad.predicate.0.wrapping_mul(7) ^ quad.object.0.wrapping_mul(31);
    sum.is_multiple_of(4)
}

/// Values by column and row.
type CellValues = Vec<Vec<Vec<u64>>>;

/// Loads the quads and commits.
pub(super) fn load(quads: &BTreeSet<QuadIds>, storage: Storage) -> Snapshot {
    load_of(InlineForms::default(), quads, storage)
}

/// The same into a store of which these literals are inline.
pub(super) fn load_of(forms: InlineForms, quads: &BTreeSet<QuadIds>, storage: Storage) -> Snapshot {
    let definitions = definitions();
    let mut cells: Vec<CellValues> = definitions
        .iter()
        .map(|d| vec![vec![Vec::new(); d.rows as usize]; d.columns.len()])
        .collect();
    let mut irregular = Vec::new();
    for quad in quads {
        if !place(quad, &definitions, &mut cells) {
            irregular.push(*quad);
        }
    }
    // Any order and repeats are allowed.
    irregular.reverse();
    irregular.extend_from_within(..irregular.len() / 2);

    let mut writer = VersionWriter::create(storage).expect("a writer");
    write_dictionary(&mut writer, forms);
    for (definition, cells) in definitions.into_iter().zip(&cells) {
        write_table(&mut writer, definition, cells);
    }
    writer.irregular_quads(irregular).expect("quads are valid");
    writer.statistics(StoreStatistics {
        characteristic_sets: sets(quads),
        subject_count: 7,
        ..StoreStatistics::default()
    });
    writer.commit().expect("the commit succeeds")
}

fn place(quad: &QuadIds, definitions: &[TableDefinition], cells: &mut [CellValues]) -> bool {
    let ordinal = quad.subject.payload();
    for (definition, cells) in definitions.iter().zip(cells) {
        let Some(row) = ordinal.checked_sub(definition.first_ordinal) else {
            continue;
        };
        if row >= u64::from(definition.rows) {
            continue;
        }
        let home = match definition.home_graph {
            HomeGraph::Constant(graph) => graph,
            HomeGraph::Column => home_of(row as u32),
        };
        let column_idx = definition
            .columns
            .iter()
            .position(|c| c.predicate == quad.predicate && c.type_class.takes(quad.object));
        if let Some(column_idx) = column_idx
            && home == quad.graph
            && !is_moved(quad)
        {
            let cell = &mut cells[column_idx][row as usize];
            if definition.columns[column_idx].kind == ColumnKind::List || cell.is_empty() {
                cell.push(quad.object.0);
                return true;
            }
        }
    }
    false
}

/// Writes a dictionary of so many resources and nothing else.
pub(super) fn write_resources(writer: &mut VersionWriter, count: u64) {
    let mut dictionary = writer.dictionary().expect("the first dictionary");
    for ordinal in 0..count {
        let iri = format!("http://example.org/{ordinal}");
        dictionary.push_iri(&iri).expect("memory has room");
    }
    dictionary
        .finish(&Qualifiers::new())
        .expect("memory has room");
}

pub(super) fn write_dictionary(writer: &mut VersionWriter, forms: InlineForms) {
    let mut dictionary = writer.dictionary().expect("the first dictionary");
    for ordinal in 0..RESOURCES {
        let iri = format!("http://example.org/{ordinal}");
        let pushed = dictionary.push_iri(&iri).expect("memory has room");
        assert_eq!(pushed, ordinal);
    }
    for ordinal in 0..LITERALS {
        let text = format!("text {ordinal}");
        let pushed = dictionary
            .push_literal(tag::STRING, 0, &text)
            .expect("memory has room");
        assert_eq!(pushed, ordinal);
    }
    dictionary
        .finish(&Qualifiers::of_forms(forms))
        .expect("memory has room");
}

fn write_table(writer: &mut VersionWriter, definition: TableDefinition, cells: &CellValues) {
    let rows = definition.rows;
    let has_graphs = definition.home_graph == HomeGraph::Column;
    let kinds: Vec<ColumnKind> = definition.columns.iter().map(|c| c.kind).collect();
    let mut table = writer.begin_table(definition).expect("a valid definition");
    for (column_idx, (column, kind)) in cells.iter().zip(kinds).enumerate() {
        if kind == ColumnKind::Single {
            let values: Vec<u64> = column
                .iter()
                .map(|cell| cell.first().copied().unwrap_or_default())
                .collect();
            table.segment(column_idx, SegmentValues::Single(&values))
        } else {
            let mut offsets = vec![0];
            let mut values = Vec::new();
            for cell in column {
                values.extend_from_slice(cell);
                offsets.push(values.len() as u32);
            }
            let lists = SegmentValues::Lists {
                offsets: &offsets,
                values: &values,
            };
            table.segment(column_idx, lists)
        }
        .expect("the segment fits");
    }
    if has_graphs {
        let graphs: Vec<u64> = (0..rows).map(|row| home_of(row).0).collect();
        table.graph_segment(&graphs).expect("graphs fit");
    }
    table.finish().expect("the table is complete");
}

/// The characteristic sets of the quads.
fn sets(quads: &BTreeSet<QuadIds>) -> Vec<CharacteristicSet> {
    let mut subjects: BTreeMap<TermId, BTreeMap<TermId, u64>> = BTreeMap::new();
    for quad in quads {
        let predicates = subjects.entry(quad.subject).or_default();
        *predicates.entry(quad.predicate).or_default() += 1;
    }
    subjects
        .into_values()
        .map(|predicates| CharacteristicSet {
            subjects: 1,
            values: predicates.values().copied().collect(),
            predicates: predicates.into_keys().collect(),
            table: None,
        })
        .collect()
}
