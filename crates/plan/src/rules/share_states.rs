//! Groups that take away what another group of the plan has are given its states.
//!
//! The average price of products with a feature and of those without it: the second is the average of all rows less those
//! that the first has aggregated. Where a plan asks for both, the states of the first are made once and are
//! numbered ([`GroupThrough::shared`]); the second then aggregates all rows as one group, and has them from the other.
//!
//! Sound where both are evaluated once: groups inside EXISTS and on the right of lateral joins are left alone, and so is what is
//! volatile or remote. Cost: a copy of each such group, to compare them.

use super::share_subplans::{is_evaluated_alike, shareable_children, shareable_children_mut};
use crate::cost_constants::{EMIT_ROW, GROUP_ROW};
use crate::physical::{GroupThrough, Node, Op};
use crate::planner::Planner;
use crate::rename_slots::canonical;

/// Numbers the states that are shared, and forgets what they were compared by.
pub(crate) fn apply(root: &mut Node, planner: &Planner<'_>) {
    let mut wanted = Vec::new();
    take_with_pair(root, &mut wanted);
    if wanted.is_empty() || !planner.rule("share_states") {
        return;
    }
    let mut plain = Vec::new();
    find_plain(root, &mut plain);
    // By number.
    let mut shared: Vec<Node> = Vec::new();
    let numbers: Vec<Option<usize>> = wanted
        .iter()
        .map(|with_pair| {
            let with_pair = canonical(with_pair.as_ref()?);
            if !plain.contains(&with_pair) {
                return None;
            }
            let known = shared.iter().position(|other| *other == with_pair);
            Some(known.unwrap_or_else(|| {
                shared.push(with_pair);
                shared.len() - 1
            }))
        })
        .collect();
    if !shared.is_empty() {
        let mut wanted = wanted.into_iter().zip(numbers);
        share(root, &shared, &mut || wanted.next());
    }
}

/// Whether a group is of the second form.
fn takes_away(node: &Node) -> bool {
    matches!(&node.op, Op::GroupThrough(group) if group.without.is_some())
}

/// Takes what groups of the second form would share, one for each of them in the order of the plan; of those that cannot share it
/// stays nothing.
fn take_with_pair(node: &mut Node, wanted: &mut Vec<Option<Box<Node>>>) {
    if let Op::GroupThrough(group) = &mut node.op
        && group.without.is_some()
    {
        let with_pair = group.with_pair.take();
        wanted.push(with_pair.filter(|node| is_evaluated_alike(node)));
    }
    for child in shareable_children_mut(node) {
        take_with_pair(child, wanted);
    }
}

/// Collects the groups of the first form.
fn find_plain(node: &Node, found: &mut Vec<Node>) {
    if matches!(node.op, Op::GroupThrough(_)) && !takes_away(node) {
        found.push(canonical(node));
    }
    for child in shareable_children(node) {
        find_plain(child, found);
    }
}

/// What a group of the second form would share, and its number if it does.
type Wanted = (Option<Box<Node>>, Option<usize>);

fn share(node: &mut Node, shared: &[Node], next: &mut dyn FnMut() -> Option<Wanted>) {
    if takes_away(node) {
        if let Some((Some(with_pair), Some(number))) = next() {
            give(node, *with_pair, number);
        }
    } else if matches!(node.op, Op::GroupThrough(_)) {
        let plan = canonical(node);
        if let Op::GroupThrough(group) = &mut node.op {
            group.shared = shared.iter().position(|other| *other == plan);
        }
    }
    for child in shareable_children_mut(node) {
        share(child, shared, next);
    }
}

/// Has a group of the second form take away the states of this number.
fn give(node: &mut Node, with_pair: Node, number: usize) {
    let (Op::GroupThrough(group), Op::GroupThrough(states)) = (&mut node.op, with_pair.op) else {
        return;
    };
    let GroupThrough {
        rows, pairs, via, ..
    } = *states;
    let total = std::mem::replace(&mut group.rows, rows);
    let states = group.aggregates.len() as f64;
    let domain = group.without.as_ref().map_or(0.0, |d| d.estimated_cost);
    node.estimated_cost = domain
        + total.estimated_cost
        + total.estimated_rows * GROUP_ROW
        + node.estimated_rows * (GROUP_ROW * states + EMIT_ROW);
    group.total = Some(total);
    group.pairs = pairs;
    group.via = via;
    group.shared = Some(number);
}
