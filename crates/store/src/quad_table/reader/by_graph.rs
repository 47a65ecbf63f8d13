//! The irregular quads of one graph.
//!
//! No order of the quad table begins with the graph, so a graph is sought by reading the graphs of all blocks. Once that has been done as often
//! as sorting them is worth, the places of quads by graph are kept in memory, 12 bytes for each quad of a named graph, as columns without an
//! inverse have theirs ([`LazyInverse`](crate::inverse::LazyInverse)): whatever comes, the work is at most twice the best possible.

use super::QuadTable;
use crate::error::StoreError;
use crate::inverse::{SEARCHES_BEFORE_BUILD, SortedPairs};
use crate::matching::{QuadIds, VisitQuad};
use crate::quad_table::BLOCK_QUADS;
use basalt_columns::codec::CodecKind;
use basalt_rdf::TermId;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the quads of each named graph stand, once that has become worth finding out.
#[derive(Debug, Default)]
pub(super) struct PlacesByGraph {
    searches: AtomicU32,
    /// Graphs with places: the number of the block in PSOG times [`BLOCK_QUADS`] and the place there.
    sorted: OnceLock<SortedPairs>,
}

/// The most blocks whose places have numbers.
const BLOCKS_MAX: usize = (u32::MAX as usize + 1) / BLOCK_QUADS;

impl QuadTable {
    /// Visits the quads of a named graph, those of one predicate or of all. It is one of so many that are sought together.
    pub(crate) fn by_graph(
        &self,
        predicate: Option<TermId>,
        (graph, sought): (TermId, usize),
        visit: VisitQuad<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        match self.places_by_graph(sought)? {
            Some(sorted) => {
                let mut places = Vec::new();
                sorted.find(graph.0, &mut places);
                self.at_places(&places, predicate, visit)
            }
            None => self.by_graph_in_blocks(predicate, graph, visit),
        }
    }

    /// The places of quads by graph, if they are known or so many searches together are worth finding them out; else counts one more search.
    fn places_by_graph(&self, sought: usize) -> Result<Option<&SortedPairs>, StoreError> {
        let known = &self.places_by_graph;
        if let Some(sorted) = known.sorted.get() {
            return Ok(Some(sorted));
        }
        let is_too_early = || {
            let before = known.searches.fetch_add(1, Ordering::Relaxed) as usize;
            before.max(sought) < SEARCHES_BEFORE_BUILD as usize
        };
        let blocks = self.psog.directory.len();
        if blocks <= 1 || blocks > BLOCKS_MAX || is_too_early() {
            return Ok(None);
        }
        let mut pairs = Vec::new();
        let mut graphs = Vec::new();
        for block_idx in 0..blocks {
            graphs.clear();
            let sequence = self.psog.block(block_idx)?.graphs;
            sequence.decode(0..sequence.len(), &mut graphs);
            let first = (block_idx * BLOCK_QUADS) as u32;
            let places = graphs.iter().copied().zip(first..);
            pairs.extend(places.filter(|(graph, _)| *graph != TermId::DEFAULT_GRAPH.0));
        }
        Ok(Some(
            known.sorted.get_or_init(|| SortedPairs::of_pairs(pairs)),
        ))
    }

    #[cfg(test)]
    pub(in crate::quad_table) fn knows_places_by_graph(&self) -> bool {
        self.places_by_graph.sorted.get().is_some()
    }

    /// Visits the quads at ascending places.
    fn at_places(
        &self,
        places: &[u32],
        predicate: Option<TermId>,
        visit: VisitQuad<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let block_of = |place: &u32| *place as usize / BLOCK_QUADS;
        for of_block in places.chunk_by(|a, b| block_of(a) == block_of(b)) {
            let block_idx = block_of(&of_block[0]);
            let of = self.predicates.partition_point(|p| p.psog.end <= block_idx);
            let of = self.predicates[of].predicate;
            if predicate.is_some_and(|wanted| wanted != of) {
                continue;
            }
            let block = self.psog.block(block_idx)?;
            for place in of_block {
                let at = *place as usize % BLOCK_QUADS;
                let quad = QuadIds {
                    subject: TermId(block.first.get(at)),
                    predicate: of,
                    object: TermId(block.second.get(at)),
                    graph: TermId(block.graphs.get(at)),
                };
                if visit(quad).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Visits the quads of a graph by looking at the graphs of all blocks.
    fn by_graph_in_blocks(
        &self,
        predicate: Option<TermId>,
        graph: TermId,
        visit: VisitQuad<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let (mut graphs, mut places) = (Vec::new(), Vec::new());
        for known in &self.predicates {
            if predicate.is_some_and(|wanted| wanted != known.predicate) {
                continue;
            }
            for block_idx in known.psog.clone() {
                let sequence = self.psog.block(block_idx)?.graphs;
                let is_constant = sequence.kind() == CodecKind::Constant && !sequence.is_empty();
                if is_constant && sequence.get(0) != graph.0 {
                    continue;
                }
                graphs.clear();
                sequence.decode(0..sequence.len(), &mut graphs);
                places.clear();
                let first = (block_idx * BLOCK_QUADS) as u32;
                let found = graphs.iter().zip(first..);
                places.extend(found.filter(|(of, _)| **of == graph.0).map(|(_, at)| at));
                if self.at_places(&places, predicate, visit)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
