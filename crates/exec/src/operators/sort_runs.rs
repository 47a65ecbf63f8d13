//! `SortedRuns`: the end of a sort that did not fit into memory.
//!
//! Runs of rows (key ids, then columns) are merged. A term that has to be decoded to be compared is decoded once, when
//! its row is read; numbers and dates are compared by their ids.
//!
//! Invariant: the order is that of [`compare_for_order`], earlier runs first among equals.

use super::order_by::SortOrder;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::spill::merge::{Merge, RowOrder};
use crate::spill::row_file::RowFile;
use crate::value::{OrderClass, OrderKey, compare_for_order};
use std::cmp::Ordering;

/// The order of rows that begin with their key ids.
pub struct SortRows {
    /// For each key whether it descends.
    descending: Vec<bool>,
}

impl SortRows {
    /// The order of a sort.
    pub fn new(order: &SortOrder) -> Self {
        let descending = order.keys.iter().map(|(_, descending)| *descending);
        Self {
            descending: descending.collect(),
        }
    }
}

impl RowOrder for SortRows {
    /// The decoded keys, where ids do not tell the order.
    type Key = Vec<Option<OrderKey>>;

    fn key(&self, row: &[u64], cx: &Context) -> Result<Self::Key, ExecError> {
        let ids = row.iter().take(self.descending.len());
        ids.map(|&id| match OrderClass::of(id, cx) {
            Some(OrderClass::Unbound | OrderClass::Number | OrderClass::Calendar) => Ok(None),
            _ => OrderKey::of(id, cx).map(Some),
        })
        .collect()
    }

    fn compare(
        &self,
        (a, a_keys): (&[u64], &Self::Key),
        (b, b_keys): (&[u64], &Self::Key),
        cx: &Context,
    ) -> Result<Ordering, ExecError> {
        for (idx, &descending) in self.descending.iter().enumerate() {
            let order = match (&a_keys[idx], &b_keys[idx]) {
                _ if a[idx] == b[idx] => Ordering::Equal,
                (Some(a), Some(b)) => a.compare(b),
                _ => compare_for_order(a[idx], b[idx], cx)?,
            };
            if order != Ordering::Equal {
                return Ok(if descending { order.reverse() } else { order });
            }
        }
        Ok(Ordering::Equal)
    }
}

/// Rows in order, from files.
pub struct SortedRuns {
    merge: Merge<SortRows>,
    /// Ids of a row that are keys.
    keys: usize,
    /// Ids of a row that are columns.
    width: usize,
    /// Rows that are still wanted.
    left: usize,
}

impl SortedRuns {
    /// Merges runs; there is at least one.
    pub fn new(runs: Vec<RowFile>, order: &SortOrder, cx: &Context) -> Result<Self, ExecError> {
        let keys = order.keys.len();
        let width = runs.first().map_or(0, |run| run.width() - keys);
        Ok(Self {
            merge: Merge::new(runs, SortRows::new(order), cx)?,
            keys,
            width,
            left: order.limit.unwrap_or(usize::MAX),
        })
    }

    /// The next rows.
    pub fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        let rows_max = cx.options().batch_rows.max(1).min(self.left);
        let batch = self.merge.next_batch(self.keys, self.width, rows_max, cx)?;
        self.left -= batch.as_ref().map_or(0, Batch::rows);
        Ok(batch)
    }
}
