//! Where a scan of consecutive rows begins: with the rows that one pattern leaves, if they are known without reading the others.
//!
//! A constant is searched among the encoded cells of its column, and a column in which most rows have no value tells which have one.
//! Of several such patterns the cheapest is taken; the others are tested on the rows that are left. So is the graph, where it is one that few
//! rows of the table are in.
//!
//! Invariant: all rows of the run that the star has solutions of are among the entry rows. Cost: a look at the summary of one
//! segment for each pattern, and a comparison of packed values or a word for 64 rows.

use super::compiled::{CompiledGraphs, CompiledPattern, CompiledStar, Object};
use super::row_run::RowRun;
use basalt_columns::SEGMENT_ROWS;
use basalt_rdf::TermId;
use basalt_store::{Cells, Table};

/// Rows with a value are taken one by one where at most one row in so many has one: others are decoded in order.
const ROWS_FOR_VALUE: u64 = 3;

/// Comparisons of packed values in the time of taking one row that was found.
const COMPARED_FOR_ROW: u64 = 8;

/// The same in the time of reading one value of some rows.
pub const COMPARED_FOR_TEST: u64 = 16;

/// A constant that nobody has counted is taken for one of so many values: asked for are popular ones as well as rare ones.
const VALUES_FOR_UNKNOWN: u64 = 8;

/// Whether so few rows have a value in a column that these are taken and the others left.
pub fn is_sparse(with_value: u64, rows: u64) -> bool {
    with_value * ROWS_FOR_VALUE <= rows
}

/// Rows that a scan goes on with.
#[derive(Debug, Default)]
pub struct EntryRows {
    /// The rows, ascending.
    pub rows: Vec<u32>,
    /// The pattern that holds for all of them, if one does.
    pub satisfied: Option<usize>,
    /// Rows of which a value was compared to find them, these included.
    pub compared_rows: usize,
}

impl EntryRows {
    /// The rows of a run, within one segment, that a star can have solutions of by one of its patterns, or by its graph; `None` where neither
    /// tells without reading all. Cells must tell all of the rows.
    pub fn of(star: &CompiledStar, table: &Table, run: &RowRun) -> Option<Self> {
        let patterns = star.patterns.iter().enumerate();
        let required = patterns.filter(|(_, pattern)| !pattern.optional);
        let ways = required.filter_map(|(pattern_idx, pattern)| {
            let cells = table.cells(pattern.predicate)?;
            Some(EntryWay::new(pattern_idx, pattern, cells, run))
        });
        let ways: Vec<EntryWay<'_>> = ways.collect();
        let tests: u64 = ways.iter().map(EntryWay::test_cost).sum();
        let costs = ways
            .iter()
            .filter_map(|way| Some((way.cost(table, tests)?, way)));
        let cheapest = costs.min_by_key(|(cost, way)| (*cost, way.pattern_idx));
        let mut entry = Self::default();
        if let Some(graph) = RareGraph::of(star, table) {
            let cost = graph.cost(run, tests);
            if cheapest.as_ref().is_none_or(|(other, _)| cost < *other) {
                entry.rows = graph.rows_of(table, run);
                entry.compared_rows = run.rows.len();
                return Some(entry);
            }
        }
        let (_, way) = cheapest?;
        if let Some(object) = way.constant {
            let rows = run.rows.clone();
            let values = way.cells.rows_with_object(rows, object, &mut entry.rows);
            entry.compared_rows = values.min(run.rows.len());
            entry.satisfied = Some(way.pattern_idx);
        } else {
            way.cells.rows_with_value(run.rows.clone(), &mut entry.rows);
        }
        run.retain(&mut entry.rows);
        Some(entry)
    }
}

/// The graph that a star reads, where it is one that few rows of a table are in.
struct RareGraph {
    graph: TermId,
    /// Quads of the table in it, and in all graphs.
    quads: u64,
    all: u64,
}

impl RareGraph {
    fn of(star: &CompiledStar, table: &Table) -> Option<Self> {
        let CompiledGraphs::One(graph) = star.graphs else {
            return None;
        };
        if table.constant_graph().is_some() {
            return None;
        }
        let graph = TermId(graph);
        let quads = table.quads_in_graph(graph);
        let all = table.quads_in_cells();
        is_sparse(quads, all).then_some(Self { graph, quads, all })
    }

    /// What finding its rows in a run costs, and testing each with `tests`, in comparisons of packed values.
    fn cost(&self, run: &RowRun, tests: u64) -> u64 {
        let rows = run.rows.len() as u64;
        let here = rows * self.quads / self.all.max(1);
        rows + here * (COMPARED_FOR_ROW + tests)
    }

    fn rows_of(&self, table: &Table, run: &RowRun) -> Vec<u32> {
        let mut rows = Vec::new();
        table.rows_in_graph(run.rows.clone(), self.graph, &mut rows);
        run.retain(&mut rows);
        rows
    }
}

/// Those of the rows of a run that may be in the graph that a star reads, if few are; `None` where that is not known without reading all.
pub fn rows_in_graph(star: &CompiledStar, table: &Table, run: &RowRun) -> Option<Vec<u32>> {
    let graph = RareGraph::of(star, table)?;
    Some(graph.rows_of(table, run))
}

/// To begin with a required pattern, in the segment of a run. Costs are those of the whole segment, in comparisons of packed values.
struct EntryWay<'a> {
    pattern_idx: usize,
    constant: Option<TermId>,
    cells: Cells<'a>,
    /// Rows of the segment.
    rows: u64,
    with_value: u64,
    values: u64,
}

impl<'a> EntryWay<'a> {
    fn new(pattern_idx: usize, pattern: &CompiledPattern, cells: Cells<'a>, run: &RowRun) -> Self {
        let segment_idx = run.rows.start as usize / SEGMENT_ROWS;
        let zone = cells.zone(segment_idx);
        let constant = match pattern.object {
            Object::Constant(id) => Some(TermId(id)),
            _ => None,
        };
        Self {
            pattern_idx,
            constant,
            cells,
            rows: cells.segment_rows(segment_idx).len() as u64,
            with_value: u64::from(zone.rows_with_value),
            values: u64::from(zone.values),
        }
    }

    /// What testing a row for the constant costs, if there is one: all values of the row are read.
    fn test_cost(&self) -> u64 {
        let values = self.values.div_ceil(self.with_value.max(1));
        self.constant.map_or(0, |_| values * COMPARED_FOR_TEST)
    }

    /// What finding the rows costs, and testing each with `tests`, those of all constants; `None` where that is reading all.
    fn cost(&self, table: &Table, tests: u64) -> Option<u64> {
        if let Some(object) = self.constant {
            let counted = self.cells.count_object(object);
            let here = counted.map(|count| count * self.rows / u64::from(table.rows()).max(1));
            let here = here.unwrap_or(self.values / VALUES_FOR_UNKNOWN);
            let here = here.min(self.with_value);
            let tests = tests - self.test_cost();
            return Some(self.values + here * (COMPARED_FOR_ROW + tests));
        }
        is_sparse(self.with_value, self.rows)
            .then_some(self.with_value * (COMPARED_FOR_ROW + tests))
    }
}
