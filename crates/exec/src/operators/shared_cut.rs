//! `SharedCut`: where the rows of all threads together cut off a sort with a limit.
//!
//! ```text
//! thread 1: the limit's half of its rows end at 7  ┐
//! thread 2: the limit's half of its rows end at 5  ┴─► what comes after 7 is not among the first
//! ```
//!
//! A thread that knew of its own rows alone would keep as many as the limit, and two threads would sort twice as many rows as one.
//!
//! Invariant: so many rows as the limit, seen by some thread, do not come after the row told. Rows of a thread are turned away only where as many as the
//! limit come before them, so what a thread has said stays true. Cost: a comparison for each thread at each cut.

use crate::context::Context;
use crate::error::ExecError;
use crate::value::compare_for_order;
use std::cmp::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What threads have said; see the [module documentation](self).
#[derive(Default)]
pub struct SharedCut {
    shares: Mutex<Vec<Share>>,
}

/// So many rows of a thread, none of which comes after the one with these keys.
#[derive(Clone, Default)]
struct Share {
    rows: usize,
    keys: Vec<u64>,
}

impl SharedCut {
    /// The number of a thread that takes part from now on.
    pub fn join(&self) -> usize {
        let mut shares = self.lock();
        shares.push(Share::default());
        shares.len() - 1
    }

    /// Threads that take part, if they come to it.
    pub fn threads(&self) -> usize {
        self.lock().len().max(1)
    }

    /// Says that so many rows of a thread do not come after the one with these keys.
    pub fn note(&self, thread: usize, rows: usize, keys: Vec<u64>) {
        if let Some(share) = self.lock().get_mut(thread) {
            *share = Share { rows, keys };
        }
    }

    /// The keys of a row that as many rows as the limit do not come after, if there is one; for each key it is given whether it descends.
    pub fn row(
        &self,
        limit: usize,
        descending: &[bool],
        cx: &Context,
    ) -> Result<Option<Vec<u64>>, ExecError> {
        let shares = self.lock().clone();
        let said = shares.into_iter().filter(|share| share.rows > 0);
        let (mut rows, mut last): (usize, Option<Vec<u64>>) = (0, None);
        for share in said {
            rows += share.rows;
            let is_later = match &last {
                Some(last) => compare_rows(&share.keys, last, descending, cx)?.is_gt(),
                None => true,
            };
            if is_later {
                last = Some(share.keys);
            }
        }
        Ok(last.filter(|_| rows >= limit))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Share>> {
        // A share is there as a whole or not at all.
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The order of two rows by their keys.
pub fn compare_rows(
    a: &[u64],
    b: &[u64],
    descending: &[bool],
    cx: &Context,
) -> Result<Ordering, ExecError> {
    for ((&a, &b), descending) in a.iter().zip(b).zip(descending) {
        let order = compare_for_order(a, b, cx)?;
        if order.is_ne() {
            return Ok(if *descending { order.reverse() } else { order });
        }
    }
    Ok(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_rdf::TermView;
    use basalt_store::Snapshot;

    #[test]
    fn the_last_of_shares_that_are_enough_is_told() {
        let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
        let id = |text: &str| cx.terms().intern(TermView::simple(text)).0;
        let keys = |a: &str, b: &str| vec![id(a), id(b)];
        let cut = SharedCut::default();
        let threads = [cut.join(), cut.join(), cut.join()];
        assert_eq!(cut.threads(), 3);
        let row = |descending| {
            cut.row(10, &[false, descending], &cx)
                .expect("terms decode")
        };
        cut.note(threads[0], 5, keys("b", "m"));
        assert_eq!(row(false), None, "too few");
        cut.note(threads[2], 5, keys("b", "k"));
        assert_eq!(row(false), Some(keys("b", "m")));
        assert_eq!(row(true), Some(keys("b", "k")));
        cut.note(threads[0], 5, keys("a", "x"));
        assert_eq!(row(false), Some(keys("b", "k")));
        cut.note(threads[1], 9, keys("c", "a"));
        assert_eq!(row(false), Some(keys("c", "a")), "no share is left out");
    }
}
