//! The share of rows that are in the graph that is read, where it is one.
//!
//! Rows of a table have a home graph each, and how many quads each graph has there is known. Predicates are taken for as frequent in one graph
//! as in another, and what links lead to for being in the same graph: graphs are mostly documents, which speak of what is in them.

use crate::cost_constants::RARE_GRAPH;
use crate::physical::{Graphs, Pattern, Star, TableIdx};
use crate::planner::Planner;

/// The share of the rows of one table of a star.
pub(crate) fn share_of_table(planner: &Planner<'_>, star: &Star, table: TableIdx) -> f64 {
    match star.graphs {
        Graphs::One(graph) => planner.statistics.graph_share(table, graph),
        _ => 1.0,
    }
}

/// The share of the subjects of a star; that of all quads, where it is greater: irregular ones belong to no table.
pub(crate) fn share(planner: &Planner<'_>, star: &Star) -> f64 {
    let (mut rows, mut inside) = (0.0, 0.0);
    for table in &star.tables {
        let of_table = planner.statistics.table_rows(*table) as f64;
        rows += of_table;
        inside += of_table * share_of_table(planner, star, *table);
    }
    let of_rows = if rows > 0.0 { inside / rows } else { 0.0 };
    of_rows.max(of_quads(planner, &star.graphs)).min(1.0)
}

/// Whether a star reads one named graph with so few quads that it begins with what has quads there.
pub(crate) fn is_rare(planner: &Planner<'_>, star: &Star) -> bool {
    let Graphs::One(graph) = star.graphs else {
        return false;
    };
    let all = planner.statistics.quad_count() as f64;
    let quads = planner.statistics.graph_quads(graph);
    quads.is_some_and(|quads| quads as f64 * RARE_GRAPH <= all)
}

/// The share of all quads.
fn of_quads(planner: &Planner<'_>, graphs: &Graphs) -> f64 {
    let Graphs::One(graph) = graphs else {
        return 1.0;
    };
    let all = planner.statistics.quad_count() as f64;
    let quads = planner.statistics.graph_quads(*graph);
    quads.map_or(1.0, |quads| quads as f64 / all.max(1.0))
}

/// The share of the quads that a scan for a pattern finds.
pub(crate) fn share_of_pattern(planner: &Planner<'_>, pattern: &Pattern) -> f64 {
    of_quads(planner, &pattern.graphs)
}
