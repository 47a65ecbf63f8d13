//! Counts of a version with the delta over it.
//!
//! What is known of the version plus what the delta changed. Numbers of distinct subjects cannot be added up: each subject
//! that the delta touches is looked at before and after. Invariant: as for the version, each answer is
//! what visiting all matching quads and counting them would give. Cost: that of the version, and of the
//! delta's quads of the predicate.

use super::{Delta, PredicateDelta};
use crate::counting::{self, GraphSet, PredicateGraph};
use crate::error::StoreError;
use crate::matching::QuadPattern;
use crate::snapshot::Version;
use basalt_rdf::TermId;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The changes of numbers by predicate and graph.
type Changes = BTreeMap<(TermId, TermId), i64>;

/// A number after a change, if there is anything left.
fn changed(number: u64, by: i64) -> Option<u64> {
    Some(number.saturating_add_signed(by)).filter(|&left| left > 0)
}

/// Adds changes to counted quads; both ascend by predicate and graph.
fn merge(counted: &[PredicateGraph], changes: &Changes) -> Vec<PredicateGraph> {
    let mut numbers: BTreeMap<(TermId, TermId), u64> = counted
        .iter()
        .map(|entry| ((entry.predicate, entry.graph), entry.quads))
        .collect();
    for (&key, &by) in changes {
        match changed(numbers.get(&key).copied().unwrap_or(0), by) {
            Some(left) => numbers.insert(key, left),
            None => numbers.remove(&key),
        };
    }
    let entries = numbers.into_iter();
    entries
        .map(|((predicate, graph), quads)| PredicateGraph {
            predicate,
            graph,
            quads,
        })
        .collect()
}

/// Quads by predicate and graph, ascending by both.
pub(crate) fn predicate_graphs<'a>(
    version: &'a Version,
    delta: Option<&'a Delta>,
) -> Result<&'a [PredicateGraph], StoreError> {
    let counted = counting::predicate_graphs(version)?;
    let Some(delta) = delta else {
        return Ok(counted);
    };
    Ok(delta.predicate_graphs.get_or_init(|| {
        let changes = delta.predicates().flat_map(|(predicate, changes)| {
            let graphs = changes.graphs();
            graphs.map(move |(graph, by)| ((predicate, graph), by))
        });
        merge(counted, &changes.collect())
    }))
}

/// The named graphs with the number of their quads, ascending.
pub(crate) fn named_graphs<'a>(
    of_version: &'a [(TermId, u64)],
    delta: &'a Delta,
) -> &'a [(TermId, u64)] {
    let is_named = |graph: &TermId| *graph != TermId::DEFAULT_GRAPH;
    if !delta.graphs.iter().any(|(graph, _)| is_named(graph)) {
        return of_version;
    }
    delta.named_graphs.get_or_init(|| {
        let mut numbers: BTreeMap<TermId, u64> = of_version.iter().copied().collect();
        for (&graph, &by) in delta.graphs.iter().filter(|(graph, _)| is_named(graph)) {
            match changed(numbers.get(&graph).copied().unwrap_or(0), by) {
                Some(left) => numbers.insert(graph, left),
                None => numbers.remove(&graph),
            };
        }
        numbers.into_iter().collect()
    })
}

/// Quads with this object by predicate (this one, or any) and graph, ascending by both.
pub(crate) fn object_graphs(
    version: &Version,
    delta: Option<&Delta>,
    predicate: Option<TermId>,
    object: TermId,
) -> Result<Vec<PredicateGraph>, StoreError> {
    let counted = counting::object_graphs(version, predicate, object)?;
    let Some(delta) = delta else {
        return Ok(counted);
    };
    let mut numbers = Changes::new();
    for predicate in delta.touched(predicate, None, Some(object)) {
        let Some(changes) = delta.of(predicate) else {
            continue;
        };
        for (_, graph) in changes.added().of_object(object) {
            *numbers.entry((predicate, graph)).or_default() += 1;
        }
        for (_, graph) in changes.removed().of_object(object) {
            *numbers.entry((predicate, graph)).or_default() -= 1;
        }
    }
    Ok(match numbers.is_empty() {
        true => counted,
        false => merge(&counted, &numbers),
    })
}

