//! Joins that keep the left side: OPTIONAL, anti joins, and EXISTS where it is a semi or an anti join.
//!
//! The ways, chosen by cost: a star or pattern joined directly to the left rows; a hash join with
//! the right side planned alone; the same with the right side seeded by the left's distinct shared
//! slots (a semi-join reduction, evaluating the left side twice), also where it has OPTIONAL parts, BIND, conditions or branches of its own, or is
//! grouped by those slots: then its first groups of patterns are; for EXISTS the correlated plan per row, which is always possible.
//!
//! Invariant: a way other than correlation is used only if the inside is patterns, conditions and parts of which evaluating
//! them for a row is the same as joining their rows (`joinable.rs`), and every slot it shares with the row is certain on both sides; then substitution
//! and joining are the same.

use super::Outer;
use super::joinable::{is_joinable, is_repeatable, shared_certain};
use super::kept_rows::read_again;
use super::left_by_range;
use super::named_outside;
use crate::alternative::{Alternative, Way};
use crate::cost_constants::{EMIT_ROW, GROUP_ROW, PAIR, PATTERN_PROBE, SELECTIVITY_EXISTS, START};
use crate::estimate::groups;
use crate::expression::{conjunction, has_exists, resolve_missing, slots_of_all};
use crate::join_order::{
    Unit, UnitKind, entry_way, graph_probe_cost, hash_join, star_join, star_join_entry,
};
use crate::logical::{JoinGroup, Logical};
use crate::physical::{Expr, JoinKind, Node, Op, Pattern, Star, StarEntry};
use crate::planner::{ForceJoin, PlanError, Planner};
use crate::slot_set::SlotSet;
use std::sync::Arc;

/// A group with OPTIONAL parts within each other, so many deep, is also planned for what the rows before it need: each level plans those
/// below it twice.
const SEEDED_LEVELS_MAX: usize = 4;

