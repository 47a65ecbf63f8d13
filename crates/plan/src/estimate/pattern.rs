//! Rows of single patterns and of paths, from predicate totals.

use crate::cost_constants::PATH_GROWTH;
use crate::physical::{Endpoint, PathPattern, Pattern, Position};
use crate::planner::Planner;
use basalt_rdf::TermId;
use spargebra::algebra::PropertyPathExpression;

/// Quads that match a pattern.
pub(crate) fn rows(planner: &Planner<'_>, pattern: &Pattern) -> f64 {
    let statistics = planner.statistics;
    let subjects = (statistics.subject_count() as f64).max(1.0);
    match (pattern.subject, pattern.predicate, pattern.object) {
        (Position::Slot(_), Position::Id(p), Position::Id(o)) => object_quads(planner, p, o),
        (Position::Slot(_), Position::Id(p), Position::Slot(_)) => {
            statistics.predicate_quads(p) as f64
        }
        (Position::Id(_), Position::Id(p), _) => {
            (statistics.predicate_quads(p) as f64 / subjects).max(1.0)
        }
        (Position::Slot(_), Position::Slot(_), Position::Slot(_)) => statistics.quad_count() as f64,
        _ => (statistics.quad_count() as f64 / subjects).max(1.0),
    }
}

/// Quads with a predicate and an object, wherever they are.
pub(crate) fn object_quads(planner: &Planner<'_>, predicate: TermId, object: TermId) -> f64 {
    let statistics = planner.statistics;
    let mut quads = statistics.irregular_object_count(predicate, object) as f64;
    for (table, column) in planner.columns(predicate).iter() {
        quads += match statistics.object_count(*table, predicate, object) {
            Some(count) => count as f64,
            None => column.values as f64 / column.distinct.max(1) as f64,
        };
    }
    quads
}

/// Pairs that a path connects.
pub(crate) fn path_rows(planner: &Planner<'_>, pattern: &PathPattern) -> f64 {
    let pairs = path_pairs(planner, &pattern.path);
    let subjects = (planner.statistics.subject_count() as f64).max(1.0);
    let ends = [&pattern.subject, &pattern.object].into_iter();
    let bound = ends
        .filter(|end| matches!(end, Endpoint::Constant(_)))
        .count();
    match bound {
        0 => pairs,
        1 => (pairs / subjects).max(1.0) * PATH_GROWTH,
        _ => 1.0,
    }
}

fn path_pairs(planner: &Planner<'_>, path: &PropertyPathExpression) -> f64 {
    let statistics = planner.statistics;
    match path {
        PropertyPathExpression::NamedNode(node) => statistics
            .term_id(&node.clone().into())
            .map_or(0.0, |id| statistics.predicate_quads(id) as f64),
        PropertyPathExpression::Reverse(inner) => path_pairs(planner, inner),
        PropertyPathExpression::Sequence(a, b) => {
            path_pairs(planner, a).max(path_pairs(planner, b))
        }
        PropertyPathExpression::Alternative(a, b) => {
            path_pairs(planner, a) + path_pairs(planner, b)
        }
        PropertyPathExpression::OneOrMore(inner) => PATH_GROWTH * path_pairs(planner, inner),
        PropertyPathExpression::ZeroOrMore(inner) => {
            PATH_GROWTH * path_pairs(planner, inner) + statistics.subject_count() as f64
        }
        PropertyPathExpression::ZeroOrOne(inner) => {
            path_pairs(planner, inner) + statistics.subject_count() as f64
        }
        PropertyPathExpression::NegatedPropertySet(_) => statistics.quad_count() as f64,
    }
}
