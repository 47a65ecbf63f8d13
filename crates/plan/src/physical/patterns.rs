//! What is read from the store, or asked of others: patterns and stars, how a star is entered, paths, remote patterns.

use super::{Constant, Expr, Slot, TableIdx};
use crate::slot_set::SlotSet;
use basalt_rdf::TermId;
use spargebra::algebra::{GraphPattern, PropertyPathExpression};
use std::sync::Arc;

/// A position of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// A variable.
    Slot(Slot),
    /// A constant that the store knows.
    Id(TermId),
}

/// Which graphs a pattern reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Graphs {
    /// One graph; the default graph is [`TermId::DEFAULT_GRAPH`].
    One(TermId),
    /// `GRAPH ?g`: each named graph (never the default graph), bound to the slot; all patterns of
    /// one star share the graph. `among` restricts to these named graphs (`FROM NAMED`).
    Variable {
        /// The slot that takes the graph's name.
        slot: Slot,
        /// The allowed graphs; `None` is every named graph.
        among: Option<Vec<TermId>>,
    },
    /// The set union of several graphs, without repeated triples. `None` is every graph of the
    /// store, the default graph included.
    Merge {
        /// The graphs; `None` is all of them.
        among: Option<Vec<TermId>>,
    },
}

/// One triple pattern of a star.
#[derive(Clone, Debug, PartialEq)]
pub struct StarPattern {
    /// The predicate, always a constant.
    pub predicate: TermId,
    /// The object.
    pub object: Position,
    /// `OPTIONAL { ?s p ?o }` folded into the star: the object slot may stay unbound. The slot
    /// occurs nowhere else in the star.
    pub optional: bool,
    /// Nobody reads the object and repeated rows do not count, so one value is as good as all.
    pub any_value: bool,
}

/// The triple patterns that share a subject (and a graph).
#[derive(Clone, Debug, PartialEq)]
pub struct Star {
    /// The shared subject.
    pub subject: Position,
    /// The graphs read.
    pub graphs: Graphs,
    /// The patterns; at least one is not optional.
    pub patterns: Vec<StarPattern>,
    /// Conjuncts that use only slots of this star (or of the input of a join); rows for which one
    /// is not true are dropped as early as possible.
    pub filters: Vec<Expr>,
    /// The tables that can hold clean rows for this star, ascending, by the planner's choice; dirty rows and
    /// subjects outside all tables are always looked at by the executor, over all tables.
    pub tables: Vec<TableIdx>,
}

impl Star {
    /// Whether a table can hold clean rows for this star.
    pub(crate) fn has_table(&self, table: TableIdx) -> bool {
        self.tables.binary_search(&table).is_ok()
    }

    /// The first pattern beside one whose object is among these slots, if there is one: rows of both objects are found together.
    pub(crate) fn other_object(&self, pattern_idx: usize, bound: SlotSet) -> Option<usize> {
        let mut patterns = self.patterns.iter().enumerate();
        let is_bound = |pattern: &StarPattern| {
            let slot = pattern.object.slot();
            !pattern.optional && slot.is_some_and(|slot| bound.contains(slot))
        };
        let other = patterns.find(|(idx, pattern)| *idx != pattern_idx && is_bound(pattern));
        other.map(|(idx, _)| idx)
    }
}

/// How a [`Op::StarScan`](super::Op::StarScan) finds its subjects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StarAccess {
    /// Read every row of the tables (zones skip segments).
    Rows,
    /// Start from the constant object of this pattern, through the column's inverse
    /// (adjacency, bitmap or sorted permutation) and POSG.
    Object {
        /// Index into [`Star::patterns`].
        pattern_idx: usize,
    },
    /// The subject is a constant.
    Subject,
}

/// How a [`Op::StarJoin`](super::Op::StarJoin) gets from an input row to subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StarEntry {
    /// The input binds the subject: positional for rows, index join into the quad table otherwise.
    Subject,
    /// The input binds the object of this pattern: adjacency (or another inverse) to rows, POSG
    /// for irregular quads.
    Object {
        /// Index into [`Star::patterns`].
        pattern_idx: usize,
    },
    /// The input binds the graph: inverses of home graphs to rows, subjects by graph for irregular quads.
    Graph,
}

/// A triple or quad pattern without restrictions on its positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Subject.
    pub subject: Position,
    /// Predicate.
    pub predicate: Position,
    /// Object.
    pub object: Position,
    /// The graphs read.
    pub graphs: Graphs,
}

/// A property path between two positions.
#[derive(Clone, Debug, PartialEq)]
pub struct PathPattern {
    /// Start.
    pub subject: Endpoint,
    /// The path.
    pub path: PropertyPathExpression,
    /// End.
    pub object: Endpoint,
    /// The graphs read.
    pub graphs: Graphs,
}

impl PathPattern {
    /// Whether it gives each pair that some links lead to once: `p+` or `p*`.
    pub fn is_closure(&self) -> bool {
        matches!(
            self.path,
            PropertyPathExpression::OneOrMore(_) | PropertyPathExpression::ZeroOrMore(_)
        )
    }

    /// Whether it leads from each node to itself without a link.
    pub fn matches_zero(&self) -> bool {
        matches_zero(&self.path)
    }
}

fn matches_zero(path: &PropertyPathExpression) -> bool {
    match path {
        PropertyPathExpression::ZeroOrMore(_) | PropertyPathExpression::ZeroOrOne(_) => true,
        PropertyPathExpression::Reverse(inner) | PropertyPathExpression::OneOrMore(inner) => {
            matches_zero(inner)
        }
        PropertyPathExpression::Sequence(a, b) => matches_zero(a) && matches_zero(b),
        PropertyPathExpression::Alternative(a, b) => matches_zero(a) || matches_zero(b),
        PropertyPathExpression::NamedNode(_) | PropertyPathExpression::NegatedPropertySet(_) => {
            false
        }
    }
}

/// An end of a path; a constant may be outside the data and still match a zero-length path.
#[derive(Clone, Debug, PartialEq)]
pub enum Endpoint {
    /// A variable.
    Slot(Slot),
    /// A constant.
    Constant(Constant),
}

/// A pattern that a remote endpoint evaluates: `SERVICE`.
#[derive(Clone, Debug, PartialEq)]
pub struct ServicePattern {
    /// The endpoint; a variable must be bound by the rows that the pattern is joined to.
    pub endpoint: Endpoint,
    /// Whether a failure counts as one solution without bindings.
    pub silent: bool,
    /// What the endpoint evaluates, arranged so that its text means the same.
    pub pattern: Arc<GraphPattern>,
    /// The variables asked for: the slot, and the name in the pattern.
    pub variables: Vec<(Slot, String)>,
    /// The slots that every solution binds; none with `silent`.
    pub certain: Vec<Slot>,
    /// Solutions expected of the whole pattern.
    pub rows: f64,
}
