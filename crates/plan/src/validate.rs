//! Checks that a plan keeps the promises of [`crate::physical`]; debug builds check every plan.
//!
//! Cost: linear in the plan.

mod groups;
mod spools;

use self::groups::{check_group_through, check_partners, check_roll_up};
use self::spools::check_spools;
use crate::expression::{any, bound_by, for_each_operand, slots_of};
use crate::physical::{
    Expr, JoinKind, Node, Op, PartnerAggregate, PathPattern, Pattern, Plan, Position, QuadCount,
    ServicePattern, Slot, Star, StarAccess, StarEntry,
};
use crate::slot_set::SlotSet;

/// What is wrong with a plan, if anything.
pub fn validate(plan: &Plan) -> Result<(), String> {
    let mut ids = Vec::new();
    check(&plan.root, &SlotSet::default(), &mut ids)?;
    ids.sort_unstable();
    if ids.len() != plan.node_count || ids.iter().enumerate().any(|(idx, id)| idx != *id) {
        return Err("node numbers are not dense".to_owned());
    }
    let slots = all_slots(&plan.root);
    if slots
        .iter()
        .any(|slot| slot.0 as usize >= plan.variables.len())
    {
        return Err("a slot has no name".to_owned());
    }
    check_spools(&plan.root)
}

fn all_slots(node: &Node) -> SlotSet {
    let children = node.op.children().into_iter();
    children.fold(SlotSet::of(&node.schema), |set, child| {
        set.union(all_slots(child))
    })
}

fn ensure(holds: bool, node: &Node, what: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(format!("node {}: {what}", node.id))
    }
}

fn check(node: &Node, outer: &SlotSet, ids: &mut Vec<usize>) -> Result<(), String> {
    ids.push(node.id);
    let schema = SlotSet::of(&node.schema);
    ensure(
        schema.iter().count() == node.schema.len(),
        node,
        "a slot twice in the schema",
    )?;
    ensure(
        SlotSet::of(&node.certain).is_subset(&schema),
        node,
        "certain outside the schema",
    )?;
    ensure(
        node.sorted_by.iter().all(|s| schema.contains(*s)),
        node,
        "sorted by a missing slot",
    )?;
    ensure(
        node.estimated_rows.is_finite(),
        node,
        "estimated rows are not finite",
    )?;
    if let Op::LateralJoin { left, right } = &node.op {
        check(left, outer, ids)?;
        check(right, &SlotSet::of(&left.schema), ids)?;
    } else {
        for child in node.op.children() {
            check(child, outer, ids)?;
        }
    }
    let (available, certain) = produced(node);
    let free = matches!(
        node.op,
        Op::Project { .. } | Op::Union { .. } | Op::Outer | Op::Values { .. }
    );
    ensure(
        free || schema.is_subset(&available),
        node,
        "a slot of the schema is not produced",
    )?;
    let fixed = matches!(node.op, Op::Outer | Op::Values { .. } | Op::Extend { .. });
    ensure(
        fixed || SlotSet::of(&node.certain).is_subset(&certain),
        node,
        "a certain slot may be unbound",
    )?;
    if matches!(node.op, Op::Outer) {
        ensure(
            schema.is_subset(outer),
            node,
            "an outer slot is not outside",
        )?;
    }
    let readable = readable(node);
    for expr in node.op.expressions() {
        ensure(
            slots_of(expr).is_subset(&readable),
            node,
            "an expression reads a missing slot",
        )?;
        check_exists(expr, &readable, ids)?;
    }
    check_shape(node)?;
    check_key_filters(node)?;
    check_join(node)
}

fn check_exists(expr: &Expr, row: &SlotSet, ids: &mut Vec<usize>) -> Result<(), String> {
    if let Expr::Exists(inside) = expr {
        return check(inside, row, ids);
    }
    let mut result = Ok(());
    for_each_operand(expr, &mut |operand| {
        if result.is_ok() {
            result = check_exists(operand, row, ids);
        }
    });
    result
}

/// The slots an operator's own expressions may read.
fn readable(node: &Node) -> SlotSet {
    let inputs = node.op.children().into_iter();
    let set = inputs.fold(SlotSet::default(), |set, child| {
        set.union(SlotSet::of(&child.schema))
    });
    match &node.op {
        Op::StarScan { star, .. } | Op::StarJoin { star, .. } => {
            set.union(SlotSet::of(&star.slots()))
        }
        Op::PatternScan { pattern, .. } => pattern.predicate.slot().into_iter().collect(),
        Op::PatternJoin { pattern, .. } => set.union(SlotSet::of(&pattern.slots())),
        Op::Service { service, .. } => set.union(SlotSet::of(&service.slots())),
        _ => set,
    }
}

