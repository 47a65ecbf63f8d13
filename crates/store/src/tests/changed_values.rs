//! What a delta tells of changed subjects is what there is of them, and its counts of places are right about all of them.

use super::splitter::{is_moved, load, number, resource};
use crate::delta::VALUES_MAX;
use crate::{ChangedValues, CheckDepth, QuadIds, Snapshot, Storage, StoreError};
use basalt_rdf::{TermId, TermView};
use proptest::prelude::*;
use roaring::RoaringBitmap;
use std::collections::{BTreeMap, BTreeSet};

/// Compares columns of changes, and what is said of where they stand, with the quads that there are.
pub(super) fn check(snapshot: &Snapshot, quads: &BTreeSet<QuadIds>) -> Result<(), TestCaseError> {
    let predicates: BTreeSet<TermId> = quads.iter().map(|q| q.predicate).collect();
    for predicate in predicates {
        let of_predicate = quads.iter().filter(|q| q.predicate == predicate);
        let of_predicate: Vec<&QuadIds> = of_predicate.collect();
        columns(snapshot, predicate, &of_predicate)?;
        places(snapshot, predicate, &of_predicate)?;
        links(snapshot, predicate, &of_predicate)?;
        by_objects(snapshot, predicate, &of_predicate)?;
    }
    Ok(())
}

fn columns(
    snapshot: &Snapshot,
    predicate: TermId,
    quads: &[&QuadIds],
) -> Result<(), TestCaseError> {
    let (first, last) = (TermId::resource(0), TermId::resource(1 << 40));
    let chunks = snapshot.changed_values::<StoreError>(predicate, first, last, &mut || Ok(()));
    let (mut told, mut emptied) = (Vec::new(), Vec::new());
    for chunk in chunks.expect("reads") {
        let mut untold = chunk.untold().peekable();
        for (place, &subject) in chunk.subjects().iter().enumerate() {
            told.push(subject);
            prop_assert!(chunk.emptied().binary_search(&subject).is_err());
            let Some(objects) = chunk.objects(place) else {
                prop_assert_eq!(untold.next(), Some(subject));
                prop_assert!(may_be_irregular(snapshot, predicate, TermId(subject)));
                continue;
            };
            let of_subject = quads.iter().filter(|q| q.subject.0 == subject);
            let mut expected: Vec<u64> = of_subject.map(|q| q.object.0).collect();
            expected.sort_unstable();
            prop_assert!(!expected.is_empty());
            prop_assert_eq!(objects, &expected[..]);
        }
        prop_assert!(untold.next().is_none());
        let of_emptied = |subject| quads.iter().any(|q| q.subject.0 == subject);
        prop_assert!(!chunk.emptied().iter().copied().any(of_emptied));
        prop_assert!(chunk.emptied().is_sorted_by(|a, b| a < b));
        if let Some(objects) = chunk.single_objects() {
            let each = (0..objects.len()).map(|place| chunk.objects(place));
            prop_assert!(each.eq(objects.chunks(1).map(Some)));
        }
        emptied.extend_from_slice(chunk.emptied());
    }
    prop_assert!(told.is_sorted_by(|a, b| a < b));
    for (table_idx, table) in snapshot.tables().iter().enumerate() {
        let mut rows = RoaringBitmap::new();
        snapshot.add_changed_rows(table_idx, predicate, &mut rows);
        for row in rows {
            let subject = table.subject(row).0;
            let is_told = told.binary_search(&subject).is_ok();
            prop_assert!(is_told || emptied.binary_search(&subject).is_ok());
        }
    }
    Ok(())
}

/// Whether the version has irregular quads of a subject, or knows it and has it in no table.
fn may_be_irregular(snapshot: &Snapshot, predicate: TermId, subject: TermId) -> bool {
    let Some((table_idx, row)) = snapshot.row_of(subject) else {
        return subject.resource_ordinal() < Some(snapshot.first_new_resource());
    };
    let mut rows = RoaringBitmap::new();
    snapshot.add_irregular_rows(table_idx, predicate, &mut rows);
    rows.contains(row)
}

fn places(snapshot: &Snapshot, predicate: TermId, quads: &[&QuadIds]) -> Result<(), TestCaseError> {
    let places = snapshot.change_places(predicate);
    let is_new = |q: &&&QuadIds| {
        let ordinal = q.subject.resource_ordinal().expect("a subject");
        ordinal >= snapshot.first_new_resource()
    };
    let new: BTreeSet<TermId> = quads.iter().filter(is_new).map(|q| q.graph).collect();
    prop_assert_eq!(places.new, quads.iter().filter(is_new).count() as u64);
    prop_assert_eq!(new.len() == 1, places.new_graph.is_some());
    prop_assert!(places.new_graph.is_none_or(|graph| new.contains(&graph)));
    let mut irregular = 0;
    for quad in quads {
        let Some((table_idx, row)) = snapshot.row_of(quad.subject) else {
            continue;
        };
        let mut of_version = RoaringBitmap::new();
        snapshot.add_irregular_rows(table_idx, predicate, &mut of_version);
        let home = snapshot.tables()[table_idx].graph(row);
        irregular += u64::from(!of_version.contains(row) && home != quad.graph);
    }
    // Rows that have irregular quads in the version may have foreign ones among the added quads too.
    prop_assert!(places.foreign >= irregular);
    Ok(())
}

