//! Rows of a star, and its tables. Its access path is chosen in [`star_access`].
//!
//! Rows come from characteristic sets and samples ([`star_rows`]). Where no sets are kept they are, per table,
//! `rows × Π values/rows over unbound objects × MIN share over constant objects` (the minimum, because constants
//! of one star are usually correlated), and the irregular part. Other conditions multiply.

use crate::alternative::Alternative;
use crate::estimate::condition::{self, SlotStatistics};
use crate::estimate::{graph, star_access, star_rows};
use crate::expression::slots_of_all;
use crate::physical::{Expr, Graphs, Position, Slot, Star, StarAccess, StarPattern, TableIdx};
use crate::planner::Planner;
use crate::slot_set::SlotSet;
use basalt_rdf::TermId;

/// What is known of one pattern of a star over the star's tables.
#[derive(Clone, Debug)]
pub(crate) struct PatternProfile {
    /// The predicate.
    pub(crate) predicate: TermId,
    /// Quads that match the pattern alone.
    pub(crate) matches: f64,
    /// Distinct objects.
    pub(crate) distinct: f64,
    /// Objects of a subject that has any, on average.
    pub(crate) per_subject: f64,
    /// Rows of tables without an inverse for it.
    pub(crate) unindexed_rows: f64,
    /// How many rows further on the next row with the same object is, on average.
    pub(crate) rows_apart: f64,
    /// Share of its quads that are irregular.
    pub(crate) irregular_share: f64,
    /// Share of its quads whose subjects are looked up one by one.
    pub(crate) looked_up_share: f64,
    /// Whether cells tell all of its predicate.
    pub(crate) is_in_cells: bool,
    /// Irregular quads that match.
    pub(crate) irregular: f64,
    /// Values in cells, whatever the object.
    pub(crate) cell_values: f64,
    /// Those of each table.
    pub(crate) table_values: Vec<(TableIdx, f64)>,
    /// Of those, how many are rows of which table.
    pub(crate) links: Vec<(TableIdx, f64)>,
    /// In how many tables an object is within the range of values, if ids between the least and the greatest are as likely as each other.
    pub(crate) tables_in_range: f64,
    range: Option<(TermId, TermId)>,
}

/// What is known of a star.
#[derive(Clone, Debug)]
pub(crate) struct StarProfile {
    /// Rows of the star, conditions included.
    pub(crate) rows: f64,
    /// Subjects before constants and conditions: the domain of the subject slot.
    pub(crate) subjects: f64,
    /// Those of them that are in no table.
    pub(crate) irregular_subjects: f64,
    /// Rows of the star's tables.
    pub(crate) table_rows: f64,
    /// The share of rows that conditions keep which are no comparisons.
    pub(crate) unlooked: f64,
    /// The share of the subjects that are in the graph that the star reads, if it is one.
    pub(crate) graph_share: f64,
    /// Graphs that the star may be in, at least one.
    pub(crate) graphs: f64,
    pub(crate) patterns: Vec<PatternProfile>,
    /// Cheapest way to read it alone, and its cost.
    pub(crate) access: StarAccess,
    pub(crate) cost: f64,
    /// The cheapest other way.
    pub(crate) alternative: Option<Alternative>,
}

impl StarProfile {
    /// How many rows of the star differ in objects alone whose slots are not among these: they come one after the other.
    pub(crate) fn rows_alike(&self, star: &Star, read: &SlotSet) -> f64 {
        // Of objects that conditions drop nobody knows how many a subject has left.
        let read = read.union(slots_of_all(&star.filters));
        let patterns = star.patterns.iter().zip(&self.patterns);
        let others = patterns.filter(|(pattern, _)| {
            let object = pattern.object.slot();
            object.is_some_and(|object| !read.contains(object))
        });
        others.map(|(_, known)| known.per_subject).product()
    }
}

/// Sets the star's tables: those that can hold clean rows for it.
pub(crate) fn choose_tables(planner: &Planner<'_>, star: &mut Star) {
    let statistics = planner.statistics;
    star.tables.clear();
    for idx in 0..statistics.table_count() {
        let table = TableIdx(idx as u32);
        let graph_fits = match (&star.graphs, statistics.table_graph(table)) {
            (Graphs::One(graph), Some(home)) => *graph == home,
            (Graphs::Variable { .. }, Some(home)) => home != TermId::DEFAULT_GRAPH,
            _ => true,
        };
        let required = star.patterns.iter().filter(|pattern| !pattern.optional);
        if statistics.table_rows(table) > 0
            && graph_fits
            && required
                .into_iter()
                .all(|pattern| column_may_match(planner, table, pattern))
        {
            star.tables.push(table);
        }
    }
    if let Position::Id(subject) = star.subject {
        let home = statistics.table_of(subject);
        star.tables.retain(|table| Some(*table) == home);
    }
}

