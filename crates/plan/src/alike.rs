//! Logical plans that are the same but for the names of their variables.
//!
//! [`Alike::of`] numbers the slots of a plan in the order in which they are met, so two plans that say the same in the same order give
//! the same, and slots at the same places are each other's. Patterns that are written in another order are other plans.
//! Cost: a copy of the plan, and one pass.

use crate::logical::{JoinGroup, Logical};
use crate::physical::{Expr, ServicePattern, Slot};
use crate::rename_slots::{
    aggregate_slots, endpoint_slot, expression_slots, graph_slot, position_slot,
};
use std::collections::HashMap;

/// A plan with numbers in place of its slots, and the slots that they stand for.
#[derive(Clone, Debug)]
pub(crate) struct Alike {
    plan: Logical,
    /// By number.
    pub(crate) slots: Vec<Slot>,
}

impl Alike {
    pub(crate) fn of(plan: &Logical) -> Self {
        let mut plan = plan.clone();
        let (mut slots, mut numbers) = (Vec::new(), HashMap::new());
        for_each_slot_mut(&mut plan, &mut |slot| {
            let number = numbers.entry(*slot).or_insert_with(|| {
                slots.push(*slot);
                Slot((slots.len() - 1) as u16)
            });
            *slot = *number;
        });
        Self { plan, slots }
    }

    /// Whether another plan is the same.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.plan == other.plan
    }
}

/// Visits every slot of a plan, in an order that does not depend on their numbers.
pub(crate) fn for_each_slot_mut(plan: &mut Logical, visit: &mut dyn FnMut(&mut Slot)) {
    match plan {
        Logical::Empty => {}
        Logical::Group(group) => group_slots(group, visit),
        Logical::LeftJoin {
            left,
            right,
            conditions,
        }
        | Logical::AntiJoin {
            left,
            right,
            conditions,
        } => {
            for_each_slot_mut(left, visit);
            for_each_slot_mut(right, visit);
            all_expression_slots(conditions, visit);
        }
        Logical::Minus { left, right, graph } => {
            for_each_slot_mut(left, visit);
            for_each_slot_mut(right, visit);
            graph.iter_mut().for_each(visit);
        }
        Logical::Lateral { left, right } => {
            for_each_slot_mut(left, visit);
            for_each_slot_mut(right, visit);
        }
        Logical::Filter { input, conditions } => {
            for_each_slot_mut(input, visit);
            all_expression_slots(conditions, visit);
        }
        Logical::Extend { input, slot, expr } => {
            for_each_slot_mut(input, visit);
            expression_slots(expr, visit);
            visit(slot);
        }
        Logical::Project { input, slots } => {
            for_each_slot_mut(input, visit);
            slots.iter_mut().for_each(visit);
        }
        Logical::Distinct { input } => for_each_slot_mut(input, visit),
        Logical::OrderBy { input, keys } => {
            for_each_slot_mut(input, visit);
            keys.iter_mut()
                .for_each(|key| expression_slots(&mut key.expr, visit));
        }
        Logical::Slice { input, per, .. } => {
            for_each_slot_mut(input, visit);
            per.iter_mut().for_each(visit);
        }
        Logical::GraphNames { slot, .. } => visit(slot),
        Logical::Aggregate {
            input,
            keys,
            aggregates,
        } => {
            for_each_slot_mut(input, visit);
            for aggregate in aggregates.iter_mut() {
                let argument = aggregate.argument.iter_mut();
                argument.for_each(|argument| expression_slots(argument, visit));
            }
            aggregate_slots(keys, aggregates, visit);
        }
        Logical::Union(inputs) => inputs
            .iter_mut()
            .for_each(|input| for_each_slot_mut(input, visit)),
        Logical::Values { slots, .. } => slots.iter_mut().for_each(visit),
        Logical::Service(service) => service_slots(service, visit),
    }
}

fn group_slots(group: &mut JoinGroup, visit: &mut dyn FnMut(&mut Slot)) {
    for triple in &mut group.triples {
        graph_slot(&mut triple.graphs, visit);
        position_slot(&mut triple.subject, visit);
        position_slot(&mut triple.predicate, visit);
        position_slot(&mut triple.object, visit);
    }
    for path in &mut group.paths {
        graph_slot(&mut path.graphs, visit);
        endpoint_slot(&mut path.subject, visit);
        endpoint_slot(&mut path.object, visit);
    }
    group
        .children
        .iter_mut()
        .for_each(|child| for_each_slot_mut(child, visit));
    all_expression_slots(&mut group.filters, visit);
}

fn all_expression_slots(exprs: &mut [Expr], visit: &mut dyn FnMut(&mut Slot)) {
    exprs
        .iter_mut()
        .for_each(|expr| expression_slots(expr, visit));
}

fn service_slots(service: &mut ServicePattern, visit: &mut dyn FnMut(&mut Slot)) {
    endpoint_slot(&mut service.endpoint, visit);
    let variables = service.variables.iter_mut();
    variables.for_each(|(slot, _)| visit(slot));
    service.certain.iter_mut().for_each(visit);
}
