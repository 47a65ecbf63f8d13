//! Rows and costs of paths, from the links and distinct ends of their predicates.
//!
//! A closure is taken for a balanced hierarchy: with `E` links and `b` links at each node that has
//! several, it has `log_b E` levels, which is also the mean number of ends of a start, whichever way
//! it is walked. From a constant the store is [walked](crate::statistics::Statistics::reached), as far as that is quick; where the walk does not
//! end, what is reached lies between what was met and all nodes: their geometric mean. Where nobody can walk, a constant at the end where
//! the links fan out is rarely a mean node but one that somebody found worth asking about: the geometric mean of that and all links.
//! Formulas: `docs/cost-model.md`.

use crate::cost_constants::{
    HASH_PROBE, PATH_LEVELS_MAX, PATH_LINK, PATH_LOOKUP, PATH_VISIT, QUAD_SCAN, START,
};
use crate::physical::{Endpoint, PathPattern, Slot};
use crate::planner::Planner;
use crate::slot_set::SlotSet;
use crate::statistics::{LinkOfWalk, Reached};
use basalt_rdf::TermId;
use oxrdf::NamedNode;
use spargebra::algebra::PropertyPathExpression as Path;

/// What is known of a path with both ends free.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Solutions.
    pairs: f64,
    /// Distinct subjects.
    starts: f64,
    /// Distinct objects.
    ends: f64,
    /// Links that an evaluation of everything reads.
    links: f64,
    /// Lookups for one node: the links written in the path.
    steps: f64,
    /// Whether it is a closure, with lookups at every node found.
    is_closure: bool,
    /// Solutions without any link: every node of the graph, or none.
    zero: f64,
}

impl Shape {
    /// Mean ends of a start by links, forwards or backwards.
    fn fan(&self, forward: bool) -> f64 {
        let from = if forward { self.starts } else { self.ends };
        let nodes = if self.zero > 0.0 { self.links } else { from };
        (self.pairs - self.zero).max(0.0) / nodes.min(from).max(1.0)
    }

    /// Ends expected of one constant.
    fn of_constant(&self, forward: bool) -> f64 {
        let mean = self.fan(forward);
        let fans_out = self.fan_of_links(forward) > 1.5;
        let linked = if self.is_closure && fans_out {
            (mean * self.links).sqrt()
        } else {
            mean
        };
        let zero = if self.zero > 0.0 { 1.0 } else { 0.0 };
        (linked + zero).max(0.1)
    }

    fn fan_of_links(&self, forward: bool) -> f64 {
        let from = if forward { self.starts } else { self.ends };
        self.links / from.clamp(1.0, self.links.max(1.0))
    }

    fn flipped(self) -> Self {
        Self {
            starts: self.ends,
            ends: self.starts,
            ..self
        }
    }
}

/// Subjects and objects of the store, roughly.
fn nodes(planner: &Planner<'_>) -> f64 {
    (planner.statistics.subject_count() as f64).max(1.0)
}

fn link(planner: &Planner<'_>, node: &NamedNode) -> Shape {
    let statistics = planner.statistics;
    let predicate = statistics.term_id(&node.clone().into());
    let (mut quads, mut starts, mut ends) = (0.0, 0.0, 0.0);
    if let Some(predicate) = predicate {
        quads = statistics.predicate_quads(predicate) as f64;
        let irregular = statistics.irregular(predicate);
        starts += irregular.subjects as f64;
        ends += irregular.objects as f64;
        for (_, column) in planner.columns(predicate).iter() {
            starts += column.rows_with_value as f64;
            ends += column.distinct as f64;
        }
    }
    Shape {
        pairs: quads,
        starts: starts.min(quads),
        ends: ends.min(quads),
        links: quads,
        steps: 1.0,
        is_closure: false,
        zero: 0.0,
    }
}

