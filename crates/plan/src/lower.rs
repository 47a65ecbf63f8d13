//! Logical to physical, operator by operator; groups go to `join_order`, OPTIONAL and
//! MINUS to [`partner_join`](self::partner_join), EXISTS to [`exists`](self::exists), SERVICE to [`service`](self::service).
//!
//! Inside EXISTS and LATERAL the plan is correlated: [`Outer`] says which slots the enclosing row may bind, and
//! every group (or expression) that mentions one of them joins an [`Op::Outer`] row there. So outer
//! values reach exactly the places where the variable is in scope.

mod aggregate;
mod any_exists;
mod bound_before;
mod exists;
mod extend;
mod joinable;
mod kept_rows;
mod lateral;
mod left_by_range;
mod mark_exists;
mod named_outside;
mod partner_join;
mod service;
mod unbound_inside;
mod unbound_parts;

pub(crate) use kept_rows::read_again;

use crate::cost_constants::{EXPRESSION, GROUP_ROW, SORT_COMPARE};
use crate::estimate::{condition, groups};
use crate::expression::{
    bound_by, conjunction, has_exists, is_constant, not_bound, resolve_missing, slots_of,
    slots_of_all,
};
use crate::join_order::{hash_cost, hash_join, outer_row};
use crate::logical::{JoinGroup, Logical, certain_values};
use crate::physical::{Constant, Expr, JoinKind, Node, Op, Slot, SortKey};
use crate::planner::{PlanError, Planner, node};
use crate::rules::{count_scan, distribute_union, listed_predicates, rewrite_path};
use crate::slot_set::SlotSet;
use std::sync::Arc;

/// The slots that the row around an EXISTS or LATERAL provides.
#[derive(Clone, Copy, Default)]
pub(crate) struct Outer {
    pub(crate) slots: SlotSet,
    pub(crate) certain: SlotSet,
}

impl Outer {
    /// What a row of a node provides.
    fn of(rows: &Node) -> Self {
        Self {
            slots: SlotSet::of(&rows.schema),
            certain: SlotSet::of(&rows.certain),
        }
    }

    /// The same without some slots.
    fn without(&self, slots: SlotSet) -> Self {
        Self {
            slots: self.slots.minus(slots),
            certain: self.certain.minus(slots),
        }
    }
}

