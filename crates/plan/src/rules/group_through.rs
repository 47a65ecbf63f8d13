//! GROUP BY over a join whose aggregates read one side only: aggregated on that side first, then added
//! up through the other ([`Op::GroupThrough`]).
//!
//! Three forms. *Through*: the aggregated patterns are stars that share slots (`via`) with patterns that
//! hold the keys; the average price by feature needs one state per product and one addition per
//! (feature, product), not a row for each offer of each. Stars that lead to the keys by way of the aggregated ones only are
//! joined with these: reviewers of a country with the reviews that are counted by the type of their product. *Without*: distinct keys crossed with rows, less
//! those for which a pattern exists; what is left is all rows minus those with a partner, so the cross
//! product is never made (group join and eager aggregation: Yan and Larson, "Eager Aggregation and Lazy
//! Aggregation", VLDB 1995).
//!
//! [*Over a path*](over_path): the path leads from the aggregated rows to the keys.
//!
//! What is taken away are the aggregates of the rows *with* a partner. Where the partners are told by the keys and the
//! shared slots alone, these are a group of the first form; a plan that has that group already makes it once
//! ([`share_states`](super::share_states)).
//!
//! Applies where no aggregate is DISTINCT; *without* takes only counts, sums and averages, which are
//! exact and can be taken away again. Slots that sides share are certain on both, so that joining by id
//! is the join. Nothing may come from around an EXISTS.

mod over_path;

use crate::cost_constants::{EMIT_ROW, EXPRESSION, GROUP_ROW};
use crate::estimate::groups;
use crate::expression::{is_pure, resolve_missing, slots_of, slots_of_all};
use crate::logical::{JoinGroup, Logical, Triple, is_bound_in_groups, share_filters};
use crate::lower::Outer;
use crate::physical::{
    Aggregate, AggregateFunction, Domain, Expr, GroupThrough, Node, Op, Position, Slot, Total,
    WithPair,
};
use crate::planner::{PlanError, Planner, node};
use crate::rules::remove_distinct::{distinct, is_distinct};
use crate::slot_set::SlotSet;
use basalt_rdf::TermId;
use std::sync::Arc;

/// The parts of a group that is to be made.
struct Parts {
    rows: Node,
    pairs: Node,
    via: SlotSet,
    without: Option<Node>,
    /// The same aggregates of the rows with a partner.
    with_pair: Option<Box<Partnered>>,
}

/// The aggregates of the rows with a partner, in the first form.
struct Partnered {
    parts: Parts,
    /// How all rows come from its states.
    total: Option<Total>,
}

/// The group, if its aggregates can be taken before the join.
pub(crate) fn aggregate(
    planner: &mut Planner<'_>,
    input: &Logical,
    keys: &[Slot],
    aggregates: &[Aggregate],
    outer: &Outer,
) -> Result<Option<Node>, PlanError> {
    let free = planner.rule("group_through") && outer.slots.is_empty();
    let Logical::Group(group) = input else {
        return Ok(None);
    };
    if !free || keys.is_empty() || aggregates.is_empty() || !aggregates.iter().all(is_plain) {
        return Ok(None);
    }
    let arguments: Vec<Expr> = aggregates
        .iter()
        .filter_map(|a| a.argument.clone())
        .collect();
    let read = slots_of_all(&arguments);
    let parts = match without(planner, group, keys, aggregates, &read)? {
        Some(parts) => Some(parts),
        None => match through(planner, group, keys, &read)? {
            Some((parts, ..)) => Some(parts),
            None => over_path::parts(planner, group, keys, &read)?,
        },
    };
    Ok(parts.map(|parts| parts.into_node(planner, keys, aggregates)))
}

/// Whether what an aggregate makes of some rows can be added to what it makes of others.
pub(super) fn is_plain(aggregate: &Aggregate) -> bool {
    let added = matches!(
        aggregate.function,
        AggregateFunction::Count
            | AggregateFunction::Sum
            | AggregateFunction::Avg
            | AggregateFunction::Min
            | AggregateFunction::Max
    );
    let argument = aggregate.argument.as_ref();
    added && !aggregate.distinct && argument.is_none_or(is_pure)
}

