//! The morsels of a star in one graph that has few of the quads.
//!
//! All solutions are of rows whose home graph it is, or of subjects with irregular or added quads there; the others are not looked at.

use super::{Morsel, TouchedSubjects, push_clean};
use crate::context::Context;
use crate::error::ExecError;
use crate::star::compiled::{CompiledGraphs, CompiledStar};
use basalt_rdf::TermId;
use basalt_store::{GraphSet, Snapshot};

/// A graph has few quads where it has one of so many: a row that is read by itself takes some dozen times as long as one of many, and
/// a scan passes over most of them by zones and comparisons of packed values.
pub const RARE_GRAPH: u64 = 64;

/// Whether a star reads one graph and that has no quads.
pub(super) fn reads_nothing(star: &CompiledStar, snapshot: &Snapshot) -> bool {
    match star.graphs {
        CompiledGraphs::One(graph) => snapshot.quads_in(&GraphSet::One(TermId(graph))) == 0,
        _ => false,
    }
}

/// The named graph that a star reads, where it has few of the quads.
pub(super) fn rare_graph(star: &CompiledStar, snapshot: &Snapshot) -> Option<TermId> {
    let CompiledGraphs::One(graph) = star.graphs else {
        return None;
    };
    let graph = TermId(graph);
    let is_rare = || snapshot.quads_in(&GraphSet::One(graph)) <= snapshot.quad_count() / RARE_GRAPH;
    (graph != TermId::DEFAULT_GRAPH && is_rare()).then_some(graph)
}

/// The rows and subjects that have quads in the graph.
pub(super) fn graph_morsels(
    star: &CompiledStar,
    graph: TermId,
    cx: &Context,
) -> Result<Vec<Morsel>, ExecError> {
    let snapshot = cx.snapshot();
    let mut list = Vec::new();
    let mut touched = TouchedSubjects::new(star, snapshot);
    for (table_idx, table) in snapshot.tables().iter().enumerate() {
        let clean_matters = star.tables.contains(&table_idx) && star.table_can_match(table);
        if !clean_matters && !star.has_touched(table_idx) {
            continue;
        }
        let mut rows = Vec::new();
        table.all_rows_in_graph(graph, &mut rows);
        touched.take_out_of(&mut rows, table_idx);
        if clean_matters {
            push_clean(&mut list, (table_idx, &rows), None, cx);
        }
        cx.check()?;
    }
    let mut on_subject = |_: usize, subject: TermId| {
        // Cells tell all of a row that is not touched, whatever else it has in the graph.
        let is_clean = snapshot
            .row_of(subject)
            .is_some_and(|(table_idx, row)| !star.is_touched(table_idx, row));
        if !is_clean {
            touched.add(subject);
        }
    };
    snapshot.irregular_subjects_in(&[graph.0], &mut on_subject)?;
    touched.into_morsels(&mut list, cx);
    Ok(list)
}