impl Planner<'_> {
    /// The physical plan of a logical one.
    pub(crate) fn lower(&mut self, plan: &Logical, outer: &Outer) -> Result<Node, PlanError> {
        self.lower_first(plan, outer, None)
    }

    /// As [`Self::lower`]; only the first `limit` rows are needed.
    fn lower_first(
        &mut self,
        plan: &Logical,
        outer: &Outer,
        limit: Option<usize>,
    ) -> Result<Node, PlanError> {
        match plan {
            Logical::Empty => Ok(node(Op::Empty, Vec::new(), SlotSet::default(), 0.0, 0.0)),
            Logical::Group(group) => self.group(group, outer),
            Logical::LeftJoin {
                left,
                right,
                conditions,
            } => self.lower_partner(left, right, conditions, JoinKind::LeftOuter, outer),
            Logical::AntiJoin {
                left,
                right,
                conditions,
            } => self.lower_partner(left, right, conditions, JoinKind::Anti, outer),
            Logical::Lateral { left, right } => self.lower_lateral(left, right, outer),
            Logical::GraphNames { slot, among } => Ok(self.graph_names(*slot, among.as_ref())),
            Logical::Minus { left, right, graph } => self.lower_minus(left, right, *graph, outer),
            Logical::Filter { input, conditions } => {
                let input = self.lower(input, outer)?;
                let input = self.with_outer(input, slots_of_all(conditions), outer);
                self.apply_conditions(input, conditions.clone())
            }
            Logical::Extend { input, slot, expr } => {
                self.lower_extend((input, *slot, expr), outer, limit)
            }
            Logical::Project { input, slots } => {
                let input = self.lower_first(input, outer, limit)?;
                Ok(self.project(input, slots.clone()))
            }
            Logical::Distinct { input } => self.distinct(input, outer),
            Logical::OrderBy { input, keys } => self.order_by(input, keys, outer, limit),
            Logical::Slice {
                input,
                offset,
                limit,
                per: Some(slot),
            } => {
                let input = self.lower(input, outer)?;
                Ok(self.slice_per(input, *slot, *offset, *limit))
            }
            Logical::Slice {
                input,
                offset,
                limit,
                per: None,
            } => {
                let needed = limit.and_then(|limit| limit.checked_add(*offset));
                let needed = needed.filter(|_| self.rule("top_k"));
                let input = self.lower_first(input, outer, needed)?;
                Ok(self.slice(input, *offset, *limit))
            }
            Logical::Aggregate {
                input,
                keys,
                aggregates,
            } => self.aggregate(input, keys, aggregates, outer),
            Logical::Union(inputs) => self.union(inputs, outer),
            Logical::Values { slots, rows } => Ok(values(slots, rows)),
            Logical::Service(service) => Ok(self.service_leaf(service)),
        }
    }

    /// A join group: as one, listed predicates looked up, its alternative paths made unions, its union distributed, or rows that lack a slot joined
    /// apart, whatever is cheaper.
    fn group(&mut self, group: &JoinGroup, outer: &Outer) -> Result<Node, PlanError> {
        if let Some((rest, constant)) = self.without_constant_conditions(group, outer) {
            let rest = self.group(&rest, outer)?;
            return Ok(self.filter(rest, constant));
        }
        let joined = self.join_group(group, outer, None)?;
        let joined = self.group_with_listed(group, outer, joined)?;
        let joined = self.group_as_union(group, outer, joined)?;
        self.group_in_parts(group, outer, joined)
    }

    /// The group without the conditions that give the same for all rows, which are asked once and before any row is made, and these.
    fn without_constant_conditions(
        &self,
        group: &JoinGroup,
        outer: &Outer,
    ) -> Option<(JoinGroup, Vec<Expr>)> {
        let available = group.schema().union(outer.slots);
        let conditions = group.filters.iter().map(|condition| {
            let mut condition = condition.clone();
            resolve_missing(&mut condition, &available, self.statistics);
            condition
        });
        let (constant, others): (Vec<Expr>, Vec<Expr>) = conditions.partition(is_constant);
        let is_unit = group.schema().is_empty();
        (!constant.is_empty() && !is_unit).then(|| {
            let rest = JoinGroup {
                filters: others,
                ..group.clone()
            };
            (rest, constant)
        })
    }

    fn group_with_listed(
        &mut self,
        group: &JoinGroup,
        outer: &Outer,
        joined: Node,
    ) -> Result<Node, PlanError> {
        if self.alternatives == 0 {
            return Ok(joined);
        }
        let Some((listed, more)) = listed_predicates::as_values(self, group) else {
            return Ok(joined);
        };
        self.alternatives -= 1;
        let mut looked_up = self.join_group(&listed, outer, None)?;
        looked_up.estimated_cost += more;
        let is_cheaper = looked_up.estimated_cost < joined.estimated_cost;
        Ok(if is_cheaper { looked_up } else { joined })
    }

    fn group_as_union(
        &mut self,
        group: &JoinGroup,
        outer: &Outer,
        joined: Node,
    ) -> Result<Node, PlanError> {
        // Without a bound, nested unions would be planned exponentially often.
        if self.alternatives == 0 {
            return Ok(joined);
        }
        let union = if let Some(rewritten) = rewrite_path::as_union(self, group)? {
            self.alternatives -= 1;
            self.group(&rewritten, outer)?
        } else if let Some(branches) = distribute_union::branches(self, outer.slots, group) {
            self.alternatives -= 1;
            self.union(&branches, outer)?
        } else {
            return Ok(joined);
        };
        let union_is_cheaper = union.estimated_cost < joined.estimated_cost;
        Ok(if union_is_cheaper { union } else { joined })
    }

    fn distinct(&mut self, input: &Logical, outer: &Outer) -> Result<Node, PlanError> {
        if let Some(counted) = count_scan::distinct(self, input, outer)? {
            return Ok(counted);
        }
        let input = self.lower(input, outer)?;
        Ok(self.distinct_of(input))
    }

    /// The different rows of a finished plan.
    fn distinct_of(&self, input: Node) -> Node {
        let rows = input.estimated_rows;
        let cost = input.estimated_cost + rows * GROUP_ROW;
        let (schema, certain) = (input.schema.clone(), SlotSet::of(&input.certain));
        let distinct = groups::combinations(self, &input, &schema).unwrap_or(rows * 0.9);
        let input = Arc::new(input);
        let op = Op::Distinct { input };
        node(op, schema, certain, distinct.min(rows), cost)
    }

    /// The input joined with the enclosing row, if it lacks some of these slots that the row has, or leaves
    /// them unbound in some of its rows.
    pub(crate) fn with_outer(&self, input: Node, slots: SlotSet, outer: &Outer) -> Node {
        let missing = slots
            .intersect(outer.slots)
            .minus(SlotSet::of(&input.certain));
        if missing.is_empty() {
            return input;
        }
        hash_join(
            outer_row(missing, outer),
            input,
            JoinKind::Inner,
            None,
            true,
        )
    }

    /// Restricts a node to the rows for which all conditions are true.
    pub(crate) fn apply_conditions(
        &mut self,
        input: Node,
        conditions: Vec<Expr>,
    ) -> Result<Node, PlanError> {
        let (exists, plain) = self.with_exists(conditions, &input);
        let filtered = self.filter(input, plain);
        self.apply_all_exists(filtered, exists)
    }

    /// As [`Self::apply_conditions`], where `rows` are those that the conditions leave: more come to those with EXISTS.
    pub(crate) fn apply_conditions_at(
        &mut self,
        mut input: Node,
        conditions: Vec<Expr>,
        rows: f64,
    ) -> Result<Node, PlanError> {
        if conditions.is_empty() {
            return Ok(input);
        }
        let (exists, plain) = self.with_exists(conditions, &input);
        let kept = exists
            .iter()
            .map(|expr| condition::selectivity(expr, &|_| None));
        let kept: f64 = kept.product();
        let before = if kept > 0.0 { rows / kept } else { rows };
        let are_negated = exists
            .iter()
            .all(|expr| matches!(expr, Expr::Not(inside) if matches!(**inside, Expr::Exists(_))));
        input.estimated_rows = before;
        let mut filtered = self.filter(input, plain);
        filtered.estimated_rows = before;
        let mut result = self.apply_all_exists(filtered, exists)?;
        // Some are known to leave less than the search takes them to.
        let least = if are_negated {
            result.estimated_rows
        } else {
            rows
        };
        result.estimated_rows = rows.min(least);
        Ok(result)
    }

    /// The conditions on rows of a node, those with EXISTS first.
    fn with_exists(&self, conditions: Vec<Expr>, input: &Node) -> (Vec<Expr>, Vec<Expr>) {
        let available = SlotSet::of(&input.schema);
        let resolved = conditions.into_iter().map(|mut expr| {
            resolve_missing(&mut expr, &available, self.statistics);
            expr
        });
        resolved.partition(has_exists)
    }

    fn apply_all_exists(&mut self, input: Node, conditions: Vec<Expr>) -> Result<Node, PlanError> {
        let mut result = input;
        for expr in conditions {
            result = self.apply_exists(result, expr)?;
        }
        Ok(result)
    }

    fn filter(&mut self, input: Node, conditions: Vec<Expr>) -> Node {
        let Some(condition) = conjunction(conditions) else {
            return input;
        };
        let rows = input.estimated_rows;
        let cost = input.estimated_cost + rows * condition::cost(&condition);
        let rows = rows * condition::selectivity(&condition, &|_| None);
        let bound = bound_by(&condition);
        let mut filtered = self.pass(input, rows, cost, |input| Op::Filter { input, condition });
        let certain = bound.union(SlotSet::of(&filtered.certain));
        let schema = filtered.schema.iter().copied();
        filtered.certain = schema.filter(|slot| certain.contains(*slot)).collect();
        filtered
    }

    /// An operator that keeps the columns and the order of its input.
    pub(crate) fn pass(
        &self,
        input: Node,
        rows: f64,
        cost: f64,
        op: impl FnOnce(Arc<Node>) -> Op,
    ) -> Node {
        let (schema, certain) = (input.schema.clone(), SlotSet::of(&input.certain));
        let sorted_by = input.sorted_by.clone();
        let mut result = node(op(Arc::new(input)), schema, certain, rows, cost);
        result.sorted_by = sorted_by;
        result
    }

    pub(crate) fn project(&self, input: Node, slots: Vec<Slot>) -> Node {
        if input.schema == slots {
            return input;
        }
        let certain = SlotSet::of(&input.certain);
        let (rows, cost) = (input.estimated_rows, input.estimated_cost);
        let sorted = input
            .sorted_by
            .iter()
            .take_while(|slot| slots.contains(slot));
        let sorted_by = sorted.copied().collect();
        let mut result = node(
            Op::Project {
                input: Arc::new(input),
            },
            slots,
            certain,
            rows,
            cost,
        );
        result.sorted_by = sorted_by;
        result
    }

    pub(crate) fn slice(&self, input: Node, offset: usize, limit: Option<usize>) -> Node {
        let rows = input
            .estimated_rows
            .min(limit.map_or(f64::INFINITY, |limit| limit as f64));
        let cost = input.estimated_cost;
        self.pass(input, rows, cost, |input| Op::Slice {
            input,
            offset,
            limit,
        })
    }

    fn order_by(
        &mut self,
        input: &Logical,
        keys: &[SortKey],
        outer: &Outer,
        limit: Option<usize>,
    ) -> Result<Node, PlanError> {
        let mut input = self.lower(input, outer)?;
        let mut keys = keys.to_vec();
        for key in &keys {
            input = self.with_outer(input, slots_of(&key.expr), outer);
        }
        let row = Outer::of(&input);
        for key in &mut keys {
            resolve_missing(&mut key.expr, &row.slots, self.statistics);
            self.lower_exists(&mut key.expr, &row, input.estimated_rows)?;
        }
        let rows = input.estimated_rows;
        let kept = limit.map_or(rows, |limit| rows.min(limit as f64));
        let each = kept.max(2.0).log2() * SORT_COMPARE + EXPRESSION * keys.len() as f64;
        let cost = input.estimated_cost + rows * each;
        let (schema, certain) = (input.schema.clone(), row.certain);
        Ok(node(
            Op::OrderBy {
                input: Arc::new(input),
                keys,
                limit,
                cut_after: None,
            },
            schema,
            certain,
            kept,
            cost,
        ))
    }

    fn union(&mut self, inputs: &[Logical], outer: &Outer) -> Result<Node, PlanError> {
        let mut nodes = Vec::new();
        for input in inputs {
            let lowered = self.lower(input, outer)?;
            if !matches!(lowered.op, Op::Empty) {
                nodes.push(lowered);
            }
        }
        Ok(self.union_of(nodes))
    }

    /// All rows of some plans.
    fn union_of(&self, nodes: Vec<Node>) -> Node {
        let mut schema: Vec<Slot> = Vec::new();
        for input in &nodes {
            schema.extend(
                input
                    .schema
                    .iter()
                    .filter(|slot| !schema.contains(slot))
                    .copied()
                    .collect::<Vec<_>>(),
            );
        }
        let certain = nodes
            .iter()
            .map(|n| SlotSet::of(&n.certain))
            .reduce(SlotSet::intersect);
        let rows = nodes.iter().map(|n| n.estimated_rows).sum();
        let cost = nodes.iter().map(|n| n.estimated_cost).sum();
        node(
            Op::Union { inputs: nodes },
            schema,
            certain.unwrap_or_default(),
            rows,
            cost,
        )
    }

    /// MINUS where no shared slot is certain, or the rule that makes it an anti join is off.
    fn lower_minus(
        &mut self,
        left: &Logical,
        right: &Logical,
        graph: Option<Slot>,
        outer: &Outer,
    ) -> Result<Node, PlanError> {
        // Where a condition alone names an outer slot, its side has a column of it that is no binding.
        let bound_by_both = left.schema().intersect(right.schema());
        let left = self.lower(left, outer)?;
        let right = self.lower(right, outer)?;
        let columns = SlotSet::of(&left.schema).intersect(SlotSet::of(&right.schema));
        let shared = columns.intersect(bound_by_both);
        let rows = left.estimated_rows;
        let hashed = hash_cost(right.estimated_rows, rows, false);
        let cost = left.estimated_cost + right.estimated_cost + hashed;
        let Some(graph) = graph.filter(|graph| shared.contains(*graph)) else {
            if shared.is_empty() {
                return Ok(left);
            }
            let (right, shared) = (Arc::new(right), shared.to_vec());
            return Ok(self.pass(left, rows, cost, |left| Op::Minus {
                left,
                right,
                shared,
            }));
        };
        // The graph must be equal but does not count as shared, so the other slots are copied and
        // compared by a condition: all compatible, and one bound on both sides.
        let mut shared = shared;
        shared.remove(graph);
        let mut right = right;
        let mut kept = vec![graph];
        let (mut all, mut some) = (Vec::new(), Vec::new());
        for slot in shared.iter() {
            let copy = self.fresh_slot("minus")?;
            right = self.extend(right, copy, Expr::Slot(slot))?;
            kept.push(copy);
            let same = Expr::SameTerm(Box::new(Expr::Slot(slot)), Box::new(Expr::Slot(copy)));
            all.push(Expr::Or(vec![not_bound(slot), not_bound(copy), same]));
            some.push(Expr::And(vec![Expr::Bound(slot), Expr::Bound(copy)]));
        }
        if some.is_empty() {
            return Ok(left);
        }
        all.push(Expr::Or(some));
        let right = self.project(right, kept);
        Ok(hash_join(
            left,
            right,
            JoinKind::Anti,
            conjunction(all),
            false,
        ))
    }
}

/// VALUES.
fn values(slots: &[Slot], rows: &[Vec<Option<Constant>>]) -> Node {
    let certain = certain_values(slots, rows);
    let count = rows.len() as f64;
    let op = Op::Values {
        rows: rows.to_vec(),
    };
    node(op, slots.to_vec(), certain, count, count)
}
