//! Quads, patterns, and the general way to find the quads that match a pattern.
//!
//! Correct for any pattern over any data, which makes it the path for everything that is not a
//! star over clean rows, and the yardstick for what is. A bound subject leads to its row and to
//! PSOG; a bound object to the inverses (or zones) of the columns that can hold it and to POSG;
//! otherwise columns and PSOG are scanned. Each matching quad is visited once, as it stands in one place.

use crate::counting::GraphSet;
use crate::error::StoreError;
use crate::irregular_predicates;
use crate::link_sources::cells_that_may_hold;
use crate::snapshot::Version;
use crate::table::{Cells, Table};
use basalt_columns::SEGMENT_ROWS;
use basalt_rdf::TermId;
use std::ops::ControlFlow;

/// A quad as ids; the default graph is [`TermId::DEFAULT_GRAPH`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QuadIds {
    /// Subject.
    pub subject: TermId,
    /// Predicate.
    pub predicate: TermId,
    /// Object.
    pub object: TermId,
    /// Graph.
    pub graph: TermId,
}

/// What a quad must have; `None` is anything (any graph, the default graph included).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct QuadPattern {
    /// Subject.
    pub subject: Option<TermId>,
    /// Predicate.
    pub predicate: Option<TermId>,
    /// Object.
    pub object: Option<TermId>,
    /// Graph.
    pub graph: Option<TermId>,
}

impl QuadPattern {
    /// Whether a quad matches.
    pub fn matches(&self, quad: &QuadIds) -> bool {
        let fits = |wanted: Option<TermId>, found| wanted.is_none_or(|id| id == found);
        fits(self.subject, quad.subject)
            && fits(self.predicate, quad.predicate)
            && fits(self.object, quad.object)
            && fits(self.graph, quad.graph)
    }
}

/// The visitor of quads; it ends the search with `Break`.
pub(crate) type VisitQuad<'v> = &'v mut dyn FnMut(QuadIds) -> ControlFlow<()>;
/// Whether to go on, or an error.
pub(crate) type Step = Result<ControlFlow<()>, StoreError>;

/// Rows of a graph are read one by one where at most one row of a segment in so many is in it: others are decoded in order.
const ROWS_FOR_GRAPH: usize = 4;

const GO_ON: Step = Ok(ControlFlow::Continue(()));

/// Stops the caller if the step says so.
macro_rules! go_on {
    ($step:expr) => {
        if $step?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    };
}

/// Visits every quad that matches; those of other graphs than `graphs` need not be.
pub(crate) fn matching(
    version: &Version,
    pattern: &QuadPattern,
    graphs: Option<&GraphSet>,
    visit: VisitQuad<'_>,
) -> Result<(), StoreError> {
    let step = match (pattern.subject, pattern.object) {
        (Some(subject), _) => of_subject(version, pattern, subject, visit),
        (None, Some(object)) => of_object(version, pattern, object, visit),
        (None, None) => scan(version, pattern, graphs, visit),
    };
    step.map(|_| ())
}

fn of_subject(
    version: &Version,
    pattern: &QuadPattern,
    subject: TermId,
    visit: VisitQuad<'_>,
) -> Step {
    let mut predicates = Vec::new();
    if let Some((table_idx, row)) = version.extents.row_of(subject) {
        let table = &version.tables[table_idx];
        go_on!(Ok::<_, StoreError>(of_row(table, row, pattern, visit)));
        // Only predicates for which the row is dirty can have irregular quads.
        match pattern.predicate {
            Some(predicate) => {
                let dirty = table.dirty_rows(predicate);
                predicates.extend(dirty.filter(|d| d.contains(row)).map(|_| predicate));
            }
            None if !table.is_dirty(row) => {}
            None => predicates = table.dirty_predicates_of(row),
        }
    } else {
        predicates = match pattern.predicate {
            Some(predicate) => vec![predicate],
            None => irregular_predicates::of_subject(version, subject)?,
        };
    }
    irregular_of(version, pattern, (subject, &predicates), visit)
}

/// Visits the irregular quads of a subject that match, of these predicates.
pub(crate) fn irregular_of(
    version: &Version,
    pattern: &QuadPattern,
    (subject, predicates): (TermId, &[TermId]),
    visit: VisitQuad<'_>,
) -> Step {
    let mut found = Vec::new();
    for &predicate in predicates {
        found.clear();
        version
            .quad_table
            .by_subject(predicate, subject, &mut found)?;
        for &(object, graph) in &found {
            let quad = QuadIds {
                subject,
                predicate,
                object,
                graph,
            };
            if pattern.matches(&quad) {
                go_on!(Ok::<_, StoreError>(visit(quad)));
            }
        }
    }
    GO_ON
}

