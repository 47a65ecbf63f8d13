//! EXISTS inside expressions: the inner plan run for one row.
//!
//! The general way, for what the planner could not turn into a semi-join. An evaluation stops at the first
//! inner row. Rows with the same values in the slots that the inside uses get the answer from memory,
//! as far as some ten thousand answers remember. Memory: those, counted.

use super::dependent::{Answers, Dependent};
use crate::context::Context;
use crate::error::ExecError;
use basalt_plan::physical::{Node, Slot};
use std::sync::MutexGuard;

/// Answers remembered by one EXISTS; a few MB.
const KNOWN_MAX: usize = 1 << 16;

/// An EXISTS ready for rows of one schema; see the [module documentation](self).
pub struct Exists {
    plan: Dependent,
}

impl Exists {
    /// Whether `node` has a row, for rows whose columns are `schema`.
    pub fn new(node: &Node, schema: &[Slot], cx: &Context) -> Self {
        Self {
            plan: Dependent::new(node, schema, cx),
        }
    }

    /// Whether the plan has a row when its `Outer` leaves take the given row.
    pub fn holds(&self, cell: impl Fn(usize) -> u64, cx: &Context) -> Result<bool, ExecError> {
        let key = self.plan.key(cell);
        if !self.plan.is_repeatable() {
            return self.evaluate(&key, cx);
        }
        if let Some(&answer) = self.known().by_key.get(&key) {
            return Ok(answer);
        }
        let answer = self.evaluate(&key, cx)?;
        let mut known = self.known();
        let count = known.by_key.len() + 1;
        let bytes = count * (2 * size_of::<(Vec<u64>, bool)>() + key.len() * size_of::<u64>());
        // Without memory for it the answer is computed again, which is slow but no fault.
        if count <= KNOWN_MAX && known.held.grow_cache_to(bytes, "EXISTS", cx) {
            known.by_key.insert(key, answer);
        }
        Ok(answer)
    }

    fn known(&self) -> MutexGuard<'_, Answers> {
        let answers = &self.plan.memo().answers;
        answers.lock().expect("no holder panics")
    }

    fn evaluate(&self, key: &[u64], cx: &Context) -> Result<bool, ExecError> {
        cx.check()?;
        Ok(self.plan.operator(key, cx)?.next(cx)?.is_some())
    }
}
