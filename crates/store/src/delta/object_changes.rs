//! `ObjectChanges`: by how much changes have altered the number of quads of each object of a predicate.
//!
//! Made by walking both orders by object once, side by side, and kept with the delta for whoever counts objects again. Memory: 16
//! bytes for each changed object, together at most as many as the delta has quads, which take several times as much.

use super::predicate_delta::TwoOrders;
use super::{Delta, PredicateDelta};
use crate::counting::GraphSet;
use basalt_rdf::TermId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Objects with the changes of their numbers, ascending.
type Changes = Arc<[(TermId, i64)]>;

/// What was asked for; see the [module documentation](self).
#[derive(Debug, Default)]
pub(super) struct ObjectChanges(Mutex<HashMap<(TermId, GraphSet), Changes>>);

impl ObjectChanges {
    fn get(&self, key: &(TermId, GraphSet)) -> Option<Changes> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(key).cloned()
    }

    /// Keeps changes; what does not fit beside `objects_max` objects goes.
    fn keep(&self, key: (TermId, GraphSet), changes: &Changes, objects_max: usize) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let objects: usize = kept.values().map(|changes| changes.len().max(1)).sum();
        if objects + changes.len().max(1) > objects_max {
            kept.clear();
        }
        kept.insert(key, Arc::clone(changes));
    }
}

impl Delta {
    /// The objects of a predicate whose numbers of quads in these graphs have changed, ascending, with the changes, never 0; `None` if
    /// the delta does not touch the predicate.
    pub(super) fn object_changes(&self, predicate: TermId, graphs: &GraphSet) -> Option<Changes> {
        let changes = self.of(predicate)?;
        let key = (predicate, graphs.clone());
        if let Some(known) = self.object_changes.get(&key) {
            return Some(known);
        }
        let made: Changes = of_predicate(changes, graphs).into();
        let quads = usize::try_from(self.added + self.removed).unwrap_or(usize::MAX);
        self.object_changes.keep(key, &made, quads);
        Some(made)
    }
}

fn of_predicate(changes: &PredicateDelta, graphs: &GraphSet) -> Vec<(TermId, i64)> {
    let objects = |quads: &TwoOrders| -> Vec<TermId> {
        let taken = quads.iter_by_object().filter(|(.., g)| graphs.takes(*g));
        taken.map(|(_, object, _)| object).collect()
    };
    let (added, removed) = (objects(changes.added()), objects(changes.removed()));
    let mut removed = removed.chunk_by(|a, b| a == b).peekable();
    let mut all = Vec::new();
    for same in added.chunk_by(|a, b| a == b) {
        let object = same[0];
        while let Some(gone) = removed.next_if(|gone| gone[0] < object) {
            all.push((gone[0], -(gone.len() as i64)));
        }
        let gone = removed.next_if(|gone| gone[0] == object);
        let gone = gone.map_or(0, |gone| gone.len() as i64);
        all.push((object, same.len() as i64 - gone));
    }
    all.extend(removed.map(|gone| (gone[0], -(gone.len() as i64))));
    all.retain(|(_, by)| *by != 0);
    all
}
