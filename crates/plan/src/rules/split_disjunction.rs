//! A condition that joins two parts by one thing or another is a union, of which each branch joins by one.
//!
//! ```text
//! A . B . FILTER(?a = ?b || ?c = ?d)   ->   A . B . FILTER(?a = ?b)  ∪  A . B . FILTER(?c = ?d && !(?a = ?b is true))
//! EXISTS { B . FILTER(?a = ?b || ?c = ?d) }   ->   EXISTS { B . FILTER(?a = ?b) } || EXISTS { B . FILTER(?c = ?d) }
//! ```
//!
//! `||` is true where one of its operands is, errors of the others aside, so each pair of rows is in the branch of the first operand that is true for it. Together all pairs
//! would be compared. Only where nothing else joins the two parts, each operand has an equality between them, and neither is a few rows. Both are
//! read once for each branch, so they must give the same rows again.

use crate::expression::{has_exists, is_pure, is_volatile, slots_of};
use crate::logical::{JoinGroup, Logical};
use crate::physical::Expr;
use crate::planner::Planner;
use crate::repeatable::is_repeatable;
use crate::rules::value_equality::is_between_parts;
use crate::slot_set::SlotSet;

const NAME: &str = "split_disjunction";

/// More operands stay together: each is planned and read by itself.
const OPERANDS_MAX: usize = 4;

/// The branches of a group; `None` where the rule does not apply.
pub(crate) fn branches(
    planner: &Planner<'_>,
    outer: &SlotSet,
    group: &JoinGroup,
) -> Option<Vec<JoinGroup>> {
    let joins = |part: &Expr| is_between_parts(planner, group, outer, part);
    let at = disjunction(planner, group, &joins)?;
    let (rest, operands) = taken(group, at);
    let is_same = is_repeatable(planner, &Logical::Group(rest.clone()), false);
    let is_plain = |filter: &Expr| !has_exists(filter) && !is_volatile(filter);
    if !is_same || !rest.filters.iter().all(is_plain) {
        return None;
    }
    let branch = |k: usize| {
        let mut group = rest.clone();
        group.filters.extend(conjuncts(&operands[k]).cloned());
        for before in &operands[..k] {
            let is_true = Expr::Coalesce(vec![before.clone(), planner.constant_false()]);
            group.filters.push(Expr::Not(Box::new(is_true)));
        }
        group
    };
    Some((0..operands.len()).map(branch).collect())
}

/// The plans of which one must have a row where this one, inside an EXISTS of rows with these slots, must.
pub(crate) fn of_exists(
    planner: &Planner<'_>,
    around: &SlotSet,
    group: JoinGroup,
) -> Vec<JoinGroup> {
    let own = group.schema();
    let is_side = |expr: &Expr, of: &SlotSet| {
        let slots = slots_of(expr);
        !slots.is_empty() && slots.is_subset(of)
    };
    let theirs = around.minus(own);
    let joins = |part: &Expr| match part {
        Expr::Equal(a, b) | Expr::SameTerm(a, b) => {
            is_side(a, &own) && is_side(b, &theirs) || is_side(b, &own) && is_side(a, &theirs)
        }
        _ => false,
    };
    let found = match own.is_disjoint(around) {
        true => disjunction(planner, &group, &joins),
        false => None,
    };
    let Some(at) = found else {
        return vec![group];
    };
    let (rest, operands) = taken(&group, at);
    let branch = |operand: &Expr| {
        let mut group = rest.clone();
        group.filters.extend(conjuncts(operand).cloned());
        group
    };
    operands.iter().map(branch).collect()
}

/// The condition of which each operand has a part that joins.
fn disjunction(
    planner: &Planner<'_>,
    group: &JoinGroup,
    joins: &dyn Fn(&Expr) -> bool,
) -> Option<usize> {
    let mut filters = group.filters.iter();
    let found = filters.position(|filter| match filter {
        Expr::Or(operands) => {
            operands.len() <= OPERANDS_MAX
                && is_pure(filter)
                && operands.iter().all(|operand| conjuncts(operand).any(joins))
        }
        _ => false,
    });
    found.filter(|_| planner.rule(NAME))
}

/// A group without one of its conditions, and the operands of that.
fn taken(group: &JoinGroup, at: usize) -> (JoinGroup, Vec<Expr>) {
    let mut rest = group.clone();
    match rest.filters.remove(at) {
        Expr::Or(operands) => (rest, operands),
        other => (rest, vec![other]),
    }
}

/// The conditions that must all be true for this one to be.
fn conjuncts(condition: &Expr) -> impl Iterator<Item = &Expr> {
    match condition {
        Expr::And(parts) => parts.iter(),
        condition => std::slice::from_ref(condition).iter(),
    }
}
