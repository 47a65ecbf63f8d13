//! How many rows a star has, before conditions that are not simple comparisons.
//!
//! ```text
//! per table:  subjects with all predicates × share that passes constants and comparisons × solutions per subject
//!             (characteristic sets)           (counts of inverses, else sampled rows)       (characteristic sets)
//! ```
//!
//! One constant with an exact count needs no sample. Several tests of one star are mostly dependent on each other, so they
//! are looked at together on sampled rows: those that have the rarest constant, or rows spread evenly over the table.
//! Subjects in no table, and in tables that lack a column, are counted by the irregular quads of the constants.
//!
//! Where nothing is sampled or kept (statistics of tests, changes in memory), columns are taken as independent, constants as
//! fully dependent. Cost: a walk over the characteristic sets with the rarest predicate, some hundred cells.

use crate::cost_constants::SELECTIVITY_DEFAULT;
use crate::estimate::condition::{self, Lookup};
use crate::estimate::star::PatternProfile;
use crate::physical::{Expr, Position, Slot, Star, TableIdx};
use crate::planner::Planner;
use crate::statistics::{ColumnStatistics, RowTest, SampleOf, Sampled, StarEstimate};
use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;
use std::cmp::Ordering;

/// Rows sampled of one star, over all its tables.
const SAMPLE_ROWS: usize = 128;
/// Rows sampled of one table at least.
const SAMPLE_ROWS_MIN: usize = 16;
/// Subjects that a walk through joins begins with, over all tables of a star.
const DRAWN_ROWS: usize = 64;
/// Of one table at least.
const DRAWN_ROWS_MIN: usize = 2;
/// A column with so large a share of its rows filled is taken as full: a sample would hardly see the difference.
const FULL: f64 = 0.98;

/// What was estimated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StarRows {
    /// Rows that pass the constants.
    pub(super) before_comparisons: f64,
    /// Of those, rows that pass the comparisons too.
    pub(super) rows: f64,
}

/// A condition that compares an object of the star, or a cast of it to a number, with a constant.
pub(crate) struct Comparison<'a> {
    /// The object.
    pub(crate) slot: Slot,
    is_cast: bool,
    pub(crate) predicate: TermId,
    pub(crate) expr: &'a Expr,
    pub(crate) constant: TermId,
}

/// Whether the condition is one that [`estimate`] counts.
pub(crate) fn is_comparison(star: &Star, expr: &Expr) -> bool {
    comparison(star, expr).is_some()
}

/// The parts of a star that take part in the estimate.
struct Parts<'a> {
    star: &'a Star,
    required: Vec<TermId>,
    constants: Vec<(TermId, TermId)>,
    /// Required predicates with a variable object.
    open: Vec<TermId>,
    optional: Vec<TermId>,
    comparisons: Vec<Comparison<'a>>,
    /// The share of rows that passes the comparisons, without looking at rows.
    compared: f64,
}

/// Rows of a star whose subject is not known; `lookup` tells of its object slots.
pub(super) fn estimate(planner: &Planner<'_>, star: &Star, lookup: Lookup<'_>) -> Option<StarRows> {
    let parts = Parts::of(star, lookup);
    let groups = planner
        .statistics
        .star(&parts.required, &parts.open, &parts.optional)
        .filter(|groups| !groups.is_empty())?;
    let mut all = StarRows::default();
    let is_known = matches!(star.subject, Position::Id(_));
    for group in &groups {
        let table = group.table.filter(|table| star.has_table(*table));
        let more = match table {
            Some(table) => parts.in_table(planner, table, group),
            // A known subject is a row of the star's only table, or of none.
            None if is_known && !star.tables.is_empty() => continue,
            None => parts.irregular(planner, group),
        };
        all.before_comparisons += more.before_comparisons;
        all.rows += more.rows;
    }
    Some(all)
}

