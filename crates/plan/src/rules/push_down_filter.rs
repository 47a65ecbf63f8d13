//! Moves a condition down to the group (or the side of a join) that has all it needs.
//!
//! A condition may pass an operator if its slots have the same values below; one on a computed value that reads no text, or that may join two parts of a
//! group or is about one of several, passes as a condition on what it is computed of. `!bound(?v)` above an
//! OPTIONAL that always binds `?v` keeps exactly the rows without a partner: an anti join
//! (rule `unbound_to_anti`). Of a group a condition that no triples could test goes into the child that it is about, if it comes to
//! patterns there. One that names values of what several parts of a join have goes into each part that is made as a whole.

use crate::cost_constants::EXPRESSION;
use crate::estimate::condition::cost;
use crate::expression::{
    any, for_each_operand_mut, has_exists, is_pure, is_volatile, slots_of, unbound_by,
};
use crate::logical::{JoinGroup, Logical};
use crate::physical::{Expr, Position, Slot};
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
        Logical::Group(group) => {
            let homes = match pushes {
                true => children_of(&group, &condition, outer),
                false => Vec::new(),
            };
            Logical::Group(filter_group(planner, outer, group, condition, &homes))
        }
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
        Logical::Filter {
            input,
            mut conditions,
        } => {
            let (input, above) = match filter(planner, outer, *input, condition) {
                Logical::Filter { input, conditions } => (input, conditions),
                input => (Box::new(input), Vec::new()),
            };
            conditions.extend(above);
            Logical::Filter { input, conditions }
        }
        Logical::Extend { input, slot, expr }
            if pushes
                && is_of_computed(&condition, (slot, &expr), &outer)
                && (cost(&expr) <= EXPRESSION
                    || may_join(&input, &condition, slot, &expr)
                    || is_of_part(&input, &condition, slot, &expr)) =>
        {
            let mut condition = condition;
            compute(&mut condition, slot, &expr);
            Logical::Extend {
                input: Box::new(filter(planner, outer, *input, condition)),
                slot,
                expr,
            }
        }
        mut plan if pushes && passes(&plan, &condition, &outer) => {
            if let Some(partners) = told_partners(&mut plan, &condition, &outer) {
                filter_in_place(planner, outer, partners, &condition);
            }
            for input in filtered_inputs_mut(&mut plan) {
                filter_in_place(planner, outer, input, &condition);
            }
            plan
        }
        other => Logical::Filter {
            input: Box::new(other),
            conditions: vec![condition],
        },
    }
}

/// A group restricted by a condition on some of its children, or on its own if there are none of these.
fn filter_group(
    planner: &Planner<'_>,
    outer: SlotSet,
    mut group: JoinGroup,
    condition: Expr,
    homes: &[usize],
) -> JoinGroup {
    for at in homes {
        filter_in_place(planner, outer, &mut group.children[*at], &condition);
    }
    if homes.is_empty() {
        group.filters.push(condition);
    }
    group
}

fn filter_in_place(planner: &Planner<'_>, outer: SlotSet, plan: &mut Logical, condition: &Expr) {
    let below = std::mem::replace(plan, Logical::Empty);
    *plan = filter(planner, outer, below, condition.clone());
}

/// Whether a condition above a plan may be one on its [inputs](filtered_inputs).
fn passes(plan: &Logical, condition: &Expr, outer: &SlotSet) -> bool {
    let slots = slots_of(condition);
    match plan {
        Logical::LeftJoin { left, right, .. } | Logical::Lateral { left, right } => {
            slots.is_disjoint(&right.schema().minus(left.certain()))
        }
        Logical::Extend { slot, .. } => !slots.contains(*slot),
        Logical::Project {
            slots: projected, ..
        } => slots.is_subset(&SlotSet::of(projected)),
        // Other conditions take less on groups than on all that is grouped.
        Logical::Aggregate { keys, .. } => {
            names_values(condition)
                && slots.is_disjoint(outer)
                && slots.is_subset(&SlotSet::of(keys))
        }
        // What is asked of many rows that are few values had better be asked of these.
        Logical::Distinct { input } => !has_exists(condition) || has_subject(input, plan.schema()),
        Logical::AntiJoin { .. }
        | Logical::Minus { .. }
        | Logical::Filter { .. }
        | Logical::OrderBy { .. }
        | Logical::Union(_) => true,
        _ => false,
    }
}

