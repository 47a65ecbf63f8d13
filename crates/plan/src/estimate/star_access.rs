//! The access path of a star that is read alone, and what it costs.
//!
//! A scan reads all rows, those that have a value where most have none, or those that have a constant or values in an interval, found among encoded
//! cells, whichever is cheapest, as the executor's `entry_rows` does; or the rows of a constant come from its inverse. What is read
//! after that narrows: constants, then values that are compared, then the others of the rows that pass.

use super::condition;
use super::graph;
use super::star::{self, PatternProfile, StarProfile};
use super::star_rows;
use crate::alternative::{Alternative, Way, keep_cheaper};
use crate::cost_constants::{
    COMPARE_CELL, EMIT_ROW, FOUND_ROW, GATHER_CELL, GRAPH_PROBE_TABLE, INVERSE_BUILD,
    INVERSE_PROBE, QUAD_PROBE, QUAD_SCAN, ROWS_FOR_VALUE, SCAN_CELL, SEARCH_CELL, START,
    VALUES_FOR_PASSING,
};
use crate::physical::{Position, Slot, Star, StarAccess};
use crate::planner::Planner;

/// What a scan by rows begins with.
struct Entry {
    /// Rows that are left.
    rows: f64,
    /// Time to find them.
    cost: f64,
}

/// How a scan begins without a constant, over all tables: with the rows that have a value in a column in which most have none, else with all.
fn entry(planner: &Planner<'_>, star: &Star) -> Entry {
    let mut all = Entry {
        rows: 0.0,
        cost: 0.0,
    };
    let is_rare = graph::is_rare(planner, star);
    for table in &star.tables {
        let rows = planner.statistics.table_rows(*table) as f64;
        if is_rare {
            let in_graph = rows * graph::share_of_table(planner, star, *table);
            all.rows += in_graph;
            all.cost += GRAPH_PROBE_TABLE + in_graph * FOUND_ROW;
            continue;
        }
        let (mut least, mut cost) = (rows, rows * SCAN_CELL);
        for pattern in star.patterns.iter().filter(|pattern| !pattern.optional) {
            let columns = planner.columns(pattern.predicate);
            let column = columns.iter().find(|(idx, _)| idx == table);
            let Some((_, column)) = column else { continue };
            let with_value = column.rows_with_value as f64;
            if with_value < least && with_value * ROWS_FOR_VALUE <= rows {
                let offsets = if column.multi_valued { rows } else { 0.0 };
                least = with_value;
                cost = offsets * SCAN_CELL + with_value * FOUND_ROW;
            }
        }
        let in_graph = rows * graph::share_of_table(planner, star, *table);
        if in_graph < least && in_graph * ROWS_FOR_VALUE <= rows {
            least = in_graph;
            cost = rows * SEARCH_CELL + in_graph * FOUND_ROW;
        }
        all.rows += least;
        all.cost += cost;
    }
    all
}

/// The patterns that ask for a constant. They are tested first, and of a row with several values all are read.
fn constants<'a>(
    star: &Star,
    patterns: &'a [PatternProfile],
) -> impl Iterator<Item = &'a PatternProfile> {
    let patterns = star.patterns.iter().zip(patterns);
    let constants = patterns.filter(|(pattern, _)| pattern.object.slot().is_none());
    constants.map(|(_, known)| known)
}

/// What is read of the rows of a star with constants.
struct Reading {
    /// Rows that have the constants, however they were found.
    passing: f64,
    table_rows: f64,
    /// Patterns with a constant; without one those whose values are compared, and the others.
    constants: f64,
    compared: f64,
    open: f64,
    /// The share of rows whose values pass.
    left: f64,
    /// Time to compare the values of a row, and to keep those that pass conditions.
    tested: f64,
}

impl Reading {
    /// Time to read so many cells of each of some rows.
    fn cells(&self, rows: f64, cells: f64) -> f64 {
        rows * cells * sparse_cell(rows, self.table_rows)
    }

    /// Time to read the values of so many rows that have the constants: first those that are compared.
    fn values(&self, rows: f64) -> f64 {
        self.cells(rows, self.compared) + self.cells(rows * self.left, self.open)
    }

    /// Of the rows that are known to have one constant, by an index or by comparing encoded cells.
    fn of_having(&self, known: &PatternProfile) -> f64 {
        self.cells(known.matches, self.constants - 1.0) + self.values(self.passing)
    }

