//! The input and the output that both oracles share: a set of quads, and an answer.
//!
//! Invariant: a [`Dataset`] holds every quad once, in the order of first appearance, so that a
//! failing seed always prints the same data. Cost: linear in the quads, everything cloned.

use oxigraph::io::{RdfFormat, RdfParser};
use oxrdf::{GraphName, Literal, Quad, Term, Triple};
use std::collections::HashSet;
use std::fmt::Write as _;

/// A set of quads.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dataset {
    /// The distinct quads in order of first appearance.
    quads: Vec<Quad>,
}

impl Dataset {
    /// Keeps the first of equal quads.
    pub fn from_quads(quads: impl IntoIterator<Item = Quad>) -> Self {
        let mut seen = HashSet::new();
        let quads = quads
            .into_iter()
            .filter(|quad| seen.insert(quad.clone()))
            .collect();
        Self { quads }
    }

    /// The distinct quads in order of first appearance.
    pub fn quads(&self) -> &[Quad] {
        &self.quads
    }

    /// The quads of a text in N-Quads; the error says what is wrong with it.
    pub fn from_nquads(text: &str) -> Result<Self, String> {
        let quads = RdfParser::from_format(RdfFormat::NQuads).for_slice(text.as_bytes());
        let quads: Result<Vec<Quad>, _> = quads.collect();
        Ok(Self::from_quads(quads.map_err(|error| error.to_string())?))
    }

    /// The set as solutions with the columns `s p o g`, to be compared with another; the default graph is unbound.
    pub fn to_solutions(&self) -> Answer {
        let row = |quad: &Quad| {
            let graph = match quad.graph_name.clone() {
                GraphName::DefaultGraph => None,
                GraphName::NamedNode(node) => Some(node.into()),
                GraphName::BlankNode(node) => Some(node.into()),
            };
            vec![
                Some(quad.subject.clone().into()),
                Some(quad.predicate.clone().into()),
                Some(quad.object.clone()),
                graph,
            ]
        };
        Answer::Solutions {
            variables: ["s", "p", "o", "g"].map(str::to_owned).to_vec(),
            rows: self.quads.iter().map(row).collect(),
        }
    }

    /// The whole set as N-Quads text, one quad a line.
    pub fn to_nquads(&self) -> String {
        let mut text = String::new();
        for quad in &self.quads {
            writeln!(text, "{quad} .").expect("writing to a string cannot fail");
        }
        text
    }
}

/// What a query returns, whichever engine evaluated it.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Of a SELECT: rows in the order given, `None` where a variable is unbound.
    Solutions {
        /// The projected variables, without question marks.
        variables: Vec<String>,
        /// One term or nothing per variable.
        rows: Vec<Vec<Option<Term>>>,
    },
    /// Of an ASK.
    Boolean(bool),
    /// Of a CONSTRUCT: distinct triples.
    Graph(Vec<Triple>),
}

impl Answer {
    /// The answer with language tags in lower case, as Oxigraph's parser writes those of queries.
    pub fn with_lower_tags(mut self) -> Self {
        let fold = |term: &mut Term| {
            if let Term::Literal(literal) = term
                && let Some(tag) = literal.language()
            {
                let (text, tag) = (literal.value().to_owned(), tag.to_ascii_lowercase());
                *literal = Literal::new_language_tagged_literal_unchecked(text, tag);
            }
        };
        match &mut self {
            Self::Boolean(_) => (),
            Self::Solutions { rows, .. } => rows.iter_mut().flatten().flatten().for_each(fold),
            Self::Graph(triples) => triples.iter_mut().map(|t| &mut t.object).for_each(fold),
        }
        self
    }

    /// How many rows or triples the answer has (one for a boolean).
    pub fn len(&self) -> usize {
        match self {
            Self::Solutions { rows, .. } => rows.len(),
            Self::Boolean(_) => 1,
            Self::Graph(triples) => triples.len(),
        }
    }

    /// Whether there is no row and no triple.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
