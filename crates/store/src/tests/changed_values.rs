//! What a delta tells of changed subjects is what there is of them, and its counts of places are right about all of them.

use crate::{QuadIds, Snapshot};
use basalt_rdf::TermId;
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
    let chunks = snapshot.changed_values(predicate, first, last);
    let mut told = Vec::new();
    for chunk in chunks.expect("reads") {
        for (place, &subject) in chunk.subjects().iter().enumerate() {
            told.push(subject);
            let of_subject = quads.iter().filter(|q| q.subject.0 == subject);
            let mut expected: Vec<u64> = of_subject.map(|q| q.object.0).collect();
            expected.sort_unstable();
            prop_assert_eq!(chunk.objects(place), expected);
        }
    }
    prop_assert!(told.is_sorted_by(|a, b| a < b));
    for (table_idx, table) in snapshot.tables().iter().enumerate() {
        let mut rows = RoaringBitmap::new();
        snapshot.add_changed_rows(table_idx, predicate, &mut rows);
        for row in rows {
            prop_assert!(told.binary_search(&table.subject(row).0).is_ok());
        }
    }
    Ok(())
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