/// Distinct keys crossed with rows under one NOT EXISTS over both.
fn without(
    planner: &mut Planner<'_>,
    group: &JoinGroup,
    keys: &[Slot],
    aggregates: &[Aggregate],
    read: &SlotSet,
) -> Result<Option<Parts>, PlanError> {
    let can_be_taken_away = aggregates.iter().all(|aggregate| {
        !matches!(
            aggregate.function,
            AggregateFunction::Min | AggregateFunction::Max
        )
    });
    let Some((partners, filters)) = split_not_exists(planner, &group.filters) else {
        return Ok(None);
    };
    let key_set = SlotSet::of(keys);
    let is_domain = |child: &Logical| {
        child.schema() == key_set && key_set.is_subset(&child.certain()) && is_distinct(child)
    };
    let Some(at) = group.children.iter().position(is_domain) else {
        return Ok(None);
    };
    let mut rows = group.clone();
    let domain = rows.children.remove(at);
    rows.filters = filters;
    let (row_slots, filter_slots) = (rows.schema(), slots_of_all(&rows.filters));
    let apart = key_set.is_disjoint(&row_slots.union(filter_slots).union(*read));
    let shared = partners.schema().intersect(key_set.union(row_slots));
    let via = shared.minus(key_set);
    let joined = key_set.is_subset(&shared)
        && !via.is_empty()
        && shared.is_subset(&partners.certain())
        && via.is_subset(&rows.certain());
    if !can_be_taken_away || !apart || !joined || !read.is_subset(&row_slots) {
        return Ok(None);
    }
    // The domain is planned once more for the plan without this. Without a bound, nested groups would be planned exponentially often.
    if planner.alternatives == 0 {
        return Ok(None);
    }
    planner.alternatives -= 1;
    let alone = Outer::default();
    let with_pair = match partners.schema() == shared {
        true => with_partners(planner, &rows, &partners, keys, read)?,
        false => None,
    };
    let pairs = distinct(planner, values_of(&shared, partners));
    let pairs = planner.lower(&pairs, &alone)?;
    let pairs = match &with_pair {
        Some(joined) if is_narrower(&joined.parts.pairs, &pairs, &shared) => {
            joined.parts.pairs.clone()
        }
        _ => pairs,
    };
    Ok(Some(Parts {
        rows: planner.lower(&Logical::Group(rows), &alone)?,
        pairs,
        via,
        without: Some(planner.lower(&domain, &alone)?),
        with_pair,
    }))
}

/// The aggregates of the rows with a partner, in the first form.
fn with_partners(
    planner: &mut Planner<'_>,
    rows: &JoinGroup,
    partners: &JoinGroup,
    keys: &[Slot],
    read: &SlotSet,
) -> Result<Option<Box<Partnered>>, PlanError> {
    if !rows.children.is_empty() || !rows.paths.is_empty() {
        return Ok(None);
    }
    let joined = JoinGroup {
        triples: [&rows.triples[..], &partners.triples].concat(),
        filters: [&rows.filters[..], &partners.filters].concat(),
        ..JoinGroup::default()
    };
    let Some((parts, sides, told_by)) = through(planner, &joined, keys, read)? else {
        return Ok(None);
    };
    let total = total(planner, rows, &sides, &told_by)?;
    Ok(Some(Box::new(Partnered { parts, total })))
}

/// Whether pairs of the slots that are told, of which conditions on rows leave some, cost less than all of them. Other slots would make
/// some of them several times.
fn is_narrower(some: &Node, all: &Node, told: &SlotSet) -> bool {
    let cost = |pairs: &Node| pairs.estimated_cost + pairs.estimated_rows * GROUP_ROW;
    SlotSet::of(&some.schema) == *told && cost(some) < cost(all)
}

/// The plain group of the only NOT EXISTS among the conditions, and the other conditions.
fn split_not_exists(planner: &Planner<'_>, filters: &[Expr]) -> Option<(JoinGroup, Vec<Expr>)> {
    let (exists, others): (Vec<Expr>, Vec<Expr>) =
        filters.iter().cloned().partition(|filter| !is_pure(filter));
    let [Expr::Not(negated)] = exists.as_slice() else {
        return None;
    };
    let Expr::Exists(inside) = &**negated else {
        return None;
    };
    let Logical::Group(partners) = &planner.exists[inside.id] else {
        return None;
    };
    let own = slots_of_all(&partners.filters).is_subset(&partners.schema());
    let plain = partners.children.is_empty() && partners.paths.is_empty();
    let pure = partners.filters.iter().all(is_pure);
    (own && plain && pure).then(|| (partners.clone(), others))
}

/// The two sides of a group of the first form.
struct Sides {
    /// Stars that hold the arguments.
    rows: JoinGroup,
    /// Patterns that hold the keys.
    pairs: JoinGroup,
    /// The slots that both have.
    via: SlotSet,
}

/// The rows of a group of the first form.
struct Rows {
    node: Node,
    /// The patterns that tell the values of `via` for which there are rows; none where all rows are read.
    told_by: JoinGroup,
}

