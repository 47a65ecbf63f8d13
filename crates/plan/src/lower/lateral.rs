//! Plans that depend on a row: lateral joins; and what subselects inside `GRAPH ?g` need, the names of the
//! graphs and slices of each graph.

use super::Outer;
use crate::cost_constants::{EMIT_ROW, EXISTS_START, HASH_PROBE};
use crate::join_order::joined;
use crate::logical::Logical;
use crate::physical::{JoinKind, Node, Op, Slot};
use crate::planner::{PlanError, Planner, node};
use crate::slot_set::SlotSet;
use basalt_rdf::TermId;

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
        let row = Outer {
            slots: SlotSet::of(&left.schema),
            certain: SlotSet::of(&left.certain),
        };
        // The topmost group joins the row too, so that slots made inside are compared.
        let group = right.clone().into_group();
        let right = self.join_group(&group, &row, None)?;
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
        let (left, right) = (Box::new(left), Box::new(right));
        let op = Op::LateralJoin { left, right };
        Ok(node(op, schema, certain, rows, cost))
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