    /// Of a scan that begins with rows, or with those found by comparing the encoded cells of the constant with the fewest.
    /// `None` without constants.
    fn by_rows(&self, star: &Star, patterns: &[PatternProfile], entry: &Entry) -> Option<f64> {
        let fewest =
            |a: &&PatternProfile, b: &&PatternProfile| a.cell_values.total_cmp(&b.cell_values);
        let searched = constants(star, patterns).min_by(fewest)?;
        let tested = tested_values(star, patterns);
        let read = self.values(self.passing.min(entry.rows));
        let from_rows = entry.cost + self.cells(entry.rows, tested) + read;
        let compared = searched.cell_values * SEARCH_CELL + self.of_having(searched);
        Some(from_rows.min(compared))
    }

    /// Of a scan that begins with the rows whose values of a column are in an interval of ids, with its comparisons; `None` where too many
    /// are. A row has `tested` values tested for constants, and filters take `filtered`.
    fn in_interval(&self, column: &FoundColumn, tested: f64, filtered: f64) -> Option<f64> {
        if column.share * VALUES_FOR_PASSING > 1.0 {
            return None;
        }
        let found = self.table_rows * column.share;
        let passing = self.passing * column.share;
        let find = column.values * SEARCH_CELL + found * FOUND_ROW + self.cells(found, tested);
        let read = self.cells(passing, self.compared);
        let read = read + self.cells(self.passing * self.left, self.open);
        Some(find + read + passing * (self.tested + filtered))
    }
}

/// Values of a row that are tested for constants.
fn tested_values(star: &Star, patterns: &[PatternProfile]) -> f64 {
    constants(star, patterns)
        .map(|known| known.per_subject)
        .sum()
}

/// What is compared with constants in the rows of a star.
struct Compared {
    /// Time for each row.
    row: f64,
    /// Columns that are read for it.
    columns: f64,
    /// The columns whose values are found by their ids.
    found: Vec<FoundColumn>,
}

/// A column whose values are found among encoded cells.
struct FoundColumn {
    /// Its values in cells.
    values: f64,
    /// The share of rows whose values pass.
    share: f64,
}

impl Compared {
    fn of(star: &Star, patterns: &[PatternProfile]) -> Self {
        let lookup = |slot: Slot| star::slot_statistics(star, patterns, slot);
        let mut compared = Self {
            row: 0.0,
            columns: 0.0,
            found: Vec::new(),
        };
        let comparisons = star_rows::comparisons(star);
        for (idx, comparison) in comparisons.iter().enumerate() {
            let mut patterns = patterns.iter();
            let Some(known) = patterns.find(|known| known.predicate == comparison.predicate) else {
                continue;
            };
            compared.row += known.per_subject * COMPARE_CELL;
            let of_column = |other: &&star_rows::Comparison<'_>| other.slot == comparison.slot;
            if comparisons[..idx].iter().any(|other| of_column(&other)) {
                continue;
            }
            compared.columns += 1.0;
            let of_column = comparisons.iter().filter(of_column);
            let numbers = of_column.filter(|other| condition::number(other.constant).is_some());
            let shares = numbers.map(|other| condition::selectivity(other.expr, &lookup));
            if let Some(share) = shares.reduce(|a, b| a * b) {
                compared.found.push(FoundColumn {
                    values: known.cell_values,
                    // Its logarithm is taken.
                    share: share.max(f64::MIN_POSITIVE),
                });
            }
        }
        compared
    }

    /// The column that leaves fewest rows, if such a share is left after all comparisons.
    fn strongest(&self, left: f64) -> Option<FoundColumn> {
        let fewest = |a: &&FoundColumn, b: &&FoundColumn| a.share.total_cmp(&b.share);
        let column = self.found.iter().min_by(fewest)?;
        let all: f64 = self.found.iter().map(|column| column.share.ln()).sum();
        // Each column has its part of what is known of them together.
        let part = if all < 0.0 {
            column.share.ln() / all
        } else {
            1.0
        };
        Some(FoundColumn {
            values: column.values,
            share: left.powf(part),
        })
    }
}

