//! INSERT DATA and DELETE DATA.
//!
//! A label of a blank node stands for one new node in the whole request. A quad to be deleted whose terms the store
//! does not know is not there. Language tags match in any case, as they do in patterns.

use super::quad_set::QuadSet;
use super::run::Run;
use super::sorted_quads::SortedQuads;
use super::terms::{graph_id, known, known_graph, known_iri};
use crate::error::Error;
use crate::transactions::ChangeCounts;
use basalt_rdf::{TermId, TermView};
use basalt_store::{QuadIds, Snapshot};
use oxrdf::{BlankNode, NamedOrBlankNode, Term};
use spargebra::term::{GroundQuad, GroundTerm, Quad};
use std::collections::hash_map::Entry;

impl Run<'_, '_> {
    /// INSERT DATA.
    pub(super) fn insert_data(&mut self, data: Vec<Quad>) -> Result<ChangeCounts, Error> {
        let mut added = self.set();
        self.intern_data(data, &mut added)?;
        let added = added.finish(self)?;
        self.apply(SortedQuads::default(), added)
    }

    /// Adds the quads of a text to a set.
    pub(super) fn intern_data(
        &mut self,
        data: Vec<Quad>,
        added: &mut QuadSet,
    ) -> Result<(), Error> {
        let snapshot = self.snapshot().clone();
        for quad in data {
            let subject = match &quad.subject {
                NamedOrBlankNode::NamedNode(node) => {
                    snapshot.intern(TermView::Iri(node.as_str()))?
                }
                NamedOrBlankNode::BlankNode(node) => self.blank(&snapshot, node)?,
            };
            let object = match &quad.object {
                Term::BlankNode(node) => self.blank(&snapshot, node)?,
                term => snapshot.intern(TermView::from(term.as_ref()))?,
            };
            let quad = QuadIds {
                subject,
                predicate: snapshot.intern(TermView::Iri(quad.predicate.as_str()))?,
                object,
                graph: graph_id(&snapshot, &quad.graph_name)?,
            };
            self.put(added, quad)?;
        }
        Ok(())
    }

    /// The node of a label.
    fn blank(&mut self, snapshot: &Snapshot, label: &BlankNode) -> Result<TermId, Error> {
        match self.blanks.entry(label.clone()) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(place) => Ok(*place.insert(snapshot.new_blank()?)),
        }
    }

    /// DELETE DATA.
    pub(super) fn delete_data(&mut self, data: &[GroundQuad]) -> Result<ChangeCounts, Error> {
        let snapshot = self.snapshot().clone();
        let mut removed = self.set();
        for quad in data {
            self.count(1)?;
            let subject = known_iri(&snapshot, &quad.subject);
            let predicate = known_iri(&snapshot, &quad.predicate);
            let graph = known_graph(&snapshot, &quad.graph_name);
            let (Some(subject), Some(predicate), Some(graph)) = (subject, predicate, graph) else {
                continue;
            };
            let objects = match &quad.object {
                GroundTerm::NamedNode(node) => known(&snapshot, node.as_ref().into()),
                GroundTerm::Literal(literal) => known(&snapshot, literal.as_ref().into()),
            };
            for object in objects {
                let quad = QuadIds {
                    subject,
                    predicate,
                    object,
                    graph,
                };
                self.put(&mut removed, quad)?;
            }
        }
        let removed = removed.finish(self)?;
        self.apply(removed, SortedQuads::default())
    }
}
