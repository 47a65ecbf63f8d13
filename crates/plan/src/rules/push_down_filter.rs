//! Moves a condition down to the group (or the side of a join) that has all it needs.
//!
//! A condition may pass an operator if its slots have the same values below. `!bound(?v)` above an
//! OPTIONAL that always binds `?v` keeps exactly the rows without a partner: an anti join
//! (rule `unbound_to_anti`). Of a group a condition that no triples could test goes into the child that it is about, if it comes to
//! patterns there.

use crate::expression::{has_exists, is_volatile, slots_of};
use crate::logical::{JoinGroup, Logical};
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
    match input {
        Logical::Empty => Logical::Empty,
        Logical::Group(mut group) => {
            let child = match pushes {
                true => child_of(&mut group, &condition, outer),
                false => None,
            };
            match child {
                Some(child) => {
                    let below = std::mem::replace(child, Logical::Empty);
                    *child = filter(planner, outer, below, condition);
                }
                None => group.filters.push(condition),
            }
            Logical::Group(group)
        }
        join @ (Logical::LeftJoin { .. } | Logical::AntiJoin { .. } | Logical::Minus { .. }) => {
            filter_join(planner, outer, join, condition, pushes)
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
        other if pushes => filter_unary(planner, outer, other, condition),
        other => above(other, condition),
    }
}

/// A condition that goes no further down.
fn above(input: Logical, condition: Expr) -> Logical {
    Logical::Filter {
        input: Box::new(input),
        conditions: vec![condition],
    }
}

/// As [`filter`], for what has one input, where conditions may pass.
fn filter_unary(planner: &Planner<'_>, outer: SlotSet, input: Logical, condition: Expr) -> Logical {
    let slots = slots_of(&condition);
    match input {
        Logical::Extend { input, slot, expr } if !slots.contains(slot) => {
            let input = Box::new(filter(planner, outer, *input, condition));
            Logical::Extend { input, slot, expr }
        }
        Logical::Distinct { input } => Logical::Distinct {
            input: Box::new(filter(planner, outer, *input, condition)),
        },
        Logical::OrderBy { input, keys } => {
            let input = Box::new(filter(planner, outer, *input, condition));
            Logical::OrderBy { input, keys }
        }
        // Other conditions take less on groups than on all that is grouped.
        Logical::Aggregate {
            input,
            keys,
            aggregates,
        } if names_values(&condition)
            && slots.is_disjoint(&outer)
            && slots.is_subset(&SlotSet::of(&keys)) =>
        {
            let input = Box::new(filter(planner, outer, *input, condition));
            Logical::Aggregate {
                input,
                keys,
                aggregates,
            }
        }
        Logical::Project {
            input,
            slots: projected,
        } if slots.is_subset(&SlotSet::of(&projected)) => {
            let input = Box::new(filter(planner, outer, *input, condition));
            Logical::Project {
                input,
                slots: projected,
            }
        }
        other => above(other, condition),
    }
}

/// Whether a condition asks for constants in the place of a slot.
fn names_values(condition: &Expr) -> bool {
    let is_slot = |expr: &Expr| matches!(expr, Expr::Slot(_));
    let is_constant = |expr: &Expr| matches!(expr, Expr::Constant(_));
    match condition {
        Expr::Equal(a, b) | Expr::SameTerm(a, b) => {
            is_slot(a) && is_constant(b) || is_constant(a) && is_slot(b)
        }
        Expr::In(slot, list) => is_slot(slot) && list.iter().all(is_constant),
        _ => false,
    }
}

/// The child of a group that a condition is all about, which no triples of the group could test: in a row of the group its slots have
/// the values that they have in the child, since they are bound there, or nowhere else.
fn child_of<'g>(
    group: &'g mut JoinGroup,
    condition: &Expr,
    outer: SlotSet,
) -> Option<&'g mut Logical> {
    let slots = slots_of(condition);
    let by_triples = slots.is_subset(&group.pattern_slots());
    if slots.is_empty() || by_triples || has_exists(condition) || !slots.is_disjoint(&outer) {
        return None;
    }
    let is_home = |at: usize| {
        let child = &group.children[at];
        let others = group.children.iter().enumerate();
        let others = others.filter(|(other, _)| *other != at);
        let others = others.fold(group.pattern_slots(), |set, (_, other)| {
            set.union(other.schema())
        });
        let own = child.schema().minus(others);
        sinks(child, condition, &outer) && slots.is_subset(&child.certain().union(own))
    };
    let at = (0..group.children.len()).find(|&at| is_home(at))?;
    group.children.get_mut(at)
}

/// Whether a condition above the plan comes to a group below it, or makes an anti join.
fn sinks(plan: &Logical, condition: &Expr, outer: &SlotSet) -> bool {
    let slots = slots_of(condition);
    let below =
        |input: &Logical| matches!(input, Logical::Group(_)) || sinks(input, condition, outer);
    match plan {
        Logical::LeftJoin { left, right, .. } => {
            let is_of_left = slots.is_disjoint(&right.schema().minus(left.certain()));
            is_of_left && below(left) || tests_absence(condition, left, right, outer)
        }
        Logical::AntiJoin { left, .. } | Logical::Minus { left, .. } => below(left),
        Logical::Extend { input, slot, .. } => !slots.contains(*slot) && below(input),
        Logical::Project {
            input,
            slots: projected,
        } => slots.is_subset(&SlotSet::of(projected)) && below(input),
        Logical::Aggregate { input, keys, .. } => {
            names_values(condition) && slots.is_subset(&SlotSet::of(keys)) && below(input)
        }
        Logical::Distinct { input } => below(input),
        Logical::Union(inputs) => inputs.iter().all(below),
        _ => false,
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
        other => above(other, condition),
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
