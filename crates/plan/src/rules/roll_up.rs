//! Groups of the same rows are made from the states of one finer group ([`Op::RollUp`]).
//!
//! ```text
//! { SELECT ?country ?year (SUM(?p) AS ?s) { rows } GROUP BY ?country ?year }
//! UNION { SELECT ?country (SUM(?p) AS ?s) { rows } GROUP BY ?country }
//! UNION { SELECT (SUM(?p) AS ?s) { rows } }           rows -> states by country and year -> each of the three
//! ```
//!
//! The sets of a cube, shares of a total, and several aggregates that are asked for one by one all aggregate the same rows. These are read once, by all keys that
//! some of the groups have, and each group adds up the states of what it does not tell apart (Gray et al., "Data Cube", ICDE 1996).
//!
//! Applies to groups that are evaluated once, over inputs that are the same but for the names of variables and for what BIND and GROUP BY compute of them;
//! no aggregate is DISTINCT. Chosen by cost: where the finer group has nearly as many groups as rows, or some group is answered from statistics or
//! through an index, adding up saves nothing.

use super::group_through::{self, is_plain};
use crate::alike::Alike;
use crate::cost_constants::{EMIT_ROW, GROUP_ROW};
use crate::expression::{has_exists, slots_of};
use crate::logical::Logical;
use crate::lower::Outer;
use crate::physical::{Aggregate, Expr, Node, Op, RollUp, Slot};
use crate::planner::{PlanError, Planner, node};
use crate::rename_slots::expression_slots;
use crate::repeatable::is_repeatable;
use crate::slot_set::SlotSet;
use std::collections::HashMap;

/// Groups of the same rows.
#[derive(Default)]
pub(crate) struct SameRows {
    groups: Vec<Group>,
    is_planned: bool,
}

/// A group of a query.
struct Group {
    input: Logical,
    keys: Vec<Slot>,
    aggregates: Vec<Aggregate>,
    /// The input without what is computed on top.
    base: Alike,
    /// What is computed, in order.
    computed: Vec<(Slot, Expr)>,
    plan: Option<Node>,
}

/// Finds the groups of a query that may be made from the states of one.
pub(crate) fn find(planner: &Planner<'_>, root: &Logical) -> Vec<SameRows> {
    let mut found = Vec::new();
    if planner.rule("roll_up") && count(root) > 1 {
        collect(planner, root, &mut found);
    }
    let mut sets: Vec<SameRows> = Vec::new();
    for group in found {
        match sets
            .iter_mut()
            .find(|set| set.groups[0].base.is_like(&group.base))
        {
            Some(set) => set.groups.push(group),
            None => sets.push(SameRows {
                groups: vec![group],
                is_planned: false,
            }),
        }
    }
    sets.retain(|set| set.groups.len() > 1);
    sets
}

/// Groups that are evaluated once.
fn count(plan: &Logical) -> usize {
    let own = usize::from(matches!(plan, Logical::Aggregate { .. }));
    own + inputs(plan).into_iter().map(count).sum::<usize>()
}

fn collect(planner: &Planner<'_>, plan: &Logical, found: &mut Vec<Group>) {
    if let Logical::Aggregate {
        input,
        keys,
        aggregates,
    } = plan
    {
        found.extend(group_of(planner, input, keys, aggregates));
    }
    for input in inputs(plan) {
        collect(planner, input, found);
    }
}

/// The inputs that are evaluated once.
fn inputs(plan: &Logical) -> Vec<&Logical> {
    match plan {
        Logical::Group(group) => group.children.iter().collect(),
        Logical::LeftJoin { left, right, .. }
        | Logical::AntiJoin { left, right, .. }
        | Logical::Minus { left, right, .. } => vec![left, right],
        Logical::Lateral { left: input, .. }
        | Logical::Filter { input, .. }
        | Logical::Extend { input, .. }
        | Logical::Project { input, .. }
        | Logical::Distinct { input }
        | Logical::OrderBy { input, .. }
        | Logical::Slice { input, .. }
        | Logical::Aggregate { input, .. } => vec![input],
        Logical::Union(inputs) => inputs.iter().collect(),
        Logical::Empty
        | Logical::GraphNames { .. }
        | Logical::Values { .. }
        | Logical::Service(_) => Vec::new(),
    }
}

