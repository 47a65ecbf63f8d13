//! `Corrections`: what rows of sets of units by formulas are multiplied by, where samples tell better ([`SampledSets`]).
//!
//! A set of units falls into parts that stars connect. The formulas' rows of a part are replaced by those of its sample. A part
//! that was not sampled begins with its largest set that was; each further unit brings what a sampled set tells of it beside others that are there already, as
//! if it hung on these alone. What connects parts, and units that are no stars, stay as the formulas say.
//!
//! Cost: a look into a map for each part of a set, and into all samples for each unit of one that was not sampled.

use super::edges::Edge;
use super::join_sample::KnownStar;
use super::sampled_sets::{SampledSets, met_by};
use super::search::bits;
use super::{Unit, UnitKind};
use crate::physical::Star;
use crate::planner::Planner;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Factors by set of units.
#[derive(Debug, Default)]
pub(super) struct Corrections {
    factors: BTreeMap<u64, f64>,
    /// For each unit the units that are sampled together with it.
    neighbours: Vec<u64>,
}

impl Corrections {
    /// Samples the stars among some units, if that is worth its time.
    pub(super) fn of(planner: &Planner<'_>, units: &[Unit], edges: &[Edge]) -> Self {
        Self::sampled(planner, units, edges, None)
    }

    /// As [`Self::of`], of these sets of units alone.
    pub(super) fn along(
        planner: &Planner<'_>,
        units: &[Unit],
        edges: &[Edge],
        sets: &[u64],
    ) -> Self {
        Self::sampled(planner, units, edges, Some(sets))
    }

