//! `ConstantRows`: which rows of a table have the constants of a star, known beforehand.
//!
//! A join that finds subjects row by row tests the same rows again and again: half a million offers, of a few
//! thousand products, against one type. Once a join has tested as many candidates of a table as the table has
//! rows, finding all rows with the constant costs less than going on: one search of the column, and one bit for each
//! row from then on. Rows that are dirty are never asked for, so cells tell all.
//!
//! Memory: a bit for each row, constant and thread; 125 KB for a million rows.

use super::compiled::{CompiledStar, Object};
use crate::context::Context;
use basalt_rdf::TermId;
use basalt_store::Table;

/// Rows as bits.
pub struct RowBits(Vec<u64>);

impl RowBits {
    fn of(rows: &[u32], count: u32) -> Self {
        let mut words = vec![0; (count as usize).div_ceil(64)];
        for &row in rows {
            words[row as usize / 64] |= 1 << (row % 64);
        }
        Self(words)
    }

    /// Whether a row is among them.
    #[inline]
    pub fn contains(&self, row: u32) -> bool {
        self.0[row as usize / 64] >> (row % 64) & 1 == 1
    }
}

/// What is known of one table.
#[derive(Default)]
struct TableRows {
    /// Candidates tested so far.
    tested: usize,
    /// By pattern, once enough were tested; `None` for patterns whose object is no constant.
    patterns: Option<Vec<Option<RowBits>>>,
}

/// What a join knows of the tables.
#[derive(Default)]
pub struct ConstantRows {
    tables: Vec<TableRows>,
}

impl ConstantRows {
    /// Counts candidates of a table, and gives its rows with the star's constants, by pattern, if they are known by now.
    pub fn test(
        &mut self,
        star: &CompiledStar,
        table_idx: usize,
        candidates: usize,
        cx: &Context,
    ) -> Option<&[Option<RowBits>]> {
        if self.tables.is_empty() {
            let count = cx.snapshot().tables().len();
            self.tables.resize_with(count, TableRows::default);
        }
        let (known, table) = (
            &mut self.tables[table_idx],
            &cx.snapshot().tables()[table_idx],
        );
        known.tested += candidates;
        if known.patterns.is_none() && known.tested > table.rows() as usize {
            known.patterns = Some(find(star, table));
        }
        known.patterns.as_deref()
    }
}

fn find(star: &CompiledStar, table: &Table) -> Vec<Option<RowBits>> {
    let patterns = star.patterns.iter().map(|pattern| {
        let Object::Constant(object) = pattern.object else {
            return None;
        };
        let cells = table
            .cells(pattern.predicate)
            .filter(|_| !pattern.optional)?;
        let mut rows = Vec::new();
        cells.find(TermId(object), &mut rows);
        Some(RowBits::of(&rows, table.rows()))
    });
    patterns.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_the_rows() {
        let rows = [0, 1, 63, 64, 129];
        let bits = RowBits::of(&rows, 130);
        let found: Vec<u32> = (0..130).filter(|&row| bits.contains(row)).collect();
        assert_eq!(found, rows);
        assert!(!RowBits::of(&[], 1).contains(0));
    }
}
