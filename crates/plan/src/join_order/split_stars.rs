//! Stars that are better joined in parts: those with several patterns that repeat rows.
//!
//! ```text
//! ?a :follows ?b ; :likes ?p .   ?b :follows ?a ; :likes ?p .
//! whole:  each ?a with each ?b and each ?p, then ?b looked at         (products of lists)
//! parts:  ?a :follows ?b, then ?b :follows ?a; what is left gets ?p   (a list at a time)
//! ```
//!
//! A star gives all combinations of the values of its patterns at once, also those that a join by one of them would have dropped. In parts
//! joined by their subject, each part can be joined when it drops most. What is lost is the scan of several columns in one pass, and what is known of
//! values that occur together, so whole stars are planned first, and a plan in parts is taken where it is far cheaper ([`SPLIT_COST_FACTOR`](crate::cost_constants::SPLIT_COST_FACTOR)).
//!
//! Invariant: the parts have the patterns of the star, each in one part; with one subject and the same graphs their join is the star.
//! Cost: a second search, for groups whose plan takes [`SPLIT_COST_MIN`](crate::cost_constants::SPLIT_COST_MIN) or more.

use super::{Planner, UnitKind};
use crate::estimate::star;
use crate::physical::{Graphs, Position, Slot, Star, StarPattern};
use crate::slot_set::SlotSet;

/// Values that each row with any has on average, for a pattern to have a part of its own.
const VALUES_MIN: f64 = 1.5;
/// Units with those parts, at most: planning takes longer with each.
const UNITS_MAX: usize = 8;

/// The units with stars in parts; `None` if no star is worth it.
pub(super) fn split(planner: &Planner<'_>, kinds: &[UnitKind]) -> Option<Vec<UnitKind>> {
    let mut made = Vec::new();
    let mut stars = Vec::new();
    for (idx, kind) in kinds.iter().enumerate() {
        let others = kinds.iter().enumerate().filter(|(other, _)| *other != idx);
        let others = others.fold(SlotSet::default(), |all, (_, kind)| all.union(kind.slots()));
        match kind {
            UnitKind::Star(star) => stars.extend(parts(planner, star, others)),
            other => made.push(other.clone()),
        }
    }
    let was_split = made.len() + stars.len() > kinds.len();
    if !was_split || made.len() + stars.len() > UNITS_MAX {
        return None;
    }
    for star in &mut stars {
        star::choose_tables(planner, star);
    }
    if planner.rule("prune_tables") {
        planner.prune_linked_tables(&mut stars);
    }
    made.splice(0..0, stars.into_iter().map(UnitKind::Star));
    Some(made)
}

/// Whether some star may be worth it, without a look at statistics.
pub(super) fn may_split(planner: &Planner<'_>, kinds: &[UnitKind]) -> bool {
    let is_candidate =
        |kind: &UnitKind| matches!(kind, UnitKind::Star(star) if is_splittable(star));
    planner.rule("split_stars") && kinds.len() > 1 && kinds.iter().any(is_candidate)
}

fn is_splittable(star: &Star) -> bool {
    let made = star.patterns.iter().filter(|p| made_slot(p).is_some());
    star.subject.slot().is_some()
        && star.filters.is_empty()
        && !matches!(star.graphs, Graphs::Variable { .. })
        && made.count() > 1
}

/// The slot that a required pattern makes.
fn made_slot(pattern: &StarPattern) -> Option<Slot> {
    let slot = match pattern.object {
        Position::Slot(slot) => slot,
        Position::Id(_) => return None,
    };
    (!pattern.optional).then_some(slot)
}

/// The parts of a star, which is whole if at most one of its patterns repeats rows, or none of those is joined by its object.
fn parts(planner: &Planner<'_>, star: &Star, others: SlotSet) -> Vec<Star> {
    let repeats = |pattern: &&StarPattern| {
        made_slot(pattern).is_some() && values_per_row(planner, star, pattern) >= VALUES_MIN
    };
    let repeating: Vec<&StarPattern> = match is_splittable(star) {
        true => star.patterns.iter().filter(repeats).collect(),
        false => Vec::new(),
    };
    let is_joined =
        |pattern: &&StarPattern| made_slot(pattern).is_some_and(|slot| others.contains(slot));
    let joined = repeating.iter().copied().find(is_joined);
    let Some(joined) = joined.filter(|_| repeating.len() > 1) else {
        return vec![star.clone()];
    };
    let apart = |pattern: &StarPattern| {
        !std::ptr::eq(pattern, joined)
            && repeating.iter().any(|other| std::ptr::eq(*other, pattern))
    };
    let part = |patterns: Vec<StarPattern>| Star {
        patterns,
        ..star.clone()
    };
    let first = star.patterns.iter().filter(|pattern| !apart(pattern));
    let mut parts = vec![part(first.cloned().collect())];
    let apart = star.patterns.iter().filter(|pattern| apart(pattern));
    parts.extend(apart.map(|pattern| part(vec![pattern.clone()])));
    parts
}

/// How many values rows of a star's tables with any value have of a pattern's predicate.
fn values_per_row(planner: &Planner<'_>, star: &Star, pattern: &StarPattern) -> f64 {
    let columns = planner.columns(pattern.predicate);
    let of_star = columns.iter().filter(|(table, _)| star.has_table(*table));
    let (rows, values) = of_star.fold((0, 0), |(rows, values), (_, column)| {
        (rows + column.rows_with_value, values + column.values)
    });
    values as f64 / rows.max(1) as f64
}
