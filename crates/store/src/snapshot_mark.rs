//! A mark of a snapshot: tells later whether another one is the same state, without keeping it.
//!
//! A [`PredicatesMark`] fits all states in which some predicates have the same quads: states share the changes of the predicates that they leave alone.
//!
//! Invariant: a mark never fits another state. It holds the addresses of version and delta through weak references, and an
//! address that is weakly held is not given out again.

use crate::delta::{Delta, PredicateDelta};
use crate::snapshot::{Snapshot, Version};
use basalt_rdf::TermId;
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

/// A mark of the quads of some predicates, or of all, which fits the states in which these are the same.
#[derive(Clone, Debug)]
pub struct PredicatesMark {
    state: SnapshotMark,
    /// The changes of each predicate, if it has some; `None` where all quads are marked.
    changes: Option<Vec<(TermId, Option<Weak<PredicateDelta>>)>>,
}

impl PredicatesMark {
    /// Marks the quads of these predicates, or all.
    pub fn new(snapshot: &Snapshot, predicates: Option<&[TermId]>) -> Self {
        let changes = predicates.map(|predicates| {
            let change = |&predicate: &TermId| (predicate, snapshot.changes_of(predicate));
            predicates.iter().map(change).collect()
        });
        Self {
            state: snapshot.mark(),
            changes,
        }
    }

    /// Whether the snapshot has the quads that were marked, with the same ids.
    pub fn is_of(&self, snapshot: &Snapshot) -> bool {
        let Some(changes) = &self.changes else {
            return self.state.is_of(snapshot);
        };
        let is_same = |(predicate, known): &(TermId, Option<Weak<PredicateDelta>>)| match (
            known,
            snapshot.changes_of(*predicate),
        ) {
            (None, None) => true,
            (Some(known), Some(now)) => known.ptr_eq(&now),
            _ => false,
        };
        self.state.version.ptr_eq(&snapshot.mark().version) && changes.iter().all(is_same)
    }

    /// Whether the version that was marked is gone: then it fits nothing any more.
    pub fn is_gone(&self) -> bool {
        self.state.version.strong_count() == 0
    }
}

impl Snapshot {
    /// The changes of a predicate, as they are shared between states.
    fn changes_of(&self, predicate: TermId) -> Option<Weak<PredicateDelta>> {
        self.delta()?.shared(predicate).map(Arc::downgrade)
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
