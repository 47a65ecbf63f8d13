//! EXISTS of patterns whose own rows may lack a slot that the rows before have: the rows inside that have it and those that lack it are asked for apart.
//!
//! ```text
//! NOT EXISTS { ?other :filed ?e ; :office ?o BIND(YEAR(?e) AS ?y) FILTER(?e > ?d) }       BIND binds nothing where its expression fails
//!   is  NOT EXISTS { the same FILTER(BOUND(?y)) }  and  NOT EXISTS { the same FILTER(!BOUND(?y)), without ?y }
//! ```
//!
//! In the first `?y` is certain on both sides and a key as any other; the second has few rows or none, and those are partners whatever `?y` the rows before have.
//! So are the partners of NOT EXISTS as an anti join (`OPTIONAL { .. } FILTER(!BOUND(..))`). The rows inside are made twice.

use super::joinable::{is_repeatable, is_whole};
use super::unbound_parts::parts_of_group;
use crate::alike::for_each_slot_mut;
use crate::logical::JoinGroup;
use crate::physical::{JoinKind, Node, Slot};
use crate::planner::{PlanError, Planner};
use crate::slot_set::SlotSet;

/// Asks rows for partners in a group: a semi or an anti join.
type Ask<'a> =
    dyn FnMut(&mut Planner<'_>, Node, JoinGroup, JoinKind) -> Result<Node, PlanError> + 'a;

impl Planner<'_> {
    /// The way that asks for the parts of a group apart, if it is cheaper than that which asks for them together.
    pub(super) fn by_parts_inside(
        &mut self,
        rows: &Node,
        group: &JoinGroup,
        kind: JoinKind,
        together: Node,
        ask: &mut Ask<'_>,
    ) -> Result<Node, PlanError> {
        if !self.tries_parts() {
            return Ok(together);
        }
        let is_semi = kind == JoinKind::Semi;
        if is_semi && !is_repeatable(rows) || !group.children.iter().all(is_whole) {
            return Ok(together);
        }
        let Some(parts) = parts_of_group(self, group, SlotSet::of(&rows.certain)) else {
            return Ok(together);
        };
        let (bound, mut unbound) = (parts.bound, parts.unbound);
        if !self.name_apart(&mut unbound, parts.slot) {
            return Ok(together);
        }
        self.alternatives -= 1;
        let first = ask(self, rows.clone(), bound.clone(), kind)?;
        // The rows inside are made once more, and mostly none of them lacks the slot.
        let inside = first.estimated_cost - rows.estimated_cost;
        let cost = first.estimated_cost + inside + if is_semi { first.estimated_cost } else { 0.0 };
        if cost >= together.estimated_cost {
            return Ok(together);
        }
        let mut asked = match is_semi {
            true => {
                let others = ask(self, rows.clone(), bound, JoinKind::Anti)?;
                let others = ask(self, others, unbound, kind)?;
                self.union_of(vec![first, others])
            }
            false => ask(self, first, unbound, kind)?,
        };
        (asked.estimated_rows, asked.estimated_cost) = (together.estimated_rows, cost);
        Ok(asked)
    }

    /// Gives a slot another name in the children of a group that have it no more, but below: where they are asked for each row, that row has a value for
    /// it. False if there are too many slots.
    fn name_apart(&mut self, group: &mut JoinGroup, slot: Slot) -> bool {
        let Ok(fresh) = self.fresh_slot("unbound") else {
            return false;
        };
        let children = group.children.iter_mut();
        for child in children.filter(|child| !child.schema().contains(slot)) {
            for_each_slot_mut(child, &mut |other| {
                if *other == slot {
                    *other = fresh;
                }
            });
        }
        true
    }
}
