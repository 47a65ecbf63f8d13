//! Counts from statistics equal the counts of quads visited one by one.

use super::patterns::{found, object, quads};
use super::splitter::{load, resource};
use crate::{GraphSet, PredicateGraph, QuadIds, QuadPattern, Snapshot, Storage};
use basalt_rdf::TermId;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn graph_sets() -> Vec<GraphSet> {
    let some = vec![resource(6), TermId::DEFAULT_GRAPH];
    vec![
        GraphSet::One(TermId::DEFAULT_GRAPH),
        GraphSet::One(resource(7)),
        GraphSet::One(resource(5)),
        GraphSet::Named(None),
        GraphSet::Named(Some(some.clone())),
        GraphSet::Any(None),
        GraphSet::Any(Some(some)),
        GraphSet::Any(Some(Vec::new())),
    ]
}

fn by_predicate_and_graph<'a>(quads: impl Iterator<Item = &'a QuadIds>) -> Vec<PredicateGraph> {
    let mut counts: BTreeMap<(TermId, TermId), u64> = BTreeMap::new();
    for quad in quads {
        *counts.entry((quad.predicate, quad.graph)).or_default() += 1;
    }
    let entries = counts.into_iter();
    entries
        .map(|((predicate, graph), quads)| PredicateGraph {
            predicate,
            graph,
            quads,
        })
        .collect()
}

fn subjects<'a>(quads: impl Iterator<Item = &'a QuadIds>) -> u64 {
    quads.map(|q| q.subject).collect::<BTreeSet<_>>().len() as u64
}

/// Compares all counts with what visiting gives.
pub(super) fn check(snapshot: &Snapshot, objects: &[TermId]) -> Result<(), TestCaseError> {
    let all = found(snapshot, &QuadPattern::default());
    let of_all = snapshot.predicate_totals().into_iter().flat_map(|(p, _)| {
        let counted = snapshot.predicate_graphs(p, &GraphSet::Any(None));
        counted.expect("reads").into_owned()
    });
    prop_assert!(of_all.eq(by_predicate_and_graph(all.iter())));
    let mut totals: BTreeMap<TermId, u64> = BTreeMap::new();
    all.iter()
        .for_each(|q| *totals.entry(q.predicate).or_default() += 1);
    prop_assert!(snapshot.predicate_totals().into_iter().eq(totals));
    for &object in objects {
        let same = |q: &&QuadIds| q.object == object;
        let counted = snapshot.object_graphs(None, object).expect("reads");
        prop_assert_eq!(counted, by_predicate_and_graph(all.iter().filter(same)));
        let of_predicate = all.iter().filter(same);
        let of_predicate = of_predicate.filter(|q| q.predicate == resource(2));
        let counted = snapshot.object_graphs(Some(resource(2)), object);
        prop_assert_eq!(
            counted.expect("reads"),
            by_predicate_and_graph(of_predicate)
        );
    }
    for graphs in graph_sets() {
        let taken = || all.iter().filter(|q| graphs.takes(q.graph));
        prop_assert_eq!(snapshot.quads_in(&graphs), taken().count() as u64);
        for _ in 0..2 {
            let counted = snapshot.distinct_subjects(None, &graphs).expect("reads");
            prop_assert_eq!(counted, subjects(taken()), "{:?}", graphs);
        }
        for predicate in (0..6).map(resource) {
            let of_predicate = || taken().filter(|q| q.predicate == predicate);
            let counted = snapshot.predicate_graphs(predicate, &graphs);
            let expected = by_predicate_and_graph(of_predicate());
            prop_assert_eq!(counted.expect("reads").into_owned(), expected);
            let counted = snapshot.distinct_subjects(Some(predicate), &graphs);
            let counted = counted.expect("reads");
            prop_assert_eq!(
                counted,
                subjects(of_predicate()),
                "{:?} {:?}",
                predicate,
                graphs
            );
            let mut expected: BTreeMap<TermId, u64> = BTreeMap::new();
            of_predicate().for_each(|q| *expected.entry(q.object).or_default() += 1);
            let expected: Vec<_> = expected.into_iter().collect();
            for _ in 0..2 {
                let counted = snapshot.object_counts(predicate, &graphs).expect("reads");
                prop_assert_eq!(&counted, &expected, "{:?} {:?}", predicate, graphs);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn counts_are_those_of_quads_visited(quads in quads(400), objects in proptest::collection::vec(object(), 6)) {
        check(&load(&quads, Storage::Memory), &objects)?;
    }
}
