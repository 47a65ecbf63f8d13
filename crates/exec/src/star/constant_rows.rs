//! `ConstantRows`: which rows of a table have the constants of a star, known beforehand.
//!
//! A join that finds subjects row by row tests the same rows again and again: half a million offers, of a few
//! thousand products, against one type. Once a join has tested so many candidates of a table that finding all rows with the
//! constant costs less than going on, they are found, and are one bit for each row from then on: with an inverse that is soon, without
//! one, where the column is searched, after as many candidates as the table has rows. That all rows have a constant, an inverse says
//! before any is tested. Rows that are dirty are never asked for, nor are changed ones, so cells tell all.
//!
//! Memory: a bit for each row, constant and thread; 125 KB for a million rows.

use super::compiled::{CompiledPattern, CompiledStar, Object};
use crate::context::Context;
use basalt_columns::RowBits;
use basalt_rdf::TermId;
use basalt_store::{Cells, Table};

/// The rows of a table that have the constant of a pattern.
pub enum KnownRows {
    /// Nobody knows, or the object is no constant.
    Unknown,
    /// All of them.
    All,
    /// Some of them.
    These(RowBits),
}

/// Rows that an inverse gives in the time that one candidate takes to be tested (2 and 10 to 50 ns).
const FOUND_PER_TEST: usize = 4;
/// Rows whose bits are cleared in the time that one candidate takes to be tested.
const CLEARED_PER_TEST: usize = 256;

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
pub struct ConstantRows {
    tables: Vec<Option<TableRows>>,
}

impl ConstantRows {
    /// Counts candidates of a table, and gives what is known by now of its rows with the star's constants, by pattern.
    pub fn test(
        &mut self,
        star: &CompiledStar,
        table_idx: usize,
        candidates: usize,
        cx: &Context,
    ) -> &[KnownRows] {
        let tables = cx.snapshot().tables();
        if self.tables.is_empty() {
            self.tables.resize_with(tables.len(), || None);
        }
        let table = &tables[table_idx];
        let known = self.tables[table_idx].get_or_insert_with(|| TableRows::new(star, table));
        known.tested += candidates;
        let patterns = known.patterns.iter_mut().zip(&star.patterns);
        for ((rows, pattern), found_after) in patterns.zip(&known.found_after) {
            if known.tested <= *found_after {
                continue;
            }
            if let (KnownRows::Unknown, Some((cells, object))) = (&rows, constant(pattern, table)) {
                let mut found = Vec::new();
                cells.find(object, &mut found);
                *rows = KnownRows::These(RowBits::of(found, table.rows()));
            }
        }
        &known.patterns
    }
}

impl TableRows {
    /// What inverses tell at once: that all rows have a constant, as they mostly have their class.
    fn new(star: &CompiledStar, table: &Table) -> Self {
        let rows = table.rows() as usize;
        let patterns = star.patterns.iter().map(|pattern| {
            let count =
                constant(pattern, table).and_then(|(cells, object)| cells.count_object(object));
            // Values of a row are distinct, so as many cells as rows are a cell of each.
            match count {
                Some(count) if count == rows as u64 => (KnownRows::All, rows),
                Some(count) => (KnownRows::Unknown, found_after(count as usize, rows)),
                None => (KnownRows::Unknown, rows),
            }
        });
        let (patterns, found_after) = patterns.unzip();
        Self {
            tested: 0,
            patterns,
            found_after,
        }
    }
}

/// Candidates that take as long to be tested as finding `count` rows of so many with an inverse.
fn found_after(count: usize, rows: usize) -> usize {
    count / FOUND_PER_TEST + rows / CLEARED_PER_TEST
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
