//! Counts of a version with the delta over it.
//!
//! What is known of the version plus what the delta changed. Numbers of distinct subjects cannot be added up: each subject
//! that the delta touches is looked at before and after, those of one predicate together. Invariant: as for the version, each answer is
//! what visiting all matching quads and counting them would give. Cost: that of the version, and of the
//! delta's quads of the predicate.

use super::predicate_delta::TwoOrders;
use super::{Delta, PredicateDelta};
use crate::counting::{self, GraphSet, PredicateGraph, SUBJECT_COUNTS_MAX};
use crate::error::StoreError;
use crate::matching::QuadPattern;
use crate::neighbours::Direction;
use crate::snapshot::Version;
use basalt_columns::gallop;
use basalt_rdf::TermId;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::PoisonError;

/// The changes of numbers by predicate and graph.
type Changes = BTreeMap<(TermId, TermId), i64>;

/// A number after a change, if there is anything left.
fn changed(number: u64, by: i64) -> Option<u64> {
    Some(number.saturating_add_signed(by)).filter(|&left| left > 0)
}

/// Adds changes to numbers, both in the order of their keys; an entry has a key and its number.
fn merge<E: Copy, K: Copy + Ord>(
    counted: &[E],
    changes: impl IntoIterator<Item = (K, i64)>,
    parts: impl Fn(&E) -> (K, u64),
    entry: impl Fn(K, u64) -> E,
) -> Vec<E> {
    let changes = changes.into_iter();
    let mut merged = Vec::with_capacity(counted.len() + changes.size_hint().0);
    let mut left = counted;
    for (key, by) in changes {
        let (unchanged, from) = left.split_at(gallop(left.len(), |at| parts(&left[at]).0 < key));
        merged.extend_from_slice(unchanged);
        let same = from.first().map(&parts).filter(|(other, _)| *other == key);
        left = &from[usize::from(same.is_some())..];
        let number = changed(same.map_or(0, |(_, number)| number), by);
        merged.extend(number.map(|number| entry(key, number)));
    }
    merged.extend_from_slice(left);
    merged
}

/// Adds changes to counted quads; both ascend by predicate and graph.
fn merge_by_graph(counted: &[PredicateGraph], changes: Changes) -> Vec<PredicateGraph> {
    let parts = |entry: &PredicateGraph| ((entry.predicate, entry.graph), entry.quads);
    merge(counted, changes, parts, |(predicate, graph), quads| {
        PredicateGraph {
            predicate,
            graph,
            quads,
        }
    })
}

/// The quads of each predicate, ascending, wherever they are.
pub(crate) fn predicate_totals(version: &Version, delta: Option<&Delta>) -> Vec<(TermId, u64)> {
    let totals = version.statistics.predicates.iter();
    let totals: Vec<(TermId, u64)> = totals
        .map(|total| (total.predicate, total.quads()))
        .collect();
    let Some(delta) = delta else {
        return totals;
    };
    let changes = delta.predicates();
    let changes = changes.map(|(predicate, changes)| (predicate, changes.change()));
    merge(
        &totals,
        changes,
        |total| *total,
        |predicate, quads| (predicate, quads),
    )
}

/// The quads of a predicate in these graphs by graph, ascending.
pub(crate) fn predicate_graphs<'a>(
    version: &'a Version,
    delta: Option<&Delta>,
    predicate: TermId,
    graphs: &GraphSet,
) -> Result<Cow<'a, [PredicateGraph]>, StoreError> {
    let counted = counting::predicate_graphs(version, predicate, graphs)?;
    let Some(changes) = delta.and_then(|delta| delta.of(predicate)) else {
        return Ok(counted);
    };
    let changes = changes.graphs().filter(|(graph, _)| graphs.takes(*graph));
    let changes = changes.map(|(graph, by)| ((predicate, graph), by));
    Ok(Cow::Owned(merge_by_graph(&counted, changes.collect())))
}

/// How many quads some graphs have together.
pub(crate) fn quads_in(version: &Version, delta: Option<&Delta>, graphs: &GraphSet) -> u64 {
    let all = version.statistics.quad_count;
    let all = delta.map_or(all, |delta| delta.quad_count(all));
    let of_graph = |graph: TermId| {
        let by = delta.and_then(|delta| delta.graphs.get(&graph)).copied();
        let of_version = version.statistics.graph(graph);
        of_version.saturating_add_signed(by.unwrap_or(0))
    };
    match (graphs.listed(), graphs) {
        (Some(listed), _) => listed.into_iter().map(of_graph).sum(),
        (None, GraphSet::Named(_)) => all - of_graph(TermId::DEFAULT_GRAPH),
        (None, _) => all,
    }
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
        let changes = delta.graphs.iter().filter(|(graph, _)| is_named(graph));
        let changes = changes.map(|(graph, by)| (*graph, *by));
        merge(
            of_version,
            changes,
            |counted| *counted,
            |graph, quads| (graph, quads),
        )
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
        false => merge_by_graph(&counted, numbers),
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
    let by_object = delta.and_then(|delta| delta.object_changes(predicate, graphs));
    let Some(by_object) = by_object else {
        return Ok(counted);
    };
    if by_object.is_empty() {
        return Ok(counted);
    }
    let changes = by_object.iter().copied();
    Ok(merge(
        &counted,
        changes,
        |counted| *counted,
        |object, quads| (object, quads),
    ))
}

