//! Orders the joins of a group: units (stars, patterns, paths, finished sub-plans) to one node.
//!
//! The order of other groups of the same shape, where that is known (`known_orders.rs`); else dynamic programming over sets
//! of units up to [`EXACT_UNITS_MAX`], greedy beyond. Rows of a set depend on the set alone, costs on the way to it; ways are:
//! a star or pattern joined to any plan (positional, adjacency, index look-up), hash join with either build side, merge join
//! where both sides happen to be sorted. Cost: at most 3^n steps of some ten nanoseconds, n ≤ 10 and mostly ≤ 6.
//!
//! Invariants: index joins use slots that are certain on both sides only; a condition is applied at
//! the first set of units that settles the value of each of its slots.

mod build;
mod corrections;
mod costs;
mod count_by_object;
mod draw;
mod drawn_places;
mod edges;
mod entries;
mod join_keys;
mod join_sample;
mod kept_builds;
mod key_shares;
mod known_orders;
mod mask_map;
mod sampled_sets;
mod search;
mod seeded_child;
mod split_stars;
mod units;

use crate::cost_constants::{SEED_COST_FACTOR, SPLIT_COST_FACTOR, SPLIT_COST_MIN};
use crate::expression::{has_exists, resolve_missing, slots_of};
use crate::logical::JoinGroup;
use crate::lower::Outer;
use crate::physical::{Expr, Node, Op};
use crate::planner::{PlanError, Planner, node};
use crate::repeatable::is_fixed;
use crate::slot_set::SlotSet;
pub(crate) use build::{hash_join, joined, star_join, star_join_entry};
pub(crate) use costs::graph_probe_cost;
pub(crate) use costs::hash_cost;
pub use draw::OrderDraw;
pub(crate) use entries::entry_way;
pub(crate) use join_sample::JoinSample;
pub(crate) use key_shares::KeyShares;
use known_orders::GroupShape;
pub(crate) use known_orders::KnownOrders;
pub(crate) use sampled_sets::SampledSets;
use search::{Found, Search};
pub(crate) use units::{Unit, UnitKind, pattern_distinct, star_distinct};

/// Units up to which all orders are considered.
const EXACT_UNITS_MAX: usize = 10;
/// Units of one search; larger groups are joined in portions.
const UNITS_MAX: usize = 60;

/// A condition of the group and what is needed to apply it.
pub(crate) struct Condition {
    expr: Expr,
    slots: SlotSet,
    exists: bool,
}

/// The problem given to the search.
pub(crate) struct Problem<'u> {
    units: &'u [Unit],
    conditions: &'u [Condition],
}

