//! Rows that may lack a slot which a join wants: those that have it and those that lack it are joined apart.
//!
//! After `OPTIONAL { ?s :knows ?f }` the next `OPTIONAL { ?f :name ?n }` means two things: a look-up where `?f` is bound, and every
//! name there is where it is not. One join for both compares each row with all names. So
//!
//! ```text
//! L ⟕ R  =  (L if BOUND(?f)) ⟕ R   ∪   (L if !BOUND(?f), without ?f) ⟕ R
//! ```
//!
//! and the same for joins and EXISTS. In the first part `?f` is certain, so that every way to join is open to it; the second reads R whole,
//! but not before it has a row. The rows before are made twice. Where some row lacks the slot the result has R once for it, as one join for
//! both has it; so the ways are compared as if none did.

use super::Outer;
use super::joinable::is_repeatable;
use crate::alternative::{Way, keep_cheaper};
use crate::cost_constants::{PAIR, START};
use crate::expression::{not_bound, unbound_by};
use crate::logical::{JoinGroup, Logical};
use crate::physical::{Expr, Node, Op, Slot};
use crate::planner::{PlanError, Planner};
use crate::repeatable;
use crate::slot_set::SlotSet;

/// Branches of a union that are joined one by one.
const BRANCHES_MAX: usize = 8;

impl Planner<'_> {
    /// The way that joins parts of the rows, if it is cheaper than that which joins them together. `slots` may be unbound in some rows,
    /// and `join` joins a part.
    pub(super) fn in_parts(
        &mut self,
        rows: &Node,
        slots: SlotSet,
        together: Node,
        join: &mut dyn FnMut(&mut Self, Node) -> Result<Node, PlanError>,
    ) -> Result<Node, PlanError> {
        let maybe = slots
            .intersect(SlotSet::of(&rows.schema))
            .minus(SlotSet::of(&rows.certain));
        let Some(slot) = maybe.iter().next().filter(|_| self.tries_parts()) else {
            return Ok(together);
        };
        match &rows.op {
            Op::Union { inputs } if inputs.len() <= BRANCHES_MAX => {
                self.alternatives -= 1;
                let mut parts = Vec::new();
                for input in inputs {
                    let joined = join(self, input.clone())?;
                    parts.push(match lacks_slot(input) {
                        true => hardly_any(joined, input.estimated_rows, input.estimated_cost),
                        false => joined,
                    });
                }
                let cost = parts.iter().map(|part| part.estimated_cost).sum();
                Ok(self.cheaper_parts(parts, cost, together))
            }
            _ if is_repeatable(rows) && !lacks_slot(rows) => {
                self.alternatives -= 1;
                let (bound, unbound) = self.by_boundness(rows, slot);
                let bound = join(self, bound)?;
                let cost = bound.estimated_cost + rows.estimated_cost + START;
                if cost >= cost_of_bound(&together) {
                    return Ok(together);
                }
                let unbound = join(self, unbound)?;
                let unbound = hardly_any(unbound, bound.estimated_rows, rows.estimated_cost);
                Ok(self.cheaper_parts(vec![bound, unbound], cost, together))
            }
            _ => Ok(together),
        }
    }

    /// Whether to plan parts. Without a bound, joins within each other would be planned exponentially often.
    pub(super) fn tries_parts(&self) -> bool {
        self.rule("split_unbound") && self.options.force_join.is_none() && self.alternatives > 0
    }

    /// All rows of some parts, which take so long, or the plan that makes them together, if that is cheaper.
    fn cheaper_parts(&self, parts: Vec<Node>, cost: f64, together: Node) -> Node {
        if cost >= cost_of_bound(&together) {
            return together;
        }
        let mut union = self.union_of(parts);
        union.estimated_cost = cost;
        keep_cheaper(&mut union.alternative, Way::Hash, together.estimated_cost);
        union
    }

    /// The rows that have a slot, and those that lack it, which have no column for it.
    fn by_boundness(&mut self, rows: &Node, slot: Slot) -> (Node, Node) {
        let bound = self.filter(rows.clone(), vec![Expr::Bound(slot)]);
        let mut unbound = self.filter(rows.clone(), vec![not_bound(slot)]);
        unbound.estimated_rows = rows.estimated_rows - bound.estimated_rows;
        let others = rows.schema.iter().copied().filter(|other| *other != slot);
        let others = others.collect();
        (bound, self.project(unbound, others))
    }

    /// A group with a child that may lack a slot of other parts, as two: for its rows that have the slot, and for those that lack it.
    pub(super) fn group_in_parts(
        &mut self,
        group: &JoinGroup,
        outer: &Outer,
        together: Node,
    ) -> Result<Node, PlanError> {
        if !self.tries_parts() {
            return Ok(together);
        }
        let parts = parts_of_group(self, group, SlotSet::default());
        let Some(Parts { bound, unbound, .. }) = parts else {
            return Ok(together);
        };
        self.alternatives -= 1;
        let bound = self.group(&bound, outer)?;
        // The child is part of the first way, so that counts it once too often.
        let cost = 2.0 * bound.estimated_cost;
        if cost >= cost_of_bound(&together) {
            return Ok(together);
        }
        let unbound = self.group(&unbound, outer)?;
        let unbound = hardly_any(unbound, bound.estimated_rows, bound.estimated_cost);
        Ok(self.cheaper_parts(vec![bound, unbound], cost, together))
    }
}