/// Whether one of these slots is a subject of patterns, which rows differ by mostly, or may be one.
fn has_subject(plan: &Logical, slots: SlotSet) -> bool {
    match plan {
        Logical::Project { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Extend { input, .. } => has_subject(input, slots),
        Logical::Group(group) => {
            let subjects = group.triples.iter().map(|triple| triple.subject.slot());
            let mut subjects = subjects.flatten();
            group.triples.is_empty() || subjects.any(|slot| slots.contains(slot))
        }
        _ => true,
    }
}

/// The inputs that have the rows which conditions are about.
fn filtered_inputs(plan: &Logical) -> Vec<&Logical> {
    match plan {
        Logical::LeftJoin { left: input, .. }
        | Logical::AntiJoin { left: input, .. }
        | Logical::Minus { left: input, .. }
        | Logical::Lateral { left: input, .. }
        | Logical::Filter { input, .. }
        | Logical::Extend { input, .. }
        | Logical::Project { input, .. }
        | Logical::Aggregate { input, .. }
        | Logical::Distinct { input }
        | Logical::OrderBy { input, .. } => vec![input],
        Logical::Union(inputs) => inputs.iter().collect(),
        _ => Vec::new(),
    }
}

/// The same, mutably.
fn filtered_inputs_mut(plan: &mut Logical) -> Vec<&mut Logical> {
    match plan {
        Logical::LeftJoin { left: input, .. }
        | Logical::AntiJoin { left: input, .. }
        | Logical::Minus { left: input, .. }
        | Logical::Lateral { left: input, .. }
        | Logical::Filter { input, .. }
        | Logical::Extend { input, .. }
        | Logical::Project { input, .. }
        | Logical::Aggregate { input, .. }
        | Logical::Distinct { input }
        | Logical::OrderBy { input, .. } => vec![input],
        Logical::Union(inputs) => inputs.iter_mut().collect(),
        _ => Vec::new(),
    }
}

/// Whether a condition is about a computed value that may be computed twice, and has a place for what it is computed of. A row around may have a value for
/// the slot where nothing is computed.
fn is_of_computed(condition: &Expr, (slot, expr): (Slot, &Expr), outer: &SlotSet) -> bool {
    slots_of(condition).contains(slot)
        && !outer.contains(slot)
        && is_pure(expr)
        && !has_exists(condition)
        && !any(condition, &|part| *part == Expr::Bound(slot))
}

/// Whether a condition on a computed value is an equality of two things that are about different slots of a group, parts of which it may join. Between
/// the group and the value others may be computed, of which it is, too.
fn may_join(input: &Logical, condition: &Expr, slot: Slot, expr: &Expr) -> bool {
    let (Expr::Equal(a, b) | Expr::SameTerm(a, b)) = condition else {
        return false;
    };
    let computed = in_group(input, [slots_of(a), slots_of(b)], slot, expr);
    computed.is_some_and(|(group, [a, b])| {
        let is_of_two = !a.is_empty() && !b.is_empty() && a.is_disjoint(&b);
        is_of_two && a.union(b).is_subset(&group.schema())
    })
}

/// Whether a condition on a computed value is about one part of a group, the patterns of a subject or a child, which is joined with others: then fewer rows are.
fn is_of_part(input: &Logical, condition: &Expr, slot: Slot, expr: &Expr) -> bool {
    let computed = in_group(input, [slots_of(condition)], slot, expr);
    computed.is_some_and(|(group, [read])| {
        let of_subject = |subject: Position| {
            let own = group.triples.iter();
            let own = own.filter(move |triple| triple.subject == subject);
            own.fold(SlotSet::default(), |set, triple| {
                set.union(triple.certain())
            })
        };
        let mut subjects: Vec<Position> = Vec::new();
        for triple in &group.triples {
            if !subjects.contains(&triple.subject) {
                subjects.push(triple.subject);
            }
        }
        let parts = subjects.len() + group.children.len() + group.paths.len();
        let subjects = subjects.into_iter().map(of_subject);
        let mut all = subjects.chain(group.children.iter().map(Logical::certain));
        parts > 1 && !read.is_empty() && all.any(|part| read.is_subset(&part))
    })
}

/// The group below computed values, and what some slots above are computed of there; `None` if some value may not be computed twice.
fn in_group<'p, const N: usize>(
    input: &'p Logical,
    mut read: [SlotSet; N],
    slot: Slot,
    expr: &'p Expr,
) -> Option<(&'p JoinGroup, [SlotSet; N])> {
    let (mut below, mut slot, mut expr) = (input, slot, expr);
    loop {
        for read in read.iter_mut().filter(|read| read.contains(slot)) {
            if !is_pure(expr) {
                return None;
            }
            read.remove(slot);
            *read = read.union(slots_of(expr));
        }
        match below {
            Logical::Extend {
                input,
                slot: of,
                expr: by,
            } => (below, slot, expr) = (input, *of, by),
            Logical::Group(group) => return Some((group, read)),
            _ => return None,
        }
    }
}