/// Subjects among which those of a star are, so many times [`DRAWN_ROWS`], and for how many each of them stands: rows of its tables, with the rarest constant where
/// they can be found by it, and subjects of irregular quads that are in none of these tables. `None` where rows cannot be looked at.
pub(crate) fn candidates(
    planner: &Planner<'_>,
    star: &Star,
    patterns: &[PatternProfile],
    times: usize,
) -> Option<Vec<(TermId, f64)>> {
    let (statistics, drawn) = (planner.statistics, DRAWN_ROWS * times);
    let parts = Parts::of(star, &|_| None);
    let of_table = |table: &TableIdx| {
        let counts = parts.counts(planner, *table);
        let rows = statistics.table_rows(*table) as f64;
        let least = counts.iter().map(|count| count.rows).fold(rows, f64::min);
        (*table, counts, least)
    };
    let tables: Vec<_> = star.tables.iter().map(of_table).collect();
    let all: f64 = tables.iter().map(|(_, _, rows)| rows).sum();
    let mut found = Vec::new();
    for (table, counts, rows) in &tables {
        let share = rows / all.max(1.0);
        let rows_max = (drawn as f64 * share).ceil() as usize;
        let rows_max = rows_max.max(DRAWN_ROWS_MIN);
        let (from, (subjects, population)) = ways(counts).find_map(|from| {
            let having = from.map(|from| (from.predicate, from.object));
            Some((from, statistics.spread_rows(*table, having, rows_max)?))
        })?;
        let weight = population * scale(from) / subjects.len().max(1) as f64;
        found.extend(subjects.into_iter().map(|subject| (subject, weight)));
    }
    let irregular = star.patterns.iter().zip(patterns);
    let irregular = irregular.filter(|(p, known)| !p.optional && known.irregular > 0.0);
    let rarest = irregular.min_by(|(_, a), (_, b)| a.irregular.total_cmp(&b.irregular));
    if let Some((pattern, _)) = rarest {
        let object = match pattern.object {
            Position::Id(object) => Some(object),
            Position::Slot(_) => None,
        };
        let subjects = statistics.spread_irregular(pattern.predicate, object, drawn);
        let is_outside = |(subject, _): &(TermId, f64)| {
            let table = statistics.table_of(*subject);
            table.is_none_or(|table| !star.has_table(table))
        };
        found.extend(subjects.into_iter().filter(is_outside));
    }
    Some(found)
}

/// Whether every row of a star's tables has exactly one value of a predicate.
pub(crate) fn has_one(planner: &Planner<'_>, star: &Star, predicate: TermId) -> bool {
    let columns = planner.columns(predicate);
    let has_one = |table: &TableIdx| {
        let rows = planner.statistics.table_rows(*table);
        column(&columns, *table).is_some_and(|column| {
            !column.multi_valued && column.dirty_rows == 0 && column.values == rows
        })
    };
    star.tables.iter().all(has_one)
}

/// The comparisons of a star.
pub(crate) fn comparisons(star: &Star) -> Vec<Comparison<'_>> {
    let conditions = star.filters.iter();
    conditions
        .filter_map(|expr| comparison(star, expr))
        .collect()
}

fn comparison<'a>(star: &Star, expr: &'a Expr) -> Option<Comparison<'a>> {
    let (value, constant) = match expr {
        Expr::Less(a, b) | Expr::LessOrEqual(a, b) | Expr::Equal(a, b) => match (&**a, &**b) {
            (value, Expr::Constant(constant)) | (Expr::Constant(constant), value) => {
                (value, constant.id?)
            }
            _ => return None,
        },
        _ => return None,
    };
    let (slot, is_cast) = condition::slot_or_cast(value)?;
    if is_cast && !constant.is_number() {
        return None;
    }
    if !matches!(expr, Expr::Equal(..)) {
        condition::number(constant)?;
    }
    let mut patterns = star.patterns.iter();
    let pattern = patterns.find(|p| p.object == Position::Slot(slot))?;
    Some(Comparison {
        slot,
        is_cast,
        predicate: pattern.predicate,
        expr,
        constant,
    })
}

