//! BIND at the beginning of an EXISTS, of what the row around has alone: computed for the rows before they are asked.
//!
//! ```text
//! ?x :nr ?k  FILTER EXISTS { BIND(?k + 1 AS ?j) ?y :nr ?j }       ?x :nr ?k  BIND(?k + 1 AS ?j)  FILTER EXISTS { ?y :nr ?j }
//! ```
//!
//! What is left are patterns that share a slot with the rows, which may be joined with them; rows whose value is an error are [parts by themselves](super::unbound_parts).
//!
//! Sound beside patterns, conditions and parts of which joining is the same as evaluating them for a row ([`is_whole`]); not beside paths, which lead from a
//! variable's nodes alone.

use super::exists::{exists_or_not, sole_exists};
use super::joinable::is_whole;
use crate::expression::{is_pure, slots_of};
use crate::logical::{JoinGroup, Logical};
use crate::physical::{Expr, Node, Slot};
use crate::planner::{PlanError, Planner};
use crate::slot_set::SlotSet;

impl Planner<'_> {
    /// The rows with what an EXISTS in a condition computes of them, and the condition without that; `None` if there is nothing such.
    pub(super) fn bound_before(
        &mut self,
        rows: &Node,
        condition: &Expr,
    ) -> Result<Option<(Node, Expr)>, PlanError> {
        let Some((inside, kind)) = sole_exists(condition) else {
            return Ok(None);
        };
        let around = SlotSet::of(&rows.schema);
        let Some((computed, group)) = apart(&self.exists[inside.id], around) else {
            return Ok(None);
        };
        let mut rows = rows.clone();
        for (slot, expr) in computed {
            rows = self.extend(rows, slot, expr)?;
        }
        let exists = self.placeholder(Logical::Group(group));
        Ok(Some((rows, exists_or_not(exists, kind))))
    }
}

/// What a group computes of the row around, in order, and the rest of it.
fn apart(inside: &Logical, around: SlotSet) -> Option<(Vec<(Slot, Expr)>, JoinGroup)> {
    let Logical::Group(group) = inside else {
        return None;
    };
    let mut rest = group.clone();
    let computed = (0..group.children.len()).find_map(|at| {
        let computed = of_around(&group.children[at], around)?;
        rest.children.remove(at);
        Some(computed)
    })?;
    let is_shared = |(slot, _): &(Slot, Expr)| rest.certain().contains(*slot);
    let may_be_joined = rest.paths.is_empty() && rest.children.iter().all(is_whole);
    (may_be_joined && computed.iter().any(is_shared)).then_some((computed, rest))
}

/// What a plan computes, if it does nothing else, and of slots from around it alone.
fn of_around(plan: &Logical, around: SlotSet) -> Option<Vec<(Slot, Expr)>> {
    match plan {
        Logical::Group(group) => (*group == JoinGroup::default()).then(Vec::new),
        Logical::Extend { input, slot, expr } => {
            let mut computed = of_around(input, around)?;
            let mut known = around;
            computed.iter().for_each(|(slot, _)| known.insert(*slot));
            let slots = slots_of(expr);
            let is_of_around = is_pure(expr) && !slots.is_empty() && slots.is_subset(&known);
            if !is_of_around || known.contains(*slot) {
                return None;
            }
            computed.push((*slot, expr.clone()));
            Some(computed)
        }
        _ => None,
    }
}
