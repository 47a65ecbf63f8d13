//! The quads that are in no cell: those of the quad table that are not removed, and the added ones.
//!
//! What the general path of the executor reads beside cells. Without a delta every call goes straight to
//! the quad table.

use super::predicate_delta::TwoOrders;
use super::{Delta, PredicateDelta};
use crate::error::StoreError;
use crate::quad_table::{BLOCK_QUADS, PredicateQuads, QuadTable};
use basalt_rdf::TermId;
use std::ops::ControlFlow;

/// What a scan shows: subjects, objects and graphs, slices of equal length.
type VisitBlock<'v> = &'v mut dyn FnMut(&[u64], &[u64], &[u64]) -> ControlFlow<()>;

/// The irregular quads of a snapshot; a cheap view.
#[derive(Clone, Copy, Debug)]
pub struct IrregularQuads<'a> {
    table: &'a QuadTable,
    delta: Option<&'a Delta>,
}

impl<'a> IrregularQuads<'a> {
    pub(super) fn new(table: &'a QuadTable, delta: Option<&'a Delta>) -> Self {
        Self { table, delta }
    }

    /// Number of irregular quads.
    pub fn quad_count(&self) -> u64 {
        let of_version = self.table.quad_count();
        self.delta.map_or(of_version, |delta| {
            (of_version + delta.added).saturating_sub(delta.removed_irregular)
        })
    }

    /// Every predicate of irregular quads, ascending, with counts.
    pub fn predicates(&self) -> impl Iterator<Item = (TermId, PredicateQuads)> + use<'a> {
        let mut predicates: Vec<TermId> = self.table.predicates().map(|(p, _)| p).collect();
        if let Some(delta) = self.delta {
            predicates.extend(delta.predicates().map(|(predicate, _)| predicate));
            predicates.sort_unstable();
            predicates.dedup();
        }
        let view = *self;
        let counts = predicates.into_iter();
        counts.filter_map(move |predicate| Some((predicate, view.predicate(predicate)?)))
    }

    /// Counts for one predicate, if it has irregular quads. The number of quads is exact; of subjects and objects
    /// there are at most so many where a delta touches the predicate.
    pub fn predicate(&self, predicate: TermId) -> Option<PredicateQuads> {
        let of_version = self.table.predicate(predicate);
        let Some(changes) = self.delta.and_then(|delta| delta.of(predicate)) else {
            return of_version;
        };
        let known = of_version.unwrap_or_default();
        let added = changes.added().len() as u64;
        let quads = (known.quads + added).saturating_sub(changes.removed_irregular());
        (quads > 0).then(|| PredicateQuads {
            quads,
            subjects: (known.subjects + added).min(quads),
            objects: (known.objects + added).min(quads),
        })
    }

    /// The smallest and the largest object of the irregular quads of the predicate, as far as that is known without reading any: removed
    /// quads may count. `None` if there are none.
    pub fn object_range(&self, predicate: TermId) -> Option<(TermId, TermId)> {
        let of_version = self.table.object_range(predicate);
        let changes = self.delta.and_then(|delta| delta.of(predicate));
        let added = changes.and_then(|changes| changes.added().object_range());
        let ranges = of_version.into_iter().chain(added);
        ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// Appends subject and graph of every irregular quad of the predicate and object.
    pub fn by_object(
        &self,
        predicate: TermId,
        object: TermId,
        out: &mut Vec<(TermId, TermId)>,
    ) -> Result<(), StoreError> {
        let start = out.len();
        self.table.by_object(predicate, object, out)?;
        if let Some(changes) = self.delta.and_then(|delta| delta.of(predicate)) {
            let removed = changes.removed();
            if !removed.is_empty() {
                let mut found = out.split_off(start);
                found.retain(|&(subject, graph)| !removed.contains(subject, object, graph));
                out.append(&mut found);
            }
            out.extend(changes.added().of_object(object));
        }
        Ok(())
    }

    /// Visits the irregular quads of the predicate whose object is one of these ids, which ascend without
    /// repeats: position of the id, subject, graph.
    pub fn by_objects(
        &self,
        predicate: TermId,
        objects: &[u64],
        visit: &mut dyn FnMut(usize, TermId, TermId),
    ) -> Result<(), StoreError> {
        let Some(changes) = self.delta.and_then(|delta| delta.of(predicate)) else {
            return self.table.by_objects(predicate, objects, visit);
        };
        if changes.removed_irregular() == 0 {
            self.table.by_objects(predicate, objects, visit)?;
        } else {
            let removed = changes.removed();
            let mut on_quad = |at: usize, subject, graph| {
                if !removed.contains(subject, TermId(objects[at]), graph) {
                    visit(at, subject, graph);
                }
            };
            self.table.by_objects(predicate, objects, &mut on_quad)?;
        }
        changes.added().of_objects(objects, visit);
        Ok(())
    }

    /// The number of irregular quads of the predicate and object, in any graph.
    pub fn count_object(&self, predicate: TermId, object: TermId) -> Result<u64, StoreError> {
        match self.delta.and_then(|delta| delta.of(predicate)) {
            None => self.table.count_object(predicate, object),
            Some(changes) if changes.removed_irregular() == 0 => {
                let added = changes.added().of_object(object).count();
                Ok(self.table.count_object(predicate, object)? + added as u64)
            }
            Some(_) => {
                let mut found = Vec::new();
                self.by_object(predicate, object, &mut found)?;
                Ok(found.len() as u64)
            }
        }
    }

    /// The subject of the quad with this number, from 0, among those of the predicate and object.
    pub fn nth_with(
        &self,
        predicate: TermId,
        object: TermId,
        number: u64,
    ) -> Result<Option<TermId>, StoreError> {
        match self.delta.and_then(|delta| delta.of(predicate)) {
            None => self.table.nth_with(predicate, object, number),
            Some(_) => {
                let mut found = Vec::new();
                self.by_object(predicate, object, &mut found)?;
                let place = usize::try_from(number).ok();
                let quad = place.and_then(|place| found.get(place));
                Ok(quad.map(|(subject, _)| *subject))
            }
        }
    }

    /// Appends the subjects of up to so many quads of the predicate, spread evenly over all of the version; ascending, and as
    /// often as quads are theirs. Changes are not looked at.
    pub fn spread_subjects(
        &self,
        predicate: TermId,
        count_max: usize,
        out: &mut Vec<TermId>,
    ) -> Result<(), StoreError> {
        self.table.spread_subjects(predicate, count_max, out)
    }

    /// Visits the quads of a predicate block by block as (subjects, objects, graphs): those of the quad table
    /// in the order of subject, object, graph, then the added ones in the same order.
    pub fn scan(&self, predicate: TermId, visit: VisitBlock<'_>) -> Result<(), StoreError> {
        let Some(changes) = self.delta.and_then(|delta| delta.of(predicate)) else {
            return self.table.scan(predicate, visit);
        };
        let mut filtered = Filtered::new(changes, visit);
        self.table
            .scan(predicate, &mut |s, o, g| filtered.block(s, o, g))?;
        filtered.finish(changes.added().iter());
        Ok(())
    }

    /// As [`Self::scan`], in the order of object, subject, graph.
    pub fn scan_by_object(
        &self,
        predicate: TermId,
        visit: VisitBlock<'_>,
    ) -> Result<(), StoreError> {
        let Some(changes) = self.delta.and_then(|delta| delta.of(predicate)) else {
            return self.table.scan_by_object(predicate, visit);
        };
        let mut filtered = Filtered::new(changes, visit);
        self.table
            .scan_by_object(predicate, &mut |s, o, g| filtered.block(s, o, g))?;
        filtered.finish(changes.added().iter_by_object());
        Ok(())
    }
}

