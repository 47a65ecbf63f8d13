//! Groups that take away what another group of the plan has are given its states.
//!
//! The average price of products with a feature and of those without it: the second is the average of all rows less those
//! that the first has aggregated. Where a plan asks for both, the states of the first are made once and are
//! numbered ([`GroupThrough::shared`]); the second has them from the other, and then needs all rows as one group: they are aggregated, or
//! added up from the first's states by what its sides share, if these tell them ([`Total`]). Where the domain is the keys of
//! the first's pairs, it is not read again either ([`Domain::Pairs`]).
//!
//! Sound where both are evaluated once: groups inside EXISTS and on the right of lateral joins are left alone, and so is what is
//! volatile or remote. Cost: a copy of each such group, to compare them.

use super::share_subplans::{is_evaluated_alike, shareable_children, shareable_children_mut};
use crate::cost_constants::{EMIT_ROW, EXPRESSION, GROUP_ROW};
use crate::physical::{Domain, GroupThrough, Node, Op, Slot, Total, WithPair};
use crate::planner::Planner;
use crate::rename_slots::canonical;
use std::sync::Arc;

/// Numbers the states that are shared, and forgets what they were compared by.
pub(crate) fn apply(root: &mut Node, planner: &Planner<'_>) {
    let mut plain = Vec::new();
    if planner.rule("share_states") && may_share(root) {
        find_plain(root, &mut plain);
    }
    // By number.
    let mut shared = Vec::new();
    share(root, &plain, &mut shared, planner);
    if !shared.is_empty() {
        number_plain(root, &shared);
    }
}

/// Whether there is a group of the second form whose states another may have.
fn may_share(node: &Node) -> bool {
    let own = matches!(&node.op, Op::GroupThrough(group) if group.with_pair.is_some());
    own || shareable_children(node).into_iter().any(may_share)
}

/// Whether a node is a group of the first form.
fn is_plain(node: &Node) -> bool {
    matches!(&node.op, Op::GroupThrough(group) if group.without.is_none())
}

/// Collects the groups of the first form.
fn find_plain(node: &Node, found: &mut Vec<Node>) {
    if is_plain(node) {
        found.push(canonical(node));
    }
    for child in shareable_children(node) {
        find_plain(child, found);
    }
}

/// Gives groups of the second form the states of those of the first that are the same.
fn share(node: &mut Node, plain: &[Node], shared: &mut Vec<Node>, planner: &Planner<'_>) {
    if let Op::GroupThrough(group) = &mut node.op
        && let Some(with_pair) = group.with_pair.take()
        && is_evaluated_alike(&with_pair.group)
    {
        let plan = canonical(&with_pair.group);
        if plain.contains(&plan) {
            let known = shared.iter().position(|other| *other == plan);
            let number = known.unwrap_or(shared.len());
            if known.is_none() {
                shared.push(plan);
            }
            give(node, Arc::unwrap_or_clone(with_pair), number, planner);
        }
    }
    for child in shareable_children_mut(node) {
        share(child, plain, shared, planner);
    }
}

/// Numbers the groups of the first form that make shared states.
fn number_plain(node: &mut Node, shared: &[Node]) {
    if is_plain(node) {
        let plan = canonical(node);
        if let Op::GroupThrough(group) = &mut node.op {
            group.shared = shared.iter().position(|other| *other == plan);
        }
    }
    for child in shareable_children_mut(node) {
        number_plain(child, shared);
    }
}

/// Has a group of the second form take away the states of this number.
fn give(node: &mut Node, with_pair: WithPair, number: usize, planner: &Planner<'_>) {
    let WithPair {
        group: other,
        total,
    } = with_pair;
    let (Op::GroupThrough(group), Op::GroupThrough(states)) = (&mut node.op, other.op) else {
        return;
    };
    let GroupThrough {
        rows, pairs, via, ..
    } = *states;
    let all = Total::Rows(std::mem::replace(&mut group.rows, rows));
    let states = group.aggregates.len() as f64;
    // The argument is evaluated for each row, and states that are there are looked up.
    let cost = |total: &Total| {
        let each = match total {
            Total::Rows(_) => GROUP_ROW + EXPRESSION * states,
            Total::Parts(_) => GROUP_ROW * (1.0 + states),
        };
        let node = total.node();
        node.map_or(0.0, |node| node.estimated_cost + node.estimated_rows * each)
    };
    let total = total
        .filter(|parts| cost(parts) < cost(&all))
        .unwrap_or(all);
    if is_of_pairs(group.without.as_ref(), &pairs, &group.keys, planner) {
        group.without = Some(Domain::Pairs);
    }
    let domain = group.without.as_ref().and_then(Domain::node);
    let domain = domain.map_or(0.0, |domain| domain.estimated_cost);
    node.estimated_cost =
        domain + cost(&total) + node.estimated_rows * (GROUP_ROW * states + EMIT_ROW);
    group.total = Some(total);
    group.pairs = pairs;
    group.via = via;
    group.shared = Some(number);
}

/// Whether a domain is the distinct keys of these pairs.
fn is_of_pairs(
    domain: Option<&Domain>,
    pairs: &Node,
    keys: &[Slot],
    planner: &Planner<'_>,
) -> bool {
    let Some(Op::Distinct { input }) = domain.and_then(Domain::node).map(|node| &node.op) else {
        return false;
    };
    let rows = match &input.op {
        Op::Project { input } => input,
        _ => input,
    };
    let keys_of = |rows: &Node| canonical(&planner.project(rows.clone(), keys.to_vec()));
    keys.iter().all(|key| rows.schema.contains(key)) && keys_of(rows) == keys_of(pairs)
}
