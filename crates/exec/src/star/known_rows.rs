//! `PatternRows`: which rows of a table have the constants of a star, and values in columns in which most rows have none, known beforehand.
//!
//! A join that finds subjects row by row tests the same rows again and again: half a million offers, of a few
//! thousand products, against one type. Once a join has tested so many candidates of a table that finding all rows with the
//! constant costs less than going on, they are found, and are one bit for each row from then on: with an inverse that is soon, without
//! one, where the packed values of the column are compared, after a sixteenth of them. That all rows have a constant, an inverse says
//! before any is tested. The rows with a value in a column where most have none are found in the same way, and those whose values can pass
//! comparisons, where few can ([`interval`](super::interval)), so that of the many rows that have a popular object only these are read.
//! Rows that are dirty are never asked for, nor are changed ones, so cells tell all.
//!
//! Memory: a bit for each row, constant and thread; 125 KB for a million rows.

use super::compiled::{CompiledPattern, CompiledStar, Object};
use super::entry_rows::{COMPARED_FOR_TEST, is_sparse};
use super::interval::{Interval, SAMPLED_ROWS};
use crate::context::Context;
use crate::error::ExecError;
use crate::profile::current_node;
use basalt_columns::RowBits;
use basalt_rdf::TermId;
use basalt_store::{Cells, Table};
use std::ops::Range;

/// The rows of a table that a pattern holds for.
pub enum KnownRows {
    /// Nobody knows.
    Unknown,
    /// All of them.
    All,
    /// Some of them.
    These(RowBits),
    /// The pattern may hold for these, which have a value of its predicate that may pass its comparisons, and no other.
    WithValue(RowBits),
}

/// Rows that an inverse gives in the time that one candidate takes to be tested (2 and 10 to 50 ns).
const FOUND_PER_TEST: usize = 4;
/// Rows whose bits are cleared in the time that one candidate takes to be tested.
const CLEARED_PER_TEST: usize = 256;

/// Candidates that are tested in the time that opening a column and making room for a bit for each row take.
const SEARCH_START: usize = 64;

/// What is known of one table.
struct TableRows {
    /// Candidates tested so far.
    tested: usize,
    /// By pattern.
    patterns: Vec<KnownRows>,
    /// By pattern, after how many candidates its rows are found.
    found_after: Vec<usize>,
}

/// What a join knows of the tables.
#[derive(Default)]
pub struct PatternRows {
    tables: Vec<Option<TableRows>>,
}

impl PatternRows {
    /// Counts candidates of a table, which hold for the pattern `entry`, and gives what is known by now of its rows, by pattern.
    pub fn test(
        &mut self,
        star: &CompiledStar,
        table_idx: usize,
        candidates: usize,
        entry: Option<usize>,
        cx: &Context,
    ) -> Result<&[KnownRows], ExecError> {
        let tables = cx.snapshot().tables();
        if self.tables.is_empty() {
            self.tables.resize_with(tables.len(), || None);
        }
        let table = &tables[table_idx];
        let known = self.tables[table_idx].get_or_insert_with(|| TableRows::new(star, table));
        known.tested += candidates;
        let patterns = known.patterns.iter_mut().zip(&star.patterns);
        let patterns = patterns.zip(&mut known.found_after).enumerate();
        for (pattern_idx, ((rows, pattern), found_after)) in patterns {
            let is_known = entry == Some(pattern_idx) || !matches!(rows, KnownRows::Unknown);
            if is_known || known.tested <= *found_after {
                continue;
            }
            let bits = |found| RowBits::of(found, table.rows());
            if let Some((cells, object)) = constant(pattern, table) {
                *rows = KnownRows::These(bits(having(cells, object, cx)?));
            } else if let Some((cells, Interval { low, high })) = few_passing(star, pattern, table)
            {
                let find = |rows, found: &mut _| cells.rows_between(rows, (low, high), found);
                *rows = KnownRows::WithValue(bits(by_segment(cells, cx, find)?));
            } else if let Some(cells) = sparse(pattern, table) {
                let find = |rows, found: &mut _| {
                    cells.rows_with_value(rows, found);
                    0
                };
                *rows = KnownRows::WithValue(bits(by_segment(cells, cx, find)?));
            } else {
                *found_after = usize::MAX;
            }
        }
        Ok(&known.patterns)
    }
}

