//! How many groups GROUP BY makes, and how many distinct values a slot of a plan has.
//!
//! A slot that is a subject or an object of a pattern has at most the distinct values of that place, in whichever of the operators below
//! the group that is. Of `v` values that are equally likely, `n` rows meet `v * (1 - (1 - 1/v)^n)` (Cardenas, "Analysis
//! and performance of inverted data base structures", CACM 1975). Several keys have as many groups as the products of their values have, met by as many
//! rows: keys are taken to be independent. Keys that all come from one input of a join have no more than there.
//!
//! Cost: a walk down the plan for each key; profiles of stars are known from planning them.

use crate::expression::{is_pure, slots_of};
use crate::join_order::{pattern_distinct, star_distinct};
use crate::physical::{Aggregate, AggregateFunction, Expr, Node, Op, Position, Slot, Star};
use crate::planner::Planner;
use crate::slot_set::SlotSet;

/// Groups of rows of which nothing is known grow slower than the rows.
const UNKNOWN_EXPONENT: f64 = 0.75;
/// Different numbers of rows that groups have for each row of the mean of them; chosen: degrees are skewed.
const COUNTS_FOR_MEAN: f64 = 8.0;

/// The groups that the rows of a plan make by some keys.
pub(crate) fn groups(planner: &Planner<'_>, input: &Node, keys: &[Slot]) -> f64 {
    if keys.is_empty() {
        return 1.0;
    }
    let rows = input.estimated_rows.max(1.0);
    combinations(planner, input, keys).unwrap_or_else(|| rows.powf(UNKNOWN_EXPONENT))
}

/// The different combinations of values of some slots; `None` if the values of some slot are not known.
pub(crate) fn combinations(planner: &Planner<'_>, input: &Node, slots: &[Slot]) -> Option<f64> {
    if let [slot] = slots
        && star_of_subject(input, *slot).is_some()
    {
        return distinct(planner, input, *slot);
    }
    let values = slots.iter().map(|slot| distinct(planner, input, *slot));
    let values: Option<f64> = values.product();
    let own = met(values?, input.estimated_rows.max(1.0));
    let source = source_of(input, slots).and_then(|source| combinations(planner, source, slots));
    Some(source.map_or(own, |source| own.min(source)))
}

/// The input whose rows all combinations of some slots come from.
fn source_of<'n>(node: &'n Node, slots: &[Slot]) -> Option<&'n Node> {
    let has_all = |child: &&Node| slots.iter().all(|slot| child.schema.contains(slot));
    match &node.op {
        Op::Union { .. } => None,
        // The right side is made anew for each row.
        Op::LateralJoin { left, .. } => Some(&**left).filter(has_all),
        op => op.children().into_iter().find(has_all),
    }
}

/// How many of some values that are equally likely so many rows meet; at least one.
fn met(values: f64, rows: f64) -> f64 {
    // For large numbers (1 - 1/v)^n is e^(-n/v).
    let met = values * -(-rows / values).exp_m1();
    met.min(rows).max(1.0)
}

/// The distinct values that a slot can have; `None` if that is not known. A slot that no row binds has one, unbound.
pub(crate) fn distinct(planner: &Planner<'_>, node: &Node, slot: Slot) -> Option<f64> {
    if !node.schema.contains(&slot) {
        return Some(1.0);
    }
    let below = || {
        let having = node.op.children().into_iter();
        let having = having.filter(|child| child.schema.contains(&slot));
        having
            .filter_map(|child| distinct(planner, child, slot))
            .reduce(f64::min)
    };
    let values = match &node.op {
        Op::StarScan { star, .. } | Op::StarJoin { star, .. } => {
            let of_rows = at_most(of_star(planner, star, slot), subjects(planner, node, slot));
            at_most(of_rows, below())
        }
        Op::PatternScan { pattern, .. } => known(
            pattern_distinct(planner, pattern, node.estimated_rows),
            slot,
        ),
        Op::PatternJoin { pattern, .. } => at_most(
            known(
                pattern_distinct(planner, pattern, node.estimated_rows),
                slot,
            ),
            below(),
        ),
        Op::Extend {
            input,
            slot: made,
            expr,
        } if *made == slot => computed(planner, input, expr),
        Op::Group {
            input, aggregates, ..
        } => match picked(aggregates, slot) {
            Some(of) => computed(planner, input, of),
            None if is_count(aggregates, slot) => {
                Some(different_counts(input.estimated_rows, node.estimated_rows))
            }
            None => below(),
        },
        Op::Values { rows } => Some(rows.len() as f64),
        Op::Union { inputs } => inputs
            .iter()
            .map(|input| distinct(planner, input, slot))
            .sum(),
        _ => below(),
    };
    values.map(|values| values.clamp(1.0, node.estimated_rows.max(1.0)))
}

