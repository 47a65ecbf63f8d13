//! Scanning a version by blocks with the delta over it, quads of graphs or triples of their merge.
//!
//! Blocks of the version go on as they are where no quad of their subjects was removed, else without those quads; what was added
//! comes last, predicate after predicate. Where graphs are merged, [`repeats`](super::repeats) leaves out what came already.
//! Cost: a search in the delta for each block of a predicate that has removed quads, and another one for
//! each quad of their subjects.

use super::repeats::{Place, Repeats};
use super::{Delta, StopCheck};
use crate::counting::GraphSet;
use crate::error::StoreError;
use crate::scan_blocks::{
    BlockBuffer, Predicates, QuadBlock, VisitBlock, scan_cells, scan_irregular,
};
use crate::snapshot::Version;
use basalt_columns::gallop;
use basalt_rdf::TermId;
use std::ops::ControlFlow;

/// Added quads that are visited together.
const ADDED_QUADS: usize = 1 << 11;

/// The visitor of blocks outside of cells, which is told where they stand: whether to go on, or an error.
type VisitPlaced<'v, E> = &'v mut dyn FnMut(Place, QuadBlock<'_>) -> Result<ControlFlow<()>, E>;

/// A scan of some graphs.
pub(crate) struct BlockScan<'a> {
    pub(crate) version: &'a Version,
    pub(crate) delta: Option<&'a Delta>,
    pub(crate) graphs: &'a GraphSet,
}

impl BlockScan<'_> {
    /// Visits the quads, those of some predicates.
    pub(crate) fn quads(
        &self,
        predicates: Predicates<'_>,
        visit: VisitBlock<'_>,
    ) -> Result<(), StoreError> {
        self.scan(predicates, None, visit)
    }

    /// Visits the triples of the merge of the graphs, each once, in one of its graphs.
    pub(crate) fn triples(
        &self,
        predicates: Predicates<'_>,
        visit: VisitBlock<'_>,
    ) -> Result<(), StoreError> {
        self.scan(predicates, Some(self.no_triples_yet()), visit)
    }

    /// How many quads have the triple of another one that came before. `check` is asked for each block; with an error it ends the work.
    pub(crate) fn repeats<E: From<StoreError>>(
        &self,
        predicates: Predicates<'_>,
        check: StopCheck<'_, E>,
    ) -> Result<u64, E> {
        let mut repeats = self.no_triples_yet();
        let mut count = 0;
        self.outside_cells::<E>(predicates, &mut |place, block| {
            check()?;
            let left = repeats.without(place, block)?;
            count += (block.subjects.len() - left.subjects.len()) as u64;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(count)
    }

    fn no_triples_yet(&self) -> Repeats<'_> {
        Repeats::new(self.version, self.delta, self.graphs)
    }

    /// Visits all but `repeats`, if there may be any: a row has one home graph and its cells have no value twice, so all of these are elsewhere.
    fn scan(
        &self,
        predicates: Predicates<'_>,
        mut repeats: Option<Repeats<'_>>,
        visit: VisitBlock<'_>,
    ) -> Result<(), StoreError> {
        if self.cells(predicates, visit).is_break() {
            return Ok(());
        }
        self.outside_cells(predicates, &mut |place, block| {
            Ok(visit(match &mut repeats {
                Some(repeats) => repeats.without(place, block)?,
                None => block,
            }))
        })
    }

    fn cells(&self, predicates: Predicates<'_>, visit: VisitBlock<'_>) -> ControlFlow<()> {
        let mut kept = BlockBuffer::default();
        scan_cells(self.version, predicates, self.graphs, &mut |block| {
            visit(self.without_removed(block, &mut kept))
        })
    }

    /// Visits what does not stand in cells, with the place where it does.
    fn outside_cells<E: From<StoreError>>(
        &self,
        predicates: Predicates<'_>,
        visit: VisitPlaced<'_, E>,
    ) -> Result<(), E> {
        let mut kept = BlockBuffer::default();
        let mut failed = None;
        let mut visit_in = |place: Place, block: QuadBlock<'_>| {
            visit(place, block).unwrap_or_else(|error| {
                failed = Some(error);
                ControlFlow::Break(())
            })
        };
        let mut step = scan_irregular(self.version, predicates, self.graphs, &mut |block| {
            visit_in(Place::QuadTable, self.without_removed(block, &mut kept))
        })?;
        if let Some(delta) = self.delta
            && step.is_continue()
        {
            step = self.added(delta, predicates, &mut |block| {
                visit_in(Place::Delta, block)
            });
        }
        // Whether the visitor has enough is of no interest any more.
        let _ = step;
        failed.map_or(Ok(()), Err)
    }

    /// Visits the added quads.
    fn added(
        &self,
        delta: &Delta,
        predicates: Predicates<'_>,
        visit: VisitBlock<'_>,
    ) -> ControlFlow<()> {
        let mut made = BlockBuffer::default();
        let touched = delta.touched(predicates.one(), None, None).into_iter();
        for predicate in touched.filter(|touched| predicates.take(*touched)) {
            let Some(changes) = delta.of(predicate) else {
                continue;
            };
            let added = changes.added().iter();
            let mut added = added.filter(|(.., of)| self.graphs.takes(*of)).peekable();
            while added.peek().is_some() {
                made.clear();
                for (subject, object, graph) in added.by_ref().take(ADDED_QUADS) {
                    made.push(subject.0, object.0, graph.0);
                }
                visit(made.block(predicate))?;
            }
        }
        ControlFlow::Continue(())
    }

    /// A block of the version without the quads that are removed.
    fn without_removed<'k>(
        &self,
        block: QuadBlock<'k>,
        kept: &'k mut BlockBuffer,
    ) -> QuadBlock<'k> {
        let changes = self.delta.and_then(|delta| delta.of(block.predicate));
        let ends = (block.subjects.first(), block.subjects.last());
        let (Some(changes), (Some(&first), Some(&last))) = (changes, ends) else {
            return block;
        };
        debug_assert!(block.subjects.is_sorted(), "in the order of rows or PSOG");
        let removed = changes.removed();
        let among = removed.of_subjects_within(TermId(first), TermId(last));
        let among = among.filter(|(.., of)| self.graphs.takes(*of));
        let mut subjects = among.map(|(subject, ..)| subject).peekable();
        if subjects.peek().is_none() {
            return block;
        }
        kept.clear();
        let mut start = 0;
        let mut before = None;
        for subject in subjects {
            if before.replace(subject) == Some(subject) {
                continue;
            }
            let left = &block.subjects[start..];
            let end = start + gallop(left.len(), |at| left[at] < subject.0);
            kept.copy(&block, (start, end));
            start = end;
            while block.subjects.get(start) == Some(&subject.0) {
                let (object, graph) = (block.objects[start], block.graphs.at(start));
                if !removed.contains(subject, TermId(object), graph) {
                    kept.push(subject.0, object, graph.0);
                }
                start += 1;
            }
        }
        kept.copy(&block, (start, block.subjects.len()));
        kept.block(block.predicate)
    }
}
