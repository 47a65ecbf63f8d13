//! Property paths over the quads of a snapshot (SPARQL 1.1, sections 9 and 18.4).
//!
//! A [`Step`] is a path with its predicates resolved. Links, inverses, sequences, alternatives and
//! negated sets keep duplicates; `?`, `*` and `+` give each pair once, by breadth-first search.
//! A zero-length path matches any given end, whether the data has it or not; ends that are variables
//! stand for nodes of the graph only ([`PathGraph::has_node`]).

use crate::context::Context;
use crate::error::ExecError;
use basalt_rdf::{TermId, TermView};
use basalt_store::QuadPattern;
use hashbrown::HashSet;
use spargebra::algebra::PropertyPathExpression as Path;
use std::hash::RandomState;
use std::ops::ControlFlow;

/// The graph (or union of graphs) that a path walks over.
pub struct PathGraph {
    /// The one graph; `None` for a union.
    one: Option<TermId>,
    /// The graphs of a union; `None` is all.
    among: Option<Vec<TermId>>,
}

impl PathGraph {
    /// One graph.
    pub fn one(graph: TermId) -> Self {
        Self {
            one: Some(graph),
            among: None,
        }
    }

    /// The union of some graphs, or of all.
    pub fn merge(among: Option<Vec<TermId>>) -> Self {
        Self { one: None, among }
    }

    /// Collects (subject, predicate, object) of every triple that matches, each once.
    fn triples(
        &self,
        subject: Option<TermId>,
        predicate: Option<TermId>,
        object: Option<TermId>,
        cx: &Context,
    ) -> Result<Vec<[TermId; 3]>, ExecError> {
        cx.check()?;
        let mut found = Vec::new();
        let pattern = QuadPattern {
            subject,
            predicate,
            object,
            graph: self.one,
        };
        cx.snapshot().matching(&pattern, &mut |quad| {
            if self
                .among
                .as_ref()
                .is_none_or(|list| list.contains(&quad.graph))
            {
                found.push([quad.subject, quad.predicate, quad.object]);
            }
            ControlFlow::Continue(())
        })?;
        if self.one.is_none() {
            found.sort_unstable();
            found.dedup();
        }
        Ok(found)
    }

    /// Whether a term is a subject or an object.
    pub fn has_node(&self, node: TermId, cx: &Context) -> Result<bool, ExecError> {
        let pattern = QuadPattern {
            graph: self.one,
            ..QuadPattern::default()
        };
        let as_subject = QuadPattern {
            subject: Some(node),
            ..pattern
        };
        let as_object = QuadPattern {
            object: Some(node),
            ..pattern
        };
        let mut found = false;
        for pattern in [as_subject, as_object] {
            cx.snapshot().matching(&pattern, &mut |quad| {
                let among = self.among.as_ref();
                if among.is_none_or(|list| list.contains(&quad.graph)) {
                    found = true;
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })?;
            if found {
                break;
            }
        }
        Ok(found)
    }

    /// Every subject and object, each once.
    fn nodes(&self, cx: &Context) -> Result<Vec<TermId>, ExecError> {
        let mut nodes = Vec::new();
        for [subject, _, object] in self.triples(None, None, None, cx)? {
            nodes.push(subject);
            nodes.push(object);
        }
        nodes.sort_unstable();
        nodes.dedup();
        Ok(nodes)
    }
}

/// A path whose predicates are ids; see the [module documentation](self).
#[derive(Clone, Debug)]
pub enum Step {
    /// A predicate that the store knows.
    Link(TermId),
    /// A predicate that the store does not know.
    Nothing,
    /// `^path`
    Inverse(Box<Step>),
    /// `a / b`
    Sequence(Box<Step>, Box<Step>),
    /// `a | b`
    Alternative(Box<Step>, Box<Step>),
    /// `path*`
    ZeroOrMore(Box<Step>),
    /// `path+`
    OneOrMore(Box<Step>),
    /// `path?`
    ZeroOrOne(Box<Step>),
    /// `!(a | b)`
    Except(Vec<TermId>),
}

impl Step {
    /// Resolves the predicates of a path.
    pub fn new(path: &Path, cx: &Context) -> Self {
        let find = |iri: &str| cx.snapshot().dictionary().find(TermView::Iri(iri));
        let boxed = |path: &Path| Box::new(Self::new(path, cx));
        match path {
            Path::NamedNode(node) => find(node.as_str()).map_or(Self::Nothing, Self::Link),
            Path::Reverse(inner) => Self::Inverse(boxed(inner)),
            Path::Sequence(a, b) => Self::Sequence(boxed(a), boxed(b)),
            Path::Alternative(a, b) => Self::Alternative(boxed(a), boxed(b)),
            Path::ZeroOrMore(inner) => Self::ZeroOrMore(boxed(inner)),
            Path::OneOrMore(inner) => Self::OneOrMore(boxed(inner)),
            Path::ZeroOrOne(inner) => Self::ZeroOrOne(boxed(inner)),
            Path::NegatedPropertySet(nodes) => Self::Except(
                nodes
                    .iter()
                    .filter_map(|node| find(node.as_str()))
                    .collect(),
            ),
        }
    }

