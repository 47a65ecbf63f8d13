//! EXISTS for many keys: the inner plan run for as many together as its rows may be told apart for, on several threads where that pays.
//!
//! ```text
//! distinct keys, ascending ─► parts ── next, by a counter ──► this thread: operators for the keys of the part
//!                                                        └─► thread 2: the same
//! ```
//!
//! A part ends when each of its keys has a row. Keys are dealt out where all of them together are expected to lead to so many rows that
//! waking a thread pays ([`ExecOptions::dealt_rows_min`](crate::ExecOptions::dealt_rows_min)), in several parts for each thread, so that the last
//! ones end about together. Memory: the keys, twice.

use super::dependent::{AtOnce, Dependent};
use super::pipeline::on_threads;
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
    keys: &[&[u64]],
    cx: &Context,
) -> Result<Vec<bool>, ExecError> {
    let options = cx.options();
    let rows = at_once.rows_for_key * keys.len() as f64;
    let few = options.threads == 1 || keys.len() < 2 || rows < options.dealt_rows_min as f64;
    if few {
        let parts = keys.chunks(at_once.keys_max);
        let parts = parts.map(|keys| part(plan, &at_once.columns, keys, cx));
        return Ok(parts.collect::<Result<Vec<_>, _>>()?.concat());
    }
    let even = keys.len().div_ceil(options.threads * THREAD_PARTS);
    let parts = Arc::new(Parts {
        plan: plan.clone(),
        columns: at_once.columns.clone(),
        keys: keys.concat(),
        part_len: even.min(at_once.keys_max),
        next: AtomicUsize::new(0),
    });
    let others = (1..options.threads).map(|_| {
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
    /// The values of all keys, one after the other.
    keys: Vec<u64>,
    /// Keys of a part.
    part_len: usize,
    /// The next part.
    next: AtomicUsize,
}

impl Parts {
    /// Takes parts while there are any: the first key of each, and the answers.
    fn take(&self, cx: &Context) -> Result<Vec<(usize, Vec<bool>)>, ExecError> {
        let width = self.columns.len();
        let mut taken = Vec::new();
        loop {
            let start = self.next.fetch_add(1, Ordering::Relaxed) * self.part_len;
            let keys = self.keys.chunks_exact(width).skip(start);
            let keys: Vec<&[u64]> = keys.take(self.part_len).collect();
            if keys.is_empty() {
                return Ok(taken);
            }
            taken.push((start, part(&self.plan, &self.columns, &keys, cx)?));
        }
    }
}

/// The answers for keys that ascend without repeats; stops when each has a row.
fn part(
    plan: &Dependent,
    columns: &[usize],
    keys: &[&[u64]],
    cx: &Context,
) -> Result<Vec<bool>, ExecError> {
    cx.check()?;
    let mut holding = vec![false; keys.len()];
    let mut open = keys.len();
    let mut operator = plan.operator_of(keys, cx)?;
    let (mut key, mut before) = (Vec::with_capacity(columns.len()), None);
    while open > 0
        && let Some(batch) = operator.next(cx)?
    {
        cx.check()?;
        for row in 0..batch.rows() {
            key.clear();
            key.extend(columns.iter().map(|&column| batch.ids(column)[row]));
            // Rows of a key mostly follow each other.
            if before.is_some_and(|place: usize| keys[place] == key) {
                continue;
            }
            before = keys.binary_search(&key.as_slice()).ok();
            if let Some(place) = before
                && !holding[place]
            {
                holding[place] = true;
                open -= 1;
            }
        }
    }
    Ok(holding)
}
