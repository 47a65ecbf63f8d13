//! `Reduced`: the rows of a star join whose keys a hash join above has, as far as a [key filter](super::key_filter) tells.
//!
//! A scan tests a key before it reads the rest of a row; the rows of a star join are made by then, and what is saved is what is between
//! it and the join, such as a group for each of them.
//!
//! Invariant: the join tests each row again, so that any may be left in. Cost: one test for each row and key, unless the filter rests.

use super::key_filter::MadeFilters;
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::star::reducer::{Reducer, turned_away};
use std::sync::Arc;

/// The operator; see the [module documentation](self).
pub struct Reduced {
    input: BoxOperator,
    /// Column and number of each filter that the plan passes down.
    wanted: Vec<(usize, usize)>,
    made: Arc<MadeFilters>,
    /// Those that are made, once a row was asked for: the joins above have read their build sides by then.
    found: Option<Vec<Reducer>>,
}

impl Reduced {
    /// Rows of `input` that pass the filters with these numbers at these columns.
    pub fn new(input: BoxOperator, wanted: Vec<(usize, usize)>, made: &Arc<MadeFilters>) -> Self {
        Self {
            input,
            wanted,
            made: Arc::clone(made),
            found: None,
        }
    }
}

impl Operator for Reduced {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        let found = self.found.get_or_insert_with(|| {
            let wanted = self.wanted.iter();
            let made = wanted.filter_map(|&(column, number)| {
                let filter = self.made.get(number)?;
                Some(Reducer::new(column, filter))
            });
            made.collect()
        });
        while let Some(mut batch) = self.input.next(cx)? {
            cx.check()?;
            for reducer in &*found {
                if let Some(positions) = reducer.positions(batch.ids(reducer.column)) {
                    turned_away(batch.rows() - positions.len(), cx);
                    batch = batch.keep(&positions);
                }
            }
            if batch.rows() > 0 {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}