/// The group, if its states can be added up.
fn group_of(
    planner: &Planner<'_>,
    input: &Logical,
    keys: &[Slot],
    aggregates: &[Aggregate],
) -> Option<Group> {
    let arguments = aggregates.iter().filter_map(|own| own.argument.as_ref());
    let read = arguments.fold(SlotSet::of(keys), |set, expr| set.union(slots_of(expr)));
    let (mut base, mut computed) = (input, Vec::new());
    // A variable that nothing binds here may be bound where another group has it.
    let mut is_known = read.is_subset(&input.schema());
    while let Logical::Extend { input, slot, expr } = base
        && !has_exists(expr)
    {
        is_known &= slots_of(expr).is_subset(&input.schema());
        computed.push((*slot, expr.clone()));
        base = input;
    }
    computed.reverse();
    let fits = is_known
        && !aggregates.is_empty()
        && aggregates.iter().all(is_plain)
        && is_repeatable(planner, input, false)
        && !asks_others(base);
    fits.then(|| Group {
        input: input.clone(),
        keys: keys.to_vec(),
        aggregates: aggregates.to_vec(),
        base: Alike::of(base),
        computed,
        plan: None,
    })
}

/// Whether an endpoint is asked.
fn asks_others(plan: &Logical) -> bool {
    matches!(plan, Logical::Service(_))
        || matches!(plan, Logical::Lateral { right, .. } if asks_others(right))
        || inputs(plan).into_iter().any(asks_others)
}

/// The plan of a group that is one of several of the same rows.
pub(crate) fn aggregate(
    planner: &mut Planner<'_>,
    input: &Logical,
    keys: &[Slot],
    aggregates: &[Aggregate],
) -> Result<Option<Node>, PlanError> {
    let is_asked = |group: &Group| {
        group.keys == keys && group.aggregates == aggregates && group.input == *input
    };
    let mut places = planner.same_rows.iter().enumerate();
    let place = places.find_map(|(set, same)| {
        let group = same.groups.iter().position(is_asked);
        group.map(|group| (set, group))
    });
    let Some((set, group)) = place else {
        return Ok(None);
    };
    if !planner.same_rows[set].is_planned {
        // Whoever asks for these while they are planned plans them alone.
        let mut same = std::mem::take(&mut planner.same_rows[set]);
        plan_all(planner, &mut same.groups, set)?;
        same.is_planned = true;
        planner.same_rows[set] = same;
    }
    Ok(planner.same_rows[set].groups[group].plan.clone())
}

/// Plans all of them, alone or from the states of one, whatever is cheaper.
fn plan_all(
    planner: &mut Planner<'_>,
    groups: &mut [Group],
    states: usize,
) -> Result<(), PlanError> {
    for group in &mut *groups {
        let plan = planner.aggregate_alone(
            &group.input,
            &group.keys,
            &group.aggregates,
            &Outer::default(),
        )?;
        group.plan = Some(plan);
    }
    // Without a slot for what is computed groups are made as they stand.
    let Ok(finest) = Finest::of(planner, groups) else {
        return Ok(());
    };
    let input = planner.lower(&finest.input, &Outer::default())?;
    for keys in finest.candidates() {
        let finer = finest.plan(planner, input.clone(), &keys)?;
        let taken = finest.taken(groups, &finer, &keys);
        if taken.is_empty() {
            continue;
        }
        for (at, cost) in &taken {
            let share = finer.estimated_cost / taken.len() as f64;
            finest.roll_up(&mut groups[*at], *at, &finer, (share + cost, states));
        }
        return Ok(());
    }
    Ok(())
}

/// What all groups of the same rows are made from, in slots of the first.
struct Finest {
    input: Logical,
    /// The keys of each group.
    keys: Vec<Vec<Slot>>,
    aggregates: Vec<Aggregate>,
    /// The places of each group's aggregates.
    places: Vec<Vec<usize>>,
}

impl Finest {
    fn of(planner: &mut Planner<'_>, groups: &[Group]) -> Result<Self, PlanError> {
        let first = &groups[0];
        let mut base = &first.input;
        for _ in &first.computed {
            if let Logical::Extend { input, .. } = base {
                base = input;
            }
        }
        let mut finest = Self {
            input: base.clone(),
            keys: Vec::new(),
            aggregates: Vec::new(),
            places: Vec::new(),
        };
        let mut computed: Vec<(Slot, Expr)> = Vec::new();
        for (at, group) in groups.iter().enumerate() {
            let own = group.base.slots.iter().copied();
            let mut names: HashMap<Slot, Slot> =
                own.zip(first.base.slots.iter().copied()).collect();
            for (slot, expr) in &group.computed {
                let expr = renamed(expr, &names);
                let known = computed.iter().find(|(_, known)| *known == expr);
                let name = match known {
                    Some((known, _)) => *known,
                    None => {
                        let name = match at {
                            0 => *slot,
                            _ => planner.fresh_slot("key")?,
                        };
                        computed.push((name, expr));
                        name
                    }
                };
                names.insert(*slot, name);
            }
            finest.add(group, &names);
        }
        for (slot, expr) in computed {
            finest.input = Logical::Extend {
                input: Box::new(finest.input),
                slot,
                expr,
            };
        }
        Ok(finest)
    }

