//! The class of a set of types: which of a subject's `rdf:type` values says what kind of thing it is.
//!
//! With inference done beforehand a subject has a chain of types from leaf to root, and often some
//! unrelated ones. A type is one kind of thing if its subjects would fill a table well; among such
//! types the one with most subjects is chosen, because fewer and larger tables serve queries
//! better. A root type that covers many kinds of things would make a table full of holes and is
//! passed over. Types with equal counts are told apart by namespace: a class made by the authors
//! of the vocabulary lives where the predicates live.
//!
//! Cost: types times predicates of each typed set, once per load.

use std::cmp::Ordering;

use crate::fast_map::FastMap;
use basalt_rdf::TermId;

use crate::naming::{Names, namespace};
use crate::subject_sums::SubjectSums;

/// Predicates with less fill than this do not count when a type's table is judged.
const PROFILE_FILL_MIN: f64 = 0.05;

/// A characteristic set together with its types.
pub(crate) struct TypedSet<'a> {
    /// Types of the subjects.
    pub types: &'a [u64],
    /// Predicates of the subjects.
    pub predicates: &'a [u32],
    /// Number of subjects.
    pub subjects: u64,
}

/// What is known of one type.
struct Profile {
    rows: u64,
    fill: f64,
    shared_namespace: f64,
    name: String,
}

/// For each set of types its class; `None` for the empty set.
pub(crate) fn choose(
    type_sets: &[Vec<u64>],
    sets: &[TypedSet<'_>],
    names: &dyn Names,
    class_fill_min: f64,
) -> Vec<Option<u64>> {
    let profiles = profiles(sets, names);
    type_sets
        .iter()
        .map(|types| {
            types
                .iter()
                .copied()
                .filter(|t| profiles.contains_key(t))
                .max_by(|a, b| compare(&profiles[a], &profiles[b], class_fill_min))
        })
        .collect()
}

fn profiles(sets: &[TypedSet<'_>], names: &dyn Names) -> FastMap<u64, Profile> {
    let mut sums: FastMap<u64, SubjectSums> = FastMap::default();
    for set in sets {
        for &class in set.types {
            let predicates = set.predicates.iter().map(|&p| (p, set.subjects));
            sums.entry(class).or_default().add(predicates, set.subjects);
        }
    }
    let mut namespaces: FastMap<u32, String> = FastMap::default();
    let mut profiles = FastMap::default();
    for (class, sums) in sums {
        let (total, by_predicate) = (sums.subjects, sums.by_predicate);
        let name = names.term(TermId(class));
        let (mut filled, mut columns, mut shared) = (0, 0u64, 0);
        for (&predicate, &n) in &by_predicate {
            if (n as f64) < PROFILE_FILL_MIN * total as f64 {
                continue;
            }
            filled += n;
            columns += 1;
            let home = namespaces
                .entry(predicate)
                .or_insert_with(|| namespace(&names.predicate(predicate)).to_owned());
            if *home == namespace(&name) {
                shared += n;
            }
        }
        let profile = Profile {
            rows: total,
            fill: filled as f64 / (total * columns).max(1) as f64,
            shared_namespace: shared as f64 / filled.max(1) as f64,
            name,
        };
        profiles.insert(class, profile);
    }
    profiles
}

/// Greater is the better class.
fn compare(a: &Profile, b: &Profile, class_fill_min: f64) -> Ordering {
    let (a_good, b_good) = (a.fill >= class_fill_min, b.fill >= class_fill_min);
    a_good
        .cmp(&b_good)
        .then_with(|| {
            if a_good {
                a.rows.cmp(&b.rows)
            } else {
                a.fill.total_cmp(&b.fill)
            }
        })
        .then_with(|| a.shared_namespace.total_cmp(&b.shared_namespace))
        .then_with(|| b.name.cmp(&a.name))
}