fn star_certain(star: &Star) -> SlotSet {
    let mut set = SlotSet::of(&star.slots());
    for pattern in star.patterns.iter().filter(|pattern| pattern.optional) {
        if let Some(slot) = pattern.object.slot() {
            set.remove(slot);
        }
    }
    set
}

/// The slots of a join of some rows with others that have these slots, and the certain ones.
fn joined(left: &Node, slots: SlotSet, right: SlotSet, kind: &JoinKind) -> (SlotSet, SlotSet) {
    let (schema, certain) = (SlotSet::of(&left.schema), SlotSet::of(&left.certain));
    match kind {
        JoinKind::Inner => (schema.union(slots), certain.union(right)),
        JoinKind::LeftOuter => (schema.union(slots), certain),
        JoinKind::Semi | JoinKind::Anti => (schema, certain),
    }
}

/// The slots an operator can produce, and those of them bound in every row.
fn produced(node: &Node) -> (SlotSet, SlotSet) {
    let schema = |node: &Node| SlotSet::of(&node.schema);
    let certain = |node: &Node| SlotSet::of(&node.certain);
    match &node.op {
        Op::Unit | Op::Empty => (schema(node), SlotSet::default()),
        Op::Outer | Op::Values { .. } | Op::GraphNames { .. } => (schema(node), certain(node)),
        Op::StarScan { star, .. } => (SlotSet::of(&star.slots()), star_certain(star)),
        Op::StarJoin {
            input, star, kind, ..
        } => joined(input, SlotSet::of(&star.slots()), star_certain(star), kind),
        Op::PatternScan { pattern, .. } => twice(SlotSet::of(&pattern.slots())),
        Op::PatternJoin {
            input,
            pattern,
            kind,
            ..
        } => {
            let (slots, certain) = twice(SlotSet::of(&pattern.slots()));
            joined(input, slots, certain, kind)
        }
        Op::CountJoin { input, count, .. } => extended(input, &[*count]),
        Op::PathJoin { input, pattern, .. } => extended(input, &pattern.slots()),
        Op::Service {
            input,
            service,
            kind,
            ..
        } => {
            let certain = SlotSet::of(&service.certain);
            joined(input, SlotSet::of(&service.slots()), certain, kind)
        }
        Op::HashJoin {
            left,
            right,
            kind,
            partners,
            ..
        } => hash_joined((left, right), *kind, partners),
        Op::MergeJoin { left, right, .. } | Op::LateralJoin { left, right } => {
            joined(left, schema(right), certain(right), &JoinKind::Inner)
        }
        Op::Filter { input, condition } => {
            let bound = bound_by(condition).intersect(schema(input));
            (schema(input), certain(input).union(bound))
        }
        Op::Minus { left: input, .. }
        | Op::Distinct { input }
        | Op::PartialDistinct { input }
        | Op::OrderBy { input, .. }
        | Op::Slice { input, .. }
        | Op::SlicePer { input, .. }
        | Op::Spool { input, .. }
        | Op::Project { input } => (schema(input), certain(input)),
        Op::Extend { input, slot, .. } => {
            let mut set = schema(input);
            set.insert(*slot);
            (set, certain(input))
        }
        Op::Group { .. } | Op::GroupThrough(_) | Op::RollUp(_) => {
            twice(SlotSet::of(&node.op.made_slots()))
        }
        Op::CountScan { .. } => (schema(node), schema(node)),
        Op::Union { inputs } => {
            let all = inputs.iter().map(schema).reduce(SlotSet::union);
            let both = inputs.iter().map(certain).reduce(SlotSet::intersect);
            (all.unwrap_or_default(), both.unwrap_or_default())
        }
    }
}

/// The slots of a hash join, or of its sets of pairs, and the certain ones.
fn hash_joined(
    (left, right): (&Node, &Node),
    kind: JoinKind,
    partners: &[PartnerAggregate],
) -> (SlotSet, SlotSet) {
    if partners.is_empty() {
        let (slots, certain) = (SlotSet::of(&right.schema), SlotSet::of(&right.certain));
        return joined(left, slots, certain, &kind);
    }
    let certain = partners.iter().filter(|own| own.function.is_certain(kind));
    let certain = certain.map(|own| own.slot).collect();
    let slots = partners.iter().map(|own| own.slot).collect();
    joined(left, slots, certain, &JoinKind::Inner)
}

/// The slots of rows that each of these is bound in as well, and the certain ones.
fn extended(input: &Node, slots: &[Slot]) -> (SlotSet, SlotSet) {
    let slots = SlotSet::of(slots);
    joined(input, slots, slots, &JoinKind::Inner)
}