impl Planner<'_> {
    /// A left join or anti join of two plans.
    pub(super) fn lower_partner(
        &mut self,
        left: &Logical,
        right: &Logical,
        conditions: &[Expr],
        kind: JoinKind,
        outer: &Outer,
    ) -> Result<Node, PlanError> {
        let left = self.lower(left, outer)?;
        self.partner_of(left, right, conditions, kind, outer)
    }

    /// The same of a finished left side.
    fn partner_of(
        &mut self,
        left: Node,
        right: &Logical,
        conditions: &[Expr],
        kind: JoinKind,
        outer: &Outer,
    ) -> Result<Node, PlanError> {
        let needed = right.mentioned().union(slots_of_all(conditions));
        let left = self.with_outer(left, needed, outer);
        let mut together = self.partner_together(left.clone(), right, conditions, kind, outer)?;
        if let (JoinKind::Anti, Logical::Group(group)) = (kind, right) {
            let ask = &mut |planner: &mut Planner<'_>, rows, group, kind| {
                planner.partner_of(rows, &Logical::Group(group), conditions, kind, outer)
            };
            together = self.by_parts_inside(&left, group, kind, together, ask)?;
        }
        let bound_right = right.schema().intersect(right.certain());
        self.in_parts(&left, bound_right, together, &mut |planner, part| {
            planner.partner_of(part, right, conditions, kind, outer)
        })
    }

    /// The same of all rows at once.
    fn partner_together(
        &mut self,
        left: Node,
        right: &Logical,
        conditions: &[Expr],
        kind: JoinKind,
        outer: &Outer,
    ) -> Result<Node, PlanError> {
        if let Logical::Group(group) = right
            && slots_of_all(&group.filters)
                .intersect(outer.slots)
                .is_subset(&group.schema())
        {
            if let Some(joined) = self.join_service(&left, group, conditions, kind)? {
                return Ok(joined);
            }
            if let Some(joined) = self.join_plain(&left, group, conditions, kind)? {
                return Ok(joined);
            }
        }
        let whole = self.lower(right, outer)?;
        let join = self.hash_partner(left.clone(), whole, conditions, kind)?;
        let mut options = vec![(Way::Hash, join.clone())];
        if outer.slots.is_empty()
            && levels(right) <= SEEDED_LEVELS_MAX
            && let Some(kept) = self.repeatable(&left)
            && let Some(seeded) = self.lower_seeded(&kept, right.schema(), right, outer)?
        {
            let seeded = self.hash_partner(kept, seeded, conditions, kind)?;
            options.push((Way::SeededHash, seeded));
        }
        if let Some(branches) = named_outside::branches(self, &left, right, outer.slots) {
            self.alternatives -= 1;
            let apart = self.partner_together(left, &branches, conditions, kind, outer)?;
            options.push((Way::SeededHash, apart));
        }
        Ok(cheapest(options).unwrap_or(join))
    }

    /// What left rows need of a plan with OPTIONAL parts, computed values and groups by what they share with it: its first groups of patterns are
    /// seeded by that, as far as it is among `told`. `None` if there is no such group, or it shares nothing that is certain.
    /// What is certain in a group is so in all rows that come of it, also where other branches of a UNION lack it.
    ///
    /// OPTIONAL and BIND keep the rows of what is before them, so those that are left out of the first group are those whose results are; and
    /// where they differ in a key, groups of others lose none of their rows.
    pub(crate) fn lower_seeded(
        &mut self,
        left: &Node,
        told: SlotSet,
        right: &Logical,
        outer: &Outer,
    ) -> Result<Option<Node>, PlanError> {
        let input = match right {
            Logical::Group(group) => return self.seeded_group(left, told, group, outer),
            Logical::Union(inputs) => return self.seeded_union(left, told, inputs, outer),
            Logical::LeftJoin { left, .. } | Logical::AntiJoin { left, .. } => left,
            Logical::Extend { input, .. }
            | Logical::Filter { input, .. }
            | Logical::Project { input, .. }
            | Logical::Distinct { input }
            | Logical::Aggregate { input, .. } => input,
            _ => return Ok(None),
        };
        let told = match right {
            Logical::Aggregate { keys, .. } => told.intersect(SlotSet::of(keys)),
            _ => told,
        };
        let Some(input) = self.lower_seeded(left, told, input, outer)? else {
            return Ok(None);
        };
        let seeded = match right {
            Logical::LeftJoin {
                right, conditions, ..
            } => self.partner_of(input, right, conditions, JoinKind::LeftOuter, outer)?,
            Logical::AntiJoin {
                right, conditions, ..
            } => self.partner_of(input, right, conditions, JoinKind::Anti, outer)?,
            Logical::Extend { slot, expr, .. } => self.extend(input, *slot, expr.clone())?,
            Logical::Filter { conditions, .. } => {
                self.apply_conditions(input, conditions.clone())?
            }
            Logical::Project { slots, .. } => self.project(input, slots.clone()),
            Logical::Distinct { .. } => self.distinct_of(input),
            Logical::Aggregate {
                keys, aggregates, ..
            } => self.group_of(input, keys, aggregates, outer)?,
            _ => return Ok(None),
        };
        Ok(Some(seeded))
    }

    fn seeded_union(
        &mut self,
        left: &Node,
        told: SlotSet,
        inputs: &[Logical],
        outer: &Outer,
    ) -> Result<Option<Node>, PlanError> {
        let mut seeded = Vec::new();
        for input in inputs {
            match self.lower_seeded(left, told, input, outer)? {
                Some(plan) => seeded.push(plan),
                None => return Ok(None),
            }
        }
        seeded.retain(|plan| !matches!(plan.op, Op::Empty));
        Ok(Some(self.union_of(seeded)))
    }

    /// The first group of a seeded plan.
    fn seeded_group(
        &mut self,
        left: &Node,
        told: SlotSet,
        group: &JoinGroup,
        outer: &Outer,
    ) -> Result<Option<Node>, PlanError> {
        let shared = group.certain().intersect(SlotSet::of(&left.certain));
        if !is_joinable(group, JoinKind::LeftOuter, left) || !outer.slots.is_empty() {
            return Ok(None);
        }
        match self.seed(left, &shared.intersect(told)) {
            Some(seed) => self.join_group(group, outer, Some(seed)).map(Some),
            None => Ok(None),
        }
    }

    /// The distinct values that left rows have in some slots, if there are any, to evaluate them twice gives the same, and no other way is
    /// forced.
    fn seed(&self, left: &Node, shared: &SlotSet) -> Option<Node> {
        if !self.may_seed(shared) || !is_repeatable(left) {
            return None;
        }
        let keys = self.project(read_again(left), shared.to_vec());
        let rows = keys.estimated_rows;
        let cost = keys.estimated_cost + rows * GROUP_ROW;
        Some(self.pass(keys, rows, cost, |input| Op::Distinct { input }))
    }

    fn may_seed(&self, shared: &SlotSet) -> bool {
        self.rule("seed_join") && self.options.force_join.is_none() && !shared.is_empty()
    }

    /// The same of rows that may have to be [kept](Self::repeatable) for that, and these.
    pub(super) fn kept_and_seed(&mut self, left: &Node, shared: &SlotSet) -> Option<(Node, Node)> {
        let kept = self
            .may_seed(shared)
            .then(|| self.repeatable(left))
            .flatten()?;
        let seed = self.seed(&kept, shared)?;
        Some((kept, seed))
    }

    /// The general way: both sides alone, hashed on what is certain.
    pub(super) fn hash_partner(
        &mut self,
        left: Node,
        right: Node,
        conditions: &[Expr],
        kind: JoinKind,
    ) -> Result<Node, PlanError> {
        if matches!(right.op, Op::Empty) {
            let semi = kind == JoinKind::Semi;
            return Ok(if semi { right } else { left });
        }
        let row = Outer {
            slots: SlotSet::of(&left.schema).union(SlotSet::of(&right.schema)),
            certain: SlotSet::of(&left.certain),
        };
        let mut filters = Vec::new();
        for condition in conditions {
            let mut condition = condition.clone();
            resolve_missing(&mut condition, &row.slots, self.statistics);
            self.lower_exists(&mut condition, &row, left.estimated_rows)?;
            filters.push(condition);
        }
        let (saved, least) = (self.saved_by_keeping(&left, &right), left.estimated_cost);
        let mut join = hash_join(left, right, kind, conjunction(filters), false);
        join.estimated_cost = (join.estimated_cost - saved).max(least + START);
        let partners = self.partners(&join);
        let share = match kind {
            JoinKind::Anti => left_by_range::share_of(&join, conditions, partners),
            _ => SELECTIVITY_EXISTS,
        };
        if matches!(&join.op, Op::HashJoin { compatible, .. } if !compatible.is_empty()) {
            // These are compared by what a side may lack.
            join.estimated_cost += partners * PAIR;
        }
        if kind != JoinKind::LeftOuter {
            join.estimated_rows *= share;
            return Ok(join);
        }
        let partners = partners.max(join.estimated_rows);
        join.estimated_cost += (partners - join.estimated_rows) * EMIT_ROW;
        join.estimated_rows = partners;
        Ok(join)
    }

    /// The rows that have partners, each as often as it has one, of a hash join by one key of which the distinct values are known; else none.
    fn partners(&self, join: &Node) -> f64 {
        let Op::HashJoin {
            left, right, keys, ..
        } = &join.op
        else {
            return 0.0;
        };
        let [key] = keys[..] else {
            return 0.0;
        };
        let [of_left, of_right] = [left, right].map(|side| groups::distinct(self, side, key));
        match of_left.zip(of_right) {
            Some((of_left, of_right)) => {
                left.estimated_rows * right.estimated_rows / of_left.max(of_right).max(1.0)
            }
            None => 0.0,
        }
    }

    /// Joins a plain group to finished left rows by the cheapest way; `None` if it is not plain.
    ///
    /// The group's own filters see the group's slots only.
    pub(super) fn join_plain(
        &mut self,
        left: &Node,
        group: &JoinGroup,
        conditions: &[Expr],
        kind: JoinKind,
    ) -> Result<Option<Node>, PlanError> {
        let Some(shared) = shared_certain(left, group) else {
            return Ok(None);
        };
        if !is_joinable(group, kind, left) || conditions.iter().any(has_exists) {
            return Ok(None);
        }
        let forced = self.options.force_join;
        let mut options = Vec::new();
        if forced.is_none_or(|forced| forced == ForceJoin::Index) {
            let direct = self.join_direct(left, group, conditions, kind, &shared)?;
            options.extend(direct.map(|join| (way_of(&join), join)));
        }
        if forced != Some(ForceJoin::Index) || options.is_empty() {
            let right = self.join_group(group, &Outer::default(), None)?;
            let join = self.hash_partner(left.clone(), right, conditions, kind)?;
            options.push((way_of(&join), join));
        }
        if let Some((kept, seed)) = self.kept_and_seed(left, &shared) {
            let right = self.join_group(group, &Outer::default(), Some(seed))?;
            let join = self.hash_partner(kept, right, conditions, kind)?;
            options.push((Way::SeededHash, join));
        }
        Ok(cheapest(options))
    }

    /// One star or one pattern joined to the left rows without a hash table.
    fn join_direct(
        &mut self,
        left: &Node,
        group: &JoinGroup,
        conditions: &[Expr],
        kind: JoinKind,
        shared: &SlotSet,
    ) -> Result<Option<Node>, PlanError> {
        let mut kinds = self.stars_and_patterns(&group.triples)?;
        let is_alone = group.paths.is_empty() && group.children.is_empty();
        if kinds.len() != 1 || shared.is_empty() || !is_alone {
            return Ok(None);
        }
        let available = SlotSet::of(&left.schema).union(group.schema());
        let mut filters: Vec<Expr> = conditions.to_vec();
        for filter in &mut filters {
            resolve_missing(filter, &available, self.statistics);
        }
        let mut own = group.filters.clone();
        for filter in &mut own {
            resolve_missing(filter, &group.schema(), self.statistics);
        }
        filters.extend(own);
        match kinds.pop() {
            Some(UnitKind::Star(mut star)) => {
                star.filters.extend(filters);
                Ok(self.join_star(left, star, conditions, kind, shared))
            }
            Some(UnitKind::Pattern(pattern)) => {
                let probe = graph_probe_cost(self, &pattern, shared).unwrap_or(PATTERN_PROBE);
                let filter = conjunction(filters);
                let join = pattern_join(left.clone(), pattern, kind, filter, probe);
                Ok(Some(join))
            }
            _ => Ok(None),
        }
    }

    fn join_star(
        &self,
        left: &Node,
        star: Star,
        conditions: &[Expr],
        kind: JoinKind,
        shared: &SlotSet,
    ) -> Option<Node> {
        let unit = Unit::new(self, UnitKind::Star(star), &[]);
        let is_one_enough = matches!(kind, JoinKind::Semi | JoinKind::Anti);
        let (entry, cost) = star_join_entry(&unit, shared, left.estimated_rows, is_one_enough)?;
        let (UnitKind::Star(star), Some(profile)) = (unit.kind, unit.profile) else {
            return None;
        };
        let partners = match entry {
            StarEntry::Object { pattern_idx } => {
                let known = &profile.patterns[pattern_idx];
                (known.matches / known.distinct).max(1.0)
            }
            StarEntry::Subject => (profile.rows / profile.subjects).max(1.0),
            StarEntry::Graph => (profile.rows / profile.graphs).max(1.0),
        };
        let fanout = match kind {
            JoinKind::Semi => SELECTIVITY_EXISTS,
            JoinKind::Anti => left_by_range::share(left, &star, conditions, partners),
            JoinKind::Inner | JoinKind::LeftOuter => partners,
        };
        let rows = left.estimated_rows * fanout;
        Some(star_join(
            left.clone(),
            star,
            entry,
            kind,
            rows,
            left.estimated_cost + cost,
        ))
    }
}

