//! A stable sort whose comparison may fail, and that a cancelled query leaves at once.
//!
//! For [`OrderBy`](super::order_by), which compares by decoding terms: a sort of the standard library cannot be left in
//! the middle, and one that is told "equal" after a failure may find the order inconsistent and panic. This
//! one is a merge sort from the bottom up: runs sorted by binary insertion, then merged pairwise. Integers, whose
//! comparison cannot fail, are sorted in longer runs ([`sort_totally`]).
//!
//! Cost: about `n log2 n` comparisons, a single pass where the list is in order already; a second list of
//! the same size. Comparisons must be what is expensive.

use crate::context::Context;
use crate::error::ExecError;
use std::cmp::Ordering;

/// Members sorted by insertion before merging begins.
const RUN: usize = 16;
/// Members that the standard library sorts in a few milliseconds.
const LONG_RUN: usize = 1 << 16;
/// Comparisons between two looks at the query's flag and clock.
const CHECK_COMPARISONS: usize = 1024;

/// Sorts a list; at the first error, which may be that the query is over, the list is in some other order.
pub fn sort_fallibly<T: Copy>(
    list: &mut [T],
    cx: &Context,
    compare: impl Fn(T, T) -> Result<Ordering, ExecError>,
) -> Result<(), ExecError> {
    let mut left = CHECK_COMPARISONS;
    let mut is_before = |a: T, b: T| {
        left -= 1;
        if left == 0 {
            cx.check()?;
            left = CHECK_COMPARISONS;
        }
        Ok(compare(a, b)? == Ordering::Less)
    };
    for run in list.chunks_mut(RUN) {
        sort_run(run, &mut is_before)?;
    }
    merge_runs(list, RUN, &mut is_before)
}

/// Sorts a list by a total order that cannot fail; like [`sort_fallibly`] it is left when the query is over.
///
/// For cheap comparisons: long runs are sorted by the standard library, and only then merged.
pub fn sort_totally<T: Copy>(
    list: &mut [T],
    cx: &Context,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<(), ExecError> {
    for run in list.chunks_mut(LONG_RUN) {
        cx.check()?;
        run.sort_unstable_by(&compare);
    }
    let mut left = CHECK_COMPARISONS;
    merge_runs(list, LONG_RUN, &mut |a, b| {
        left -= 1;
        if left == 0 {
            cx.check()?;
            left = CHECK_COMPARISONS;
        }
        Ok(compare(&a, &b) == Ordering::Less)
    })
}

/// Merges runs of this length pairwise until one is left.
fn merge_runs<T: Copy>(
    list: &mut [T],
    run: usize,
    is_before: &mut impl FnMut(T, T) -> Result<bool, ExecError>,
) -> Result<(), ExecError> {
    if list.len() <= run {
        return Ok(());
    }
    let mut merged = list.to_vec();
    let mut width = run;
    // Termination: the width doubles until one run is the whole list.
    while width < list.len() {
        for (from, to) in list.chunks(2 * width).zip(merged.chunks_mut(2 * width)) {
            let (first, second) = from.split_at(width.min(from.len()));
            merge(first, second, to, is_before)?;
        }
        list.copy_from_slice(&merged);
        width *= 2;
    }
    Ok(())
}

/// Sorts a short run by binary insertion.
fn sort_run<T: Copy>(
    run: &mut [T],
    is_before: &mut impl FnMut(T, T) -> Result<bool, ExecError>,
) -> Result<(), ExecError> {
    for idx in 1..run.len() {
        let item = run[idx];
        let (mut low, mut high) = (0, idx);
        // Invariant: the place is in low..=high. Termination: the span gets shorter.
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(item, run[middle])? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        run.copy_within(low..idx, low + 1);
        run[low] = item;
    }
    Ok(())
}

/// Merges two sorted lists into one; of equal members those of the first come first.
fn merge<T: Copy>(
    first: &[T],
    second: &[T],
    to: &mut [T],
    is_before: &mut impl FnMut(T, T) -> Result<bool, ExecError>,
) -> Result<(), ExecError> {
    debug_assert_eq!(first.len() + second.len(), to.len());
    let is_in_order = match (first.last(), second.first()) {
        (Some(&last), Some(&next)) => !is_before(next, last)?,
        _ => true,
    };
    let (mut i, mut j) = (0, 0);
    if is_in_order {
        to[..first.len()].copy_from_slice(first);
        to[first.len()..].copy_from_slice(second);
        return Ok(());
    }
    for place in to {
        let is_second = i == first.len() || j < second.len() && is_before(second[j], first[i])?;
        if is_second {
            *place = second[j];
            j += 1;
        } else {
            *place = first[i];
            i += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_store::Snapshot;
    use std::cell::Cell;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    fn context(cancel: &Arc<AtomicBool>) -> Arc<Context> {
        let options = ExecOptions {
            cancel: Arc::clone(cancel),
            ..ExecOptions::default()
        };
        Context::new(Snapshot::empty(), options, 0)
    }

    /// Pairs of a key with few values and the position.
    fn pairs(count: u32, keys: u32) -> Vec<(u32, u32)> {
        (0..count)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 7) % keys)
            .zip(0..)
            .collect()
    }

    #[test]
    fn it_sorts_as_the_standard_library_does() {
        let cx = context(&Arc::default());
        for count in [0, 1, 2, 15, 16, 17, 33, 100, 1000, 4099] {
            for keys in [1, 3, 1_000_000] {
                let mut expected = pairs(count, keys);
                let mut actual = expected.clone();
                expected.sort_by_key(|(key, _)| *key);
                sort_fallibly(&mut actual, &cx, |a, b| Ok(a.0.cmp(&b.0))).expect("no failure");
                assert_eq!(actual, expected, "{count} members, {keys} keys");
            }
        }
    }

    #[test]
    fn long_runs_are_merged() {
        let cx = context(&Arc::default());
        for count in [0, 1, 65_536, 65_537, 300_000] {
            let mut expected = pairs(count, 1000);
            let mut actual = expected.clone();
            expected.sort_unstable();
            sort_totally(&mut actual, &cx, Ord::cmp).expect("no failure");
            assert!(actual == expected, "{count} members");
        }
    }

    #[test]
    fn a_failure_and_a_cancelled_query_end_it() {
        let cancel = Arc::new(AtomicBool::new(false));
        let cx = context(&cancel);
        let count = Cell::new(0);
        let mut list = pairs(5000, 1_000_000);
        let failed = sort_fallibly(&mut list, &cx, |a, b| {
            count.set(count.get() + 1);
            match count.get() {
                3000 => Err(ExecError::Internal("as asked".to_owned())),
                _ => Ok(a.cmp(&b)),
            }
        });
        assert!(matches!(failed, Err(ExecError::Internal(_))));
        assert_eq!(count.get(), 3000);
        cancel.store(true, std::sync::atomic::Ordering::Relaxed);
        let cancelled = sort_fallibly(&mut list, &cx, |a, b| Ok(a.cmp(&b)));
        assert!(matches!(cancelled, Err(ExecError::Cancelled)));
    }
}
