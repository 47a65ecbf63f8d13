//! How rows are read by who wants some predicates of them: from cells, from cells with columns of changes over them, or one
//! by one.
//!
//! A state of a delta keeps the answers to what it was asked: threads and queries ask for the same predicates again, and uniting
//! the bitmaps of ten thousand changed rows for five predicates takes as long as a small query. Without a delta nothing is kept; few rows have
//! irregular quads.

use crate::snapshot::Snapshot;
use basalt_rdf::TermId;
use roaring::RoaringBitmap;
use std::sync::{Arc, PoisonError};

/// Lists of predicates kept by a state.
const KEPT_MAX: usize = 256;

/// The rows of each table that cells do not tell all of.
#[derive(Debug, Default)]
pub struct ChangedRows {
    /// By table: rows that must be looked up one by one.
    pub dirty: Vec<RoaringBitmap>,
    /// By table: the other rows that the delta touches. All that was added to them is in their home graphs, and they have no
    /// irregular quads in the version, so columns of changes over cells tell all.
    pub changed: Vec<RoaringBitmap>,
    /// The graph of all quads that new subjects have of the predicates; without it columns do not tell all of these.
    pub new_graph: Option<TermId>,
}

impl ChangedRows {
    fn of(snapshot: &Snapshot, predicates: &[TermId]) -> Self {
        let places: Vec<_> = predicates
            .iter()
            .map(|&predicate| (predicate, snapshot.change_places(predicate)))
            .collect();
        let rows_of_table = |table_idx| {
            let (mut dirty, mut changed) = (RoaringBitmap::new(), RoaringBitmap::new());
            for &(predicate, places) in &places {
                snapshot.add_irregular_rows(table_idx, predicate, &mut dirty);
                let touched = match places.foreign {
                    0 => &mut changed,
                    _ => &mut dirty,
                };
                snapshot.add_changed_rows(table_idx, predicate, touched);
            }
            changed -= &dirty;
            (dirty, changed)
        };
        let (dirty, changed) = (0..snapshot.tables().len()).map(rows_of_table).unzip();
        let mut new = places.iter().filter(|(_, places)| places.new > 0);
        let graph = new.next().and_then(|(_, places)| places.new_graph);
        let is_one = new.all(|(_, places)| places.new_graph == graph);
        Self {
            dirty,
            changed,
            new_graph: graph.filter(|_| is_one),
        }
    }

    /// The same rows, all to be looked up one by one.
    #[must_use]
    pub fn one_by_one(&self) -> Self {
        let tables = self.dirty.iter().zip(&self.changed);
        Self {
            dirty: tables.map(|(dirty, changed)| dirty | changed).collect(),
            changed: vec![RoaringBitmap::new(); self.changed.len()],
            new_graph: None,
        }
    }
}

impl Snapshot {
    /// How rows are read for these predicates.
    pub fn changed_rows(&self, predicates: &[TermId]) -> Arc<ChangedRows> {
        let Some(delta) = self.delta() else {
            return Arc::new(ChangedRows::of(self, predicates));
        };
        let mut key = predicates.to_vec();
        key.sort_unstable();
        key.dedup();
        let kept = || {
            let kept = delta.changed_rows.lock();
            kept.unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(known) = kept().get(&key) {
            return Arc::clone(known);
        }
        let rows = Arc::new(ChangedRows::of(self, &key));
        let mut kept = kept();
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(key, Arc::clone(&rows));
        rows
    }
}
