//! What a snapshot says of its changes, and how changes are made.

use super::{IrregularQuads, NetChanges, ObjectReader, changes, contains, predicate_totals};
use crate::dictionary::{NewTerms, TermCounts};
use crate::error::StoreError;
use crate::matching::{QuadIds, QuadPattern, irregular_of};
use crate::snapshot::Snapshot;
use basalt_rdf::{TermId, TermView};
use roaring::RoaringBitmap;
use std::ops::ControlFlow;

/// Bytes of an added or removed quad in memory: two orders of 24 bytes, two touched terms of 16, and
/// the room that is left in nodes.
pub const DELTA_QUAD_BYTES: u64 = 130;

/// The same for each named graph and subject of added quads: three words in a leaf that is two thirds full.
const GRAPH_SUBJECT_BYTES: u64 = 40;

/// How large the changes since a version are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeltaSize {
    /// Quads that the version does not have.
    pub added: u64,
    /// Quads of the version that are gone.
    pub removed: u64,
    /// Terms that the version does not have, datatypes and languages included.
    pub terms: u64,
    /// Bytes of memory, about.
    pub bytes: u64,
}

/// How much of a row its cells tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowState {
    /// All.
    Clean,
    /// All that is regular; the version has irregular quads of it.
    Irregular,
    /// Changes since the version touch it, so what cells tell may be gone.
    Changed,
}

impl Snapshot {
    /// The view with these changes made: quads that are there already are not added, quads that are not there are
    /// not removed. Removals come first. What really changed is in the second part.
    ///
    /// Errors: a quad that cannot be stored, such as one with a literal as subject or with an id that no term
    /// has. Cost: some microseconds a quad, whatever was changed before.
    pub fn with_changes(
        &self,
        removed: &[QuadIds],
        added: &[QuadIds],
    ) -> Result<(Self, NetChanges), StoreError> {
        let version = self.parts();
        let (delta, net) = changes::apply(version, self.delta(), removed, added)?;
        let sees_all = delta.dictionary().visible() == self.dictionary().visible();
        if net.is_empty() && sees_all {
            return Ok((self.clone(), net));
        }
        Ok((self.with_delta(delta), net))
    }

    /// The id of a term; a term that nobody knows is added to the terms of the version, which all its
    /// snapshots share. It is found by views that are made after that.
    ///
    /// Errors: a blank node that is not there by the label that decoding gives it; no ordinal or code is left.
    pub fn intern(&self, term: TermView<'_>) -> Result<TermId, StoreError> {
        self.dictionary().intern(term)
    }

    /// A blank node that was not there before.
    ///
    /// Errors: no ordinal is left.
    pub fn new_blank(&self) -> Result<TermId, StoreError> {
        self.dictionary().new_blank()
    }

    /// Whether a quad is there.
    ///
    /// Errors: a block of the store is damaged.
    pub fn contains(&self, quad: &QuadIds) -> Result<bool, StoreError> {
        contains(self.parts(), self.delta(), quad)
    }

    /// Terms that were added since there were so many, in the order of their ordinals and codes, also such as
    /// came after this view was made. Terms of the version are never among them.
    pub fn terms_since(&self, from: TermCounts) -> NewTerms {
        self.dictionary().terms_since(from)
    }

    /// All terms of the version and those added since, also such as came after this view was made.
    pub fn term_counts(&self) -> TermCounts {
        self.dictionary().counts()
    }

    /// Adds terms that [`Self::terms_since`] took out of another view of this version; they get the ids that they had
    /// there.
    ///
    /// Errors: there are not exactly `from` terms, or one of the terms is there already.
    pub fn restore_terms(&self, from: TermCounts, terms: &NewTerms) -> Result<(), StoreError> {
        self.dictionary().restore_terms(from, terms)
    }

    /// How large the changes are that this view has.
    pub fn delta_size(&self) -> DeltaSize {
        let Some(delta) = self.delta() else {
            return DeltaSize::default();
        };
        let of_version = self.parts().dictionary.visible();
        let terms = delta.dictionary().visible().total() - of_version.total();
        DeltaSize {
            added: delta.added,
            removed: delta.removed,
            terms,
            bytes: (delta.added + delta.removed) * DELTA_QUAD_BYTES
                + delta.graph_subjects.len() as u64 * GRAPH_SUBJECT_BYTES
                + delta.dictionary().added_bytes(),
        }
    }

    /// Bytes of memory, about, of the terms that were added since the version was written: also of those that came after this
    /// view was made, and of those whose changes were given up.
    pub fn added_term_bytes(&self) -> u64 {
        self.dictionary().added_bytes()
    }

    /// Whether this view differs from its version, in quads or in terms.
    pub fn has_delta(&self) -> bool {
        self.delta().is_some()
    }

