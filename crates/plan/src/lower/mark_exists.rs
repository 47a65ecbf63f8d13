//! EXISTS whose answer is a value, or one part of a condition: a left join with what it asks for, each key once, whose column says whether there was
//! a partner (a mark join: Neumann and Kemper, "Unnesting arbitrary queries", BTW 2015). The other way, to ask for each row, is always possible; the cheaper one is taken.
//!
//! ```text
//! SUM(IF(EXISTS { ?r :about ?sale }, 1, 0))     Group: SUM(IF(BOUND(?mark), 1, 0))
//!                                                 HashJoin left outer on ?sale
//!                                                   rows
//!                                                   ?mark := ?sale over the distinct ?sale of  ?r :about ?sale
//! ```
//!
//! Where the keys of all take long to find, those that the rows have are asked for alone, if that costs less. Where a condition needs both sides there may be many keys in range: there the rows with a partner and those without are a semi and an anti join, under a `Union`.
//!
//! Invariant: the inside may be [joined as a whole](super::joinable), shares slots with the row that are certain on both sides, and uses
//! nothing else of it but in such conditions; so each row has one partner or none.

use super::Outer;
use super::exists::as_group;
use super::joinable::{is_joinable, is_own, shared_certain};
use crate::cost_constants::{SEED_COST_FACTOR, SEED_COST_MIN};
use crate::expression::{boolean, for_each_operand_mut, has_exists};
use crate::logical::JoinGroup;
use crate::physical::{Expr, JoinKind, Node, Op, Slot};
use crate::planner::{ForceJoin, PlanError, Planner, node};
use crate::rules::share_subplans::is_evaluated_alike;
use crate::slot_set::SlotSet;
use std::sync::Arc;

/// Alternatives that a mark of the rows' keys counts for: the rows are made twice, and again for each such mark above it.
const SEEDED_MARK: u32 = 4;

