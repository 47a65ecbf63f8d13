//! `Minus`: drops left rows that have a compatible right row with at least one shared bound slot.
//!
//! Right rows with every shared slot bound are kept in a set and answer left rows that are bound
//! throughout with one probe; any other pair is compared slot by slot. Memory: the right side's shared
//! slots.

use super::distinct::RowSet;
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;

/// The operator; see the [module documentation](self).
pub struct Minus {
    left: BoxOperator,
    /// Columns of the shared slots in the left rows.
    columns: Vec<usize>,
    /// Right rows with all shared slots bound.
    complete: RowSet,
    /// The same rows as a list, for left rows with unbound slots.
    complete_rows: Vec<Vec<u64>>,
    /// Right rows with some shared slot unbound and some bound.
    partial_rows: Vec<Vec<u64>>,
}

impl Minus {
    /// Drops rows of `left`; `right` holds the shared slots of the right rows in the order of `columns`.
    pub fn new(left: BoxOperator, columns: Vec<usize>, right: &[Vec<u64>], rows: usize) -> Self {
        let mut complete = RowSet::new(columns.len());
        let mut partial = RowSet::new(columns.len());
        let (mut complete_rows, mut partial_rows) = (Vec::new(), Vec::new());
        for row in 0..rows {
            let cells: Vec<u64> = right.iter().map(|column| column[row]).collect();
            if !cells.contains(&0) {
                if complete.insert(&cells) {
                    complete_rows.push(cells);
                }
            } else if cells.iter().any(|&id| id != 0) && partial.insert(&cells) {
                partial_rows.push(cells);
            }
        }
        Self {
            left,
            columns,
            complete,
            complete_rows,
            partial_rows,
        }
    }

    fn is_dropped(&self, row: &[u64]) -> bool {
        let excludes = |other: &Vec<u64>| {
            let compatible = row
                .iter()
                .zip(other)
                .all(|(&a, &b)| a == b || a == 0 || b == 0);
            compatible && row.iter().zip(other).any(|(&a, &b)| a == b && a != 0)
        };
        let in_complete = if row.contains(&0) {
            self.complete_rows.iter().any(excludes)
        } else {
            self.complete.contains(row)
        };
        in_complete || self.partial_rows.iter().any(excludes)
    }
}

impl Operator for Minus {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        while let Some(batch) = self.left.next(cx)? {
            cx.check()?;
            let mut row = Vec::with_capacity(self.columns.len());
            let mut kept = Vec::new();
            for position in 0..batch.rows() {
                row.clear();
                row.extend(
                    self.columns
                        .iter()
                        .map(|&column| batch.ids(column)[position]),
                );
                if !self.is_dropped(&row) {
                    kept.push(position as u32);
                }
            }
            if !kept.is_empty() {
                return Ok(Some(batch.keep(&kept)));
            }
        }
        Ok(None)
    }
}
