//! `JoinKeys`: how many distinct keys a batch has that comes into a star join.
//!
//! A set of units has at most so many values of a slot: as many as any of its units has, as any part of it has rows that have the slot, as it has
//! rows that differ in what other units have, and, of an object of a star, as many for each of the star's subjects as that predicate has on
//! average. Rows of a star that differ in other objects alone come one after the other, and a join writes what it makes of a row together,
//! in the order of its input or of the side that it probes with: so keys come in runs, of which there may be fewer than values.
//! A batch has no more keys for each row than the rows have runs, and no more than draws from those values give.
//! Where that leaves more than a few, popular values are drawn and counted ([`KeyShares`]).
//!
//! A hash join finds keys by id where they are near each other ([`near_from`]).
//!
//! Cost: for each set of units a minimum for each of its units and shared slots; a walk down the best plan for each star join.

use super::Unit;
use super::costs::keys_per_row;
use super::join_sample::KnownStar;
use super::key_shares::KeyShares;
use super::mask_map::MaskMap;
use super::sampled_sets::WORTH_ROWS;
use super::search::{Candidate, Step, bits};
use crate::cost_constants::IDS_FOR_ROW;
use crate::estimate::star::PatternProfile;
use crate::physical::{Position, Slot, StarPattern};
use crate::planner::Planner;
use crate::slot_set::SlotSet;

/// Rows that come out of a join and are worth as much attention as one that goes in: a nanosecond or two each.
const JOINED_FOR_ROW: f64 = 16.0;

/// Keys for each row that are so few that fewer make no difference.
const FEW_KEYS: f64 = 1.0 / 16.0;

/// What a set of units holds of the slots that several units have.
pub(super) struct JoinKeys<'u> {
    units: &'u [Unit],
    /// Slots of more than one unit.
    shared: Vec<Slot>,
    /// By unit, how many of its rows are the same in all those slots.
    alike: Vec<f64>,
    /// By set and shared slot, the most distinct values; infinite for slots that the set has not.
    values: MaskMap<Vec<f64>>,
}

impl<'u> JoinKeys<'u> {
    pub(super) fn new(units: &'u [Unit], shared: &SlotSet) -> Self {
        Self {
            units,
            shared: shared.to_vec(),
            alike: units.iter().map(|unit| unit.rows_alike(shared)).collect(),
            values: MaskMap::default(),
        }
    }

    /// Where the values of a slot stand, if several units have it.
    fn place(&self, slot: Slot) -> Option<usize> {
        self.shared.iter().position(|other| *other == slot)
    }

    /// Works out the values of a set with so many rows, after those of its parts.
    pub(super) fn add_set(&mut self, mask: u64, rows: f64) {
        let mut values = vec![f64::INFINITY; self.shared.len()];
        for unit_idx in bits(mask) {
            if let Some(part) = self.values.get(&(mask & !(1 << unit_idx))) {
                let both = values.iter_mut().zip(part);
                both.for_each(|(least, other)| *least = least.min(*other));
            }
        }
        let alike: f64 = bits(mask).map(|idx| self.alike[idx]).product();
        let differing = rows / alike;
        for unit_idx in bits(mask) {
            let unit = &self.units[unit_idx];
            for (slot, least) in self.shared.iter().zip(&mut values) {
                if unit.slots.contains(*slot) {
                    *least = least.min(unit.distinct(*slot)).min(differing);
                }
            }
        }
        for unit_idx in bits(mask) {
            self.limit_objects(unit_idx, &mut values);
        }
        self.values.insert(mask, values);
    }

    /// So many subjects of a star have so many objects.
    fn limit_objects(&self, unit_idx: usize, values: &mut [f64]) {
        let Some((star, profile)) = self.units[unit_idx].star() else {
            return;
        };
        let place = |position: Position| self.place(position.slot()?);
        let Some(subjects) = place(star.subject).map(|idx| values[idx]) else {
            return;
        };
        for (pattern, known) in star.patterns.iter().zip(&profile.patterns) {
            if let Some(idx) = place(pattern.object) {
                values[idx] = values[idx].min(subjects * known.per_subject);
            }
        }
    }

    /// The most distinct values that a set of units has of a slot; infinitely many where nobody knows.
    pub(super) fn values(&self, mask: u64, slot: Slot) -> f64 {
        let known = self.place(slot).zip(self.values.get(&mask));
        known.map_or(f64::INFINITY, |(idx, values)| values[idx])
    }

