//! `FILTER(?x IN (<a>, <b>))`, `?x = <a> || ?x = <b>`, and `?x = <a>` that is no [constant](super::constant_equality), of an end of a path that no triple binds:
//! the terms become VALUES, from which the path is followed, where it would be followed from every node and the condition asked of all that it leads to.
//!
//! The terms equal nothing but themselves, and those that the store does not have are no ends, so that rows and how often they come stay the same.

use super::constant_equality::{binds, equals_only_itself, fixed_by, is_end, is_of_patterns};
use crate::logical::{JoinGroup, Logical};
use crate::physical::{Constant, Expr, Slot};
use crate::planner::Planner;
use crate::slot_set::SlotSet;

/// Turns such conditions of a group into VALUES; slots of `outer` are bound by a row around it already.
pub(super) fn apply(planner: &Planner<'_>, group: &mut JoinGroup, outer: &SlotSet) {
    if group.paths.is_empty() || !planner.rule("seed_paths") {
        return;
    }
    let mut filters = std::mem::take(&mut group.filters);
    filters.retain(|condition| {
        let allowed = allowed(condition).filter(|(slot, _)| is_free_end(group, *slot, outer));
        let Some((slot, constants)) = allowed else {
            return true;
        };
        group.children.push(values(planner, slot, constants));
        false
    });
    group.filters = filters;
}

/// Whether a slot is bound by a path and by no pattern that could look the terms up.
fn is_free_end(group: &JoinGroup, slot: Slot, outer: &SlotSet) -> bool {
    group.paths.iter().any(|path| is_end(path, slot))
        && !group.triples.iter().any(|triple| binds(triple, slot))
        && is_of_patterns(group, slot, outer)
}

/// The constants that the store has, each once.
fn values(planner: &Planner<'_>, slot: Slot, mut constants: Vec<&Constant>) -> Logical {
    constants.retain(|constant| constant.id.is_some());
    constants.sort_unstable_by_key(|constant| constant.id);
    constants.dedup_by_key(|constant| constant.id);
    if let Some(trace) = planner.trace {
        let ids = constants.iter().filter_map(|constant| constant.id);
        ids.for_each(|id| trace.fixed(id));
    }
    let rows = constants
        .into_iter()
        .map(|constant| vec![Some(constant.clone())]);
    Logical::Values {
        slots: vec![slot],
        rows: rows.collect(),
    }
}

/// The slot that a condition is about, and the only terms that it lets pass.
fn allowed(condition: &Expr) -> Option<(Slot, Vec<&Constant>)> {
    match condition {
        Expr::In(needle, list) => {
            let Expr::Slot(slot) = **needle else {
                return None;
            };
            let terms = list.iter().map(|item| match item {
                Expr::Constant(constant) => equals_only_itself(&constant.term).then_some(constant),
                _ => None,
            });
            Some((slot, terms.collect::<Option<_>>()?))
        }
        Expr::Or(list) => {
            let mut parts = list.iter().map(allowed);
            let (slot, mut constants) = parts.next()??;
            for part in parts {
                let (of_part, more) = part?;
                if of_part != slot {
                    return None;
                }
                constants.extend(more);
            }
            Some((slot, constants))
        }
        other => fixed_by(other).map(|(slot, constant)| (slot, vec![constant])),
    }
}
