//! BIND, and expressions of SELECT and GROUP BY.

use super::Outer;
use crate::estimate::condition;
use crate::expression::{resolve_missing, slots_of};
use crate::logical::{Logical, is_certain};
use crate::physical::{Expr, Node, Op, Slot};
use crate::planner::{PlanError, Planner, node};
use crate::slot_set::SlotSet;
use crate::value_kinds::ValueKinds;
use std::sync::Arc;

impl Planner<'_> {
    /// BIND; the slot is bound for certain where the expression [never fails](ValueKinds::never_fails).
    pub(super) fn lower_extend(
        &mut self,
        (input, slot, expr): (&Logical, Slot, &Expr),
        outer: &Outer,
        limit: Option<usize>,
    ) -> Result<Node, PlanError> {
        let mut inner = *outer;
        inner.slots.remove(slot);
        let rows = self.lower_first(input, &inner, limit)?;
        let rows = self.with_outer(rows, slots_of(expr), &inner);
        let mut made = self.extend_first(rows, slot, expr.clone(), limit)?;
        let is_open = matches!(made.op, Op::Extend { .. }) && !made.certain.contains(&slot);
        if is_open && ValueKinds::never_fails(self, input, expr) {
            made.certain.push(slot);
        }
        Ok(made)
    }

    pub(crate) fn extend(
        &mut self,
        input: Node,
        slot: Slot,
        expr: Expr,
    ) -> Result<Node, PlanError> {
        self.extend_first(input, slot, expr, None)
    }

    /// As [`Self::extend`]; only the first `limit` rows are needed.
    fn extend_first(
        &mut self,
        input: Node,
        slot: Slot,
        expr: Expr,
        limit: Option<usize>,
    ) -> Result<Node, PlanError> {
        let mut expr = expr;
        resolve_missing(&mut expr, &SlotSet::of(&input.schema), self.statistics);
        let mut wanted = input.schema.clone();
        wanted.push(slot);
        let input = self.mark_exists(input, &mut expr, limit)?;
        let row = Outer::of(&input);
        self.lower_exists(&mut expr, &row, input.estimated_rows)?;
        let mut certain = row.certain;
        if is_certain(&expr, &certain) {
            certain.insert(slot);
        }
        let mut schema = input.schema.clone();
        schema.push(slot);
        let rows = input.estimated_rows;
        let cost = input.estimated_cost + rows * condition::cost(&expr);
        let op = Op::Extend {
            input: Arc::new(input),
            slot,
            expr,
        };
        Ok(self.project(node(op, schema, certain, rows, cost), wanted))
    }
}
