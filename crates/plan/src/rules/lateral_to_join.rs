//! LATERAL becomes a join where seeing the left row changes nothing: the right side is plain triples,
//! or shares no variable with the left one and computes nothing at random.
//!
//! Triples match the same whether a value is put in their place or compared afterwards. Conditions may see
//! the left row only through slots that every solution of the triples binds. Not so paths (a constant
//! reaches itself even outside the data), OPTIONAL, and everything that counts rows.

use crate::expression::slots_of;
use crate::logical::Logical;
use crate::planner::Planner;
use crate::repeatable::is_repeatable;
use crate::rules::hoist_left_join;

/// The left rows, each extended by the solutions of the right side that see it.
pub(crate) fn lateral(planner: &Planner<'_>, left: Logical, right: Logical) -> Logical {
    if left == Logical::Empty || right == Logical::Empty {
        return Logical::Empty;
    }
    let visible = left.schema();
    let independent = right.mentioned().is_disjoint(&visible);
    let plain = match &right {
        Logical::Group(group) => {
            let certain = group.certain();
            let settled =
                |slots: crate::slot_set::SlotSet| slots.intersect(visible).is_subset(&certain);
            group.children.is_empty()
                && group.paths.is_empty()
                && settled(group.schema())
                && group.filters.iter().all(|filter| settled(slots_of(filter)))
        }
        _ => false,
    };
    // What is random is so for each left row.
    let is_same = is_repeatable(planner, &right, true);
    if (independent || plain) && is_same && planner.rule("lateral_to_join") {
        return hoist_left_join::join(planner, left, right);
    }
    Logical::Lateral {
        left: Box::new(left),
        right: Box::new(right),
    }
}