/// The objects of a predicate in these graphs with the number of their quads, ascending.
pub(crate) fn object_counts(
    version: &Version,
    delta: Option<&Delta>,
    predicate: TermId,
    graphs: &GraphSet,
) -> Result<Vec<(TermId, u64)>, StoreError> {
    let counted = counting::object_counts(version, predicate, graphs)?;
    let Some(changes) = delta.and_then(|delta| delta.of(predicate)) else {
        return Ok(counted);
    };
    let mut by_object: BTreeMap<TermId, i64> = BTreeMap::new();
    for (quads, by) in [(changes.added(), 1), (changes.removed(), -1)] {
        for (_, object, graph) in quads.iter() {
            if graphs.takes(graph) {
                *by_object.entry(object).or_default() += by;
            }
        }
    }
    let mut merged = Vec::with_capacity(counted.len() + by_object.len());
    let mut of_delta = by_object.into_iter().peekable();
    let put = |object, quads: Option<u64>, merged: &mut Vec<(TermId, u64)>| {
        merged.extend(quads.map(|quads| (object, quads)));
    };
    for (object, quads) in counted {
        while let Some((new, by)) = of_delta.next_if(|(new, _)| *new < object) {
            put(new, changed(0, by), &mut merged);
        }
        let by = of_delta.next_if(|(same, _)| *same == object);
        put(
            object,
            changed(quads, by.map_or(0, |(_, by)| by)),
            &mut merged,
        );
    }
    for (new, by) in of_delta {
        put(new, changed(0, by), &mut merged);
    }
    Ok(merged)
}

/// The number of subjects that have a quad of the predicate (or of any) in these graphs.
pub(crate) fn distinct_subjects(
    version: &Version,
    delta: Option<&Delta>,
    predicate: Option<TermId>,
    graphs: &GraphSet,
) -> Result<u64, StoreError> {
    let mut count = counting::distinct_subjects(version, predicate, graphs)?;
    let Some(delta) = delta else {
        return Ok(count);
    };
    let mut last = TermId::UNBOUND;
    for subject in touched_subjects(delta, predicate) {
        if std::mem::replace(&mut last, subject) == subject {
            continue;
        }
        let pattern = QuadPattern {
            subject: Some(subject),
            predicate,
            ..QuadPattern::default()
        };
        let was_there = is_matched(version, None, &pattern, graphs)?;
        let is_there = is_matched(version, Some(delta), &pattern, graphs)?;
        count = match (was_there, is_there) {
            (false, true) => count + 1,
            (true, false) => count.saturating_sub(1),
            _ => count,
        };
    }
    Ok(count)
}

/// The subjects of the delta's quads, ascending, with repeats.
fn touched_subjects(delta: &Delta, predicate: Option<TermId>) -> Vec<TermId> {
    let of_predicate = |changes: &PredicateDelta| {
        let added = changes.added().iter();
        let both = added.chain(changes.removed().iter());
        let mut subjects: Vec<TermId> = both.map(|(subject, ..)| subject).collect();
        subjects.sort_unstable();
        subjects
    };
    match predicate {
        Some(predicate) => delta.of(predicate).map_or_else(Vec::new, of_predicate),
        None => delta.subjects.iter().map(|([s, _], ())| *s).collect(),
    }
}

/// Whether a quad in these graphs matches.
fn is_matched(
    version: &Version,
    delta: Option<&Delta>,
    pattern: &QuadPattern,
    graphs: &GraphSet,
) -> Result<bool, StoreError> {
    let mut found = false;
    super::matching(version, delta, pattern, Some(graphs), &mut |quad| {
        found = graphs.takes(quad.graph);
        match found {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    Ok(found)
}
