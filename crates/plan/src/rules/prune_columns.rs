//! Drops columns that nothing above needs, so that a scan only counts what it need not return.
//!
//! Runs over the finished plan from the root. Leaves, joins, projections and groups get narrower
//! schemas; operators that pass rows through keep their input's columns. BIND of a slot that nobody
//! reads disappears.

use crate::expression::{for_each_operand_mut, outer_slots, slots_of};
use crate::physical::{
    Aggregate, AggregateFunction, Domain, Expr, GroupThrough, JoinKind, Node, Op, ServicePattern,
    Slot, Total,
};
use crate::planner::{Planner, take_node};
use crate::row_chain::RowChain;
use crate::slot_set::SlotSet;
use std::sync::Arc;

/// Narrows a plan to the required slots.
pub(crate) fn apply(root: &mut Node, required: &SlotSet, planner: &Planner<'_>) {
    if planner.rule("prune_columns") {
        prune(root, required);
    }
}

/// Prunes an input, which no other plan has any more afterwards.
fn prune_input(input: &mut Arc<Node>, required: &SlotSet) {
    prune(Arc::make_mut(input), required);
}

fn prune(node: &mut Node, required: &SlotSet) {
    if let Op::Extend { input, slot, .. } = &mut node.op
        && !required.contains(*slot)
    {
        *node = take_node(Arc::make_mut(input));
        prune(node, required);
        return;
    }
    let is_read = |aggregate: &Aggregate| required.contains(aggregate.slot);
    match &mut node.op {
        Op::Group { aggregates, .. } => aggregates.retain(is_read),
        // Groups that share states need them all.
        Op::GroupThrough(group) if group.shared.is_none() => group.aggregates.retain(is_read),
        Op::RollUp(group) => group
            .aggregates
            .retain(|(slot, _)| required.contains(*slot)),
        Op::CountScan { counts, .. } => counts.retain(|count| required.contains(count.slot)),
        Op::HashJoin { partners, .. } => partners.retain(|own| required.contains(own.slot)),
        _ => {}
    }
    let mut needed = *required;
    for expr in node.op.expressions() {
        needed = needed.union(slots_of(expr));
    }
    if let Op::HashJoin { partners, .. } = &node.op {
        let arguments = partners.iter().filter_map(|own| own.function.argument());
        needed = needed.union(arguments.collect());
    }
    prune_inputs(&mut node.op, &needed, required, &node.schema);
    for expr in node.op.expressions_mut() {
        prune_exists(expr);
    }
    set_schema(node, required);
}

/// Prunes the inputs for what the operator and those above it need.
fn prune_inputs(op: &mut Op, needed: &SlotSet, required: &SlotSet, schema: &[Slot]) {
    match op {
        Op::StarJoin { input, star, .. } => {
            prune_input(input, &needed.union(SlotSet::of(&star.slots())));
        }
        Op::PatternJoin { input, pattern, .. } => {
            prune_input(input, &needed.union(SlotSet::of(&pattern.slots())));
        }
        Op::CountJoin { input, key, .. } => {
            prune_input(input, &needed.union(SlotSet::of(&[*key])));
        }
        Op::PathJoin { input, pattern, .. } => {
            prune_input(input, &needed.union(SlotSet::of(&pattern.slots())));
        }
        Op::Service { input, service, .. } => prune_service(Arc::make_mut(input), service, needed),
        Op::HashJoin {
            left,
            right,
            keys,
            compatible,
            ..
        } => {
            let needed = needed
                .union(SlotSet::of(keys))
                .union(SlotSet::of(compatible));
            prune_input(left, &needed);
            prune_input(right, &needed);
        }
        Op::MergeJoin { left, right, key } => {
            let needed = needed.union(SlotSet::of(&[*key]));
            prune_input(left, &needed);
            prune_input(right, &needed);
        }
        Op::Minus {
            left,
            right,
            shared,
        } => {
            prune_input(left, &needed.union(SlotSet::of(shared)));
            prune_input(right, &SlotSet::of(shared));
        }
        Op::LateralJoin { left, right } => {
            prune_input(left, &needed.union(SlotSet::of(&outer_slots(right))));
            prune_input(right, needed);
        }
        Op::SlicePer { input, slot, .. } => {
            prune_input(input, &needed.union(SlotSet::of(&[*slot])));
        }
        // Every column tells rows apart; kept rows are alike in all places.
        Op::Distinct { input } | Op::Spool { input, .. } => {
            prune_input(input, &SlotSet::of(schema))
        }
        Op::Group {
            input,
            keys,
            aggregates,
        } => prune_group_input(Arc::make_mut(input), keys, aggregates),
        Op::GroupThrough(group) => prune_group_through(group),
        Op::RollUp(group) => prune_finer(&mut group.finer),
        Op::Project { input } => {
            let kept = SlotSet::of(schema).intersect(*required);
            prune_input(input, &kept);
        }
        other => {
            for child in other.children_mut() {
                prune(child, needed);
            }
        }
    }
}