impl Comparison<'_> {
    /// How values that pass compare to the constant, leaving aside whether it passes itself.
    pub(crate) fn order(&self) -> Ordering {
        match self.expr {
            Expr::Less(a, _) | Expr::LessOrEqual(a, _) if matches!(**a, Expr::Constant(_)) => {
                Ordering::Greater
            }
            Expr::Less(..) | Expr::LessOrEqual(..) => Ordering::Less,
            _ => Ordering::Equal,
        }
    }

    /// How likely a value passes, 0 or 1 where its id tells.
    pub(crate) fn passes(&self, value: TermId) -> f64 {
        if self.is_cast && !value.is_number() {
            // A text may say a number.
            return SELECTIVITY_DEFAULT;
        }
        let of_one_kind = value.is_number() && self.constant.is_number()
            || value.split_second().is_some() && self.constant.split_second().is_some()
            || value.tag() == self.constant.tag();
        if matches!(self.expr, Expr::Equal(..)) && value == self.constant {
            return 1.0;
        }
        let (Some(number), Some(bound)) =
            (condition::number(value), condition::number(self.constant))
        else {
            // A number in another notation may pass an order, and is hardly ever equal.
            let may_pass = value.tag() == tag::TYPED && !matches!(self.expr, Expr::Equal(..));
            return if may_pass { SELECTIVITY_DEFAULT } else { 0.0 };
        };
        let (left, right) = match self.order() {
            Ordering::Greater => (bound, number),
            _ => (number, bound),
        };
        let is_true = match self.expr {
            Expr::Less(..) => left < right,
            Expr::LessOrEqual(..) => left <= right,
            _ => left == right,
        };
        f64::from(u8::from(of_one_kind && is_true))
    }
}

impl<'a> Parts<'a> {
    fn of(star: &'a Star, lookup: Lookup<'_>) -> Self {
        let (mut constants, mut open) = (Vec::new(), Vec::new());
        let (mut required, mut optional) = (Vec::new(), Vec::new());
        for pattern in &star.patterns {
            if pattern.optional {
                optional.push(pattern.predicate);
                continue;
            }
            required.push(pattern.predicate);
            match pattern.object {
                Position::Id(object) => constants.push((pattern.predicate, object)),
                Position::Slot(_) => open.push(pattern.predicate),
            }
        }
        let comparisons = comparisons(star);
        let shares = comparisons
            .iter()
            .map(|c| condition::selectivity(c.expr, lookup));
        Self {
            star,
            required,
            constants,
            open,
            optional,
            compared: shares.product(),
            comparisons,
        }
    }

    /// Rows of one table.
    fn in_table(&self, planner: &Planner<'_>, table: TableIdx, group: &StarEstimate) -> StarRows {
        let subjects = group.subjects.max(1.0);
        let counts = self.counts(planner, table);
        let counted = self.several(planner, table);
        let mut fanout = group.solutions / subjects;
        if self.constants.is_empty() && self.comparisons.is_empty() && counted.len() < 2 {
            return StarRows {
                before_comparisons: group.solutions,
                rows: group.solutions,
            };
        }
        let least = counts.iter().min_by(|a, b| a.rows.total_cmp(&b.rows));
        // Those that have the rarest constant, as far as they have all the predicates.
        let share_of_least = least.map_or(1.0, |least| {
            (least.rows / least.rows_with_value.max(1.0)).min(1.0)
        });
        let guessed = subjects * share_of_least;
        let is_told = self.comparisons.is_empty()
            && counts.len() == 1
            && counted.len() < 2
            && least.is_some_and(|least| least.is_exact);
        let sample = match is_told {
            true => None,
            false => self.sample(planner, table, &counts, &counted),
        };
        let Some(sample) = sample else {
            return StarRows {
                before_comparisons: guessed * fanout,
                rows: guessed * self.compared * fanout,
            };
        };
        fanout *= sample.rows.together;
        let before = match self.constants.is_empty() {
            true => subjects,
            false => sample.rows(sample.plain, guessed).min(subjects),
        };
        let seen = sample.passed(sample.plain);
        let all = sample.rows.passed.len();
        let after = match sample.passed(all) {
            passed if passed >= 1.0 && seen > 0.0 => before * passed / seen,
            _ => sample.rows(all, before * self.compared),
        };
        StarRows {
            before_comparisons: before * fanout,
            rows: after.min(before) * fanout,
        }
    }

    /// The predicates with a variable object that have several values in some rows; one that occurs twice is
    /// there twice.
    fn several(&self, planner: &Planner<'_>, table: TableIdx) -> Vec<TermId> {
        let all = self.open.iter().chain(&self.optional).copied();
        all.filter(|p| column(&planner.columns(*p), table).is_some_and(|c| c.multi_valued))
            .collect()
    }

