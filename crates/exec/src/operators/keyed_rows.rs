//! `KeyedRows`: rows that are to be sorted, with their keys.
//!
//! ```text
//! batches as they come, computed keys as further columns  ->  each column one vector, made at once, on all threads
//! ```
//!
//! A vector that grows with the rows is copied again and again, and what threads have collected would be copied once more.
//!
//! Cost: a copy of each id. Memory: the batches, and until all columns are there both, for the caller to count.

use super::pieces::in_pieces;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::selection::taken;
use std::sync::Arc;

/// Ids from which on columns are made by all threads.
const IDS_MIN: usize = if cfg!(test) { 64 } else { 1 << 16 };

/// The rows; see the [module documentation](self).
pub struct KeyedRows {
    /// Columns of a row, before those that are keys alone.
    width: usize,
    /// The column of each key.
    keys: Vec<usize>,
    columns: Vec<Arc<Vec<u64>>>,
    /// Rows in the columns.
    rows: usize,
    /// Rows behind those.
    waiting: Vec<Batch>,
    waiting_rows: usize,
    waiting_bytes: usize,
}

impl KeyedRows {
    /// No rows of `width` columns, with keys in these, of which those that are no columns of the rows stand behind them.
    pub fn new(width: usize, keys: Vec<usize>) -> Self {
        let columns = keys.iter().map(|key| key + 1).fold(width, usize::max);
        Self {
            width,
            keys,
            columns: vec![Arc::default(); columns],
            rows: 0,
            waiting: Vec::new(),
            waiting_rows: 0,
            waiting_bytes: 0,
        }
    }

    /// No rows of the same columns; gives those that are there.
    pub fn replace(&mut self) -> Self {
        let empty = Self::new(self.width, self.keys.clone());
        std::mem::replace(self, empty)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows + self.waiting_rows
    }

    /// Columns, those that are keys alone among them.
    pub fn all_columns(&self) -> usize {
        self.columns.len()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let ids: usize = self.columns.iter().map(|column| column.capacity()).sum();
        ids * size_of::<u64>() + self.waiting_bytes
    }

    /// Adds rows.
    pub fn push(&mut self, batch: &Batch) {
        debug_assert_eq!(batch.width(), self.columns.len());
        let batch = batch.compact();
        self.waiting_rows += batch.rows();
        self.waiting_bytes += batch.bytes();
        self.waiting.push(batch);
    }

    /// Adds the rows of another of the same columns.
    pub fn append(&mut self, mut other: Self) {
        if other.rows > 0 {
            let columns = other.columns.iter().map(|column| column.to_vec()).collect();
            self.push(&Batch::from_vectors(columns, other.rows));
        }
        self.waiting_rows += other.waiting_rows;
        self.waiting_bytes += other.waiting_bytes;
        self.waiting.append(&mut other.waiting);
    }

    /// Makes columns of all rows.
    pub fn gather(&mut self, cx: &Context) -> Result<(), ExecError> {
        let waiting = std::mem::take(&mut self.waiting);
        self.rows += std::mem::take(&mut self.waiting_rows);
        self.waiting_bytes = 0;
        if self.rows * self.columns.len() < IDS_MIN {
            for (idx, column) in self.columns.iter_mut().enumerate() {
                let column = Arc::make_mut(column);
                waiting
                    .iter()
                    .for_each(|batch| column.extend(batch.ids(idx)));
            }
            return Ok(());
        }
        let (before, rows) = (self.columns.clone(), self.rows);
        let make = move |column: usize, cx: &Context| {
            let mut ids = Vec::with_capacity(rows);
            ids.extend_from_slice(&before[column]);
            for batch in &waiting {
                cx.check()?;
                ids.extend_from_slice(batch.ids(column));
            }
            Ok(Arc::new(ids))
        };
        self.columns = in_pieces(self.columns.len(), cx.options().threads, make, cx)?;
        Ok(())
    }

    /// The column of each key.
    pub fn key_columns(&self) -> &[usize] {
        &self.keys
    }

    /// The ids of each key; rows that are not gathered are not among them.
    pub fn keys(&self) -> impl Iterator<Item = &Arc<Vec<u64>>> {
        self.keys.iter().map(|&key| &self.columns[key])
    }

    /// The ids of each column of a row; rows that are not gathered are not among them.
    pub fn columns(&self) -> &[Arc<Vec<u64>>] {
        &self.columns[..self.width]
    }

    /// Keeps the rows at these positions, in this order; all rows are gathered.
    pub fn take(&mut self, positions: &[u32]) {
        debug_assert!(self.waiting.is_empty());
        for column in &mut self.columns {
            *column = Arc::new(taken(column, positions).collect());
        }
        self.rows = positions.len();
    }

    /// The rows as one batch; all are gathered.
    pub fn into_batch(self) -> Batch {
        debug_assert!(self.waiting.is_empty());
        let columns = self.columns.into_iter().take(self.width);
        Batch::from_vectors(columns.map(Arc::unwrap_or_clone).collect(), self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_store::Snapshot;

    /// Rows of these numbers: a column, and a key alone.
    fn batch(numbers: std::ops::Range<u64>) -> Batch {
        let rows = numbers.clone().count();
        let keys = numbers.clone().map(|number| number * 7 % 10);
        Batch::from_vectors(vec![numbers.collect(), keys.collect()], rows)
    }

    #[test]
    fn rows_of_several_threads_are_gathered_once_or_several_times() {
        let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
        for (first, second, third) in [(3, 5, 9), (3, 5, 900), (300, 5, 900), (300, 700, 900)] {
            let rows = || KeyedRows::new(1, vec![1, 0]);
            let (mut one, mut other) = (rows(), rows());
            one.push(&batch(0..first));
            one.gather(&cx).expect("nothing ends it");
            one.push(&batch(first..second.max(first)));
            other.push(&batch(second.max(first)..third));
            other.gather(&cx).expect("nothing ends it");
            other.push(&batch(third..third + 2));
            one.append(other);
            assert_eq!(one.rows() as u64, third + 2);
            assert!(one.bytes() >= 16 * one.rows());
            one.gather(&cx).expect("nothing ends it");
            let expected = batch(0..third + 2);
            let keys: Vec<&[u64]> = one.keys().map(|ids| ids.as_slice()).collect();
            assert_eq!(keys, [expected.ids(1), expected.ids(0)]);
            one.take(&[2, 0]);
            let taken = one.replace().into_batch();
            assert_eq!((taken.width(), taken.ids(0)), (1, &[2, 0][..]));
            assert_eq!(one.rows(), 0);
        }
    }
}
