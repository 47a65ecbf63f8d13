//! How many input rows a join takes at once.
//!
//! Solutions of several values of several patterns are many times the rows they come from. Made for a whole batch they would be vectors of
//! megabytes, which grow by being copied to pages that nobody has touched yet: that was five sixths of the time of such joins. So a batch is cut into
//! parts that are expected to have [`SOLUTIONS_MAX`] solutions each; candidates are looked up again for each part.

use super::super::compiled::{CompiledStar, Object};
use super::super::parts::SOLUTIONS_MAX;
use super::StarJoin;
use super::candidates::Candidates;
use crate::context::Context;
use basalt_store::Table;

impl StarJoin {
    /// How many parts a batch with these candidates of each table is to be cut into; one where it is as good as it is.
    pub(super) fn parts(&self, tables: &[Candidates], entry: Option<usize>, cx: &Context) -> usize {
        let tables = tables.iter().zip(cx.snapshot().tables());
        let expected = tables.map(|(candidates, table)| match candidates.rows.len() {
            0 => 0.0,
            count => count as f64 * solutions_per_row(&self.star, table, entry),
        });
        let parts = expected.sum::<f64>() / SOLUTIONS_MAX as f64;
        // A part that is a little larger than expected is not cut again.
        if parts <= 2.0 {
            1
        } else {
            parts.ceil() as usize
        }
    }
}

/// Solutions of a row that has all patterns, as many as values on average; `entry` holds for one value.
fn solutions_per_row(star: &CompiledStar, table: &Table, entry: Option<usize>) -> f64 {
    let mut solutions = 1.0;
    for (pattern_idx, pattern) in star.patterns.iter().enumerate() {
        let is_open = matches!(pattern.object, Object::New(_) | Object::Any);
        if entry == Some(pattern_idx) || !is_open {
            continue;
        }
        if let Some(cells) = table.cells(pattern.predicate) {
            let known = cells.statistics();
            solutions *= known.values as f64 / known.rows_with_value.max(1) as f64;
        }
    }
    solutions
}
