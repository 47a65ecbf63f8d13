//! GROUP BY over a join by a range: what is aggregated of the partners of a row is read off their order, and no pair is made.
//!
//! ```text
//! COUNT(*), MAX(?y) by ?x over  ?x :of ?k ; :at ?t . ?y_ :of ?k ; :at ?y FILTER(?y <= ?t)
//! partners of a row in the order of ?y   | 2 | 3 | 3 | 7 | 9 |   with ?t = 4: three, the greatest is 3
//! ```
//!
//! That is what ranks, medians, running totals and the last value before a time look like where there are no window functions. The join gives
//! rows that stand for sets of partners ([`PartnerAggregate`]), of which the group adds up counts and sums, and takes the least or greatest
//! of those of the sets; see `docs/decisions/0059-partners-as-sets.md`.
//!
//! Applies where the joined part is an OPTIONAL, or those parts of a group that are nearer to the one side of a comparison than to the other, with no key among them; where the one
//! condition between both sides is a range (an EXISTS may ask of one of them); and where each aggregate is COUNT, SUM or AVG of what partners have, MIN or MAX of what all of them
//! have, or reads the other side and does not mind repeats. Nothing may come from around an EXISTS. Chosen by cost.

use crate::cost_constants::{
    EMIT_ROW, GROUP_ROW, HASH_PAIR, RANGE_ROW, SELECTIVITY_DEFAULT, START,
};
use crate::estimate::groups;
use crate::expression::{conjunction, has_exists, is_pure, slots_of, slots_of_all};
use crate::join_order::{hash_cost, hash_join};
use crate::join_ranges::ranges_of;
use crate::logical::{JoinGroup, Logical, Triple, share_filters};
use crate::lower::Outer;
use crate::physical::{
    Aggregate, AggregateFunction, Expr, JoinKind, Node, Op, PartnerAggregate, PartnerFunction, Slot,
};
use crate::planner::{PlanError, Planner};
use crate::repeatable::is_fixed;
use crate::slot_set::SlotSet;

/// A join of rows with partners in range.
struct Sides {
    /// The rows, which have the keys.
    rows: Logical,
    /// Their partners.
    partners: Logical,
    kind: JoinKind,
    /// The conditions between both.
    conditions: Vec<Expr>,
}

/// A group over sets of partners.
#[derive(Default)]
struct Sets {
    /// What the join tells of each.
    partners: Vec<PartnerAggregate>,
    /// The aggregates over these.
    aggregates: Vec<Aggregate>,
    /// Averages: the slot that takes one, and those of sum and count.
    averages: Vec<(Slot, Slot, Slot)>,
}

/// A group whose partners are in sets.
pub(crate) struct InSets {
    pub(crate) plan: Node,
    /// Whether its pairs would take longer, whatever is expected of a plan with them: that of an OPTIONAL is charged for its rows alone.
    pub(crate) is_cheaper: bool,
}

/// The group, if it has partners in range.
pub(crate) fn aggregate(
    planner: &mut Planner<'_>,
    input: &Logical,
    keys: &[Slot],
    aggregates: &[Aggregate],
    outer: &Outer,
) -> Result<Option<InSets>, PlanError> {
    let free = planner.rule("partner_sets") && outer.slots.is_empty();
    if !free || aggregates.is_empty() {
        return Ok(None);
    }
    let (mut input, mut computed) = (input, Vec::new());
    while let Logical::Extend {
        input: below,
        slot,
        expr,
    } = input
    {
        computed.push((*slot, expr));
        input = below;
    }
    computed.reverse();
    let made: SlotSet = computed.iter().map(|(slot, _)| *slot).collect();
    let keys_below = SlotSet::of(keys).minus(made);
    let mut best: Option<InSets> = None;
    for sides in candidates(planner, input, &keys_below) {
        let reads_rows = |(_, expr): &(Slot, &Expr)| {
            is_pure(expr) && slots_of(expr).is_subset(&sides.rows.schema().union(made))
        };
        if !computed.iter().all(reads_rows) {
            continue;
        }
        // Both sides are planned once more for the plan without this. Without a bound, nested groups would be planned exponentially often.
        if planner.alternatives == 0 {
            break;
        }
        let Some((join, sets, is_cheaper)) =
            joined(planner, &sides, aggregates, (made, !keys.is_empty()))?
        else {
            continue;
        };
        let mut rows = join;
        for (slot, expr) in &computed {
            rows = planner.extend(rows, *slot, (*expr).clone())?;
        }
        let plan = grouped(planner, rows, keys, aggregates, sets)?;
        let cheaper = |known: &InSets| plan.estimated_cost < known.plan.estimated_cost;
        if best.as_ref().is_none_or(cheaper) {
            best = Some(InSets { plan, is_cheaper });
        }
    }
    Ok(best)
}