    /// The pairs that the path connects, restricted to the given ends.
    pub fn pairs(
        &self,
        subject: Option<TermId>,
        object: Option<TermId>,
        graph: &PathGraph,
        cx: &Context,
    ) -> Result<Vec<(TermId, TermId)>, ExecError> {
        Ok(match (subject, object) {
            (Some(start), Some(end)) => {
                let mut ends = self.from(start, true, graph, cx)?;
                ends.retain(|found| *found == end);
                ends.into_iter().map(|end| (start, end)).collect()
            }
            (Some(start), None) => self
                .from(start, true, graph, cx)?
                .into_iter()
                .map(|end| (start, end))
                .collect(),
            (None, Some(end)) => self
                .from(end, false, graph, cx)?
                .into_iter()
                .map(|start| (start, end))
                .collect(),
            (None, None) => self.all(graph, cx)?,
        })
    }

    /// The other ends of the path from one end; `forward` goes from subject to object.
    fn from(
        &self,
        end: TermId,
        forward: bool,
        graph: &PathGraph,
        cx: &Context,
    ) -> Result<Vec<TermId>, ExecError> {
        let links = |predicate: Option<TermId>| {
            let (subject, object) = if forward {
                (Some(end), None)
            } else {
                (None, Some(end))
            };
            graph.triples(subject, predicate, object, cx)
        };
        let other = |[subject, _, object]: [TermId; 3]| if forward { object } else { subject };
        Ok(match self {
            Self::Nothing => Vec::new(),
            Self::Link(predicate) => links(Some(*predicate))?.into_iter().map(other).collect(),
            Self::Except(list) => {
                let triples = links(None)?
                    .into_iter()
                    .filter(|[_, p, _]| !list.contains(p));
                triples.map(other).collect()
            }
            Self::Inverse(inner) => inner.from(end, !forward, graph, cx)?,
            Self::Sequence(a, b) => {
                let (first, second) = if forward { (a, b) } else { (b, a) };
                let mut ends = Vec::new();
                for middle in first.from(end, forward, graph, cx)? {
                    ends.extend(second.from(middle, forward, graph, cx)?);
                }
                ends
            }
            Self::Alternative(a, b) => {
                let mut ends = a.from(end, forward, graph, cx)?;
                ends.extend(b.from(end, forward, graph, cx)?);
                ends
            }
            Self::ZeroOrOne(inner) => {
                let mut ends = inner.from(end, forward, graph, cx)?;
                ends.push(end);
                ends.sort_unstable();
                ends.dedup();
                ends
            }
            Self::ZeroOrMore(inner) => inner.closure(vec![end], forward, graph, cx)?,
            Self::OneOrMore(inner) => {
                let first = inner.from(end, forward, graph, cx)?;
                inner.closure(first, forward, graph, cx)?
            }
        })
    }

    /// Everything reachable from `start` in any number of steps, `start` included, each once.
    ///
    /// Termination: each node enters the queue at most once.
    fn closure(
        &self,
        start: Vec<TermId>,
        forward: bool,
        graph: &PathGraph,
        cx: &Context,
    ) -> Result<Vec<TermId>, ExecError> {
        let mut seen = HashSet::with_hasher(RandomState::new());
        let mut reached: Vec<TermId> = start
            .into_iter()
            .filter(|node| seen.insert(*node))
            .collect();
        let mut next = 0;
        while next < reached.len() {
            for node in self.from(reached[next], forward, graph, cx)? {
                if seen.insert(node) {
                    reached.push(node);
                }
            }
            next += 1;
        }
        Ok(reached)
    }

    /// All pairs, both ends free.
    fn all(&self, graph: &PathGraph, cx: &Context) -> Result<Vec<(TermId, TermId)>, ExecError> {
        let pair = |[subject, _, object]: [TermId; 3]| (subject, object);
        Ok(match self {
            Self::Nothing => Vec::new(),
            Self::Link(predicate) => graph
                .triples(None, Some(*predicate), None, cx)?
                .into_iter()
                .map(pair)
                .collect(),
            Self::Except(list) => {
                let triples = graph.triples(None, None, None, cx)?;
                triples
                    .into_iter()
                    .filter(|[_, p, _]| !list.contains(p))
                    .map(pair)
                    .collect()
            }
            Self::Inverse(inner) => inner
                .all(graph, cx)?
                .into_iter()
                .map(|(s, o)| (o, s))
                .collect(),
            Self::Sequence(a, b) => {
                let mut pairs = Vec::new();
                for (start, middle) in a.all(graph, cx)? {
                    pairs.extend(
                        b.from(middle, true, graph, cx)?
                            .into_iter()
                            .map(|end| (start, end)),
                    );
                }
                pairs
            }
            Self::Alternative(a, b) => {
                let mut pairs = a.all(graph, cx)?;
                pairs.extend(b.all(graph, cx)?);
                pairs
            }
            Self::ZeroOrOne(_) | Self::ZeroOrMore(_) | Self::OneOrMore(_) => {
                let mut pairs = Vec::new();
                for start in graph.nodes(cx)? {
                    let ends = self.from(start, true, graph, cx)?;
                    pairs.extend(ends.into_iter().map(|end| (start, end)));
                }
                pairs
            }
        })
    }
}
