//! `EXISTS { A ∪ B }` is `EXISTS { A } || EXISTS { B }`, and `NOT EXISTS { A ∪ B }` is that neither exists. So is a path that is one thing or another.
//!
//! A row has a solution inside if one of the branches has one for it. Alone a branch is mostly plain patterns, which become a semi or anti
//! join, or run for many rows at once; a union runs for each row, with operators made anew.

use crate::logical::Logical;
use crate::physical::Expr;
use crate::planner::{PlanError, Planner};
use crate::rules::{rewrite_path, split_disjunction};
use crate::slot_set::SlotSet;

/// More branches stay together: each is planned and asked by itself.
const BRANCHES_MAX: usize = 8;

/// The plans of which one must have a row where this one, asked for rows with these slots, must.
pub(crate) fn parts(
    planner: &mut Planner<'_>,
    around: &SlotSet,
    inside: Logical,
) -> Result<Vec<Logical>, PlanError> {
    if let Logical::Group(group) = &inside
        && planner.rule("split_exists")
        && let Some(arms) = rewrite_path::arms_alone(planner, group, BRANCHES_MAX)?
    {
        return Ok(arms);
    }
    Ok(match inside {
        Logical::Union(branches)
            if branches.len() <= BRANCHES_MAX && planner.rule("split_exists") =>
        {
            let mut all = Vec::new();
            for branch in branches {
                all.extend(parts(planner, around, branch)?);
            }
            all
        }
        Logical::Group(group) => split_disjunction::of_exists(planner, around, group)
            .into_iter()
            .map(Logical::Group)
            .collect(),
        inside => vec![inside],
    })
}

/// The negation of a condition: of several EXISTS one by one, so that each may become an anti join.
pub(crate) fn negation(condition: Expr) -> Expr {
    let is_exists = |part: &Expr| matches!(part, Expr::Exists(_));
    match condition {
        Expr::Or(parts) if parts.iter().all(is_exists) => {
            let parts = parts.into_iter().map(|part| Expr::Not(Box::new(part)));
            Expr::And(parts.collect())
        }
        condition => Expr::Not(Box::new(condition)),
    }
}
