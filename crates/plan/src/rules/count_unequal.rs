//! GROUP BY that counts rows under `?a != ?c`: all rows are counted, and those with `?a = ?c` taken off.
//!
//! ```text
//! COUNT(*) over  ?a :knows ?b . ?b :knows ?c FILTER(?a != ?c)
//! is COUNT(*) over  ?a :knows ?b . ?b :knows ?c   less COUNT(*) over  ?a :knows ?b . ?b :knows ?a
//! ```
//!
//! Such a condition holds what could be counted [part by part](super::aggregate_parts) together: without it the first count makes no rows, and those of the second are
//! few. Of several conditions all sets are taken, one more made equal turning the sign (inclusion and exclusion); sets that make the same slots equal are
//! counted once, so often as their signs add up to.
//!
//! Applies where every aggregate counts joined rows and each condition compares what is always a resource on one side: of these `!=` is never an error, and true
//! where the terms differ; and where there are parts without them. Nothing may come from around an EXISTS. Chosen by cost.

use crate::expression::is_pure;
use crate::logical::{JoinGroup, Logical};
use crate::lower::Outer;
use crate::physical::{Aggregate, Expr, Node, Slot};
use crate::planner::{PlanError, Planner};
use crate::rules::count_first::{count_rows, counted_group, sum};
use crate::rules::{aggregate_parts, term_equality};
use crate::slot_set::SlotSet;
use crate::value_kinds::ValueKinds;

/// Conditions that are taken out at most: there are twice as many sets with each.
const CONDITIONS_MAX: usize = 3;

/// Slots that are to be different.
type Pair = (Slot, Slot);

/// The group, if what it counts can be counted without its inequalities.
pub(crate) fn aggregate(
    planner: &mut Planner<'_>,
    input: &Logical,
    keys: &[Slot],
    aggregates: &[Aggregate],
    outer: &Outer,
) -> Result<Option<Node>, PlanError> {
    let Some(group) = counted_group(planner, "count_unequal", input, aggregates, outer) else {
        return Ok(None);
    };
    let Some((rest, unequal)) = split(planner, group) else {
        return Ok(None);
    };
    if planner.alternatives == 0 || !aggregate_parts::has_parts(planner, &rest, keys) {
        return Ok(None);
    }
    planner.alternatives -= 1;
    let Ok(count) = planner.fresh_slot("count") else {
        return Ok(None);
    };
    let mut counts = Vec::new();
    for Set { equal, times, .. } in sets(&unequal) {
        match counted(planner, &rest, &equal, times, (keys, count)) {
            Some(counted) => counts.push(counted),
            None => return Ok(None),
        }
    }
    let aggregates = aggregates.iter().map(|a| sum(a.slot, Expr::Slot(count)));
    let aggregates: Vec<Aggregate> = aggregates.collect();
    let mut all = Logical::Aggregate {
        input: Box::new(Logical::Union(counts)),
        keys: keys.to_vec(),
        aggregates: aggregates.clone(),
    };
    if !keys.is_empty() {
        // A group of which all rows are taken off is none: a number is true unless it is 0.
        all = Logical::Filter {
            input: Box::new(all),
            conditions: vec![Expr::Slot(aggregates[0].slot)],
        };
    }
    planner.lower(&all, &Outer::default()).map(Some)
}

/// The group without conditions that two slots differ, and these slots; `None` if there are none, or too many.
fn split(planner: &Planner<'_>, group: &JoinGroup) -> Option<(JoinGroup, Vec<Pair>)> {
    let is_plain = group.children.is_empty()
        && group.paths.is_empty()
        && group.triples.iter().all(|triple| !triple.optional)
        && group.filters.iter().all(is_pure);
    if !is_plain {
        return None;
    }
    let bound = group.certain();
    let is_resource =
        |slot: Slot| ValueKinds::in_group(planner, group, slot) == ValueKinds::RESOURCE;
    let mut rest = group.clone();
    let mut unequal = Vec::new();
    rest.filters
        .retain(|condition| match unequal_slots(condition) {
            Some((a, b)) if a != b && bound.contains(a) && bound.contains(b) => {
                let is_told = is_resource(a) || is_resource(b);
                if is_told {
                    unequal.push((a, b));
                }
                !is_told
            }
            _ => true,
        });
    (1..=CONDITIONS_MAX)
        .contains(&unequal.len())
        .then_some((rest, unequal))
}

/// The slots of `?a != ?b`.
fn unequal_slots(condition: &Expr) -> Option<Pair> {
    let Expr::Not(inner) = condition else {
        return None;
    };
    let (Expr::Equal(a, b) | Expr::SameTerm(a, b)) = &**inner else {
        return None;
    };
    match (&**a, &**b) {
        (Expr::Slot(a), Expr::Slot(b)) => Some((*a, *b)),
        _ => None,
    }
}

