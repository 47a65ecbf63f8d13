//! `Step`: a path whose predicates are ids, with inverses pushed down to the links.

use super::graph::Label;
use crate::context::Context;
use basalt_rdf::TermView;
use spargebra::algebra::PropertyPathExpression as Path;

/// A resolved path.
#[derive(Clone, Debug)]
pub enum Step {
    /// A link, or any link but some.
    Edge {
        /// Which links.
        label: Label,
        /// Whether they are followed from object to subject.
        inverse: bool,
    },
    /// One after the other.
    Sequence(Vec<Step>),
    /// Any of them; none of them never matches.
    Alternative(Vec<Step>),
    /// `path?`
    ZeroOrOne(Box<Step>),
    /// `path*`
    ZeroOrMore(Box<Step>),
    /// `path+`
    OneOrMore(Box<Step>),
}

impl Step {
    /// Resolves a path, or its inverse.
    pub fn new(path: &Path, inverse: bool, cx: &Context) -> Self {
        let find = |iri: &str| cx.snapshot().dictionary().find(TermView::Iri(iri));
        let boxed = |path: &Path| Box::new(Self::new(path, inverse, cx));
        match path {
            Path::NamedNode(node) => match find(node.as_str()) {
                Some(predicate) => Self::Edge {
                    label: Label::Link(predicate),
                    inverse,
                },
                None => Self::Alternative(Vec::new()),
            },
            Path::NegatedPropertySet(nodes) => {
                let known = nodes.iter().filter_map(|node| find(node.as_str()));
                Self::Edge {
                    label: Label::Except(known.collect()),
                    inverse,
                }
            }
            Path::Reverse(inner) => Self::new(inner, !inverse, cx),
            Path::Sequence(a, b) => {
                let (first, second) = if inverse { (b, a) } else { (a, b) };
                let parts = [first, second].map(|part| Self::new(part, inverse, cx));
                Self::Sequence(parts.into())
            }
            Path::Alternative(a, b) => {
                Self::Alternative([a, b].map(|part| Self::new(part, inverse, cx)).into())
            }
            Path::ZeroOrMore(inner) => Self::ZeroOrMore(boxed(inner)),
            Path::OneOrMore(inner) => Self::OneOrMore(boxed(inner)),
            Path::ZeroOrOne(inner) => Self::ZeroOrOne(boxed(inner)),
        }
    }

    /// Whether each pair of ends is found once, by definition.
    pub fn is_set(&self) -> bool {
        matches!(
            self,
            Self::ZeroOrOne(_) | Self::ZeroOrMore(_) | Self::OneOrMore(_)
        )
    }

    /// The path from its end to its start.
    pub fn inverted(&self) -> Self {
        let boxed = |inner: &Self| Box::new(inner.inverted());
        match self {
            Self::Edge { label, inverse } => Self::Edge {
                label: label.clone(),
                inverse: !inverse,
            },
            Self::Sequence(parts) => {
                Self::Sequence(parts.iter().rev().map(Self::inverted).collect())
            }
            Self::Alternative(parts) => {
                Self::Alternative(parts.iter().map(Self::inverted).collect())
            }
            Self::ZeroOrOne(inner) => Self::ZeroOrOne(boxed(inner)),
            Self::ZeroOrMore(inner) => Self::ZeroOrMore(boxed(inner)),
            Self::OneOrMore(inner) => Self::OneOrMore(boxed(inner)),
        }
    }
}
