//! Where the added quads of a predicate stand: small statistics that a delta keeps as it changes.
//!
//! They let readers and the planner go on using what is known of a version, adjusted, instead of giving it up: changed rows can be
//! read as cells are if what was added is in their home graphs, new subjects as columns if they are in one graph, and
//! links still lead to the tables that they led to, and to those of the added ones.
//!
//! Invariant: exact, as if counted over the added quads (`check` does). Cost: two searches among extents and a path of a map for each
//! added quad.

use super::predicate_delta::change_count;
use super::sorted_map::SortedMap;
use crate::matching::QuadIds;
use crate::snapshot::{Snapshot, Version};
use basalt_rdf::TermId;

/// Counts of one predicate's added quads.
#[derive(Clone, Debug, Default)]
pub(super) struct AddedCounts {
    /// Of rows, in another graph than the row's home.
    foreign: u64,
    /// Of subjects that the version knows and that are in no table.
    loose: u64,
    /// Of subjects that the version does not know, by graph.
    new: SortedMap<TermId, i64>,
    /// Whose object is a row, by table.
    linked: SortedMap<usize, i64>,
}

impl AddedCounts {
    /// Counts an added quad (1) or one that is so no longer (-1).
    pub(super) fn count(&mut self, version: &Version, quad: &QuadIds, by: i64) {
        if let Some((table_idx, _)) = version.extents.row_of(quad.object) {
            change_count(&mut self.linked, table_idx, by);
        }
        match version.extents.row_of(quad.subject) {
            Some((table_idx, row)) if version.tables[table_idx].graph(row) == quad.graph => {}
            Some(_) => self.foreign = self.foreign.saturating_add_signed(by),
            None if is_new(version, quad.subject) => change_count(&mut self.new, quad.graph, by),
            None => self.loose = self.loose.saturating_add_signed(by),
        }
    }

    /// Whether both count the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.foreign, self.loose) == (other.foreign, other.loose)
            && self.new.iter().eq(other.new.iter())
            && self.linked.iter().eq(other.linked.iter())
    }
}

/// Whether no file of the version knows a resource.
pub(super) fn is_new(version: &Version, subject: TermId) -> bool {
    let known = version.dictionary.visible().resources;
    subject.resource_ordinal().is_some_and(|n| n >= known)
}

/// Where added quads of a predicate stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangePlaces {
    /// Quads of rows of tables in other graphs than the rows' home graphs.
    pub foreign: u64,
    /// Quads of subjects that the version knows and that are in no table.
    pub loose: u64,
    /// Quads of subjects that the version does not know.
    pub new: u64,
    /// The graph of all those of new subjects, if it is one.
    pub new_graph: Option<TermId>,
}

impl Snapshot {
    /// Where the added quads of a predicate stand.
    pub fn change_places(&self, predicate: TermId) -> ChangePlaces {
        let Some(changes) = self.delta().and_then(|delta| delta.of(predicate)) else {
            return ChangePlaces::default();
        };
        let counts = changes.added_counts();
        let mut graphs = counts.new.iter().map(|(graph, _)| *graph);
        ChangePlaces {
            foreign: counts.foreign,
            loose: counts.loose,
            new: counts.new.iter().map(|(_, count)| *count as u64).sum(),
            new_graph: graphs.next().filter(|_| graphs.next().is_none()),
        }
    }

    /// The tables whose rows are objects of a predicate's added quads, with the number of these quads.
    pub fn added_links(&self, predicate: TermId) -> Vec<(usize, u64)> {
        let changes = self.delta().and_then(|delta| delta.of(predicate));
        changes.map_or_else(Vec::new, |changes| {
            let linked = changes.added_counts().linked.iter();
            linked.map(|(idx, count)| (*idx, *count as u64)).collect()
        })
    }

    /// Irregular quads of the version with a predicate, removed ones included.
    pub fn irregular_of_version(&self, predicate: TermId) -> u64 {
        let known = self.parts().quad_table.predicate(predicate);
        known.map_or(0, |known| known.quads)
    }

    /// The ordinal from which on resources are none that the version knows.
    pub fn first_new_resource(&self) -> u64 {
        self.version_term_counts().resources
    }
}
