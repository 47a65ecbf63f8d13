//! `Profiled`: counts an operator's rows, time and memory.
//!
//! Only wrapped around operators when a profile was asked for; see [`Profile`](crate::profile::Profile).

use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;

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
        let profile = cx.profile();
        let result = profile.within(self.node_id, || self.inner.next(cx));
        if let Ok(batch) = &result {
            profile.gave(self.node_id, batch.as_ref().map(Batch::rows));
        }
        result
    }
}