/// Hands the quads of a predicate on to a visitor, without the removed ones.
struct Filtered<'a> {
    removed: &'a TwoOrders,
    visit: VisitBlock<'a>,
    /// What the visitor said last.
    step: ControlFlow<()>,
    subjects: Vec<u64>,
    objects: Vec<u64>,
    graphs: Vec<u64>,
}

impl<'a> Filtered<'a> {
    fn new(changes: &'a PredicateDelta, visit: VisitBlock<'a>) -> Self {
        Self {
            removed: changes.removed(),
            visit,
            step: ControlFlow::Continue(()),
            subjects: Vec::new(),
            objects: Vec::new(),
            graphs: Vec::new(),
        }
    }

    /// Takes a block of the quad table.
    fn block(&mut self, subjects: &[u64], objects: &[u64], graphs: &[u64]) -> ControlFlow<()> {
        if self.removed.is_empty() {
            self.step = (self.visit)(subjects, objects, graphs);
            return self.step;
        }
        for ((&subject, &object), &graph) in subjects.iter().zip(objects).zip(graphs) {
            let (s, o, g) = (TermId(subject), TermId(object), TermId(graph));
            if !self.removed.contains(s, o, g) {
                self.push(s, o, g);
            }
        }
        self.hand_over()
    }

    /// Takes the added quads, unless the visitor has enough.
    fn finish(&mut self, added: impl Iterator<Item = (TermId, TermId, TermId)>) {
        if self.step.is_break() {
            return;
        }
        for (subject, object, graph) in added {
            self.push(subject, object, graph);
            if self.subjects.len() == BLOCK_QUADS && self.hand_over().is_break() {
                return;
            }
        }
        // Nothing comes after, whatever the visitor says.
        let _ = self.hand_over();
    }

    fn push(&mut self, subject: TermId, object: TermId, graph: TermId) {
        self.subjects.push(subject.0);
        self.objects.push(object.0);
        self.graphs.push(graph.0);
    }

    fn hand_over(&mut self) -> ControlFlow<()> {
        if !self.subjects.is_empty() {
            self.step = (self.visit)(&self.subjects, &self.objects, &self.graphs);
            self.subjects.clear();
            self.objects.clear();
            self.graphs.clear();
        }
        self.step
    }
}