fn column_may_match(planner: &Planner<'_>, table: TableIdx, pattern: &StarPattern) -> bool {
    let columns = planner.columns(pattern.predicate);
    let Some((_, column)) = columns.iter().find(|(idx, _)| *idx == table) else {
        return false;
    };
    let Position::Id(object) = pattern.object else {
        return column.values > 0;
    };
    let in_range = column
        .range
        .is_some_and(|(min, max)| min <= object && object <= max);
    in_range
        && planner
            .statistics
            .object_count(table, pattern.predicate, object)
            != Some(0)
}

/// Estimates a star whose tables are chosen.
pub(crate) fn profile(planner: &Planner<'_>, star: &Star) -> StarProfile {
    let patterns: Vec<PatternProfile> = star
        .patterns
        .iter()
        .map(|pattern| pattern_profile(planner, star, pattern))
        .collect();
    let table_rows: f64 = star
        .tables
        .iter()
        .map(|table| planner.statistics.table_rows(*table) as f64)
        .sum();
    let lookup = |slot: Slot| slot_statistics(star, &patterns, slot);
    let irregular = irregular_rows(star, &patterns);
    let subjects = (table_rows + irregular).max(1.0);
    let estimated = star_rows::estimate(planner, star, &lookup);
    let (mut rows, compared) = match estimated {
        Some(known) => (
            known.before_comparisons,
            known.rows / known.before_comparisons.max(f64::MIN_POSITIVE),
        ),
        None => (regular_rows(planner, star) + irregular, 1.0),
    };
    let graph_share = match star.subject {
        Position::Slot(_) => graph::share(planner, star),
        Position::Id(_) => 1.0,
    };
    rows *= graph_share;
    if rows == 0.0 {
        // Nothing known matches; dirty rows still may.
        rows = 0.5;
    }
    if matches!(star.subject, Position::Id(_)) {
        rows /= if star.tables.is_empty() {
            irregular.max(1.0)
        } else {
            table_rows.max(1.0)
        };
        rows = rows.max(1.0);
    }
    let share = |is_wanted: &dyn Fn(&Expr) -> bool| -> f64 {
        let wanted = star.filters.iter().filter(|f| is_wanted(f));
        let of_filter = |filter: &Expr| match listed_share(planner, star, &patterns, filter) {
            Some(share) => share,
            None => condition::selectivity(filter, &lookup),
        };
        wanted.map(of_filter).product()
    };
    let unlooked = share(&|f| !star_rows::is_comparison(star, f));
    let compared = match estimated {
        Some(_) => compared,
        None => share(&|f| star_rows::is_comparison(star, f)),
    };
    let after_comparisons = rows * compared;
    let mut profile = StarProfile {
        rows: after_comparisons * unlooked,
        subjects: (subjects * graph_share).max(1.0),
        irregular_subjects: irregular,
        table_rows,
        unlooked,
        graph_share,
        graphs: planner.statistics.named_graph_count().max(1) as f64,
        patterns,
        access: StarAccess::Rows,
        cost: 0.0,
        alternative: None,
    };
    star_access::choose(planner, star, &mut profile, (after_comparisons, compared));
    profile
}

/// Constants of a list that are counted at most, some microseconds each.
const LISTED_MAX: usize = 64;

/// The share of a pattern's quads whose object is one of a list of constants, where these can be counted.
fn listed_share(
    planner: &Planner<'_>,
    star: &Star,
    profiles: &[PatternProfile],
    filter: &Expr,
) -> Option<f64> {
    let Expr::In(of, list) = filter else {
        return None;
    };
    let Expr::Slot(slot) = **of else {
        return None;
    };
    let id = |item: &Expr| match item {
        // What the store does not have is the object of nothing.
        Expr::Constant(constant) => Some(constant.id.unwrap_or(TermId::UNBOUND)),
        _ => None,
    };
    let mut ids: Vec<TermId> = list.iter().map(id).collect::<Option<_>>()?;
    ids.sort_unstable();
    ids.dedup();
    ids.retain(|id| id.is_bound());
    if ids.len() > LISTED_MAX {
        return None;
    }
    let mut patterns = star.patterns.iter().zip(profiles);
    let (pattern, known) = patterns.find(|(p, _)| p.object == Position::Slot(slot))?;
    let tables = &star.tables;
    let counts = planner
        .statistics
        .quads_with_objects(tables, pattern.predicate, &ids)?;
    let counted: f64 = counts.iter().sum();
    Some((counted.max(0.5) / known.matches.max(1.0)).min(1.0))
}

/// What is known of an object slot of the star.
pub(crate) fn slot_statistics(
    star: &Star,
    profiles: &[PatternProfile],
    slot: Slot,
) -> Option<SlotStatistics> {
    let idx = star
        .patterns
        .iter()
        .position(|p| p.object == Position::Slot(slot))?;
    let profile = &profiles[idx];
    Some(SlotStatistics {
        distinct: profile.distinct,
        range: profile.range,
    })
}