fn of_row(table: &Table, row: u32, pattern: &QuadPattern, visit: VisitQuad<'_>) -> ControlFlow<()> {
    let graph = table.graph(row);
    if pattern.graph.is_some_and(|wanted| wanted != graph) {
        return ControlFlow::Continue(());
    }
    let mut values = Vec::new();
    for cells in table.cells_of(pattern.predicate) {
        values.clear();
        match pattern.object {
            None => cells.values_into(row, &mut values),
            Some(object) => values.extend(cells.has(row, object).then_some(object.0)),
        }
        let rows = std::iter::once((row, values.len() as u32, graph));
        visit_lists((table, cells), pattern, rows, &values, visit)?;
    }
    ControlFlow::Continue(())
}

/// Whether no row of the table can be in the graph that the pattern wants.
fn in_other_graph(table: &Table, pattern: &QuadPattern) -> bool {
    match (pattern.graph, table.constant_graph()) {
        (Some(wanted), Some(graph)) => wanted != graph,
        _ => false,
    }
}

fn of_object(
    version: &Version,
    pattern: &QuadPattern,
    object: TermId,
    visit: VisitQuad<'_>,
) -> Step {
    let mut rows = Vec::new();
    for (table_idx, cells) in cells_that_may_hold(version, pattern.predicate, object) {
        let table = &version.tables[table_idx];
        if in_other_graph(table, pattern) {
            continue;
        }
        rows.clear();
        cells.find(object, &mut rows);
        for &row in &rows {
            let graph = table.graph(row);
            if pattern.graph.is_none_or(|wanted| wanted == graph) {
                go_on!(Ok::<_, StoreError>(visit(QuadIds {
                    subject: table.subject(row),
                    predicate: cells.predicate(),
                    object,
                    graph,
                })));
            }
        }
    }
    irregular_to(version, pattern, object, visit)
}

/// Visits the irregular quads that lead to an object and match.
pub(crate) fn irregular_to(
    version: &Version,
    pattern: &QuadPattern,
    object: TermId,
    visit: VisitQuad<'_>,
) -> Step {
    let predicates = match pattern.predicate {
        Some(predicate) => vec![predicate],
        None => irregular_predicates::of_object(version, object)?,
    };
    let mut found = Vec::new();
    for predicate in predicates {
        found.clear();
        version
            .quad_table
            .by_object(predicate, object, &mut found)?;
        for &(subject, graph) in &found {
            if pattern.graph.is_none_or(|wanted| wanted == graph) {
                go_on!(Ok::<_, StoreError>(visit(QuadIds {
                    subject,
                    predicate,
                    object,
                    graph,
                })));
            }
        }
    }
    GO_ON
}

fn scan(
    version: &Version,
    pattern: &QuadPattern,
    graphs: Option<&GraphSet>,
    visit: VisitQuad<'_>,
) -> Step {
    let wanted = |graph| graphs.is_none_or(|graphs| graphs.takes(graph));
    let few = few_graphs(pattern, graphs);
    for (_, table) in version.tables_with(pattern.predicate) {
        let elsewhere = table.constant_graph().is_some_and(|graph| !wanted(graph));
        if elsewhere || in_other_graph(table, pattern) {
            continue;
        }
        if let Some(few) = &few
            && table.constant_graph().is_none()
        {
            for &graph in few {
                let step = scan_graph(table, graph, pattern, visit);
                go_on!(Ok::<_, StoreError>(step));
            }
            continue;
        }
        for cells in table.cells_of(pattern.predicate) {
            for segment_idx in 0..table.segment_count() {
                let step = scan_segment(table, cells, segment_idx, pattern, visit);
                go_on!(Ok::<_, StoreError>(step));
            }
        }
    }
    if let Some(few) = few_named_graphs(pattern, graphs) {
        for &graph in &few {
            let graph = (graph, few.len());
            go_on!(version.quad_table.by_graph(pattern.predicate, graph, visit));
        }
        return GO_ON;
    }
    for predicate in version.quad_table.predicates_of(pattern.predicate) {
        let mut step = ControlFlow::Continue(());
        version
            .quad_table
            .scan(predicate, &mut |subjects, objects, graphs| {
                for ((&subject, &object), &graph) in subjects.iter().zip(objects).zip(graphs) {
                    if pattern.graph.is_none_or(|wanted| wanted.0 == graph) {
                        step = visit(QuadIds {
                            subject: TermId(subject),
                            predicate,
                            object: TermId(object),
                            graph: TermId(graph),
                        });
                        step?;
                    }
                }
                ControlFlow::Continue(())
            })?;
        go_on!(Ok::<_, StoreError>(step));
    }
    GO_ON
}

