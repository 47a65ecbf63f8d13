//! `FILTER(?a = ?b)` becomes a join by id where one side is certain to be a resource.
//!
//! `=` compares values, and two literals may be equal without being the same term; but an IRI or
//! blank node equals nothing but itself. So if both are bound by patterns of the group and one of
//! them can only be a resource (a subject, or an object of a predicate whose every value is one),
//! `?b` is renamed to `?a` in the patterns and given its value again above.

use crate::expression::{has_exists, rename};
use crate::logical::{JoinGroup, Logical, Triple};
use crate::physical::{Endpoint, Expr, Position, Slot};
use crate::planner::Planner;
use crate::slot_set::SlotSet;
use basalt_rdf::term_id::tag;

/// The plan with every such equality of its group made a join.
pub(crate) fn apply(planner: &Planner<'_>, outer: SlotSet, plan: Logical) -> Logical {
    if !planner.rule("resource_equality") {
        return plan;
    }
    let Logical::Group(mut group) = plan else {
        return plan;
    };
    let mut restored = Vec::new();
    while let Some((filter_idx, kept, renamed)) = find(planner, &outer, &group) {
        group.filters.remove(filter_idx);
        for triple in &mut group.triples {
            rename_triple(triple, renamed, kept);
        }
        for filter in &mut group.filters {
            rename(filter, renamed, kept);
        }
        restored.push((renamed, kept));
    }
    let mut plan = Logical::Group(group);
    for (slot, kept) in restored.into_iter().rev() {
        plan = Logical::Extend {
            input: Box::new(plan),
            slot,
            expr: Expr::Slot(kept),
        };
    }
    plan
}

/// The first usable equality: its index, the slot to keep and the slot to rename.
fn find(planner: &Planner<'_>, outer: &SlotSet, group: &JoinGroup) -> Option<(usize, Slot, Slot)> {
    if group.filters.iter().any(has_exists) {
        return None;
    }
    group.filters.iter().enumerate().find_map(|(idx, filter)| {
        let Expr::Equal(a, b) = filter else {
            return None;
        };
        let (Expr::Slot(a), Expr::Slot(b)) = (&**a, &**b) else {
            return None;
        };
        let bound = |slot: Slot| group.triples.iter().any(|t| t.certain().contains(slot));
        let usable = a != b && bound(*a) && bound(*b) && !outer.contains(*a) && !outer.contains(*b);
        let resource = |slot| {
            group
                .triples
                .iter()
                .any(|t| binds_resource(planner, t, slot))
        };
        if !usable || !(resource(*a) || resource(*b)) || leaves_optional_alone(group, *a, *b) {
            return None;
        }
        if only_in_objects(group, *b) {
            Some((idx, *a, *b))
        } else if only_in_objects(group, *a) {
            Some((idx, *b, *a))
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

/// Whether the triple can bind the slot to nothing but an IRI or a blank node.
fn binds_resource(planner: &Planner<'_>, triple: &Triple, slot: Slot) -> bool {
    if triple.subject == Position::Slot(slot) || triple.predicate == Position::Slot(slot) {
        return true;
    }
    let Position::Id(predicate) = triple.predicate else {
        return false;
    };
    // Resources have the smallest tag, so the largest value tells for all. A dirty row has its values in cells and in
    // irregular quads, like all others.
    triple.object == Position::Slot(slot)
        && !triple.optional
        && planner.statistics.irregular_are_resources(predicate)
        && planner.columns(predicate).iter().all(|(_, column)| {
            let range = column.range;
            range.is_none_or(|(_, max)| max.tag() == tag::RESOURCE)
        })
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