impl Planner<'_> {
    /// Joins rows with what the EXISTS of an expression ask for, as far as that costs less than to ask for each of the first
    /// `limit`, and puts whether there was a partner in their places.
    pub(super) fn mark_exists(
        &mut self,
        mut input: Node,
        expr: &mut Expr,
        limit: Option<usize>,
    ) -> Result<Node, PlanError> {
        let is_open = self.options.force_join != Some(ForceJoin::Index);
        if is_open && self.rule("mark_exists") && has_exists(expr) {
            self.mark_parts(&mut input, expr, limit)?;
        }
        Ok(input)
    }

    fn mark_parts(
        &mut self,
        input: &mut Node,
        expr: &mut Expr,
        limit: Option<usize>,
    ) -> Result<(), PlanError> {
        if let Expr::Exists(inside) = expr {
            if let Some((marked, mark)) = self.marked(input, inside, limit)? {
                *input = marked;
                *expr = Expr::Bound(mark);
            }
            return Ok(());
        }
        let mut outcome = Ok(());
        for_each_operand_mut(expr, &mut |operand| {
            if outcome.is_ok() {
                outcome = self.mark_parts(input, operand, limit);
            }
        });
        outcome
    }

    /// The rows with a slot that is bound where an EXISTS is true; `None` if that cannot be, or costs more than to ask for each.
    fn marked(
        &mut self,
        input: &Node,
        inside: &Arc<Node>,
        limit: Option<usize>,
    ) -> Result<Option<(Node, Slot)>, PlanError> {
        let mut group = as_group(self.exists[inside.id].clone());
        let Some(shared) = shared_certain(input, &group) else {
            return Ok(None);
        };
        let (own, across): (Vec<Expr>, Vec<Expr>) = std::mem::take(&mut group.filters)
            .into_iter()
            .partition(|filter| is_own(filter, &group, input));
        group.filters = own;
        if !is_joinable(&group, JoinKind::Semi, input) || across.iter().any(has_exists) {
            return Ok(None);
        }
        // Without a slot the rows are asked one by one.
        let Ok(mark) = self.fresh_slot("mark") else {
            return Ok(None);
        };
        let joined = match across.is_empty() {
            true => self.marked_by_keys(input, &group, shared, mark)?,
            false => self.marked_apart(input, &group, &across, mark)?,
        };
        let Some(mut joined) = joined else {
            return Ok(None);
        };
        joined.estimated_rows = input.estimated_rows;
        let row = Outer::of(input);
        let mut asked = Expr::Exists(Arc::clone(inside));
        let rows = input.estimated_rows;
        let each = self.without_keeping(|this| this.lower_exists(&mut asked, &row, rows))?;
        let needed = limit.map_or(f64::INFINITY, |limit| limit as f64);
        let asked_rows = needed.min(input.estimated_rows).max(1.0);
        let per_row = input.estimated_cost + asked_rows * each;
        Ok((joined.estimated_cost < per_row).then_some((joined, mark)))
    }

    /// A left join with the distinct keys of the inside: of all, or of those that the rows have if that costs less.
    fn marked_by_keys(
        &mut self,
        input: &Node,
        group: &JoinGroup,
        shared: SlotSet,
        mark: Slot,
    ) -> Result<Option<Node>, PlanError> {
        let Some(key) = shared.iter().next() else {
            return Ok(None);
        };
        let right = self.join_group(group, &Outer::default(), None)?;
        let is_dear = right.estimated_cost >= SEED_COST_MIN;
        let of_all = self.marked_with(input.clone(), right, &shared, (key, mark))?;
        let left = self.alternatives.checked_sub(SEEDED_MARK);
        let Some(left) = left.filter(|_| is_dear) else {
            return Ok(Some(of_all));
        };
        let Some((kept, seed)) = self.kept_and_seed(input, &shared) else {
            return Ok(Some(of_all));
        };
        self.alternatives = left;
        let right = self.join_group(group, &Outer::default(), Some(seed))?;
        let of_rows = self.marked_with(kept, right, &shared, (key, mark))?;
        let is_cheaper = of_rows.estimated_cost < of_all.estimated_cost * SEED_COST_FACTOR;
        Ok(Some(if is_cheaper { of_rows } else { of_all }))
    }

    /// Rows with a mark where the inside of an EXISTS has their keys.
    fn marked_with(
        &mut self,
        input: Node,
        right: Node,
        shared: &SlotSet,
        (key, mark): (Slot, Slot),
    ) -> Result<Node, PlanError> {
        let keys = self.project(right, shared.to_vec());
        let keys = self.distinct_of(keys);
        let right = self.extend(keys, mark, Expr::Slot(key))?;
        self.hash_partner(input, right, &[], JoinKind::LeftOuter)
    }

    /// The rows with a partner that fulfils conditions on both, and those without one.
    fn marked_apart(
        &mut self,
        input: &Node,
        group: &JoinGroup,
        across: &[Expr],
        mark: Slot,
    ) -> Result<Option<Node>, PlanError> {
        // The rows are made twice, and would be again for each further EXISTS.
        if !is_evaluated_alike(input) || has_slice(input) || matches!(input.op, Op::Union { .. }) {
            return Ok(None);
        }
        let with = self.join_plain(input, group, across, JoinKind::Semi)?;
        let without = self.join_plain(input, group, across, JoinKind::Anti)?;
        let (Some(with), Some(without)) = (with, without) else {
            return Ok(None);
        };
        let with = self.extend(with, mark, boolean(true, self.statistics))?;
        let (schema, certain) = (with.schema.clone(), SlotSet::of(&without.certain));
        let cost = with.estimated_cost + without.estimated_cost;
        let inputs = vec![with, without];
        let rows = input.estimated_rows;
        Ok(Some(node(
            Op::Union { inputs },
            schema,
            certain,
            rows,
            cost,
        )))
    }
}

/// Whether other rows may come each time.
fn has_slice(node: &Node) -> bool {
    let own = matches!(node.op, Op::Slice { .. } | Op::SlicePer { .. });
    own || node.op.children().into_iter().any(has_slice)
}
