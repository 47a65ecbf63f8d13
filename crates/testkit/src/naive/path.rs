//! Property paths (section 18.4): which terms a path reaches from a term in the active graph.
//!
//! Bags where the algebra says bags (link, inverse, sequence, alternative, negated set), sets where
//! it says sets (`?`, `*`, `+`). Two free ends range over the nodes of the graph: every subject and
//! object. Cost: one walk over the graph per step and term.

use super::Fact;
use oxrdf::Term;
use spargebra::algebra::PropertyPathExpression as Path;

/// In which direction a path is followed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From subject to object.
    Forward,
    /// From object to subject.
    Backward,
}

impl Direction {
    fn flipped(self) -> Self {
        match self {
            Self::Forward => Self::Backward,
            Self::Backward => Self::Forward,
        }
    }

    /// The near and the far end of a fact when it is followed this way.
    fn ends(self, fact: &Fact) -> (&Term, &Term) {
        match self {
            Self::Forward => (&fact[0], &fact[2]),
            Self::Backward => (&fact[2], &fact[0]),
        }
    }
}

/// The bag of terms at the far end of `path` when it starts at `start`.
pub(crate) fn reach(graph: &[Fact], path: &Path, start: &Term, direction: Direction) -> Vec<Term> {
    let step = |accepts: &dyn Fn(&Term) -> bool| {
        graph
            .iter()
            .filter(|fact| accepts(&fact[1]))
            .map(|fact| direction.ends(fact))
            .filter(|(near, _)| *near == start)
            .map(|(_, far)| far.clone())
            .collect()
    };
    match path {
        Path::NamedNode(iri) => {
            let predicate = Term::from(iri.clone());
            step(&|p| *p == predicate)
        }
        Path::NegatedPropertySet(excluded) => {
            let excluded: Vec<Term> = excluded.iter().cloned().map(Term::from).collect();
            step(&|p| !excluded.contains(p))
        }
        Path::Reverse(inner) => reach(graph, inner, start, direction.flipped()),
        Path::Sequence(a, b) => {
            let (first, second) = match direction {
                Direction::Forward => (a, b),
                Direction::Backward => (b, a),
            };
            reach(graph, first, start, direction)
                .iter()
                .flat_map(|middle| reach(graph, second, middle, direction))
                .collect()
        }
        Path::Alternative(a, b) => {
            let mut found = reach(graph, a, start, direction);
            found.extend(reach(graph, b, start, direction));
            found
        }
        Path::ZeroOrOne(inner) => {
            let mut found = vec![start.clone()];
            add_new(&mut found, reach(graph, inner, start, direction));
            found
        }
        Path::ZeroOrMore(inner) => closure(graph, inner, vec![start.clone()], direction),
        Path::OneOrMore(inner) => {
            let mut first = Vec::new();
            add_new(&mut first, reach(graph, inner, start, direction));
            closure(graph, inner, first, direction)
        }
    }
}

/// Everything reachable from `found` in any number of steps, without repetition.
///
/// Termination: `found` only gains nodes of the graph that it did not have, and each is expanded once.
fn closure(graph: &[Fact], path: &Path, mut found: Vec<Term>, direction: Direction) -> Vec<Term> {
    let mut next = 0;
    while let Some(term) = found.get(next).cloned() {
        add_new(&mut found, reach(graph, path, &term, direction));
        next += 1;
    }
    found
}

/// The nodes of a graph: every term that is a subject or an object.
pub(crate) fn nodes(graph: &[Fact]) -> Vec<Term> {
    let mut seen = std::collections::HashSet::new();
    graph
        .iter()
        .flat_map(|fact| [&fact[0], &fact[2]])
        .filter(|term| seen.insert(*term))
        .cloned()
        .collect()
}

fn add_new(found: &mut Vec<Term>, terms: Vec<Term>) {
    for term in terms {
        if !found.contains(&term) {
            found.push(term);
        }
    }
}
