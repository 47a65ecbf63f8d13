//! Terms of a request to ids: of constants that are looked for, and of those that are to be there.

use crate::error::Error;
use basalt_rdf::{TermId, TermView};
use basalt_store::Snapshot;
use oxrdf::{NamedNode, TermRef};
use spargebra::term::GraphName;

/// The ids of a constant that a quad of the store may have: none if the store does not know it, several where
/// language tags are spelled in several ways.
pub(super) fn known(snapshot: &Snapshot, term: TermRef<'_>) -> Vec<TermId> {
    snapshot.dictionary().find_all_cases(TermView::from(term))
}

/// The id of an IRI, if the store knows it.
pub(super) fn known_iri(snapshot: &Snapshot, node: &NamedNode) -> Option<TermId> {
    snapshot.dictionary().find(TermView::Iri(node.as_str()))
}

/// The id of a graph, if the store knows its name. The parser lets no blank node name a graph.
pub(super) fn known_graph(snapshot: &Snapshot, graph: &GraphName) -> Option<TermId> {
    match graph {
        GraphName::DefaultGraph => Some(TermId::DEFAULT_GRAPH),
        GraphName::NamedNode(node) => known_iri(snapshot, node),
    }
}

/// The id of a graph to which something is to be added.
pub(super) fn graph_id(snapshot: &Snapshot, graph: &GraphName) -> Result<TermId, Error> {
    match graph {
        GraphName::DefaultGraph => Ok(TermId::DEFAULT_GRAPH),
        GraphName::NamedNode(node) => Ok(snapshot.intern(TermView::Iri(node.as_str()))?),
    }
}
