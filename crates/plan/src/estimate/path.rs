//! Rows and costs of paths, from the links and distinct ends of their predicates.
//!
//! Closures of links are [walked](super::closure) from some nodes. Where nobody can, one is taken for a balanced hierarchy: with `E` links and `b` links at each node that has
//! several, it has `log_b E` levels, which is also the mean number of ends of a start, whichever way
//! it is walked. From a constant the store is [walked](crate::statistics::Statistics::reached), as far as that is quick; where the walk does not
//! end, what is reached lies between what was met and all nodes: their geometric mean. Where nobody can walk, a constant at the end where
//! the links fan out is rarely a mean node but one that somebody found worth asking about: the geometric mean of that and all links.
//! Formulas: `docs/cost-model.md`.

use super::{closure, pattern};
use crate::cost_constants::{
    HASH_PROBE, PATH_LEVELS_MAX, PATH_LINK, PATH_LOOKUP, PATH_PAIR, PATH_VISIT, QUAD_SCAN, START,
};
use crate::physical::{Endpoint, Graphs, PathPattern, Slot};
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
    /// Distinct subjects that have a link.
    starts: f64,
    /// Distinct objects that have one.
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
        (self.pairs - self.zero).max(0.0) / from.max(1.0)
    }

    /// Distinct subjects, or objects, those of solutions without any link included.
    fn nodes(&self, starts: bool) -> f64 {
        if starts { self.starts } else { self.ends }.max(self.zero)
    }

    /// Where solutions without any link are those of so many nodes only, or of all that have links.
    fn among(self, nodes: f64) -> Self {
        let zero = self.zero.min(nodes.max(self.starts).max(self.ends));
        let pairs = self.pairs - self.zero + zero;
        Self {
            pairs,
            zero,
            ..self
        }
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
    let (mut quads, mut starts, mut ends) = (0.0, 0.0_f64, 0.0_f64);
    if let Some(predicate) = predicate {
        quads = statistics.predicate_quads(predicate) as f64;
        starts = pattern::subjects(planner, predicate);
        ends = pattern::objects(planner, predicate);
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

/// What is known of a path; closures are walked from some nodes if `walks`.
fn shape(planner: &Planner<'_>, path: &Path, walks: bool) -> Shape {
    match path {
        Path::NamedNode(node) => link(planner, node),
        Path::Reverse(inner) => shape(planner, inner, walks).flipped(),
        Path::Sequence(a, b) => {
            let (a, b) = (shape(planner, a, walks), shape(planner, b, walks));
            let zero = a.zero.min(b.zero);
            let nodes = a.ends.max(b.starts).max(1.0);
            let met = a.among(nodes).pairs * b.among(nodes).pairs / nodes;
            let pairs = met + (zero - nodes).max(0.0);
            let beside = |zero: f64, ends: f64| if zero > 0.0 { ends } else { 0.0 };
            Shape {
                pairs,
                starts: a.starts.max(beside(a.zero, b.starts)).min(pairs),
                ends: b.ends.max(beside(b.zero, a.ends)).min(pairs),
                links: a.links + b.links,
                steps: a.steps + b.steps,
                is_closure: a.is_closure || b.is_closure,
                zero,
            }
        }
        Path::Alternative(a, b) => {
            let (a, b) = (shape(planner, a, walks), shape(planner, b, walks));
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
        Path::OneOrMore(inner) => closure(planner, inner, walks),
        Path::ZeroOrMore(inner) => with_zero(planner, closure(planner, inner, walks)),
        Path::ZeroOrOne(inner) => with_zero(planner, shape(planner, inner, walks)),
        Path::NegatedPropertySet(_) => {
            let quads = planner.statistics.quad_count() as f64;
            let nodes = nodes(planner);
            Shape {
                pairs: quads,
                starts: nodes.min(quads),
                ends: nodes.min(quads),
                links: quads,
                // An object is looked up in every column.
                steps: (planner.statistics.predicate_count() as f64).max(1.0),
                is_closure: false,
                zero: 0.0,
            }
        }
    }
}

/// What is known of the path of a pattern. What is reached from a constant is asked for itself.
fn shape_of(planner: &Planner<'_>, pattern: &PathPattern) -> Shape {
    let is_open = !is_constant(&pattern.subject) && !is_constant(&pattern.object);
    shape(planner, &pattern.path, is_open)
}

fn closure(planner: &Planner<'_>, path: &Path, walks: bool) -> Shape {
    let inner = shape(planner, path, walks);
    let walked = walks.then(|| walked_pairs(planner, path, &inner)).flatten();
    let pairs = walked.unwrap_or_else(|| {
        let fan = inner.fan_of_links(true).max(inner.fan_of_links(false));
        let levels = (inner.links + 2.0).ln() / fan.max(2.0).ln();
        inner.links * levels.clamp(1.0, PATH_LEVELS_MAX)
    });
    Shape {
        pairs: pairs.min(inner.starts * inner.ends),
        is_closure: true,
        ..inner
    }
}

/// The pairs of a closure by walks from some of its nodes.
fn walked_pairs(planner: &Planner<'_>, path: &Path, inner: &Shape) -> Option<f64> {
    let mut links = Vec::new();
    if !add_links(planner, path, false, &mut links) || links.is_empty() {
        return None;
    }
    let backward = inner.fan_of_links(false) < inner.fan_of_links(true);
    let (starts, ends) = match backward {
        true => (inner.ends, inner.starts),
        false => (inner.starts, inner.ends),
    };
    let kept = planner.statistics.known_stars().map(|known| &known.walked);
    let mean = planner.walked.get_kept(
        kept,
        |other| other.0 == links && other.1 == backward,
        || (links.clone(), backward),
        || closure::mean_ends(planner, &links, backward, ends),
    );
    Some(starts * mean?.max(1.0))
}

fn with_zero(planner: &Planner<'_>, inner: Shape) -> Shape {
    let nodes = nodes(planner).max(inner.starts);
    Shape {
        pairs: inner.pairs - inner.zero + nodes,
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
    match path {
        Path::OneOrMore(inner) | Path::ZeroOrMore(inner) => {
            let mut links = Vec::new();
            add_links(planner, inner, is_inverse, &mut links).then_some(links)
        }
        Path::Reverse(inner) => links_of_closure(planner, inner, !is_inverse),
        _ => None,
    }
}

/// Adds the links that a path is one of; returns whether it is one of links.
fn add_links(
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
        Path::Reverse(inner) => add_links(planner, inner, !is_inverse, links),
        Path::Alternative(a, b) => {
            add_links(planner, a, is_inverse, links) && add_links(planner, b, is_inverse, links)
        }
        _ => false,
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

/// Pairs that a path connects, and the distinct values of its slots. Solutions without any link are those of every node, or of so many that others have
/// at its ends.
pub(crate) fn rows(
    planner: &Planner<'_>,
    pattern: &PathPattern,
    met: Option<f64>,
) -> (f64, Vec<(Slot, f64)>) {
    let shape = shape_of(planner, pattern);
    let shape = met.map_or(shape, |met| shape.among(met));
    let rows = match (is_constant(&pattern.subject), is_constant(&pattern.object)) {
        (false, false) => shape.pairs,
        (true, false) => of_constant(planner, pattern, &shape, true),
        (false, true) => of_constant(planner, pattern, &shape, false),
        (true, true) => 1.0,
    };
    let slot = |end: &Endpoint| match end {
        Endpoint::Slot(slot) => Some(*slot),
        Endpoint::Constant(_) => None,
    };
    let graphs = planner.statistics.named_graph_count() as f64;
    let distinct = [
        (slot(&pattern.subject), shape.nodes(true).min(rows)),
        (slot(&pattern.object), shape.nodes(false).min(rows)),
        (pattern.graphs.slot(), graphs),
    ];
    let distinct = distinct.into_iter();
    let distinct = distinct.filter_map(|(slot, distinct)| Some((slot?, distinct)));
    (rows, distinct.collect())
}

/// Whether a path has solutions without any link.
pub(crate) fn may_be_empty(path: &Path) -> bool {
    match path {
        Path::ZeroOrMore(_) | Path::ZeroOrOne(_) => true,
        Path::Reverse(inner) | Path::OneOrMore(inner) => may_be_empty(inner),
        Path::Sequence(a, b) => may_be_empty(a) && may_be_empty(b),
        Path::Alternative(a, b) => may_be_empty(a) || may_be_empty(b),
        Path::NamedNode(_) | Path::NegatedPropertySet(_) => false,
    }
}

/// In how many graphs a path is walked from a start.
fn graphs_walked(planner: &Planner<'_>, pattern: &PathPattern, bound: &SlotSet) -> f64 {
    match &pattern.graphs {
        Graphs::Variable { slot, .. } if bound.contains(*slot) => 1.0,
        Graphs::Variable {
            among: Some(among), ..
        } => (among.len() as f64).max(1.0),
        Graphs::Variable { among: None, .. } => {
            (planner.statistics.named_graph_count() as f64).max(1.0)
        }
        Graphs::One(_) | Graphs::Merge { .. } => 1.0,
    }
}

/// The cost of a path for each of some rows in which these slots are bound, to so many values.
pub(crate) fn join_cost(
    planner: &Planner<'_>,
    pattern: &PathPattern,
    input_rows: f64,
    bound: &SlotSet,
    values: impl Fn(Slot) -> f64,
) -> f64 {
    let shape = shape_of(planner, pattern);
    let is_bound = |end: &Endpoint| match end {
        Endpoint::Slot(slot) => bound.contains(*slot),
        Endpoint::Constant(_) => true,
    };
    let values = |end: &Endpoint| match end {
        Endpoint::Slot(slot) => values(*slot).min(input_rows),
        Endpoint::Constant(_) => 1.0,
    };
    let everything = shape.links * PATH_LINK;
    let graphs = graphs_walked(planner, pattern, bound);
    let from = [&pattern.subject, &pattern.object]
        .into_iter()
        .zip([true, false])
        .filter(|(end, _)| is_bound(end))
        .map(|(end, forward)| {
            let (starts, found) = if is_constant(end) {
                (1.0, of_constant(planner, pattern, &shape, forward))
            } else {
                let nodes = shape.nodes(forward).max(1.0);
                (values(end).min(nodes), shape.fan(forward) + 1.0)
            };
            if !shape.is_closure {
                return starts * (graphs * shape.steps * PATH_LOOKUP + found * PATH_VISIT);
            }
            let probing = starts * (graphs + found) * shape.steps * PATH_LOOKUP;
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
    let ends = [&pattern.subject, &pattern.object];
    let each = match ends.iter().all(|end| is_bound(end) && !is_constant(end)) {
        true => PATH_PAIR,
        false => HASH_PROBE,
    };
    START + input_rows * each + walked
}