    /// How many rows of a table have each of the constants.
    fn counts(&self, planner: &Planner<'_>, table: TableIdx) -> Vec<ConstantCount> {
        let of_constant = |&(predicate, object): &(TermId, TermId)| {
            let columns = planner.columns(predicate);
            let column = column(&columns, table)?;
            let (exact, rows) = cells_with(planner, (table, column), (predicate, object));
            let irregular = planner.statistics.irregular(predicate);
            let dirty = column.dirty_rows as f64 / (irregular.subjects.max(1) as f64);
            let more = match irregular.quads {
                0 => 0.0,
                _ => {
                    let count = planner.statistics.irregular_object_count(predicate, object);
                    count as f64 * dirty.min(1.0)
                }
            };
            Some(ConstantCount {
                predicate,
                object,
                rows: rows + more,
                rows_with_value: column.rows_with_value as f64 + column.dirty_rows as f64,
                in_cells: exact.unwrap_or(0),
                is_exact: exact.is_some(),
            })
        };
        self.constants.iter().filter_map(of_constant).collect()
    }

    /// Rows of a table against the tests of the star: constants, predicates that not all rows have, comparisons.
    fn sample(
        &self,
        planner: &Planner<'_>,
        table: TableIdx,
        counts: &[ConstantCount],
        counted: &[TermId],
    ) -> Option<Sample> {
        let rows_max = (SAMPLE_ROWS / self.star.tables.len().max(1)).max(SAMPLE_ROWS_MIN);
        let partial = self.partial(planner, table);
        ways(counts).find_map(|from| {
            let is_from =
                |count: &&ConstantCount| from.is_some_and(|from| std::ptr::eq(from, *count));
            let constants = counts.iter().filter(|count| !is_from(count));
            let constants: Vec<_> = constants.map(|c| (c.predicate, c.object)).collect();
            self.with_tests(&constants, &partial, |tests, plain| {
                let wanted = SampleOf {
                    table,
                    having: from.map(|from| (from.predicate, from.object)),
                    tests,
                    counted,
                    rows_max,
                };
                let sample = planner.statistics.sample(&wanted)?;
                Some(Sample::new(sample, plain, scale(from)))
            })
        })
    }

