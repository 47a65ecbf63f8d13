//! Rows of single patterns, from predicate totals.

use crate::cost_constants::{
    GRAPH_PROBE, GRAPH_PROBE_TABLE, GRAPH_QUAD, PATTERN_PROBE, PATTERN_SCAN,
};
use crate::estimate::graph;
use crate::physical::{Graphs, Pattern, Position};
use crate::planner::Planner;
use crate::slot_set::SlotSet;
use basalt_rdf::TermId;

/// Passing over a quad of a row in another graph, of which the graph alone is looked at, in the time of reading one.
const GRAPH_LOOK: f64 = 0.01;
/// Passing over an irregular quad in another graph, besides.
const IRREGULAR_LOOK: f64 = 0.1;

/// Quads that match a pattern.
pub(crate) fn rows(planner: &Planner<'_>, pattern: &Pattern) -> f64 {
    let statistics = planner.statistics;
    let subjects = (statistics.subject_count() as f64).max(1.0);
    let per_subject = (statistics.quad_count() as f64 / subjects).max(1.0);
    match (pattern.subject, pattern.predicate, pattern.object) {
        (Position::Slot(_), Position::Id(p), Position::Id(o)) => object_quads(planner, p, o),
        (Position::Slot(s), Position::Id(p), Position::Slot(o)) => {
            if s == o {
                loops(planner, p)
            } else {
                statistics.predicate_quads(p) as f64 * graph::share_of_pattern(planner, pattern)
            }
        }
        (Position::Id(_), Position::Id(p), _) => {
            (statistics.predicate_quads(p) as f64 / subjects).max(1.0)
        }
        (Position::Slot(_), Position::Slot(_), Position::Slot(_)) => {
            statistics.quad_count() as f64 * graph::share_of_pattern(planner, pattern)
        }
        (Position::Id(subject), Position::Slot(_), _) => {
            let of_table = |table| statistics.quads_of_row(table);
            let found = statistics.table_of(subject).and_then(of_table);
            found.map_or(per_subject, |quads| quads.max(1.0))
        }
        (Position::Slot(_), Position::Slot(_), Position::Id(object)) => {
            let of_table = |table| statistics.links_to_row(table);
            let found = statistics.table_of(object).and_then(of_table);
            found.map_or(per_subject, |quads| quads.max(1.0))
        }
    }
}

/// Quads that a scan for a pattern reads: a slot that occurs twice is no help in finding them.
pub(crate) fn read(planner: &Planner<'_>, pattern: &Pattern, rows: f64) -> f64 {
    let slots = [pattern.subject, pattern.predicate, pattern.object].map(Position::slot);
    let repeats = |a: usize, b: usize| slots[a].is_some() && slots[a] == slots[b];
    let is_scan = slots[0].is_some() && slots[2].is_some();
    if !is_scan {
        return rows;
    }
    let all = all_quads(planner, pattern);
    match repeats(0, 1) || repeats(0, 2) || repeats(1, 2) {
        true => rows.max(all),
        false => rows + passed_over(planner, pattern, all - rows),
    }
}

/// The time to find the quads of a pattern in one graph, which it names or each row binds, where nothing else is bound: by the index of a named graph,
/// or by reading.
pub(crate) fn cost_in_graph(planner: &Planner<'_>, pattern: &Pattern, bound: &SlotSet) -> f64 {
    let statistics = planner.statistics;
    let (share, quads) = match pattern.graphs {
        Graphs::Variable { slot, .. } if bound.contains(slot) => {
            let share = 1.0 / statistics.named_graph_count().max(1) as f64;
            (share, Some(statistics.quad_count() as f64 * share))
        }
        Graphs::One(graph) => {
            let share = graph::share_of_pattern(planner, pattern);
            (
                share,
                statistics.graph_quads(graph).map(|quads| quads as f64),
            )
        }
        _ => (graph::share_of_pattern(planner, pattern), None),
    };
    let all = all_quads(planner, pattern);
    let rows = all * share;
    let read = rows + passed_over(planner, pattern, all - rows);
    let by_reading = PATTERN_PROBE + read * PATTERN_SCAN;
    match quads {
        Some(quads) => {
            let tables = statistics.table_count() as f64;
            let found = GRAPH_PROBE + tables * GRAPH_PROBE_TABLE + quads * GRAPH_QUAD;
            found.min(by_reading)
        }
        None => by_reading,
    }
}

/// Quads with the predicate of a pattern.
fn all_quads(planner: &Planner<'_>, pattern: &Pattern) -> f64 {
    let quads = match pattern.predicate {
        Position::Id(p) => planner.statistics.predicate_quads(p),
        Position::Slot(_) => planner.statistics.quad_count(),
    };
    quads as f64
}

/// What passing over so many quads costs that are in other graphs, in the time of reading one.
fn passed_over(planner: &Planner<'_>, pattern: &Pattern, others: f64) -> f64 {
    if others <= 0.0 {
        return 0.0;
    }
    let irregular = match pattern.predicate {
        Position::Id(p) => planner.statistics.irregular(p).quads,
        Position::Slot(_) => planner.statistics.irregular_quad_count(),
    };
    others * GRAPH_LOOK + others.min(irregular as f64) * IRREGULAR_LOOK
}

/// Subjects of a table, and of the irregular quads, that are looked at for whether they have themselves as objects.
const LOOKED_AT: usize = 64;

/// Quads of a predicate whose object is their subject. What points at itself mostly does so for a reason (an ontology that is its own version), so some
/// subjects are looked at; where none has itself, at most as many do as if objects did not depend on subjects.
fn loops(planner: &Planner<'_>, predicate: TermId) -> f64 {
    let statistics = planner.statistics;
    let quads = statistics.predicate_quads(predicate) as f64;
    let mut looked_at: Vec<(TermId, f64)> = Vec::new();
    for (table, _) in planner.columns(predicate).iter() {
        if let Some((rows, of)) = statistics.spread_rows(*table, None, LOOKED_AT) {
            let stands_for = of / (rows.len() as f64).max(1.0);
            looked_at.extend(rows.into_iter().map(|row| (row, stands_for)));
        }
    }
    looked_at.extend(statistics.spread_irregular(predicate, None, LOOKED_AT));
    let subjects: Vec<TermId> = looked_at.iter().map(|(subject, _)| *subject).collect();
    let (mut found, mut unseen, mut idx) = (0.0, 0.0_f64, 0);
    statistics.objects_of(predicate, &subjects, &mut |objects| {
        let (subject, stands_for) = looked_at[idx];
        match objects.contains(&subject) {
            true => found += stands_for,
            false => unseen = unseen.max(stands_for),
        }
        idx += 1;
    });
    let by_chance = quads / objects(planner, predicate);
    match (found > 0.0, idx > 0) {
        (true, _) => quads.min(found),
        (false, true) => by_chance.min(unseen),
        (false, false) => by_chance,
    }
}

/// Subjects of a predicate.
pub(crate) fn subjects(planner: &Planner<'_>, predicate: TermId) -> f64 {
    let columns = planner.columns(predicate);
    let rows: u64 = columns
        .iter()
        .map(|(_, column)| column.rows_with_value)
        .sum();
    let irregular = planner.statistics.irregular(predicate).subjects;
    (rows + irregular).max(1) as f64
}

/// Distinct objects of a predicate.
pub(crate) fn objects(planner: &Planner<'_>, predicate: TermId) -> f64 {
    let columns = planner.columns(predicate);
    let in_cells: u64 = columns.iter().map(|(_, column)| column.distinct).sum();
    let irregular = planner.statistics.irregular(predicate).objects;
    (in_cells + irregular).max(1) as f64
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
