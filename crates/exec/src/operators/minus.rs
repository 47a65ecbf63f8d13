//! `Minus`: drops left rows that have a compatible right row with at least one shared bound slot.
//!
//! Right rows with every shared slot bound are kept in a set and answer left rows that are bound
//! throughout with one probe; any other pair is compared slot by slot. Memory: the distinct shared slots of the right side,
//! counted; they stay in memory or end the query.

use super::pipeline::Sink;
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::row_numbers::RowNumbers;

/// Rows compared between two looks at whether the query goes on.
const COMPARED_MAX: usize = 1 << 17;

/// The shared slots of the right rows.
pub struct MinusRows {
    /// Columns of the shared slots in the right rows.
    columns: Vec<usize>,
    /// Rows with all shared slots bound.
    complete: RowNumbers,
    /// Rows with some shared slot unbound and some bound.
    partial: RowNumbers,
    held: HeldMemory,
}

/// The operator; see the [module documentation](self).
pub struct Minus {
    left: BoxOperator,
    /// Columns of the shared slots in the left rows.
    columns: Vec<usize>,
    /// The right rows.
    rows: MinusRows,
}

impl MinusRows {
    /// No rows yet; the shared slots are in these columns.
    pub fn new(columns: &[usize]) -> Self {
        Self {
            columns: columns.to_vec(),
            complete: RowNumbers::new(columns.len()),
            partial: RowNumbers::new(columns.len()),
            held: HeldMemory::default(),
        }
    }

    /// Adds another thread's rows.
    pub fn append(&mut self, other: &Self, cx: &Context) -> Result<(), ExecError> {
        for row in other.complete.iter().chain(other.partial.iter()) {
            self.insert(row);
        }
        self.hold(cx)
    }

    fn insert(&mut self, cells: &[u64]) {
        if !cells.contains(&0) {
            self.complete.insert(cells);
        } else if cells.iter().any(|&id| id != 0) {
            self.partial.insert(cells);
        }
    }

    fn hold(&mut self, cx: &Context) -> Result<(), ExecError> {
        let bytes = self.complete.bytes() + self.partial.bytes();
        self.held.grow_to(bytes, "Minus", cx)
    }

    /// Rows that a row is compared with, at most.
    fn compared(&self, row: &[u64]) -> usize {
        let complete = if row.contains(&0) {
            self.complete.count()
        } else {
            1
        };
        complete + self.partial.count()
    }

    fn exclude(&self, row: &[u64]) -> bool {
        let excludes = |other: &[u64]| {
            let mut pairs = row.iter().zip(other);
            let compatible = pairs.clone().all(|(&a, &b)| a == b || a == 0 || b == 0);
            compatible && pairs.any(|(&a, &b)| a == b && a != 0)
        };
        let in_complete = if row.contains(&0) {
            self.complete.iter().any(excludes)
        } else {
            self.complete.contains(row)
        };
        in_complete || self.partial.iter().any(excludes)
    }
}

impl Sink for MinusRows {
    fn push(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError> {
        let mut cells = Vec::with_capacity(self.columns.len());
        for row in 0..batch.rows() {
            cells.clear();
            cells.extend(self.columns.iter().map(|&column| batch.ids(column)[row]));
            self.insert(&cells);
        }
        self.hold(cx)
    }
}

impl Minus {
    /// Drops rows of `left`, the shared slots of which are in these columns.
    pub fn new(left: BoxOperator, columns: Vec<usize>, rows: MinusRows) -> Self {
        Self {
            left,
            columns,
            rows,
        }
    }
}

impl Operator for Minus {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        while let Some(batch) = self.left.next(cx)? {
            cx.check()?;
            let mut row = Vec::with_capacity(self.columns.len());
            let mut kept = Vec::new();
            let mut compared = 0;
            for position in 0..batch.rows() {
                row.clear();
                row.extend(
                    self.columns
                        .iter()
                        .map(|&column| batch.ids(column)[position]),
                );
                compared += self.rows.compared(&row);
                if compared >= COMPARED_MAX {
                    compared = 0;
                    cx.check()?;
                }
                if !self.rows.exclude(&row) {
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
