//! Nodes for the order that the search found.
//!
//! Invariant: estimates of the nodes are the search's; each condition is applied exactly once more
//! than the copies that stars took for themselves.

use super::costs::{JoinInput, hash_cost, star_join_cost, unkeyed_cost};
use super::count_by_object::CountByObject;
use super::entries::entries;
use super::search::{Found, Step, bits, scan_order};
use super::units::star_certain;
use super::{Problem, Unit, UnitKind};
use crate::cost_constants::PATTERN_PROBE;
use crate::expression::{conjunction, has_exists};
use crate::join_ranges::join_ranges;
use crate::looked_at::looked_share;
use crate::physical::{Expr, JoinKind, Node, Op, Position, Slot, Star, StarEntry};
use crate::planner::{PlanError, Planner, node};
use crate::slot_set::SlotSet;
use std::sync::Arc;

/// The node for everything.
pub(super) fn build(
    planner: &mut Planner<'_>,
    problem: &Problem<'_>,
    found: &Found,
) -> Result<Node, PlanError> {
    build_set(planner, problem, found, found.full)
}

fn build_set(
    planner: &mut Planner<'_>,
    problem: &Problem<'_>,
    found: &Found,
    mask: u64,
) -> Result<Node, PlanError> {
    let candidate = found.best[&mask];
    let (mut plain, exists) = fresh_conditions(problem, candidate.step, mask);
    let (rows, cost) = (candidate.rows, candidate.cost);
    let mut built = match candidate.step {
        Step::Leaf { unit_idx } => leaf(&problem.units[unit_idx], rows, cost),
        Step::Star { rest, unit_idx, .. }
        | Step::Pattern { rest, unit_idx }
        | Step::Path { rest, unit_idx }
        | Step::Count { rest, unit_idx } => {
            let input = build_set(planner, problem, found, rest)?;
            let unit = &problem.units[unit_idx];
            let conditions = Conditions {
                fresh: &mut plain,
                known: known_conditions(problem, rest),
            };
            join_unit(input, unit, candidate.step, conditions, (rows, cost))
        }
        Step::Hash {
            left,
            right,
            build_left,
        } => {
            let left = build_set(planner, problem, found, left)?;
            let right = build_set(planner, problem, found, right)?;
            let filter = conjunction(std::mem::take(&mut plain));
            let mut join = hash_join(left, right, JoinKind::Inner, filter, build_left);
            (join.estimated_rows, join.estimated_cost) = (rows, cost);
            join
        }
        Step::Merge { left, right, key } => {
            let left = build_set(planner, problem, found, left)?;
            let right = build_set(planner, problem, found, right)?;
            let mut join = merge_join(left, right, key);
            (join.estimated_rows, join.estimated_cost) = (rows, cost);
            join
        }
    };
    if candidate.alternative.is_some() {
        built.alternative = candidate.alternative;
    }
    plain.extend(exists);
    planner.apply_conditions_at(built, plain, rows)
}

/// A merge join, or a hash join where a condition applied below has taken a side's order away.
fn merge_join(left: Node, right: Node, key: Slot) -> Node {
    let is_sorted = |side: &Node| side.sorted_by.first() == Some(&key);
    if !is_sorted(&left) || !is_sorted(&right) {
        return hash_join(left, right, JoinKind::Inner, None, false);
    }
    let slots = right.schema.clone();
    let other = SlotSet::of(&right.certain);
    let (schema, certain) = joined(&left, &slots, other, JoinKind::Inner);
    let op = Op::MergeJoin {
        left: Arc::new(left),
        right: Arc::new(right),
        key,
    };
    let mut join = node(op, schema, certain, 0.0, 0.0);
    join.sorted_by = vec![key];
    join
}

/// The conditions of a step that joins a unit to an input.
struct Conditions<'a> {
    /// Those that it is the first to settle; it takes what it can apply itself.
    fresh: &'a mut Vec<Expr>,
    /// Those that the rows of the input pass, which a star of the same slots need not ask again.
    known: Vec<&'a Expr>,
}

/// One unit looked up for each row of the input.
fn join_unit(
    input: Node,
    unit: &Unit,
    step: Step,
    conditions: Conditions<'_>,
    (rows, cost): (f64, f64),
) -> Node {
    let (schema, certain) = joined(&input, &unit.slots.to_vec(), unit.certain, JoinKind::Inner);
    match (&unit.kind, step) {
        (UnitKind::Star(star), Step::Star { entry, .. }) => {
            let mut star = star.clone();
            star.filters
                .retain(|filter| !conditions.known.contains(&filter));
            star.filters.append(conditions.fresh);
            star_join(input, star, entry, JoinKind::Inner, rows, cost)
        }
        (UnitKind::Pattern(pattern), _) => {
            let filter = conjunction(std::mem::take(conditions.fresh));
            let (input, pattern) = (Arc::new(input), pattern.clone());
            let kind = JoinKind::Inner;
            let op = Op::PatternJoin {
                input,
                pattern,
                kind,
                filter,
            };
            node(op, schema, certain, rows, cost)
        }
        (UnitKind::Path(pattern), _) => {
            let op = Op::PathJoin {
                input: Arc::new(input),
                pattern: pattern.clone(),
                at_once: false,
            };
            node(op, schema, certain, rows, cost)
        }
        (UnitKind::Plan(plan), Step::Count { .. })
            if let Some(counted) = CountByObject::of(plan) =>
        {
            node(counted.join(input), schema, certain, rows, cost)
        }
        // The search pairs each step with its kind of unit; any unit can be joined by hash.
        _ => hash_join(
            input,
            leaf(unit, unit.rows, unit.cost),
            JoinKind::Inner,
            None,
            true,
        ),
    }
}

