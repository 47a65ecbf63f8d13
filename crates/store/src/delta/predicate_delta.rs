//! The changes of one predicate.
//!
//! Invariants: both orders of a set hold the same quads; the bitmaps of dirty rows are not empty and have the rows
//! of added and removed quads, no others; no graph has a change of 0.

use super::change_places::AddedCounts;
use super::changed_values::Chunks;
use super::sorted_map::{SortedMap, SortedSet};
use basalt_rdf::TermId;
use roaring::RoaringBitmap;
use std::sync::Arc;

/// A set of (subject, object, graph) in two orders.
#[derive(Clone, Debug, Default)]
pub(crate) struct TwoOrders {
    /// Subject, object, graph.
    by_subject: SortedSet<[TermId; 3]>,
    /// Object, subject, graph.
    by_object: SortedSet<[TermId; 3]>,
}

/// The entries of an order with this leading key, as (second, graph).
fn of_key(
    order: &SortedSet<[TermId; 3]>,
    key: TermId,
) -> impl Iterator<Item = (TermId, TermId)> + '_ {
    let from = order.from(&[key, TermId::UNBOUND, TermId::UNBOUND]);
    let of_key = from.take_while(move |([leading, ..], ())| *leading == key);
    of_key.map(|([_, second, graph], ())| (*second, *graph))
}

/// Entries passed over before the next key is sought from the root.
const STEPS_MAX: usize = 16;

/// What is shown of entries found by several keys: the position of the key, the second id, the graph.
type VisitEntry<'v> = &'v mut dyn FnMut(usize, TermId, TermId);

/// Visits the entries of an order whose leading ids are among `keys`, which ascend without repeats, in order.
///
/// Cost: a step for each entry where keys lie as close together as entries, a search for each key where not.
fn of_keys(order: &SortedSet<[TermId; 3]>, keys: &[u64], visit: VisitEntry<'_>) {
    let mut position = 0;
    // Termination: each turn seeks a larger key than the one before.
    'seek: while let Some(&key) = keys.get(position) {
        let mut steps = 0;
        for ([leading, second, graph], ()) in
            order.from(&[TermId(key), TermId::UNBOUND, TermId::UNBOUND])
        {
            while keys.get(position).is_some_and(|&key| key < leading.0) {
                position += 1;
            }
            match keys.get(position) {
                None => return,
                Some(key) if *key == leading.0 => {
                    visit(position, *second, *graph);
                    steps = 0;
                }
                Some(_) if steps < STEPS_MAX => steps += 1,
                Some(_) => continue 'seek,
            }
        }
        return;
    }
}

impl TwoOrders {
    pub(crate) fn len(&self) -> usize {
        self.by_subject.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_subject.is_empty()
    }

    pub(crate) fn contains(&self, subject: TermId, object: TermId, graph: TermId) -> bool {
        self.by_subject.contains(&[subject, object, graph])
    }

    /// Adds an entry that is not there.
    pub(super) fn insert(&mut self, subject: TermId, object: TermId, graph: TermId) {
        self.by_subject.insert([subject, object, graph], ());
        self.by_object.insert([object, subject, graph], ());
    }

    /// Removes an entry; returns whether it was there.
    pub(super) fn remove(&mut self, subject: TermId, object: TermId, graph: TermId) -> bool {
        let was_there = self.by_subject.remove(&[subject, object, graph]).is_some();
        if was_there {
            self.by_object.remove(&[object, subject, graph]);
        }
        was_there
    }

    /// (object, graph) of a subject, ascending.
    pub(crate) fn of_subject(
        &self,
        subject: TermId,
    ) -> impl Iterator<Item = (TermId, TermId)> + '_ {
        of_key(&self.by_subject, subject)
    }

    /// (subject, graph) of an object, ascending.
    pub(crate) fn of_object(&self, object: TermId) -> impl Iterator<Item = (TermId, TermId)> + '_ {
        of_key(&self.by_object, object)
    }

    /// The smallest and the largest object.
    pub(crate) fn object_range(&self) -> Option<(TermId, TermId)> {
        let (first, last) = self.by_object.range()?;
        Some((first[0], last[0]))
    }

    /// Visits the entries of subjects, which ascend without repeats: position of the subject, object, graph; in order.
    pub(crate) fn of_subjects(&self, subjects: &[u64], visit: VisitEntry<'_>) {
        of_keys(&self.by_subject, subjects, visit);
    }

    /// Visits the entries of objects, which ascend without repeats: position of the object, subject, graph; in order.
    pub(crate) fn of_objects(&self, objects: &[u64], visit: VisitEntry<'_>) {
        of_keys(&self.by_object, objects, visit);
    }

    /// The subjects of the entries from one subject to another, bounds included, ascending, each with the number of its entries; of
    /// one that has more than `count_max` that many and one.
    pub(super) fn subjects_within(
        &self,
        first: TermId,
        last: TermId,
        count_max: usize,
    ) -> impl Iterator<Item = (u64, usize)> + '_ {
        let order = &self.by_subject;
        let from = move |subject| {
            let from = [subject, TermId::UNBOUND, TermId::UNBOUND];
            order.from(&from).peekable()
        };
        let mut entries = from(first);
        std::iter::from_fn(move || {
            let ([subject, ..], ()) = entries.next_if(|([subject, ..], ())| *subject <= last)?;
            let mut count = 1;
            while count <= count_max && entries.next_if(|([s, ..], ())| s == subject).is_some() {
                count += 1;
            }
            if count > count_max {
                // The others are passed over.
                entries = from(TermId(subject.0 + 1));
            }
            Some((subject.0, count))
        })
    }

    /// (subject, object, graph) of the entries from one subject to another, bounds included, ascending.
    pub(crate) fn of_subjects_within(
        &self,
        first: TermId,
        last: TermId,
    ) -> impl Iterator<Item = (TermId, TermId, TermId)> + '_ {
        let from = [first, TermId::UNBOUND, TermId::UNBOUND];
        let within = self.by_subject.from(&from);
        let within = within.take_while(move |([subject, ..], ())| *subject <= last);
        within.map(|([s, o, g], ())| (*s, *o, *g))
    }

    /// (subject, object, graph) of all, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TermId, TermId, TermId)> + '_ {
        self.by_subject.iter().map(|([s, o, g], ())| (*s, *o, *g))
    }

    /// (subject, object, graph) of all, by object, subject and graph.
    pub(super) fn iter_by_object(&self) -> impl Iterator<Item = (TermId, TermId, TermId)> + '_ {
        self.by_object.iter().map(|([o, s, g], ())| (*s, *o, *g))
    }
}

