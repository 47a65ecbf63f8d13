//! Verifying a delta against its version.
//!
//! Recomputes everything that the delta keeps beside its quads: both orders, counts, touched terms, dirty
//! rows; and looks up every quad in the version. Cost: some microseconds a quad.

use super::change_places::AddedCounts;
use super::changed_values;
use super::changes::Home;
use super::predicate_delta::change_count;
use super::{Delta, PredicateDelta, SortedMap, SortedSet};
use crate::error::StoreError;
use crate::matching::QuadIds;
use crate::snapshot::Version;
use basalt_rdf::TermId;
use std::collections::BTreeSet;

/// What a delta was found to change.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeltaCounts {
    /// Added quads.
    pub(crate) added: u64,
    /// Removed quads that were in cells.
    pub(crate) removed_from_cells: u64,
    /// Removed quads that were in the quad table.
    pub(crate) removed_irregular: u64,
}

/// What is computed anew from the quads.
#[derive(Default)]
struct Computed {
    counts: DeltaCounts,
    subjects: SortedSet<[TermId; 2]>,
    graph_subjects: SortedMap<[TermId; 2], i64>,
    objects: SortedSet<[TermId; 2]>,
    graphs: SortedMap<TermId, i64>,
}

fn wrong(what: impl std::fmt::Display) -> StoreError {
    StoreError::corrupt("the delta in memory", 0, what.to_string())
}

/// Verifies the invariants of a delta; says what it changes.
pub(crate) fn check(version: &Version, delta: &Delta) -> Result<DeltaCounts, StoreError> {
    delta.dictionary.check_added()?;
    let mut computed = Computed::default();
    for (predicate, changes) in delta.predicates() {
        if changes.is_empty() {
            return Err(wrong(format!("predicate {predicate:?} has no changes")));
        }
        check_predicate(version, predicate, changes, &mut computed)?;
        if !changed_values::are_right(version, delta, predicate, changes)? {
            return Err(wrong(format!(
                "the columns of predicate {predicate:?} are not those of its quads"
            )));
        }
    }
    let DeltaCounts {
        added,
        removed_from_cells,
        removed_irregular,
    } = computed.counts;
    let known = (delta.added, delta.removed, delta.removed_irregular);
    if known
        != (
            added,
            removed_from_cells + removed_irregular,
            removed_irregular,
        )
    {
        return Err(wrong("its counts are not those of its quads"));
    }
    let same = |known: &SortedSet<[TermId; 2]>, computed: &SortedSet<[TermId; 2]>| {
        known.iter().eq(computed.iter())
    };
    if !same(&delta.subjects, &computed.subjects) || !same(&delta.objects, &computed.objects) {
        return Err(wrong("the terms it touches are not those of its quads"));
    }
    if !delta
        .graph_subjects
        .iter()
        .eq(computed.graph_subjects.iter())
    {
        return Err(wrong("the subjects by graph are not those of its quads"));
    }
    if !delta.graphs.iter().eq(computed.graphs.iter()) {
        return Err(wrong("the counts of graphs are not those of its quads"));
    }
    Ok(computed.counts)
}

fn check_predicate(
    version: &Version,
    predicate: TermId,
    changes: &PredicateDelta,
    computed: &mut Computed,
) -> Result<(), StoreError> {
    let mut graphs = SortedMap::default();
    let mut dirty = BTreeSet::new();
    let mut irregular = 0;
    let mut added_counts = AddedCounts::default();
    for (quads, is_added) in [(changes.added(), true), (changes.removed(), false)] {
        let mut other: Vec<_> = quads.iter_by_object().collect();
        other.sort_unstable();
        if !quads.iter().eq(other) {
            let what = format!("the orders of predicate {predicate:?} differ");
            return Err(wrong(what));
        }
        for (subject, object, graph) in quads.iter() {
            let quad = QuadIds {
                subject,
                predicate,
                object,
                graph,
            };
            match (is_added, Home::of(version, &quad)?) {
                (true, Home::None) => {
                    computed.counts.added += 1;
                    if graph != TermId::DEFAULT_GRAPH {
                        change_count(&mut computed.graph_subjects, [graph, subject], 1);
                    }
                    added_counts.count(version, &quad, 1);
                }
                (false, Home::Cell) => computed.counts.removed_from_cells += 1,
                (false, Home::QuadTable) => irregular += 1,
                (true, _) => return Err(wrong(format!("{quad:?} is in the version as well"))),
                (false, Home::None) => {
                    let what = format!("{quad:?} is removed and not in the version");
                    return Err(wrong(what));
                }
            }
            let by = if is_added { 1 } else { -1 };
            change_count(&mut graphs, graph, by);
            change_count(&mut computed.graphs, graph, by);
            computed.subjects.insert([subject, predicate], ());
            computed.objects.insert([object, predicate], ());
            dirty.extend(version.extents.row_of(subject));
        }
    }
    computed.counts.removed_irregular += irregular;
    if irregular != changes.removed_irregular() {
        let what = format!("predicate {predicate:?} has {irregular} removed irregular quads");
        return Err(wrong(what));
    }
    if !changes
        .graphs()
        .eq(graphs.iter().map(|(graph, by)| (*graph, *by)))
    {
        let what = format!("the counts of graphs of predicate {predicate:?} are wrong");
        return Err(wrong(what));
    }
    if !changes.added_counts().is_same(&added_counts) {
        let what = format!("the places of added quads of predicate {predicate:?} are wrong");
        return Err(wrong(what));
    }
    if !changes.all_dirty_rows().eq(dirty) {
        let what = format!("the dirty rows of predicate {predicate:?} are wrong");
        return Err(wrong(what));
    }
    Ok(())
}