/// The way of a join that was planned.
pub(super) fn way_of(join: &Node) -> Way {
    match &join.op {
        Op::StarJoin { star, entry, .. } => entry_way(star, *entry),
        Op::PatternJoin { .. } => Way::Pattern,
        _ => Way::Hash,
    }
}

/// The cheapest of some joins, with the next one as its alternative.
fn cheapest(mut joins: Vec<(Way, Node)>) -> Option<Node> {
    joins.sort_by(|(_, a), (_, b)| a.estimated_cost.total_cmp(&b.estimated_cost));
    let mut joins = joins.into_iter();
    let (_, mut best) = joins.next()?;
    if let Some((way, other)) = joins.next() {
        let cost = other.estimated_cost;
        best.alternative = Some(Alternative { way, cost });
    }
    Some(best)
}

fn pattern_join(
    left: Node,
    pattern: Pattern,
    kind: JoinKind,
    filter: Option<Expr>,
    probe_cost: f64,
) -> Node {
    let slots = pattern.slots();
    let (schema, certain) = crate::join_order::joined(&left, &slots, SlotSet::default(), kind);
    let kept = if kind == JoinKind::LeftOuter {
        1.0
    } else {
        SELECTIVITY_EXISTS
    };
    let rows = left.estimated_rows * kept;
    let cost = left.estimated_cost + START + left.estimated_rows * probe_cost;
    let op = Op::PatternJoin {
        input: Arc::new(left),
        pattern,
        kind,
        filter,
    };
    crate::planner::node(op, schema, certain, rows, cost)
}

/// How many OPTIONAL parts of a plan are within each other.
fn levels(plan: &Logical) -> usize {
    match plan {
        Logical::LeftJoin { left, right, .. } | Logical::AntiJoin { left, right, .. } => {
            levels(left).max(1 + levels(right))
        }
        Logical::Extend { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Project { input, .. }
        | Logical::Distinct { input }
        | Logical::Aggregate { input, .. } => levels(input),
        Logical::Union(inputs) => inputs.iter().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}
