//! Neighbours of many nodes are what a filter over the set finds, and large predicates span blocks.

use super::patterns::quads;
use super::splitter::{load, resource};
use crate::{Direction, QuadIds, Snapshot, Storage};
use basalt_rdf::TermId;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// (position, other end, graph) of everything found, sorted; repeats stay.
fn found(
    snapshot: &Snapshot,
    predicate: TermId,
    direction: Direction,
    nodes: &[u64],
) -> Vec<(usize, TermId, TermId)> {
    let mut all = Vec::new();
    snapshot
        .neighbours(
            predicate,
            direction,
            nodes,
            &mut |position, other, graph| {
                all.push((position, other, graph));
            },
        )
        .expect("the version is whole");
    all.sort_unstable();
    all
}

fn expected(
    quads: &BTreeSet<QuadIds>,
    predicate: TermId,
    direction: Direction,
    nodes: &[u64],
) -> Vec<(usize, TermId, TermId)> {
    let mut all = Vec::new();
    for quad in quads.iter().filter(|quad| quad.predicate == predicate) {
        let (near, far) = match direction {
            Direction::Forward => (quad.subject, quad.object),
            Direction::Backward => (quad.object, quad.subject),
        };
        if let Ok(position) = nodes.binary_search(&near.0) {
            all.push((position, far, quad.graph));
        }
    }
    all.sort_unstable();
    all
}

/// Asks for the neighbours of every so many of the nodes.
pub(super) fn check(
    snapshot: &Snapshot,
    quads: &BTreeSet<QuadIds>,
    every: usize,
) -> Result<(), TestCaseError> {
    let ends = quads
        .iter()
        .flat_map(|quad| [quad.subject.0, quad.object.0]);
    let nodes: BTreeSet<u64> = ends.chain([resource(79).0, 1]).collect();
    let nodes: Vec<u64> = nodes.into_iter().step_by(every).collect();
    for predicate in (0..6).map(resource) {
        for direction in [Direction::Forward, Direction::Backward] {
            let all = found(snapshot, predicate, direction, &nodes);
            prop_assert_eq!(all, expected(quads, predicate, direction, &nodes));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn neighbours_are_what_a_filter_finds(quads in quads(400), every in 1..7_usize) {
        check(&load(&quads, Storage::Memory), &quads, every)?;
    }
}

#[test]
fn keys_that_span_blocks_are_found_whole() {
    // Subjects outside every table: 60 to 79; one has more quads than fit into a block.
    let subject = |i: i64| match i {
        0..100 => 60,
        100..4000 => 61 + u64::from(i > 2500),
        _ => 63 + (i % 10) as u64,
    };
    let quads: BTreeSet<QuadIds> = (0..6000_i64)
        .map(|i| QuadIds {
            subject: resource(subject(i)),
            predicate: resource(5),
            object: super::splitter::number(i / 3),
            graph: TermId::DEFAULT_GRAPH,
        })
        .collect();
    let snapshot = load(&quads, Storage::Memory);
    assert_eq!(snapshot.quad_table().quad_count(), quads.len() as u64);
    for step in [1, 2, 3, 20] {
        let nodes: Vec<u64> = (60..80).step_by(step).map(|i| resource(i).0).collect();
        let all = found(&snapshot, resource(5), Direction::Forward, &nodes);
        assert_eq!(
            all,
            expected(&quads, resource(5), Direction::Forward, &nodes)
        );
    }
    let values: BTreeSet<u64> = quads.iter().map(|quad| quad.object.0).collect();
    for step in [1, 7, 900] {
        let nodes: Vec<u64> = values.iter().copied().step_by(step).collect();
        let all = found(&snapshot, resource(5), Direction::Backward, &nodes);
        assert_eq!(
            all,
            expected(&quads, resource(5), Direction::Backward, &nodes)
        );
    }
}
