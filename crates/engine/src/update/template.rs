//! Templates of DELETE and INSERT: from a row of ids to quads of ids.
//!
//! While the solutions come nothing may be added to the dictionary, as a term that the query has computed and
//! knows by an id of its own would get a second one. So a quad to be added is first made of *provisional*
//! ids: those of the store, the query's own (tag `LOCAL`), and for each blank node of the template and each solution
//! one more, with the tag `LOCAL` and the topmost bit of the payload set. When all solutions are there,
//! [`Interning`] makes ids of the store of them.
//!
//! A quad with an unbound variable, a literal as subject or graph, or anything but an IRI as predicate is left out.

use super::terms::known;
use crate::error::Error;
use basalt_exec::{Batch, ExecError, Execution, TermSpace};
use basalt_rdf::term_id::{PAYLOAD_BITS, tag};
use basalt_rdf::{TermBuf, TermId, TermView};
use basalt_store::{QuadIds, Snapshot};
use oxrdf::Variable;
use spargebra::term::{
    GraphNamePattern, GroundQuadPattern, GroundTermPattern, NamedNodePattern, QuadPattern,
    TermPattern,
};
use std::collections::HashMap;

/// Set in the payload of a blank node that a template has made.
const MADE: u64 = 1 << (PAYLOAD_BITS - 1);

/// One place of a quad of a template.
#[derive(Clone, Copy)]
enum Part {
    /// A constant, as a provisional id.
    Constant(TermId),
    /// A blank node, by its place among the labels.
    Blank(u64),
    /// A variable, by its place among those of the templates.
    Column(usize),
}

/// The quads of a template, each with subject, predicate, object and graph.
pub(super) struct Template {
    quads: Vec<[Part; 4]>,
    /// Labels of blank nodes.
    labels: Vec<String>,
}

impl Template {
    /// The quads to be deleted. One with a constant that the store does not know deletes nothing and is left
    /// out; one with a tagged string stands for every spelling of the tag.
    pub(super) fn of_delete(
        quads: &[GroundQuadPattern],
        variables: &[Variable],
        snapshot: &Snapshot,
    ) -> Self {
        let column = |variable: &Variable| vec![Part::Column(place_of(variable, variables))];
        let constants = |ids: Vec<TermId>| ids.into_iter().map(Part::Constant).collect();
        let term = |term: &GroundTermPattern| match term {
            GroundTermPattern::NamedNode(node) => constants(known(snapshot, node.as_ref().into())),
            GroundTermPattern::Literal(literal) => {
                constants(known(snapshot, literal.as_ref().into()))
            }
            GroundTermPattern::Variable(variable) => column(variable),
        };
        let mut parts = Vec::new();
        for quad in quads {
            let predicates = match &quad.predicate {
                NamedNodePattern::NamedNode(node) => {
                    constants(known(snapshot, node.as_ref().into()))
                }
                NamedNodePattern::Variable(variable) => column(variable),
            };
            let graphs: Vec<Part> = match &quad.graph_name {
                GraphNamePattern::DefaultGraph => vec![Part::Constant(TermId::DEFAULT_GRAPH)],
                GraphNamePattern::NamedNode(node) => {
                    constants(known(snapshot, node.as_ref().into()))
                }
                GraphNamePattern::Variable(variable) => column(variable),
            };
            let (subjects, objects): (Vec<Part>, Vec<Part>) =
                (term(&quad.subject), term(&quad.object));
            let (Some(&subject), Some(&predicate), Some(&graph)) =
                (subjects.first(), predicates.first(), graphs.first())
            else {
                continue;
            };
            parts.extend(
                objects
                    .iter()
                    .map(|&object| [subject, predicate, object, graph]),
            );
        }
        Self {
            quads: parts,
            labels: Vec::new(),
        }
    }

    /// The quads to be inserted.
    pub(super) fn of_insert(
        quads: &[QuadPattern],
        variables: &[Variable],
        terms: &TermSpace,
        snapshot: &Snapshot,
    ) -> Result<Self, Error> {
        let mut labels: Vec<String> = Vec::new();
        let column = |variable: &Variable| Part::Column(place_of(variable, variables));
        let iri =
            |node: &oxrdf::NamedNode| Part::Constant(terms.intern(TermView::Iri(node.as_str())));
        let mut term = |term: &TermPattern| -> Result<Part, Error> {
            Ok(match term {
                TermPattern::NamedNode(node) => iri(node),
                // The query would take another spelling of the tag for the same; the store keeps the one that is written.
                TermPattern::Literal(literal) if literal.language().is_some() => {
                    Part::Constant(snapshot.intern(TermView::from(literal.as_ref()))?)
                }
                TermPattern::Literal(literal) => {
                    Part::Constant(terms.intern(TermView::from(literal.as_ref())))
                }
                TermPattern::Variable(variable) => column(variable),
                TermPattern::BlankNode(node) => {
                    let known = labels.iter().position(|label| label == node.as_str());
                    let place = known.unwrap_or_else(|| {
                        labels.push(node.as_str().to_owned());
                        labels.len() - 1
                    });
                    Part::Blank(place as u64)
                }
            })
        };
        let mut parts = Vec::with_capacity(quads.len());
        for quad in quads {
            let predicate = match &quad.predicate {
                NamedNodePattern::NamedNode(node) => iri(node),
                NamedNodePattern::Variable(variable) => column(variable),
            };
            let graph = match &quad.graph_name {
                GraphNamePattern::DefaultGraph => Part::Constant(TermId::DEFAULT_GRAPH),
                GraphNamePattern::NamedNode(node) => iri(node),
                GraphNamePattern::Variable(variable) => column(variable),
            };
            parts.push([term(&quad.subject)?, predicate, term(&quad.object)?, graph]);
        }
        Ok(Self {
            quads: parts,
            labels,
        })
    }

