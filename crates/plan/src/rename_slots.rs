//! Plans that are the same but for the names of their variables.
//!
//! [`canonical`] numbers the slots of a plan in the order in which they are met and forgets estimates, so two
//! plans that do the same give the same. Cost: a copy of the plan, and one pass.

use crate::expression::for_each_operand_mut;
use crate::physical::{
    Aggregate, Endpoint, Expr, Graphs, Node, Op, Pattern, Position, RollUp, Slot, Star,
};
use std::collections::HashMap;
use std::sync::Arc;

/// The plan with slots numbered from 0 in the order in which they are met, node numbers and estimates 0.
pub(crate) fn canonical(node: &Node) -> Node {
    let mut plan = node.clone();
    let mut numbers: HashMap<Slot, Slot> = HashMap::new();
    for_each_slot_mut(&mut plan, &mut |slot| {
        let next = Slot(numbers.len() as u16);
        *slot = *numbers.entry(*slot).or_insert(next);
    });
    forget_estimates(&mut plan);
    plan
}

fn forget_estimates(node: &mut Node) {
    (node.id, node.estimated_rows, node.estimated_cost) = (0, 0.0, 0.0);
    node.alternative = None;
    for child in node.op.children_mut() {
        forget_estimates(child);
    }
    for expr in node.op.expressions_mut() {
        forget_inside(expr);
    }
}

fn forget_inside(expr: &mut Expr) {
    match expr {
        Expr::Exists(inside) => forget_estimates(Arc::make_mut(inside)),
        _ => for_each_operand_mut(expr, &mut forget_inside),
    }
}

/// Visits every slot of a plan, those inside EXISTS included, in an order that does not depend on their numbers.
fn for_each_slot_mut(node: &mut Node, visit: &mut dyn FnMut(&mut Slot)) {
    node.schema.iter_mut().for_each(&mut *visit);
    node.certain.iter_mut().for_each(&mut *visit);
    node.sorted_by.iter_mut().for_each(&mut *visit);
    operator_slots(&mut node.op, visit);
    for expr in node.op.expressions_mut() {
        expression_slots(expr, visit);
    }
    for child in node.op.children_mut() {
        for_each_slot_mut(child, visit);
    }
}

pub(crate) fn expression_slots(expr: &mut Expr, visit: &mut dyn FnMut(&mut Slot)) {
    match expr {
        Expr::Slot(slot) | Expr::Bound(slot) => visit(slot),
        Expr::Exists(inside) => for_each_slot_mut(Arc::make_mut(inside), visit),
        _ => for_each_operand_mut(expr, &mut |operand| expression_slots(operand, visit)),
    }
}

/// The slots of the operator itself, but for those in its expressions.
fn operator_slots(op: &mut Op, visit: &mut dyn FnMut(&mut Slot)) {
    match op {
        Op::Unit
        | Op::Empty
        | Op::Outer
        | Op::GraphNames { .. }
        | Op::Values { .. }
        | Op::LateralJoin { .. }
        | Op::Filter { .. }
        | Op::Project { .. }
        | Op::Distinct { .. }
        | Op::PartialDistinct { .. }
        | Op::OrderBy { .. }
        | Op::Slice { .. }
        | Op::Spool { .. }
        | Op::Union { .. } => {}
        Op::StarScan { star, .. } | Op::StarJoin { star, .. } => star_slots(star, visit),
        Op::PatternScan { pattern, .. } | Op::PatternJoin { pattern, .. } => {
            pattern_slots(pattern, visit);
        }
        Op::PathJoin { pattern, .. } => {
            graph_slot(&mut pattern.graphs, visit);
            endpoint_slot(&mut pattern.subject, visit);
            endpoint_slot(&mut pattern.object, visit);
        }
        Op::Service { service, send, .. } => {
            endpoint_slot(&mut service.endpoint, visit);
            let variables = service.variables.iter_mut();
            variables.for_each(|(slot, _)| visit(slot));
            service.certain.iter_mut().chain(send).for_each(visit);
        }
        Op::HashJoin { .. } => hash_join_slots(op, visit),
        Op::MergeJoin { key: slot, .. } | Op::Extend { slot, .. } | Op::SlicePer { slot, .. } => {
            visit(slot)
        }
        Op::Minus { shared, .. } => shared.iter_mut().for_each(visit),
        Op::Group {
            keys, aggregates, ..
        } => aggregate_slots(keys, aggregates, visit),
        Op::GroupThrough(group) => {
            group.via.iter_mut().for_each(&mut *visit);
            aggregate_slots(&mut group.keys, &mut group.aggregates, visit);
        }
        Op::RollUp(group) => rolled_up_slots(group, visit),
        Op::CountJoin {
            pattern,
            key,
            count,
            ..
        } => {
            pattern_slots(pattern, visit);
            visit(key);
            visit(count);
        }
        Op::CountScan {
            pattern,
            key,
            counts,
        } => {
            pattern_slots(pattern, visit);
            key.iter_mut().for_each(&mut *visit);
            for count in counts {
                visit(&mut count.slot);
                count.distinct.iter_mut().for_each(&mut *visit);
            }
        }
    }
}

fn rolled_up_slots(group: &mut RollUp, visit: &mut dyn FnMut(&mut Slot)) {
    let pairs = group.keys.iter_mut().chain(&mut group.aggregates);
    pairs.for_each(|(slot, finer)| {
        visit(slot);
        visit(finer);
    });
}

pub(crate) fn aggregate_slots(
    keys: &mut [Slot],
    aggregates: &mut [Aggregate],
    visit: &mut dyn FnMut(&mut Slot),
) {
    keys.iter_mut().for_each(&mut *visit);
    aggregates
        .iter_mut()
        .for_each(|aggregate| visit(&mut aggregate.slot));
}

fn star_slots(star: &mut Star, visit: &mut dyn FnMut(&mut Slot)) {
    graph_slot(&mut star.graphs, visit);
    position_slot(&mut star.subject, visit);
    for pattern in &mut star.patterns {
        position_slot(&mut pattern.object, visit);
    }
}

fn pattern_slots(pattern: &mut Pattern, visit: &mut dyn FnMut(&mut Slot)) {
    graph_slot(&mut pattern.graphs, visit);
    position_slot(&mut pattern.subject, visit);
    position_slot(&mut pattern.predicate, visit);
    position_slot(&mut pattern.object, visit);
}

fn hash_join_slots(op: &mut Op, visit: &mut dyn FnMut(&mut Slot)) {
    let Op::HashJoin {
        keys,
        compatible,
        partners,
        nearest,
        ..
    } = op
    else {
        return;
    };
    nearest
        .iter_mut()
        .for_each(|nearest| visit(&mut nearest.slot));
    keys.iter_mut().chain(compatible).for_each(&mut *visit);
    for partner in partners {
        visit(&mut partner.slot);
        partner.function.argument_mut().map(&mut *visit);
    }
}

pub(crate) fn graph_slot(graphs: &mut Graphs, visit: &mut dyn FnMut(&mut Slot)) {
    if let Graphs::Variable { slot, .. } = graphs {
        visit(slot);
    }
}

pub(crate) fn position_slot(position: &mut Position, visit: &mut dyn FnMut(&mut Slot)) {
    if let Position::Slot(slot) = position {
        visit(slot);
    }
}

pub(crate) fn endpoint_slot(endpoint: &mut Endpoint, visit: &mut dyn FnMut(&mut Slot)) {
    if let Endpoint::Slot(slot) = endpoint {
        visit(slot);
    }
}
