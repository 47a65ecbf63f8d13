//! `KnownStars`: what planning worked out about stars of one state of the data, the orders in which it joined them, and its plans, for the queries that come after.
//!
//! Of a star that asks for no constant and has no filters, its profile, its samples and the shares of its keys depend on the data alone, and
//! the queries of an application are made of the same stars, with slots of the same numbers where the texts differ in constants only. To look at 64
//! rows again for each of them is half of the planning of a join. The same goes for walks from some nodes of a closure.
//!
//! The orders of joins are told from groups with constants too, and are no answers but suggestions (`join_order/known_orders.rs`); so are whole plans of templates
//! (`known_plans.rs`).
//!
//! Invariant: an answer is that which the planner would work out on the same state, but for what lazily made inverses tell by then. Bound:
//! [`ENTRIES_MAX`] answers of each kind, some kilobytes each; when there are as many, all go. Cost: a lock and up to so many comparisons,
//! most of which end with the first field.

use crate::estimate::star::StarProfile;
use crate::join_order::{JoinSample, KeyShares, KnownOrders, SampledSets};
use crate::known_plans::KnownPlans;
use crate::physical::{Position, Slot, Star};
use crate::slot_set::SlotSet;
use crate::statistics::LinkOfWalk;
use std::sync::{Arc, Mutex, PoisonError};

/// Answers of a kind.
const ENTRIES_MAX: usize = 128;

/// What planning worked out about stars that ask for no constant and have no filters, the order of joins of groups of the same shape, and the plans of templates; for one state of
/// the data. An answer is kept until there are 128 of its kind, an order until there are 1,024, a plan until there are 16,384 operators.
#[derive(Debug, Default)]
pub struct KnownStars {
    pub(crate) profiles: Kept<Star, StarProfile>,
    pub(crate) samples: Kept<(Star, SlotSet, u64), Option<Arc<JoinSample>>>,
    pub(crate) sampled_sets: Kept<Vec<Star>, Arc<SampledSets>>,
    pub(crate) key_shares: Kept<(Star, Slot), Option<Arc<KeyShares>>>,
    /// Of closures, as [`Planner::walked`](crate::planner::Planner).
    pub(crate) walked: Kept<(Vec<LinkOfWalk>, bool), Option<f64>>,
    pub(crate) orders: KnownOrders,
    pub(crate) plans: KnownPlans,
}

impl KnownStars {
    /// Nothing yet, for the next state of the data; what was taken goes on being counted.
    pub fn for_next_state(&self) -> Self {
        Self {
            orders: self.orders.for_next_state(),
            plans: self.plans.for_next_state(),
            ..Self::default()
        }
    }

    /// How many groups of stars were joined in the order of others, on this state and those before.
    pub fn orders_taken(&self) -> u64 {
        self.orders.taken.count()
    }

    /// How many queries took the plan that others of their template came to, on this state and those before.
    pub fn plans_taken(&self) -> u64 {
        self.plans.taken.count()
    }
}

/// Answers by question, of several threads.
#[derive(Debug)]
pub(crate) struct Kept<Q, A>(Mutex<Vec<(Q, A)>>);

impl<Q, A> Default for Kept<Q, A> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<Q: Clone, A: Clone> Kept<Q, A> {
    /// The answer to a question that is known by `is_asked`.
    pub(crate) fn find(&self, is_asked: impl Fn(&Q) -> bool) -> Option<A> {
        // An entry is there as a whole or not at all.
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries = entries.iter();
        entries
            .find(|(question, _)| is_asked(question))
            .map(|(_, answer)| answer.clone())
    }

    /// Keeps an answer; that two threads keep the same one does no harm.
    pub(crate) fn tell(&self, question: &Q, answer: &A) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= ENTRIES_MAX {
            entries.clear();
        }
        entries.push((question.clone(), answer.clone()));
    }
}

/// Whether what is worked out about a star depends on the data alone.
pub(crate) fn is_of_data(star: &Star) -> bool {
    let is_open = |position: Position| position.slot().is_some();
    star.graphs.slot().is_none()
        && star.filters.is_empty()
        && is_open(star.subject)
        && star.patterns.iter().all(|pattern| is_open(pattern.object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_kept_within_a_bound() {
        let kept = Kept::<usize, String>::default();
        for question in 0..ENTRIES_MAX + 1 {
            assert_eq!(kept.find(|known| *known == question), None);
            kept.tell(&question, &question.to_string());
            assert_eq!(
                kept.find(|known| *known == question),
                Some(question.to_string())
            );
        }
        assert_eq!(kept.find(|known| *known == 0), None, "all went");
    }
}
