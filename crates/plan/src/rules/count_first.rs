//! GROUP BY that counts the quads of one pattern for each row of others: counted first, then joined.
//!
//! ```text
//! COUNT(?offer) by ?product over  ?offer :product ?product . ?product :type :Phone
//! is the count of ?offer by ?product (a `CountScan` of the inverse) joined with  ?product :type :Phone
//! ```
//!
//! A pattern that shares only its object, its predicate or its graph with the rest of the group gives each row of the rest as many joined rows as
//! that has quads. So where the rest is distinct by the keys the count is the aggregate, and elsewhere the sum of counts
//! is (eager aggregation: Yan and Larson, "Eager Aggregation and Lazy Aggregation", VLDB 1995).
//!
//! Applies where every aggregate counts joined rows: COUNT of nothing, or of a slot that is always bound, not DISTINCT. No
//! condition may read the pattern's other slots. Nothing may come from around an EXISTS. Chosen by cost.

use super::count_scan;
use crate::expression::{is_pure, slots_of_all};
use crate::logical::{JoinGroup, Logical, Triple};
use crate::lower::Outer;
use crate::physical::{Aggregate, AggregateFunction, Expr, Node, Slot};
use crate::planner::{PlanError, Planner};
use crate::rules::remove_distinct::is_distinct;
use crate::slot_set::SlotSet;

/// The group, if the quads of one of its patterns can be counted before the join.
pub(crate) fn aggregate(
    planner: &mut Planner<'_>,
    input: &Logical,
    keys: &[Slot],
    aggregates: &[Aggregate],
    outer: &Outer,
) -> Result<Option<Node>, PlanError> {
    let Some(group) = counted_group(planner, "count_first", input, aggregates, outer) else {
        return Ok(None);
    };
    let plain = group.children.is_empty() && group.paths.is_empty() && group.triples.len() > 1;
    if !plain || !group.filters.iter().all(is_pure) {
        return Ok(None);
    }
    // Of the plans one is taken, so they may share it; without a slot the query is answered as it stands.
    let Ok(count) = planner.fresh_slot("count") else {
        return Ok(None);
    };
    let mut best: Option<Node> = None;
    for at in 0..group.triples.len() {
        if let Some(plan) = counting(planner, group, at, keys, aggregates, count)? {
            let cheaper = |known: &Node| plan.estimated_cost < known.estimated_cost;
            if best.as_ref().is_none_or(cheaper) {
                best = Some(plan);
            }
        }
    }
    Ok(best)
}

/// The group, for a rule that is on, if every aggregate counts its rows and nothing comes from around an EXISTS.
pub(super) fn counted_group<'g>(
    planner: &Planner<'_>,
    rule: &str,
    input: &'g Logical,
    aggregates: &[Aggregate],
    outer: &Outer,
) -> Option<&'g JoinGroup> {
    let Logical::Group(group) = input else {
        return None;
    };
    let is_free = planner.rule(rule) && outer.slots.is_empty() && !aggregates.is_empty();
    (is_free && counts_rows(group, aggregates)).then_some(group)
}

/// Whether every aggregate counts the rows of a group.
fn counts_rows(group: &JoinGroup, aggregates: &[Aggregate]) -> bool {
    let certain = group.certain();
    aggregates.iter().all(|aggregate| {
        let bound = match &aggregate.argument {
            None => true,
            Some(Expr::Slot(slot)) => certain.contains(*slot),
            Some(_) => false,
        };
        bound && !aggregate.distinct && aggregate.function == AggregateFunction::Count
    })
}

/// The plan that counts one pattern first.
fn counting(
    planner: &mut Planner<'_>,
    group: &JoinGroup,
    at: usize,
    keys: &[Slot],
    aggregates: &[Aggregate],
    count: Slot,
) -> Result<Option<Node>, PlanError> {
    let mut rest = group.clone();
    let triple = rest.triples.remove(at);
    let Some(key) = shared_key(&triple, &rest, keys) else {
        return Ok(None);
    };
    let counted = count_rows(count);
    let pattern = Logical::Group(JoinGroup {
        triples: vec![triple],
        ..JoinGroup::default()
    });
    let alone = Outer::default();
    let counted = [counted];
    if count_scan::aggregate(planner, &pattern, &[key], &counted, &alone)?.is_none() {
        return Ok(None);
    }
    let by_keys = Logical::Project {
        input: Box::new(Logical::Group(rest.clone())),
        slots: keys.to_vec(),
    };
    let is_one_row = is_distinct(&by_keys);
    rest.children.push(Logical::Aggregate {
        input: Box::new(pattern),
        keys: vec![key],
        aggregates: counted.to_vec(),
    });
    let mut joined = Logical::Group(rest);
    if is_one_row {
        // Each joined row is a group, and the same count is every aggregate.
        for aggregate in aggregates {
            joined = Logical::Extend {
                input: Box::new(joined),
                slot: aggregate.slot,
                expr: Expr::Slot(count),
            };
        }
    } else {
        joined = Logical::Aggregate {
            input: Box::new(joined),
            keys: keys.to_vec(),
            aggregates: aggregates
                .iter()
                .map(|a| sum(a.slot, Expr::Slot(count)))
                .collect(),
        };
    }
    let slots = keys.iter().copied();
    let slots = slots.chain(aggregates.iter().map(|aggregate| aggregate.slot));
    let joined = Logical::Project {
        input: Box::new(joined),
        slots: slots.collect(),
    };
    planner.lower(&joined, &alone).map(Some)
}

/// The count of all rows.
pub(super) fn count_rows(slot: Slot) -> Aggregate {
    Aggregate {
        slot,
        function: AggregateFunction::Count,
        argument: None,
        distinct: false,
    }
}

/// The sum of what counts make for each row.
pub(super) fn sum(slot: Slot, each: Expr) -> Aggregate {
    Aggregate {
        slot,
        function: AggregateFunction::Sum,
        argument: Some(each),
        distinct: false,
    }
}

/// The object, predicate or graph of a pattern, if nothing else of the pattern is read by the rest, its conditions or the keys.
fn shared_key(triple: &Triple, rest: &JoinGroup, keys: &[Slot]) -> Option<Slot> {
    let read = rest.schema().union(SlotSet::of(keys));
    let read = read.union(slots_of_all(&rest.filters));
    let shared = triple.slots().intersect(read).to_vec();
    let [key] = shared[..] else {
        return None;
    };
    let ends = [
        triple.object.slot(),
        triple.predicate.slot(),
        triple.graphs.slot(),
    ];
    let fits = ends.contains(&Some(key)) && rest.certain().contains(key) && !triple.optional;
    (fits && SlotSet::of(keys).is_subset(&rest.schema())).then_some(key)
}
