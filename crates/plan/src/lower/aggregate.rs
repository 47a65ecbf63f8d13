//! GROUP BY: the groups of all joined rows, or what counts and adds up earlier, whatever is cheapest.

use super::Outer;
use crate::cost_constants::{
    AGGREGATE_CARRIED_MIN, AGGREGATE_PARTS_MIN, COUNT_UNEQUAL_FACTOR, COUNT_UNEQUAL_MIN, EMIT_ROW,
    EXPRESSION, GROUP_ROW,
};
use crate::estimate::groups;
use crate::expression::{resolve_missing, slots_of};
use crate::logical::{Logical, is_bound_in_groups};
use crate::physical::{Aggregate, Node, Op, Slot};
use crate::planner::{ForceJoin, PlanError, Planner, node};
use crate::rules::{
    aggregate_parts, count_first, count_scan, count_unequal, group_through, partner_sets, roll_up,
};
use crate::slot_set::SlotSet;
use std::sync::Arc;

impl Planner<'_> {
    pub(super) fn aggregate(
        &mut self,
        input: &Logical,
        keys: &[Slot],
        aggregates: &[Aggregate],
        outer: &Outer,
    ) -> Result<Node, PlanError> {
        if outer.slots.is_empty()
            && let Some(plan) = roll_up::aggregate(self, input, keys, aggregates)?
        {
            return Ok(plan);
        }
        self.aggregate_alone(input, keys, aggregates, outer)
    }

    /// The group without others of the same rows.
    pub(crate) fn aggregate_alone(
        &mut self,
        input: &Logical,
        keys: &[Slot],
        aggregates: &[Aggregate],
        outer: &Outer,
    ) -> Result<Node, PlanError> {
        if let Some(counted) = count_scan::aggregate(self, input, keys, aggregates, outer)? {
            return Ok(counted);
        }
        let counted_first = count_first::aggregate(self, input, keys, aggregates, outer)?;
        let through = group_through::aggregate(self, input, keys, aggregates, outer)?;
        let mut in_sets = partner_sets::aggregate(self, input, keys, aggregates, outer)?;
        let is_forced = self.options.force_join == Some(ForceJoin::Hash);
        if let Some(taken) = in_sets.take_if(|in_sets| in_sets.is_cheaper || is_forced) {
            return Ok(taken.plan);
        }
        let in_sets = in_sets.map(|in_sets| in_sets.plan);
        let rows = self.lower(input, &outer.without(lacking(input, keys)))?;
        let joined = self.group_of(rows, keys, aggregates, outer)?;
        let others = [through, counted_first, in_sets].into_iter().flatten();
        let mut best = others.fold(joined, cheaper);
        let always = self.options.aggregate_parts_always;
        if always || best.estimated_cost >= AGGREGATE_PARTS_MIN {
            let carried = always || best.estimated_cost >= AGGREGATE_CARRIED_MIN;
            let of = (outer, carried);
            let in_parts = aggregate_parts::aggregate(self, input, keys, aggregates, of)?;
            let is_better = |plan: &Node| always || plan.estimated_cost < best.estimated_cost;
            best = in_parts.filter(is_better).unwrap_or(best);
        }
        if always || best.estimated_cost >= COUNT_UNEQUAL_MIN {
            let but_equal = count_unequal::aggregate(self, input, keys, aggregates, outer)?;
            let cost_max = best.estimated_cost * COUNT_UNEQUAL_FACTOR;
            let is_better = |plan: &Node| always || plan.estimated_cost < cost_max;
            best = but_equal.filter(is_better).unwrap_or(best);
        }
        Ok(best)
    }

    /// The groups of the rows of a finished plan.
    pub(crate) fn group_of(
        &mut self,
        mut input: Node,
        keys: &[Slot],
        aggregates: &[Aggregate],
        outer: &Outer,
    ) -> Result<Node, PlanError> {
        let mut aggregates = aggregates.to_vec();
        for aggregate in &aggregates {
            if let Some(argument) = &aggregate.argument {
                input = self.with_outer(input, slots_of(argument), outer);
            }
        }
        if keys.iter().any(|key| !input.schema.contains(key)) {
            let mut slots = input.schema.clone();
            slots.extend(keys.iter().filter(|key| !input.schema.contains(key)));
            input = self.project(input, slots);
        }
        for aggregate in &mut aggregates {
            if let Some(argument) = &mut aggregate.argument {
                resolve_missing(argument, &SlotSet::of(&input.schema), self.statistics);
                input = self.mark_exists(input, argument, None)?;
            }
        }
        let row = Outer::of(&input);
        let mut certain = row.certain.intersect(SlotSet::of(keys));
        let mut schema = keys.to_vec();
        for aggregate in &mut aggregates {
            if let Some(argument) = &mut aggregate.argument {
                self.lower_exists(argument, &row, input.estimated_rows)?;
            }
            if is_bound_in_groups(aggregate, keys, &row.certain) {
                certain.insert(aggregate.slot);
            }
            schema.push(aggregate.slot);
        }
        let rows = input.estimated_rows;
        let groups = groups::groups(self, &input, keys);
        let cost = input.estimated_cost
            + rows * (GROUP_ROW + EXPRESSION * aggregates.len() as f64)
            + groups * EMIT_ROW;
        let op = Op::Group {
            input: Arc::new(input),
            keys: keys.to_vec(),
            aggregates,
        };
        Ok(node(op, schema, certain, groups, cost))
    }
}

/// The keys that some of the rows may lack: these are a group of their own, whatever is around.
fn lacking(rows: &Logical, keys: &[Slot]) -> SlotSet {
    SlotSet::of(keys).minus(rows.certain())
}

/// The cheaper of two plans, the first of equal ones.
fn cheaper(first: Node, second: Node) -> Node {
    match second.estimated_cost < first.estimated_cost {
        true => second,
        false => first,
    }
}