    /// The quads that are in no cell.
    pub fn quad_table(&self) -> IrregularQuads<'_> {
        IrregularQuads::new(&self.parts().quad_table, self.delta())
    }

    /// Appends object and graph of every quad of a predicate and subject, wherever it is.
    ///
    /// Errors: a block of the store is damaged.
    pub fn objects_of(
        &self,
        predicate: TermId,
        subject: TermId,
        out: &mut Vec<(TermId, TermId)>,
    ) -> Result<(), StoreError> {
        let version = self.parts();
        let mut read_cells = |table_idx: usize, row, objects: &mut Vec<u64>| {
            if let Some(cells) = version.tables[table_idx].cells(predicate) {
                cells.values_into(row, objects);
            }
        };
        let of = (predicate, subject);
        super::objects_of(version, self.delta(), of, &mut read_cells, out)
    }

    /// Visits the subjects of all quads in some named graphs that do not stand in cells, each with the position of its graph, any
    /// number of times; those of quads that are removed may be among them.
    ///
    /// Errors: a block of the store is damaged.
    pub fn irregular_subjects_in(
        &self,
        graphs: &[u64],
        visit: &mut dyn FnMut(usize, TermId),
    ) -> Result<(), StoreError> {
        super::irregular_subjects_in(self.parts(), self.delta(), graphs, visit)
    }

    /// A reader for the objects that subjects have of a predicate, one subject after the other.
    pub fn object_reader(&self, predicate: TermId) -> ObjectReader<'_> {
        ObjectReader::new(self.parts(), self.delta(), predicate)
    }

    /// The number of quads of a predicate, wherever they are.
    pub fn predicate_quads(&self, predicate: TermId) -> u64 {
        let known = self.parts().statistics.predicate(predicate);
        let of_version = known.map_or(0, |total| total.quads());
        let changes = self.delta().and_then(|delta| delta.of(predicate));
        changes.map_or(of_version, |c| of_version.saturating_add_signed(c.change()))
    }

    /// The predicates that have quads, ascending, with the number of these, wherever they are.
    pub fn predicate_totals(&self) -> Vec<(TermId, u64)> {
        predicate_totals(self.parts(), self.delta())
    }

    /// Quads of a predicate that were added to the version or removed from it.
    pub fn changed_quads(&self, predicate: TermId) -> u64 {
        let changes = self.delta().and_then(|delta| delta.of(predicate));
        changes.map_or(0, |c| (c.added().len() + c.removed().len()) as u64)
    }

    /// Adds to `rows` those of a table that are dirty for a predicate: cells do not tell, or not all, which
    /// quads of it they have.
    pub fn add_dirty_rows(&self, table_idx: usize, predicate: TermId, rows: &mut RoaringBitmap) {
        self.add_irregular_rows(table_idx, predicate, rows);
        self.add_changed_rows(table_idx, predicate, rows);
    }

    /// Adds to `rows` those of a table that have irregular quads of a predicate in the version.
    pub fn add_irregular_rows(
        &self,
        table_idx: usize,
        predicate: TermId,
        rows: &mut RoaringBitmap,
    ) {
        let version = self.parts();
        if let Some(of_version) = version.tables[table_idx].dirty_rows(predicate) {
            *rows |= of_version;
        }
    }

    /// Adds to `rows` those of a table that the changes touch with a predicate.
    pub fn add_changed_rows(&self, table_idx: usize, predicate: TermId, rows: &mut RoaringBitmap) {
        if let Some(changes) = self.delta().and_then(|delta| delta.of(predicate)) {
            for more in changes.dirty_rows(table_idx) {
                *rows |= more;
            }
        }
    }

    /// The number of rows of a table that are dirty for a predicate.
    pub fn dirty_row_count(&self, table_idx: usize, predicate: TermId) -> u64 {
        let version = self.parts();
        let of_version = version.tables[table_idx].dirty_rows(predicate);
        let changes = self.delta().and_then(|delta| delta.of(predicate));
        let other = |rows: &RoaringBitmap| {
            rows.len() - of_version.map_or(0, |known| known.intersection_len(rows))
        };
        let by_changes = changes.map_or(0, |c| c.dirty_rows(table_idx).map(other).sum());
        of_version.map_or(0, |rows| rows.len()) + by_changes
    }

    /// How much of a row its cells tell, whatever the predicate.
    pub fn row_state(&self, table_idx: usize, row: u32) -> RowState {
        let table = &self.parts().tables[table_idx];
        let is_touched = |delta: &super::Delta| delta.touches_subject(table.subject(row));
        match self.delta().is_some_and(is_touched) {
            true => RowState::Changed,
            false if table.is_dirty(row) => RowState::Irregular,
            false => RowState::Clean,
        }
    }

    /// Visits the quads of an irregular row that do not stand in its cells, those that match; the subject of the pattern is not looked at.
    pub fn irregular_of_row(
        &self,
        (table_idx, row): (usize, u32),
        pattern: &QuadPattern,
        visit: &mut dyn FnMut(QuadIds) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let version = self.parts();
        let table = &version.tables[table_idx];
        let subject = table.subject(row);
        let pattern = QuadPattern {
            subject: None,
            ..*pattern
        };
        let predicates = table.dirty_predicates_of(row);
        irregular_of(version, &pattern, (subject, &predicates), visit).map(|_| ())
    }
}