    fn sampled(
        planner: &Planner<'_>,
        units: &[Unit],
        edges: &[Edge],
        sets: Option<&[u64]>,
    ) -> Self {
        let stars = units.iter().enumerate().filter_map(|(idx, unit)| {
            let UnitKind::Star(star) = &unit.kind else {
                return None;
            };
            let profile = unit.profile.as_ref()?;
            Some((idx, KnownStar { star, profile }))
        });
        let (unit_of, stars): (Vec<usize>, Vec<KnownStar<'_>>) = stars.unzip();
        if stars.len() < 2 {
            return Self::default();
        }
        let to_units = |mask: u64| bits(mask).fold(0, |all, idx| all | 1 << unit_of[idx]);
        let is_met = |edge: &&Edge| {
            let meets = |known: &&KnownStar<'_>| met_by(known.star).contains(edge.slot);
            stars.iter().filter(meets).count() > 1
        };
        let edges: Vec<&Edge> = edges.iter().filter(is_met).collect();
        let even = |mask: u64| {
            let rows: f64 = bits(mask).map(|idx| units[idx].some_rows()).product();
            let divisors = edges.iter().map(|edge| edge.divisor(units, mask));
            rows / divisors.product::<f64>()
        };
        let even = |mask| even(to_units(mask));
        let all = || stars.iter().map(|known| known.star);
        let is_asked = |others: &Vec<Star>| others.iter().eq(all());
        let kept = planner.kept(all()).map(|known| &known.sampled_sets);
        let sampled = match sets {
            // What is kept of stars without constants is of all sets.
            Some(sets) if kept.is_none() => {
                let of_stars = |mask: &u64| {
                    let stars = unit_of.iter().enumerate();
                    let stars = stars.filter(|(_, unit_idx)| mask & (1 << **unit_idx) != 0);
                    stars.fold(0, |all, (idx, _)| all | 1 << idx)
                };
                let sets: Vec<u64> = sets.iter().map(of_stars).collect();
                planner.sampled_along.get(
                    |(others, known)| *known == sets && is_asked(others),
                    || {
                        let sampled = SampledSets::along(planner, &stars, &even, &sets);
                        ((all().cloned().collect(), sets.clone()), Arc::new(sampled))
                    },
                )
            }
            _ => planner.sampled_sets.get_kept(
                kept,
                is_asked,
                || all().cloned().collect(),
                || Arc::new(SampledSets::of(planner, &stars, &even)),
            ),
        };
        let factors = sampled
            .rows()
            .map(|(mask, rows)| (to_units(mask), rows / even(mask).max(f64::MIN_POSITIVE)));
        let mut neighbours = vec![0; units.len()];
        for (idx, others) in sampled.neighbours().iter().enumerate() {
            neighbours[unit_of[idx]] = to_units(*others);
        }
        Self {
            factors: factors.collect(),
            neighbours,
        }
    }

    /// What the formulas' rows of a set of units are multiplied by.
    pub(super) fn factor(&self, mask: u64) -> f64 {
        if self.factors.is_empty() {
            return 1.0;
        }
        let (mut rest, mut factor) = (mask, 1.0);
        // Termination: each turn takes at least one unit out of the rest.
        while rest != 0 {
            let part = self.connected(rest);
            factor *= self.of_part(part);
            rest &= !part;
        }
        factor
    }

    /// The units of a set that its first one is connected with, itself included.
    fn connected(&self, mask: u64) -> u64 {
        let mut part = mask & mask.wrapping_neg();
        // Termination: the part grows with each turn, within the set.
        loop {
            let around = bits(part).fold(part, |all, idx| all | self.neighbours[idx]);
            if around & mask == part {
                return part;
            }
            part = around & mask;
        }
    }

    fn of_part(&self, part: u64) -> f64 {
        if part.count_ones() < 2 {
            return 1.0;
        }
        if let Some(factor) = self.factors.get(&part) {
            return *factor;
        }
        let within = self.factors.iter().filter(|(mask, _)| *mask & !part == 0);
        let largest = within.max_by_key(|(mask, _)| (mask.count_ones(), Reverse(**mask)));
        let Some((&largest, &factor)) = largest else {
            return 1.0;
        };
        let (mut known, mut factor) = (largest, factor);
        // Termination: each turn takes a unit out of what is not known.
        while let Some((unit, sampled)) = self.next_unit(known, part & !known) {
            factor *= self.factors[&sampled] / self.factor(sampled & !unit);
            known |= unit;
        }
        factor * self.factor(part & !known)
    }

    /// Of some units the one that the largest sampled set connects with those that are known, and that set: what is known of the unit
    /// beside the others in it.
    fn next_unit(&self, known: u64, others: u64) -> Option<(u64, u64)> {
        let of_unit = |idx: usize| {
            let unit = 1 << idx;
            let sets = self.factors.keys().copied();
            let sets = sets.filter(move |set| set & unit != 0 && set & !(known | unit) == 0);
            sets.map(move |set| (unit, set))
        };
        let ways = bits(others).flat_map(of_unit);
        ways.max_by_key(|(unit, set)| (set.count_ones(), Reverse((*set, *unit))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_were_not_sampled_take_what_is_known_of_theirs() {
        // 0 - 1 - 2 - 3, and 4 - 5.
        let corrections = Corrections {
            factors: [(0b11, 2.0), (0b110, 3.0), (0b111, 5.0), (0b11_0000, 7.0)].into(),
            neighbours: vec![0b10, 0b101, 0b1010, 0b100, 0b10_0000, 0b1_0000, 0],
        };
        assert_eq!(corrections.factor(0b1), 1.0);
        assert_eq!(corrections.factor(0b11), 2.0);
        assert_eq!(corrections.factor(0b101), 1.0);
        assert_eq!(corrections.factor(0b111), 5.0);
        assert_eq!(corrections.factor(0b11_0111), 35.0);
        assert_eq!(corrections.factor(0b1111), 5.0);
        assert_eq!(corrections.factor(0b1110), 3.0);
        assert_eq!(corrections.factor(0b100_0011), 2.0);
        assert_eq!(Corrections::default().factor(0b111), 1.0);
    }

    #[test]
    fn what_hangs_on_a_sampled_set_brings_what_is_known_of_it() {
        // 0 - 1 - 2 - 3 - 4, of which no set of more than three was sampled.
        let corrections = Corrections {
            factors: [
                (0b11, 2.0),
                (0b110, 3.0),
                (0b1100, 10.0),
                (0b1_1000, 7.0),
                (0b111, 5.0),
                (0b1110, 60.0),
            ]
            .into(),
            neighbours: vec![0b10, 0b101, 0b1010, 0b1_0100, 0b1000],
        };
        // 3 beside 1 and 2: 60 / 3.
        assert_eq!(corrections.factor(0b1111), 5.0 * 20.0);
        // 4 beside 3 alone.
        assert_eq!(corrections.factor(0b1_1111), 5.0 * 20.0 * 7.0);
        assert_eq!(corrections.factor(0b1_1100), 10.0 * 7.0);
    }
}
