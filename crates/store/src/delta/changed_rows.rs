//! How rows are read by who wants some predicates of them: from cells, from cells with columns of changes over them, or one
//! by one.
//!
//! A state of a delta keeps the answers to what it was asked: threads and queries ask for the same predicates again, and uniting
//! the bitmaps of ten thousand changed rows for five predicates takes as long as a small query. So do the bits by which a join
//! knows these rows ([`RowBits`]), and the number of solutions that changes add to objects; of both a state keeps
//! [`KEPT_BYTES`](super::kept::KEPT_BYTES) at most. Without a delta nothing is kept; few rows have irregular quads.

use super::kept::{Kept, KeptBytes};
use crate::snapshot::Snapshot;
use basalt_columns::RowBits;
use basalt_rdf::TermId;
use roaring::RoaringBitmap;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

/// Lists of predicates kept by a state.
const KEPT_MAX: usize = 256;

/// What changes make of the number of solutions that objects of a predicate have, for stars of all the predicates together: how many more, by object.
pub type ObjectDifferences = HashMap<u64, i64>;

/// The rows of each table that cells do not tell all of.
#[derive(Debug)]
pub struct ChangedRows {
    /// By table: rows that must be looked up one by one.
    pub dirty: Vec<RoaringBitmap>,
    /// By table: the other rows that the delta touches. All that was added to them is in their home graphs, and they have no
    /// irregular quads in the version, so columns of changes over cells tell all.
    pub changed: Vec<RoaringBitmap>,
    /// The graph of all quads that new subjects have of the predicates; without it columns do not tell all of these.
    pub new_graph: Option<TermId>,
    /// Rows by a bit for each: those of a table that cells do not tell all of, or those that have lost a predicate.
    bits: Kept<(usize, Option<TermId>), RowBits>,
    /// By predicate and graph.
    differences: Kept<(TermId, TermId), ObjectDifferences>,
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
        let tables = snapshot.tables().len();
        let (mut dirty, mut changed) = (Vec::with_capacity(tables), Vec::with_capacity(tables));
        for table_idx in 0..tables {
            let (dirty_rows, changed_rows) = rows_of_table(table_idx);
            dirty.push(dirty_rows);
            changed.push(changed_rows);
        }
        let mut new = places.iter().filter(|(_, places)| places.new > 0);
        let graph = new.next().and_then(|(_, places)| places.new_graph);
        let is_one = new.all(|(_, places)| places.new_graph == graph);
        let kept_bytes = snapshot.delta().map(|delta| Arc::clone(&delta.kept_bytes));
        let graph = graph.filter(|_| is_one);
        Self::new((dirty, changed), graph, &kept_bytes.unwrap_or_default())
    }

    fn new(
        (dirty, changed): (Vec<RoaringBitmap>, Vec<RoaringBitmap>),
        new_graph: Option<TermId>,
        kept_bytes: &KeptBytes,
    ) -> Self {
        Self {
            dirty,
            changed,
            new_graph,
            bits: Kept::new(Arc::clone(kept_bytes)),
            differences: Kept::new(Arc::clone(kept_bytes)),
        }
    }

    /// Whether bits of some rows are kept, so that they cost nothing.
    pub fn has_bits(&self) -> bool {
        !self.bits.is_empty()
    }

    /// The rows of a table that cells do not tell all of; `count` is that of all its rows.
    pub fn touched_bits(&self, table_idx: usize, count: u32) -> Arc<RowBits> {
        let key = (table_idx, None);
        self.bits.get(&key).unwrap_or_else(|| {
            let sets = [&self.dirty[table_idx], &self.changed[table_idx]];
            self.keep_bits(key, RowBits::of(sets.into_iter().flatten(), count))
        })
    }

    /// The rows of a table that have lost all that they had of a predicate, which `find` finds in this state.
    ///
    /// Errors: those of `find`.
    pub fn emptied_bits<E>(
        &self,
        (table_idx, count): (usize, u32),
        predicate: TermId,
        find: impl FnOnce() -> Result<Vec<u32>, E>,
    ) -> Result<Arc<RowBits>, E> {
        let key = (table_idx, Some(predicate));
        match self.bits.get(&key) {
            Some(kept) => Ok(kept),
            None => Ok(self.keep_bits(key, RowBits::of(find()?, count))),
        }
    }

    fn keep_bits(&self, key: (usize, Option<TermId>), bits: RowBits) -> Arc<RowBits> {
        let bytes = bits.bytes();
        self.bits.keep(key, bits, bytes)
    }

    /// The differences of a predicate in a graph, if they were kept.
    pub fn kept_differences(&self, key: (TermId, TermId)) -> Option<Arc<ObjectDifferences>> {
        self.differences.get(&key)
    }

    /// Keeps the differences of a predicate in a graph, if there is room.
    pub fn keep_differences(
        &self,
        key: (TermId, TermId),
        differences: ObjectDifferences,
    ) -> Arc<ObjectDifferences> {
        let bytes = differences.capacity() * size_of::<(u64, i64, u8)>();
        self.differences.keep(key, differences, bytes)
    }

    /// The same rows, all to be looked up one by one.
    #[must_use]
    pub fn one_by_one(&self) -> Self {
        let tables = self.dirty.iter().zip(&self.changed);
        let dirty = tables.map(|(dirty, changed)| dirty | changed).collect();
        let changed = vec![RoaringBitmap::new(); self.changed.len()];
        Self::new((dirty, changed), None, &KeptBytes::default())
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