/// A group of the first form, if it is one.
fn through(
    planner: &mut Planner<'_>,
    group: &JoinGroup,
    keys: &[Slot],
    read: &SlotSet,
) -> Result<Option<(Parts, Sides, JoinGroup)>, PlanError> {
    let Some(sides) = sides(group, keys, read) else {
        return Ok(None);
    };
    let pairs = planner.lower(&Logical::Group(sides.pairs.clone()), &Outer::default())?;
    let rows = rows(planner, &sides, &pairs, keys)?;
    let parts = Parts {
        rows: rows.node,
        pairs,
        via: sides.via,
        without: None,
        with_pair: None,
    };
    Ok(Some((parts, sides, rows.told_by)))
}

/// Stars that hold the arguments, and patterns that hold the keys.
fn sides(group: &JoinGroup, keys: &[Slot], read: &SlotSet) -> Option<Sides> {
    let simple = group.children.is_empty() && group.paths.is_empty();
    if !simple || read.is_empty() || !group.filters.iter().all(is_pure) {
        return None;
    }
    let (rows, pairs) = split(in_order(&group.triples), keys, read);
    let (mut rows, mut pairs) = (group_of(rows), group_of(pairs));
    let (row_slots, pair_slots) = (rows.schema(), pairs.schema());
    if !share_filters(&group.filters, &mut pairs, &mut rows).is_empty() {
        return None;
    }
    let via = row_slots.intersect(pair_slots);
    let certain = rows.certain().intersect(pairs.certain());
    let fits = !via.is_empty()
        && via.is_subset(&certain)
        && read.is_subset(&row_slots)
        && SlotSet::of(keys).is_subset(&pair_slots);
    fits.then_some(Sides { rows, pairs, via })
}

fn group_of(triples: Vec<Triple>) -> JoinGroup {
    JoinGroup {
        triples,
        ..JoinGroup::default()
    }
}

/// The rows in the cheapest way: all, those with a pair, or those with what pairs have apart from keys.
fn rows(
    planner: &mut Planner<'_>,
    sides: &Sides,
    pairs: &Node,
    keys: &[Slot],
) -> Result<Rows, PlanError> {
    let alone = Outer::default();
    let mut ways = vec![Rows {
        node: planner.lower(&Logical::Group(sides.rows.clone()), &alone)?,
        told_by: JoinGroup::default(),
    }];
    if planner.rule("seed_join") {
        let mut seeds = vec![(
            seed_of_pairs(planner, pairs, &sides.via),
            sides.pairs.clone(),
        )];
        if let Some(apart) = apart_from_keys(sides, keys) {
            let values = distinct(planner, values_of(&sides.via, apart.clone()));
            seeds.push((planner.lower(&values, &alone)?, apart));
        }
        for (seed, told_by) in seeds {
            let node = planner.join_group(&sides.rows, &alone, Some(seed))?;
            ways.push(Rows { node, told_by });
        }
    }
    // Each row is put into a state.
    let cost = |rows: &Node| rows.estimated_cost + rows.estimated_rows * (GROUP_ROW + EXPRESSION);
    let cheapest = ways
        .into_iter()
        .min_by(|a, b| cost(&a.node).total_cmp(&cost(&b.node)));
    Ok(cheapest.expect("all rows are a way"))
}

/// The values of `via` that pairs have, each once.
fn seed_of_pairs(planner: &Planner<'_>, pairs: &Node, via: &SlotSet) -> Node {
    let keys = planner.project(pairs.clone(), via.to_vec());
    let rows_read = keys.estimated_rows;
    let found = groups::combinations(planner, &keys, &keys.schema).unwrap_or(rows_read);
    let cost = keys.estimated_cost + rows_read * GROUP_ROW;
    planner.pass(keys, found, cost, |input| Op::Distinct { input })
}

/// The patterns of the pairs without those of keys, if they tell values of `via`: more of them, for less.
fn apart_from_keys(sides: &Sides, keys: &[Slot]) -> Option<JoinGroup> {
    let keys = SlotSet::of(keys).minus(sides.via);
    let triples = sides.pairs.triples.iter();
    let apart = triples.filter(|triple| triple.slots().is_disjoint(&keys));
    let mut apart = group_of(apart.cloned().collect());
    let slots = apart.schema();
    let filters = sides.pairs.filters.iter();
    let filters = filters.filter(|filter| slots_of(filter).is_subset(&slots));
    apart.filters = filters.cloned().collect();
    let is_less = apart.triples.len() < sides.pairs.triples.len();
    (is_less && sides.via.is_subset(&apart.certain())).then_some(apart)
}