/// The graphs that all quads must be in, each once, if they are few.
fn few_graphs(pattern: &QuadPattern, graphs: Option<&GraphSet>) -> Option<Vec<TermId>> {
    if let Some(graph) = pattern.graph {
        return Some(vec![graph]);
    }
    graphs?.few()
}

/// The same if the default graph is not among them.
pub(crate) fn few_named_graphs(
    pattern: &QuadPattern,
    graphs: Option<&GraphSet>,
) -> Option<Vec<TermId>> {
    let few = few_graphs(pattern, graphs);
    few.filter(|few| !few.contains(&TermId::DEFAULT_GRAPH))
}

/// Visits the quads of the rows that are in a graph, of a table whose rows are in several: where the rows of a segment are few, no
/// cells of others are read.
fn scan_graph(
    table: &Table,
    graph: TermId,
    pattern: &QuadPattern,
    visit: VisitQuad<'_>,
) -> ControlFlow<()> {
    if table.quads_in_graph(graph) == 0 {
        return ControlFlow::Continue(());
    }
    let pattern = &QuadPattern {
        graph: Some(graph),
        ..*pattern
    };
    let (mut all_rows, mut counts, mut values) = (Vec::new(), Vec::new(), Vec::new());
    table.all_rows_in_graph(graph, &mut all_rows);
    let segment_of = |row: &u32| *row as usize / SEGMENT_ROWS;
    for rows in all_rows.chunk_by(|a, b| segment_of(a) == segment_of(b)) {
        let segment_idx = segment_of(&rows[0]);
        let segment = table.rows_of_segment(segment_idx);
        for cells in table.cells_of(pattern.predicate) {
            if rows.len() * ROWS_FOR_GRAPH > segment.len() {
                scan_segment(table, cells, segment_idx, pattern, visit)?;
                continue;
            }
            counts.clear();
            values.clear();
            cells.gather_lists(rows, &mut counts, &mut values);
            let counts = rows.iter().copied().zip(counts.iter().copied());
            let rows = counts.map(|(row, count)| (row, count, graph));
            visit_lists((table, cells), pattern, rows, &values, visit)?;
        }
    }
    ControlFlow::Continue(())
}

fn scan_segment(
    table: &Table,
    cells: Cells<'_>,
    segment_idx: usize,
    pattern: &QuadPattern,
    visit: VisitQuad<'_>,
) -> ControlFlow<()> {
    if cells.zone(segment_idx).values == 0 {
        return ControlFlow::Continue(());
    }
    let rows = cells.segment_rows(segment_idx);
    let (mut counts, mut values) = (Vec::new(), Vec::new());
    cells.scan_lists(rows.clone(), &mut counts, &mut values);
    let mut graphs = Vec::new();
    let row_numbers: Vec<u32> = rows.clone().collect();
    table.gather_graphs(&row_numbers, &mut graphs);
    let rows = rows.zip(counts).zip(graphs);
    let rows = rows.map(|((row, count), graph)| (row, count, TermId(graph)));
    visit_lists((table, cells), pattern, rows, &values, visit)
}

/// Visits the quads of rows, each given with how many of the values are its own and its graph.
fn visit_lists(
    (table, cells): (&Table, Cells<'_>),
    pattern: &QuadPattern,
    rows: impl Iterator<Item = (u32, u32, TermId)>,
    values: &[u64],
    visit: VisitQuad<'_>,
) -> ControlFlow<()> {
    let mut values = values.iter();
    for (row, count, graph) in rows {
        let of_row = values.by_ref().take(count as usize);
        if pattern.graph.is_some_and(|wanted| wanted != graph) {
            of_row.for_each(drop);
            continue;
        }
        for &value in of_row {
            visit(QuadIds {
                subject: table.subject(row),
                predicate: cells.predicate(),
                object: TermId(value),
                graph,
            })?;
        }
    }
    ControlFlow::Continue(())
}
