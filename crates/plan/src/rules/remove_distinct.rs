//! DISTINCT: left out where rows are distinct already, and taken before ORDER BY where the order
//! depends on nothing else, so that a limit can reach the sort.

use crate::expression::{is_volatile, slots_of};
use crate::logical::Logical;
use crate::planner::Planner;
use crate::slot_set::SlotSet;

/// Each distinct row of the plan once.
pub(crate) fn distinct(planner: &Planner<'_>, input: Logical) -> Logical {
    if !planner.rule("remove_distinct") {
        return Logical::Distinct {
            input: Box::new(input),
        };
    }
    if input == Logical::Empty || is_distinct(&input) {
        return input;
    }
    match input {
        Logical::Project { input, slots } => match *input {
            Logical::OrderBy { input, keys }
                if keys.iter().all(|key| {
                    slots_of(&key.expr).is_subset(&SlotSet::of(&slots)) && !is_volatile(&key.expr)
                }) =>
            {
                let project = Logical::Project { input, slots };
                let distinct = Logical::Distinct {
                    input: Box::new(project),
                };
                Logical::OrderBy {
                    input: Box::new(distinct),
                    keys,
                }
            }
            other => {
                let project = Logical::Project {
                    input: Box::new(other),
                    slots,
                };
                Logical::Distinct {
                    input: Box::new(project),
                }
            }
        },
        other => Logical::Distinct {
            input: Box::new(other),
        },
    }
}

/// Whether no two rows of the plan are equal, for certain.
pub(crate) fn is_distinct(plan: &Logical) -> bool {
    match plan {
        Logical::Distinct { .. } | Logical::Aggregate { .. } => true,
        Logical::Group(_) => distinct_key(plan).is_some(),
        Logical::Filter { input, .. }
        | Logical::OrderBy { input, .. }
        | Logical::Slice { input, .. }
        | Logical::Extend { input, .. } => is_distinct(input),
        Logical::Project { input, slots } => {
            let key = distinct_key(input);
            key.is_some_and(|key| key.is_subset(&SlotSet::of(slots)))
        }
        _ => false,
    }
}

/// Slots that alone tell the rows of a plan apart.
fn distinct_key(plan: &Logical) -> Option<SlotSet> {
    match plan {
        Logical::Aggregate { keys, .. } => Some(SlotSet::of(keys)),
        Logical::Distinct { input } => Some(input.schema()),
        // Triples of a graph, or of the union of several, are a set: all variables together tell matches apart.
        Logical::Group(group) if group.children.is_empty() && group.paths.is_empty() => {
            Some(plan.schema())
        }
        Logical::Filter { input, .. }
        | Logical::OrderBy { input, .. }
        | Logical::Slice { input, .. }
        | Logical::Extend { input, .. } => distinct_key(input),
        Logical::Project { input, slots } => {
            distinct_key(input).filter(|key| key.is_subset(&SlotSet::of(slots)))
        }
        _ => None,
    }
}
