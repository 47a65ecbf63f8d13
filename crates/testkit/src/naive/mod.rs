//! The naive oracle: SPARQL 1.1 evaluated as its algebra is written, by nested loops.
//!
//! A query becomes a list of solution mappings per algebra node, bottom up, with no reordering, no
//! index and no shortcut; whoever doubts an answer can follow it with the specification in hand
//! (section 18.5 and, for expressions, section 17). Terms keep their exact lexical form; values are
//! compared only inside expressions and ORDER BY. Where the specification leaves a choice (AVG of
//! nothing, precision of a decimal division, order of unlike literals) the choice of Oxigraph is
//! taken, so that both oracles can be asked the same questions.
//!
//! Invariants: never panics on any query or data; says [`NaiveError::Unsupported`] instead of
//! guessing; stops with [`NaiveError::TooLarge`] instead of filling the memory. Cost: product of the
//! sizes of whatever is joined, which is why the data of random tests stays small.

mod aggregate;
mod dates;
mod expression;
mod function;
mod number;
mod path;
mod pattern;
mod string_function;
pub mod update;
mod value;

#[cfg(test)]
mod tests;

use crate::dataset::{Answer, Dataset};
use oxrdf::{GraphName, NamedNode, NamedOrBlankNode, Term, Triple};
use oxsdatatypes::DateTime;
use pattern::Scope;
use spargebra::Query;
use spargebra::algebra::{GraphPattern, QueryDataset};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};

pub(crate) use number::Number;
pub(crate) use value::{is_number_or_boolean_by_name, order};

/// A partial mapping from variable names to terms.
///
/// A blank node of a query pattern is a variable nobody can project; its key is its N-Triples label.
pub(crate) type Solution = BTreeMap<String, Term>;

/// Subject, predicate and object of one triple of the active graph.
pub(crate) type Fact = [Term; 3];

/// Turns text into an absolute IRI, if it is one.
type Resolve = Box<dyn Fn(&str) -> Option<String>>;

/// Intermediate results beyond this are refused: random tests skip such a pair.
const ROWS_MAX: usize = 200_000;

/// So many pairs of rows, or rows and triples, may be looked at for a query.
const STEPS_MAX: usize = 12_000_000;

/// Why the naive oracle has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NaiveError {
    /// The query uses something outside plain SPARQL 1.1 query evaluation.
    #[error("{0} is not supported by the naive oracle")]
    Unsupported(String),
    /// The standard leaves the answer open, so any engine may give another.
    #[error("the standard leaves the answer open: {0}")]
    Ambiguous(&'static str),
    /// An intermediate result, or the work, grew beyond what nested loops should handle.
    #[error("intermediate results have more than {0} rows, or take too long")]
    TooLarge(usize),
}

/// The graphs a query sees, and what stays constant while it runs.
pub(crate) struct Context {
    /// The default graph of the query's dataset.
    pub(crate) default: Vec<Fact>,
    /// The named graphs of the query's dataset.
    pub(crate) named: Vec<(Term, Vec<Fact>)>,
    /// Turns the argument of `IRI()` into an absolute IRI, if it is one.
    pub(crate) resolve: Resolve,
    /// The instant `NOW()` returns everywhere in the query.
    pub(crate) now: DateTime,
    /// Number of blank nodes invented so far.
    pub(crate) blank_count: Cell<usize>,
    /// Pairs that may still be looked at.
    steps_left: Cell<usize>,
}

/// Evaluates a query over a dataset.
pub fn evaluate(dataset: &Dataset, query: &Query) -> Result<Answer, NaiveError> {
    let context = Context::new(dataset, query);
    let outer = Solution::new();
    let scope = Scope {
        context: &context,
        graph: &context.default,
        outer: &outer,
    };
    match query {
        Query::Select { pattern, .. } => {
            let variables = projected(pattern);
            let rows = scope
                .evaluate(pattern)?
                .into_iter()
                .map(|mut row| variables.iter().map(|v| row.remove(v)).collect())
                .collect();
            Ok(Answer::Solutions { variables, rows })
        }
        Query::Ask { pattern, .. } => Ok(Answer::Boolean(!scope.evaluate(pattern)?.is_empty())),
        Query::Construct {
            template, pattern, ..
        } => Ok(Answer::Graph(construct(
            &context,
            template,
            &scope.evaluate(pattern)?,
        ))),
        Query::Describe { pattern, .. } => {
            Ok(Answer::Graph(describe(&context, &scope.evaluate(pattern)?)))
        }
    }
}

impl Context {
    fn new(dataset: &Dataset, query: &Query) -> Self {
        let (default, named) = select_graphs(dataset, query.dataset());
        let base = query.base_iri().cloned();
        let resolve = Box::new(move |text: &str| match &base {
            Some(base) => Some(base.resolve(text).ok()?.into_inner()),
            None => Some(NamedNode::new(text).ok()?.into_string()),
        });
        Self {
            default,
            named,
            resolve,
            now: DateTime::now(),
            blank_count: Cell::new(0),
            steps_left: Cell::new(STEPS_MAX),
        }
    }

    /// Takes note of work before it is done.
    pub(crate) fn spend(&self, steps: usize) -> Result<(), NaiveError> {
        match self.steps_left.get().checked_sub(steps) {
            Some(left) => {
                self.steps_left.set(left);
                Ok(())
            }
            None => Err(NaiveError::TooLarge(ROWS_MAX)),
        }
    }

