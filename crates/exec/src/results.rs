//! Graph answers: CONSTRUCT templates and DESCRIBE.

use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::execution::Execution;
use basalt_plan::physical::{Plan, Slot};
use basalt_rdf::{TermBuf, TermId};
use basalt_store::{QuadIds, QuadPattern};
use hashbrown::HashSet;
use oxrdf::{BlankNode, NamedNode, NamedOrBlankNode, Term, Triple};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::collections::{HashMap, VecDeque};
use std::hash::RandomState;
use std::ops::ControlFlow;

/// The triples of a CONSTRUCT query, each once.
pub struct Construct {
    execution: Execution,
    template: Vec<TriplePattern>,
    seen: HashSet<Triple, RandomState>,
    /// Solutions seen so far, for the labels of template blank nodes.
    solutions: u64,
}

impl Construct {
    /// The triples that a template makes of a query's solutions.
    pub fn new(execution: Execution, template: Vec<TriplePattern>) -> Self {
        Self {
            execution,
            template,
            seen: HashSet::with_hasher(RandomState::new()),
            solutions: 0,
        }
    }

    /// The triples of the next batch of solutions that did not come before; `None` at the end.
    pub fn next_triples(&mut self) -> Result<Option<Vec<Triple>>, ExecError> {
        let Some(batch) = self.execution.next_batch()? else {
            return Ok(None);
        };
        let mut triples = Vec::new();
        for row in 0..batch.rows() {
            self.solutions += 1;
            for idx in 0..self.template.len() {
                let triple = self.triple(&self.template[idx], &batch, row)?;
                if let Some(triple) = triple
                    && self.seen.insert(triple.clone())
                {
                    triples.push(triple);
                }
            }
        }
        Ok(Some(triples))
    }

    /// One triple of the template; `None` if a part is unbound or not allowed where it stands.
    fn triple(
        &self,
        pattern: &TriplePattern,
        batch: &Batch,
        row: usize,
    ) -> Result<Option<Triple>, ExecError> {
        let subject = match self.term(&pattern.subject, batch, row)? {
            Some(Term::NamedNode(node)) => NamedOrBlankNode::from(node),
            Some(Term::BlankNode(node)) => NamedOrBlankNode::from(node),
            _ => return Ok(None),
        };
        let predicate: NamedNode = match &pattern.predicate {
            NamedNodePattern::NamedNode(node) => node.clone(),
            NamedNodePattern::Variable(variable) => {
                match self.value(variable.as_str(), batch, row)? {
                    Some(Term::NamedNode(node)) => node,
                    _ => return Ok(None),
                }
            }
        };
        Ok(self
            .term(&pattern.object, batch, row)?
            .map(|object| Triple::new(subject, predicate, object)))
    }

    fn term(
        &self,
        pattern: &TermPattern,
        batch: &Batch,
        row: usize,
    ) -> Result<Option<Term>, ExecError> {
        Ok(match pattern {
            TermPattern::NamedNode(node) => Some(node.clone().into()),
            TermPattern::Literal(literal) => Some(literal.clone().into()),
            TermPattern::BlankNode(node) => {
                // A label that no stored blank node has: those are a letter and digits.
                let label = format!("t{}-{}", self.solutions, node.as_str());
                Some(BlankNode::new_unchecked(label).into())
            }
            TermPattern::Variable(variable) => self.value(variable.as_str(), batch, row)?,
        })
    }

    fn value(&self, variable: &str, batch: &Batch, row: usize) -> Result<Option<Term>, ExecError> {
        let plan = self.execution.plan();
        let Some(column) = column_of(plan, variable) else {
            return Ok(None);
        };
        match TermId(batch.ids(column)[row]) {
            TermId::UNBOUND => Ok(None),
            id => self.execution.terms().term(id).map(Some),
        }
    }
}

fn column_of(plan: &Plan, variable: &str) -> Option<usize> {
    let slot = plan.variables.iter().position(|name| name == variable)?;
    plan.root
        .schema
        .iter()
        .position(|s| usize::from(s.0) == slot)
}

/// Reads the resources of a DESCRIBE query and collects their descriptions.
///
/// Concise bounded description: every triple of the default graph (of any graph if `graphs` is
/// `None`) with the resource as subject, and the same for blank nodes that are objects.
pub fn describe(
    mut execution: Execution,
    slots: &[Slot],
    graphs: Option<&[TermId]>,
) -> Result<Vec<Triple>, ExecError> {
    let schema = execution.schema().to_vec();
    let columns: Vec<usize> = slots
        .iter()
        .filter_map(|slot| schema.iter().position(|s| s == slot))
        .collect();
    let mut queue = VecDeque::new();
    let mut seen = HashSet::with_hasher(RandomState::new());
    while let Some(batch) = execution.next_batch()? {
        for &column in &columns {
            let resources = batch.ids(column).iter().map(|&id| TermId(id));
            queue.extend(resources.filter(|id| id.is_resource() && seen.insert(*id)));
        }
    }
    let cx = execution.context();
    let mut description = Description {
        cx,
        terms: HashMap::new(),
        triples: Vec::new(),
    };
    while let Some(resource) = queue.pop_front() {
        cx.check()?;
        let mut quads = statements(resource, graphs, cx)?;
        quads.sort_unstable();
        quads.dedup_by_key(|quad| (quad.subject, quad.predicate, quad.object));
        for quad in quads {
            description.push(quad)?;
            if quad.object.is_resource()
                && cx.terms().is_blank(quad.object)
                && seen.insert(quad.object)
            {
                queue.push_back(quad.object);
            }
        }
    }
    Ok(description.triples)
}

fn statements(
    subject: TermId,
    graphs: Option<&[TermId]>,
    cx: &Context,
) -> Result<Vec<QuadIds>, ExecError> {
    let mut quads = Vec::new();
    let pattern = QuadPattern {
        subject: Some(subject),
        ..QuadPattern::default()
    };
    cx.snapshot().matching(&pattern, &mut |quad| {
        if graphs.is_none_or(|graphs| graphs.contains(&quad.graph)) {
            quads.push(quad);
        }
        ControlFlow::Continue(())
    })?;
    Ok(quads)
}

/// Triples of a DESCRIBE answer under construction.
struct Description<'a> {
    cx: &'a Context,
    /// Predicates already decoded.
    terms: HashMap<TermId, NamedNode>,
    triples: Vec<Triple>,
}

impl Description<'_> {
    fn push(&mut self, quad: QuadIds) -> Result<(), ExecError> {
        let mut buffer = TermBuf::new();
        let mut term = |id: TermId| -> Result<Term, ExecError> {
            self.cx.terms().decode(id, &mut buffer)?;
            Ok(buffer.view().to_oxrdf())
        };
        let predicate = match self.terms.get(&quad.predicate) {
            Some(node) => node.clone(),
            None => match term(quad.predicate)? {
                Term::NamedNode(node) => {
                    self.terms.insert(quad.predicate, node.clone());
                    node
                }
                _ => return Err(ExecError::Internal("a predicate is not an IRI".into())),
            },
        };
        let object = term(quad.object)?;
        let subject = match term(quad.subject)? {
            Term::NamedNode(node) => NamedOrBlankNode::from(node),
            Term::BlankNode(node) => NamedOrBlankNode::from(node),
            Term::Literal(_) => return Err(ExecError::Internal("a subject is a literal".into())),
        };
        self.triples.push(Triple::new(subject, predicate, object));
        Ok(())
    }
}
