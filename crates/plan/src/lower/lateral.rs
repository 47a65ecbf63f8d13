//! Plans that depend on a row: lateral joins; and what subselects inside `GRAPH ?g` need, the names of the
//! graphs and slices of each graph.

use super::Outer;
use crate::cost_constants::{EMIT_ROW, EXISTS_START, HASH_PROBE};
use crate::join_order::{hash_join, joined, outer_row};
use crate::logical::Logical;
use crate::physical::{JoinKind, Node, Op, Slot};
use crate::planner::{PlanError, Planner, node};
use crate::slot_set::SlotSet;
use basalt_rdf::TermId;
use std::sync::Arc;

impl Planner<'_> {
    /// LATERAL: the right side is planned for one row of the left side.
    pub(super) fn lower_lateral(
        &mut self,
        left: &Logical,
        right: &Logical,
        outer: &Outer,
    ) -> Result<Node, PlanError> {
        let left = self.lower(left, outer)?;
        // Its `Outer` leaves take left rows, so what they need of an enclosing row must be in there.
        let left = self.with_outer(left, right.mentioned(), outer);
        let row = Outer::of(&left);
        let right = self.lower_for_row(right, &row, left.estimated_rows)?;
        if [&left, &right]
            .iter()
            .any(|side| matches!(side.op, Op::Empty))
        {
            return Ok(node(Op::Empty, Vec::new(), SlotSet::default(), 0.0, 0.0));
        }
        let certain = SlotSet::of(&right.certain);
        let (schema, certain) = joined(&left, &right.schema, certain, JoinKind::Inner);
        let rows = left.estimated_rows * right.estimated_rows;
        let each = EXISTS_START + right.estimated_cost;
        let cost = left.estimated_cost + left.estimated_rows * each + rows * EMIT_ROW;
        let (left, right) = (Arc::new(left), Arc::new(right));
        let op = Op::LateralJoin { left, right };
        Ok(node(op, schema, certain, rows, cost))
    }

    /// A plan that runs for each of so many rows around it, and whose rows agree with that row.
    pub(super) fn lower_for_row(
        &mut self,
        plan: &Logical,
        row: &Outer,
        rows: f64,
    ) -> Result<Node, PlanError> {
        let around = self.evaluations;
        self.evaluations *= rows.max(1.0);
        let lowered = self.lower_for_one(plan, row);
        self.evaluations = around;
        lowered
    }

    fn lower_for_one(&mut self, plan: &Logical, row: &Outer) -> Result<Node, PlanError> {
        if let Logical::Group(group) = plan {
            return self.join_group(group, row, None);
        }
        let inside = self.lower(plan, row)?;
        let shared = row.slots.intersect(SlotSet::of(&inside.schema));
        // A group joins the row itself. Slots that are made above one (by BIND, say) are compared here.
        if shared.is_subset(&settled(&inside)) || matches!(inside.op, Op::Empty) {
            return Ok(inside);
        }
        let rows = inside.estimated_rows;
        let outer = outer_row(shared, row);
        let mut joined = hash_join(outer, inside, JoinKind::Inner, None, true);
        joined.estimated_rows = rows;
        Ok(joined)
    }

    /// The names of the graphs.
    pub(super) fn graph_names(&self, slot: Slot, among: Option<&Vec<TermId>>) -> Node {
        let graphs = self.statistics.named_graph_count() as f64;
        let rows = among.map_or(graphs, |among| graphs.min(among.len() as f64));
        let among = among.cloned();
        let certain = SlotSet::of(&[slot]);
        node(
            Op::GraphNames { among },
            vec![slot],
            certain,
            rows,
            rows * EMIT_ROW,
        )
    }

    /// OFFSET and LIMIT for each value of a slot.
    pub(super) fn slice_per(
        &self,
        input: Node,
        slot: Slot,
        offset: usize,
        limit: Option<usize>,
    ) -> Node {
        // What was pruned has lost its slots too, so there is nothing to slice by.
        if is_without_rows(&input) {
            return node(Op::Empty, Vec::new(), SlotSet::default(), 0.0, 0.0);
        }
        let graphs = (self.statistics.named_graph_count() as f64).max(1.0);
        let kept = limit.map_or(f64::INFINITY, |limit| limit as f64 * graphs);
        let rows = input.estimated_rows.min(kept);
        let cost = input.estimated_cost + input.estimated_rows * HASH_PROBE;
        self.pass(input, rows, cost, |input| Op::SlicePer {
            input,
            slot,
            offset,
            limit,
        })
    }
}

/// Whether a node only passes on the rows of a plan that was pruned to nothing.
fn is_without_rows(node: &Node) -> bool {
    match &node.op {
        Op::Empty => true,
        Op::Filter { input, .. }
        | Op::Extend { input, .. }
        | Op::Project { input }
        | Op::Distinct { input }
        | Op::OrderBy { input, .. }
        | Op::Slice { input, .. }
        | Op::SlicePer { input, .. } => is_without_rows(input),
        _ => false,
    }
}

/// The slots of a correlated plan that have the outer row's value in every row, for certain.
fn settled(node: &Node) -> SlotSet {
    let below = match &node.op {
        Op::Outer => SlotSet::of(&node.certain),
        Op::HashJoin {
            left,
            right,
            kind: JoinKind::Inner,
            ..
        }
        | Op::MergeJoin { left, right, .. } => settled(left).union(settled(right)),
        // The right side of a lateral join takes rows of the left one.
        Op::HashJoin { left, .. } | Op::Minus { left, .. } | Op::LateralJoin { left, .. } => {
            settled(left)
        }
        Op::StarJoin { input, .. }
        | Op::PatternJoin { input, .. }
        | Op::CountJoin { input, .. }
        | Op::PathJoin { input, .. }
        | Op::Filter { input, .. }
        | Op::Extend { input, .. }
        | Op::Project { input }
        | Op::Distinct { input }
        | Op::OrderBy { input, .. }
        | Op::Slice { input, .. }
        | Op::SlicePer { input, .. } => settled(input),
        Op::Group { input, keys, .. } => settled(input).intersect(SlotSet::of(keys)),
        Op::Union { inputs } => {
            let all = inputs.iter().map(settled);
            all.reduce(SlotSet::intersect).unwrap_or_default()
        }
        _ => SlotSet::default(),
    };
    below.intersect(SlotSet::of(&node.schema))
}