fn shape(planner: &Planner<'_>, path: &Path) -> Shape {
    match path {
        Path::NamedNode(node) => link(planner, node),
        Path::Reverse(inner) => shape(planner, inner).flipped(),
        Path::Sequence(a, b) => {
            let (a, b) = (shape(planner, a), shape(planner, b));
            let pairs = a.pairs * b.pairs / a.ends.max(b.starts).max(1.0);
            Shape {
                pairs,
                starts: a.starts.min(pairs),
                ends: b.ends.min(pairs),
                links: a.links + b.links,
                steps: a.steps + b.steps,
                is_closure: a.is_closure || b.is_closure,
                zero: a.zero.min(b.zero),
            }
        }
        Path::Alternative(a, b) => {
            let (a, b) = (shape(planner, a), shape(planner, b));
            Shape {
                pairs: a.pairs + b.pairs,
                starts: a.starts + b.starts,
                ends: a.ends + b.ends,
                links: a.links + b.links,
                steps: a.steps + b.steps,
                is_closure: a.is_closure || b.is_closure,
                zero: a.zero.max(b.zero),
            }
        }
        Path::OneOrMore(inner) => closure(shape(planner, inner)),
        Path::ZeroOrMore(inner) => with_zero(planner, closure(shape(planner, inner))),
        Path::ZeroOrOne(inner) => with_zero(planner, shape(planner, inner)),
        Path::NegatedPropertySet(_) => {
            let quads = planner.statistics.quad_count() as f64;
            let nodes = nodes(planner);
            Shape {
                pairs: quads,
                starts: nodes.min(quads),
                ends: nodes.min(quads),
                links: quads,
                steps: 4.0,
                is_closure: false,
                zero: 0.0,
            }
        }
    }
}

fn closure(inner: Shape) -> Shape {
    let fan = inner.fan_of_links(true).max(inner.fan_of_links(false));
    let levels = (inner.links + 2.0).ln() / fan.max(2.0).ln();
    let pairs = inner.links * levels.clamp(1.0, PATH_LEVELS_MAX);
    Shape {
        pairs: pairs.min(inner.starts * inner.ends),
        is_closure: true,
        ..inner
    }
}

fn with_zero(planner: &Planner<'_>, inner: Shape) -> Shape {
    let nodes = nodes(planner).max(inner.starts);
    Shape {
        pairs: inner.pairs - inner.zero + nodes,
        starts: nodes,
        ends: nodes,
        zero: nodes,
        ..inner
    }
}

/// The links of a closure over links, as they are walked; `None` for what is no such closure.
fn links_of_closure(
    planner: &Planner<'_>,
    path: &Path,
    is_inverse: bool,
) -> Option<Vec<LinkOfWalk>> {
    fn add(
        planner: &Planner<'_>,
        path: &Path,
        is_inverse: bool,
        links: &mut Vec<LinkOfWalk>,
    ) -> bool {
        match path {
            Path::NamedNode(node) => {
                let predicate = planner.statistics.term_id(&node.clone().into());
                links.extend(predicate.map(|predicate| LinkOfWalk {
                    predicate,
                    is_inverse,
                }));
                true
            }
            Path::Reverse(inner) => add(planner, inner, !is_inverse, links),
            Path::Alternative(a, b) => {
                add(planner, a, is_inverse, links) && add(planner, b, is_inverse, links)
            }
            _ => false,
        }
    }
    match path {
        Path::OneOrMore(inner) | Path::ZeroOrMore(inner) => {
            let mut links = Vec::new();
            add(planner, inner, is_inverse, &mut links).then_some(links)
        }
        Path::Reverse(inner) => links_of_closure(planner, inner, !is_inverse),
        _ => None,
    }
}

/// What walks of a closure from its constant end reach.
fn reached(planner: &Planner<'_>, pattern: &PathPattern, forward: bool) -> Option<Reached> {
    let end = match forward {
        true => &pattern.subject,
        false => &pattern.object,
    };
    let Endpoint::Constant(constant) = end else {
        return None;
    };
    let question = (
        links_of_closure(planner, &pattern.path, !forward)?,
        constant.id?,
    );
    let is_asked = |other: &(Vec<LinkOfWalk>, TermId)| *other == question;
    planner.walks.get(is_asked, || {
        let reached = planner.statistics.reached(&question.0, question.1);
        (question.clone(), reached)
    })
}

