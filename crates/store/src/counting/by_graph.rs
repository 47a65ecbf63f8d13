//! Quads by predicate and graph.
//!
//! Graphs may be as many as subjects, so the quads of a predicate by graph are counted for one predicate at a time, in the graphs that are asked
//! for. Where predicates and graphs are few, all of them together are kept with the version from the first question on.

use super::tally::Tally;
use super::{GraphSet, PredicateGraph};
use crate::error::StoreError;
use crate::snapshot::Version;
use crate::table::{Cells, Table};
use basalt_rdf::TermId;
use std::borrow::Cow;
use std::sync::OnceLock;

/// Entries that are kept at most: 24 bytes each.
const KEPT_MAX: u64 = 1 << 18;

/// All entries by predicate and graph, once somebody has asked; none if they may be too many.
#[derive(Debug, Default)]
pub(crate) struct KeptByGraph(OnceLock<Option<Vec<PredicateGraph>>>);

/// The quads of a predicate in these graphs by graph, ascending.
pub(crate) fn predicate_graphs<'a>(
    version: &'a Version,
    predicate: TermId,
    graphs: &GraphSet,
) -> Result<Cow<'a, [PredicateGraph]>, StoreError> {
    let Some(all) = kept(version)? else {
        return counted(version, predicate, graphs).map(Cow::Owned);
    };
    let start = all.partition_point(|entry| entry.predicate < predicate);
    let of_predicate = &all[start..];
    let end = of_predicate.partition_point(|entry| entry.predicate == predicate);
    let of_predicate = &of_predicate[..end];
    if of_predicate.iter().all(|entry| graphs.takes(entry.graph)) {
        return Ok(Cow::Borrowed(of_predicate));
    }
    let taken = of_predicate
        .iter()
        .filter(|entry| graphs.takes(entry.graph));
    Ok(Cow::Owned(taken.copied().collect()))
}

fn kept(version: &Version) -> Result<Option<&[PredicateGraph]>, StoreError> {
    let kept = &version.counts.by_graph.0;
    if kept.get().is_none() {
        let statistics = &version.statistics;
        let graphs = statistics.graphs.len() as u64;
        let predicates = statistics.predicates.iter();
        let entries: u64 = predicates.clone().map(|p| p.quads().min(graphs)).sum();
        let mut all = Vec::new();
        if entries <= KEPT_MAX {
            for total in predicates {
                all.extend(counted(version, total.predicate, &GraphSet::Any(None))?);
            }
        }
        kept.get_or_init(|| (entries <= KEPT_MAX).then_some(all));
    }
    Ok(kept.get().and_then(Option::as_deref))
}

fn counted(
    version: &Version,
    predicate: TermId,
    graphs: &GraphSet,
) -> Result<Vec<PredicateGraph>, StoreError> {
    let mut tally = Tally::default();
    for (_, table, cells) in version.cells_of(predicate) {
        match (table.constant_graph(), graphs.takes_table(table)) {
            (_, Some(false)) => {}
            (Some(graph), _) => tally.add(predicate, graph, cells.statistics().values),
            (None, takes_all) => {
                let wanted = if takes_all.is_none() {
                    graphs
                } else {
                    &GraphSet::Any(None)
                };
                tally_segments((table, cells), wanted, &mut tally);
            }
        }
    }
    version
        .quad_table
        .graphs_of(predicate, &mut |graph, quads| {
            if graphs.takes(graph) {
                tally.add(predicate, graph, quads);
            }
        })?;
    Ok(tally.finish())
}

/// Counts the cells of a predicate in a table whose rows have several home graphs.
fn tally_segments((table, cells): (&Table, Cells<'_>), wanted: &GraphSet, tally: &mut Tally) {
    let (mut graphs, mut counts, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut add = |graph, quads| {
        if wanted.takes(graph) {
            tally.add(cells.predicate(), graph, quads);
        }
    };
    for segment_idx in 0..table.segment_count() {
        let zone = cells.zone(segment_idx);
        if zone.values == 0 {
            continue;
        }
        if let Some(graph) = table.graph_of_segment(segment_idx) {
            add(graph, u64::from(zone.values));
            continue;
        }
        let rows = cells.segment_rows(segment_idx);
        graphs.clear();
        table.scan_graphs(rows.clone(), &mut graphs);
        counts.clear();
        values.clear();
        cells.scan_lists(rows, &mut counts, &mut values);
        let mut last = (0, 0);
        for (&graph, &count) in graphs.iter().zip(&counts) {
            if graph != last.0 {
                add(TermId(last.0), last.1);
                last = (graph, 0);
            }
            last.1 += u64::from(count);
        }
        add(TermId(last.0), last.1);
    }
}
