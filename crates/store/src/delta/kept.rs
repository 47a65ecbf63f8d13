//! `Kept`: answers that a state of a delta keeps for the next who asks, as long as there is room for them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What all that one state keeps takes, in bytes.
pub(super) const KEPT_BYTES: usize = 32 << 20;

/// Bytes that are kept; shared by all that is kept together.
pub(super) type KeptBytes = Arc<AtomicUsize>;

/// Answers by what was asked, each with its bytes; see the [module documentation](self).
#[derive(Debug)]
pub(super) struct Kept<K, V> {
    answers: Mutex<HashMap<K, (Arc<V>, usize)>>,
    bytes: KeptBytes,
}

impl<K: Eq + Hash, V> Kept<K, V> {
    /// Nothing yet, beside so much.
    pub(super) fn new(bytes: KeptBytes) -> Self {
        Self {
            answers: Mutex::default(),
            bytes,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, (Arc<V>, usize)>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    pub(super) fn get(&self, key: &K) -> Option<Arc<V>> {
        self.lock().get(key).map(|(answer, _)| Arc::clone(answer))
    }

    /// Keeps an answer of so many bytes if there is room; two threads may have made the same.
    pub(super) fn keep(&self, key: K, answer: V, bytes: usize) -> Arc<V> {
        let answer = Arc::new(answer);
        if let Entry::Vacant(place) = self.lock().entry(key) {
            let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
            if before + bytes <= KEPT_BYTES {
                place.insert((Arc::clone(&answer), bytes));
            } else {
                self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            }
        }
        answer
    }
}

impl<K, V> Drop for Kept<K, V> {
    fn drop(&mut self) {
        let answers = self.answers.get_mut();
        let answers = answers.unwrap_or_else(PoisonError::into_inner);
        let bytes = answers.values().map(|(_, bytes)| bytes).sum();
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_kept_as_long_as_there_is_room() {
        let bytes = KeptBytes::default();
        let (one, other) = (Kept::new(Arc::clone(&bytes)), Kept::new(Arc::clone(&bytes)));
        assert!(one.is_empty());
        assert_eq!(*one.keep(1, "a", KEPT_BYTES - 10), "a");
        assert_eq!(*one.keep(1, "a", KEPT_BYTES - 10), "a");
        assert_eq!(*other.keep(2, "b", 11), "b");
        assert_eq!((one.get(&1).as_deref(), other.get(&2)), (Some(&"a"), None));
        other.keep(2, "b", 10);
        assert_eq!(bytes.load(Ordering::Relaxed), KEPT_BYTES);
        drop(one);
        assert_eq!(bytes.load(Ordering::Relaxed), 10);
    }
}
