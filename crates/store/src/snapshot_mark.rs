//! A mark of a snapshot: tells later whether another one is the same state, without keeping it.
//!
//! Invariant: a mark never fits another state. It holds the addresses of version and delta through weak references, and an
//! address that is weakly held is not given out again.

use crate::delta::Delta;
use crate::snapshot::{Snapshot, Version};
use std::sync::{Arc, Weak};

/// A mark of one state of the data, which no other state fits.
#[derive(Clone, Debug)]
pub struct SnapshotMark {
    version: Weak<Version>,
    delta: Option<Weak<Delta>>,
}

impl SnapshotMark {
    pub(crate) fn new(version: &Arc<Version>, delta: Option<&Arc<Delta>>) -> Self {
        Self {
            version: Arc::downgrade(version),
            delta: delta.map(Arc::downgrade),
        }
    }

    /// Whether the snapshot is the state that was marked: the same data with the same ids.
    pub fn is_of(&self, snapshot: &Snapshot) -> bool {
        let other = snapshot.mark();
        self.version.ptr_eq(&other.version)
            && match (&self.delta, &other.delta) {
                (None, None) => true,
                (Some(delta), Some(other)) => delta.ptr_eq(other),
                _ => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_fits_its_state_only_and_keeps_nothing() {
        let snapshot = Snapshot::empty();
        let mark = snapshot.mark();
        assert!(mark.is_of(&snapshot.clone()));
        assert!(mark.is_of(&snapshot.with_commit_number(7)));
        let other = Snapshot::empty();
        assert!(!mark.is_of(&other));
        drop(snapshot);
        assert!(mark.version.upgrade().is_none());
        assert!(!mark.is_of(&Snapshot::empty()));
    }
}
