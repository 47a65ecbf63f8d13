//! The irregular quads of one graph.
//!
//! No order of the quad table begins with the graph, so a graph is sought by reading the graphs of all blocks. Once that has been done as often
//! as sorting them is worth, the places of quads by graph are kept in memory, 12 bytes for each quad of a named graph, as columns without an
//! inverse have theirs ([`LazyInverse`](crate::inverse::LazyInverse)): whatever comes, the work is at most twice the best possible.

use super::{Predicate, QuadTable};
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
        // Where one predicate is wanted, only its blocks matter.
        let among = match predicate.map(|wanted| self.place_of(wanted)) {
            Some(None) => return Ok(ControlFlow::Continue(())),
            Some(Some(at)) => &self.predicates[at..=at],
            None => &self.predicates[..],
        };
        let [first, ..] = among else {
            return Ok(ControlFlow::Continue(()));
        };
        let blocks = first.psog.start..among[among.len() - 1].psog.end;
        // To look at a block takes as long as to find the places of a graph.
        let sorted = match predicate.is_some() && blocks.len() <= 1 {
            true => None,
            false => self.places_by_graph(sought)?,
        };
        match sorted {
            Some(sorted) => {
                let places = sorted.of_value(graph.0);
                let block_of = |place: &u32| *place as usize / BLOCK_QUADS;
                let start = places.partition_point(|place| block_of(place) < blocks.start);
                let end = places.partition_point(|place| block_of(place) < blocks.end);
                self.at_places(&places[start..end], visit)
            }
            None => self.by_graph_in_blocks(among, graph, visit),
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
        visit: VisitQuad<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let block_of = |place: &u32| *place as usize / BLOCK_QUADS;
        for of_block in places.chunk_by(|a, b| block_of(a) == block_of(b)) {
            let block_idx = block_of(&of_block[0]);
            let of = self.predicates.partition_point(|p| p.psog.end <= block_idx);
            let of = self.predicates[of].predicate;
            let places = of_block.iter().map(|place| *place as usize % BLOCK_QUADS);
            if self.in_block((block_idx, of), places, visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
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

    /// Visits the quads of a graph by looking at the graphs of all blocks of some predicates.
    fn by_graph_in_blocks(
        &self,
        among: &[Predicate],
        graph: TermId,
        visit: VisitQuad<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let mut graphs = Vec::new();
        for known in among {
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