/// What a plan costs if no row lacks a slot: joins by one alone that may be unbound are charged for all pairs, but look values up by it.
fn cost_of_bound(plan: &Node) -> f64 {
    plan.estimated_cost - pairs_cost(plan)
}

fn pairs_cost(plan: &Node) -> f64 {
    let own = match &plan.op {
        Op::HashJoin {
            left,
            right,
            keys,
            compatible,
            ..
        } if keys.is_empty() && !compatible.is_empty() => {
            left.estimated_rows * right.estimated_rows * PAIR
        }
        _ => 0.0,
    };
    let inputs = plan.op.children().into_iter();
    own + inputs.map(pairs_cost).sum::<f64>()
}

/// The join of rows that lack a slot, which are taken to be none or few: as to cost what makes the rows, which is not more than this.
fn hardly_any(mut unbound: Node, rows_max: f64, rows_cost: f64) -> Node {
    unbound.estimated_rows = unbound.estimated_rows.min(rows_max);
    unbound.estimated_cost = unbound.estimated_cost.min(rows_cost);
    unbound
}

/// Whether the rows are those that lack a slot: to join them takes nothing where there are none, so they are not parted again.
fn lacks_slot(rows: &Node) -> bool {
    match &rows.op {
        Op::Filter { condition, .. } if unbound_by(condition).is_some() => true,
        Op::Union { .. } => false,
        op => op.children().first().is_some_and(|input| lacks_slot(input)),
    }
}

/// A group for the rows of a child that have a slot, and for those that lack it, in which the child has it no more.
pub(super) struct Parts {
    pub(super) slot: Slot,
    pub(super) bound: JoinGroup,
    pub(super) unbound: JoinGroup,
}

/// The group for the rows of a child that have a slot, and for those that lack it; `None` if no child may lack one that others bind.
/// The slots of `around` are bound by what is around the group.
pub(super) fn parts_of_group(
    planner: &Planner<'_>,
    group: &JoinGroup,
    around: SlotSet,
) -> Option<Parts> {
    let lacking = group.children.iter().enumerate().find_map(|(at, child)| {
        let maybe = child.schema().minus(child.certain());
        let beside = group.slots_beside(at, Logical::certain);
        let shared = maybe.intersect(beside.union(around));
        let slot = shared.iter().find(|slot| child.may_bind(*slot))?;
        repeatable::is_repeatable(planner, child, false).then_some((at, slot))
    });
    let (at, slot) = lacking?;
    let child = &group.children[at];
    let with = |child: Logical| {
        let mut group = group.clone();
        group.children[at] = child;
        group
    };
    let filtered = |condition: Expr| Logical::Filter {
        input: Box::new(child.clone()),
        conditions: vec![condition],
    };
    let mut others = child.schema();
    others.remove(slot);
    let unbound = Logical::Project {
        input: Box::new(filtered(not_bound(slot))),
        slots: others.to_vec(),
    };
    Some(Parts {
        slot,
        bound: with(filtered(Expr::Bound(slot))),
        unbound: with(unbound),
    })
}
