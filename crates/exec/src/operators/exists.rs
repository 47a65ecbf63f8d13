//! EXISTS inside expressions: the inner plan run for one row.
//!
//! The general way, for what the planner did not turn into a semi-join. An evaluation stops at the first
//! inner row; where the plan can tell its rows apart ([`Dependent::at_once`]) it runs for many outer rows together, until
//! each has one. Rows with the same values in the slots that the inside uses get the answer from memory,
//! as far as some ten thousand answers remember. Memory: those, counted.

use super::dependent::{Answers, AtOnce, Dependent};
use super::exists_many;
use crate::context::Context;
use crate::error::ExecError;
use basalt_plan::physical::{Node, Slot};
use std::sync::MutexGuard;

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

    /// The values of a row that enter the plan.
    pub fn key(&self, cell: impl Fn(usize) -> u64) -> Vec<u64> {
        self.plan.key(cell)
    }

    /// For each key, whether the plan has a row when its `Outer` leaves take the key.
    pub fn hold(&self, keys: Vec<Vec<u64>>, cx: &Context) -> Result<Vec<bool>, ExecError> {
        if !self.plan.is_repeatable() {
            return keys.iter().map(|key| self.evaluate(key, cx)).collect();
        }
        let mut answers = self.known_of(&keys);
        if let Some(at_once) = &self.at_once {
            // A slot without a value is no certain one.
            let is_asked =
                |key: &[u64], answer: Option<bool>| answer.is_none() && !key.contains(&0);
            let asked = keys.iter().zip(&answers);
            let asked = asked.filter(|(key, answer)| is_asked(key, **answer));
            let mut distinct: Vec<&[u64]> = asked.map(|(key, _)| key.as_slice()).collect();
            distinct.sort_unstable();
            distinct.dedup();
            let holding = exists_many::hold(&self.plan, at_once, &distinct, cx)?;
            for (key, answer) in keys.iter().zip(&mut answers) {
                if is_asked(key, *answer)
                    && let Ok(place) = distinct.binary_search(&key.as_slice())
                {
                    *answer = Some(holding[place]);
                }
            }
            for (key, holds) in distinct.into_iter().zip(holding) {
                self.remember(key, holds, cx);
            }
        }
        let answer_one = |(key, known): (&Vec<u64>, Option<bool>)| match known {
            Some(answer) => Ok(answer),
            None => self.holds(key, cx),
        };
        keys.iter().zip(answers).map(answer_one).collect()
    }

    /// One key that may be known by now.
    fn holds(&self, key: &[u64], cx: &Context) -> Result<bool, ExecError> {
        if let Some(&answer) = self.known().by_key.get(key) {
            return Ok(answer);
        }
        let answer = self.evaluate(key, cx)?;
        self.remember(key, answer, cx);
        Ok(answer)
    }

    /// What is known of some keys.
    fn known_of(&self, keys: &[Vec<u64>]) -> Vec<Option<bool>> {
        let known = self.known();
        keys.iter()
            .map(|key| known.by_key.get(key).copied())
            .collect()
    }

    fn remember(&self, key: &[u64], answer: bool, cx: &Context) {
        let mut known = self.known();
        let count = known.by_key.len() + 1;
        let bytes = count * (2 * size_of::<(Vec<u64>, bool)>() + size_of_val(key));
        // Without memory for it the answer is computed again, which is slow but no fault.
        if count <= KNOWN_MAX && known.held.grow_cache_to(bytes, "EXISTS", cx) {
            known.by_key.insert(key.to_vec(), answer);
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
