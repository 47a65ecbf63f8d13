//! Conditions on the texts of several variables are asked after a join that leaves far fewer rows, and not before.
//!
//! ```text
//! HashJoin on ?a ?b                                          Filter (STR(?a) < STR(?b))
//!   StarScan ?a { :knows ?b } if (STR(?a) < STR(?b))    =>     HashJoin on ?a ?b
//!   StarScan ?b { :knows ?a } if (STR(?a) < STR(?b))             StarScan ?a { :knows ?b }
//!                                                                StarScan ?b { :knows ?a }
//! ```
//!
//! The search for an order of joins settles each condition as soon as its slots are bound, which is right for all that cost about as much as a cell. The text of a
//! term costs as much as joining some rows. (Texts of one variable stay where they are: scans ask each value once, and find some by their beginnings.)
//!
//! Sound on both sides of an inner join, and on the side whose rows others keep: the condition reads slots that all rows of that side bind, and gives the same
//! for the same row. Only where the expected cost is less than half. Cost: a walk over the plan.

use crate::cost_constants::{EMIT_ROW, EXPRESSION};
use crate::estimate::condition::{cost, selectivity};
use crate::expression::{conjunction, conjuncts, is_pure, slots_of};
use crate::physical::{Expr, JoinKind, Node, Op};
use crate::planner::{Planner, node, take_node};
use crate::slot_set::SlotSet;
use std::sync::Arc;

/// How many times as much it costs to ask a condition before the join, at least, to ask it after.
const GAIN_MIN: f64 = 2.0;

/// Defers such conditions in the whole plan.
pub(crate) fn apply(root: &mut Node, planner: &Planner<'_>) {
    if planner.rule("defer_conditions") {
        visit(root);
    }
}

fn visit(root: &mut Node) {
    for child in root.op.children_mut() {
        visit(child);
    }
    let mut deferred = Vec::new();
    for condition in of_inputs(root) {
        if defer(root, &condition) {
            deferred.push(condition);
        }
    }
    if let Some(condition) = conjunction(deferred) {
        put_above(root, condition);
    }
}

/// The inputs of a join whose conditions may as well be asked after it.
fn inputs(join: &mut Node) -> Vec<&mut Node> {
    let (left, right) = match &mut join.op {
        Op::HashJoin {
            left, right, kind, ..
        } => (left, (*kind == JoinKind::Inner).then_some(right)),
        Op::MergeJoin { left, right, .. } => (left, Some(right)),
        Op::StarJoin { input, .. } => (input, None),
        _ => return Vec::new(),
    };
    std::iter::once(left)
        .chain(right)
        .map(Arc::make_mut)
        .collect()
}

/// The conditions of the inputs of a join that may be asked after it, each once.
fn of_inputs(join: &mut Node) -> Vec<Expr> {
    let available = SlotSet::of(&join.schema);
    let mut found: Vec<Expr> = Vec::new();
    for input in inputs(join) {
        for condition in conditions(input) {
            if slots_of(&condition).is_subset(&available) && !found.contains(&condition) {
                found.push(condition);
            }
        }
    }
    found
}

/// The conditions that the rows of a node were asked last, read texts of several slots, and say the same after a join.
fn conditions(node: &Node) -> Vec<Expr> {
    let mut found = match &node.op {
        Op::Filter { condition, .. } => conjuncts(condition),
        Op::StarScan { star, .. }
        | Op::StarJoin {
            star,
            kind: JoinKind::Inner,
            ..
        } => star.filters.clone(),
        _ => Vec::new(),
    };
    // A slot that a row lacks may be bound by the join.
    let certain = SlotSet::of(&node.certain);
    found.retain(|condition| {
        let slots = slots_of(condition);
        cost(condition) > EXPRESSION
            && is_pure(condition)
            && slots.iter().count() > 1
            && slots.is_subset(&certain)
    });
    found
}

/// Takes a condition from the inputs of a join if it is better asked after it.
fn defer(join: &mut Node, condition: &Expr) -> bool {
    let share = selectivity(condition, &|_| None).max(f64::MIN_POSITIVE);
    let each = cost(condition);
    let (rows, whole) = (join.estimated_rows, join.estimated_cost);
    let (mut asked, mut below, mut times) = (0.0, 0.0, 1.0);
    for input in inputs(join) {
        below += input.estimated_cost;
        if conditions(input).contains(condition) {
            asked += input.estimated_rows / share;
            times /= share;
        }
    }
    // So many times as many rows come in, and `times` as many out.
    let more = (whole - below).max(0.0) * (1.0 / share - 1.0) + rows * times * EMIT_ROW;
    let saved = asked * each;
    if saved < GAIN_MIN * (more + rows * times * each) {
        return false;
    }
    for input in inputs(join) {
        if conditions(input).contains(condition) {
            take(input, condition);
            input.estimated_rows /= share;
            input.estimated_cost -= input.estimated_rows * each;
        }
    }
    join.estimated_rows *= times;
    join.estimated_cost = whole + more - saved;
    true
}

/// Takes a condition from a node that has it.
fn take(node: &mut Node, condition: &Expr) {
    match &mut node.op {
        Op::StarScan { star, .. } | Op::StarJoin { star, .. } => {
            star.filters.retain(|other| other != condition);
        }
        Op::Filter {
            input,
            condition: all,
        } => {
            let mut rest = conjuncts(all);
            rest.retain(|other| other != condition);
            match conjunction(rest) {
                Some(rest) => *all = rest,
                None => {
                    let (rows, cost) = (node.estimated_rows, node.estimated_cost);
                    *node = take_node(Arc::make_mut(input));
                    (node.estimated_rows, node.estimated_cost) = (rows, cost);
                }
            }
        }
        _ => {}
    }
}

/// Asks a condition of the rows of a node.
fn put_above(below: &mut Node, condition: Expr) {
    let (schema, certain) = (below.schema.clone(), SlotSet::of(&below.certain));
    let rows = below.estimated_rows * selectivity(&condition, &|_| None);
    let whole = below.estimated_cost + below.estimated_rows * cost(&condition);
    let sorted_by = below.sorted_by.clone();
    let op = Op::Filter {
        input: Arc::new(take_node(below)),
        condition,
    };
    *below = node(op, schema, certain, rows, whole);
    below.sorted_by = sorted_by;
}