/// A remote pattern is asked only for what somebody reads.
fn prune_service(input: &mut Node, service: &mut ServicePattern, needed: &SlotSet) {
    let asked = SlotSet::of(&service.slots());
    let endpoint = service.endpoint_slot().into_iter().collect();
    prune(input, &needed.union(asked).union(endpoint));
    let wanted = needed.union(SlotSet::of(&input.schema));
    service.ask_only(&|slot| wanted.contains(slot));
}

/// Others may read what one group does not.
fn prune_finer(finer: &mut Node) {
    let all = SlotSet::of(&finer.schema);
    prune(finer, &all);
}

/// Rows, pairs and domain have what the operator reads of them.
fn prune_group_through(group: &mut GroupThrough) {
    let (keys, via) = (SlotSet::of(&group.keys), SlotSet::of(&group.via));
    prune_group_input(&mut group.rows, &group.via, &group.aggregates);
    prune(&mut group.pairs, &keys.union(via));
    if let Some(Domain::Rows(domain)) = &mut group.without {
        prune(domain, &keys);
    }
    match &mut group.total {
        Some(Total::Rows(rows)) => prune_group_input(rows, &[], &group.aggregates),
        Some(Total::Parts(Some(values))) => prune(values, &via),
        Some(Total::Parts(None)) | None => {}
    }
}

/// What a group reads; `COUNT(DISTINCT *)` reads everything.
fn prune_group_input(input: &mut Node, keys: &[Slot], aggregates: &[Aggregate]) {
    let whole_rows = aggregates.iter().any(|aggregate| {
        aggregate.function == AggregateFunction::Count
            && aggregate.argument.is_none()
            && aggregate.distinct
    });
    if whole_rows {
        let all = SlotSet::of(&input.schema);
        prune(input, &all);
        return;
    }
    let arguments = aggregates
        .iter()
        .filter_map(|aggregate| aggregate.argument.as_ref());
    let read = arguments.fold(SlotSet::of(keys), |set, expr| set.union(slots_of(expr)));
    prune(input, &read);
}

/// Inside EXISTS only the number of rows matters, or of which outer rows they are.
fn prune_exists(expr: &mut Expr) {
    if let Expr::Exists(node) = expr {
        let told_apart = RowChain::of(node).map(|chain| chain.slots);
        prune_input(node, &told_apart.unwrap_or_default());
    } else {
        for_each_operand_mut(expr, &mut |operand| prune_exists(operand));
    }
}

fn set_schema(node: &mut Node, required: &SlotSet) {
    let keep = |slots: &[Slot], set: &SlotSet| -> Vec<Slot> {
        slots
            .iter()
            .copied()
            .filter(|slot| set.contains(*slot))
            .collect()
    };
    let schema = match &node.op {
        Op::StarJoin {
            input,
            kind: JoinKind::Semi | JoinKind::Anti,
            ..
        }
        | Op::PatternJoin {
            input,
            kind: JoinKind::Semi | JoinKind::Anti,
            ..
        }
        | Op::Service {
            input,
            kind: JoinKind::Semi | JoinKind::Anti,
            ..
        } => input.schema.clone(),
        Op::HashJoin {
            left,
            kind: JoinKind::Semi | JoinKind::Anti,
            ..
        }
        | Op::Minus { left, .. } => left.schema.clone(),
        Op::StarScan { .. }
        | Op::StarJoin { .. }
        | Op::PatternScan { .. }
        | Op::PatternJoin { .. }
        | Op::CountJoin { .. }
        | Op::PathJoin { .. }
        | Op::Service { .. }
        | Op::HashJoin { .. }
        | Op::MergeJoin { .. }
        | Op::LateralJoin { .. }
        | Op::CountScan { .. }
        | Op::Outer
        | Op::Union { .. }
        | Op::Project { .. } => keep(&node.schema, required),
        Op::Filter { input, .. }
        | Op::Distinct { input }
        | Op::PartialDistinct { input }
        | Op::OrderBy { input, .. }
        | Op::Slice { input, .. }
        | Op::Spool { input, .. }
        | Op::SlicePer { input, .. } => input.schema.clone(),
        Op::Extend { input, slot, .. } => input
            .schema
            .iter()
            .copied()
            .chain(std::iter::once(*slot))
            .collect(),
        Op::Group { .. } | Op::GroupThrough(_) | Op::RollUp(_) => node.op.made_slots(),
        Op::Unit | Op::Empty | Op::Values { .. } | Op::GraphNames { .. } => node.schema.clone(),
    };
    node.schema = schema;
    node.certain = keep(&node.certain, &SlotSet::of(&node.schema));
    let is_kept = |slot: &&Slot| node.schema.contains(slot);
    let kept = node.sorted_by.iter().take_while(is_kept).count();
    node.sorted_by.truncate(kept);
}
