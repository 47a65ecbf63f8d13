//! The delta: changes since a version was written, in memory.
//!
//! A [`Snapshot`](crate::Snapshot) is a version and the delta up to one commit. The delta holds the quads that were
//! added and those of the version that were removed, by predicate and in two orders, in maps that keep
//! their old states, so that a commit costs microseconds and older snapshots stay what they are:
//!
//! ```text
//! predicate -> added   (subject, object, graph) and (object, subject, graph)
//!              removed (the same)
//!              dirty rows by table and chunk of 65,536 rows
//!              change of the number of quads by graph, where added quads stand
//!              what touched subjects have now, as columns
//! (subject, predicate), (object, predicate)     which the delta touches
//! ```
//!
//! Reading puts it over the version (see `overlay`): quads of the version that are not removed, and the added
//! ones. Rows that it touches are dirty for the predicate, so that whoever reads clean rows column by column
//! needs not know of it, or puts what touched rows have now over the cells (see `changed_values`).
//!
//! Invariants: an added quad is not in the version, a removed one is, so a quad still stands in
//! exactly one place; a row is dirty for a predicate exactly if the version has irregular quads of it or the
//! delta touches it. `docs/delta.md` tells costs.

mod change_places;
mod changed_rows;
mod changed_values;
mod changes;
mod check;
mod irregular_quads;
mod kept;
mod object_changes;
mod object_reader;
mod overlay;
mod overlay_blocks;
mod overlay_counts;
mod predicate_delta;
mod repeats;
mod sorted_map;
mod view;

pub use change_places::ChangePlaces;
pub use changed_rows::{ChangedRows, ObjectDifferences};
#[cfg(test)]
pub(crate) use changed_values::VALUES_MAX;
pub use changed_values::{ChangedValues, StopCheck};
pub use changes::NetChanges;
pub(crate) use check::{DeltaCounts, check};
pub use irregular_quads::IrregularQuads;
use kept::KeptBytes;
use object_changes::ObjectChanges;
pub use object_reader::ObjectReader;
pub(crate) use overlay::{Removed, matching, neighbours, visit_added};
use overlay::{contains, irregular_subjects_in, objects_of};
pub(crate) use overlay_blocks::BlockScan;
use overlay_counts::predicate_totals;
pub(crate) use overlay_counts::{
    count_objects, distinct_subjects, named_graphs, object_counts, object_graphs, predicate_graphs,
    quads_in,
};
pub(crate) use predicate_delta::PredicateDelta;
pub use view::{DELTA_QUAD_BYTES, DeltaSize, RowState};

use self::sorted_map::{SortedMap, SortedSet};
use crate::counting::GraphSet;
use crate::dictionary::Dictionary;
use basalt_rdf::TermId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

/// Changes of a version; see the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Delta {
    predicates: SortedMap<TermId, Arc<PredicateDelta>>,
    /// (subject, predicate) of every added or removed quad.
    subjects: SortedSet<[TermId; 2]>,
    /// (object, predicate) of every added or removed quad.
    objects: SortedSet<[TermId; 2]>,
    /// The change of the number of quads by graph, never 0.
    graphs: SortedMap<TermId, i64>,
    /// How many named graphs more there are.
    named_graphs_more: i64,
    /// The number of added quads by named graph and subject, never 0.
    graph_subjects: SortedMap<[TermId; 2], i64>,
    added: u64,
    removed: u64,
    /// Removed quads of the quad table; the other removed ones are of cells.
    removed_irregular: u64,
    /// Finds the terms that there were when this state was made.
    dictionary: Dictionary,
    /// Answers that were asked for.
    named_graphs: OnceLock<Vec<(TermId, u64)>>,
    /// Distinct subjects of one predicate or of all, by graphs.
    subject_counts: Mutex<HashMap<(Option<TermId>, GraphSet), u64>>,
    /// Changes of the numbers of quads by object, of predicates and graphs.
    object_changes: ObjectChanges,
    /// How rows are read, by predicates.
    changed_rows: Mutex<HashMap<Vec<TermId>, Arc<ChangedRows>>>,
    /// What is kept of changed rows beside their sets, in bytes.
    kept_bytes: KeptBytes,
}

