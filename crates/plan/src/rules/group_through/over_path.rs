//! GROUP BY over a path that leads from the rows to the keys: aggregated by where the path begins, then added up by where it leads.
//!
//! ```text
//! COUNT(*) by ?class over  ?work :category ?leaf . ?leaf rdfs:subClassOf* ?class
//! is one state for each ?leaf, and one addition for each pair of the path that begins at one of them
//! ```
//!
//! The pairs are those of the path from the distinct beginnings that rows have, with the patterns that lead on to the keys; how often a pair
//! comes is how often its state is added, as with any [pairs](super). Rows share nothing with the pairs but the beginning.

use super::{Parts, group_of};
use crate::expression::is_pure;
use crate::logical::{JoinGroup, Logical, Triple, share_filters};
use crate::lower::Outer;
use crate::physical::{Endpoint, PathPattern, Slot};
use crate::planner::{PlanError, Planner};
use crate::slot_set::SlotSet;

/// The parts of a group whose keys are beyond its only path.
pub(super) fn parts(
    planner: &mut Planner<'_>,
    group: &JoinGroup,
    keys: &[Slot],
    read: &SlotSet,
) -> Result<Option<Parts>, PlanError> {
    let [path] = group.paths.as_slice() else {
        return Ok(None);
    };
    let (Endpoint::Slot(subject), Endpoint::Slot(object)) = (&path.subject, &path.object) else {
        return Ok(None);
    };
    let is_plain = group.children.is_empty()
        && subject != object
        && path.graphs.slot().is_none()
        && group.filters.iter().all(is_pure);
    if !is_plain {
        return Ok(None);
    }
    let ends = [(*subject, *object), (*object, *subject)];
    let sides = ends
        .into_iter()
        .find_map(|(near, far)| sides(group, path, (near, far), keys, read));
    let Some((near, rows, mut pairs)) = sides else {
        return Ok(None);
    };
    pairs.children.push(Logical::Distinct {
        input: Box::new(Logical::Project {
            input: Box::new(Logical::Group(rows.clone())),
            slots: vec![near],
        }),
    });
    let alone = Outer::default();
    Ok(Some(Parts {
        rows: planner.lower(&Logical::Group(rows), &alone)?,
        pairs: planner.lower(&Logical::Group(pairs), &alone)?,
        via: SlotSet::of(&[near]),
        without: None,
        with_pair: None,
    }))
}

/// The end of a path at which rows are, these rows, and the path with what is beyond it; `None` if the keys are not there.
fn sides(
    group: &JoinGroup,
    path: &PathPattern,
    (near, far): (Slot, Slot),
    keys: &[Slot],
    read: &SlotSet,
) -> Option<(Slot, JoinGroup, JoinGroup)> {
    let beyond = beyond(&group.triples, near, far);
    let is_row = |triple: &Triple| triple.slots().is_disjoint(&beyond);
    let (rows, pairs): (Vec<Triple>, Vec<Triple>) = group.triples.iter().cloned().partition(is_row);
    let (mut rows, mut pairs) = (group_of(rows), group_of(pairs));
    pairs.paths.push(path.clone());
    let (row_slots, pair_slots) = (rows.schema(), pairs.schema());
    let homeless = share_filters(&group.filters, &mut rows, &mut pairs);
    let fits = homeless.is_empty()
        && row_slots.intersect(pair_slots) == SlotSet::of(&[near])
        && rows.certain().contains(near)
        && read.is_subset(&row_slots)
        && SlotSet::of(keys).is_subset(&pair_slots);
    fits.then_some((near, rows, pairs))
}

/// The far end of a path, and all slots that triples connect with it otherwise than by the near one.
fn beyond(triples: &[Triple], near: Slot, far: Slot) -> SlotSet {
    let near = SlotSet::of(&[near]);
    SlotSet::of(&[far]).connected(triples.iter().map(|triple| triple.slots().minus(near)))
}