/// Ends expected of the constant end of a path with this shape.
fn of_constant(planner: &Planner<'_>, pattern: &PathPattern, shape: &Shape, forward: bool) -> f64 {
    let Some(reached) = reached(planner, pattern, forward) else {
        return shape.of_constant(forward);
    };
    let linked = if reached.is_all {
        reached.nodes
    } else {
        let ends = if forward { shape.ends } else { shape.starts };
        let all = ends.min(shape.links).max(reached.nodes);
        (reached.nodes.max(1.0) * all).sqrt()
    };
    let zero = if shape.zero > 0.0 { 1.0 } else { 0.0 };
    (linked + zero).max(0.1)
}

fn is_constant(end: &Endpoint) -> bool {
    matches!(end, Endpoint::Constant(_))
}

/// Pairs that a path connects.
pub(crate) fn rows(planner: &Planner<'_>, pattern: &PathPattern) -> f64 {
    let shape = shape(planner, &pattern.path);
    match (is_constant(&pattern.subject), is_constant(&pattern.object)) {
        (false, false) => shape.pairs,
        (true, false) => of_constant(planner, pattern, &shape, true),
        (false, true) => of_constant(planner, pattern, &shape, false),
        (true, true) => 1.0,
    }
}

/// Distinct values of the path's slots, if it has these rows.
pub(crate) fn distinct(
    planner: &Planner<'_>,
    pattern: &PathPattern,
    rows: f64,
) -> impl Iterator<Item = (Slot, f64)> {
    let shape = shape(planner, &pattern.path);
    let slot = |end: &Endpoint| match end {
        Endpoint::Slot(slot) => Some(*slot),
        Endpoint::Constant(_) => None,
    };
    let graphs = planner.statistics.named_graph_count() as f64;
    [
        (slot(&pattern.subject), shape.starts.min(rows)),
        (slot(&pattern.object), shape.ends.min(rows)),
        (pattern.graphs.slot(), graphs),
    ]
    .into_iter()
    .filter_map(|(slot, distinct)| Some((slot?, distinct)))
}

/// The cost of a path for each of some rows in which these slots are bound.
pub(crate) fn join_cost(
    planner: &Planner<'_>,
    pattern: &PathPattern,
    input_rows: f64,
    bound: &SlotSet,
) -> f64 {
    let shape = shape(planner, &pattern.path);
    let is_bound = |end: &Endpoint| match end {
        Endpoint::Slot(slot) => bound.contains(*slot),
        Endpoint::Constant(_) => true,
    };
    let everything = shape.links * PATH_LINK;
    let from = [&pattern.subject, &pattern.object]
        .into_iter()
        .zip([true, false])
        .filter(|(end, _)| is_bound(end))
        .map(|(end, forward)| {
            let (starts, found) = if is_constant(end) {
                (1.0, of_constant(planner, pattern, &shape, forward))
            } else {
                let nodes = if forward { shape.starts } else { shape.ends };
                (input_rows.min(nodes.max(1.0)), shape.fan(forward) + 1.0)
            };
            if !shape.is_closure {
                return starts * (shape.steps * PATH_LOOKUP + found * PATH_VISIT);
            }
            let probing = starts * (1.0 + found) * shape.steps * PATH_LOOKUP;
            probing.min(everything + starts * (found + 1.0) * PATH_VISIT)
        });
    let walked = from.reduce(f64::min).unwrap_or_else(|| {
        let nodes = if shape.zero > 0.0 {
            planner.statistics.quad_count() as f64 * QUAD_SCAN
        } else {
            0.0
        };
        everything + nodes + shape.pairs * PATH_VISIT
    });
    START + input_rows * HASH_PROBE + walked
}
