//! Whole graphs, as the Graph Store Protocol writes them: replaced, added to, removed; each in a transaction.
//!
//! Invariant: all or nothing. Memory: the quads that change, within the limit of the options; the rest in temporary files. The documents are
//! read in the writer's turn, so they should be at hand.

use super::UpdateOptions;
use super::run::Run;
use super::terms::graph_id;
use crate::database::Database;
use crate::error::Error;
use basalt_rdf::GraphFormat;
use basalt_rdf::{TermId, TermView};
use basalt_store::{QuadPattern, Snapshot};
use oxrdf::NamedNode;
use spargebra::algebra::GraphTarget;
use spargebra::term::GraphName;
use std::io::Read;
use std::ops::ControlFlow;

/// What becomes of the quads that a graph has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphWrite {
    /// They make room for the new ones.
    Replace,
    /// They stay.
    Add,
}

/// A document with triples for a graph.
pub struct GraphDocument {
    /// What messages call it.
    pub name: String,
    /// Its text, perhaps compressed.
    pub reader: Box<dyn Read + Send>,
    /// Its syntax.
    pub format: GraphFormat,
    /// The IRI that resolves relative IRIs.
    pub base: Option<String>,
}

/// What was done to a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphReport {
    /// Whether the graph had quads before.
    pub was_there: bool,
    /// Quads removed.
    pub removed: u64,
    /// Quads added.
    pub added: u64,
    /// The number of the commit.
    pub commit: u64,
}

impl Database {
    /// Puts the triples of documents into a graph, by its IRI; `None` is the default graph.
    ///
    /// Errors: a document that cannot be read, or that names graphs ([`Error::Document`]); limits; the store.
    pub fn write_graph(
        &self,
        graph: Option<&str>,
        write: GraphWrite,
        documents: Vec<GraphDocument>,
        options: &UpdateOptions,
    ) -> Result<GraphReport, Error> {
        let name = graph_name(graph)?;
        let mut transaction = self.begin_for(options)?;
        let was_there = has_graph(transaction.snapshot(), graph)?;
        let mut run = Run::new(&mut transaction, options);
        run.check()?;
        let target = graph_id(run.snapshot(), &name)?;
        let (mut removed, mut added) = (run.set(), run.set());
        for document in documents {
            run.read_into(document, target, false, &mut added)?;
        }
        let mut added = added.finish(&mut run)?;
        if write == GraphWrite::Replace {
            let pattern = QuadPattern {
                graph: Some(target),
                ..QuadPattern::default()
            };
            run.each(pattern, |run, quad| match added.contains(&quad)? {
                true => run.count(1),
                false => run.put(&mut removed, quad),
            })?;
        }
        run.no_more_operations();
        let removed = removed.finish(&mut run)?;
        run.apply(removed, added)?;
        let commit = transaction.commit()?;
        Ok(GraphReport {
            was_there,
            removed: commit.removed,
            added: commit.added,
            commit: commit.number,
        })
    }

    /// Removes a graph, by its IRI; `None` is the default graph. It has not been there if the report says so.
    pub fn drop_graph(
        &self,
        graph: Option<&str>,
        options: &UpdateOptions,
    ) -> Result<GraphReport, Error> {
        let target = match graph_name(graph)? {
            GraphName::NamedNode(node) => GraphTarget::NamedNode(node),
            GraphName::DefaultGraph => GraphTarget::DefaultGraph,
        };
        let mut transaction = self.begin_for(options)?;
        let was_there = has_graph(transaction.snapshot(), graph)?;
        let mut run = Run::new(&mut transaction, options);
        run.check()?;
        run.no_more_operations();
        run.clear(&target)?;
        let commit = transaction.commit()?;
        Ok(GraphReport {
            was_there,
            removed: commit.removed,
            added: commit.added,
            commit: commit.number,
        })
    }
}

/// Whether a graph has quads.
pub fn has_graph(snapshot: &Snapshot, graph: Option<&str>) -> Result<bool, Error> {
    let id = match graph {
        None => Some(TermId::DEFAULT_GRAPH),
        Some(iri) => snapshot.dictionary().find(TermView::Iri(iri)),
    };
    let mut is_there = false;
    if id.is_some() {
        let pattern = QuadPattern {
            graph: id,
            ..QuadPattern::default()
        };
        snapshot.matching(&pattern, &mut |_| {
            is_there = true;
            ControlFlow::Break(())
        })?;
    }
    Ok(is_there)
}

/// Whether a graph may have this name: an absolute IRI, or `None` for the default graph.
pub fn check_graph(graph: Option<&str>) -> Result<(), Error> {
    graph_name(graph).map(drop)
}

fn graph_name(graph: Option<&str>) -> Result<GraphName, Error> {
    let Some(iri) = graph else {
        return Ok(GraphName::DefaultGraph);
    };
    let node = NamedNode::new(iri).map_err(|error| Error::UpdateText {
        message: format!("the graph '{iri}' is not an absolute IRI: {error}"),
    })?;
    Ok(GraphName::NamedNode(node))
}
