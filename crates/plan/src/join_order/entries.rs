//! How rows enter a star: by its subject, by an object, or by its graph.

use crate::alternative::Way;
use crate::physical::{Star, StarEntry};
use crate::slot_set::SlotSet;

/// The ways in which rows with these certain slots can enter a star: by the subject if they have it, else by each object and the graph.
pub(crate) fn entries(star: &Star, shared: &SlotSet) -> Vec<StarEntry> {
    let is_subject_bound = star
        .subject
        .slot()
        .is_some_and(|slot| shared.contains(slot));
    if is_subject_bound {
        // It leads to one row, whose values are searched for the objects; an object leads to many.
        return vec![StarEntry::Subject];
    }
    let mut entries = Vec::new();
    for (pattern_idx, pattern) in star.patterns.iter().enumerate() {
        if !pattern.optional
            && pattern
                .object
                .slot()
                .is_some_and(|slot| shared.contains(slot))
        {
            entries.push(StarEntry::Object { pattern_idx });
        }
    }
    if star.graphs.slot().is_some_and(|slot| shared.contains(slot)) {
        entries.push(StarEntry::Graph);
    }
    entries
}

/// The way into a star by an entry.
pub(crate) fn entry_way(star: &Star, entry: StarEntry) -> Way {
    match entry {
        StarEntry::Subject => Way::StarSubject,
        StarEntry::Object { pattern_idx } => Way::StarObject(star.patterns[pattern_idx].predicate),
        StarEntry::Graph => Way::StarGraph,
    }
}
