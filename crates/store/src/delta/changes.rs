//! Making a new state of the delta from changes.
//!
//! Removing an added quad takes it out of the added ones, adding a removed quad takes it out of the
//! removed ones: what stands in the delta is always the difference to the version. Cost: a look-up in the
//! version, and a few paths of sorted maps copied, for each quad.

use super::changed_values::chunk_of;
use super::predicate_delta::{PredicateDelta, change_count};
use super::{Delta, SortedSet};
use crate::error::StoreError;
use crate::matching::QuadIds;
use crate::snapshot::Version;
use crate::table::TypeClass;
use basalt_rdf::TermId;
use std::collections::HashSet;
use std::sync::Arc;

/// The quads that were really removed and added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetChanges {
    /// Quads that were there and are not any more.
    pub removed: Vec<QuadIds>,
    /// Quads that were not there and are now.
    pub added: Vec<QuadIds>,
}

impl NetChanges {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty()
    }

    /// How many quads came or went.
    pub fn quads(&self) -> usize {
        self.removed.len() + self.added.len()
    }
}

/// Where a version has a quad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// In a cell.
    Cell,
    /// In the quad table.
    QuadTable,
    /// Nowhere.
    None,
}

impl Home {
    /// Finds a quad in a version.
    pub(super) fn of(version: &Version, quad: &QuadIds) -> Result<Self, StoreError> {
        if let Some((table_idx, row)) = version.extents.row_of(quad.subject) {
            let table = &version.tables[table_idx];
            let cells = table.cells(quad.predicate);
            let in_cell = cells
                .is_some_and(|cells| table.graph(row) == quad.graph && cells.has(row, quad.object));
            if in_cell {
                return Ok(Self::Cell);
            }
            let dirty = table.dirty_rows(quad.predicate);
            if !dirty.is_some_and(|rows| rows.contains(row)) {
                return Ok(Self::None);
            }
        }
        match version.quad_table.contains(quad)? {
            true => Ok(Self::QuadTable),
            false => Ok(Self::None),
        }
    }
}

/// The delta with these changes, removals first, and what they really changed; `before` is the state
/// until now, if the version has changes.
pub(super) fn apply(
    version: &Version,
    before: Option<&Delta>,
    removed: &[QuadIds],
    added: &[QuadIds],
) -> Result<(Delta, NetChanges), StoreError> {
    let dictionary = version.dictionary.refreshed();
    let mut change = Change {
        version,
        delta: match before {
            Some(before) => before.next(dictionary),
            None => Delta::new(dictionary),
        },
        forgotten: HashSet::new(),
    };
    let mut net = NetChanges::default();
    // A quad that is added after all is not removed.
    let stays: HashSet<&QuadIds> = match removed {
        [] => HashSet::new(),
        _ => added.iter().collect(),
    };
    for quad in removed {
        change.validate(quad)?;
        if !stays.contains(quad) && change.remove(quad)? {
            net.removed.push(*quad);
        }
    }
    for quad in added {
        change.validate(quad)?;
        if change.add(quad)? {
            net.added.push(*quad);
        }
    }
    Ok((change.delta, net))
}

struct Change<'a> {
    version: &'a Version,
    delta: Delta,
    /// Predicates and chunks that are made anew by their next readers; nobody reads this state before it is whole.
    forgotten: HashSet<(TermId, u64)>,
}