/// Rows of a chunk have the same upper 16 bits, so that a bitmap is one container and cheap to copy.
const CHUNK_BITS: u32 = 16;

/// See the [module documentation](self).
#[derive(Clone, Debug, Default)]
pub(crate) struct PredicateDelta {
    added: TwoOrders,
    removed: TwoOrders,
    /// Removed quads that the version has in the quad table.
    removed_irregular: u64,
    /// By table and chunk.
    dirty: SortedMap<(u32, u32), Arc<RoaringBitmap>>,
    /// Change of the number of quads by graph.
    graphs: SortedMap<TermId, i64>,
    /// Where the added quads stand.
    added_counts: AddedCounts,
    /// What touched subjects have now, once somebody has asked.
    chunks: Chunks,
}

/// Adds to a change and drops it when nothing is left of it.
pub(super) fn change_count<K: Copy + Ord>(counts: &mut SortedMap<K, i64>, key: K, by: i64) {
    match counts.get(&key).copied().unwrap_or(0) + by {
        0 => {
            counts.remove(&key);
        }
        changed => {
            counts.insert(key, changed);
        }
    }
}

impl PredicateDelta {
    /// Quads that the version does not have.
    pub(crate) fn added(&self) -> &TwoOrders {
        &self.added
    }

    /// Quads of the version that are gone.
    pub(crate) fn removed(&self) -> &TwoOrders {
        &self.removed
    }

    /// How many of the removed quads are of the quad table.
    pub(crate) fn removed_irregular(&self) -> u64 {
        self.removed_irregular
    }

