//! Conditions with EXISTS: as semi and anti joins, as marks, or asked for each row, whatever is cheaper.
//!
//! Semi and anti joins are planned as other [partners](super::partner_join) are, marks in [`mark_exists`](super::mark_exists).

use super::Outer;
use super::joinable::is_own;
use super::partner_join::way_of;
use crate::alternative::{Alternative, Way, keep_cheaper};
use crate::cost_constants::{
    EXISTS_KEY, EXISTS_START, KEEP_COST_FACTOR, KEEP_COST_MIN, SELECTIVITY_EXISTS,
};
use crate::expression::{
    for_each_operand, for_each_operand_mut, has_exists, resolve_missing, slots_of,
};
use crate::logical::{JoinGroup, Logical};
use crate::physical::{Expr, JoinKind, Node, Op};
use crate::planner::{PlanError, Planner};
use crate::row_chain::RowChain;
use crate::slot_set::SlotSet;
use std::sync::Arc;

impl Planner<'_> {
    /// Restricts a node by a condition that contains EXISTS.
    pub(super) fn apply_exists(&mut self, input: Node, expr: Expr) -> Result<Node, PlanError> {
        if self.rule("exists_to_join")
            && let Some((rows, condition)) = self.bound_before(&input, &expr)?
        {
            let filtered = self.apply_exists(rows, condition)?;
            return Ok(self.project(filtered, input.schema));
        }
        let inside = self.slots_inside(&expr);
        let together = self.apply_exists_together(input.clone(), expr.clone())?;
        self.in_parts(&input, inside, together, &mut |planner, part| {
            let mut expr = expr.clone();
            resolve_missing(&mut expr, &SlotSet::of(&part.schema), planner.statistics);
            planner.apply_exists(part, expr)
        })
    }

    /// The slots that the inner patterns of EXISTS would take from a row.
    fn slots_inside(&self, expr: &Expr) -> SlotSet {
        if let Expr::Exists(inside) = expr {
            return self.exists[inside.id].mentioned();
        }
        let mut set = SlotSet::default();
        for_each_operand(expr, &mut |operand| {
            set = set.union(self.slots_inside(operand));
        });
        set
    }

    /// The same of all rows at once.
    fn apply_exists_together(&mut self, input: Node, expr: Expr) -> Result<Node, PlanError> {
        if let Expr::Or(parts) = &expr {
            return self.apply_any_exists(input, parts);
        }
        let Some((inside, kind)) = sole_exists(&expr) else {
            return self.marked_or_correlated(&input, expr);
        };
        let mut group = as_group(self.exists[inside.id].clone());
        if !self.rule("exists_to_join") {
            return self.filter_correlated(&input, expr);
        }
        let whole = group.clone();
        let (own, across): (Vec<Expr>, Vec<Expr>) = std::mem::take(&mut group.filters)
            .into_iter()
            .partition(|filter| is_own(filter, &group, &input));
        group.filters = own;
        let joined = match self.exists_service(&input, &group, &across, kind)? {
            Some(joined) => Some(joined),
            None => self.join_plain(&input, &group, &across, kind)?,
        };
        let together = match joined {
            Some(joined) => self.joined_or_correlated(joined, &input, expr)?,
            None => self.filter_correlated(&input, expr)?,
        };
        self.by_parts_inside(
            &input,
            &whole,
            kind,
            together,
            &mut |planner, rows, group, kind| {
                let exists = planner.placeholder(Logical::Group(group));
                planner.apply_exists(rows, exists_or_not(exists, kind))
            },
        )
    }

    /// What plans without tables that all rows around share. Where all of an EXISTS can be joined with the rows, a join does better than these would.
    pub(super) fn without_keeping<T>(&mut self, plan: impl FnOnce(&mut Self) -> T) -> T {
        let keeps_builds = std::mem::replace(&mut self.keeps_builds, false);
        let planned = plan(self);
        self.keeps_builds = keeps_builds;
        planned
    }

    /// A join in place of an EXISTS in a condition on rows, or the EXISTS asked for each row if that costs less and no way is forced.
    pub(super) fn joined_or_correlated(
        &mut self,
        mut joined: Node,
        rows: &Node,
        condition: Expr,
    ) -> Result<Node, PlanError> {
        let mut correlated =
            self.without_keeping(|this| this.filter_correlated(rows, condition))?;
        let (cost, per_row_cost) = (joined.estimated_cost, correlated.estimated_cost);
        // Within another EXISTS both start for many rows around at once.
        let starts = |plan: &Node| shared_starts(plan, self.evaluations);
        let shared = starts(&joined) - starts(rows);
        if self.options.force_join.is_some() || cost - shared <= per_row_cost {
            keep_cheaper(&mut joined.alternative, Way::PerRow, per_row_cost);
            return Ok(joined);
        }
        let way = way_of(&joined);
        correlated.alternative = Some(Alternative { way, cost });
        Ok(correlated)
    }

    /// A filter that asks whether rows have partners that are joined before, or the one that asks for each row if that costs less.
    pub(super) fn marked_or_correlated(
        &mut self,
        input: &Node,
        condition: Expr,
    ) -> Result<Node, PlanError> {
        let mut with_marks = condition.clone();
        let marked = self.mark_exists(input.clone(), &mut with_marks, None)?;
        if marked.schema == input.schema {
            return self.filter_correlated(input, condition);
        }
        let marked = self.filter_correlated(&marked, with_marks)?;
        let slots = input.schema.clone();
        let marked = self.project(marked, slots);
        self.joined_or_correlated(marked, input, condition)
    }

    /// A filter that runs the inner plan for each row.
    fn filter_correlated(&mut self, input: &Node, expr: Expr) -> Result<Node, PlanError> {
        let mut condition = expr;
        let row = Outer::of(input);
        let each = self.lower_exists(&mut condition, &row, input.estimated_rows)?;
        // Less than a row is an estimate that may be wrong, and each evaluation may cost much.
        let cost = input.estimated_cost + input.estimated_rows.max(1.0) * each;
        let rows = input.estimated_rows * SELECTIVITY_EXISTS;
        Ok(self.pass(input.clone(), rows, cost, |input| Op::Filter {
            input,
            condition,
        }))
    }

    /// Plans the EXISTS of an expression for so many rows with these slots; returns the cost of one row.
    pub(super) fn lower_exists(
        &mut self,
        expr: &mut Expr,
        row: &Outer,
        rows: f64,
    ) -> Result<f64, PlanError> {
        let Expr::Exists(inside) = expr else {
            let mut cost = Ok(0.0);
            for_each_operand_mut(expr, &mut |operand| {
                if let Ok(sum) = &mut cost {
                    match self.lower_exists(operand, row, rows) {
                        Ok(more) => *sum += more,
                        Err(error) => cost = Err(error),
                    }
                }
            });
            return cost;
        };
        let plan = self.exists[inside.id].clone();
        let (plan, cost) = self.lower_inside(&plan, row, rows)?;
        *inside = Arc::new(plan);
        Ok(cost)
    }

    /// The inside of an EXISTS for so many rows, and the cost of one. Where that comes to much, joins with what is [kept](crate::join_order) for all rows are
    /// planned, too: these make all partners of a row, where others end with the first.
    fn lower_inside(
        &mut self,
        inside: &Logical,
        row: &Outer,
        rows: f64,
    ) -> Result<(Node, f64), PlanError> {
        let all_rows = rows.max(1.0) * self.evaluations;
        let alone = self.without_keeping(|this| this.lower_for_row(inside, row, rows))?;
        let cost = exists_cost(&alone, all_rows);
        if !self.keeps_builds || self.alternatives == 0 || cost * all_rows < KEEP_COST_MIN {
            return Ok((alone, cost));
        }
        self.alternatives -= 1;
        let kept = self.lower_for_row(inside, row, rows)?;
        let kept_cost = exists_cost(&kept, all_rows);
        Ok(match kept_cost < cost * KEEP_COST_FACTOR {
            true => (kept, kept_cost),
            false => (alone, cost),
        })
    }
}