/// How the states of rows by `via` add up to all rows, if what tells the values of `via` is no more than what all rows have.
fn total(
    planner: &mut Planner<'_>,
    all: &JoinGroup,
    sides: &Sides,
    told_by: &JoinGroup,
) -> Result<Option<Total>, PlanError> {
    let Sides { rows, via, .. } = sides;
    if !is_within(rows, all) {
        return Ok(None);
    }
    let mut rest = group_of(without_those(&all.triples, &rows.triples));
    rest.filters = without_those(&all.filters, &rows.filters);
    if !is_within(told_by, &rest) {
        return Ok(None);
    }
    if rest.triples.is_empty() {
        return Ok(rest.filters.is_empty().then_some(Total::Parts(None)));
    }
    if !via.is_subset(&rest.certain()) {
        return Ok(None);
    }
    let values = planner.lower(&values_of(via, rest), &Outer::default())?;
    Ok(Some(Total::Parts(Some(values))))
}

/// The values of some slots in the rows of a group.
fn values_of(slots: &SlotSet, group: JoinGroup) -> Logical {
    Logical::Project {
        input: Box::new(Logical::Group(group)),
        slots: slots.to_vec(),
    }
}

/// Whether all patterns and conditions of a group are some of another's.
fn is_within(group: &JoinGroup, other: &JoinGroup) -> bool {
    without_those(&group.triples, &other.triples).is_empty()
        && without_those(&group.filters, &other.filters).is_empty()
}

fn without_those<T: Clone + PartialEq>(all: &[T], those: &[T]) -> Vec<T> {
    let others = all.iter().filter(|item| !those.contains(item));
    others.cloned().collect()
}

/// The triples of the stars that hold the arguments, with all that leads to the keys by way of these only; and the others.
fn split(triples: Vec<Triple>, keys: &[Slot], read: &SlotSet) -> (Vec<Triple>, Vec<Triple>) {
    let holders = triples.iter().filter(|t| !t.slots().is_disjoint(read));
    let holders: Vec<Position> = holders.map(|triple| triple.subject).collect();
    let holds = |triple: &Triple| holders.contains(&triple.subject);
    // What is connected with the keys without them.
    let others = triples.iter().filter(|triple| !holds(triple));
    let connected = SlotSet::of(keys).connected(others.map(Triple::slots));
    let is_row = |triple: &Triple| holds(triple) || triple.slots().is_disjoint(&connected);
    triples.into_iter().partition(is_row)
}

/// Triples in an order that does not depend on how they are written, which is not to tell groups apart.
fn in_order(triples: &[Triple]) -> Vec<Triple> {
    let mut triples = triples.to_vec();
    triples.sort_by_key(|triple| (constant(triple.predicate), constant(triple.object)));
    triples
}

/// The term, if a position has one.
fn constant(position: Position) -> Option<TermId> {
    match position {
        Position::Id(id) => Some(id),
        Position::Slot(_) => None,
    }
}

impl Parts {
    fn into_node(self, planner: &Planner<'_>, keys: &[Slot], aggregates: &[Aggregate]) -> Node {
        let Self {
            rows,
            pairs,
            via,
            without,
            with_pair,
        } = self;
        let with_pair = with_pair.map(|with_pair| {
            let Partnered { parts, total } = *with_pair;
            let group = parts.into_node(planner, keys, aggregates);
            Arc::new(WithPair { group, total })
        });
        let mut aggregates = aggregates.to_vec();
        let available = SlotSet::of(&rows.schema);
        let certain_rows = SlotSet::of(&rows.certain);
        let mut schema = keys.to_vec();
        let certain_keys = without.as_ref().unwrap_or(&pairs).certain.clone();
        let mut certain = SlotSet::of(&certain_keys).intersect(SlotSet::of(keys));
        for aggregate in &mut aggregates {
            if let Some(argument) = &mut aggregate.argument {
                resolve_missing(argument, &available, planner.statistics);
            }
            // Where keys may have no row, no aggregate picks one.
            if is_bound_in_groups(aggregate, keys, &certain_rows) {
                certain.insert(aggregate.slot);
            }
            schema.push(aggregate.slot);
        }
        let groups = match &without {
            Some(domain) => domain.estimated_rows,
            None => groups::groups(planner, &pairs, keys),
        };
        let inputs = rows.estimated_cost
            + pairs.estimated_cost
            + without.as_ref().map_or(0.0, |domain| domain.estimated_cost);
        let states = aggregates.len() as f64;
        let cost = inputs
            + rows.estimated_rows * (GROUP_ROW + EXPRESSION * states)
            + pairs.estimated_rows * GROUP_ROW * (1.0 + states)
            + groups * (GROUP_ROW * states + EMIT_ROW);
        let op = Op::GroupThrough(Box::new(GroupThrough {
            rows,
            pairs,
            via: via.to_vec(),
            keys: keys.to_vec(),
            aggregates,
            without: without.map(|domain| Domain::Rows(Box::new(domain))),
            total: None,
            shared: None,
            with_pair,
        }));
        node(op, schema, certain, groups, cost)
    }
}
