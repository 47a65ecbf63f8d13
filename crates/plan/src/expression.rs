//! Walks over [`Expr`]: which slots it uses, what it contains, rewriting.
//!
//! Before lowering, an EXISTS is a placeholder: [`Expr::Exists`] of an [`Op::Outer`] node whose id
//! is the index of the inner pattern in the planner's list and whose schema is every slot the
//! inside mentions. So the slots of an expression are found the same way before and after.

use crate::physical::{Constant, Expr, Node, Op, Slot};
use crate::slot_set::SlotSet;
use crate::statistics::Statistics;
use oxrdf::{Literal, Term};
use spargebra::algebra::Function;

/// Calls `visit` for the direct operands of an expression.
pub fn for_each_operand<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    match expr {
        Expr::Slot(_) | Expr::Constant(_) | Expr::Bound(_) | Expr::Exists(_) => {}
        Expr::Or(list) | Expr::And(list) | Expr::Coalesce(list) | Expr::Call(_, list) => {
            list.iter().for_each(visit);
        }
        Expr::Not(a) | Expr::UnaryPlus(a) | Expr::UnaryMinus(a) | Expr::EqualityKey(a) => visit(a),
        Expr::Equal(a, b)
        | Expr::SameTerm(a, b)
        | Expr::Less(a, b)
        | Expr::LessOrEqual(a, b)
        | Expr::Add(a, b)
        | Expr::Subtract(a, b)
        | Expr::Multiply(a, b)
        | Expr::Divide(a, b) => {
            visit(a);
            visit(b);
        }
        Expr::In(a, list) => {
            visit(a);
            list.iter().for_each(visit);
        }
        Expr::If(a, b, c) => {
            visit(a);
            visit(b);
            visit(c);
        }
    }
}

/// Calls `visit` for the direct operands of an expression, mutably.
pub(crate) fn for_each_operand_mut(expr: &mut Expr, visit: &mut dyn FnMut(&mut Expr)) {
    match expr {
        Expr::Slot(_) | Expr::Constant(_) | Expr::Bound(_) | Expr::Exists(_) => {}
        Expr::Or(list) | Expr::And(list) | Expr::Coalesce(list) | Expr::Call(_, list) => {
            list.iter_mut().for_each(visit);
        }
        Expr::Not(a) | Expr::UnaryPlus(a) | Expr::UnaryMinus(a) | Expr::EqualityKey(a) => visit(a),
        Expr::Equal(a, b)
        | Expr::SameTerm(a, b)
        | Expr::Less(a, b)
        | Expr::LessOrEqual(a, b)
        | Expr::Add(a, b)
        | Expr::Subtract(a, b)
        | Expr::Multiply(a, b)
        | Expr::Divide(a, b) => {
            visit(a);
            visit(b);
        }
        Expr::In(a, list) => {
            visit(a);
            list.iter_mut().for_each(visit);
        }
        Expr::If(a, b, c) => {
            visit(a);
            visit(b);
            visit(c);
        }
    }
}

/// Every slot the expression reads from its row.
pub(crate) fn slots_of(expr: &Expr) -> SlotSet {
    let mut set = SlotSet::default();
    add_slots(expr, &mut set);
    set
}

fn add_slots(expr: &Expr, set: &mut SlotSet) {
    match expr {
        Expr::Slot(slot) | Expr::Bound(slot) => set.insert(*slot),
        Expr::Exists(node) => add_outer_slots(node, set),
        _ => for_each_operand(expr, &mut |operand| add_slots(operand, set)),
    }
}

/// The slots that the [`Op::Outer`] leaves below a node take from the enclosing row.
fn add_outer_slots(node: &Node, set: &mut SlotSet) {
    match &node.op {
        Op::Outer => node.schema.iter().for_each(|slot| set.insert(*slot)),
        // The right side takes rows of the left one.
        Op::LateralJoin { left, .. } => add_outer_slots(left, set),
        op => op
            .children()
            .into_iter()
            .for_each(|child| add_outer_slots(child, set)),
    }
}

/// The slots that a correlated plan takes from the row around it, ascending.
pub fn outer_slots(node: &Node) -> Vec<Slot> {
    let mut set = SlotSet::default();
    add_outer_slots(node, &mut set);
    set.to_vec()
}

/// Whether the expression gives the same wherever and however often it is evaluated for a row, without another plan.
pub(crate) fn is_pure(expr: &Expr) -> bool {
    !has_exists(expr) && !is_volatile(expr)
}

/// Whether the expression gives the same for all rows.
pub fn is_constant(expr: &Expr) -> bool {
    is_pure(expr) && slots_of(expr).is_empty()
}