fn pattern_profile(planner: &Planner<'_>, star: &Star, pattern: &StarPattern) -> PatternProfile {
    let statistics = planner.statistics;
    let irregular = statistics.irregular(pattern.predicate);
    let mut profile = PatternProfile {
        predicate: pattern.predicate,
        matches: 0.0,
        distinct: irregular.objects as f64,
        per_subject: 1.0,
        unindexed_rows: 0.0,
        rows_apart: 1.0,
        irregular_share: 0.0,
        looked_up_share: 0.0,
        is_in_cells: irregular.quads == 0,
        irregular: irregular.quads as f64,
        cell_values: 0.0,
        table_values: Vec::new(),
        links: Vec::new(),
        tables_in_range: 0.0,
        range: None,
    };
    let mut widths = 0.0;
    let mut values = irregular.quads as f64;
    let mut subjects = irregular.subjects as f64;
    for (table, column) in planner.columns(pattern.predicate).iter() {
        if !star.has_table(*table) {
            continue;
        }
        values += column.values as f64;
        subjects += column.rows_with_value as f64;
        profile.distinct += column.distinct as f64;
        let share = column.values as f64 / (profile.cell_values + column.values as f64).max(1.0);
        profile.rows_apart += share * (f64::from(column.rows_apart) - profile.rows_apart);
        profile.cell_values += column.values as f64;
        profile.table_values.push((*table, column.values as f64));
        let links = column.links.iter();
        let links = links.map(|(table, count)| (*table, *count as f64));
        profile.links.extend(links);
        if !column.has_inverse {
            profile.unindexed_rows += statistics.table_rows(*table) as f64;
        }
        widths += column.range.map_or(0.0, width);
        profile.range = match (profile.range, column.range) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (None, range) | (range, None) => range,
        };
        if let Position::Id(object) = pattern.object {
            profile.matches += match statistics.object_count(*table, pattern.predicate, object) {
                Some(count) => count as f64,
                None => column.values as f64 / column.distinct.max(1) as f64,
            };
        }
    }
    match pattern.object {
        Position::Id(object) => {
            profile.irregular = statistics.irregular_object_count(pattern.predicate, object) as f64;
            profile.matches += profile.irregular;
        }
        Position::Slot(_) => profile.matches = values,
    }
    profile.tables_in_range = profile.range.map_or(0.0, |range| widths / width(range));
    profile.irregular_share = irregular.quads as f64 / values.max(1.0);
    let looked_up = statistics.looked_up_quads(pattern.predicate) as f64;
    profile.looked_up_share = looked_up / values.max(1.0);
    profile.distinct = profile.distinct.max(1.0);
    profile.per_subject = (values / subjects.max(1.0)).max(1.0);
    profile
}

/// Ids of a range.
fn width((low, high): (TermId, TermId)) -> f64 {
    high.0.saturating_sub(low.0) as f64 + 1.0
}

/// Rows that come from the tables' cells, where no characteristic sets are kept.
fn regular_rows(planner: &Planner<'_>, star: &Star) -> f64 {
    let statistics = planner.statistics;
    let mut total = 0.0;
    for table in &star.tables {
        let rows = (statistics.table_rows(*table) as f64).max(1.0);
        let (mut product, mut share) = (1.0, 1.0f64);
        for pattern in &star.patterns {
            let columns = planner.columns(pattern.predicate);
            let Some((_, column)) = columns.iter().find(|(idx, _)| idx == table) else {
                continue;
            };
            let per_row = column.values as f64 / rows;
            if pattern.optional {
                product *= per_row.max(1.0);
                continue;
            }
            match pattern.object {
                Position::Slot(_) => product *= per_row,
                Position::Id(object) => {
                    let count = statistics.object_count(*table, pattern.predicate, object);
                    let count = count.map_or(
                        column.values as f64 / column.distinct.max(1) as f64,
                        |count| count as f64,
                    );
                    share = share.min(count / rows);
                }
            }
        }
        total += rows * product * share;
    }
    total
}

/// Rows of dirty rows and of subjects in no table, roughly.
fn irregular_rows(star: &Star, patterns: &[PatternProfile]) -> f64 {
    let required = star
        .patterns
        .iter()
        .zip(patterns)
        .filter(|(pattern, _)| !pattern.optional);
    let least = required
        .clone()
        .map(|(_, p)| p.irregular)
        .fold(f64::INFINITY, f64::min);
    if least > 0.0 && least.is_finite() {
        return least;
    }
    // Some pattern is wholly regular: only rows that mix cells and irregular quads remain.
    let mixed = required
        .map(|(_, p)| p.irregular * (1.0 - p.irregular_share))
        .sum::<f64>();
    if star.tables.is_empty() {
        0.0
    } else {
        mixed * 0.1
    }
}
