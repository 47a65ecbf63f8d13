//! `MergeJoin`: two inputs joined in the order of one slot.
//!
//! Both sides are read whole; a side that turns out unsorted is sorted first, so that the answer never
//! depends on an order that was only promised. Runs of equal keys are paired. Memory: both sides.

use super::Operator;
use super::output::Output;
use super::pipeline::Collected;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;

/// Pairs produced before they are handed on.
const PAIRS_MAX: usize = 1 << 14;

/// One side: its rows and the order in which they are read.
struct Side {
    columns: Vec<Vec<u64>>,
    key_column: usize,
    order: Vec<u32>,
    position: usize,
}

impl Side {
    fn new(collected: Collected, key_column: usize) -> Self {
        let keys = &collected.columns[key_column];
        let mut order: Vec<u32> = (0..collected.rows as u32).collect();
        if !keys.is_sorted() {
            order.sort_by_key(|&row| keys[row as usize]);
        }
        Self {
            columns: collected.columns,
            key_column,
            order,
            position: 0,
        }
    }

    fn key(&self) -> Option<u64> {
        let row = *self.order.get(self.position)?;
        Some(self.columns[self.key_column][row as usize])
    }

    /// The rows with the present key, passing over them.
    fn take_run(&mut self, key: u64) -> Vec<u32> {
        let start = self.position;
        while self.key() == Some(key) {
            self.position += 1;
        }
        self.order[start..self.position].to_vec()
    }
}

/// The operator; see the [module documentation](self).
pub struct MergeJoin {
    left: Side,
    right: Side,
    /// For each output column the side (true is left) and its column.
    sources: Vec<(bool, usize)>,
    output: Output,
}

impl MergeJoin {
    /// Joins two collected inputs by one key column each.
    pub fn new(
        left: (Collected, usize),
        right: (Collected, usize),
        sources: Vec<(bool, usize)>,
    ) -> Self {
        Self {
            left: Side::new(left.0, left.1),
            right: Side::new(right.0, right.1),
            sources,
            output: Output::default(),
        }
    }

    /// The next pairs of rows.
    fn pairs(&mut self) -> (Vec<u32>, Vec<u32>) {
        let (mut left_rows, mut right_rows) = (Vec::new(), Vec::new());
        while left_rows.len() < PAIRS_MAX {
            let (Some(left), Some(right)) = (self.left.key(), self.right.key()) else {
                break;
            };
            if left < right {
                self.left.position += 1;
            } else if right < left {
                self.right.position += 1;
            } else {
                let (left_run, right_run) = (self.left.take_run(left), self.right.take_run(left));
                for row in left_run {
                    left_rows.extend(std::iter::repeat_n(row, right_run.len()));
                    right_rows.extend_from_slice(&right_run);
                }
            }
        }
        (left_rows, right_rows)
    }
}

impl Operator for MergeJoin {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        loop {
            if let Some(batch) = self.output.take(cx) {
                return Ok(Some(batch));
            }
            cx.check()?;
            let (left_rows, right_rows) = self.pairs();
            if left_rows.is_empty() {
                return Ok(None);
            }
            let gather = |values: &[u64], rows: &[u32]| {
                rows.iter().map(|&row| values[row as usize]).collect()
            };
            let columns = self
                .sources
                .iter()
                .map(|&(left, column)| {
                    if left {
                        gather(&self.left.columns[column], &left_rows)
                    } else {
                        gather(&self.right.columns[column], &right_rows)
                    }
                })
                .collect();
            self.output
                .put(Batch::from_vectors(columns, left_rows.len()));
        }
    }
}