    /// How many quads a solution makes at most.
    pub(super) fn len(&self) -> usize {
        self.quads.len()
    }

    /// One quad of a solution, in provisional ids. `columns` says where the batch has the variables; `solution`
    /// is the number of the solution.
    pub(super) fn quad(
        &self,
        idx: usize,
        batch: &Batch,
        columns: &[Option<usize>],
        row: usize,
        solution: u64,
    ) -> Option<QuadIds> {
        let id = |part: Part| match part {
            Part::Constant(id) => Some(id),
            Part::Blank(label) => {
                let number = solution * self.labels.len() as u64 + label;
                Some(TermId::new(tag::LOCAL, MADE | number))
            }
            Part::Column(place) => {
                let id = TermId(batch.ids(columns[place]?)[row]);
                id.is_bound().then_some(id)
            }
        };
        let [subject, predicate, object, graph] = self.quads[idx];
        Some(QuadIds {
            subject: id(subject)?,
            predicate: id(predicate)?,
            object: id(object)?,
            graph: id(graph)?,
        })
    }
}

fn place_of(variable: &Variable, variables: &[Variable]) -> usize {
    let place = variables.iter().position(|known| known == variable);
    place.expect("the variables are those of the templates")
}

/// Where the batches have the variables; one that the pattern does not bind has no place.
pub(super) fn columns_of(
    execution: &Execution,
    slots: &[basalt_plan::physical::Slot],
) -> Vec<Option<usize>> {
    let schema = execution.schema();
    let place = |slot| schema.iter().position(|known| known == slot);
    slots.iter().map(place).collect()
}

/// Whether a quad with ids of the store only could be in it.
pub(super) fn is_stored(quad: &QuadIds) -> bool {
    let is_node = |id: TermId| id.is_resource();
    let is_known = |id: TermId| id.tag() != tag::LOCAL;
    is_node(quad.subject)
        && is_node(quad.predicate)
        && is_known(quad.object)
        && (is_node(quad.graph) || quad.graph == TermId::DEFAULT_GRAPH)
}

/// Whether the terms of a quad, in provisional ids, may stand where they do.
pub(super) fn is_legal(quad: &QuadIds, terms: &TermSpace) -> Result<bool, ExecError> {
    Ok(is_node(quad.subject, terms)?
        && is_iri(quad.predicate, terms)?
        && (quad.graph == TermId::DEFAULT_GRAPH || is_node(quad.graph, terms)?))
}

fn is_made(id: TermId) -> bool {
    id.tag() == tag::LOCAL && id.payload() & MADE != 0
}

fn is_node(id: TermId, terms: &TermSpace) -> Result<bool, ExecError> {
    if id.tag() != tag::LOCAL || is_made(id) {
        return Ok(id.is_resource() || is_made(id));
    }
    let mut buffer = TermBuf::new();
    terms.decode(id, &mut buffer)?;
    Ok(buffer.view().is_resource())
}

fn is_iri(id: TermId, terms: &TermSpace) -> Result<bool, ExecError> {
    if is_made(id) {
        return Ok(false);
    }
    Ok(is_node(id, terms)? && !terms.is_blank(id))
}

/// Makes ids of the store of provisional ones, after the last solution.
pub(super) struct Interning<'a> {
    terms: &'a TermSpace,
    snapshot: &'a Snapshot,
    known: HashMap<TermId, TermId>,
    buffer: TermBuf,
}

impl<'a> Interning<'a> {
    /// For the ids of an execution that has ended.
    pub(super) fn new(terms: &'a TermSpace, snapshot: &'a Snapshot) -> Self {
        Self {
            terms,
            snapshot,
            known: HashMap::new(),
            buffer: TermBuf::new(),
        }
    }

    /// A quad of the store.
    pub(super) fn quad(&mut self, quad: QuadIds) -> Result<QuadIds, Error> {
        Ok(QuadIds {
            subject: self.id(quad.subject)?,
            predicate: self.id(quad.predicate)?,
            object: self.id(quad.object)?,
            graph: self.id(quad.graph)?,
        })
    }

    fn id(&mut self, id: TermId) -> Result<TermId, Error> {
        if id.tag() != tag::LOCAL {
            return Ok(id);
        }
        if let Some(&known) = self.known.get(&id) {
            return Ok(known);
        }
        let stored = if is_made(id) {
            self.snapshot.new_blank()?
        } else {
            self.terms.decode(id, &mut self.buffer)?;
            match self.buffer.view() {
                // A computed blank node is a new one.
                TermView::Blank(_) => self.snapshot.new_blank()?,
                term => self.snapshot.intern(term)?,
            }
        };
        self.known.insert(id, stored);
        Ok(stored)
    }
}
