//! Rows of single patterns, from predicate totals.

use crate::physical::{Pattern, Position};
use crate::planner::Planner;
use basalt_rdf::TermId;

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