    /// A blank node label that no other call returns; the prefix keeps it apart from data.
    pub(crate) fn fresh_blank(&self) -> oxrdf::BlankNode {
        let number = self.blank_count.get();
        self.blank_count.set(number + 1);
        oxrdf::BlankNode::new_unchecked(format!("naive{number}"))
    }
}

/// Builds the query's dataset (section 13.2): FROM merges graphs into the default graph, FROM NAMED
/// lists the named ones; with neither, the store's own dataset is used.
fn select_graphs(
    dataset: &Dataset,
    clauses: Option<&QueryDataset>,
) -> (Vec<Fact>, Vec<(Term, Vec<Fact>)>) {
    let is_default = |name: &GraphName| match clauses {
        None => *name == GraphName::DefaultGraph,
        Some(clauses) => clauses
            .default
            .iter()
            .any(|iri| *name == GraphName::NamedNode(iri.clone())),
    };
    let is_named = |name: &NamedOrBlankNode| match clauses.and_then(|c| c.named.as_ref()) {
        None => true,
        Some(listed) => listed
            .iter()
            .any(|iri| *name == NamedOrBlankNode::NamedNode(iri.clone())),
    };
    let mut default = Vec::new();
    let mut default_seen = HashSet::new();
    let mut named: Vec<(Term, Vec<Fact>)> = Vec::new();
    for quad in dataset.quads() {
        let fact = [
            Term::from(quad.subject.clone()),
            Term::from(quad.predicate.clone()),
            quad.object.clone(),
        ];
        if is_default(&quad.graph_name) && default_seen.insert(fact.clone()) {
            default.push(fact.clone());
        }
        let name = match &quad.graph_name {
            GraphName::NamedNode(iri) => NamedOrBlankNode::from(iri.clone()),
            GraphName::BlankNode(blank) => NamedOrBlankNode::from(blank.clone()),
            GraphName::DefaultGraph => continue,
        };
        if is_named(&name) {
            let name = Term::from(name);
            match named.iter_mut().find(|(other, _)| *other == name) {
                Some((_, facts)) => facts.push(fact),
                None => named.push((name, vec![fact])),
            }
        }
    }
    (default, named)
}

/// The variables of the outermost projection.
fn projected(pattern: &GraphPattern) -> Vec<String> {
    match pattern {
        GraphPattern::Project { variables, .. } => {
            variables.iter().map(|v| v.as_str().to_owned()).collect()
        }
        GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Slice { inner, .. } => projected(inner),
        _ => {
            let mut names = Vec::new();
            pattern.on_in_scope_variable(|v| {
                if !names.contains(&v.as_str().to_owned()) {
                    names.push(v.as_str().to_owned());
                }
            });
            names
        }
    }
}

/// Instantiates a template (section 16.2): blank nodes are fresh in each solution, ill-formed
/// triples are left out, equal triples are one.
fn construct(context: &Context, template: &[TriplePattern], rows: &[Solution]) -> Vec<Triple> {
    let mut seen = HashSet::new();
    let mut triples = Vec::new();
    for row in rows {
        let mut blanks: BTreeMap<String, Term> = BTreeMap::new();
        let mut term_of = |node: &TermPattern| -> Option<Term> {
            match node {
                TermPattern::NamedNode(iri) => Some(iri.clone().into()),
                TermPattern::Literal(literal) => Some(literal.clone().into()),
                TermPattern::Variable(variable) => row.get(variable.as_str()).cloned(),
                TermPattern::BlankNode(blank) => Some(
                    blanks
                        .entry(blank.as_str().to_owned())
                        .or_insert_with(|| context.fresh_blank().into())
                        .clone(),
                ),
            }
        };
        for pattern in template {
            let subject = term_of(&pattern.subject).and_then(as_subject);
            let predicate = match &pattern.predicate {
                NamedNodePattern::NamedNode(iri) => Some(iri.clone()),
                NamedNodePattern::Variable(v) => row.get(v.as_str()).cloned().and_then(as_iri),
            };
            let object = term_of(&pattern.object);
            if let (Some(subject), Some(predicate), Some(object)) = (subject, predicate, object) {
                let triple = Triple::new(subject, predicate, object);
                if seen.insert(triple.clone()) {
                    triples.push(triple);
                }
            }
        }
    }
    triples
}

/// The concise bounded description of every term of the solutions: its triples in the default graph, and those
/// of blank nodes that are their objects, and so on.
fn describe(context: &Context, rows: &[Solution]) -> Vec<Triple> {
    let mut open: Vec<Term> = rows.iter().flat_map(|row| row.values().cloned()).collect();
    let mut done = HashSet::new();
    let mut triples = Vec::new();
    while let Some(subject) = open.pop() {
        if !done.insert(subject.clone()) {
            continue;
        }
        for [_, predicate, object] in context.default.iter().filter(|fact| fact[0] == subject) {
            if let (Some(subject), Some(predicate)) =
                (as_subject(subject.clone()), as_iri(predicate.clone()))
            {
                triples.push(Triple::new(subject, predicate, object.clone()));
            }
            if let Term::BlankNode(_) = object {
                open.push(object.clone());
            }
        }
    }
    triples
}

fn as_subject(term: Term) -> Option<NamedOrBlankNode> {
    match term {
        Term::NamedNode(iri) => Some(iri.into()),
        Term::BlankNode(blank) => Some(blank.into()),
        Term::Literal(_) => None,
    }
}

fn as_iri(term: Term) -> Option<NamedNode> {
    match term {
        Term::NamedNode(iri) => Some(iri),
        Term::BlankNode(_) | Term::Literal(_) => None,
    }
}
