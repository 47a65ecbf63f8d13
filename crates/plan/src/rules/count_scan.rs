//! GROUP BY or DISTINCT over one triple pattern becomes a count from statistics ([`Op::CountScan`]).
//!
//! Applies where at most one variable of the pattern is a key and every aggregate is a COUNT of quads
//! (`COUNT(*)`, or of a variable of the pattern, which is always bound), or of distinct values that
//! statistics know. `COUNT(DISTINCT ?x)` counts quads where key and `?x` are all there is to a row.
//! A merge of graphs has no repeated triples while quads may repeat, unless none of them is irregular: the repeats are counted and taken off where the pattern has no
//! constant but its predicate and the key is not the object; else only sets are taken, keys and distinct values. Conditions may read the key only, and are applied to the counts. Nothing may come
//! from around an EXISTS.

use crate::cost_constants::{COUNT_KEY, PATTERN_SCAN, START};
use crate::expression::{is_pure, slots_of};
use crate::logical::{Logical, Triple};
use crate::lower::Outer;
use crate::physical::{
    Aggregate, AggregateFunction, Expr, Graphs, Node, Op, Pattern, Position, QuadCount, Slot,
};
use crate::planner::{PlanError, Planner, node};
use crate::slot_set::SlotSet;

/// Values of a column that has no inverse up to which counting them cell by cell is no worse than
/// the general plan, which has several threads but more work.
const VALUES_WITHOUT_INVERSE_MAX: u64 = 1 << 16;
/// Predicates that a store is taken to have.
const PREDICATES_GUESS: f64 = 50.0;

/// A pattern whose quads can be counted.
struct Counted<'a> {
    pattern: Pattern,
    filters: &'a [Expr],
    /// Slots in the order of positions.
    slots: Vec<Slot>,
    /// Quads of merged graphs that may have the triple of another one, which is a row once.
    may_repeat: u64,
}

/// The counts for a GROUP BY, if they can be had.
pub(crate) fn aggregate(
    planner: &mut Planner<'_>,
    input: &Logical,
    keys: &[Slot],
    aggregates: &[Aggregate],
    outer: &Outer,
) -> Result<Option<Node>, PlanError> {
    let key = match keys {
        [] if aggregates.is_empty() => return Ok(None),
        [] => None,
        [key] => Some(*key),
        _ => return Ok(None),
    };
    let arguments = aggregates.iter().filter_map(|a| match &a.argument {
        Some(Expr::Slot(slot)) => Some(*slot),
        _ => None,
    });
    let read: SlotSet = arguments.chain(key).collect();
    let Some(counted) = countable(planner, input, &read, outer) else {
        return Ok(None);
    };
    let counts = aggregates
        .iter()
        .map(|aggregate| counted.count(planner, aggregate, key))
        .collect::<Option<Vec<_>>>();
    match counts {
        Some(counts) => counted.into_node(planner, key, counts),
        None => Ok(None),
    }
}

/// The distinct values of one slot of a pattern, if they can be had.
pub(crate) fn distinct(
    planner: &mut Planner<'_>,
    input: &Logical,
    outer: &Outer,
) -> Result<Option<Node>, PlanError> {
    let key = match input {
        Logical::Project { slots, .. } => match slots.as_slice() {
            [key] => *key,
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    match countable(planner, input, &SlotSet::of(&[key]), outer) {
        Some(counted) => counted.into_node(planner, Some(key), Vec::new()),
        None => Ok(None),
    }
}

/// The one pattern that a plan reads, if its quads can be counted; `read` are the slots that must be
/// visible of it.
fn countable<'a>(
    planner: &Planner<'_>,
    input: &'a Logical,
    read: &SlotSet,
    outer: &Outer,
) -> Option<Counted<'a>> {
    if !planner.rule("count_scan") {
        return None;
    }
    let mut plan = input;
    while let Logical::Project { input, slots } = plan {
        if !read.is_subset(&SlotSet::of(slots)) {
            return None;
        }
        plan = input;
    }
    let Logical::Group(group) = plan else {
        return None;
    };
    let [triple] = group.triples.as_slice() else {
        return None;
    };
    let alone = group.paths.is_empty() && group.children.is_empty() && !triple.optional;
    let slots = slots_in_order(triple);
    let set = SlotSet::of(&slots);
    let repeats = set.iter().count() != slots.len();
    let correlated = group.filters.iter().fold(set, |s, f| s.union(slots_of(f)));
    let usable = alone
        && !repeats
        && triple.subject.slot().is_some()
        && read.is_subset(&set)
        && correlated.is_disjoint(&outer.slots);
    if !usable {
        return None;
    }
    // Cells of a row are in one graph.
    let may_repeat = match (&triple.graphs, triple.predicate) {
        (Graphs::One(_) | Graphs::Variable { .. }, _) => 0,
        (Graphs::Merge { .. }, Position::Id(predicate)) => {
            planner.statistics.irregular(predicate).quads
        }
        (Graphs::Merge { .. }, Position::Slot(_)) => planner.statistics.irregular_quad_count(),
    };
    Some(Counted {
        may_repeat,
        pattern: Pattern {
            subject: triple.subject,
            predicate: triple.predicate,
            object: triple.object,
            graphs: triple.graphs.clone(),
        },
        filters: &group.filters,
        slots,
    })
}