/// The joins that a plan may be of rows that have the keys with partners.
fn candidates(planner: &Planner<'_>, input: &Logical, keys: &SlotSet) -> Vec<Sides> {
    match input {
        Logical::LeftJoin {
            left,
            right,
            conditions,
        } => {
            let sides = Sides {
                rows: (**left).clone(),
                partners: (**right).clone(),
                kind: JoinKind::LeftOuter,
                conditions: conditions.clone(),
            };
            let has_keys = keys.is_subset(&sides.rows.schema());
            has_keys.then_some(sides).into_iter().collect()
        }
        // A value that is drawn is another for each pair.
        Logical::Group(group) if group.filters.iter().all(|filter| is_fixed(planner, filter)) => {
            let mut found: Vec<Sides> = Vec::new();
            for (seed, by) in group.filters.iter().flat_map(compared_sides) {
                for ties_are_partners in [true, false] {
                    let sides = apart(group, (&seed, &by), ties_are_partners);
                    let is_new = |sides: &Sides| {
                        keys.is_subset(&sides.rows.schema())
                            && !found.iter().any(|known| known.partners == sides.partners)
                    };
                    if let Some(sides) = sides.filter(is_new) {
                        found.push(sides);
                    }
                }
            }
            found
        }
        _ => Vec::new(),
    }
}

/// The slots of either side of a comparison, each with those of the other one.
fn compared_sides(filter: &Expr) -> Vec<(SlotSet, SlotSet)> {
    let (Expr::Less(a, b) | Expr::LessOrEqual(a, b)) = filter else {
        return Vec::new();
    };
    let (a, b) = (slots_of(a), slots_of(b));
    let are_apart = !a.is_empty() && !b.is_empty() && a.is_disjoint(&b);
    match are_apart {
        true => vec![(a, b), (b, a)],
        false => Vec::new(),
    }
}

/// A part of a group: a star, a path, or a child.
struct Part {
    slots: SlotSet,
    of: JoinGroup,
    /// How far it is from the partners and from the rows, in parts that share slots.
    distances: [usize; 2],
}

impl Part {
    fn new(of: JoinGroup) -> Self {
        Self {
            slots: of.schema(),
            of,
            distances: [usize::MAX; 2],
        }
    }
}

/// The parts of a group with their distances from what has a slot of the one or of the other side of a comparison.
fn parts(group: &JoinGroup, (seed, by): (&SlotSet, &SlotSet)) -> Vec<Part> {
    let mut stars: Vec<Vec<Triple>> = Vec::new();
    for triple in &group.triples {
        let is_own = |star: &&mut Vec<Triple>| star[0].subject == triple.subject;
        match stars.iter_mut().find(is_own) {
            Some(star) => star.push(triple.clone()),
            None => stars.push(vec![triple.clone()]),
        }
    }
    let stars = stars.into_iter().map(|triples| JoinGroup {
        triples,
        ..JoinGroup::default()
    });
    let paths = group.paths.iter().map(|path| JoinGroup {
        paths: vec![path.clone()],
        ..JoinGroup::default()
    });
    let children = group.children.iter().map(|child| JoinGroup {
        children: vec![child.clone()],
        ..JoinGroup::default()
    });
    let mut parts: Vec<Part> = stars.chain(paths).chain(children).map(Part::new).collect();
    for part in &mut parts {
        if !part.slots.is_disjoint(seed) {
            part.distances[0] = 0;
        } else if !part.slots.is_disjoint(by) {
            part.distances[1] = 0;
        }
    }
    for side in [0, 1] {
        for distance in 0..parts.len() {
            let reached = parts.iter().filter(|part| part.distances[side] == distance);
            let reached = reached.fold(SlotSet::default(), |all, part| all.union(part.slots));
            let is_next = |part: &&mut Part| {
                part.distances[side] == usize::MAX && !part.slots.is_disjoint(&reached)
            };
            let next = parts.iter_mut().filter(is_next);
            next.for_each(|part| part.distances[side] = distance + 1);
        }
    }
    parts
}