impl Change<'_> {
    /// Refuses a quad that cannot be stored, or has terms that nobody knows.
    fn validate(&self, quad: &QuadIds) -> Result<(), StoreError> {
        let terms = self.delta.dictionary().visible();
        let is_resource = |id: TermId| id.resource_ordinal().is_some_and(|n| n < terms.resources);
        let object = if quad.object.is_dictionary_literal() {
            quad.object.literal_ordinal() < terms.literals
        } else {
            is_resource(quad.object)
                || !quad.object.is_resource() && TypeClass::ANY.takes(quad.object)
        };
        let graph = quad.graph == TermId::DEFAULT_GRAPH || is_resource(quad.graph);
        match is_resource(quad.subject) && is_resource(quad.predicate) && object && graph {
            true => Ok(()),
            false => Err(StoreError::invalid(format!("{quad:?} cannot be stored"))),
        }
    }

    /// Makes a quad not to be there; returns whether it was.
    fn remove(&mut self, quad: &QuadIds) -> Result<bool, StoreError> {
        let QuadIds {
            subject,
            predicate,
            object,
            graph,
        } = *quad;
        if let Some(changes) = self.delta.of(predicate) {
            if changes.removed().contains(subject, object, graph) {
                return Ok(false);
            }
            if changes.added().contains(subject, object, graph) {
                let changes = self.of_mut(predicate);
                changes.added_mut().remove(subject, object, graph);
                self.delta.added -= 1;
                self.note_added(quad, -1);
                self.note(quad, -1);
                return Ok(true);
            }
        }
        let home = Home::of(self.version, quad)?;
        if home == Home::None {
            return Ok(false);
        }
        let changes = self.of_mut(predicate);
        changes.removed_mut().insert(subject, object, graph);
        self.delta.removed += 1;
        self.note_home(quad, home, 1);
        self.note(quad, -1);
        Ok(true)
    }

    /// Makes a quad to be there; returns whether it was not.
    fn add(&mut self, quad: &QuadIds) -> Result<bool, StoreError> {
        let QuadIds {
            subject,
            predicate,
            object,
            graph,
        } = *quad;
        if let Some(changes) = self.delta.of(predicate) {
            if changes.added().contains(subject, object, graph) {
                return Ok(false);
            }
            if changes.removed().contains(subject, object, graph) {
                let home = Home::of(self.version, quad)?;
                let changes = self.of_mut(predicate);
                changes.removed_mut().remove(subject, object, graph);
                self.delta.removed -= 1;
                self.note_home(quad, home, -1);
                self.note(quad, 1);
                return Ok(true);
            }
        }
        if Home::of(self.version, quad)? != Home::None {
            return Ok(false);
        }
        let changes = self.of_mut(predicate);
        changes.added_mut().insert(subject, object, graph);
        self.delta.added += 1;
        self.note_added(quad, 1);
        self.note(quad, 1);
        Ok(true)
    }

    /// The changes of a predicate, copied if another state has them too.
    fn of_mut(&mut self, predicate: TermId) -> &mut PredicateDelta {
        if !self.delta.predicates.contains(&predicate) {
            self.delta.predicates.insert(predicate, Arc::default());
        }
        let changes = self.delta.predicates.get_mut(&predicate);
        Arc::make_mut(changes.expect("it is there or was inserted just now"))
    }

    /// Counts a quad of the version that is removed or is there again.
    fn note_home(&mut self, quad: &QuadIds, home: Home, by: i64) {
        if home == Home::QuadTable {
            self.of_mut(quad.predicate).count_removed_irregular(by);
            let known = &mut self.delta.removed_irregular;
            *known = known.saturating_add_signed(by);
        }
    }

    /// Counts a quad that is among the added ones, or is so no longer.
    fn note_added(&mut self, quad: &QuadIds, by: i64) {
        let version = self.version;
        let counts = self.of_mut(quad.predicate).added_counts_mut();
        counts.count(version, quad, by);
        if quad.graph != TermId::DEFAULT_GRAPH {
            let key = [quad.graph, quad.subject];
            change_count(&mut self.delta.graph_subjects, key, by);
        }
    }

    /// Brings counts, dirty rows and the lists of touched terms up to date after a quad was added (1) or
    /// removed (-1).
    fn note(&mut self, quad: &QuadIds, by: i64) {
        let row = self.version.extents.row_of(quad.subject);
        let chunk = chunk_of(quad.subject);
        let is_first = self.forgotten.insert((quad.predicate, chunk));
        let changes = self.of_mut(quad.predicate);
        if is_first {
            changes.chunks_mut().forget(chunk);
        }
        changes.count_graph(quad.graph, by);
        let by_subject = changes.touches_subject(quad.subject);
        let by_object = changes.touches_object(quad.object);
        if let Some((table_idx, row)) = row {
            changes.mark_row(table_idx, row, by_subject);
        }
        let is_empty = changes.is_empty();
        let delta = &mut self.delta;
        set(
            &mut delta.subjects,
            [quad.subject, quad.predicate],
            by_subject,
        );
        set(&mut delta.objects, [quad.object, quad.predicate], by_object);
        note_graph(self.version, delta, quad.graph, by);
        if is_empty {
            // Its chunks go with it, so the next quad must make them again.
            delta.predicates.remove(&quad.predicate);
            self.forgotten.retain(|(p, _)| *p != quad.predicate);
        }
    }
}

/// Counts a quad of a graph that was added (1) or removed (-1), and the graph if it is the first or was the last one.
fn note_graph(version: &Version, delta: &mut Delta, graph: TermId, by: i64) {
    if graph != TermId::DEFAULT_GRAPH {
        let change = delta.graphs.get(&graph).copied().unwrap_or(0);
        let of_version = version.statistics.graph(graph);
        let before = of_version.saturating_add_signed(change);
        let after = before.saturating_add_signed(by);
        delta.named_graphs_more += i64::from(after > 0) - i64::from(before > 0);
    }
    change_count(&mut delta.graphs, graph, by);
}

/// Makes a key to be in a set or not to be.
fn set(keys: &mut SortedSet<[TermId; 2]>, key: [TermId; 2], is_in: bool) {
    if !is_in {
        keys.remove(&key);
    } else if !keys.contains(&key) {
        keys.insert(key, ());
    }
}