impl TableRows {
    /// What inverses tell at once: that all rows have a constant, as they mostly have their class.
    fn new(star: &CompiledStar, table: &Table) -> Self {
        let rows = table.rows() as usize;
        let mut new = Self {
            tested: 0,
            patterns: Vec::with_capacity(star.patterns.len()),
            found_after: Vec::with_capacity(star.patterns.len()),
        };
        for pattern in &star.patterns {
            let count =
                constant(pattern, table).and_then(|(cells, object)| cells.count_object(object));
            // Values of a row are distinct, so as many cells as rows are a cell of each.
            let (known, found_after) = match count {
                Some(count) if count == rows as u64 => (KnownRows::All, rows),
                Some(count) => (KnownRows::Unknown, found_after(count as usize, rows)),
                None => (KnownRows::Unknown, searched_after(star, pattern, table)),
            };
            new.patterns.push(known);
            new.found_after.push(found_after);
        }
        new
    }
}

/// The rows that have a constant.
fn having(cells: Cells<'_>, object: TermId, cx: &Context) -> Result<Vec<u32>, ExecError> {
    // As `TableRows::new` expects: by the inverse of the column that takes the object, where that has one.
    if cells.count_object(object).is_some() {
        let mut found = Vec::new();
        cells.find(object, &mut found);
        return Ok(found);
    }
    by_segment(cells, cx, |rows, found| {
        cells.rows_with_object(rows, object, found)
    })
}

/// What `find` appends of the rows of each segment; it tells of how many it compared a value.
fn by_segment(
    cells: Cells<'_>,
    cx: &Context,
    find: impl Fn(Range<u32>, &mut Vec<u32>) -> usize,
) -> Result<Vec<u32>, ExecError> {
    let mut found = Vec::new();
    for segment_idx in 0..cells.segment_count() {
        cx.check()?;
        let compared = find(cells.segment_rows(segment_idx), &mut found);
        cx.profile().compared(current_node(), compared);
    }
    Ok(found)
}

/// Candidates that take as long to be tested as finding `count` rows of so many with an inverse.
fn found_after(count: usize, rows: usize) -> usize {
    count / FOUND_PER_TEST + rows / CLEARED_PER_TEST
}

/// Candidates that take as long to be tested as searching a column for a constant or for values that pass comparisons, or finding the rows
/// that have a value in it; more than there are where neither is done.
fn searched_after(star: &CompiledStar, pattern: &CompiledPattern, table: &Table) -> usize {
    let rows = table.rows() as usize;
    let searched = constant(pattern, table).map(|(cells, _)| cells);
    let searched = searched.or_else(|| compared(star, pattern, table).map(|(cells, _)| cells));
    if let Some(cells) = searched {
        let compared = cells.statistics().values as usize / COMPARED_FOR_TEST as usize;
        return SEARCH_START + compared + found_after(0, rows);
    }
    let Some(cells) = sparse(pattern, table) else {
        return usize::MAX;
    };
    // The offsets of lists are all decoded.
    let offsets = if cells.multi_valued() { rows } else { 0 };
    let with_value = cells.statistics().rows_with_value as usize;
    found_after(with_value + offsets, rows)
}

/// The cells of a pattern that must hold, and its new column, if filters read that alone.
fn compared<'t>(
    star: &CompiledStar,
    pattern: &CompiledPattern,
    table: &'t Table,
) -> Option<(Cells<'t>, usize)> {
    let Object::New(column) = pattern.object else {
        return None;
    };
    let is_filtered = !pattern.optional && star.filters_of(column).next().is_some();
    let cells = table.cells(pattern.predicate).filter(|_| is_filtered)?;
    Some((cells, column))
}

/// The cells of a pattern and the interval of values that pass its filters, if few rows have one.
fn few_passing<'t>(
    star: &CompiledStar,
    pattern: &CompiledPattern,
    table: &'t Table,
) -> Option<(Cells<'t>, Interval)> {
    let (cells, column) = compared(star, pattern, table)?;
    let interval = Interval::of(star, column, cells.statistics().range?)?;
    let passing = interval.sample(cells, &(0..table.rows()));
    is_sparse(passing, SAMPLED_ROWS).then_some((cells, interval))
}

/// The cells of a pattern that must hold and asks for no constant, if few rows have a value.
fn sparse<'t>(pattern: &CompiledPattern, table: &'t Table) -> Option<Cells<'t>> {
    if pattern.optional || matches!(pattern.object, Object::Constant(_)) {
        return None;
    }
    let cells = table.cells(pattern.predicate)?;
    let with_value = cells.statistics().rows_with_value;
    is_sparse(with_value, u64::from(table.rows())).then_some(cells)
}

/// The cells and the object of a pattern that asks for a constant.
fn constant<'t>(pattern: &CompiledPattern, table: &'t Table) -> Option<(Cells<'t>, TermId)> {
    let Object::Constant(object) = pattern.object else {
        return None;
    };
    let cells = table
        .cells(pattern.predicate)
        .filter(|_| !pattern.optional)?;
    Some((cells, TermId(object)))
}
