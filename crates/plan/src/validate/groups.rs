//! Checks of operators whose rows stand for many.

use super::ensure;
use crate::physical::{Domain, GroupThrough, JoinKind, Node, Op, RollUp, Slot, Total};

/// Rows that stand for sets of pairs are told by the order of the right side's rows.
pub(super) fn check_partners(node: &Node) -> Result<(), String> {
    let Op::HashJoin {
        right,
        kind,
        build_left,
        partners,
        ..
    } = &node.op
    else {
        return Ok(());
    };
    let keeps_left = matches!(kind, JoinKind::Inner | JoinKind::LeftOuter) && !build_left;
    let mut arguments = partners.iter().filter_map(|own| own.function.argument());
    ensure(
        partners.is_empty() || keeps_left && arguments.all(|slot| right.schema.contains(&slot)),
        node,
        "sets of pairs that are none of a left row's",
    )
}

/// Rows and pairs meet in slots that both have for certain.
pub(super) fn check_group_through(node: &Node, group: &GroupThrough) -> Result<(), String> {
    let GroupThrough {
        rows,
        pairs,
        via,
        keys,
        without,
        total,
        shared,
        ..
    } = group;
    ensure(
        total.is_some() == (without.is_some() && shared.is_some()),
        node,
        "a total goes with shared states that are taken away",
    )?;
    let has = |input: &Node, slots: &[Slot]| slots.iter().all(|s| input.certain.contains(s));
    let told = match total {
        Some(Total::Parts(Some(values))) => has(values, via),
        _ => true,
    };
    ensure(
        has(rows, via) && has(pairs, via) && told,
        node,
        "a via may be unbound",
    )?;
    ensure(
        !matches!(without, Some(Domain::Pairs)) || shared.is_some(),
        node,
        "a domain is another's, but no states",
    )?;
    let domain = without.as_ref().and_then(Domain::node);
    let paired = keys.iter().all(|key| pairs.schema.contains(key));
    ensure(
        paired && domain.is_none_or(|domain| has(domain, keys)),
        node,
        "a key is missing",
    )
}

/// What is rolled up are keys and aggregates of a group.
pub(super) fn check_roll_up(node: &Node, group: &RollUp) -> Result<(), String> {
    let (keys, aggregates) = match &group.finer.op {
        Op::Group {
            keys, aggregates, ..
        } => (keys, aggregates),
        Op::GroupThrough(finer) if finer.without.is_none() && finer.shared.is_none() => {
            (&finer.keys, &finer.aggregates)
        }
        _ => return Err(format!("nothing to roll up: {node:?}")),
    };
    let has_keys = group.keys.iter().all(|(_, finer)| keys.contains(finer));
    let mut rolled = group.aggregates.iter();
    let has_aggregates = rolled.all(|(_, finer)| aggregates.iter().any(|own| own.slot == *finer));
    ensure(
        has_keys && has_aggregates,
        node,
        "what is rolled up is not there",
    )
}