    /// The pairs of rows of two sets, which have so many, that are equal in some slots.
    pub(super) fn pairs(&self, a: (u64, f64), b: (u64, f64), keys: &SlotSet) -> f64 {
        let values = keys.iter().map(|key| {
            let known = [self.values(a.0, key), self.values(b.0, key)];
            let known = known.into_iter().filter(|values| values.is_finite());
            known.fold(1.0, f64::max)
        });
        a.1 * b.1 / values.product::<f64>()
    }

    /// Distinct keys of a batch for each of its rows, of the best plan for a set of units; popular values are looked for where that or the
    /// join, of which so many rows come, is worth it, and the join `can_win` at all.
    pub(super) fn per_row(
        &self,
        planner: &Planner<'_>,
        best: &MaskMap<Candidate>,
        (mask, key): (u64, Slot),
        joined: f64,
        can_win: bool,
    ) -> f64 {
        let Some(rows) = best.get(&mask).map(|known| known.rows) else {
            return 1.0;
        };
        let even = keys_per_row(rows, self.values(mask, key).min(rows));
        let even = even.min(self.runs(best, mask, key) / rows.max(1.0));
        let is_worth = rows.max(joined / JOINED_FOR_ROW) >= WORTH_ROWS;
        if even <= FEW_KEYS || !is_worth || !can_win {
            return even;
        }
        let having = bits(mask).filter(|idx| self.units[*idx].slots.contains(key));
        having.fold(even, |least, idx| {
            let shares = self.units[idx].star().and_then(|(star, profile)| {
                KeyShares::of(planner, KnownStar { star, profile }, key)
            });
            match shares {
                Some(shares) => least.min(shares.keys_per_row(rows)),
                None => least,
            }
        })
    }

    /// Stretches of rows of the best plan for a set that were made of one row with the slot.
    fn runs(&self, best: &MaskMap<Candidate>, mask: u64, key: Slot) -> f64 {
        let has = |mask: u64| bits(mask).any(|idx| self.units[idx].slots.contains(key));
        let Some(known) = best.get(&mask) else {
            return f64::INFINITY;
        };
        let within = match known.step {
            Step::Leaf { unit_idx } => known.rows / self.alike[unit_idx],
            Step::Star { rest, .. } | Step::Count { rest, .. } if has(rest) => {
                self.runs(best, rest, key)
            }
            Step::Star { unit_idx, .. } => known.rows / self.alike[unit_idx],
            Step::Hash {
                left,
                right,
                build_left,
            } => match if build_left { right } else { left } {
                probe if has(probe) => self.runs(best, probe, key),
                _ => known.rows,
            },
            Step::Pattern { .. } | Step::Path { .. } | Step::Count { .. } | Step::Merge { .. } => {
                known.rows
            }
        };
        within.min(known.rows)
    }

    /// The pattern of a set's stars whose object a slot is.
    pub(super) fn source(&self, mask: u64, slot: Slot) -> Option<&'u PatternProfile> {
        bits(mask).find_map(|idx| object_pattern(&self.units[idx], slot))
    }
}

/// Rows of the build side from which on a hash join of these units finds keys by id: where they are one slot whose values are subjects of one table,
/// so many that they are near each other. Infinitely many elsewhere.
pub(super) fn near_from<'u>(units: impl Iterator<Item = &'u Unit>, keys: &SlotSet) -> f64 {
    let [key] = keys.to_vec()[..] else {
        return f64::INFINITY;
    };
    let of_key = units
        .filter_map(Unit::star)
        .filter(|(star, _)| star.subject.slot() == Some(key) && star.tables.len() == 1);
    let rows = of_key.map(|(_, profile)| profile.table_rows / IDS_FOR_ROW);
    rows.fold(f64::INFINITY, f64::min)
}

/// The slots that several units have.
pub(super) fn shared_slots(units: &[Unit]) -> SlotSet {
    let (mut all, mut shared) = (SlotSet::default(), SlotSet::default());
    for unit in units {
        shared = shared.union(all.intersect(unit.slots));
        all = all.union(unit.slots);
    }
    shared
}

