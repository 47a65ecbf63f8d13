//! The characteristic sets by predicate, so that an estimate reads only those that can matter.
//!
//! Made on first use, once for a version. Cost: four bytes for each predicate of each set.

use crate::snapshot::Snapshot;
use crate::statistics::CharacteristicSet;
use basalt_rdf::TermId;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Places of sets by predicate.
#[derive(Debug, Default)]
pub(crate) struct SetsByPredicate(OnceLock<HashMap<TermId, Vec<u32>>>);

impl SetsByPredicate {
    /// The sets that have all of some predicates; all sets for none.
    pub(crate) fn having<'a>(
        &self,
        sets: &'a [CharacteristicSet],
        predicates: &[TermId],
    ) -> Vec<&'a CharacteristicSet> {
        let places = self.0.get_or_init(|| places(sets));
        let lists = predicates
            .iter()
            .map(|p| places.get(p).map_or(&[][..], Vec::as_slice));
        match lists.min_by_key(|list| list.len()) {
            None => sets.iter().collect(),
            Some(rarest) => {
                let sets = rarest.iter().map(|&place| &sets[place as usize]);
                let has = |set: &CharacteristicSet, p| set.predicates.binary_search(p).is_ok();
                sets.filter(|set| predicates.iter().all(|p| has(set, p)))
                    .collect()
            }
        }
    }
}

impl Snapshot {
    /// The characteristic sets of the version that have all of these predicates, those with most subjects first.
    pub fn sets_with(&self, predicates: &[TermId]) -> Vec<&CharacteristicSet> {
        let version = self.parts();
        let sets = &version.statistics.characteristic_sets;
        version.sets_by_predicate.having(sets, predicates)
    }
}

fn places(sets: &[CharacteristicSet]) -> HashMap<TermId, Vec<u32>> {
    let mut places: HashMap<TermId, Vec<u32>> = HashMap::new();
    for (place, set) in sets.iter().enumerate() {
        for predicate in &set.predicates {
            places.entry(*predicate).or_default().push(place as u32);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_found_as_by_looking_at_all() {
        let set = |bits: u64| CharacteristicSet {
            predicates: (0..5)
                .filter(|p| bits & 1 << p != 0)
                .map(TermId::resource)
                .collect(),
            subjects: bits,
            ..CharacteristicSet::default()
        };
        let sets: Vec<CharacteristicSet> = (1..32).map(set).collect();
        let index = SetsByPredicate::default();
        for asked in 0..64_u64 {
            let wanted: Vec<TermId> = (0..6)
                .filter(|p| asked & 1 << p != 0)
                .map(TermId::resource)
                .collect();
            let found = index.having(&sets, &wanted);
            let expected: Vec<&CharacteristicSet> = sets
                .iter()
                .filter(|s| s.subjects & asked == asked)
                .collect();
            assert_eq!(found, expected, "{asked:b}");
        }
    }
}
