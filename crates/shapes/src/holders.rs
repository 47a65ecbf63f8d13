//! `Holders`: who has which predicates, and who can have enough of a set's without looking at all of them.
//!
//! Tables and clusters are sought that share much with a characteristic set: predicates that weigh so much together. The predicates of a
//! set are taken from the one with the fewest holders on, until those that are left weigh less than what is needed: who has none of
//! those taken cannot have enough, nor has who has too little of those taken, even with all that are left. So `rdf:type`, which everybody has, is hardly ever looked up (prefix filtering; Chaudhuri, Ganti,
//! Kaushik: A primitive operator for similarity joins in data cleaning, ICDE 2006, section 4).
//!
//! Cost: the holders of the predicates taken. Everybody who has enough is among the candidates; the caller looks which of them have.

/// The holders of every predicate.
#[derive(Clone, Default)]
pub(crate) struct Holders {
    /// By predicate, in no order.
    lists: Vec<Vec<u32>>,
}

/// What finding candidates needs over and over.
#[derive(Clone, Default)]
pub(crate) struct Scratch {
    /// The predicates of the set by number of holders, with their weights.
    order: Vec<(usize, u32, f64)>,
    /// What the predicates taken weigh that a holder has; 0 between uses.
    found: Vec<f64>,
    /// The candidates that were found last, in no order, with the most that what they have may weigh.
    pub(crate) candidates: Vec<(u32, f64)>,
}

/// A little less than a limit, since sums in another order differ in their last digits.
pub(crate) fn nearly(limit: f64) -> f64 {
    limit * (1.0 - 1e-9)
}

impl Holders {
    /// Adds a holder of a predicate that it is not yet a holder of.
    pub(crate) fn add(&mut self, predicate: u32, holder: u32) {
        let at = predicate as usize;
        if self.lists.len() <= at {
            self.lists.resize_with(at + 1, Vec::new);
        }
        self.lists[at].push(holder);
    }

    /// Takes a holder of a predicate away.
    pub(crate) fn remove(&mut self, predicate: u32, holder: u32) {
        if let Some(list) = self.lists.get_mut(predicate as usize) {
            list.retain(|other| *other != holder);
        }
    }

    fn of(&self, predicate: u32) -> &[u32] {
        self.lists
            .get(predicate as usize)
            .map_or(&[], Vec::as_slice)
    }

    /// Finds everybody who may have predicates that weigh `needed` or more together, of those given with their weights.
    pub(crate) fn find(
        &self,
        weights: impl Iterator<Item = (u32, f64)>,
        needed: f64,
        scratch: &mut Scratch,
    ) {
        let Scratch {
            order,
            found,
            candidates,
        } = scratch;
        order.clear();
        order.extend(weights.map(|(p, weight)| (self.of(p).len(), p, weight)));
        order.sort_unstable_by_key(|(holders, predicate, _)| (*holders, *predicate));
        candidates.clear();
        let mut left: f64 = order.iter().map(|(_, _, weight)| weight).sum();
        for &(_, predicate, weight) in order.iter() {
            if left < nearly(needed) {
                break;
            }
            for &holder in self.of(predicate) {
                let at = holder as usize;
                if found.len() <= at {
                    found.resize(at + 1, 0.0);
                }
                if found[at] == 0.0 {
                    candidates.push((holder, 0.0));
                }
                found[at] += weight.max(f64::MIN_POSITIVE);
            }
            left -= weight;
        }
        let left = left.max(0.0);
        candidates.retain_mut(|(holder, most)| {
            *most = std::mem::take(&mut found[*holder as usize]) + left;
            *most >= nearly(needed)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn everybody_who_has_enough_is_found(
            holders in proptest::collection::vec(proptest::collection::btree_set(0u32..12, 0..8), 0..40),
            removed in proptest::collection::vec((0u32..12, 0usize..40), 0..5),
            sets in proptest::collection::vec((proptest::collection::btree_map(0u32..14, 0.1f64..9.0, 0..8), 0.0f64..20.0), 0..10),
        ) {
            let mut all = Holders::default();
            let mut held = holders;
            for (holder, predicates) in (0u32..).zip(&held) {
                predicates.iter().for_each(|&predicate| all.add(predicate, holder));
            }
            for (predicate, holder) in removed {
                if held.get_mut(holder).is_some_and(|held| held.remove(&predicate)) {
                    all.remove(predicate, holder as u32);
                }
            }
            let mut scratch = Scratch::default();
            for (set, needed) in sets {
                let needed = needed.max(0.05);
                let set: BTreeMap<u32, f64> = set;
                all.find(set.iter().map(|(&p, &w)| (p, w)), needed, &mut scratch);
                let found = &scratch.candidates;
                for (holder, predicates) in (0u32..).zip(&held) {
                    let weight: f64 = predicates.iter().filter_map(|p| set.get(p)).sum();
                    let most = found.iter().find(|(found, _)| *found == holder).map(|(_, most)| *most);
                    prop_assert!(most.map_or(weight < needed, |most| nearly(weight) <= most));
                }
                let mut once: Vec<u32> = found.iter().map(|(holder, _)| *holder).collect();
                once.sort_unstable();
                once.dedup();
                prop_assert_eq!(once.len(), found.len());
            }
        }
    }
}
