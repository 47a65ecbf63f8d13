//! The input and the output that both oracles share: a set of quads, and an answer.
//!
//! Invariant: a [`Dataset`] holds every quad once, in the order of first appearance, so that a
//! failing seed always prints the same data. Cost: linear in the quads, everything cloned.

use oxrdf::{Quad, Term, Triple};
use std::collections::HashSet;
use std::fmt::Write as _;

/// A set of quads.
#[derive(Debug, Clone, Default)]
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