    /// Makes the tests for constants, for predicates that must be there, and for the comparisons.
    fn with_tests<T>(
        &self,
        constants: &[(TermId, TermId)],
        present: &[TermId],
        then: impl FnOnce(&[RowTest<'_>], usize) -> T,
    ) -> T {
        let equal: Vec<_> = constants
            .iter()
            .map(|&(_, object)| move |value: TermId| f64::from(u8::from(value == object)))
            .collect();
        let compare: Vec<_> = self
            .comparisons
            .iter()
            .map(|comparison| move |value: TermId| comparison.passes(value))
            .collect();
        let mut tests: Vec<RowTest<'_>> = Vec::new();
        for ((predicate, _), passes) in constants.iter().zip(&equal) {
            let predicate = *predicate;
            tests.push(RowTest { predicate, passes });
        }
        tests.extend(present.iter().map(|predicate| RowTest {
            predicate: *predicate,
            passes: &|_| 1.0,
        }));
        let plain = tests.len();
        for (comparison, passes) in self.comparisons.iter().zip(&compare) {
            tests.push(RowTest {
                predicate: comparison.predicate,
                passes,
            });
        }
        then(&tests, plain)
    }

    /// The predicates with a variable object that is in no comparison, which not all rows of a table have.
    fn partial(&self, planner: &Planner<'_>, table: TableIdx) -> Vec<TermId> {
        let is_compared = |p: &TermId| self.comparisons.iter().any(|c| c.predicate == *p);
        let open = self.open.iter().copied().filter(|p| !is_compared(p));
        open.filter(|p| !is_full(planner, table, *p)).collect()
    }

    /// Rows of subjects that are in no table of the star.
    fn irregular(&self, planner: &Planner<'_>, group: &StarEstimate) -> StarRows {
        let mut share = 1.0f64;
        for &(predicate, object) in &self.constants {
            let of_cells = group
                .table
                .and_then(|table| share_of_cells(planner, table, (predicate, object)));
            let irregular = planner.statistics.irregular(predicate);
            let count = planner.statistics.irregular_object_count(predicate, object) as f64;
            let of_irregular = count / irregular.subjects.max(1) as f64;
            share = share.min(of_irregular.max(of_cells.unwrap_or(0.0)));
        }
        let mut rows = group.solutions * share;
        if group.table.is_some() {
            // Not by their cells: some quad of each solution is irregular.
            let quads = self.required.iter();
            let quads = quads.map(|p| planner.statistics.irregular(*p).quads);
            rows = rows.min(quads.max().unwrap_or(0) as f64);
        }
        StarRows {
            before_comparisons: rows,
            rows: rows * self.compared,
        }
    }
}

/// How many cells of a column have an object: as counted, and otherwise as if all objects had as many.
fn cells_with(
    planner: &Planner<'_>,
    (table, column): (TableIdx, &ColumnStatistics),
    (predicate, object): (TermId, TermId),
) -> (Option<u64>, f64) {
    let exact = planner.statistics.object_count(table, predicate, object);
    let even = column.values as f64 / column.distinct.max(1) as f64;
    (exact, exact.map_or(even, |count| count as f64))
}

/// The share of a table's rows with a value of a predicate in cells that have this one.
fn share_of_cells(
    planner: &Planner<'_>,
    table: TableIdx,
    (predicate, object): (TermId, TermId),
) -> Option<f64> {
    let columns = planner.columns(predicate);
    let column = column(&columns, table)?;
    let (_, rows) = cells_with(planner, (table, column), (predicate, object));
    Some((rows / column.rows_with_value.max(1) as f64).min(1.0))
}

/// What is known of a constant object in one table.
struct ConstantCount {
    predicate: TermId,
    object: TermId,
    /// Rows that have it, dirty ones included.
    rows: f64,
    /// Rows that have any object.
    rows_with_value: f64,
    /// Cells that have it, where that is known.
    in_cells: u64,
    is_exact: bool,
}

/// How rows of a table are asked for: those with the rarest constant that is counted, with the rarest other; if those cannot be found,
/// any.
fn ways(counts: &[ConstantCount]) -> impl Iterator<Item = Option<&ConstantCount>> {
    let rarest = |is_exact: bool| {
        let known = counts.iter().filter(|count| match is_exact {
            true => count.in_cells > 0,
            false => !count.is_exact,
        });
        known.min_by(|a, b| a.rows.total_cmp(&b.rows))
    };
    let constants = [rarest(true), rarest(false)].into_iter().flatten();
    constants.map(Some).chain([None])
}

/// For how many rows each of those stands that have a constant in cells.
fn scale(from: Option<&ConstantCount>) -> f64 {
    let from = from.filter(|from| from.is_exact);
    from.map_or(1.0, |from| from.rows / from.in_cells.max(1) as f64)
}

/// Rows that were looked at, and for how many each of them stands.
struct Sample {
    rows: Sampled,
    /// Tests of constants and of predicates.
    plain: usize,
    /// Rows that a row stands for.
    weight: f64,
}

impl Sample {
    fn new(rows: Sampled, plain: usize, scale: f64) -> Self {
        Self {
            plain,
            weight: rows.population * scale / rows.tested.max(1) as f64,
            rows,
        }
    }

    /// Rows seen that pass so many of the tests.
    fn passed(&self, tests: usize) -> f64 {
        match tests {
            0 => self.rows.tested as f64,
            tests => self.rows.passed[tests - 1],
        }
    }

    /// Rows that pass so many of the tests; `guess` is for when too few were seen to tell.
    fn rows(&self, tests: usize, guess: f64) -> f64 {
        let passed = self.passed(tests);
        if passed >= 1.0 || self.rows.tested as f64 >= self.rows.population {
            return passed * self.weight;
        }
        // Not one was seen, so there are hardly more than half of what one would stand for.
        guess.min(0.5 * self.weight)
    }
}

fn column(columns: &[(TableIdx, ColumnStatistics)], table: TableIdx) -> Option<&ColumnStatistics> {
    let found = columns.iter().find(|(idx, _)| *idx == table);
    found.map(|(_, column)| column)
}

fn is_full(planner: &Planner<'_>, table: TableIdx, predicate: TermId) -> bool {
    let rows = planner.statistics.table_rows(table) as f64;
    column(&planner.columns(predicate), table)
        .is_some_and(|column| column.rows_with_value as f64 >= rows * FULL)
}
