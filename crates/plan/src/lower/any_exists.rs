//! `EXISTS { A } || EXISTS { B }` as one semi join: with the rows of A and those of B one after the other.
//!
//! A row is kept if one of the parts has a row for it, so it is kept if the union of what the parts share with it has one. The other way,
//! to ask for each part row by row, is always possible; the cheaper one is taken.
//!
//! Invariant: every part is plain patterns and conditions and shares the same slots with the row, certain on both sides; then
//! substitution and joining are the same.

use super::Outer;
use super::joinable::{is_own, shared_by_plain};
use crate::cost_constants::SELECTIVITY_EXISTS;
use crate::logical::{JoinGroup, Logical};
use crate::physical::{Expr, JoinKind, Node};
use crate::planner::{ForceJoin, PlanError, Planner};
use crate::slot_set::SlotSet;

impl Planner<'_> {
    /// Rows for which one of several EXISTS holds.
    pub(super) fn apply_any_exists(
        &mut self,
        input: Node,
        parts: &[Expr],
    ) -> Result<Node, PlanError> {
        let is_open = self.options.force_join != Some(ForceJoin::Index);
        let groups = match self.rule("exists_to_join") && is_open {
            true => self.plain_parts(&input, parts),
            false => None,
        };
        let Some((groups, shared)) = groups else {
            return self.marked_or_correlated(&input, Expr::Or(parts.to_vec()));
        };
        let mut rights = Vec::new();
        for group in &groups {
            let right = self.join_group(group, &Outer::default(), None)?;
            rights.push(self.project(right, shared.to_vec()));
        }
        let right = self.union_of(rights);
        let mut joined = self.hash_partner(input.clone(), right, &[], JoinKind::Semi)?;
        joined.estimated_rows = input.estimated_rows * SELECTIVITY_EXISTS;
        self.joined_or_correlated(joined, &input, Expr::Or(parts.to_vec()))
    }

    /// The groups of EXISTS which are plain and share the same certain slots with a row, and these.
    fn plain_parts(&self, input: &Node, parts: &[Expr]) -> Option<(Vec<JoinGroup>, SlotSet)> {
        let mut groups = Vec::new();
        let mut shared: Option<SlotSet> = None;
        for part in parts {
            let Expr::Exists(inside) = part else {
                return None;
            };
            let Logical::Group(group) = &self.exists[inside.id] else {
                return None;
            };
            let of_part = shared_by_plain(input, group).filter(|slots| !slots.is_empty())?;
            let is_own = |filter: &Expr| is_own(filter, group, input);
            if shared.is_some_and(|shared| shared != of_part) || !group.filters.iter().all(is_own) {
                return None;
            }
            shared = Some(of_part);
            groups.push(group.clone());
        }
        Some((groups, shared?))
    }
}