/// Of what an aggregate takes one value of each group, if a slot is such.
fn picked(aggregates: &[Aggregate], slot: Slot) -> Option<&Expr> {
    let made = aggregates.iter().find(|aggregate| aggregate.slot == slot)?;
    let argument = made.argument.as_ref();
    argument.filter(|_| made.function.picks_one())
}

/// Whether a slot is the number of what groups have.
fn is_count(aggregates: &[Aggregate], slot: Slot) -> bool {
    let mut aggregates = aggregates.iter();
    aggregates.any(|own| own.slot == slot && own.function == AggregateFunction::Count)
}

/// How many different numbers of rows so many groups are expected to have: up to some times the mean, and no more than add up to all rows.
fn different_counts(rows: f64, groups: f64) -> f64 {
    let most = (2.0 * rows).sqrt();
    most.min(rows / groups.max(1.0) * COUNTS_FOR_MEAN)
}

/// The distinct values of an expression at most: those of what it reads.
fn computed(planner: &Planner<'_>, input: &Node, expr: &Expr) -> Option<f64> {
    if !is_pure(expr) {
        return None;
    }
    let slots = slots_of(expr).to_vec();
    let values = slots.iter().map(|slot| distinct(planner, input, *slot));
    values.product()
}

/// The distinct values of a slot of a star before conditions.
pub(crate) fn of_star(planner: &Planner<'_>, star: &Star, slot: Slot) -> Option<f64> {
    known(
        star_distinct(planner, star, &planner.star_profile(star)),
        slot,
    )
}

/// The star that a node reads and whose subject a slot is, if it is not bound before, with the slots that are. The rows are of so many subjects, and do not
/// meet some of more by chance.
fn star_of_subject(node: &Node, slot: Slot) -> Option<(&Star, SlotSet)> {
    let (star, bound) = match &node.op {
        Op::Project { input } => return star_of_subject(input, slot),
        Op::StarScan { star, .. } => (star, SlotSet::default()),
        Op::StarJoin { star, input, .. } => (star, SlotSet::of(&input.schema)),
        _ => return None,
    };
    let is_new = star.subject == Position::Slot(slot) && !bound.contains(slot);
    is_new.then_some((star, bound))
}

/// If a slot is the subject of a star that a node reads, how many its rows have at most: rows of a subject differ in objects that are not bound before.
fn subjects(planner: &Planner<'_>, node: &Node, slot: Slot) -> Option<f64> {
    let (star, bound) = star_of_subject(node, slot)?;
    Some(node.estimated_rows / planner.star_profile(star).rows_alike(star, &bound))
}

/// The number of a slot in a list of them.
fn known(of_slots: Vec<(Slot, super::condition::SlotStatistics)>, slot: Slot) -> Option<f64> {
    let of_slot = of_slots.into_iter().find(|(other, _)| *other == slot);
    of_slot.map(|(_, statistics)| statistics.distinct)
}

fn at_most(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::met;

    #[test]
    fn rows_meet_at_most_all_values() {
        for (values, rows, expected) in [
            (1.0, 1e6, 1.0),
            (10.0, 1.0, 1.0),
            (1000.0, 1000.0, 632.1),
            (1000.0, 1e5, 1000.0),
            (1e9, 1000.0, 1000.0),
            (0.0, 0.0, 1.0),
        ] {
            assert!(
                (met(values, rows) - expected).abs() < 0.1,
                "{values} {rows}"
            );
        }
    }
}