/// What is not paid in each of so many evaluations of a plan for starting its joins: many rows around start them together.
fn shared_starts(plan: &Node, evaluations: f64) -> f64 {
    RowChain::of_many(plan).map_or(0.0, |chain| {
        chain.starts * (1.0 - 1.0 / chain.sharing(evaluations))
    })
}

/// The inside of a condition that is one EXISTS, and the join that it is the condition of.
pub(super) fn sole_exists(condition: &Expr) -> Option<(&Arc<Node>, JoinKind)> {
    match condition {
        Expr::Exists(inside) => Some((inside, JoinKind::Semi)),
        Expr::Not(inner) => match &**inner {
            Expr::Exists(inside) => Some((inside, JoinKind::Anti)),
            _ => None,
        },
        _ => None,
    }
}

/// The condition of a semi join, or of an anti join.
pub(super) fn exists_or_not(exists: Expr, kind: JoinKind) -> Expr {
    match kind {
        JoinKind::Anti => Expr::Not(Box::new(exists)),
        _ => exists,
    }
}

/// A plan as a group, with its conditions if it is not a group itself, and those on slots from around it that stand below what it computes.
pub(super) fn as_group(plan: Logical) -> JoinGroup {
    match plan {
        Logical::Group(mut group) => {
            let schema = group.schema();
            for child in &mut group.children {
                lift_foreign(child, &schema, &mut group.filters);
            }
            group
        }
        Logical::Filter { input, conditions } => {
            let mut group = as_group(*input);
            group.filters.extend(conditions);
            group
        }
        mut plan => {
            let (schema, mut filters) = (plan.schema(), Vec::new());
            lift_foreign(&mut plan, &schema, &mut filters);
            JoinGroup {
                children: vec![plan],
                filters,
                ..JoinGroup::default()
            }
        }
    }
}

/// Takes the conditions out of a part of a group that use slots which nothing in the group has. Above computed values they say the same; what other parts have is
/// out of their sight.
fn lift_foreign(part: &mut Logical, of_group: &SlotSet, lifted: &mut Vec<Expr>) {
    let own = part.schema();
    let is_foreign = |condition: &mut Expr| {
        let foreign = slots_of(condition).minus(own);
        !has_exists(condition) && !foreign.is_empty() && foreign.is_disjoint(of_group)
    };
    match part {
        Logical::Extend { input, .. } => lift_foreign(input, of_group, lifted),
        Logical::Filter { input, conditions } => {
            lifted.extend(conditions.extract_if(.., is_foreign));
            lift_foreign(input, of_group, lifted);
        }
        Logical::Group(group) => lifted.extend(group.filters.extract_if(.., is_foreign)),
        _ => {}
    }
}

/// The cost of an EXISTS for one of so many rows: many share the start of a plan that takes them at once, and look at some of their partners.
fn exists_cost(plan: &Node, rows: f64) -> f64 {
    let (mut starts, mut sharing, mut cost) = (0.0, 1.0, plan.estimated_cost);
    if let Some(chain) = RowChain::of_many(plan) {
        starts = chain.starts.min(plan.estimated_cost);
        cost = chain.looked_at.cost + EXISTS_KEY;
        sharing = chain.sharing(rows);
    }
    (EXISTS_START + starts) / sharing + cost
}