/// Puts what a slot is computed of into its place.
fn compute(condition: &mut Expr, slot: Slot, expr: &Expr) {
    match condition {
        Expr::Slot(of) if *of == slot => *condition = expr.clone(),
        _ => for_each_operand_mut(condition, &mut |operand| compute(operand, slot, expr)),
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

/// The other side of a join, if the condition names values of what both sides have for certain, and comes to patterns there below something that is made as a
/// whole: rows of it with other values have no partner.
fn told_partners<'p>(
    plan: &'p mut Logical,
    condition: &Expr,
    outer: &SlotSet,
) -> Option<&'p mut Logical> {
    let (Logical::LeftJoin { left, right, .. }
    | Logical::AntiJoin { left, right, .. }
    | Logical::Minus { left, right, .. }) = plan
    else {
        return None;
    };
    let shared = left.certain().intersect(right.certain());
    (is_told(condition, &shared, outer) && sinks(right, condition, outer)).then_some(right)
}

/// Whether a condition names values of some of these slots, which are no slots of a row around.
fn is_told(condition: &Expr, slots: &SlotSet, outer: &SlotSet) -> bool {
    let of_condition = slots_of(condition);
    names_values(condition) && of_condition.is_subset(slots) && of_condition.is_disjoint(outer)
}

/// The children of a group that a condition is all about, which no triples of the group could test: in a row of the group its slots have
/// the values that they have in the child, since they are bound there, or nowhere else. If it names values, all children that have them for certain, else one.
fn children_of(group: &JoinGroup, condition: &Expr, outer: SlotSet) -> Vec<usize> {
    let slots = slots_of(condition);
    let by_triples = slots.is_subset(&group.pattern_slots());
    if slots.is_empty() || by_triples || has_exists(condition) || !slots.is_disjoint(&outer) {
        return Vec::new();
    }
    let is_home = |at: usize| {
        let child = &group.children[at];
        let others = group.slots_beside(at, Logical::schema);
        let own = child.schema().minus(others);
        sinks(child, condition, &outer) && slots.is_subset(&child.certain().union(own))
    };
    let Some(first) = (0..group.children.len()).find(|&at| is_home(at)) else {
        return Vec::new();
    };
    let has = |at: usize| is_told(condition, &group.children[at].certain(), &outer);
    let others = first + 1..group.children.len();
    let others = others.filter(|&at| has(first) && has(at) && is_home(at));
    std::iter::once(first).chain(others).collect()
}

/// Whether a condition above the plan comes to a group below it, or makes an anti join.
fn sinks(plan: &Logical, condition: &Expr, outer: &SlotSet) -> bool {
    if let Logical::LeftJoin { left, right, .. } = plan
        && tests_absence(condition, left, right, outer)
    {
        return true;
    }
    let arrives =
        |input: &Logical| matches!(input, Logical::Group(_)) || sinks(input, condition, outer);
    passes(plan, condition, outer) && filtered_inputs(plan).into_iter().all(arrives)
}

/// Whether the condition is `!bound(?v)` for a slot that only partners bind, and always.
fn tests_absence(condition: &Expr, left: &Logical, right: &Logical, outer: &SlotSet) -> bool {
    let Some(slot) = unbound_by(condition) else {
        return false;
    };
    right.certain().contains(slot) && !left.schema().contains(slot) && !outer.contains(slot)
}
