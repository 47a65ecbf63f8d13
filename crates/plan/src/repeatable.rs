//! Whether a sub-plan may be evaluated twice, or once in the place of several times.
//!
//! RAND, UUID and BNODE give another value each time, SAMPLE and GROUP_CONCAT may, and so does an EXISTS over a pattern that has them. A
//! slice may take other rows.

use crate::expression::{any, is_volatile};
use crate::logical::Logical;
use crate::physical::{Aggregate, AggregateFunction, Expr};
use crate::planner::Planner;

/// Whether two evaluations of a plan give the same rows. A slice of rows is taken to if `slices` says so.
pub(crate) fn is_repeatable(planner: &Planner<'_>, plan: &Logical, slices: bool) -> bool {
    let inside = |plan: &Logical| is_repeatable(planner, plan, slices);
    let all_fixed = |expressions: &[Expr]| expressions.iter().all(|e| is_fixed(planner, e));
    match plan {
        Logical::Empty
        | Logical::Values { .. }
        | Logical::GraphNames { .. }
        | Logical::Service(_) => true,
        Logical::Slice { input, .. } => slices && inside(input),
        Logical::Group(group) => all_fixed(&group.filters) && group.children.iter().all(inside),
        Logical::LeftJoin {
            left,
            right,
            conditions,
        }
        | Logical::AntiJoin {
            left,
            right,
            conditions,
        } => all_fixed(conditions) && inside(left) && inside(right),
        Logical::Minus { left, right, .. } | Logical::Lateral { left, right } => {
            inside(left) && inside(right)
        }
        Logical::Filter { input, conditions } => all_fixed(conditions) && inside(input),
        Logical::Extend { input, expr, .. } => is_fixed(planner, expr) && inside(input),
        Logical::Project { input, .. }
        | Logical::Distinct { input }
        | Logical::OrderBy { input, .. } => inside(input),
        Logical::Aggregate {
            input, aggregates, ..
        } => aggregates.iter().all(|a| is_fixed_aggregate(planner, a)) && inside(input),
        Logical::Union(inputs) => inputs.iter().all(inside),
    }
}

/// Whether two evaluations of an expression over the same row give the same value, what is inside EXISTS included.
pub(crate) fn is_fixed(planner: &Planner<'_>, expr: &Expr) -> bool {
    let is_volatile_exists = |expr: &Expr| match expr {
        // The placeholder's plan is among the planner's.
        Expr::Exists(inside) => planner
            .exists
            .get(inside.id)
            .is_some_and(|plan| !is_repeatable(planner, plan, true)),
        _ => false,
    };
    !is_volatile(expr) && !any(expr, &is_volatile_exists)
}

fn is_fixed_aggregate(planner: &Planner<'_>, aggregate: &Aggregate) -> bool {
    use AggregateFunction::{GroupConcat, Sample};
    let chooses = matches!(aggregate.function, GroupConcat { .. } | Sample);
    let argument = aggregate.argument.as_ref();
    !chooses && argument.is_none_or(|argument| is_fixed(planner, argument))
}