/// Splits a group in the middle between what has slots of the seed, the partners, and what has those that bound it.
fn apart(
    group: &JoinGroup,
    (seed, by): (&SlotSet, &SlotSet),
    ties_are_partners: bool,
) -> Option<Sides> {
    let (mut partners, mut rows) = (JoinGroup::default(), JoinGroup::default());
    for Part { of, distances, .. } in parts(group, (seed, by)) {
        let [of_partners, of_rows] = distances;
        let is_partner = of_partners < of_rows || of_partners == of_rows && ties_are_partners;
        let side = if is_partner { &mut partners } else { &mut rows };
        side.triples.extend(of.triples);
        side.paths.extend(of.paths);
        side.children.extend(of.children);
    }
    let is_empty = |side: &JoinGroup| side.schema().is_empty();
    let has_optional = partners.triples.iter().any(|triple| triple.optional);
    if is_empty(&partners) || is_empty(&rows) || has_optional {
        return None;
    }
    let (exists, plain): (Vec<Expr>, Vec<Expr>) =
        group.filters.iter().cloned().partition(has_exists);
    let conditions = share_filters(&plain, &mut rows, &mut partners);
    for filter in exists {
        let slots = slots_of(&filter).intersect(group.schema());
        let mut sides = [&mut rows, &mut partners].into_iter();
        let home = sides.find(|side| slots.is_subset(&side.schema()))?;
        home.filters.push(filter);
    }
    Some(Sides {
        rows: Logical::Group(rows),
        partners: Logical::Group(partners),
        kind: JoinKind::Inner,
        conditions,
    })
}

/// The join of both sides in sets of partners, what the group makes of these, and whether pairs would take longer for certain.
fn joined(
    planner: &mut Planner<'_>,
    sides: &Sides,
    aggregates: &[Aggregate],
    (made, has_keys): (SlotSet, bool),
) -> Result<Option<(Node, Sets, bool)>, PlanError> {
    let Some(sets) = sides.sets(planner, aggregates, (made, has_keys))? else {
        return Ok(None);
    };
    planner.alternatives -= 1;
    let alone = Outer::default();
    let rows = planner.lower(&sides.rows, &alone)?;
    let partners = planner.lower(&sides.partners, &alone)?;
    if matches!(rows.op, Op::Empty) || matches!(partners.op, Op::Empty) {
        return Ok(None);
    }
    let (l, r) = (rows.estimated_rows, partners.estimated_rows);
    let keys = SlotSet::of(&rows.certain).intersect(SlotSet::of(&partners.certain));
    let different = match keys.is_empty() {
        true => Some(1.0),
        false => groups::combinations(planner, &partners, &keys.to_vec()),
    };
    let in_range = l * r / different.unwrap_or(r).max(1.0) * SELECTIVITY_DEFAULT;
    let ordered = (l + r) * RANGE_ROW;
    let is_cheaper =
        sides.kind == JoinKind::LeftOuter && in_range * (HASH_PAIR + GROUP_ROW) > ordered;
    let cost = START
        + rows.estimated_cost
        + partners.estimated_cost
        + hash_cost(r, l, false)
        + ordered
        + l * EMIT_ROW;
    let (mut schema, mut certain) = (rows.schema.clone(), rows.certain.clone());
    schema.extend(sets.partners.iter().map(|own| own.slot));
    let in_all = sets
        .partners
        .iter()
        .filter(|own| own.function.is_certain(sides.kind));
    certain.extend(in_all.map(|own| own.slot));
    let condition = conjunction(sides.conditions.clone());
    let mut join = hash_join(rows, partners, sides.kind, condition, false);
    if let Op::HashJoin { partners, .. } = &mut join.op {
        partners.clone_from(&sets.partners);
    }
    join.schema = schema;
    join.certain = certain;
    join.sorted_by.clear();
    join.estimated_rows = l;
    join.estimated_cost = cost;
    Ok(Some((join, sets, is_cheaper)))
}

impl Sides {
    /// What is to be told of sets of partners, if that is all that the aggregates ask for.
    fn sets(
        &self,
        planner: &mut Planner<'_>,
        aggregates: &[Aggregate],
        (made, has_keys): (SlotSet, bool),
    ) -> Result<Option<Sets>, PlanError> {
        let (rows, partners) = (self.rows.schema(), self.partners.schema());
        let certain = self.rows.certain().intersect(self.partners.certain());
        let is_plain = self.conditions.iter().all(is_pure)
            && slots_of_all(&self.conditions).is_subset(&rows.union(partners))
            && rows.intersect(partners).is_subset(&certain);
        let condition = conjunction(self.conditions.clone());
        let range = condition.and_then(|condition| sole_range(&condition, &rows, &partners));
        let (true, Some(of)) = (is_plain, range) else {
            return Ok(None);
        };
        let mut sets = Sets::default();
        for aggregate in aggregates {
            let Some(told) = self.told(aggregate, &of, rows.union(made)) else {
                return Ok(None);
            };
            sets.add(planner, aggregate, told)?;
        }
        // The average of no rows is 0.
        let is_all_told = has_keys || sets.averages.is_empty();
        Ok((is_all_told && !sets.partners.is_empty()).then_some(sets))
    }