impl Delta {
    /// No changes yet over a version with this dictionary.
    fn new(dictionary: Dictionary) -> Self {
        Self {
            predicates: SortedMap::default(),
            subjects: SortedSet::default(),
            objects: SortedSet::default(),
            graphs: SortedMap::default(),
            named_graphs_more: 0,
            graph_subjects: SortedMap::default(),
            added: 0,
            removed: 0,
            removed_irregular: 0,
            dictionary,
            named_graphs: OnceLock::new(),
            subject_counts: Mutex::default(),
            object_changes: ObjectChanges::default(),
            changed_rows: Mutex::default(),
            kept_bytes: KeptBytes::default(),
        }
    }

    /// A state to be changed, which shares everything with this one.
    fn next(&self, dictionary: Dictionary) -> Self {
        Self {
            predicates: self.predicates.clone(),
            subjects: self.subjects.clone(),
            objects: self.objects.clone(),
            graphs: self.graphs.clone(),
            named_graphs_more: self.named_graphs_more,
            graph_subjects: self.graph_subjects.clone(),
            added: self.added,
            removed: self.removed,
            removed_irregular: self.removed_irregular,
            ..Self::new(dictionary)
        }
    }

    /// The terms, those added until now included.
    pub(crate) fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// The changes of a predicate, if there are any.
    pub(crate) fn of(&self, predicate: TermId) -> Option<&PredicateDelta> {
        self.predicates.get(&predicate).map(|changes| &**changes)
    }

    /// The same, as states share it.
    pub(crate) fn shared(&self, predicate: TermId) -> Option<&Arc<PredicateDelta>> {
        self.predicates.get(&predicate)
    }

    /// The predicates of added and removed quads, ascending.
    pub(crate) fn predicates(&self) -> impl Iterator<Item = (TermId, &PredicateDelta)> {
        self.predicates.iter().map(|(p, changes)| (*p, &**changes))
    }

    /// The predicates that a pattern can find changes of: this one, or those of the subject or the object, or all.
    fn touched(
        &self,
        predicate: Option<TermId>,
        subject: Option<TermId>,
        object: Option<TermId>,
    ) -> Vec<TermId> {
        let of_key = |index: &SortedSet<[TermId; 2]>, key: TermId| {
            let found = index.from(&[key, TermId::UNBOUND]);
            let found = found.take_while(|([leading, _], ())| *leading == key);
            found.map(|([_, predicate], ())| *predicate).collect()
        };
        match (predicate, subject, object) {
            (Some(predicate), ..) => vec![predicate],
            (None, Some(subject), _) => of_key(&self.subjects, subject),
            (None, None, Some(object)) => of_key(&self.objects, object),
            (None, None, None) => self.predicates.iter().map(|(p, _)| *p).collect(),
        }
    }

    /// The subjects of the quads that were added to a named graph, ascending.
    pub(crate) fn subjects_added_to(&self, graph: TermId) -> impl Iterator<Item = TermId> + '_ {
        let of_graph = self.graph_subjects.from(&[graph, TermId::UNBOUND]);
        let of_graph = of_graph.take_while(move |([of, _], _)| *of == graph);
        of_graph.map(|([_, subject], _)| *subject)
    }

    /// Whether quads of a subject were added or removed.
    pub(crate) fn touches_subject(&self, subject: TermId) -> bool {
        let next = self.subjects.from(&[subject, TermId::UNBOUND]).next();
        next.is_some_and(|([leading, _], ())| *leading == subject)
    }

    /// What it changes, as it is counted.
    pub(crate) fn counts(&self) -> DeltaCounts {
        DeltaCounts {
            added: self.added,
            removed_from_cells: self.removed - self.removed_irregular,
            removed_irregular: self.removed_irregular,
        }
    }

    /// The named graphs of a version of so many with the changes.
    pub(crate) fn named_graph_count(&self, of_version: u64) -> u64 {
        of_version.saturating_add_signed(self.named_graphs_more)
    }

    /// All quads of a version of so many with the changes.
    pub(crate) fn quad_count(&self, of_version: u64) -> u64 {
        (of_version + self.added).saturating_sub(self.removed)
    }
}
