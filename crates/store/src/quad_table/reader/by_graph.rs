//! The irregular quads of one graph.
//!
//! No order of the quad table begins with the graph, so a graph is sought by reading the graphs of all blocks. Once that has been done as often
//! as sorting them is worth, the places of quads by graph are kept in memory, 12 bytes for each quad of a named graph, as columns without an
//! inverse have theirs ([`LazyInverse`](crate::inverse::LazyInverse)): whatever comes, the work is at most twice the best possible.

use super::QuadTable;
use crate::error::StoreError;
use crate::inverse::SortedPairs;
use crate::matching::{QuadIds, VisitQuad};
use crate::quad_table::BLOCK_QUADS;
use basalt_columns::codec::CodecKind;
use basalt_rdf::TermId;
use std::ops::ControlFlow;

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

    /// Named graphs with the places of their quads (the number of the block in PSOG times [`BLOCK_QUADS`] and the place there), if they are known or
    /// so many searches together are worth finding them out; else counts one more search.
    fn places_by_graph(&self, sought: usize) -> Result<Option<&SortedPairs>, StoreError> {
        let known = &self.places_by_graph;
        if let Some(sorted) = known.get() {
            return Ok(Some(sorted));
        }
        let blocks = self.psog.directory.len();
        if blocks <= 1 || blocks > BLOCKS_MAX || !known.is_due(1, sought) {
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
        Ok(Some(known.get_or_make(|| SortedPairs::of_pairs(pairs))))
    }

    #[cfg(test)]
    pub(in crate::quad_table) fn knows_places_by_graph(&self) -> bool {
        self.places_by_graph.get().is_some()
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
            if predicate.is_none_or(|wanted| wanted == of) {
                let places = of_block.iter().map(|place| *place as usize % BLOCK_QUADS);
                if self.in_block((block_idx, of), places, visit)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Visits quads of a block of a predicate.
    fn in_block(
        &self,
        (block_idx, predicate): (usize, TermId),
        mut places: impl Iterator<Item = usize>,
        visit: VisitQuad<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let block = self.psog.block(block_idx)?;
        Ok(places.try_for_each(|at| {
            visit(QuadIds {
                subject: TermId(block.first.get(at)),
                predicate,
                object: TermId(block.second.get(at)),
                graph: TermId(block.graphs.get(at)),
            })
        }))
    }

    /// Visits the quads of a graph by looking at the graphs of all blocks.
    fn by_graph_in_blocks(
        &self,
        predicate: Option<TermId>,
        graph: TermId,
        visit: VisitQuad<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let mut graphs = Vec::new();
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
                let places = (0..graphs.len()).filter(|&at| graphs[at] == graph.0);
                let block = (block_idx, known.predicate);
                if self.in_block(block, places, visit)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
