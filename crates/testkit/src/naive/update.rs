//! The naive oracle of SPARQL 1.1 Update: operations on a plain set of quads, as section 4 of the standard
//! defines them.
//!
//! Requests come as texts of single operations. ADD, COPY and MOVE are read here and not by the parser, which
//! writes them as other operations. Where the standard leaves a choice to a store that keeps no empty graphs, the
//! choices of Basalt are taken: CLEAR and DROP never fail, CREATE fails where the graph has quads, a transfer where
//! its named source has none.
//!
//! Invariant: all or nothing, as one request. Cost: that of the pattern, and of a copy of the data for each operation.

use super::pattern::Scope;
use super::{Context, NaiveError, Solution, as_iri, as_subject};
use crate::dataset::Dataset;
use oxrdf::{BlankNode, GraphName, NamedNode, NamedOrBlankNode, Quad, Term};
use spargebra::algebra::{GraphPattern, GraphTarget, QueryDataset};
use spargebra::term::{
    GraphNamePattern, GroundQuad, GroundQuadPattern, GroundTerm, GroundTermPattern,
    NamedNodePattern, QuadPattern, TermPattern,
};
use spargebra::{GraphUpdateOperation, Query, SparqlParser};
use std::collections::{BTreeMap, HashSet};

/// Why a request changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpdateFailure {
    /// The oracle has no answer.
    #[error(transparent)]
    Oracle(#[from] NaiveError),
    /// The request fails, as it should.
    #[error("{0}")]
    Refused(String),
}

/// The data after a request of these operations.
pub fn update(dataset: &Dataset, operations: &[String]) -> Result<Dataset, UpdateFailure> {
    let mut state = State {
        quads: dataset.quads().to_vec(),
        blank_count: 0,
    };
    for text in operations {
        state.run(text)?;
    }
    Ok(Dataset::from_quads(state.quads))
}

/// The data between two operations.
struct State {
    quads: Vec<Quad>,
    /// Blank nodes invented so far.
    blank_count: usize,
}

impl State {
    fn run(&mut self, text: &str) -> Result<(), UpdateFailure> {
        let words: Vec<&str> = text.split_whitespace().filter(|w| *w != "GRAPH").collect();
        if let ["ADD" | "COPY" | "MOVE", ..] = words.as_slice() {
            return self.transfer(&words);
        }
        let parsed = SparqlParser::new().parse_update(text);
        let parsed = parsed.map_err(|error| UpdateFailure::Refused(error.to_string()))?;
        parsed
            .operations
            .into_iter()
            .try_for_each(|operation| self.operation(operation))
    }

    fn operation(&mut self, operation: GraphUpdateOperation) -> Result<(), UpdateFailure> {
        match operation {
            GraphUpdateOperation::InsertData { data } => self.insert_data(data),
            GraphUpdateOperation::DeleteData { data } => {
                let ground = |quad: GroundQuad| {
                    let object = match quad.object {
                        GroundTerm::NamedNode(iri) => Term::from(iri),
                        GroundTerm::Literal(literal) => literal.into(),
                    };
                    Quad::new(quad.subject, quad.predicate, object, named(quad.graph_name))
                };
                let gone: HashSet<Quad> = data.into_iter().map(ground).collect();
                self.quads.retain(|quad| !gone.contains(quad));
            }
            GraphUpdateOperation::DeleteInsert {
                delete,
                insert,
                using,
                pattern,
            } => self.modify(&delete, &insert, using, *pattern)?,
            GraphUpdateOperation::Clear { graph, .. }
            | GraphUpdateOperation::Drop { graph, .. } => {
                let is_default = |quad: &Quad| quad.graph_name == GraphName::DefaultGraph;
                self.quads.retain(|quad| match &graph {
                    GraphTarget::AllGraphs => false,
                    GraphTarget::NamedGraphs => is_default(quad),
                    GraphTarget::DefaultGraph => !is_default(quad),
                    GraphTarget::NamedNode(node) => {
                        quad.graph_name != GraphName::NamedNode(node.clone())
                    }
                });
            }
            GraphUpdateOperation::Create { silent, graph } => {
                if self.has(&GraphName::NamedNode(graph.clone())) && !silent {
                    return Err(UpdateFailure::Refused(format!("{graph} is there")));
                }
            }
            GraphUpdateOperation::Load { .. } => {
                return Err(NaiveError::Unsupported("LOAD".into()).into());
            }
        }
        Ok(())
    }

    fn has(&self, graph: &GraphName) -> bool {
        self.quads.iter().any(|quad| quad.graph_name == *graph)
    }