    /// The change of the number of quads by graph, ascending.
    pub(crate) fn graphs(&self) -> impl Iterator<Item = (TermId, i64)> + '_ {
        self.graphs.iter().map(|(graph, change)| (*graph, *change))
    }

    /// The change of the number of quads.
    pub(crate) fn change(&self) -> i64 {
        self.added.len() as i64 - self.removed.len() as i64
    }

    /// Whether there is no change.
    pub(super) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    pub(super) fn added_mut(&mut self) -> &mut TwoOrders {
        &mut self.added
    }

    pub(super) fn removed_mut(&mut self) -> &mut TwoOrders {
        &mut self.removed
    }

    pub(super) fn added_counts(&self) -> &AddedCounts {
        &self.added_counts
    }

    pub(super) fn added_counts_mut(&mut self) -> &mut AddedCounts {
        &mut self.added_counts
    }

    pub(super) fn chunks(&self) -> &Chunks {
        &self.chunks
    }

    pub(super) fn chunks_mut(&mut self) -> &mut Chunks {
        &mut self.chunks
    }

    pub(super) fn count_removed_irregular(&mut self, by: i64) {
        self.removed_irregular = self.removed_irregular.saturating_add_signed(by);
    }

    pub(super) fn count_graph(&mut self, graph: TermId, by: i64) {
        change_count(&mut self.graphs, graph, by);
    }

    /// Whether a quad of the subject was added or removed.
    pub(super) fn touches_subject(&self, subject: TermId) -> bool {
        let mut added = self.added.of_subject(subject);
        added.next().is_some() || self.removed.of_subject(subject).next().is_some()
    }

    /// Whether a quad of the object was added or removed.
    pub(super) fn touches_object(&self, object: TermId) -> bool {
        let mut added = self.added.of_object(object);
        added.next().is_some() || self.removed.of_object(object).next().is_some()
    }

    /// Notes whether the delta touches a row.
    pub(super) fn mark_row(&mut self, table_idx: usize, row: u32, is_dirty: bool) {
        let key = (table_idx as u32, row >> CHUNK_BITS);
        let known = self.dirty.get(&key);
        if known.is_some_and(|rows| rows.contains(row)) == is_dirty {
            return;
        }
        match (self.dirty.get_mut(&key), is_dirty) {
            (None, _) => {
                self.dirty.insert(key, Arc::new(RoaringBitmap::from([row])));
            }
            (Some(rows), true) => {
                Arc::make_mut(rows).insert(row);
            }
            (Some(rows), false) if rows.len() == 1 => {
                self.dirty.remove(&key);
            }
            (Some(rows), false) => {
                Arc::make_mut(rows).remove(row);
            }
        }
    }

    /// The rows of a table that the delta touches, in pieces.
    pub(crate) fn dirty_rows(&self, table_idx: usize) -> impl Iterator<Item = &RoaringBitmap> {
        let table = table_idx as u32;
        let from = self.dirty.from(&(table, 0));
        let of_table = from.take_while(move |((idx, _), _)| *idx == table);
        of_table.map(|(_, rows)| &**rows)
    }

    /// Every row that the delta touches, as (table, row).
    pub(super) fn all_dirty_rows(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let chunks = self.dirty.iter();
        chunks.flat_map(|((table, _), rows)| rows.iter().map(move |row| (*table as usize, row)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn entries_of_several_keys_are_those_of_each(
            entries in prop::collection::vec((1..400_u64, 1..4_u64, 0..3_u64), 0..300),
            keys in prop::collection::btree_set(0..420_u64, 0..60),
        ) {
            let mut set = TwoOrders::default();
            for (subject, object, graph) in entries {
                let entry = (TermId(subject), TermId(object), TermId(graph));
                if !set.contains(entry.0, entry.1, entry.2) {
                    set.insert(entry.0, entry.1, entry.2);
                }
            }
            let keys: Vec<u64> = keys.into_iter().collect();
            let (mut by_subject, mut by_object) = (Vec::new(), Vec::new());
            set.of_subjects(&keys, &mut |at, object, graph| by_subject.push((at, object, graph)));
            set.of_objects(&keys, &mut |at, subject, graph| by_object.push((at, subject, graph)));
            let one_by_one = |found: &dyn Fn(TermId) -> Vec<(TermId, TermId)>| {
                let of_key = |(at, &key): (usize, &u64)| {
                    found(TermId(key)).into_iter().map(move |(second, graph)| (at, second, graph))
                };
                keys.iter().enumerate().flat_map(of_key).collect::<Vec<_>>()
            };
            prop_assert_eq!(by_subject, one_by_one(&|key| set.of_subject(key).collect()));
            prop_assert_eq!(by_object, one_by_one(&|key| set.of_object(key).collect()));
        }

        #[test]
        fn subjects_are_counted_as_far_as_that_matters(
            entries in prop::collection::btree_set((1..40_u64, 1..8_u64, 0..3_u64), 0..300),
            bounds in (0..42_u64, 0..42_u64),
            count_max in 1..30_usize,
        ) {
            let mut set = TwoOrders::default();
            for &(subject, object, graph) in &entries {
                set.insert(TermId(subject), TermId(object), TermId(graph));
            }
            let of = |subject| entries.iter().filter(move |(s, ..)| *s == subject).count();
            let expected = (bounds.0..=bounds.1).map(|subject| (subject, of(subject)));
            let expected = expected.filter(|(_, count)| *count > 0);
            let expected = expected.map(|(subject, count)| (subject, count.min(count_max + 1)));
            let (first, last) = (TermId(bounds.0), TermId(bounds.1));
            prop_assert!(set.subjects_within(first, last, count_max).eq(expected));
        }

        #[test]
        fn dirty_rows_are_a_set_of_rows_by_table(
            marks in prop::collection::vec((0..3_usize, 0..4_u32, 0..6_u32, any::<bool>()), 0..200),
        ) {
            let mut changes = PredicateDelta::default();
            let mut expected = BTreeSet::new();
            let mut old = Vec::new();
            for (table_idx, chunk, within, is_dirty) in marks {
                let row = (chunk << CHUNK_BITS) + within * 13_107;
                changes.mark_row(table_idx, row, is_dirty);
                match is_dirty {
                    true => expected.insert((table_idx, row)),
                    false => expected.remove(&(table_idx, row)),
                };
                old.push((changes.clone(), expected.clone()));
            }
            for (changes, expected) in old.into_iter().rev().step_by(17) {
                prop_assert!(changes.all_dirty_rows().eq(expected.iter().copied()));
                for table_idx in 0..3 {
                    let rows: Vec<u32> = changes.dirty_rows(table_idx).flatten().collect();
                    let of_table = expected.iter().filter(|(idx, _)| *idx == table_idx);
                    prop_assert!(rows.into_iter().eq(of_table.map(|(_, row)| *row)));
                    prop_assert!(changes.dirty_rows(table_idx).all(|rows| !rows.is_empty()));
                }
            }
        }
    }
}