fn links(snapshot: &Snapshot, predicate: TermId, quads: &[&QuadIds]) -> Result<(), TestCaseError> {
    let added: BTreeMap<usize, u64> = snapshot.added_links(predicate).into_iter().collect();
    prop_assert!(added.values().all(|&count| count > 0));
    let tables = snapshot.tables().iter();
    let cells = tables.filter_map(|table| table.cells(predicate));
    // Links are counted by inverses.
    let is_told = cells.clone().all(|cells| cells.has_inverse());
    if snapshot.irregular_of_version(predicate) > 0 || !is_told {
        return Ok(());
    }
    let linked = cells.flat_map(|cells| cells.statistics().links.iter());
    let linked: BTreeSet<usize> = linked.map(|(idx, _)| *idx).collect();
    for quad in quads {
        if let Some((table_idx, _)) = snapshot.row_of(quad.object) {
            prop_assert!(linked.contains(&table_idx) || added.contains_key(&table_idx));
        }
    }
    Ok(())
}

fn by_objects(
    snapshot: &Snapshot,
    predicate: TermId,
    quads: &[&QuadIds],
) -> Result<(), TestCaseError> {
    let objects: BTreeSet<u64> = quads.iter().map(|q| q.object.0).step_by(2).collect();
    let objects: Vec<u64> = objects.into_iter().collect();
    let irregular = snapshot.quad_table();
    let mut together = Vec::new();
    let mut on_quad = |at: usize, subject, graph| together.push((objects[at], subject, graph));
    let read = irregular.by_objects(predicate, &objects, &mut on_quad);
    read.expect("reads");
    let mut singly = Vec::new();
    for &object in &objects {
        let mut found = Vec::new();
        let read = irregular.by_object(predicate, TermId(object), &mut found);
        read.expect("reads");
        singly.extend(found.into_iter().map(|(s, g)| (object, s, g)));
    }
    together.sort_unstable();
    singly.sort_unstable();
    prop_assert_eq!(together, singly);
    Ok(())
}

const PREDICATE: u64 = 2;

/// Quads of a row that are all in its cell.
fn of_row(subject: u64, count: usize) -> impl Iterator<Item = QuadIds> {
    let quads = (0..).map(move |object| QuadIds {
        subject: resource(subject),
        predicate: resource(PREDICATE),
        object: number(object),
        graph: TermId::DEFAULT_GRAPH,
    });
    quads.filter(|quad| !is_moved(quad)).take(count)
}

/// Subjects with the number of their objects, if these are told.
type Told = Vec<(u64, Option<usize>)>;

/// All chunks, and how often it was asked whether to go on; `questions_max` are answered with yes.
fn read(snapshot: &Snapshot, questions_max: usize) -> (Option<Told>, usize) {
    let (first, last) = (resource(0), resource(1 << 40));
    let mut asked = 0;
    let chunks = snapshot.changed_values(resource(PREDICATE), first, last, &mut || {
        asked += 1;
        match asked <= questions_max {
            true => Ok(()),
            false => Err(StoreError::invalid("enough")),
        }
    });
    let of_chunk = |chunk: &ChangedValues| {
        let places = chunk.subjects().iter().enumerate();
        let told =
            places.map(|(place, &subject)| (subject, chunk.objects(place).map(<[u64]>::len)));
        told.collect::<Told>()
    };
    let told = chunks
        .ok()
        .map(|chunks| chunks.into_iter().flat_map(of_chunk).collect());
    (told, asked)
}

/// Subjects of many values: in cells, added ones, both together, and some that are gone again; beside them a small one.
fn with_large_subjects() -> (Snapshot, Told) {
    let half = VALUES_MAX / 2;
    let cells = [
        (12, VALUES_MAX + 1),
        (13, VALUES_MAX),
        (14, half),
        (15, half),
        (16, 2),
    ];
    let quads: BTreeSet<QuadIds> = cells
        .into_iter()
        .flat_map(|(s, count)| of_row(s, count))
        .collect();
    let base = load(&quads, Storage::Memory);
    let new = base
        .intern(TermView::Iri("http://example.org/new"))
        .expect("there is room");
    let more = |subject: u64, from: usize, count: usize| {
        let quads: Vec<QuadIds> = of_row(subject, from + count).skip(from).collect();
        quads.into_iter()
    };
    let added = more(14, half, half)
        .chain(more(15, half, half + 1))
        .chain(more(16, 2, 1))
        .chain(of_row(16, VALUES_MAX + 1).map(|quad| QuadIds {
            subject: new,
            ..quad
        }));
    let removed = more(12, 0, 2).chain(more(13, 0, 1));
    let (removed, added): (Vec<_>, Vec<_>) = (removed.collect(), added.collect());
    let (snapshot, _) = base.with_changes(&removed, &added).expect("they are valid");
    let expected = vec![
        // Those that are gone were read as well.
        (resource(12).0, None),
        (resource(13).0, Some(VALUES_MAX - 1)),
        (resource(14).0, Some(VALUES_MAX)),
        (resource(15).0, None),
        (resource(16).0, Some(3)),
        (new.0, None),
    ];
    (snapshot, expected)
}

#[test]
fn large_subjects_are_named_and_not_told() {
    let (snapshot, expected) = with_large_subjects();
    assert_eq!(read(&snapshot, usize::MAX).0.as_ref(), Some(&expected));
    snapshot
        .check(CheckDepth::Deep)
        .expect("columns are what quads say");
}

#[test]
fn who_stops_leaves_no_chunk_half_made() {
    let (whole, expected) = with_large_subjects();
    let (_, questions) = read(&whole, usize::MAX);
    assert!(questions >= 3, "asked {questions} times");
    let (snapshot, _) = with_large_subjects();
    for questions_max in 0..questions {
        let (told, asked) = read(&snapshot, questions_max);
        assert_eq!((told, asked), (None, questions_max + 1), "nothing was kept");
    }
    assert_eq!(
        read(&snapshot, questions),
        (Some(expected.clone()), questions)
    );
    // What is there is given without a question.
    assert_eq!(read(&snapshot, 0), (Some(expected), 0));
}
