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
use super::pieces::in_ranges;
use super::row_keys::RowKeys;
use crate::context::Context;
use crate::error::ExecError;
use std::ops::Range;
use std::sync::Arc;

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
    let few = options.threads == 1 || keys.len() < 2 || !options.are_many(rows);
    let (threads, parts_min) = match few {
        true => (1, 1),
        false => (options.threads, options.threads * THREAD_PARTS),
    };
    let part_len = keys.len().div_ceil(parts_min).min(at_once.keys_max).max(1);
    let of_part = {
        let (plan, columns, keys) = (plan.clone(), at_once.columns.clone(), Arc::clone(keys));
        move |range: Range<usize>, cx: &Context| part(&plan, &columns, keys.part(range), cx)
    };
    let parts = in_ranges(keys.len(), part_len, threads, of_part, cx)?;
    Ok(parts.into_iter().flatten().collect())
}

/// The answers for keys that ascend without repeats; stops when each has a row.
fn part(
    plan: &Dependent,
    columns: &[usize],
    keys: RowKeys,
    cx: &Context,
) -> Result<Vec<bool>, ExecError> {
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
