//! A parallel map over the items of a slice, in order of the items.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Applies `work` to every item, on up to `threads` threads, and returns the results in order.
///
/// Items are taken one by one, so they may differ in size. With one thread or one item nothing is
/// spawned.
pub(crate) fn parallel_map<T, R>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R>
where
    T: Sync,
    R: Send,
{
    let threads = threads.min(items.len());
    if threads < 2 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let slots: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                // Termination: every round takes another item.
                while let Some((at, item)) = take(&next, items) {
                    let result = work(item);
                    *slots[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                }
            });
        }
    });
    let open = |slot: Mutex<Option<R>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    slots
        .into_iter()
        .map(|s| open(s).expect("the scope ends when every item is done"))
        .collect()
}

fn take<'t, T>(next: &AtomicUsize, items: &'t [T]) -> Option<(usize, &'t T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    items.get(at).map(|item| (at, item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order() {
        let items: Vec<u64> = (0..100).collect();
        let expected: Vec<u64> = items.iter().map(|i| i * i).collect();
        for threads in [1, 2, 5] {
            assert_eq!(parallel_map(threads, &items, |i| i * i), expected);
        }
        assert!(parallel_map(3, &[] as &[u64], |i| *i).is_empty());
    }
}
