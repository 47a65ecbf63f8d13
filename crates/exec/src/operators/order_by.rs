//! `OrderBy`: rows in order, or with a limit only the first ones (top-k).
//!
//! Reads everything; sort keys are computed batch by batch. With a limit it keeps at most twice that
//! many rows (and at least a batch) and cuts them back by sorting. Stable. Memory: the rows kept.

use super::fallible_sort::sort_fallibly;
use super::output::Output;
use super::pipeline::{Collected, Sink};
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::CompiledExpr;
use crate::value::compare_for_order;
use std::cmp::Ordering;
use std::sync::Arc;

/// Rows kept at least before they are cut back to the limit.
const CUT_ROWS_MIN: usize = 8192;

/// The keys and the limit, shared by all threads that collect rows.
pub struct SortOrder {
    /// Expressions and whether they descend.
    pub keys: Vec<(CompiledExpr, bool)>,
    /// Rows that are needed.
    pub limit: Option<usize>,
}

/// Rows and their keys, collected by one thread.
pub struct SortBuffer {
    order: Arc<SortOrder>,
    rows: Collected,
    /// Key columns, as long as the rows.
    keys: Vec<Vec<u64>>,
    reserved: usize,
}

impl SortBuffer {
    /// An empty buffer for rows of `width` columns.
    pub fn new(order: Arc<SortOrder>, width: usize) -> Self {
        let keys = vec![Vec::new(); order.keys.len()];
        Self {
            order,
            rows: Collected::new(width),
            keys,
            reserved: 0,
        }
    }

    /// Adds another thread's rows.
    pub fn append(&mut self, mut other: Self) {
        self.rows.append(other.rows);
        for (column, more) in self.keys.iter_mut().zip(&mut other.keys) {
            column.append(more);
        }
        self.reserved += other.reserved;
    }

    /// The positions of the rows in order, no more than the limit.
    fn sorted(&self, cx: &Context) -> Result<Vec<u32>, ExecError> {
        let mut positions: Vec<u32> = (0..self.rows.rows as u32).collect();
        sort_fallibly(&mut positions, cx, |a, b| {
            self.compare(a as usize, b as usize, cx)
        })?;
        positions.truncate(self.order.limit.unwrap_or(usize::MAX));
        Ok(positions)
    }

    fn compare(&self, a: usize, b: usize, cx: &Context) -> Result<Ordering, ExecError> {
        for (column, (_, descending)) in self.keys.iter().zip(&self.order.keys) {
            if column[a] != column[b] {
                let ordering = compare_for_order(column[a], column[b], cx)?;
                let ordering = if *descending {
                    ordering.reverse()
                } else {
                    ordering
                };
                if ordering != Ordering::Equal {
                    return Ok(ordering);
                }
            }
        }
        Ok(Ordering::Equal)
    }

    fn cut(&mut self, cx: &Context) -> Result<(), ExecError> {
        let positions = self.sorted(cx)?;
        self.rows.take(&positions);
        for column in &mut self.keys {
            *column = positions.iter().map(|&p| column[p as usize]).collect();
        }
        Ok(())
    }
}

impl Sink for SortBuffer {
    fn push(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError> {
        for (column, (expr, _)) in self.keys.iter_mut().zip(&self.order.keys) {
            column.extend(expr.evaluate(batch, cx)?);
        }
        self.rows.push(batch, cx)?;
        if self
            .order
            .limit
            .is_some_and(|limit| self.rows.rows >= (limit * 2).max(CUT_ROWS_MIN))
        {
            self.cut(cx)?;
        }
        let bytes =
            self.rows.rows * (self.rows.columns.len() + self.keys.len() + 1) * size_of::<u64>();
        if bytes > self.reserved {
            cx.reserve(bytes - self.reserved, "OrderBy")?;
            self.reserved = bytes;
        }
        Ok(())
    }
}

/// What an `OrderBy` reads its rows from, once.
pub type Collect = Box<dyn FnOnce(&Context) -> Result<SortBuffer, ExecError> + Send>;

/// The operator; see the [module documentation](self).
pub struct OrderBy {
    collect: Option<Collect>,
    output: Output,
    /// Bytes counted against the limit.
    reserved: usize,
}

impl OrderBy {
    /// Sorts what `collect` brings.
    pub fn new(collect: Collect) -> Self {
        Self {
            collect: Some(collect),
            output: Output::default(),
            reserved: 0,
        }
    }

    /// Boxes the operator.
    pub fn boxed(collect: Collect) -> BoxOperator {
        Box::new(Self::new(collect))
    }
}

impl Operator for OrderBy {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        if let Some(collect) = self.collect.take() {
            let mut buffer = collect(cx)?;
            self.reserved = buffer.reserved;
            buffer.cut(cx)?;
            self.output.put(buffer.rows.into_batch());
        }
        let batch = self.output.take(cx);
        if batch.is_none() {
            cx.release(std::mem::take(&mut self.reserved));
        }
        Ok(batch)
    }
}