    fn fresh(&mut self) -> BlankNode {
        self.blank_count += 1;
        BlankNode::new_unchecked(format!("naive{}", self.blank_count - 1))
    }

    fn insert_data(&mut self, data: Vec<spargebra::term::Quad>) {
        let mut blanks: BTreeMap<String, BlankNode> = BTreeMap::new();
        for quad in data {
            let graph = named(quad.graph_name);
            let mut quad = Quad::new(quad.subject, quad.predicate, quad.object, graph);
            if let NamedOrBlankNode::BlankNode(node) = &quad.subject {
                let known = blanks.get(node.as_str()).cloned();
                let new = known.unwrap_or_else(|| self.fresh());
                blanks.insert(node.as_str().to_owned(), new.clone());
                quad.subject = new.into();
            }
            if let Term::BlankNode(node) = &quad.object {
                let known = blanks.get(node.as_str()).cloned();
                let new = known.unwrap_or_else(|| self.fresh());
                blanks.insert(node.as_str().to_owned(), new.clone());
                quad.object = new.into();
            }
            self.add(quad);
        }
    }

    fn add(&mut self, quad: Quad) {
        if !self.quads.contains(&quad) {
            self.quads.push(quad);
        }
    }

    fn modify(
        &mut self,
        delete: &[GroundQuadPattern],
        insert: &[QuadPattern],
        using: Option<QueryDataset>,
        pattern: GraphPattern,
    ) -> Result<(), UpdateFailure> {
        let query = Query::Select {
            dataset: using,
            pattern,
            base_iri: None,
        };
        let context = Context::new(&Dataset::from_quads(self.quads.clone()), &query);
        context.blank_count.set(self.blank_count);
        let outer = Solution::new();
        let scope = Scope {
            context: &context,
            graph: &context.default,
            outer: &outer,
        };
        let Query::Select { pattern, .. } = &query else {
            return Err(NaiveError::Unsupported("this form".into()).into());
        };
        let rows = scope.evaluate(pattern)?;
        let mut gone = HashSet::new();
        let mut new = Vec::new();
        for row in &rows {
            gone.extend(delete.iter().filter_map(|quad| deleted(quad, row)));
            let mut blanks: BTreeMap<String, Term> = BTreeMap::new();
            for quad in insert {
                let mut blank = |label: &BlankNode| {
                    let fresh = || context.fresh_blank().into();
                    let entry = blanks.entry(label.as_str().to_owned());
                    entry.or_insert_with(fresh).clone()
                };
                new.extend(inserted(quad, row, &mut blank));
            }
        }
        self.blank_count = context.blank_count.get();
        self.quads.retain(|quad| !gone.contains(quad));
        new.into_iter().for_each(|quad| self.add(quad));
        Ok(())
    }

    /// `ADD|COPY|MOVE [SILENT] from TO to`.
    fn transfer(&mut self, words: &[&str]) -> Result<(), UpdateFailure> {
        let kind = words[0];
        let is_silent = words[1] == "SILENT";
        let ends = if is_silent { &words[2..] } else { &words[1..] };
        let [from, "TO", to] = ends else {
            return Err(UpdateFailure::Refused(format!("{words:?} is no transfer")));
        };
        let graph = |word: &str| match word {
            "DEFAULT" => GraphName::DefaultGraph,
            iri => NamedNode::new_unchecked(iri.trim_matches(['<', '>'])).into(),
        };
        let (from, to) = (graph(from), graph(to));
        if from == to {
            return Ok(());
        }
        if from != GraphName::DefaultGraph && !self.has(&from) {
            return match is_silent {
                true => Ok(()),
                false => Err(UpdateFailure::Refused(format!("{from} is not there"))),
            };
        }
        let of_source = self.quads.iter().filter(|quad| quad.graph_name == from);
        let copies: Vec<Quad> = of_source
            .map(|quad| Quad {
                graph_name: to.clone(),
                ..quad.clone()
            })
            .collect();
        if kind != "ADD" {
            self.quads.retain(|quad| quad.graph_name != to);
        }
        if kind == "MOVE" {
            self.quads.retain(|quad| quad.graph_name != from);
        }
        copies.into_iter().for_each(|quad| self.add(quad));
        Ok(())
    }
}

/// The name of a graph as data has it.
fn named(graph: spargebra::term::GraphName) -> GraphName {
    match graph {
        spargebra::term::GraphName::NamedNode(iri) => iri.into(),
        spargebra::term::GraphName::DefaultGraph => GraphName::DefaultGraph,
    }
}