/// The plain conditions that the rows of some units pass.
fn known_conditions<'a>(problem: &'a Problem<'_>, mask: u64) -> Vec<&'a Expr> {
    let covered = bits(problem.covered(mask)).map(|idx| &problem.conditions[idx]);
    let plain = covered.filter(|condition| !condition.exists && !condition.slots.is_empty());
    plain.map(|condition| &condition.expr).collect()
}

/// The conditions that this step is the first to settle: plain ones and those with EXISTS.
fn fresh_conditions(problem: &Problem<'_>, step: Step, mask: u64) -> (Vec<Expr>, Vec<Expr>) {
    let before = match step {
        Step::Leaf { unit_idx } => {
            let unit = &problem.units[unit_idx];
            let own = problem
                .conditions
                .iter()
                .enumerate()
                .filter(|(_, c)| unit.has_own(c));
            own.fold(0, |mask, (idx, _)| mask | 1 << idx)
        }
        Step::Star { rest, unit_idx, .. } => {
            // The unit joins as a star, which brings only the conditions it has taken.
            let unit = &problem.units[unit_idx];
            let own = problem
                .conditions
                .iter()
                .enumerate()
                .filter(|(_, c)| unit.has_own(c));
            problem.covered(rest) | own.fold(0, |mask, (idx, _)| mask | 1 << idx)
        }
        Step::Pattern { rest, .. } | Step::Path { rest, .. } | Step::Count { rest, .. } => {
            problem.covered(rest)
        }
        Step::Hash { left, right, .. } | Step::Merge { left, right, .. } => {
            problem.covered(left) | problem.covered(right)
        }
    };
    bits(problem.covered(mask) & !before)
        .map(|idx| problem.conditions[idx].expr.clone())
        .partition(|expr| !has_exists(expr))
}

fn leaf(unit: &Unit, rows: f64, cost: f64) -> Node {
    match &unit.kind {
        UnitKind::Star(star) => {
            let access = unit
                .profile
                .as_ref()
                .map_or(crate::physical::StarAccess::Rows, |profile| {
                    profile.access.clone()
                });
            let sorted_by = scan_order(star, unit.profile.as_ref());
            let op = Op::StarScan {
                star: star.clone(),
                access,
            };
            let mut scan = node(op, star.slots(), unit.certain, rows, cost);
            scan.sorted_by = sorted_by.into_iter().collect();
            scan.alternative = unit.profile.as_ref().and_then(|p| p.alternative);
            scan
        }
        UnitKind::Pattern(pattern) => {
            let op = Op::PatternScan {
                pattern: pattern.clone(),
                filter: None,
            };
            node(op, pattern.slots(), unit.certain, rows, cost)
        }
        UnitKind::Path(pattern) => {
            let unit_row = node(Op::Unit, Vec::new(), SlotSet::default(), 1.0, 0.0);
            let op = Op::PathJoin {
                input: Arc::new(unit_row),
                pattern: pattern.clone(),
                at_once: false,
            };
            node(op, pattern.slots(), unit.certain, rows, cost)
        }
        UnitKind::Plan(plan) => plan.clone(),
    }
}

/// Schema and certain slots of a join of an input with something that has these slots.
pub(crate) fn joined(
    input: &Node,
    slots: &[Slot],
    certain: SlotSet,
    kind: JoinKind,
) -> (Vec<Slot>, SlotSet) {
    let mut schema = input.schema.clone();
    let mut all_certain = SlotSet::of(&input.certain);
    if matches!(kind, JoinKind::Inner | JoinKind::LeftOuter) {
        schema.extend(slots.iter().filter(|slot| !input.schema.contains(slot)));
    }
    if kind == JoinKind::Inner {
        all_certain = all_certain.union(certain);
    }
    (schema, all_certain)
}

/// A star joined to an input.
pub(crate) fn star_join(
    input: Node,
    star: Star,
    entry: StarEntry,
    kind: JoinKind,
    rows: f64,
    cost: f64,
) -> Node {
    let (schema, certain) = joined(&input, &star.slots(), star_certain(&star), kind);
    let op = Op::StarJoin {
        input: Arc::new(input),
        star,
        entry,
        kind,
    };
    node(op, schema, certain, rows, cost)
}

