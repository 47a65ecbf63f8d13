//! EXISTS inside expressions: the inner plan run for one row.
//!
//! The general way, for what the planner did not turn into a semi-join. An evaluation stops at the first
//! inner row; where the plan can tell its rows apart ([`Dependent::at_once`]) it runs for many outer rows together, until
//! each has one. Rows with the same values in the slots that the inside uses get the answer from memory,
//! as far as some ten thousand answers remember. Memory: those, counted.

use super::dependent::{Answers, AtOnce, Dependent};
use super::exists_many;
use super::row_keys::{DistinctKeys, RowKeys};
use crate::context::Context;
use crate::error::ExecError;
use basalt_plan::physical::{Node, Slot};
use std::borrow::Cow;
use std::sync::{Arc, MutexGuard};

/// Answers remembered by one EXISTS; a few MB.
const KNOWN_MAX: usize = 1 << 16;

/// An EXISTS ready for rows of one schema; see the [module documentation](self).
pub struct Exists {
    plan: Dependent,
    /// How many keys are asked for at once, if they may be.
    at_once: Option<AtOnce>,
}

impl Exists {
    /// Whether `node` has a row, for rows whose columns are `schema`.
    pub fn new(node: &Node, schema: &[Slot], cx: &Context) -> Self {
        let plan = Dependent::new(node, schema, cx);
        Self {
            at_once: plan.at_once(),
            plan,
        }
    }

    /// The values that enter the plan, of so many rows given by column.
    pub fn keys<'a>(&self, rows: usize, column: impl Fn(usize) -> Cow<'a, [u64]>) -> RowKeys {
        let columns = self.plan.columns().iter();
        let columns: Vec<_> = columns.map(|&idx| column(idx)).collect();
        RowKeys::of_columns(&columns, rows)
    }

    /// For each key, whether the plan has a row when its `Outer` leaves take the key.
    pub fn hold(&self, keys: &RowKeys, cx: &Context) -> Result<Vec<bool>, ExecError> {
        if !self.plan.is_repeatable() {
            return keys.iter().map(|key| self.evaluate(key, cx)).collect();
        }
        let mut answers = self.known().of(keys);
        if let Some(at_once) = &self.at_once {
            // A slot without a value is no certain one.
            let is_asked = |row: &u32| {
                answers[*row as usize].is_none() && !keys.key(*row as usize).contains(&0)
            };
            let asked = (0..keys.len() as u32).filter(is_asked).collect();
            let DistinctKeys { keys, numbers } = keys.distinct(asked, cx)?;
            let keys = Arc::new(keys);
            let holding = exists_many::hold(&self.plan, at_once, &keys, cx)?;
            for (row, number) in numbers {
                answers[row as usize] = Some(holding[number as usize]);
            }
            self.remember(keys.len(), cx, |known| known.remember(keys, holding));
        }
        let answer_one = |(key, known): (&[u64], Option<bool>)| match known {
            Some(answer) => Ok(answer),
            None => self.holds(key, cx),
        };
        keys.iter().zip(answers).map(answer_one).collect()
    }

    /// One key that may be known by now.
    fn holds(&self, key: &[u64], cx: &Context) -> Result<bool, ExecError> {
        if let Some(answer) = self.known().of_key(key) {
            return Ok(answer);
        }
        let answer = self.evaluate(key, cx)?;
        self.remember(1, cx, |known| known.remember_one(key, answer));
        Ok(answer)
    }

    /// Remembers so many more answers, if there is room for all of them.
    fn remember(&self, more: usize, cx: &Context, put: impl FnOnce(&mut Answers)) {
        let mut known = self.known();
        let count = known.count() + more;
        // Without memory for it the answer is computed again, which is slow but no fault.
        if count <= KNOWN_MAX && known.hold(count, self.plan.columns().len(), cx) {
            put(&mut known);
        }
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
