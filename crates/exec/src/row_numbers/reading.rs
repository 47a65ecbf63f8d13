//! The rows that have numbers, as columns, and what can be said of them.

use super::RowNumbers;
use std::ops::Range;

impl RowNumbers {
    /// The rows as columns.
    pub fn into_columns(self) -> Vec<Vec<u64>> {
        match self.width {
            1 => vec![self.rows],
            _ => self.columns_of(0..self.count),
        }
    }

    /// The rows, one after the other.
    pub fn into_rows(self) -> Vec<u64> {
        self.rows
    }

    /// The rows with these numbers as columns.
    pub fn columns_of(&self, numbers: Range<usize>) -> Vec<Vec<u64>> {
        let column = |idx| {
            let ids = numbers.clone().map(|number| self.row(number)[idx]);
            ids.collect()
        };
        (0..self.width).map(column).collect()
    }

    /// Whether rows are hashed that come from now on.
    pub fn is_hashed(&self) -> bool {
        self.by_id.is_none() && self.pairs.is_none()
    }

    /// For each id of a row how many of its lowest bits tell rows apart that lie together: rows that agree in all other bits share pages.
    pub fn near_bits(&self) -> Vec<u32> {
        match (&self.by_id, &self.pairs) {
            (Some(by_id), _) => vec![by_id.near_bits()],
            (None, Some(pairs)) => pairs.near_bits().to_vec(),
            (None, None) => vec![0; self.width],
        }
    }

    /// Rows with these numbers, by column.
    pub fn columns_at(&self, numbers: &[u32]) -> Vec<Vec<u64>> {
        let rows = numbers.iter().map(|&number| number as usize * self.width);
        let column = |idx| rows.clone().map(|at| self.rows[at + idx]).collect();
        (0..self.width).map(column).collect()
    }
}