fn slots_in_order(triple: &Triple) -> Vec<Slot> {
    [triple.subject, triple.predicate, triple.object]
        .into_iter()
        .filter_map(Position::slot)
        .chain(triple.graphs.slot())
        .collect()
}

impl Counted<'_> {
    /// The count that an aggregate asks for.
    fn count(
        &self,
        planner: &Planner<'_>,
        aggregate: &Aggregate,
        key: Option<Slot>,
    ) -> Option<QuadCount> {
        let slot = aggregate.slot;
        let argument = match (&aggregate.function, &aggregate.argument) {
            (AggregateFunction::Count, None) if !aggregate.distinct => None,
            (AggregateFunction::Count, Some(Expr::Slot(argument)))
                if self.slots.contains(argument) =>
            {
                Some(*argument)
            }
            _ => return None,
        };
        let distinct = argument.filter(|_| aggregate.distinct);
        let Some(value) = distinct else {
            return self
                .counts_rows(key)
                .then_some(QuadCount { slot, distinct });
        };
        let others = self.slots.iter().filter(|s| **s != value);
        let whole_row = others.copied().all(|other| Some(other) == key) && key != Some(value);
        if whole_row && self.counts_rows(key) {
            let distinct = None;
            return Some(QuadCount { slot, distinct });
        }
        self.knows_distinct(planner, value, key)
            .then_some(QuadCount { slot, distinct })
    }

    /// Whether the rows of the pattern are counted for each value of the key.
    fn counts_rows(&self, key: Option<Slot>) -> bool {
        let object = self.pattern.object.slot();
        self.may_repeat == 0 || (object.is_some() && (key.is_none() || key != object))
    }

    fn is(&self, slot: Slot, position: Position) -> bool {
        position == Position::Slot(slot)
    }

    /// Whether the distinct values of a slot are known for each value of the key.
    fn knows_distinct(&self, planner: &Planner<'_>, value: Slot, key: Option<Slot>) -> bool {
        let pattern = &self.pattern;
        let by_predicate = key.is_none_or(|key| self.is(key, pattern.predicate));
        let by_graph = key.is_none_or(|key| pattern.graphs.slot() == Some(key));
        if key == Some(value) {
            false
        } else if self.is(value, pattern.subject) {
            by_predicate && pattern.object.slot().is_some()
        } else if self.is(value, pattern.predicate) {
            by_graph
        } else if self.is(value, pattern.object) {
            key.is_none() && self.objects_are_keys(planner)
        } else {
            by_predicate
        }
    }

    /// Whether the objects of the pattern are the keys of inverses, or few.
    fn objects_are_keys(&self, planner: &Planner<'_>) -> bool {
        let Position::Id(predicate) = self.pattern.predicate else {
            return false;
        };
        planner.columns(predicate).iter().all(|(table, column)| {
            let all_graphs = self.pattern.graphs == Graphs::Merge { among: None };
            let one_graph = planner.statistics.table_graph(*table).is_some();
            (column.has_inverse && (one_graph || all_graphs))
                || column.values <= VALUES_WITHOUT_INVERSE_MAX
        })
    }

    /// The groups that the counts will have, if the key is one that quads are counted by.
    fn groups(&self, planner: &Planner<'_>, key: Option<Slot>) -> Option<f64> {
        let pattern = &self.pattern;
        let Some(key) = key else { return Some(1.0) };
        let quads = planner.statistics.quad_count() as f64;
        if self.is(key, pattern.predicate) {
            Some(PREDICATES_GUESS.min(quads))
        } else if pattern.graphs.slot() == Some(key) {
            Some(planner.statistics.named_graph_count() as f64)
        } else if self.is(key, pattern.object) && self.objects_are_keys(planner) {
            let Position::Id(predicate) = pattern.predicate else {
                return None;
            };
            let columns = planner.columns(predicate);
            let in_columns: u64 = columns.iter().map(|(_, column)| column.distinct).sum();
            let irregular = planner.statistics.irregular(predicate).objects;
            Some((in_columns + irregular) as f64)
        } else {
            None
        }
    }

    fn into_node(
        self,
        planner: &mut Planner<'_>,
        key: Option<Slot>,
        counts: Vec<QuadCount>,
    ) -> Result<Option<Node>, PlanError> {
        let on_key = |f: &Expr| slots_of(f).is_subset(&key.into_iter().collect()) && is_pure(f);
        if !self.filters.iter().all(on_key) || (key.is_none() && !self.filters.is_empty()) {
            return Ok(None);
        }
        let Some(groups) = self.groups(planner, key) else {
            return Ok(None);
        };
        let schema: Vec<Slot> = key
            .into_iter()
            .chain(counts.iter().map(|c| c.slot))
            .collect();
        let certain = SlotSet::of(&schema);
        let counts_rows = counts.iter().any(|count| count.distinct.is_none());
        let compared = match counts_rows {
            true => self.may_repeat as f64 * PATTERN_SCAN,
            false => 0.0,
        };
        let cost = START + groups * COUNT_KEY * (1 + counts.len()) as f64 + compared;
        let filters = self.filters.to_vec();
        let op = Op::CountScan {
            pattern: self.pattern,
            key,
            counts,
        };
        let counted = node(op, schema, certain, groups, cost);
        planner.apply_conditions(counted, filters).map(Some)
    }
}