/// Slots made equal.
struct Set {
    /// For each slot of a pair the first one that it equals.
    firsts: Vec<(Slot, Slot)>,
    /// Pairs that make them so.
    equal: Vec<Pair>,
    /// How often its rows count; less than nothing if they are taken off.
    times: i64,
}

/// The sets of all choices of pairs.
fn sets(unequal: &[Pair]) -> Vec<Set> {
    let mut sets: Vec<Set> = Vec::new();
    for choice in 0..1_u32 << unequal.len() {
        let chosen = unequal.iter().enumerate();
        let chosen = chosen.filter(|(idx, _)| choice >> idx & 1 == 1);
        let equal: Vec<Pair> = chosen.map(|(_, pair)| *pair).collect();
        let firsts = firsts(unequal, &equal);
        let sign = if equal.len().is_multiple_of(2) { 1 } else { -1 };
        match sets.iter_mut().find(|set| set.firsts == firsts) {
            Some(same) => same.times += sign,
            None => sets.push(Set {
                firsts,
                equal,
                times: sign,
            }),
        }
    }
    sets.retain(|set| set.times != 0);
    sets
}

/// For each slot of all pairs the first that it equals, given those that are equal.
fn firsts(all: &[Pair], equal: &[Pair]) -> Vec<(Slot, Slot)> {
    let slots: SlotSet = all.iter().flat_map(|&(a, b)| [a, b]).collect();
    let first_of = |slot: Slot| {
        let sets = equal.iter().map(|&(a, b)| SlotSet::of(&[a, b]));
        let alike = SlotSet::of(&[slot]).connected(sets);
        alike.iter().next().unwrap_or(slot)
    };
    slots.iter().map(|slot| (slot, first_of(slot))).collect()
}

/// How often the rows with some slots equal count, by the keys; `None` if there is no slot left.
fn counted(
    planner: &mut Planner<'_>,
    group: &JoinGroup,
    equal: &[Pair],
    times: i64,
    (keys, count): (&[Slot], Slot),
) -> Option<Logical> {
    let mut group = group.clone();
    let same = equal.iter().map(|&(a, b)| {
        let (a, b) = (Box::new(Expr::Slot(a)), Box::new(Expr::Slot(b)));
        Expr::SameTerm(a, b)
    });
    group.filters.extend(same);
    let mut rows = term_equality::apply(planner, SlotSet::default(), Logical::Group(group));
    // What is the same as another slot is counted with that.
    loop {
        match rows {
            Logical::Extend { input, slot, .. } if !keys.contains(&slot) => rows = *input,
            _ => break,
        }
    }
    if let Logical::Group(group) = &mut rows {
        for triple in std::mem::take(&mut group.triples) {
            if !group.triples.contains(&triple) {
                group.triples.push(triple);
            }
        }
    }
    let found = planner.fresh_slot("count").ok()?;
    let counted = Logical::Aggregate {
        input: Box::new(rows),
        keys: keys.to_vec(),
        aggregates: vec![count_rows(found)],
    };
    Some(Logical::Project {
        input: Box::new(Logical::Extend {
            input: Box::new(counted),
            slot: count,
            expr: so_often(found, times),
        }),
        slots: keys.iter().copied().chain([count]).collect(),
    })
}

/// A count so many times, in the sums of itself that few conditions make: templates of plans know no constants that a query has not.
fn so_often(count: Slot, times: i64) -> Expr {
    let each = || Expr::Slot(count);
    let more = (1..times.unsigned_abs()).map(|_| each());
    let all = more.fold(each(), |sum, more| Expr::Add(Box::new(sum), Box::new(more)));
    match times < 0 {
        true => Expr::UnaryMinus(Box::new(all)),
        false => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_that_make_the_same_slots_equal_are_one_set() {
        let [a, b, c, d] = [0, 1, 2, 3].map(Slot);
        let told = |unequal: &[Pair]| {
            let sets = sets(unequal).into_iter();
            sets.map(|set| (set.equal.len(), set.times))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(&[(a, b)]), [(0, 1), (1, -1)]);
        let triangle = [(0, 1), (1, -1), (1, -1), (1, -1), (2, 2)];
        let mut found = told(&[(a, b), (b, c), (a, c)]);
        found.sort_unstable();
        let mut expected = triangle.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected);
        assert_eq!(told(&[(a, b), (c, d)]), [(0, 1), (1, -1), (1, -1), (2, 1)]);
        // The same said twice takes nothing more.
        assert_eq!(told(&[(a, b), (b, a)]), [(0, 1), (1, -1)]);
    }
}
