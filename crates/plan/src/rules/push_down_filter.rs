//! Moves a condition down to the group (or the side of a join) that has all it needs.
//!
//! A condition may pass an operator if its slots have the same values below. `!bound(?v)` above an
//! OPTIONAL that always binds `?v` keeps exactly the rows without a partner: an anti join
//! (rule `unbound_to_anti`).

use crate::expression::{is_volatile, slots_of};
use crate::logical::Logical;
use crate::physical::Expr;
use crate::planner::Planner;
use crate::slot_set::SlotSet;

/// The plan restricted to rows for which the condition is true.
pub(crate) fn filter(
    planner: &Planner<'_>,
    outer: SlotSet,
    input: Logical,
    condition: Expr,
) -> Logical {
    let pushes = planner.rule("push_down_filter") && !is_volatile(&condition);
    let slots = slots_of(&condition);
    match input {
        Logical::Empty => Logical::Empty,
        Logical::Group(mut group) => {
            group.filters.push(condition);
            Logical::Group(group)
        }
        join @ (Logical::LeftJoin { .. } | Logical::AntiJoin { .. } | Logical::Minus { .. }) => {
            filter_join(planner, outer, join, condition, pushes)
        }
        Logical::Extend { input, slot, expr } if pushes && !slots.contains(slot) => {
            let input = Box::new(filter(planner, outer, *input, condition));
            Logical::Extend { input, slot, expr }
        }
        Logical::Distinct { input } if pushes => Logical::Distinct {
            input: Box::new(filter(planner, outer, *input, condition)),
        },
        Logical::OrderBy { input, keys } if pushes => {
            let input = Box::new(filter(planner, outer, *input, condition));
            Logical::OrderBy { input, keys }
        }
        Logical::Project {
            input,
            slots: projected,
        } if pushes && slots.is_subset(&SlotSet::of(&projected)) => {
            let input = Box::new(filter(planner, outer, *input, condition));
            Logical::Project {
                input,
                slots: projected,
            }
        }
        Logical::Union(inputs) if pushes => {
            let push = |input| filter(planner, outer, input, condition.clone());
            Logical::Union(inputs.into_iter().map(push).collect())
        }
        Logical::Filter {
            input,
            mut conditions,
        } => {
            conditions.push(condition);
            Logical::Filter { input, conditions }
        }
        other => Logical::Filter {
            input: Box::new(other),
            conditions: vec![condition],
        },
    }
}

/// As [`filter`], for the joins that keep their left side.
fn filter_join(
    planner: &Planner<'_>,
    outer: SlotSet,
    input: Logical,
    condition: Expr,
    pushes: bool,
) -> Logical {
    let slots = slots_of(&condition);
    match input {
        Logical::LeftJoin {
            left,
            right,
            conditions,
        } if planner.rule("unbound_to_anti")
            && tests_absence(&condition, &left, &right, &outer) =>
        {
            Logical::AntiJoin {
                left,
                right,
                conditions,
            }
        }
        Logical::LeftJoin {
            left,
            right,
            conditions,
        } if pushes && slots.is_disjoint(&right.schema().minus(left.certain())) => {
            let left = Box::new(filter(planner, outer, *left, condition));
            Logical::LeftJoin {
                left,
                right,
                conditions,
            }
        }
        Logical::AntiJoin {
            left,
            right,
            conditions,
        } if pushes => {
            let left = Box::new(filter(planner, outer, *left, condition));
            Logical::AntiJoin {
                left,
                right,
                conditions,
            }
        }
        Logical::Minus { left, right, graph } if pushes => {
            let left = Box::new(filter(planner, outer, *left, condition));
            Logical::Minus { left, right, graph }
        }
        other => Logical::Filter {
            input: Box::new(other),
            conditions: vec![condition],
        },
    }
}

/// Whether the condition is `!bound(?v)` for a slot that only partners bind, and always.
fn tests_absence(condition: &Expr, left: &Logical, right: &Logical, outer: &SlotSet) -> bool {
    let Expr::Not(inner) = condition else {
        return false;
    };
    let Expr::Bound(slot) = **inner else {
        return false;
    };
    right.certain().contains(slot) && !left.schema().contains(slot) && !outer.contains(slot)
}
