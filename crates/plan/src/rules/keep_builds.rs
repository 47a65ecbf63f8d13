//! Inside EXISTS and LATERAL, a join with the outer row hashes the side that does not depend on it.
//!
//! Such a plan runs once for each outer row. The executor keeps hash tables of sides without an
//! [`Op::Outer`] leaf from one evaluation to the next, so that the second evaluation is a look-up. Where the
//! join order counted one evaluation alone, it hashes the outer row and reads all of the other side.

use crate::expression::{any, for_each_operand_mut, outer_slots};
use crate::physical::{Expr, JoinKind, Node, Op};
use crate::planner::Planner;
use std::sync::Arc;

/// Evaluations from which a table kept is better than rows streamed.
const EVALUATIONS_MIN: f64 = 4.0;

/// Chooses the build sides of correlated plans.
pub(crate) fn apply(root: &mut Node, planner: &Planner<'_>) {
    if planner.rule("keep_builds") {
        visit(root, 1.0);
    }
}

fn visit(node: &mut Node, evaluations: f64) {
    let rows = node
        .op
        .children()
        .first()
        .map_or(1.0, |input| input.estimated_rows);
    if let Op::LateralJoin { left, right } = &mut node.op {
        visit(Arc::make_mut(left), evaluations);
        visit(Arc::make_mut(right), evaluations * rows.max(1.0));
        return;
    }
    if let Op::HashJoin {
        left,
        right,
        kind: JoinKind::Inner,
        build_left,
        partners,
        ..
    } = &mut node.op
        && evaluations >= EVALUATIONS_MIN
        && partners.is_empty()
    {
        match (outer_slots(left).is_empty(), outer_slots(right).is_empty()) {
            (true, false) => *build_left = true,
            (false, true) => *build_left = false,
            _ => {}
        }
    }
    for child in node.op.children_mut() {
        visit(child, evaluations);
    }
    for expr in node.op.expressions_mut() {
        if any(expr, &|e| matches!(e, Expr::Exists(_))) {
            visit_exists(expr, evaluations * rows.max(1.0));
        }
    }
}

fn visit_exists(expr: &mut Expr, evaluations: f64) {
    if let Expr::Exists(inside) = expr {
        visit(Arc::make_mut(inside), evaluations);
    } else {
        for_each_operand_mut(expr, &mut |operand| visit_exists(operand, evaluations));
    }
}