/// Takes the cheapest access: of rows that have the constants so many are left after comparisons, which is that share of them.
pub(super) fn choose(
    planner: &Planner<'_>,
    star: &Star,
    profile: &mut StarProfile,
    (after_comparisons, left): (f64, f64),
) {
    let table_rows = profile.table_rows;
    let filters = star.filters.iter();
    let others = filters.filter(|filter| !star_rows::is_comparison(star, filter));
    let others: f64 = others.map(condition::cost).sum();
    let cells = star.patterns.len() as f64;
    let finish = after_comparisons * others + profile.rows * EMIT_ROW;
    if matches!(star.subject, Position::Id(_)) {
        profile.access = StarAccess::Subject;
        profile.cost = START + cells * (GATHER_CELL + QUAD_PROBE) + finish;
        return;
    }
    let compared = Compared::of(star, &profile.patterns);
    let matches = constants(star, &profile.patterns).map(|known| known.matches);
    let constant_count = constants(star, &profile.patterns).count() as f64;
    let reading = Reading {
        passing: matches.fold(table_rows, f64::min),
        table_rows,
        constants: constant_count,
        compared: compared.columns,
        open: (cells - constant_count - compared.columns).max(0.0),
        left,
        tested: compared.row,
    };
    let filtered = star.filters.len() as f64 * SCAN_CELL;
    let entry = entry(planner, star);
    let by_rows = reading.by_rows(star, &profile.patterns, &entry);
    let by_rows = by_rows.unwrap_or_else(|| entry.cost + reading.cells(profile.rows, cells));
    let by_rows = by_rows + reading.passing * (reading.tested + filtered);
    let in_interval = compared.strongest(left).and_then(|strongest| {
        let tested = tested_values(star, &profile.patterns);
        reading.in_interval(&strongest, tested, filtered)
    });
    let by_rows = by_rows.min(in_interval.unwrap_or(f64::INFINITY));
    let mut irregular: f64 = profile.patterns.iter().map(|p| p.irregular).sum();
    if graph::is_rare(planner, star) {
        irregular *= profile.graph_share;
    }
    profile.cost = START + by_rows + irregular * QUAD_SCAN + finish;
    let finish = finish + reading.passing * reading.tested;
    for (pattern_idx, pattern) in star.patterns.iter().enumerate() {
        if pattern.object.slot().is_some() {
            continue;
        }
        let known = &profile.patterns[pattern_idx];
        let cost = START + by_object(star, known) + reading.of_having(known) + finish;
        offer_object(star, profile, pattern_idx, cost);
    }
}

/// Time to find the rows that have one constant by its inverse.
fn by_object(star: &Star, known: &PatternProfile) -> f64 {
    let irregular = if known.irregular > 0.0 {
        QUAD_PROBE
    } else {
        0.0
    };
    INVERSE_PROBE * star.tables.len() as f64
        + known.unindexed_rows * (SCAN_CELL + INVERSE_BUILD * 0.1)
        + known.matches * FOUND_ROW
        + irregular
}

/// Takes the access by a constant if it is cheaper than what is chosen so far, or as cheap and by a rarer one; else it may be the alternative.
fn offer_object(star: &Star, profile: &mut StarProfile, pattern_idx: usize, cost: f64) {
    let matches = profile.patterns[pattern_idx].matches;
    let better = match profile.access {
        StarAccess::Object {
            pattern_idx: chosen,
        } => {
            let is_rarer = matches < profile.patterns[chosen].matches;
            cost < profile.cost || is_rarer && cost <= profile.cost
        }
        _ => cost < profile.cost,
    };
    if better {
        // What was the cheapest is cheaper than its own alternative.
        profile.alternative = Some(Alternative {
            way: access_way(star, &profile.access),
            cost: profile.cost,
        });
        profile.access = StarAccess::Object { pattern_idx };
        profile.cost = cost;
    } else {
        let way = Way::ScanObject(star.patterns[pattern_idx].predicate);
        keep_cheaper(&mut profile.alternative, way, cost);
    }
}

/// The cost of reading a cell of some rows out of those of the tables: the nearer they are to each other, the more of a cache
/// line is of use.
pub(crate) fn sparse_cell(rows: f64, table_rows: f64) -> f64 {
    (SCAN_CELL * table_rows / rows.max(1.0)).clamp(SCAN_CELL, GATHER_CELL)
}

/// The way of an access to a star whose subject is not known.
fn access_way(star: &Star, access: &StarAccess) -> Way {
    match access {
        StarAccess::Object { pattern_idx } => {
            Way::ScanObject(star.patterns[*pattern_idx].predicate)
        }
        StarAccess::Rows | StarAccess::Subject => Way::ScanRows,
    }
}