    /// What an aggregate asks for of sets of partners in a range; `None` if it is something else.
    fn told(&self, aggregate: &Aggregate, of: &Expr, rows: SlotSet) -> Option<Told> {
        use AggregateFunction::{Avg, Count, Max, Min, Sample, Sum};
        let Aggregate {
            function,
            argument,
            distinct,
            ..
        } = aggregate;
        let of_all_rows = match self.kind {
            JoinKind::LeftOuter => PartnerFunction::Rows,
            _ => PartnerFunction::Count,
        };
        let slot = match argument {
            None if *function == Count && !distinct => return Some(Told::Added(of_all_rows)),
            None => return None,
            Some(argument) if is_pure(argument) && slots_of(argument).is_subset(&rows) => {
                let is_counted = *function == Count && !distinct;
                let is_bound =
                    matches!(argument, Expr::Slot(slot) if self.rows.certain().contains(*slot));
                let is_idle = *distinct || matches!(function, Min | Max | Sample);
                return match is_counted && is_bound {
                    true => Some(Told::Added(of_all_rows)),
                    false => is_idle.then_some(Told::Nothing),
                };
            }
            Some(Expr::Slot(slot)) if !distinct && !rows.contains(*slot) => *slot,
            Some(_) => return None,
        };
        let is_range = *of == Expr::Slot(slot);
        let is_bound = is_range || self.partners.certain().contains(slot);
        match function {
            Count if is_bound => Some(Told::Added(PartnerFunction::Count)),
            Sum => Some(Told::Added(PartnerFunction::Sum(slot))),
            Avg => Some(Told::Average(slot)),
            Min if is_bound => Some(Told::Picked(PartnerFunction::Least(slot))),
            Max if is_bound => Some(Told::Picked(PartnerFunction::Greatest(slot))),
            _ => None,
        }
    }
}

/// What the one range of a condition is of, if the condition says no more than that.
fn sole_range(condition: &Expr, rows: &SlotSet, partners: &SlotSet) -> Option<Expr> {
    let mut found = ranges_of(condition, rows, partners)?;
    let range = found.ranges.pop()?;
    let is_sole = found.ranges.is_empty() && found.rest.is_none();
    range.sole().filter(|_| is_sole).cloned()
}

/// What an aggregate asks for.
enum Told {
    /// Nothing of the partners, however often the row is there.
    Nothing,
    /// What is added up over the sets.
    Added(PartnerFunction),
    /// What the same function is of over the sets.
    Picked(PartnerFunction),
    /// A sum by a count.
    Average(Slot),
}

impl Sets {
    fn add(
        &mut self,
        planner: &mut Planner<'_>,
        aggregate: &Aggregate,
        told: Told,
    ) -> Result<(), PlanError> {
        use AggregateFunction::Sum;
        match told {
            Told::Nothing => self.aggregates.push(aggregate.clone()),
            Told::Added(of) => self.push(planner, (Sum, of), aggregate.slot)?,
            Told::Picked(of) => {
                self.push(planner, (aggregate.function.clone(), of), aggregate.slot)?;
            }
            Told::Average(of) => {
                let (sum, count) = (planner.fresh_slot("sum")?, planner.fresh_slot("count")?);
                self.push(planner, (Sum, PartnerFunction::Sum(of)), sum)?;
                self.push(planner, (Sum, PartnerFunction::Count), count)?;
                self.averages.push((aggregate.slot, sum, count));
            }
        }
        Ok(())
    }

    /// Adds an aggregate over what is told of the sets.
    fn push(
        &mut self,
        planner: &mut Planner<'_>,
        (function, of): (AggregateFunction, PartnerFunction),
        slot: Slot,
    ) -> Result<(), PlanError> {
        let argument = self.slot(planner, of)?;
        self.aggregates.push(Aggregate {
            slot,
            function,
            argument: Some(Expr::Slot(argument)),
            distinct: false,
        });
        Ok(())
    }

    /// The slot of what is told of each set.
    fn slot(
        &mut self,
        planner: &mut Planner<'_>,
        function: PartnerFunction,
    ) -> Result<Slot, PlanError> {
        let known = self.partners.iter().find(|own| own.function == function);
        if let Some(known) = known {
            return Ok(known.slot);
        }
        let slot = planner.fresh_slot("set")?;
        self.partners.push(PartnerAggregate { slot, function });
        Ok(slot)
    }
}

/// The groups of a join in sets.
fn grouped(
    planner: &mut Planner<'_>,
    rows: Node,
    keys: &[Slot],
    aggregates: &[Aggregate],
    sets: Sets,
) -> Result<Node, PlanError> {
    let mut groups = planner.group_of(rows, keys, &sets.aggregates, &Outer::default())?;
    for (slot, sum, count) in sets.averages {
        let [sum, count] = [sum, count].map(|slot| Box::new(Expr::Slot(slot)));
        groups = planner.extend(groups, slot, Expr::Divide(sum, count))?;
    }
    let slots = keys.iter().copied();
    let slots = slots.chain(aggregates.iter().map(|aggregate| aggregate.slot));
    Ok(planner.project(groups, slots.collect()))
}