/// Objects whose changes are looked up one by one, at most, before those of all objects are known.
const LOOKED_UP_MAX: usize = 32;

/// Counts the quads of a predicate in these graphs that have each of some objects, which may repeat.
pub(crate) fn count_objects(
    version: &Version,
    delta: Option<&Delta>,
    predicate: TermId,
    graphs: &GraphSet,
    objects: &[u64],
) -> Result<Vec<u64>, StoreError> {
    let mut counts = counting::count_objects(version, predicate, graphs, objects)?;
    let Some((delta, changes)) = delta.and_then(|delta| Some((delta, delta.of(predicate)?))) else {
        return Ok(counts);
    };
    if objects.len() <= LOOKED_UP_MAX {
        for (count, &object) in counts.iter_mut().zip(objects) {
            let of_object = |quads: &TwoOrders| {
                let quads = quads.of_object(TermId(object));
                quads.filter(|(_, graph)| graphs.takes(*graph)).count() as u64
            };
            let more = *count + of_object(changes.added());
            *count = more.saturating_sub(of_object(changes.removed()));
        }
        return Ok(counts);
    }
    let by_object = delta.object_changes(predicate, graphs);
    let by_object = by_object.as_deref().unwrap_or_default();
    for (count, &object) in counts.iter_mut().zip(objects) {
        if let Ok(place) = by_object.binary_search_by_key(&object, |(object, _)| object.0) {
            *count = count.saturating_add_signed(by_object[place].1);
        }
    }
    Ok(counts)
}

/// The number of subjects that have a quad of the predicate (or of any) in these graphs; kept with the delta once asked for.
pub(crate) fn distinct_subjects(
    version: &Version,
    delta: Option<&Delta>,
    predicate: Option<TermId>,
    graphs: &GraphSet,
) -> Result<u64, StoreError> {
    let count = counting::distinct_subjects(version, predicate, graphs)?;
    let Some(delta) = delta else {
        return Ok(count);
    };
    let changes = match predicate.map(|predicate| delta.of(predicate)) {
        Some(None) => return Ok(count),
        Some(changes) => changes,
        None => None,
    };
    let kept = || {
        let kept = delta.subject_counts.lock();
        kept.unwrap_or_else(PoisonError::into_inner)
    };
    let key = (predicate, graphs.clone());
    if let Some(&known) = kept().get(&key) {
        return Ok(known);
    }
    let count = match (predicate, changes) {
        (Some(predicate), Some(changes)) => {
            let subjects = touched_subjects(changes);
            let had = having(version, None, predicate, &subjects, graphs)?;
            let have = having(version, Some(delta), predicate, &subjects, graphs)?;
            (count + have).saturating_sub(had)
        }
        _ => subjects_of_any(version, delta, count, graphs)?,
    };
    let mut kept = kept();
    if kept.len() >= SUBJECT_COUNTS_MAX {
        kept.clear();
    }
    kept.insert(key, count);
    Ok(count)
}

/// How many of these subjects, which ascend without repeats, have a quad of the predicate in these graphs.
fn having(
    version: &Version,
    delta: Option<&Delta>,
    predicate: TermId,
    subjects: &[u64],
    graphs: &GraphSet,
) -> Result<u64, StoreError> {
    let mut is_there = vec![false; subjects.len()];
    let mut on_quad = |place: usize, _, graph| is_there[place] |= graphs.takes(graph);
    let direction = Direction::Forward;
    super::neighbours(version, delta, predicate, direction, subjects, &mut on_quad)?;
    Ok(is_there.into_iter().filter(|is| *is).count() as u64)
}

/// The subjects of a predicate's added and removed quads, ascending without repeats.
fn touched_subjects(changes: &PredicateDelta) -> Vec<u64> {
    let both = changes.added().iter().chain(changes.removed().iter());
    let mut subjects: Vec<u64> = both.map(|(subject, ..)| subject.0).collect();
    subjects.sort_unstable();
    subjects.dedup();
    subjects
}

/// The number of subjects that have a quad of any predicate in these graphs, where the version has `count`.
fn subjects_of_any(
    version: &Version,
    delta: &Delta,
    mut count: u64,
    graphs: &GraphSet,
) -> Result<u64, StoreError> {
    let mut last = TermId::UNBOUND;
    for ([subject, _], ()) in delta.subjects.iter() {
        if std::mem::replace(&mut last, *subject) == *subject {
            continue;
        }
        let pattern = QuadPattern {
            subject: Some(*subject),
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