/// The cheapest entry into a star for rows with these shared slots; `is_one_enough` where one solution of a row is.
pub(crate) fn star_join_entry(
    unit: &Unit,
    shared: &SlotSet,
    rows: f64,
    is_one_enough: bool,
) -> Option<(StarEntry, f64)> {
    let (star, profile) = unit.star()?;
    let looked = |entry| match entry {
        // The inverse tells how many there are, and nothing is read of them.
        StarEntry::Object { .. } if is_one_enough && is_pattern_alone(star) => 0.0,
        StarEntry::Object { pattern_idx } if is_one_enough => {
            let known = &profile.patterns[pattern_idx];
            let of_each = |all: f64| all / known.distinct.max(1.0);
            let is_given = |idx: usize| {
                let other = &star.patterns[idx];
                let object = other.object.slot().filter(|_| !other.optional);
                idx != pattern_idx && object.is_some_and(|slot| shared.contains(slot))
            };
            let others = (0..star.patterns.len()).filter(|&idx| is_given(idx));
            let others: f64 = others
                .map(|idx| profile.patterns[idx].distinct.max(1.0))
                .product();
            looked_share(of_each(known.matches), of_each(profile.rows) / others)
        }
        _ => 1.0,
    };
    entries(star, shared)
        .into_iter()
        .map(|entry| {
            let input = JoinInput {
                looked_share: looked(entry),
                ..JoinInput::plain(rows, *shared)
            };
            (entry, star_join_cost(star, profile, entry, input))
        })
        .min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Whether a star is one pattern without conditions.
fn is_pattern_alone(star: &Star) -> bool {
    star.patterns.len() == 1 && star.filters.is_empty()
}

/// A hash join with the keys and compatibility checks that the sides ask for; estimates are those
/// of the left side and the sum of costs.
pub(crate) fn hash_join(
    left: Node,
    right: Node,
    kind: JoinKind,
    filter: Option<Expr>,
    build_left: bool,
) -> Node {
    use crate::cost_constants::{EMIT_ROW, KEY_BIT, PAIR, SELECTIVITY_DEFAULT, START};
    let shared = SlotSet::of(&left.schema).intersect(SlotSet::of(&right.schema));
    let certain = SlotSet::of(&left.certain).intersect(SlotSet::of(&right.certain));
    let keys = shared.intersect(certain).to_vec();
    let compatible = shared.minus(certain).to_vec();
    let (schema, all_certain) = joined(&left, &right.schema, SlotSet::of(&right.certain), kind);
    let (l, r) = (left.estimated_rows, right.estimated_rows);
    let mut cost = START + left.estimated_cost + right.estimated_cost;
    cost += l * EMIT_ROW;
    if filter.as_ref().is_some_and(has_exists) {
        cost += l * PATTERN_PROBE;
    }
    let has_keys = !keys.is_empty();
    let is_product = !has_keys && compatible.is_empty();
    let share = match filter {
        Some(_) => SELECTIVITY_DEFAULT,
        None => 1.0,
    };
    let (left, right) = (Arc::new(left), Arc::new(right));
    let op = Op::HashJoin {
        left,
        right,
        keys,
        compatible,
        kind,
        filter,
        build_left,
        partners: Vec::new(),
        nearest: None,
    };
    let is_partner_enough = matches!(kind, JoinKind::Semi | JoinKind::Anti);
    let mut rows = l;
    if is_product && share == 1.0 && is_partner_enough {
        // The first row is a partner of all.
        cost += l * PAIR;
    } else if !has_keys {
        let in_range = join_ranges(&op).map(|_| match is_partner_enough {
            // The first in range decides mostly.
            true => l,
            false => l * r * SELECTIVITY_DEFAULT,
        });
        cost += unkeyed_cost((l, r), in_range);
    }
    if is_product && !is_partner_enough {
        let least = if kind == JoinKind::LeftOuter { l } else { 0.0 };
        rows = (l * r * share).max(least);
        cost += (rows - l).max(0.0) * EMIT_ROW;
    }
    let is_bits = |key: Slot| op.children().iter().any(|side| is_subject(side, key));
    cost += match op.sole_key().is_some_and(is_bits) {
        true => (l + r) * KEY_BIT,
        false => hash_cost(r, l, false),
    };
    node(op, schema, all_certain, rows, cost)
}

/// Whether a slot is the subject of a pattern that a plan reads. Ids of subjects lie close together.
fn is_subject(node: &Node, slot: Slot) -> bool {
    let subject = match &node.op {
        Op::StarScan { star, .. } | Op::StarJoin { star, .. } => Some(&star.subject),
        Op::PatternScan { pattern, .. } | Op::PatternJoin { pattern, .. } => Some(&pattern.subject),
        _ => None,
    };
    subject == Some(&Position::Slot(slot))
        || node
            .op
            .children()
            .iter()
            .any(|child| is_subject(child, slot))
}
