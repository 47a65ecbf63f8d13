//! What the store has confirmed: inserted blocks and deleted offers, to hold it to afterwards.
//!
//! A delete of an offer that is not in the store is a fast no-op, and there are more of them the
//! longer a run is, so the report says how many hit. After the run some subjects are counted in
//! the store: those of inserted blocks must have all their triples, deleted offers none.
//! Several clients may insert and delete the same offer at once; such offers are not checked.

use super::transactions::{offer_number, subjects};
use crate::report::UpdateReport;
use std::collections::{HashMap, HashSet};

/// Subjects that are counted after a run, of each kind.
const SAMPLES_MAX: usize = 100;

/// What one update changes.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    /// These triples are inserted.
    Insert(String),
    /// All triples of this offer are deleted.
    Delete(String),
}

/// All that was confirmed.
#[derive(Default)]
pub(crate) struct Ledger {
    /// Offers that are not in the store, by number.
    absent: HashSet<u64>,
    /// Subjects of inserted blocks with their numbers of triples.
    inserted: HashMap<String, u64>,
    /// Offers that were deleted, by IRI.
    deleted: Vec<String>,
    /// Subjects that were named by updates that failed: nothing is known of them.
    unknown: HashSet<String>,
    inserted_blocks: u64,
    inserted_triples: u64,
    deletes: u64,
    deletes_that_hit: u64,
}

/// A subject and the triples that it must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expectation {
    pub(crate) subject: String,
    pub(crate) triples: u64,
}

impl Ledger {
    /// A ledger for a store without these offers.
    pub(crate) fn new(held_out_offers: HashSet<u64>) -> Ledger {
        Ledger {
            absent: held_out_offers,
            ..Ledger::default()
        }
    }

    /// The store has confirmed an update.
    pub(crate) fn confirm(&mut self, effect: Effect) {
        match effect {
            Effect::Insert(block) => {
                self.inserted_blocks += 1;
                for (subject, triples) in subjects(&block) {
                    self.inserted_triples += triples;
                    if let Some(offer) = offer_number(subject) {
                        self.absent.remove(&offer);
                    }
                    *self.inserted.entry(subject.to_owned()).or_insert(0) += triples;
                }
            }
            Effect::Delete(offer) => {
                self.deletes += 1;
                let is_hit = offer_number(&offer).is_none_or(|number| self.absent.insert(number));
                self.deletes_that_hit += u64::from(is_hit);
                self.deleted.push(offer);
            }
        }
    }

    /// An update failed; it may or may not have been done.
    pub(crate) fn doubt(&mut self, effect: &Effect) {
        match effect {
            Effect::Insert(block) => {
                let named = subjects(block).map(|(subject, _)| subject.to_owned());
                self.unknown.extend(named);
            }
            Effect::Delete(offer) => {
                self.unknown.insert(offer.clone());
            }
        }
    }

    /// Subjects to count, spread over all that happened.
    pub(crate) fn expectations(&self) -> Vec<Expectation> {
        let deleted: HashSet<&str> = self.deleted.iter().map(String::as_str).collect();
        let is_clear = |subject: &str| {
            let is_both = self.inserted.contains_key(subject) && deleted.contains(subject);
            !is_both && !self.unknown.contains(subject)
        };
        let mut there: Vec<(&str, u64)> = self
            .inserted
            .iter()
            .map(|(subject, triples)| (subject.as_str(), *triples))
            .filter(|(subject, _)| is_clear(subject))
            .collect();
        there.sort_unstable();
        let mut gone: Vec<(&str, u64)> = deleted
            .iter()
            .filter(|subject| is_clear(subject))
            .map(|subject| (*subject, 0))
            .collect();
        gone.sort_unstable();
        let chosen = spread(&there).chain(spread(&gone));
        chosen
            .map(|(subject, triples)| Expectation {
                subject: (*subject).to_owned(),
                triples: *triples,
            })
            .collect()
    }

    /// The figures; what the store was found to hold is added by who asks it.
    pub(crate) fn report(&self) -> UpdateReport {
        let deleted: HashSet<&String> = self.deleted.iter().collect();
        let both = deleted.iter().copied();
        let both = both.filter(|offer| self.inserted.contains_key(*offer));
        let mut both: Vec<String> = both.cloned().collect();
        both.sort_unstable();
        UpdateReport {
            inserted_blocks: self.inserted_blocks,
            inserted_triples: self.inserted_triples,
            deletes: self.deletes,
            deletes_that_hit: self.deletes_that_hit,
            offers_deleted: deleted.len() as u64,
            inserted_and_deleted: both,
            ..UpdateReport::default()
        }
    }
}

/// At most [`SAMPLES_MAX`] items, at equal distances.
fn spread<T>(items: &[T]) -> impl Iterator<Item = &T> {
    items
        .iter()
        .step_by(items.len().div_ceil(SAMPLES_MAX).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(number: u64) -> String {
        format!("i/Offer{number}")
    }

    #[test]
    fn deletes_hit_offers_that_are_there() {
        let mut ledger = Ledger::new(HashSet::from([7]));
        for number in [7, 3, 3] {
            ledger.confirm(Effect::Delete(offer(number)));
        }
        assert_eq!(ledger.report().deletes_that_hit, 1);
        ledger.confirm(Effect::Insert("<i/Offer7> <p> <o> .".to_owned()));
        ledger.confirm(Effect::Delete(offer(7)));
        let report = ledger.report();
        assert_eq!((report.deletes, report.deletes_that_hit), (4, 2));
        assert_eq!(report.offers_deleted, 2);
        assert_eq!(report.inserted_and_deleted, [offer(7)]);
    }

    #[test]
    fn only_what_is_certain_is_expected() {
        let mut ledger = Ledger::default();
        let block = "<i/Product1> <p> <o> .\n<i/Product1> <q> <o> .\n<i/Offer7> <p> <o> .";
        ledger.confirm(Effect::Insert(block.to_owned()));
        ledger.confirm(Effect::Delete(offer(7)));
        ledger.confirm(Effect::Delete(offer(8)));
        ledger.confirm(Effect::Delete(offer(9)));
        ledger.doubt(&Effect::Delete(offer(9)));
        ledger.doubt(&Effect::Insert("<i/Product2> <p> <o> .".to_owned()));
        let expected = [("i/Product1", 2), ("i/Offer8", 0)].map(|(subject, triples)| Expectation {
            subject: subject.to_owned(),
            triples,
        });
        assert_eq!(ledger.expectations(), expected);
    }

    #[test]
    fn samples_are_few_and_spread() {
        let items: Vec<u64> = (0..1_050).collect();
        let chosen: Vec<u64> = spread(&items).copied().collect();
        assert!(chosen.len() <= SAMPLES_MAX && chosen.last() > Some(&1_000));
        assert_eq!(spread(&[5]).count(), 1);
        assert_eq!(spread::<u8>(&[]).count(), 0);
    }
}
