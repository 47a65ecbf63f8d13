//! `FirstFailure`: which of the errors that threads meet ends the load.
//!
//! The one that comes first in the order of the inputs and of their blocks, so that the outcome does not depend
//! on which thread was faster. What stands behind a failure need not be parsed; what stands in front of it
//! must be, since it may fail too.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::LoadError;

/// The place of a block: input, number in the input.
pub(super) type Place = (u32, usize);

/// The failure that comes first so far.
pub(super) struct FirstFailure {
    /// Its place as one number; the largest of all if there is none.
    key: AtomicU64,
    /// Its place and the error.
    first: Mutex<Option<(Place, LoadError)>>,
}

impl Default for FirstFailure {
    fn default() -> Self {
        Self {
            key: AtomicU64::new(u64::MAX),
            first: Mutex::default(),
        }
    }
}

/// Places as numbers in the same order; blocks beyond the range of 32 bits share one.
fn key((input, number): Place) -> u64 {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    u64::from(input) << 32 | u64::from(number)
}

impl FirstFailure {
    /// Whether something in front of this place has failed.
    pub(super) fn precedes(&self, place: Place) -> bool {
        self.key.load(Ordering::Relaxed) < key(place)
    }

    /// Remembers the failure if it comes before the one that is known.
    pub(super) fn report(&self, place: Place, error: LoadError) {
        self.key.fetch_min(key(place), Ordering::Relaxed);
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(known, _)| place < *known) {
            *first = Some((place, error));
        }
    }

    /// The first failure, if there was one.
    pub(super) fn into_error(self) -> Option<LoadError> {
        let first = self.first.into_inner();
        let first = first.unwrap_or_else(PoisonError::into_inner);
        first.map(|(_, error)| error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_in_the_order_of_the_text_wins() {
        let failure = FirstFailure::default();
        let error = |name: &str| LoadError::UnknownFormat {
            name: name.to_owned(),
        };
        assert!(!failure.precedes((u32::MAX, usize::MAX)));
        failure.report((2, 7), error("c"));
        failure.report((1, 9), error("a"));
        failure.report((1, 10), error("b"));
        assert!(failure.precedes((1, 10)) && failure.precedes((2, 0)));
        assert!(!failure.precedes((1, 9)) && !failure.precedes((0, 11)));
        let first = failure.into_error();
        assert!(matches!(first, Some(LoadError::UnknownFormat { name }) if name == "a"));
    }
}