    /// Takes the keys and aggregates of a group in.
    fn add(&mut self, group: &Group, names: &HashMap<Slot, Slot>) {
        self.keys
            .push(group.keys.iter().map(|key| names[key]).collect());
        let mut places = Vec::new();
        for own in &group.aggregates {
            let argument = own.argument.as_ref().map(|expr| renamed(expr, names));
            let is_same =
                |known: &Aggregate| known.function == own.function && known.argument == argument;
            let known = self.aggregates.iter().position(is_same);
            places.push(known.unwrap_or(self.aggregates.len()));
            if known.is_none() {
                self.aggregates.push(Aggregate {
                    argument,
                    ..own.clone()
                });
            }
        }
        self.places.push(places);
    }

    /// The keys that the finer group could have: those of all, or those of the group with most.
    fn candidates(&self) -> Vec<Vec<Slot>> {
        let mut all: Vec<Slot> = Vec::new();
        for key in self.keys.iter().flatten() {
            if !all.contains(key) {
                all.push(*key);
            }
        }
        let most = self.keys.iter().max_by_key(|keys| keys.len());
        let most = most.filter(|most| most.len() < all.len()).cloned();
        [all].into_iter().chain(most).collect()
    }

    /// The finer group of these rows.
    fn plan(
        &self,
        planner: &mut Planner<'_>,
        input: Node,
        keys: &[Slot],
    ) -> Result<Node, PlanError> {
        let alone = Outer::default();
        let through =
            group_through::aggregate(planner, &self.input, keys, &self.aggregates, &alone)?;
        let plain = planner.group_of(input, keys, &self.aggregates, &alone)?;
        // What is left of all rows has no states of its own.
        let has_states = |node: &Node| {
            matches!(&node.op, Op::GroupThrough(group) if group.without.is_none())
                && node.estimated_cost < plain.estimated_cost
        };
        Ok(through.filter(has_states).unwrap_or(plain))
    }

    /// The groups that are cheaper from the states of the finer one, with what adding up costs; none if they are not so together.
    fn taken(&self, groups: &[Group], finer: &Node, keys: &[Slot]) -> Vec<(usize, f64)> {
        let states = self.aggregates.len() as f64;
        let mut saved = -finer.estimated_cost;
        let mut taken = Vec::new();
        for (at, group) in groups.iter().enumerate() {
            let Some(alone) = &group.plan else { continue };
            let cost =
                finer.estimated_rows * GROUP_ROW * (1.0 + states) + alone.estimated_rows * EMIT_ROW;
            let has_keys = self.keys[at].iter().all(|key| keys.contains(key));
            // A group that is there before is made once anyway.
            let is_known = (0..at).any(|other| self.is_same(other, at));
            let alone = if is_known { 0.0 } else { alone.estimated_cost };
            if has_keys && (is_known || cost < alone) {
                saved += alone - cost;
                taken.push((at, cost));
            }
        }
        match saved > 0.0 && taken.len() > 1 {
            true => taken,
            false => Vec::new(),
        }
    }

    /// Whether two groups have the same keys and aggregates.
    fn is_same(&self, one: usize, other: usize) -> bool {
        self.keys[one] == self.keys[other] && self.places[one] == self.places[other]
    }

    /// Makes a group one from the states of the finer one.
    fn roll_up(&self, group: &mut Group, at: usize, finer: &Node, (cost, states): (f64, usize)) {
        let Some(alone) = group.plan.take() else {
            return;
        };
        let keys = group.keys.iter().copied();
        let aggregates = group.aggregates.iter().map(|aggregate| aggregate.slot);
        let places = self.places[at].iter();
        let op = RollUp {
            finer: finer.clone(),
            keys: keys.zip(self.keys[at].iter().copied()).collect(),
            aggregates: aggregates
                .zip(places.map(|&place| self.aggregates[place].slot))
                .collect(),
            states,
        };
        let certain = SlotSet::of(&alone.certain);
        let (schema, rows) = (op.slots(), alone.estimated_rows);
        let op = Op::RollUp(Box::new(op));
        group.plan = Some(node(op, schema, certain, rows, cost));
    }
}

/// An expression in slots of other names.
fn renamed(expr: &Expr, names: &HashMap<Slot, Slot>) -> Expr {
    let mut expr = expr.clone();
    expression_slots(&mut expr, &mut |slot| {
        *slot = names.get(slot).copied().unwrap_or(*slot);
    });
    expr
}
