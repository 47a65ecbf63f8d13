//! Classes that are categories of one kind of thing: many small ones whose things say the same.
//!
//! Where things are sorted by the terms of an ontology (genes by function, conditions by code, works by genre), `rdf:type` has thousands
//! of values and what has them has the same predicates. A table for each would hold a few rows, and every query that looks at all of
//! them would look into hundreds of tables; a lookup by type finds the same rows through the inverse of the type column. So these
//! classes count as none, and their sets are merged like untyped ones. A few alike classes stay apart (vendors and producers), and so
//! does each that has rows enough to pay for its table.
//!
//! Cost: classes times predicates of each typed set, once per load.

use crate::fast_map::FastMap;
use crate::settings::Settings;
use crate::subject_sums::SubjectSums;

/// The sets of one class, by their predicates.
pub(crate) struct ClassedSet<'a> {
    /// Class of the subjects.
    pub class: u64,
    /// Predicates of the subjects.
    pub predicates: &'a [u32],
    /// Number of subjects.
    pub subjects: u64,
}

/// The classes among those of some sets that are categories, ascending.
pub(crate) fn find<'a>(
    sets: impl Iterator<Item = ClassedSet<'a>>,
    settings: &Settings,
) -> Vec<u64> {
    let mut classes: FastMap<u64, SubjectSums> = FastMap::default();
    for set in sets {
        let predicates = set.predicates.iter().map(|&p| (p, set.subjects));
        classes
            .entry(set.class)
            .or_default()
            .add(predicates, set.subjects);
    }
    let mut alike: FastMap<Vec<u32>, Vec<u64>> = FastMap::default();
    for (class, sums) in &classes {
        if sums.subjects < settings.class_rows_min {
            alike.entry(sums.usual()).or_default().push(*class);
        }
    }
    let mut categories = Vec::new();
    for mut members in alike.into_values() {
        if members.len() <= settings.alike_classes_max {
            continue;
        }
        let mut all = SubjectSums::default();
        for class in &members {
            let sums = &classes[class];
            all.add(
                sums.by_predicate.iter().map(|(p, rows)| (*p, *rows)),
                sums.subjects,
            );
        }
        members
            .retain(|class| classes[class].share_in(&all, settings) >= settings.category_share_min);
        if members.len() > settings.alike_classes_max {
            categories.append(&mut members);
        }
    }
    categories.sort_unstable();
    categories
}
