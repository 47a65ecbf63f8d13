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
//! Two patterns that repeat rows and have the same object (`?m :yes ?x ; :no ?x`) are parts, too: all pairs of their values would be compared.
//!
//! Invariant: the parts have the patterns of the star, each in one part; with one subject and the same graphs their join is the star.
//! Cost: a second search, for groups whose plan takes [`SPLIT_COST_MIN`](crate::cost_constants::SPLIT_COST_MIN) or more.

use super::{Planner, UnitKind};
use crate::estimate::star;
use crate::physical::{Expr, Graphs, Position, Slot, Star, StarPattern};
use crate::slot_set::SlotSet;

/// Values that each row with any has on average, for a pattern to have a part of its own.
const VALUES_MIN: f64 = 1.5;
/// How the names begin of slots that stand for the object of another pattern.
const SAME_OBJECT: &str = " same#";
/// Units with those parts, at most: planning takes longer with each.
const UNITS_MAX: usize = 8;

/// The units with stars in parts; `None` if no star is worth it.
pub(super) fn split(planner: &Planner<'_>, whole: &[UnitKind]) -> Option<Vec<UnitKind>> {
    let mut made = Vec::new();
    let mut stars = Vec::new();
    let kinds = with_same_apart(planner, whole);
    for (idx, kind) in kinds.iter().enumerate() {
        let others = kinds.iter().enumerate().filter(|(other, _)| *other != idx);
        let others = others.fold(SlotSet::default(), |all, (_, kind)| all.union(kind.slots()));
        match kind {
            UnitKind::Star(star) => stars.extend(parts(planner, star, others)),
            other => made.push(other.clone()),
        }
    }
    let was_split = made.len() + stars.len() > whole.len();
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
    let has_same = |kind: &UnitKind| matches!(kind, UnitKind::Star(star) if same_object(planner, star).is_some());
    planner.rule("split_stars")
        && (kinds.len() > 1 && kinds.iter().any(is_candidate) || kinds.iter().any(has_same))
}

/// The units, with patterns that have the object of another one of their star as stars of their own, where both repeat rows.
fn with_same_apart(planner: &Planner<'_>, kinds: &[UnitKind]) -> Vec<UnitKind> {
    let mut apart = Vec::new();
    for kind in kinds {
        let mut kind = kind.clone();
        if let UnitKind::Star(star) = &mut kind
            && star.subject.slot().is_some()
            && let Some(same) = same_object(planner, star)
            && repeats(planner, star, same.pattern_idx)
            && repeats(planner, star, same.of_idx)
        {
            star.filters.remove(same.filter_idx);
            let object = star.patterns[same.of_idx].object;
            let pattern = star.patterns.remove(same.pattern_idx);
            apart.push(UnitKind::Star(Star {
                patterns: vec![StarPattern { object, ..pattern }],
                filters: Vec::new(),
                ..star.clone()
            }));
        }
        apart.push(kind);
    }
    apart
}

/// A pattern of a star whose object is that of another one.
struct SameObject {
    filter_idx: usize,
    pattern_idx: usize,
    of_idx: usize,
}

/// The first of those that were given a slot of their own, with a condition.
fn same_object(planner: &Planner<'_>, star: &Star) -> Option<SameObject> {
    let place = |slot: Slot| {
        let has = |pattern: &StarPattern| made_slot(pattern) == Some(slot);
        star.patterns.iter().position(has)
    };
    star.filters
        .iter()
        .enumerate()
        .find_map(|(filter_idx, filter)| {
            let Expr::SameTerm(of, copy) = filter else {
                return None;
            };
            let (Expr::Slot(of), Expr::Slot(copy)) = (&**of, &**copy) else {
                return None;
            };
            let is_copy = planner.names[usize::from(copy.0)].starts_with(SAME_OBJECT);
            Some(SameObject {
                filter_idx,
                pattern_idx: place(*copy).filter(|_| is_copy)?,
                of_idx: place(*of)?,
            })
        })
}

fn repeats(planner: &Planner<'_>, star: &Star, pattern_idx: usize) -> bool {
    values_per_row(planner, star, &star.patterns[pattern_idx]) >= VALUES_MIN
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