fn predicate_of(term: &NamedNodePattern, row: &Solution) -> Option<NamedNode> {
    match term {
        NamedNodePattern::NamedNode(iri) => Some(iri.clone()),
        NamedNodePattern::Variable(variable) => as_iri(row.get(variable.as_str())?.clone()),
    }
}

fn graph_of(term: &GraphNamePattern, row: &Solution) -> Option<GraphName> {
    match term {
        GraphNamePattern::DefaultGraph => Some(GraphName::DefaultGraph),
        GraphNamePattern::NamedNode(iri) => Some(iri.clone().into()),
        GraphNamePattern::Variable(variable) => match row.get(variable.as_str())? {
            Term::NamedNode(iri) => Some(iri.clone().into()),
            Term::BlankNode(node) => Some(node.clone().into()),
            Term::Literal(_) => None,
        },
    }
}

fn deleted(quad: &GroundQuadPattern, row: &Solution) -> Option<Quad> {
    let term = |term: &GroundTermPattern| match term {
        GroundTermPattern::NamedNode(iri) => Some(Term::from(iri.clone())),
        GroundTermPattern::Literal(literal) => Some(literal.clone().into()),
        GroundTermPattern::Variable(variable) => row.get(variable.as_str()).cloned(),
    };
    Some(Quad::new(
        as_subject(term(&quad.subject)?)?,
        predicate_of(&quad.predicate, row)?,
        term(&quad.object)?,
        graph_of(&quad.graph_name, row)?,
    ))
}

fn inserted(
    quad: &QuadPattern,
    row: &Solution,
    blank: &mut dyn FnMut(&BlankNode) -> Term,
) -> Option<Quad> {
    let mut term = |term: &TermPattern| match term {
        TermPattern::NamedNode(iri) => Some(Term::from(iri.clone())),
        TermPattern::Literal(literal) => Some(literal.clone().into()),
        TermPattern::Variable(variable) => row.get(variable.as_str()).cloned(),
        TermPattern::BlankNode(label) => Some(blank(label)),
    };
    Some(Quad::new(
        as_subject(term(&quad.subject)?)?,
        predicate_of(&quad.predicate, row)?,
        term(&quad.object)?,
        graph_of(&quad.graph_name, row)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::{UpdateFailure, update};
    use crate::dataset::Dataset;

    fn after(operations: &[&str]) -> Result<Vec<String>, UpdateFailure> {
        let operations: Vec<String> = operations.iter().map(|text| (*text).to_owned()).collect();
        let data = update(&Dataset::default(), &operations)?;
        let mut lines: Vec<String> = data.quads().iter().map(ToString::to_string).collect();
        lines.sort();
        Ok(lines)
    }

    #[test]
    fn operations_see_those_before_them() {
        let lines = after(&[
            "INSERT DATA { <e:a> <e:p> 1 . GRAPH <e:g> { <e:a> <e:p> 2 } }",
            "INSERT { GRAPH <e:h> { ?s ?p ?o . _:b <e:of> ?s } } WHERE { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }",
            "DELETE { GRAPH <e:h> { ?s ?p 2 } } INSERT { ?s ?p 3 } WHERE { GRAPH <e:h> { ?s ?p 2 } }",
            "MOVE <e:g> TO DEFAULT",
        ])
        .expect("nothing is refused");
        let integer = |n: u8| format!("\"{n}\"^^<http://www.w3.org/2001/XMLSchema#integer>");
        assert_eq!(
            lines,
            [
                format!("<e:a> <e:p> {} <e:h>", integer(1)),
                format!("<e:a> <e:p> {}", integer(2)),
                "_:naive0 <e:of> <e:a> <e:h>".to_owned(),
                "_:naive1 <e:of> <e:a> <e:h>".to_owned(),
            ]
        );
    }

    #[test]
    fn what_should_fail_does() {
        let insert = "INSERT DATA { GRAPH <e:g> { <e:a> <e:p> 1 } }";
        let fails =
            |operations: &[&str]| matches!(after(operations), Err(UpdateFailure::Refused(_)));
        assert!(fails(&[insert, "CREATE GRAPH <e:g>"]));
        assert!(!fails(&[
            insert,
            "CREATE SILENT GRAPH <e:g>",
            "CREATE GRAPH <e:h>"
        ]));
        assert!(fails(&["COPY <e:g> TO DEFAULT"]));
        assert!(!fails(&[
            "COPY SILENT <e:g> TO DEFAULT",
            "DROP GRAPH <e:g>"
        ]));
    }
}
