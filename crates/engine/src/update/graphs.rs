//! The management of graphs: CREATE, CLEAR, DROP, ADD, COPY, MOVE.
//!
//! A graph is there as long as it has quads; the default graph always is. So CREATE of a graph that is not there
//! changes nothing, and CLEAR and DROP are one and succeed on any graph. CREATE of a graph that is there is
//! an error, and so is a transfer from a named graph that is not: it would clear another one by a slip of the pen.
//!
//! Cost: each quad of the graphs is read and held once.

use super::graph_store::has_graph;
use super::run::Run;
use super::sorted_quads::SortedQuads;
use super::terms::{graph_id, known_graph, known_iri};
use crate::error::Error;
use crate::query_text::update_pieces::Keyword;
use crate::transactions::ChangeCounts;
use basalt_rdf::TermId;
use basalt_store::{QuadIds, QuadPattern};
use oxrdf::NamedNode;
use spargebra::algebra::GraphTarget;
use spargebra::term::GraphName;

impl Run<'_, '_> {
    /// CREATE.
    pub(super) fn create(&mut self, graph: &NamedNode) -> Result<ChangeCounts, Error> {
        if has_graph(self.snapshot(), Some(graph.as_str()))? {
            return Err(Error::Graph(format!("the graph {graph} is there already")));
        }
        Ok(ChangeCounts::default())
    }

    /// CLEAR and DROP.
    pub(super) fn clear(&mut self, target: &GraphTarget) -> Result<ChangeCounts, Error> {
        let graph = match target {
            GraphTarget::DefaultGraph => Some(TermId::DEFAULT_GRAPH),
            GraphTarget::NamedNode(node) => match known_iri(self.snapshot(), node) {
                Some(id) => Some(id),
                None => return Ok(ChangeCounts::default()),
            },
            GraphTarget::NamedGraphs | GraphTarget::AllGraphs => None,
        };
        let keeps_default = *target == GraphTarget::NamedGraphs;
        let mut removed = self.set();
        self.each(in_graph(graph), |run, quad| {
            match keeps_default && quad.graph == TermId::DEFAULT_GRAPH {
                true => run.count(1),
                false => run.put(&mut removed, quad),
            }
        })?;
        let removed = removed.finish(self)?;
        self.apply(removed, SortedQuads::default())
    }

    /// ADD, COPY, MOVE, between two different graphs.
    pub(super) fn transfer(
        &mut self,
        kind: Keyword,
        from: &GraphName,
        to: &GraphName,
    ) -> Result<ChangeCounts, Error> {
        let source = known_graph(self.snapshot(), from);
        let is_there = match from {
            GraphName::DefaultGraph => true,
            GraphName::NamedNode(node) => has_graph(self.snapshot(), Some(node.as_str()))?,
        };
        let (Some(source), true) = (source, is_there) else {
            return Err(Error::Graph(format!("the graph {from} is not there")));
        };
        let target = graph_id(self.snapshot(), to)?;
        let (mut added, mut removed) = (self.set(), self.set());
        self.each(in_graph(Some(source)), |run, quad| {
            if kind == Keyword::Move {
                run.put(&mut removed, quad)?;
            }
            let moved = QuadIds {
                graph: target,
                ..quad
            };
            run.put(&mut added, moved)
        })?;
        let mut added = added.finish(self)?;
        if kind != Keyword::Add {
            self.each(in_graph(Some(target)), |run, quad| {
                match added.contains(&quad)? {
                    true => run.count(1),
                    false => run.put(&mut removed, quad),
                }
            })?;
        }
        let removed = removed.finish(self)?;
        self.apply(removed, added)
    }
}

/// All quads of a graph, or of all.
fn in_graph(graph: Option<TermId>) -> QuadPattern {
    QuadPattern {
        graph,
        ..QuadPattern::default()
    }
}
