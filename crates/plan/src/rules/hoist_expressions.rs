//! Parts of a star join's conditions that read nothing but the input are computed once for each input row.
//!
//! `?found < (?given + 120)`, with `?given` from the input, would add for every candidate that an input row leads to. With
//! `?bound := ?given + 120` below the join, what is left is a comparison of two columns. Only for entries by object, where
//! a row leads to several candidates.
//!
//! Sound because a part gives the same for the same row: nothing volatile is moved, and no EXISTS. A part that is an error
//! leaves its slot unbound, which is an error wherever the part stood. Cost: a walk over the plan.

use crate::estimate::condition;
use crate::expression::{for_each_operand_mut, has_exists, is_volatile, slots_of};
use crate::physical::{Expr, Node, Op, Slot, StarEntry};
use crate::planner::{Planner, node, take_node};
use crate::slot_set::SlotSet;
use std::sync::Arc;

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
            hoist(filter, &available, &mut parts, planner);
        }
        for (slot, expr) in parts {
            extend(Arc::make_mut(input), slot, expr);
        }
    }
}

/// Replaces the largest parts of an expression that can be computed before.
fn hoist(
    expr: &mut Expr,
    available: &SlotSet,
    parts: &mut Vec<(Slot, Expr)>,
    planner: &mut Planner<'_>,
) {
    if !can_be_hoisted(expr, available) {
        for_each_operand_mut(expr, &mut |operand| {
            hoist(operand, available, parts, planner);
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
    !is_simple
        && !slots.is_empty()
        && slots.is_subset(available)
        && !is_volatile(expr)
        && !has_exists(expr)
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