/// Slots that are in the schema and certain.
fn twice(slots: SlotSet) -> (SlotSet, SlotSet) {
    (slots, slots)
}

/// Hash joins make key filters of their keys, stars test what they bind in every row.
fn check_key_filters(node: &Node) -> Result<(), String> {
    let slots: SlotSet = node.key_filters.iter().map(|filter| filter.slot).collect();
    let allowed = match &node.op {
        Op::HashJoin { keys, .. } => SlotSet::of(keys),
        Op::StarScan { .. } => SlotSet::of(&node.certain),
        Op::StarJoin { input, .. } => SlotSet::of(&node.certain).minus(SlotSet::of(&input.certain)),
        _ => SlotSet::default(),
    };
    ensure(
        slots.is_subset(&allowed),
        node,
        "a key filter of a slot that may be unbound",
    )
}

/// Operators that pass rows through have their input's columns.
fn check_shape(node: &Node) -> Result<(), String> {
    match &node.op {
        Op::Filter { input, .. }
        | Op::Distinct { input }
        | Op::PartialDistinct { input }
        | Op::OrderBy { input, .. }
        | Op::Slice { input, .. }
        | Op::Spool { input, .. }
        | Op::SlicePer { input, .. } => {
            let slot = match &node.op {
                Op::SlicePer { slot, .. } => Some(slot),
                _ => None,
            };
            ensure(
                slot.is_none_or(|slot| input.certain.contains(slot)),
                node,
                "slices of a slot that may be unbound",
            )?;
            ensure(
                node.schema == input.schema,
                node,
                "columns change on the way through",
            )
        }
        Op::Minus { left, .. } => ensure(node.schema == left.schema, node, "columns change"),
        Op::Extend { input, slot, .. } => ensure(
            !input.schema.contains(slot),
            node,
            "BIND of a slot that the input has",
        ),
        Op::GraphNames { .. } => ensure(node.schema.len() == 1, node, "not one graph slot"),
        Op::Group { input, keys, .. } => ensure(
            keys.iter().all(|key| input.schema.contains(key)),
            node,
            "a key is missing",
        ),
        Op::GroupThrough(group) => check_group_through(node, group),
        Op::RollUp(group) => check_roll_up(node, group),
        Op::CountScan {
            pattern,
            key,
            counts,
        } => check_count_scan(node, pattern, *key, counts),
        Op::CountJoin {
            input,
            pattern,
            key,
            count,
        } => {
            let by_object = pattern.object == Position::Slot(*key)
                && pattern.predicate.slot().is_none()
                && pattern.subject.slot().is_some_and(|s| s != *key);
            ensure(
                by_object && input.certain.contains(key) && !input.schema.contains(count),
                node,
                "a count of quads that cannot be counted for each row",
            )
        }
        Op::Values { rows } => {
            let width = node.schema.len();
            ensure(
                rows.iter().all(|row| row.len() == width),
                node,
                "a row of the wrong width",
            )
        }
        _ => Ok(()),
    }
}

fn check_count_scan(
    node: &Node,
    pattern: &Pattern,
    key: Option<Slot>,
    counts: &[QuadCount],
) -> Result<(), String> {
    let slots = pattern.slots();
    let distinct = SlotSet::of(&slots).iter().count() == slots.len();
    let mut read = key
        .into_iter()
        .chain(counts.iter().filter_map(|c| c.distinct));
    let known = read.all(|slot| slots.contains(&slot));
    let free = pattern.subject.slot().is_some();
    let made: Vec<Slot> = key
        .into_iter()
        .chain(counts.iter().map(|c| c.slot))
        .collect();
    let produced = node.schema.iter().all(|slot| made.contains(slot));
    ensure(
        distinct && known && free && produced,
        node,
        "a count of a pattern that cannot be counted",
    )
}

/// A path at once gives its new end and nothing else.
fn check_at_once(
    node: &Node,
    input: &Node,
    pattern: &PathPattern,
    at_once: bool,
) -> Result<(), String> {
    let is_end = |slot: &Slot| pattern.slots().contains(slot) && !input.schema.contains(slot);
    if at_once && !(node.schema.len() == 1 && node.schema.iter().all(is_end)) {
        return Err("a path at once gives more than ends".to_owned());
    }
    Ok(())
}

