//! Triples that a scan of merged graphs has met already.
//!
//! A triple is in several graphs at once only if some of its quads do not stand in cells: a row has one home graph. So
//! cells come first and are never asked; a quad of the quad table is a repeat if the one before it, in the order of subject, object and graph, has the same triple,
//! or if the cell of its subject has its object; an added quad also if the quad table has the triple. Nothing is remembered but the last quad.
//!
//! Cost: a look at a row for each quad whose subject is one of a table with the predicate; for an added quad a look-up in the quad table, if that
//! has its predicate.

use super::Delta;
use crate::counting::GraphSet;
use crate::error::StoreError;
use crate::scan_blocks::{BlockBuffer, QuadBlock};
use crate::snapshot::Version;
use basalt_rdf::TermId;

/// Where quads that do not stand in cells do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    QuadTable,
    Delta,
}

/// See the [module documentation](self).
pub(super) struct Repeats<'a> {
    version: &'a Version,
    delta: Option<&'a Delta>,
    graphs: &'a GraphSet,
    /// Where the last triple stood, and what it was: predicate, subject, object.
    last: Option<(Place, [TermId; 3])>,
    /// Where the last row was found.
    near: usize,
    values: Vec<u64>,
    found: Vec<(TermId, TermId)>,
    kept: BlockBuffer,
}

impl<'a> Repeats<'a> {
    pub(super) fn new(
        version: &'a Version,
        delta: Option<&'a Delta>,
        graphs: &'a GraphSet,
    ) -> Self {
        Self {
            version,
            delta,
            graphs,
            last: None,
            near: usize::MAX,
            values: Vec::new(),
            found: Vec::new(),
            kept: BlockBuffer::default(),
        }
    }

    /// The quads of the next block in a place whose triples have not come before.
    pub(super) fn without<'k>(
        &'k mut self,
        place: Place,
        block: QuadBlock<'k>,
    ) -> Result<QuadBlock<'k>, StoreError> {
        let mut kept = std::mem::take(&mut self.kept);
        kept.clear();
        let mut repeats = 0;
        for (at, (&subject, &object)) in block.subjects.iter().zip(block.objects).enumerate() {
            let triple = [block.predicate, TermId(subject), TermId(object)];
            if self.last.replace((place, triple)) == Some((place, triple))
                || self.is_in_cells(triple)
                || (place == Place::Delta && self.is_in_quad_table(triple)?)
            {
                repeats += 1;
            } else {
                kept.push(subject, object, block.graphs.at(at).0);
            }
        }
        self.kept = kept;
        Ok(match repeats {
            0 => block,
            _ => self.kept.block(block.predicate),
        })
    }

    /// Whether the cell of the subject has the object, if its graph is one of those.
    fn is_in_cells(&mut self, triple @ [predicate, subject, object]: [TermId; 3]) -> bool {
        let row = self.version.extents.row_of_near(subject, &mut self.near);
        let Some((table_idx, row)) = row else {
            return false;
        };
        let table = &self.version.tables[table_idx];
        let Some(cells) = table.cells(predicate) else {
            return false;
        };
        let home = table.graph(row);
        if !self.graphs.takes(home) {
            return false;
        }
        self.values.clear();
        cells.values_into(row, &mut self.values);
        self.values.contains(&object.0) && !self.is_removed(triple, home)
    }

    /// Whether the quad table has the triple in one of the graphs.
    fn is_in_quad_table(
        &mut self,
        triple @ [predicate, subject, object]: [TermId; 3],
    ) -> Result<bool, StoreError> {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let quads = &self.version.quad_table;
        quads.by_subject(predicate, subject, &mut found)?;
        let is_it = |&(other, graph): &(TermId, TermId)| {
            other == object && self.graphs.takes(graph) && !self.is_removed(triple, graph)
        };
        let is_there = found.iter().any(is_it);
        self.found = found;
        Ok(is_there)
    }

    fn is_removed(&self, [predicate, subject, object]: [TermId; 3], graph: TermId) -> bool {
        let changes = self.delta.and_then(|delta| delta.of(predicate));
        changes.is_some_and(|changes| changes.removed().contains(subject, object, graph))
    }
}
