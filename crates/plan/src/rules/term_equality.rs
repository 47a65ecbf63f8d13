//! `FILTER(?a = ?b)` becomes a join by id where both can only be equal if they are the same term.
//!
//! `=` compares values, and two literals may be equal without being the same term; but an IRI, a
//! blank node or an `xsd:string` equals nothing but itself. So if both are bound by patterns of the group and one of
//! them can only be a resource or a plain string, or both can only be integers that are their own ids ([`ValueKinds`]),
//! `?b` is renamed to `?a` in the patterns and given its value again above. `sameTerm(?a, ?b)` needs to know nothing.
//! The same in the condition of an OPTIONAL whose other side binds `?a`, where nothing else joins the two.

use crate::expression::{has_exists, rename};
use crate::logical::{JoinGroup, Logical, Triple};
use crate::physical::{Endpoint, Expr, Position, Slot};
use crate::planner::Planner;
use crate::slot_set::SlotSet;
use crate::value_kinds::ValueKinds;

const NAME: &str = "term_equality";

/// The plan with every such equality of its group made a join.
pub(crate) fn apply(planner: &Planner<'_>, outer: SlotSet, plan: Logical) -> Logical {
    if !planner.rule(NAME) {
        return plan;
    }
    let Logical::Group(mut group) = plan else {
        return plan;
    };
    let mut restored = Vec::new();
    while let Some((filter_idx, kept, renamed)) = find(planner, &outer, &group) {
        group.filters.remove(filter_idx);
        rename_in(&mut group, renamed, kept);
        restored.push((renamed, kept));
    }
    let mut plan = Logical::Group(group);
    for (slot, kept) in restored.into_iter().rev() {
        plan = with_copy(plan, slot, kept);
    }
    plan
}

/// The right side of an OPTIONAL joined by what one of its conditions says is the same as a slot of the left side; that condition is taken
/// out of them. One such condition joins the two sides, and the others stay.
pub(crate) fn optional(
    planner: &Planner<'_>,
    outer: SlotSet,
    left: &Logical,
    right: Logical,
    conditions: &mut Vec<Expr>,
) -> Logical {
    let are_joined = !left.schema().is_disjoint(&right.mentioned());
    if are_joined || !planner.rule(NAME) {
        return right;
    }
    let (of_left, of_right) = (left.certain(), right.certain());
    let mentioned = left.mentioned();
    let is_usable = |a: Slot, b: Slot| {
        let is_apart = !mentioned.contains(b) && !outer.contains(a) && !outer.contains(b);
        of_left.contains(a) && of_right.contains(b) && is_apart
    };
    let found = conditions.iter().enumerate().find_map(|(idx, condition)| {
        let (a, b, is_same) = equal_slots(condition)?;
        let (a, b) = match is_usable(a, b) {
            true => (a, b),
            false if is_usable(b, a) => (b, a),
            false => return None,
        };
        let is_known = || {
            let of_left = ValueKinds::of_slot(planner, left, a);
            ValueKinds::equal_themselves_alone(of_left, ValueKinds::of_slot(planner, &right, b))
        };
        (is_same || is_known()).then_some((idx, a, b))
    });
    let Some((idx, kept, renamed)) = found else {
        return right;
    };
    conditions.remove(idx);
    match right {
        Logical::Group(mut group)
            if only_in_objects(&group, renamed) && !group.filters.iter().any(has_exists) =>
        {
            rename_in(&mut group, renamed, kept);
            with_copy(Logical::Group(group), renamed, kept)
        }
        other => with_copy(other, kept, renamed),
    }
}

/// The plan with a slot that has the value of another one.
fn with_copy(input: Logical, slot: Slot, of: Slot) -> Logical {
    Logical::Extend {
        input: Box::new(input),
        slot,
        expr: Expr::Slot(of),
    }
}

/// The two slots of an equality, and whether it asks for the same term.
fn equal_slots(condition: &Expr) -> Option<(Slot, Slot, bool)> {
    let (a, b, is_same) = match condition {
        Expr::Equal(a, b) => (a, b, false),
        Expr::SameTerm(a, b) => (a, b, true),
        _ => return None,
    };
    match (&**a, &**b) {
        (Expr::Slot(a), Expr::Slot(b)) if a != b => Some((*a, *b, is_same)),
        _ => None,
    }
}

/// The first usable equality: its index, the slot to keep and the slot to rename.
fn find(planner: &Planner<'_>, outer: &SlotSet, group: &JoinGroup) -> Option<(usize, Slot, Slot)> {
    if group.filters.iter().any(has_exists) {
        return None;
    }
    group.filters.iter().enumerate().find_map(|(idx, filter)| {
        let (a, b, is_same) = equal_slots(filter)?;
        let bound = |slot: Slot| group.triples.iter().any(|t| t.certain().contains(slot));
        let usable = bound(a) && bound(b) && !outer.contains(a) && !outer.contains(b);
        let kinds = |slot| ValueKinds::in_group(planner, group, slot);
        let is_by_id = || is_same || ValueKinds::equal_themselves_alone(kinds(a), kinds(b));
        if !usable || leaves_optional_alone(group, a, b) || !is_by_id() {
            return None;
        }
        if only_in_objects(group, b) {
            Some((idx, a, b))
        } else if only_in_objects(group, a) {
            Some((idx, b, a))
        } else {
            None
        }
    })
}

/// Whether the equality would make a triple with one slot twice of one that optional triples stand beside: such a triple is part of
/// no star, and a star of optional triples alone has no rows of its own.
fn leaves_optional_alone(group: &JoinGroup, a: Slot, b: Slot) -> bool {
    let has_both = |triple: &&Triple| {
        let slots = triple.slots();
        slots.contains(a) && slots.contains(b)
    };
    let is_beside = |optional: &Triple, triple: &Triple| {
        optional.optional && optional.subject == triple.subject && optional.graphs == triple.graphs
    };
    let mut doubled = group.triples.iter().filter(has_both);
    doubled.any(|triple| group.triples.iter().any(|other| is_beside(other, triple)))
}

/// Whether a slot occurs in subjects and objects of required triples alone.
fn only_in_objects(group: &JoinGroup, slot: Slot) -> bool {
    let in_paths = group.paths.iter().any(|path| {
        [&path.subject, &path.object]
            .into_iter()
            .any(|end| *end == Endpoint::Slot(slot))
            || path.graphs.slot() == Some(slot)
    });
    let in_children = group
        .children
        .iter()
        .any(|child| child.mentioned().contains(slot));
    let in_triples = group.triples.iter().all(|triple| {
        triple.graphs.slot() != Some(slot) && !(triple.optional && triple.slots().contains(slot))
    });
    in_triples && !in_paths && !in_children
}

/// A group with one slot in place of another.
fn rename_in(group: &mut JoinGroup, from: Slot, to: Slot) {
    for triple in &mut group.triples {
        rename_triple(triple, from, to);
    }
    for filter in &mut group.filters {
        rename(filter, from, to);
    }
}

fn rename_triple(triple: &mut Triple, from: Slot, to: Slot) {
    for position in [
        &mut triple.subject,
        &mut triple.predicate,
        &mut triple.object,
    ] {
        if *position == Position::Slot(from) {
            *position = Position::Slot(to);
        }
    }
}