fn check_join(node: &Node) -> Result<(), String> {
    match &node.op {
        Op::StarScan { .. } | Op::StarJoin { .. } => check_star_access(node),
        Op::PatternJoin { input, pattern, .. } => {
            check_shared_certain(node, input, &pattern.slots())
        }
        Op::PathJoin {
            input,
            pattern,
            at_once,
        } => {
            check_at_once(node, input, pattern, *at_once)?;
            check_shared_certain(node, input, &pattern.slots())
        }
        Op::Service {
            input,
            service,
            send,
            ..
        } => check_service(node, input, service, send),
        Op::HashJoin {
            left,
            right,
            keys,
            compatible,
            ..
        } => {
            let certain = SlotSet::of(&left.certain).intersect(SlotSet::of(&right.certain));
            let shared = SlotSet::of(&left.schema).intersect(SlotSet::of(&right.schema));
            let compared = SlotSet::of(keys).union(SlotSet::of(compatible));
            ensure(
                SlotSet::of(keys).is_subset(&certain),
                node,
                "a key is not certain",
            )?;
            ensure(
                compared == shared,
                node,
                "not all shared slots are compared",
            )?;
            check_partners(node)
        }
        Op::MergeJoin { left, right, key } => {
            let sorted = [left, right]
                .iter()
                .all(|side| side.sorted_by.first() == Some(key));
            let shared = SlotSet::of(&left.schema).intersect(SlotSet::of(&right.schema));
            ensure(
                sorted && shared.to_vec() == [*key],
                node,
                "merge join of unsorted inputs",
            )
        }
        Op::Minus {
            left,
            right,
            shared,
        } => {
            let both = SlotSet::of(&left.schema).intersect(SlotSet::of(&right.schema));
            ensure(
                SlotSet::of(shared).is_subset(&both),
                node,
                "a slot is compared that a side lacks",
            )
        }
        _ => Ok(()),
    }
}

/// What is sent is known and asked for.
fn check_service(
    node: &Node,
    input: &Node,
    service: &ServicePattern,
    send: &[Slot],
) -> Result<(), String> {
    let asked = SlotSet::of(&service.slots());
    let sendable = asked.intersect(SlotSet::of(&input.certain));
    ensure(
        SlotSet::of(send).is_subset(&sendable),
        node,
        "a slot is sent that is not asked for or not certain",
    )?;
    ensure(
        SlotSet::of(&service.certain).is_subset(&asked),
        node,
        "a certain slot is not asked for",
    )
}

/// Stars are well formed and entered where something is bound.
fn check_star_access(node: &Node) -> Result<(), String> {
    match &node.op {
        Op::StarScan { star, access } => {
            check_star(node, star)?;
            match access {
                StarAccess::Object { pattern_idx } => {
                    let pattern = star.patterns.get(*pattern_idx);
                    let constant =
                        pattern.is_some_and(|p| p.object.slot().is_none() && !p.optional);
                    ensure(constant, node, "access by an object that is no constant")
                }
                StarAccess::Subject => ensure(
                    star.subject.slot().is_none(),
                    node,
                    "access by a variable subject",
                ),
                StarAccess::Rows => Ok(()),
            }
        }
        Op::StarJoin {
            input, star, entry, ..
        } => {
            check_star(node, star)?;
            let shared = SlotSet::of(&input.schema).intersect(SlotSet::of(&star.slots()));
            let certain = SlotSet::of(&input.certain).intersect(star_certain(star));
            ensure(
                shared.is_subset(&certain),
                node,
                "a shared slot is not certain",
            )?;
            let slot = match entry {
                StarEntry::Subject => star.subject.slot(),
                StarEntry::Object { pattern_idx } => star
                    .patterns
                    .get(*pattern_idx)
                    .and_then(|pattern| pattern.object.slot()),
                StarEntry::Graph => star.graphs.slot(),
            };
            ensure(
                slot.is_some_and(|s| certain.contains(s)),
                node,
                "the entry is not bound",
            )
        }
        _ => Ok(()),
    }
}

fn check_shared_certain(node: &Node, input: &Node, slots: &[Slot]) -> Result<(), String> {
    let shared = SlotSet::of(&input.schema).intersect(SlotSet::of(slots));
    ensure(
        shared.is_subset(&SlotSet::of(&input.certain)),
        node,
        "a shared slot is not certain",
    )
}

fn check_star(node: &Node, star: &Star) -> Result<(), String> {
    let slots = star.slots();
    ensure(
        SlotSet::of(&slots).iter().count() == slots.len(),
        node,
        "a slot twice in a star",
    )?;
    let exists = |e: &Expr| any(e, &|e| matches!(e, Expr::Exists(_)));
    ensure(
        !star.filters.iter().any(exists),
        node,
        "EXISTS inside a star",
    )?;
    ensure(
        star.patterns.iter().any(|p| !p.optional),
        node,
        "a star of optional patterns only",
    )
}
