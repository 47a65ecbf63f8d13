//! How rows are read by who wants some predicates of them: from cells, from cells with columns of changes over them, or one
//! by one.
//!
//! A state of a delta keeps the answers to what it was asked: threads and queries ask for the same predicates again, and uniting
//! the bitmaps of ten thousand changed rows for five predicates takes as long as a small query. So do the bits by which a join
//! knows these rows ([`RowBits`]), and the number of solutions that changes add to objects; of both a state keeps [`KEPT_BYTES`] at most. Without a delta nothing is kept; few rows have irregular quads.

use crate::snapshot::Snapshot;
use basalt_columns::RowBits;
use basalt_rdf::TermId;
use roaring::RoaringBitmap;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Lists of predicates kept by a state.
const KEPT_MAX: usize = 256;

/// What bits of rows and differences take that a state keeps, in bytes.
const KEPT_BYTES: usize = 32 << 20;

/// Rows known by a bit for each: those of a table that cells do not tell all of, or those that have lost a predicate.
type Bits = HashMap<(usize, Option<TermId>), Arc<RowBits>>;

/// What changes make of the number of solutions that objects of a predicate have, for stars of all the predicates together: how many more, by object.
pub type ObjectDifferences = HashMap<u64, i64>;

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
    bits: Mutex<Bits>,
    /// By predicate and graph.
    differences: Mutex<HashMap<(TermId, TermId), Arc<ObjectDifferences>>>,
    /// Bytes of bits and differences that the state keeps, of these rows and others.
    kept_bytes: Arc<AtomicUsize>,
}

impl Drop for ChangedRows {
    fn drop(&mut self) {
        let bits = self.bits.get_mut().unwrap_or_else(PoisonError::into_inner);
        let of_bits: usize = bits.values().map(|bits| bits.bytes()).sum();
        let differences = self.differences.get_mut();
        let differences = differences.unwrap_or_else(PoisonError::into_inner);
        let of_differences: usize = differences.values().map(|kept| bytes_of(kept)).sum();
        let bytes = of_bits + of_differences;
        self.kept_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Bytes that differences take, about.
fn bytes_of(differences: &ObjectDifferences) -> usize {
    differences.capacity() * size_of::<(u64, i64, u8)>()
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
            bits: Mutex::default(),
            differences: Mutex::default(),
            kept_bytes: match snapshot.delta() {
                Some(delta) => Arc::clone(&delta.kept_bytes),
                None => Arc::default(),
            },
        }
    }

    /// Whether bits of some rows are kept, so that they cost nothing.
    pub fn has_bits(&self) -> bool {
        !self.lock_bits().is_empty()
    }

    /// The rows of a table that cells do not tell all of; `count` is that of all its rows.
    pub fn touched_bits(&self, table_idx: usize, count: u32) -> Arc<RowBits> {
        let sets = [&self.dirty[table_idx], &self.changed[table_idx]];
        let make = || Ok::<_, Infallible>(RowBits::of_sets(sets, count));
        self.bits_of((table_idx, None), make)
            .unwrap_or_else(|never| match never {})
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
        let make = || Ok(RowBits::of(&find()?, count));
        self.bits_of((table_idx, Some(predicate)), make)
    }

    fn lock_bits(&self) -> MutexGuard<'_, Bits> {
        self.bits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bits that are kept, or are made now.
    fn bits_of<E>(
        &self,
        key: (usize, Option<TermId>),
        make: impl FnOnce() -> Result<RowBits, E>,
    ) -> Result<Arc<RowBits>, E> {
        if let Some(kept) = self.lock_bits().get(&key) {
            return Ok(Arc::clone(kept));
        }
        // Two threads may make them; they make the same.
        let made = Arc::new(make()?);
        if let Entry::Vacant(place) = self.lock_bits().entry(key)
            && self.has_room(made.bytes())
        {
            place.insert(Arc::clone(&made));
        }
        Ok(made)
    }

    /// Takes room for what is going to be kept, if there is so much.
    fn has_room(&self, bytes: usize) -> bool {
        let before = self.kept_bytes.fetch_add(bytes, Ordering::Relaxed);
        let has_room = before + bytes <= KEPT_BYTES;
        if !has_room {
            self.kept_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
        has_room
    }

    fn lock_differences(
        &self,
    ) -> MutexGuard<'_, HashMap<(TermId, TermId), Arc<ObjectDifferences>>> {
        let differences = self.differences.lock();
        differences.unwrap_or_else(PoisonError::into_inner)
    }

    /// The differences of a predicate in a graph, if they were kept.
    pub fn kept_differences(&self, key: (TermId, TermId)) -> Option<Arc<ObjectDifferences>> {
        self.lock_differences().get(&key).map(Arc::clone)
    }

    /// Keeps the differences of a predicate in a graph, if there is room.
    pub fn keep_differences(
        &self,
        key: (TermId, TermId),
        differences: ObjectDifferences,
    ) -> Arc<ObjectDifferences> {
        let differences = Arc::new(differences);
        if let Entry::Vacant(place) = self.lock_differences().entry(key)
            && self.has_room(bytes_of(&differences))
        {
            place.insert(Arc::clone(&differences));
        }
        differences
    }

    /// The same rows, all to be looked up one by one.
    #[must_use]
    pub fn one_by_one(&self) -> Self {
        let tables = self.dirty.iter().zip(&self.changed);
        Self {
            dirty: tables.map(|(dirty, changed)| dirty | changed).collect(),
            changed: vec![RoaringBitmap::new(); self.changed.len()],
            new_graph: None,
            bits: Mutex::default(),
            differences: Mutex::default(),
            kept_bytes: Arc::default(),
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
