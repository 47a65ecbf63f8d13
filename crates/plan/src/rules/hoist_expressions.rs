//! Parts of a join's conditions that read nothing but an input are computed once for each of its rows.
//!
//! `?found < (?given + 120)`, with `?given` from the input, would add for every candidate that an input row leads to. With
//! `?bound := ?given + 120` below the join, what is left is a comparison of two columns. Only for star joins by object, where
//! a row leads to several candidates, and for hash joins without keys, or of which many more pairs are expected than rows of a side.
//!
//! Sound because a part gives the same for the same row: nothing volatile is moved, and no EXISTS. A part that is an error
//! leaves its slot unbound, which is an error wherever the part stood. Cost: a walk over the plan.

use crate::cost_constants::EXPRESSION;
use crate::estimate::condition;
use crate::expression::{for_each_operand_mut, is_pure, slots_of};
use crate::physical::{Expr, Node, Op, Slot, StarEntry};
use crate::planner::{Planner, node, take_node};
use crate::slot_set::SlotSet;
use spargebra::algebra::Function;
use std::sync::Arc;

/// Pairs of a hash join with keys for each row of a side, from which on what is computed of that side is computed before: not all rows have partners.
const PAIRS_FOR_ROW: f64 = 4.0;

/// Computes such parts below their joins, everywhere outside EXISTS.
pub(crate) fn apply(root: &mut Node, planner: &mut Planner<'_>) {
    if planner.rule("hoist_expressions") {
        visit(root, planner);
    }
}

fn visit(root: &mut Node, planner: &mut Planner<'_>) {
    for child in root.op.children_mut() {
        visit(child, planner);
    }
    if let Op::StarJoin {
        input,
        star,
        entry: StarEntry::Object { .. },
        ..
    } = &mut root.op
    {
        let available = SlotSet::of(&input.schema);
        let mut parts = Vec::new();
        for filter in &mut star.filters {
            hoist(filter, (&available, &|_| true), &mut parts, planner);
        }
        extend_all(input, parts);
    }
    hoist_of_hash_join(root, planner);
}

/// Computes parts of the condition of a hash join on the side that they read.
fn hoist_of_hash_join(join: &mut Node, planner: &mut Planner<'_>) {
    let pairs_expected = join.estimated_rows;
    let Op::HashJoin {
        left,
        right,
        keys,
        compatible,
        filter: Some(filter),
        ..
    } = &mut join.op
    else {
        return;
    };
    let both = SlotSet::of(compatible);
    // Texts that are made take memory until the query ends, and those that are there are remembered by whoever compares them.
    let has_keys = !keys.is_empty();
    let may_be = |part: &Expr| match part {
        Expr::Call(Function::Str, _) => false,
        part => !has_keys || condition::cost(part) <= EXPRESSION,
    };
    for side in [left, right] {
        let is_repeated = !has_keys || pairs_expected > PAIRS_FOR_ROW * side.estimated_rows;
        if is_repeated {
            let available = SlotSet::of(&side.schema).minus(both);
            let mut parts = Vec::new();
            hoist(filter, (&available, &may_be), &mut parts, planner);
            extend_all(side, parts);
        }
    }
}

fn extend_all(input: &mut Arc<Node>, parts: Vec<(Slot, Expr)>) {
    for (slot, expr) in parts {
        extend(Arc::make_mut(input), slot, expr);
    }
}

/// Replaces the largest parts of an expression that can be computed before, of those that may be.
fn hoist(
    expr: &mut Expr,
    (available, may_be): (&SlotSet, &dyn Fn(&Expr) -> bool),
    parts: &mut Vec<(Slot, Expr)>,
    planner: &mut Planner<'_>,
) {
    if !can_be_hoisted(expr, available) || !may_be(expr) {
        for_each_operand_mut(expr, &mut |operand| {
            hoist(operand, (available, may_be), parts, planner);
        });
        return;
    }
    let known = parts.iter().find(|(_, part)| part == expr);
    let slot = match known {
        Some((slot, _)) => *slot,
        None => match planner.fresh_slot("part") {
            Ok(slot) => {
                parts.push((slot, expr.clone()));
                slot
            }
            // A query with so many variables keeps its expressions.
            Err(_) => return,
        },
    };
    *expr = Expr::Slot(slot);
}

fn can_be_hoisted(expr: &Expr, available: &SlotSet) -> bool {
    let slots = slots_of(expr);
    let is_simple = matches!(expr, Expr::Slot(_) | Expr::Constant(_) | Expr::Bound(_));
    !is_simple && !slots.is_empty() && slots.is_subset(available) && is_pure(expr)
}

/// Puts a computed column over a node.
fn extend(input: &mut Node, slot: Slot, expr: Expr) {
    let mut schema = input.schema.clone();
    schema.push(slot);
    let rows = input.estimated_rows;
    let cost = input.estimated_cost + rows * condition::cost(&expr);
    let certain = SlotSet::of(&input.certain);
    let op = Op::Extend {
        input: Arc::new(take_node(input)),
        slot,
        expr,
    };
    *input = node(op, schema, certain, rows, cost);
}
