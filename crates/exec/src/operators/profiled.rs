//! `Profiled`: counts an operator's rows and time.
//!
//! Only wrapped around operators when a profile was asked for. Times include the operators below.

use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use std::time::Instant;

/// The operator; see the [module documentation](self).
pub struct Profiled {
    inner: BoxOperator,
    node_id: usize,
}

impl Profiled {
    /// Counts for the node with this id.
    pub fn new(inner: BoxOperator, node_id: usize) -> Self {
        Self { inner, node_id }
    }
}

impl Operator for Profiled {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        let start = Instant::now();
        let result = self.inner.next(cx);
        let rows = result
            .as_ref()
            .ok()
            .and_then(Option::as_ref)
            .map_or(0, Batch::rows);
        cx.profile()
            .add(self.node_id, rows as u64, start.elapsed().as_nanos() as u64);
        result
    }
}
