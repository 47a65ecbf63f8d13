//! What BIND computes of one side of a join is computed of the rows of that side, where the join makes many more of them.
//!
//! ```text
//! Extend ?day := SUBSTR(STR(?t), 1, 10)                      HashJoin on ?u
//!   HashJoin on ?u                                     =>      Extend ?day := SUBSTR(STR(?t), 1, 10)
//!     StarScan ?b { :holder ?u; :at ?t }                         StarScan ?b { :holder ?u; :at ?t }
//!     StarScan ?p { :owner ?u }                                StarScan ?p { :owner ?u }
//! ```
//!
//! BIND stands behind what it reads in the text, and so above the joins of its group. The reverse of
//! [`defer_conditions`](super::defer_conditions), which is for what few rows are left to be asked.
//!
//! Sound on both sides of an inner join, and on the side whose rows others keep: the expression gives the same for the same row, reads slots that
//! no other side may bind, and no operator between reads the new slot. Only where the expected cost of computing is less than half, and not below a
//! LIMIT that reads no more than it gives. Cost: a walk over the plan.

use crate::cost_constants::GATHER_CELL;
use crate::estimate::condition::cost;
use crate::expression::{is_pure, slots_of};
use crate::physical::{Expr, JoinKind, Node, Op, Slot};
use crate::planner::{Planner, node, take_node};
use crate::slot_set::SlotSet;
use std::sync::Arc;

/// How many times as much computing costs above the join, at least.
const GAIN_MIN: f64 = 2.0;

/// Moves such computed columns down in the whole plan.
pub(crate) fn apply(root: &mut Node, planner: &Planner<'_>) {
    if planner.rule("compute_early") {
        visit(root, false);
    }
}

/// Visits a plan of which all rows are wanted, or the first ones if `is_limited`: then what few rows need is computed of these.
fn visit(root: &mut Node, is_limited: bool) {
    if let Op::Extend { input, slot, expr } = &mut root.op
        && !is_limited
        && is_pure(expr)
        && !slots_of(expr).is_empty()
    {
        let column = Column {
            slot: *slot,
            expr: expr.clone(),
            slots: slots_of(expr),
            is_certain: root.certain.contains(slot),
            rows: input.estimated_rows,
        };
        let below = Arc::make_mut(input);
        if column.sink(below).is_some() {
            *root = take_node(below);
            return visit(root, is_limited);
        }
    }
    let is_limited = match &root.op {
        Op::Slice { limit, .. } => is_limited || limit.is_some(),
        Op::Group { .. } | Op::GroupThrough(_) | Op::RollUp(_) | Op::OrderBy { .. } => false,
        Op::Spool { .. } => false,
        _ => is_limited,
    };
    for child in root.op.children_mut() {
        visit(child, is_limited);
    }
}

/// A computed column on its way down.
struct Column {
    slot: Slot,
    expr: Expr,
    /// What it reads.
    slots: SlotSet,
    is_certain: bool,
    /// Rows of which it is computed now.
    rows: f64,
}

impl Column {
    /// Computes the column below a node, if that pays; the node has it then, and costs so much more.
    fn sink(&self, node: &mut Node) -> Option<f64> {
        let more = match &mut node.op {
            Op::Filter { input, .. } => self.sink(Arc::make_mut(input)),
            Op::Extend { input, slot, .. } if !self.slots.contains(*slot) => {
                self.sink(Arc::make_mut(input))
            }
            _ => {
                let side = self.side(node)?;
                self.sink(side).or_else(|| Some(self.compute(side)))
            }
        }?;
        self.add_to(node, more);
        Some(more)
    }

    /// The side of a join that has all that is read, if it has so many rows less that computing there pays.
    fn side<'n>(&self, join: &'n mut Node) -> Option<&'n mut Node> {
        let sides = match &mut join.op {
            Op::HashJoin {
                left,
                right,
                compatible,
                kind,
                ..
            } => {
                // What one side lacks the other may bind.
                if !self.slots.is_disjoint(&SlotSet::of(compatible)) {
                    return None;
                }
                let is_inner = *kind == JoinKind::Inner;
                [Some(left), is_inner.then_some(right)]
            }
            Op::StarJoin { input, .. }
            | Op::PatternJoin { input, .. }
            | Op::PathJoin { input, .. } => {
                // Of these only what every row has is as it was.
                if !self.slots.is_subset(&SlotSet::of(&input.certain)) {
                    return None;
                }
                [Some(input), None]
            }
            _ => return None,
        };
        let each = cost(&self.expr);
        let pays = |side: &Node| {
            let early = side.estimated_rows * each + self.rows * GATHER_CELL;
            self.rows * each > GAIN_MIN * early
        };
        let mut sides = sides.into_iter().flatten();
        let side =
            sides.find(|side| self.slots.is_subset(&SlotSet::of(&side.schema)) && pays(side))?;
        Some(Arc::make_mut(side))
    }

    /// Computes the column of the rows of a node, where no other is the same; returns what that costs.
    fn compute(&self, below: &mut Node) -> f64 {
        let (schema, certain) = (below.schema.clone(), SlotSet::of(&below.certain));
        let (rows, whole) = (below.estimated_rows, below.estimated_cost);
        let expr = self.known(below).map_or(self.expr.clone(), Expr::Slot);
        let own = rows * cost(&expr);
        let op = Op::Extend {
            input: Arc::new(take_node(below)),
            slot: self.slot,
            expr,
        };
        *below = node(op, schema, certain, rows, whole);
        self.add_to(below, own);
        own
    }

    /// The slot that was computed of the same.
    fn known(&self, node: &Node) -> Option<Slot> {
        match &node.op {
            Op::Extend { slot, expr, .. } if *expr == self.expr => Some(*slot),
            Op::Extend { input, .. } => self.known(input),
            _ => None,
        }
    }

    fn add_to(&self, node: &mut Node, more: f64) {
        node.estimated_cost += more;
        node.schema.push(self.slot);
        if self.is_certain {
            node.certain.push(self.slot);
        }
    }
}