/// What is known of the pattern of a star that has a slot as its object.
fn object_pattern(unit: &Unit, slot: Slot) -> Option<&PatternProfile> {
    let (star, profile) = unit.star()?;
    let is_of_slot = |p: &StarPattern| !p.optional && p.object == Position::Slot(slot);
    let pattern_idx = star.patterns.iter().position(is_of_slot)?;
    profile.patterns.get(pattern_idx)
}

#[cfg(test)]
mod tests {
    use super::super::search::Search;
    use super::super::{Condition, Problem};
    use super::*;
    use crate::logical::Triple;
    use crate::physical::Graphs;
    use crate::planner::PlanOptions;
    use crate::testing::FakeStatistics;
    use basalt_rdf::TermId;

    const OFFER: Slot = Slot(0);
    const PRODUCT: Slot = Slot(1);
    const PRODUCER: Slot = Slot(2);
    const PUBLISHER: Slot = Slot(3);
    const FEATURE: Slot = Slot(4);

    /// What the sets of some stars have as keys, all sets found by a search.
    fn with_keys(
        triples: &[(Slot, &str, Slot)],
        check: impl Fn(&mut JoinKeys<'_>, &Planner<'_>, &MaskMap<Candidate>),
    ) {
        let mut statistics = FakeStatistics::shop();
        let triple = |(subject, predicate, object): &(Slot, &str, Slot)| Triple {
            subject: Position::Slot(*subject),
            predicate: Position::Id(statistics.id(predicate)),
            object: Position::Slot(*object),
            graphs: Graphs::One(TermId::DEFAULT_GRAPH),
            optional: false,
        };
        let triples: Vec<Triple> = triples.iter().map(triple).collect();
        let options = PlanOptions {
            // Objects may lead to rows of any table.
            disabled_rules: vec!["prune_tables".into()],
            ..PlanOptions::default()
        };
        let mut planner = Planner::new(&statistics, &options);
        let kinds = planner
            .stars_and_patterns(&triples)
            .expect("they are stars");
        let conditions: Vec<Condition> = Vec::new();
        let units = kinds
            .into_iter()
            .map(|kind| Unit::new(&planner, kind, &conditions));
        let units: Vec<Unit> = units.collect();
        let problem = Problem {
            units: &units,
            conditions: &conditions,
        };
        let found = Search::new(&planner, &problem).run();
        let mut keys = JoinKeys::new(&units, &shared_slots(&units));
        let mut masks: Vec<u64> = found.best.keys().copied().collect();
        masks.sort_by_key(|mask| mask.count_ones());
        for mask in masks {
            keys.add_set(mask, found.best[&mask].rows);
        }
        check(&mut keys, &planner, &found.best);
    }

    #[test]
    fn a_set_has_no_more_values_than_its_parts_lead_to() {
        // Offers, products that are their delivery days (nineteen), and producers of these (two hundred in all).
        let triples = [
            (OFFER, "deliveryDays", PRODUCT),
            (PRODUCT, "producer", PRODUCER),
            (PRODUCER, "publisher", PUBLISHER),
        ];
        with_keys(&triples, |keys, _, _| {
            let values =
                |mask: u64, slot: Slot| keys.values[&mask][keys.place(slot).expect("it is shared")];
            assert_eq!(values(0b001, PRODUCT), 19.0);
            assert_eq!(values(0b010, PRODUCT), 10_000.0);
            assert_eq!(values(0b010, PRODUCER), 200.0);
            assert_eq!(values(0b011, PRODUCT), 19.0, "as many as one of them has");
            assert_eq!(values(0b011, PRODUCER), 19.0, "a product has one producer");
            assert_eq!(values(0b001, PRODUCER), f64::INFINITY);
            assert_eq!(values(0b111, PRODUCER), 19.0, "as a part of it");
        });
    }

    #[test]
    fn rows_of_one_row_come_together() {
        let triples = [(PRODUCT, "feature", FEATURE), (OFFER, "product", PRODUCT)];
        with_keys(&triples, |keys, planner, best| {
            // Some 200,000 rows of 10,000 products, one after the other with its twenty features.
            let of_products = keys.per_row(planner, best, (0b01, PRODUCT), 0.0, true);
            assert!((of_products - 0.05).abs() < 1e-9, "{of_products}");
            // As many offers of as many products come in any order.
            let of_offers = keys.per_row(planner, best, (0b10, PRODUCT), 0.0, true);
            assert!(of_offers > 0.8, "{of_offers}");
        });
    }
}
