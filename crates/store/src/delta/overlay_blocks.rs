//! Scanning a version by blocks with the delta over it.
//!
//! Blocks of the version go on as they are where no quad of their subjects was removed, else without those quads; what was added
//! comes last, predicate after predicate. Cost: a search in the delta for each block of a predicate that has removed quads, and another one for
//! each quad of their subjects.

use super::predicate_delta::TwoOrders;
use super::{Delta, PredicateDelta};
use crate::error::StoreError;
use crate::scan_blocks::{self, QuadBlock, VisitBlock};
use crate::snapshot::Version;
use basalt_columns::gallop;
use basalt_rdf::TermId;
use std::ops::ControlFlow;

/// Added quads that are visited together.
const ADDED_QUADS: usize = 1 << 11;

/// Visits the quads of a graph, those of one predicate or of all.
pub(crate) fn scan_blocks(
    version: &Version,
    delta: Option<&Delta>,
    predicate: Option<TermId>,
    graph: TermId,
    visit: VisitBlock<'_>,
) -> Result<(), StoreError> {
    let Some(delta) = delta else {
        return scan_blocks::scan_blocks(version, predicate, graph, visit);
    };
    let mut kept = Kept::default();
    let mut step = ControlFlow::Continue(());
    scan_blocks::scan_blocks(version, predicate, graph, &mut |block| {
        let removed = delta.of(block.predicate).map(PredicateDelta::removed);
        step = visit(match removed {
            Some(removed) => kept.without(removed, graph, block),
            None => block,
        });
        step
    })?;
    if step.is_continue() {
        // Whether the visitor has enough is of no interest any more.
        let _ = visit_added(delta, predicate, graph, &mut kept, visit);
    }
    Ok(())
}

/// Visits the added quads.
fn visit_added(
    delta: &Delta,
    predicate: Option<TermId>,
    graph: TermId,
    kept: &mut Kept,
    visit: VisitBlock<'_>,
) -> ControlFlow<()> {
    for predicate in delta.touched(predicate, None, None) {
        let Some(changes) = delta.of(predicate) else {
            continue;
        };
        let added = changes.added().iter();
        let mut added = added.filter(|(.., of)| *of == graph).peekable();
        while added.peek().is_some() {
            kept.clear();
            for (subject, object, _) in added.by_ref().take(ADDED_QUADS) {
                kept.subjects.push(subject.0);
                kept.objects.push(object.0);
            }
            visit(kept.block(predicate))?;
        }
    }
    ControlFlow::Continue(())
}

/// Quads put together for a block.
#[derive(Default)]
struct Kept {
    subjects: Vec<u64>,
    objects: Vec<u64>,
}

impl Kept {
    fn clear(&mut self) {
        self.subjects.clear();
        self.objects.clear();
    }

    fn block(&self, predicate: TermId) -> QuadBlock<'_> {
        QuadBlock {
            predicate,
            subjects: &self.subjects,
            objects: &self.objects,
        }
    }

    /// A block of a graph without the removed quads. The subjects of a block ascend.
    fn without<'k>(
        &'k mut self,
        removed: &TwoOrders,
        graph: TermId,
        block: QuadBlock<'k>,
    ) -> QuadBlock<'k> {
        let (Some(&first), Some(&last)) = (block.subjects.first(), block.subjects.last()) else {
            return block;
        };
        debug_assert!(block.subjects.is_sorted(), "in the order of rows or PSOG");
        let among = removed.of_subjects_within(TermId(first), TermId(last));
        let mut among = among.filter(|(.., of)| *of == graph).peekable();
        if among.peek().is_none() {
            return block;
        }
        self.clear();
        let mut start = 0;
        let mut before = None;
        for (subject, ..) in among {
            if before.replace(subject) == Some(subject) {
                continue;
            }
            start = self.copy_until(block, start, |other| other < subject.0);
            while block.subjects.get(start) == Some(&subject.0) {
                let object = block.objects[start];
                if !removed.contains(subject, TermId(object), graph) {
                    self.subjects.push(subject.0);
                    self.objects.push(object);
                }
                start += 1;
            }
        }
        self.copy_until(block, start, |_| true);
        self.block(block.predicate)
    }

    /// Adds the quads of a block from `start` on as long as their subjects are `wanted`; where the next one is.
    fn copy_until(
        &mut self,
        block: QuadBlock<'_>,
        start: usize,
        wanted: impl Fn(u64) -> bool,
    ) -> usize {
        let left = &block.subjects[start..];
        let end = start + gallop(left.len(), |at| wanted(left[at]));
        self.subjects.extend_from_slice(&block.subjects[start..end]);
        self.objects.extend_from_slice(&block.objects[start..end]);
        end
    }
}
