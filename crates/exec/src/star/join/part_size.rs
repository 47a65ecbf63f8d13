//! How many input rows a join takes at once.
//!
//! Solutions are many times the rows they come from where patterns have several values, or values many rows. Made for a whole batch they would be
//! vectors of megabytes, which grow by being copied to pages that nobody has touched yet: that was five sixths of the time of such joins. So a
//! batch is cut into parts that are expected to have [`SOLUTIONS_MAX`] solutions each, and those that come next are cut alike before anything is looked up,
//! until a part has far less. Keys that rows share are not looked up by parts: their solutions get room at once.

use super::super::compiled::{CompiledStar, Object};
use super::super::parts::SOLUTIONS_MAX;
use super::StarJoin;
use super::candidates::Candidates;
use crate::context::Context;
use basalt_store::Table;

/// A part with so much less than it may have tells that the next may be twice as large.
const FEW_SHARE: f64 = 0.25;

/// Input rows that are joined at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartSize(usize);

impl Default for PartSize {
    fn default() -> Self {
        Self(usize::MAX)
    }
}

impl PartSize {
    /// Rows of a part, if a batch of so many is to be cut before it is looked at.
    pub(super) fn of_batch(self, rows: usize) -> Option<usize> {
        (self.0 < rows).then_some(self.0)
    }

    /// Notes what some rows are expected to have; gives the rows of a part if these are to be cut.
    pub(super) fn note(&mut self, rows: usize, expected: f64) -> Option<usize> {
        let parts = expected / SOLUTIONS_MAX as f64;
        // A part that is a little larger than expected is not cut again.
        if parts > 2.0 && rows > 1 {
            self.0 = (rows as f64 / parts).ceil() as usize;
            return Some(self.0);
        }
        if parts < FEW_SHARE {
            self.0 = self.0.saturating_mul(2);
        }
        None
    }
}

impl StarJoin {
    /// The solutions that candidates of each table are expected to have.
    pub(super) fn expected_solutions(
        &self,
        tables: &[Candidates],
        entry: Option<usize>,
        cx: &Context,
    ) -> f64 {
        let tables = tables.iter().zip(cx.snapshot().tables());
        let expected = tables.map(|(candidates, table)| match candidates.rows.len() {
            0 => 0.0,
            count => count as f64 * solutions_per_row(&self.star, table, entry),
        });
        expected.sum()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_cut_by_what_those_before_had() {
        let mut size = PartSize::default();
        let full = SOLUTIONS_MAX as f64;
        assert_eq!(size.of_batch(1 << 40), None);
        assert_eq!(size.note(2_000, 2.0 * full), None, "not much more");
        assert_eq!(size.note(2_000, 10.0 * full), Some(200));
        assert_eq!(size.of_batch(2_000), Some(200));
        assert_eq!(size.of_batch(200), None);
        // Parts as expected leave it, small ones make it grow, and a single row is never cut.
        assert_eq!(size.note(200, full), None);
        assert_eq!(size.of_batch(201), Some(200));
        assert_eq!(size.note(200, 0.1 * full), None);
        assert_eq!(size.of_batch(401), Some(400));
        assert_eq!(size.note(3, 300.0 * full), Some(1));
        assert_eq!(size.note(1, 100.0 * full), None);
    }
}
