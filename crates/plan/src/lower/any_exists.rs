//! `EXISTS { A } || EXISTS { B }` as one semi join: with the rows of A and those of B one after the other.
//!
//! A row is kept if one of the parts has a row for it, so it is kept if the union of what the parts share with it has one. The other way,
//! to ask for each part row by row, is always possible; the cheaper one is taken.
//!
//! Invariant: every part is plain patterns and conditions and shares the same slots with the row, certain on both sides; then
//! substitution and joining are the same.

use super::Outer;
use super::partner_join::is_plain;
use crate::alternative::{Alternative, Way, keep_cheaper};
use crate::expression::slots_of;
use crate::logical::{JoinGroup, Logical};
use crate::physical::{Expr, JoinKind, Node};
use crate::planner::{ForceJoin, PlanError, Planner};
use crate::slot_set::SlotSet;

impl Planner<'_> {
    /// Rows for which one of several EXISTS holds; `correlated` asks for each row.
    pub(super) fn apply_any_exists(
        &mut self,
        input: Node,
        parts: &[Expr],
        mut correlated: Node,
    ) -> Result<Node, PlanError> {
        let is_open = self.options.force_join != Some(ForceJoin::Index);
        let groups = match self.rule("exists_to_join") && is_open {
            true => self.plain_parts(&input, parts),
            false => None,
        };
        let Some((groups, shared)) = groups else {
            return Ok(correlated);
        };
        let mut rights = Vec::new();
        for group in &groups {
            let right = self.join_group(group, &Outer::default(), None)?;
            rights.push(self.project(right, shared.to_vec()));
        }
        let rows = correlated.estimated_rows;
        let right = self.union_of(rights);
        let mut joined = self.hash_partner(input, right, &[], JoinKind::Semi)?;
        joined.estimated_rows = rows;
        let (cost, per_row_cost) = (joined.estimated_cost, correlated.estimated_cost);
        if self.options.force_join.is_some() || cost <= per_row_cost {
            keep_cheaper(&mut joined.alternative, Way::PerRow, per_row_cost);
            return Ok(joined);
        }
        let way = Way::Hash;
        correlated.alternative = Some(Alternative { way, cost });
        Ok(correlated)
    }

    /// The groups of EXISTS which are plain and share the same certain slots with a row, and these.
    fn plain_parts(&self, input: &Node, parts: &[Expr]) -> Option<(Vec<JoinGroup>, SlotSet)> {
        let visible = SlotSet::of(&input.schema);
        let mut groups = Vec::new();
        let mut shared: Option<SlotSet> = None;
        for part in parts {
            let Expr::Exists(inside) = part else {
                return None;
            };
            let Logical::Group(group) = &self.exists[inside.id] else {
                return None;
            };
            let schema = group.schema();
            let of_row = schema.intersect(visible);
            let is_own = |filter: &Expr| slots_of(filter).intersect(visible).is_subset(&schema);
            let is_certain = of_row.is_subset(&SlotSet::of(&input.certain))
                && of_row.is_subset(&group.certain());
            let fits = shared.is_none_or(|shared| shared == of_row) && !of_row.is_empty();
            if !is_plain(group) || !is_certain || !fits || !group.filters.iter().all(is_own) {
                return None;
            }
            shared = Some(of_row);
            groups.push(group.clone());
        }
        Some((groups, shared?))
    }
}
