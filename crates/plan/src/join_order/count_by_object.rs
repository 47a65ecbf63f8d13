//! Counts of quads by their object, looked up for each row instead of made for all objects.
//!
//! A [`CountScan`](Op::CountScan) by object reads every key of the inverses. Where the rest of a group leaves few of them, each row's own
//! count costs less: a `CountJoin` instead of a join with all counts. The search compares both.

use crate::cost_constants::{
    BATCH_ROWS, COUNT_PROBE, INVERSE_TABLE, QUAD_PROBE, SEARCH_CELL_TOGETHER,
};
use crate::physical::{Expr, Node, Op, Pattern, Position, QuadCount, Slot};
use crate::planner::Planner;
use crate::slot_set::SlotSet;
use basalt_rdf::TermId;
use std::sync::Arc;

/// A plan that counts the quads of each object, and nothing else but to give the number another name.
pub(super) struct CountByObject<'p> {
    pattern: &'p Pattern,
    predicate: TermId,
    key: Slot,
    count: Slot,
}

impl<'p> CountByObject<'p> {
    /// The count that a plan makes, if it is such a plan.
    pub(super) fn of(plan: &'p Node) -> Option<Self> {
        let (mut scan, mut names): (&Node, Option<[Slot; 2]>) = (plan, None);
        let (pattern, key, counts) = loop {
            match &scan.op {
                Op::Project { input } => scan = input,
                Op::Extend {
                    input,
                    slot,
                    expr: Expr::Slot(of),
                } if names.is_none_or(|[_, before]| before == *slot) => {
                    names = Some([names.map_or(*slot, |[name, _]| name), *of]);
                    scan = input;
                }
                Op::CountScan {
                    pattern,
                    key: Some(key),
                    counts,
                } => break (pattern, *key, counts),
                _ => return None,
            }
        };
        let [QuadCount { slot, distinct }] = counts[..] else {
            return None;
        };
        let (count, of) = names.map_or((slot, slot), |[name, of]| (name, of));
        let Position::Id(predicate) = pattern.predicate else {
            return None;
        };
        let is_by_object = pattern.object == Position::Slot(key) && distinct.is_none();
        let gives = SlotSet::of(&plan.schema) == SlotSet::of(&[key, count]);
        (is_by_object && gives && of == slot).then_some(Self {
            pattern,
            predicate,
            key,
            count,
        })
    }

    /// The cost of counting for so many rows that share these slots with the plan, if that can be done. Columns without an inverse are gone through for each
    /// batch.
    pub(super) fn probes_cost(
        &self,
        planner: &Planner<'_>,
        shared: &SlotSet,
        rows: f64,
    ) -> Option<f64> {
        let columns = planner.columns(self.predicate);
        let irregular = planner.statistics.looked_up_quads(self.predicate) > 0;
        let quads = if irregular { QUAD_PROBE } else { 0.0 };
        let each = COUNT_PROBE + (columns.len() as f64 - 1.0).max(0.0) * INVERSE_TABLE + quads;
        let searched = columns.iter().filter(|(_, column)| !column.has_inverse);
        let searched: f64 = searched.map(|(_, column)| column.values as f64).sum();
        let batches = (rows / BATCH_ROWS).ceil().max(1.0);
        let cost = rows * each + batches * searched * SEARCH_CELL_TOGETHER;
        (shared.to_vec() == [self.key]).then_some(cost)
    }

    /// The join of an input with the counts.
    pub(super) fn join(&self, input: Node) -> Op {
        Op::CountJoin {
            input: Arc::new(input),
            pattern: self.pattern.clone(),
            key: self.key,
            count: self.count,
        }
    }
}
