//! Where a scan of consecutive rows begins: with the rows that one pattern leaves, if they are known without reading the others.
//!
//! A constant is searched among the encoded cells of its column, values that pass comparisons are by the interval of their ids
//! ([`interval`](super::interval)), and a column in which most rows have no value tells which have one. Of several
//! such patterns the cheapest is taken; the others are tested on the rows that are left. So is the graph, where it is one that few
//! rows of the table are in.
//!
//! Invariant: all rows of the run that the star has solutions of are among the entry rows. Cost: a look at the summary of one
//! segment for each pattern, and a comparison of packed values or a word for 64 rows.

use super::compiled::{CompiledGraphs, CompiledPattern, CompiledStar, Object};
use super::interval::{Interval, SAMPLED_ROWS};
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

/// Rows whose values are in an interval are taken one by one where at most one in so many is: others are decoded, and compared, in order.
const VALUES_FOR_PASSING: u64 = 5;

/// A shorter run is decoded in order: finding the interval and sampling take as long as comparing so many decoded values.
const INTERVAL_ROWS_MIN: usize = 512;

/// A constant that nobody has counted is taken for one of so many values: asked for are popular ones as well as rare ones.
const VALUES_FOR_UNKNOWN: u64 = 8;

/// Whether so few rows have a value in a column that these are taken and the others left.
pub fn is_sparse(with_value: u64, rows: u64) -> bool {
    with_value * ROWS_FOR_VALUE <= rows
}

/// Whether so few rows have a value in an interval that these are taken and the others left.
fn are_few(passing: u64, rows: u64) -> bool {
    passing * VALUES_FOR_PASSING <= rows
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
            Some(EntryWay::new(star, pattern_idx, cells, run))
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
        let rows = run.rows.clone();
        let compared = match way.by {
            EntryBy::Constant(object) => {
                entry.satisfied = Some(way.pattern_idx);
                way.cells.rows_with_object(rows, object, &mut entry.rows)
            }
            EntryBy::Interval(Interval { low, high }, _) => {
                let ids = (low, high);
                let compared = way.cells.rows_between(rows, ids, &mut entry.rows);
                // The sample may err; what was found is gone on with unless it is far too much.
                if !is_sparse(entry.rows.len() as u64, run.rows.len() as u64) {
                    return None;
                }
                compared
            }
            EntryBy::Value => {
                way.cells.rows_with_value(rows, &mut entry.rows);
                0
            }
        };
        entry.compared_rows = compared.min(run.rows.len());
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

/// What makes a pattern leave few rows.
enum EntryBy {
    /// It asks for one object.
    Constant(TermId),
    /// Filters let values pass that are in an interval of ids; so many rows of the segment are expected to have one.
    Interval(Interval, u64),
    /// Rows with a value.
    Value,
}

impl EntryBy {
    fn of(star: &CompiledStar, pattern: &CompiledPattern, cells: Cells<'_>, run: &RowRun) -> Self {
        match pattern.object {
            Object::Constant(id) => Self::Constant(TermId(id)),
            Object::New(column) => Self::interval(star, column, cells, run).unwrap_or(Self::Value),
            _ => Self::Value,
        }
    }

    /// The interval of a new column, if it leaves few rows.
    fn interval(
        star: &CompiledStar,
        column: usize,
        cells: Cells<'_>,
        run: &RowRun,
    ) -> Option<Self> {
        if run.rows.len() < INTERVAL_ROWS_MIN {
            return None;
        }
        let segment_idx = run.rows.start as usize / SEGMENT_ROWS;
        let zone = cells.zone(segment_idx);
        let interval = Interval::of(star, column, (TermId(zone.min), TermId(zone.max)))?;
        let passing = interval.sample(cells, &run.rows);
        let in_segment = cells.segment_rows(segment_idx).len() as u64;
        are_few(passing, SAMPLED_ROWS).then_some(Self::Interval(
            interval,
            passing * in_segment / SAMPLED_ROWS,
        ))
    }
}

/// To begin with a required pattern, in the segment of a run. Costs are those of the whole segment, in comparisons of packed values.
struct EntryWay<'a> {
    pattern_idx: usize,
    by: EntryBy,
    cells: Cells<'a>,
    /// Rows of the segment.
    rows: u64,
    with_value: u64,
    values: u64,
}

impl<'a> EntryWay<'a> {
    fn new(star: &CompiledStar, pattern_idx: usize, cells: Cells<'a>, run: &RowRun) -> Self {
        let segment_idx = run.rows.start as usize / SEGMENT_ROWS;
        let zone = cells.zone(segment_idx);
        Self {
            pattern_idx,
            by: EntryBy::of(star, &star.patterns[pattern_idx], cells, run),
            cells,
            rows: cells.segment_rows(segment_idx).len() as u64,
            with_value: u64::from(zone.rows_with_value),
            values: u64::from(zone.values),
        }
    }

    /// What testing a row for the constant or the comparisons costs, if there are any: all values of the row are read.
    fn test_cost(&self) -> u64 {
        let values = self.values.div_ceil(self.with_value.max(1));
        match self.by {
            EntryBy::Constant(_) | EntryBy::Interval(..) => values * COMPARED_FOR_TEST,
            EntryBy::Value => 0,
        }
    }

    /// What finding the rows costs, and testing each with `tests`, those of all constants and comparisons; `None` where that is reading
    /// all.
    fn cost(&self, table: &Table, tests: u64) -> Option<u64> {
        match self.by {
            EntryBy::Constant(object) => {
                let counted = self.cells.count_object(object);
                let here = counted.map(|count| count * self.rows / u64::from(table.rows()).max(1));
                let here = here.unwrap_or(self.values / VALUES_FOR_UNKNOWN);
                let here = here.min(self.with_value);
                let tests = tests - self.test_cost();
                Some(self.values + here * (COMPARED_FOR_ROW + tests))
            }
            EntryBy::Interval(_, passing) => {
                Some(self.values + passing * (COMPARED_FOR_ROW + tests))
            }
            EntryBy::Value => is_sparse(self.with_value, self.rows)
                .then_some(self.with_value * (COMPARED_FOR_ROW + tests)),
        }
    }
}
