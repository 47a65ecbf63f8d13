//! EXISTS for many keys: the inner plan run for as many together as its rows may be told apart for, on several threads where that pays.
//!
//! ```text
//! distinct keys, ascending ─► parts ── next, by a counter ──► this thread: operators for the keys of the part
//!                                                        └─► thread 2: the same
//! ```
//!
//! A part ends when each of its keys has a row; joins by object look at no more partners of those that have one. Keys are dealt out
//! where all of them together are expected to lead to so many rows that waking a thread pays
//! ([`ExecOptions::dealt_rows_min`](crate::ExecOptions::dealt_rows_min)), in several parts for each thread, so that the last ones end about together.
//! Memory: the keys, twice.

use super::answered::Answered;
use super::dependent::{AtOnce, Dependent};
use super::pipeline::on_threads;
use super::row_keys::RowKeys;
use crate::context::Context;
use crate::error::ExecError;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Parts for each thread, where keys are dealt out.
const THREAD_PARTS: usize = 4;

/// For each of some keys, which ascend without repeats, whether the plan has a row.
pub fn hold(
    plan: &Dependent,
    at_once: &AtOnce,
    keys: &Arc<RowKeys>,
    cx: &Context,
) -> Result<Vec<bool>, ExecError> {
    let options = cx.options();
    let rows = at_once.rows_for_key * keys.len() as f64;
    let few = options.threads == 1 || keys.len() < 2 || rows < options.dealt_rows_min as f64;
    let (threads, parts_min) = match few {
        true => (1, 1),
        false => (options.threads, options.threads * THREAD_PARTS),
    };
    let parts = Arc::new(Parts {
        plan: plan.clone(),
        columns: at_once.columns.clone(),
        keys: Arc::clone(keys),
        part_len: keys.len().div_ceil(parts_min).min(at_once.keys_max),
        next: AtomicUsize::new(0),
    });
    let others = (1..threads).map(|_| {
        let (parts, cx) = (Arc::clone(&parts), cx.shared());
        move || parts.take(&cx)
    });
    let taken = on_threads(|| parts.take(cx), others.collect(), cx)?;
    let mut holding = vec![false; keys.len()];
    for (start, part) in taken.into_iter().flatten() {
        holding[start..start + part.len()].copy_from_slice(&part);
    }
    Ok(holding)
}

/// Keys that several threads take part by part.
struct Parts {
    plan: Dependent,
    columns: Vec<usize>,
    keys: Arc<RowKeys>,
    /// Keys of a part.
    part_len: usize,
    /// The next part.
    next: AtomicUsize,
}

impl Parts {
    /// Takes parts while there are any: the first key of each, and the answers.
    fn take(&self, cx: &Context) -> Result<Vec<(usize, Vec<bool>)>, ExecError> {
        let mut taken = Vec::new();
        loop {
            let start = self.next.fetch_add(1, Ordering::Relaxed) * self.part_len;
            if start >= self.keys.len() {
                return Ok(taken);
            }
            let end = self.keys.len().min(start + self.part_len);
            let part = part(&self.plan, &self.columns, self.keys.part(start..end), cx)?;
            taken.push((start, part));
        }
    }
}

/// The answers for keys that ascend without repeats; stops when each has a row.
fn part(
    plan: &Dependent,
    columns: &[usize],
    keys: RowKeys,
    cx: &Context,
) -> Result<Vec<bool>, ExecError> {
    cx.check()?;
    let mut open = keys.len();
    let answered = Arc::new(Answered::new(keys, plan.slots().to_vec()));
    let mut operator = plan.operator_of(&answered, cx)?;
    while open > 0
        && let Some(batch) = operator.next(cx)?
    {
        cx.check()?;
        let columns: Vec<&[u64]> = columns.iter().map(|&column| batch.ids(column)).collect();
        open -= answered.note(&columns, batch.rows());
    }
    Ok(answered.to_vec())
}