/// `!BOUND(?v)`.
pub(crate) fn not_bound(slot: Slot) -> Expr {
    Expr::Not(Box::new(Expr::Bound(slot)))
}

/// The slot that a condition says is not bound, if it is [`not_bound`] of one.
pub(crate) fn unbound_by(condition: &Expr) -> Option<Slot> {
    match condition {
        Expr::Not(inner) => match **inner {
            Expr::Bound(slot) => Some(slot),
            _ => None,
        },
        _ => None,
    }
}

/// The slots that are bound in every row for which the condition is true, as far as it says so itself.
pub(crate) fn bound_by(condition: &Expr) -> SlotSet {
    match condition {
        Expr::Bound(slot) => SlotSet::of(&[*slot]),
        Expr::And(conditions) => conditions
            .iter()
            .fold(SlotSet::default(), |set, one| set.union(bound_by(one))),
        _ => SlotSet::default(),
    }
}

/// All slots of several expressions.
pub(crate) fn slots_of_all(exprs: &[Expr]) -> SlotSet {
    exprs
        .iter()
        .fold(SlotSet::default(), |set, expr| set.union(slots_of(expr)))
}

/// Whether some part of the expression fulfils the test.
pub(crate) fn any(expr: &Expr, test: &dyn Fn(&Expr) -> bool) -> bool {
    if test(expr) {
        return true;
    }
    let mut found = false;
    for_each_operand(expr, &mut |operand| found = found || any(operand, test));
    found
}

/// Whether an EXISTS stands anywhere in the expression.
pub(crate) fn has_exists(expr: &Expr) -> bool {
    any(expr, &|e| matches!(e, Expr::Exists(_)))
}

/// Whether two evaluations over the same row may differ.
pub fn is_volatile(expr: &Expr) -> bool {
    any(expr, &|e| {
        matches!(
            e,
            Expr::Call(
                Function::Rand | Function::BNode | Function::Uuid | Function::StrUuid,
                _
            )
        )
    })
}

/// Whether two evaluations of the plan over the same row may differ, those inside EXISTS included.
pub fn is_volatile_plan(node: &Node) -> bool {
    is_volatile_operator(node) || node.op.children().into_iter().any(is_volatile_plan)
}

/// Whether two evaluations of the operator's own expressions over the same row may differ.
pub(crate) fn is_volatile_operator(node: &Node) -> bool {
    let in_exists = |expr: &Expr| match expr {
        Expr::Exists(inside) => is_volatile_plan(inside),
        _ => false,
    };
    let mut expressions = node.op.expressions().into_iter();
    expressions.any(|expr| is_volatile(expr) || any(expr, &in_exists))
}

/// Replaces one slot by another everywhere (placeholders of EXISTS must not mention it).
pub(crate) fn rename(expr: &mut Expr, from: Slot, to: Slot) {
    match expr {
        Expr::Slot(slot) | Expr::Bound(slot) if *slot == from => *slot = to,
        _ => for_each_operand_mut(expr, &mut |operand| rename(operand, from, to)),
    }
}

/// Makes slots that the row does not have into what they mean: an error, or `false` under BOUND.
pub(crate) fn resolve_missing(expr: &mut Expr, available: &SlotSet, statistics: &dyn Statistics) {
    match expr {
        Expr::Slot(slot) if !available.contains(*slot) => *expr = Expr::Coalesce(Vec::new()),
        Expr::Bound(slot) if !available.contains(*slot) => *expr = boolean(false, statistics),
        _ => for_each_operand_mut(expr, &mut |operand| {
            resolve_missing(operand, available, statistics);
        }),
    }
}

/// The constant `true` or `false`.
pub(crate) fn boolean(value: bool, statistics: &dyn Statistics) -> Expr {
    let term = Term::from(Literal::from(value));
    let id = statistics.term_id(&term);
    Expr::Constant(Constant { term, id })
}

/// One expression that is true where all are; `None` for an empty list.
pub(crate) fn conjunction(mut exprs: Vec<Expr>) -> Option<Expr> {
    match exprs.len() {
        0 | 1 => exprs.pop(),
        _ => Some(Expr::And(exprs)),
    }
}

/// The parts of an expression between its outermost `&&`.
pub(crate) fn conjuncts(expr: &Expr) -> Vec<Expr> {
    let mut parts = Vec::new();
    into_conjuncts(expr.clone(), &mut parts);
    parts
}

/// Splits an expression at its outermost `&&`.
pub(crate) fn into_conjuncts(expr: Expr, out: &mut Vec<Expr>) {
    match expr {
        Expr::And(list) => list.into_iter().for_each(|e| into_conjuncts(e, out)),
        other => out.push(other),
    }
}