impl Planner<'_> {
    /// Plans a group; `seed` is a finished plan to join with it.
    pub(crate) fn join_group(
        &mut self,
        group: &JoinGroup,
        outer: &Outer,
        seed: Option<Node>,
    ) -> Result<Node, PlanError> {
        match self.group_with_services(group, outer, &seed)? {
            Some(plan) => Ok(plan),
            None => self.join_units(group, outer, seed),
        }
    }

    /// As [`Self::join_group`]; services are units like finished plans.
    pub(crate) fn join_units(
        &mut self,
        group: &JoinGroup,
        outer: &Outer,
        seed: Option<Node>,
    ) -> Result<Node, PlanError> {
        let mut kinds: Vec<UnitKind> = Vec::new();
        let mut mentioned = group.schema();
        for filter in &group.filters {
            mentioned = mentioned.union(slots_of(filter));
        }
        let correlated = mentioned.intersect(outer.slots);
        if !correlated.is_empty() {
            kinds.push(UnitKind::Plan(outer_row(correlated, outer)));
        }
        kinds.extend(seed.map(UnitKind::Plan));
        let first_child = kinds.len();
        for child in &group.children {
            let child = self.lower(child, outer)?;
            if matches!(child.op, Op::Empty) {
                return Ok(child);
            }
            kinds.push(UnitKind::Plan(child));
        }
        kinds.extend(self.stars_and_patterns(&group.triples)?);
        kinds.extend(group.paths.iter().cloned().map(UnitKind::Path));
        let spare = split_stars::may_split(self, &kinds).then(|| kinds.clone());
        let dear = self.dear_child(group, &kinds[first_child..], outer);
        let dear = dear.map(|child| (child, kinds.clone()));
        let mut whole = self.order(kinds, group.filters.clone())?;
        if let Some((child, mut kinds)) = dear
            && let unit_idx = first_child + child.0
            && let Some(seeded) = self.seeded_child(group, child, (&mut kinds, unit_idx), &whole)?
        {
            kinds[unit_idx] = UnitKind::Plan(seeded);
            let seeded = self.order(kinds, group.filters.clone())?;
            if seeded.estimated_cost < whole.estimated_cost * SEED_COST_FACTOR {
                whole = seeded;
            }
        }
        let is_dear = whole.estimated_cost >= SPLIT_COST_MIN;
        let split = spare
            .filter(|_| is_dear)
            .and_then(|kinds| split_stars::split(self, &kinds));
        let Some(split) = split else {
            return Ok(whole);
        };
        let in_parts = self.order(split, group.filters.clone())?;
        let is_cheaper = in_parts.estimated_cost < whole.estimated_cost * SPLIT_COST_FACTOR;
        Ok(if is_cheaper { in_parts } else { whole })
    }

    /// Orders finished units under conditions.
    fn order(&mut self, kinds: Vec<UnitKind>, filters: Vec<Expr>) -> Result<Node, PlanError> {
        let mut available = SlotSet::default();
        for kind in &kinds {
            available = available.union(kind.slots());
        }
        let mut conditions = Vec::new();
        for mut expr in filters {
            resolve_missing(&mut expr, &available, self.statistics);
            // What is random is asked once for each solution, at the end.
            let slots = match is_fixed(self, &expr) {
                true => slots_of(&expr).intersect(available),
                false => SlotSet::default(),
            };
            let exists = has_exists(&expr);
            conditions.push(Condition {
                expr,
                slots,
                exists,
            });
        }
        if conditions.len() > 64 {
            let rest: Vec<Expr> = conditions.drain(63..).map(|c| c.expr).collect();
            let slots = crate::expression::slots_of_all(&rest).intersect(available);
            let exists = rest.iter().any(has_exists);
            conditions.push(Condition {
                expr: Expr::And(rest),
                slots,
                exists,
            });
        }
        let mut units = Vec::new();
        for kind in kinds {
            units.push(Unit::new(self, kind, &conditions));
        }
        Unit::limit_paths(self, &mut units, &conditions);
        if units.is_empty() {
            let unit = node(Op::Unit, Vec::new(), SlotSet::default(), 1.0, 0.0);
            let all = conditions
                .into_iter()
                .map(|condition| condition.expr)
                .collect();
            return self.apply_conditions(unit, all);
        }
        while units.len() > UNITS_MAX {
            connected_first(&mut units);
            let rest = units.split_off(UNITS_MAX);
            let part = self.search_and_build(&units, &[])?;
            units = vec![Unit::new(self, UnitKind::Plan(part), &conditions)];
            units.extend(rest);
        }
        self.search_and_build(&units, &conditions)
    }

    fn search_and_build(
        &mut self,
        units: &[Unit],
        conditions: &[Condition],
    ) -> Result<Node, PlanError> {
        let problem = Problem { units, conditions };
        let found = self.search(&problem);
        build::build(self, &problem, &found)
    }

    /// The cheapest plan of a group, in the order of others of its shape if that is known.
    fn search(&self, problem: &Problem<'_>) -> Found {
        let orders = self.known_orders().filter(|_| problem.units.len() > 1);
        let shape = orders.and_then(|orders| Some((orders, GroupShape::of(problem)?)));
        let known = shape.and_then(|(orders, shape)| orders.find(shape));
        if let Some(order) = known
            && let Some(found) = Search::following(self, problem, &order)
        {
            return found;
        }
        let found = Search::new(self, problem).run();
        if let Some((orders, shape)) = shape {
            orders.tell(shape, &found);
        }
        found
    }

    /// The join orders of earlier queries, where nothing else is asked of this one.
    fn known_orders(&self) -> Option<&KnownOrders> {
        let known = self.statistics.known_stars()?;
        let are_taken = self.options.takes_known("known_orders");
        are_taken.then_some(&known.orders)
    }
}

/// Orders units so that each shares a slot with one before it, as far as they are connected: from the first one, and always the one with the
/// fewest rows next. Cost: the square of their number.
fn connected_first(units: &mut [Unit]) {
    let mut slots = SlotSet::default();
    for done in 0..units.len() {
        let rank = |unit: &Unit| (unit.slots.is_disjoint(&slots), unit.rows);
        let least = (done..units.len()).min_by(|&a, &b| {
            let (a, b) = (rank(&units[a]), rank(&units[b]));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        // What the portions before have come to is the first, and stays it.
        let is_plan = matches!(units[done].kind, UnitKind::Plan(_));
        if let Some(least) = least
            && !(done == 0 && is_plan)
        {
            units.swap(done, least);
        }
        slots = slots.union(units[done].slots);
    }
}

/// The leaf that takes slots of the row around an EXISTS.
pub(crate) fn outer_row(slots: SlotSet, outer: &Outer) -> Node {
    node(Op::Outer, slots.to_vec(), outer.certain, 1.0, 1.0)
}

impl Problem<'_> {
    /// The set of all units.
    fn all(&self) -> u64 {
        match self.units.len() {
            64 => u64::MAX,
            count => (1 << count) - 1,
        }
    }

    /// Bits of the conditions that a set of units settles.
    fn covered(&self, mask: u64) -> u64 {
        let mut covered = 0;
        for (idx, condition) in self.conditions.iter().enumerate() {
            // A condition without slots is applied once, at the end.
            let settled = if condition.slots.is_empty() {
                mask == self.all()
            } else {
                condition.slots.iter().all(|slot| self.settles(mask, slot))
            };
            if settled {
                covered |= 1 << idx;
            }
        }
        covered
    }

    /// Whether no unit outside the set can change the slot's value.
    fn settles(&self, mask: u64, slot: crate::physical::Slot) -> bool {
        let mut all_inside = true;
        for (idx, unit) in self.units.iter().enumerate() {
            let inside = mask & (1 << idx) != 0;
            if inside && unit.certain.contains(slot) {
                return true;
            }
            all_inside &= inside || !unit.slots.contains(slot);
        }
        all_inside
    }
}
