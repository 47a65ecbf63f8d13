//! Neighbours: the quads of one predicate at many nodes, found together.
//!
//! The batch form of [`Snapshot::matching`](crate::Snapshot::matching) with a bound subject or object, for operators that follow
//! links from a whole frontier: nodes of one table are gathered in row order, values are sought in an
//! inverse with one cursor, irregular quads are met in the order of their blocks. Finds exactly what
//! one search for each node finds, each quad once. Cost: a few cache misses a node, fewer where the
//! nodes lie close together.

use crate::error::StoreError;
use crate::snapshot::Version;
use crate::table::{Cells, Table};
use basalt_rdf::TermId;

/// Which way links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From subjects to objects.
    Forward,
    /// From objects to subjects.
    Backward,
}

/// What a search shows: the position of the node in the list, the other end, the graph.
pub(crate) type VisitNeighbour<'v> = &'v mut dyn FnMut(usize, TermId, TermId);

/// Visits the quads of a predicate whose subject (object, backwards) is one of these ids, which
/// ascend without repeats.
pub(crate) fn neighbours(
    version: &Version,
    predicate: TermId,
    direction: Direction,
    nodes: &[u64],
    visit: VisitNeighbour<'_>,
) -> Result<(), StoreError> {
    debug_assert!(nodes.is_sorted_by(|a, b| a < b));
    match direction {
        Direction::Forward => objects(version, predicate, nodes, visit),
        Direction::Backward => subjects(version, predicate, nodes, visit),
    }
}

fn objects(
    version: &Version,
    predicate: TermId,
    nodes: &[u64],
    visit: VisitNeighbour<'_>,
) -> Result<(), StoreError> {
    let has_irregular = version.quad_table.predicate(predicate).is_some();
    // Positions and ids of the nodes that may have irregular quads.
    let (mut positions, mut keys) = (Vec::new(), Vec::new());
    let mut start = 0;
    while let Some(&node) = nodes.get(start) {
        let Some((table_idx, _)) = version.extents.row_of(TermId(node)) else {
            positions.push(start);
            keys.push(node);
            start += 1;
            continue;
        };
        let table = &version.tables[table_idx];
        let first = table.subject(0).0;
        let last = first + u64::from(table.rows() - 1);
        let end = start + nodes[start..].partition_point(|&id| id <= last);
        let rows: Vec<u32> = nodes[start..end]
            .iter()
            .map(|&id| (id - first) as u32)
            .collect();
        if let Some(cells) = table.cells(predicate) {
            objects_in_cells(table, cells, &rows, start, visit);
        }
        if let Some(dirty) = table.dirty_rows(predicate).filter(|_| has_irregular) {
            for (offset, &row) in rows.iter().enumerate() {
                if dirty.contains(row) {
                    positions.push(start + offset);
                    keys.push(nodes[start + offset]);
                }
            }
        }
        start = end;
    }
    let mut on_quad = |key: usize, object, graph| visit(positions[key], object, graph);
    version
        .quad_table
        .by_subjects(predicate, &keys, &mut on_quad)
}

/// Visits the values of some rows, the first of which is the node at `start`.
fn objects_in_cells(
    table: &Table,
    cells: Cells<'_>,
    rows: &[u32],
    start: usize,
    visit: VisitNeighbour<'_>,
) {
    let mut graphs = Vec::new();
    table.gather_graphs(rows, &mut graphs);
    let mut values = Vec::new();
    if !cells.multi_valued() {
        cells.gather(rows, &mut values);
        for (offset, (value, graph)) in values.into_iter().zip(graphs).enumerate() {
            if value != 0 {
                visit(start + offset, TermId(value), TermId(graph));
            }
        }
        return;
    }
    let mut counts = Vec::new();
    cells.gather_lists(rows, &mut counts, &mut values);
    let mut values = values.into_iter();
    for (offset, (count, graph)) in counts.into_iter().zip(graphs).enumerate() {
        for value in values.by_ref().take(count as usize) {
            visit(start + offset, TermId(value), TermId(graph));
        }
    }
}

fn subjects(
    version: &Version,
    predicate: TermId,
    nodes: &[u64],
    visit: VisitNeighbour<'_>,
) -> Result<(), StoreError> {
    let (mut counts, mut rows) = (Vec::new(), Vec::new());
    for (_, table, cells) in version.cells_of(predicate) {
        counts.clear();
        rows.clear();
        cells.find_many(nodes, &mut counts, &mut rows);
        let mut found = rows.iter();
        for (position, &count) in counts.iter().enumerate() {
            for &row in found.by_ref().take(count as usize) {
                visit(position, table.subject(row), table.graph(row));
            }
        }
    }
    version.quad_table.by_objects(predicate, nodes, visit)
}
