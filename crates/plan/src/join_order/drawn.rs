//! `Drawn`: what a shared slot's units have in common, by values that were drawn from the solutions of one of them.
//!
//! ```text
//! rows of a set = rows of `from` × mean over its values x of Π over the others u: rows of u with x
//! divisor       = 1 / mean over x of Π share of u's rows with x
//! ```
//!
//! Values are drawn where they are known to be special: from a star whose constants or comparisons pick some subjects, which
//! others link to; or from links to something that others link to as well, since what is popular with one mostly is with the other.
//! In the second case each value comes as often as it is linked to.
//!
//! Exact where all solutions of `from` were looked at. Independent stay: the conditions of different units but `from`, and values of
//! different slots. Cost: for at most 64 values a count in each other unit, some ten microseconds; so it is done only where a
//! unit has many rows ([`WORTH_ROWS`]), and a wrong order would cost more.

use super::Unit;
use super::edges::{IRREGULAR_MAX, object, subject_star};
use crate::estimate::star_rows;
use crate::physical::{Slot, Star};
use crate::planner::Planner;
use basalt_rdf::TermId;

/// A unit with so many rows makes drawing worth its time.
const WORTH_ROWS: f64 = 1_000.0;

/// Values drawn from one unit, and what the others have of them.
pub(super) struct Drawn {
    /// The unit that they were drawn from.
    pub(super) from: usize,
    /// How many solutions of `from` each value stands for.
    weights: Vec<f64>,
    others: Vec<Shares>,
}

/// What another unit has of the values.
struct Shares {
    unit: usize,
    /// Its rows.
    rows: f64,
    /// The share of them that has each value.
    shares: Vec<f64>,
}

impl Drawn {
    /// Draws for a slot of these units; `subject` is the one that has it as its subject. `None` where it is not worth it, nothing
    /// special is known, or nothing can be drawn.
    pub(super) fn of(
        planner: &Planner<'_>,
        units: &[Unit],
        having: &[usize],
        subject: Option<usize>,
        slot: Slot,
    ) -> Option<Self> {
        if having.iter().all(|idx| units[*idx].rows < WORTH_ROWS) {
            return None;
        }
        let is_object = |idx: &&usize| {
            let known = object(&units[**idx], slot);
            known.is_some_and(|(_, known)| known.irregular_share <= IRREGULAR_MAX)
        };
        let objects: Vec<usize> = having.iter().filter(is_object).copied().collect();
        let selective = subject
            .filter(|idx| subject_star(&units[*idx], slot).is_some_and(star_rows::is_selective));
        let (from, of) = match selective {
            Some(idx) => (idx, None),
            // Two alone are looked at as partners.
            None if objects.len() > 1 && having.len() > 2 => {
                let rows = |idx: &&usize| units[**idx].rows;
                let least = objects.iter().min_by(|a, b| rows(a).total_cmp(&rows(b)))?;
                (*least, Some(object(&units[*least], slot)?.1.predicate))
            }
            None => return None,
        };
        let star = star_of(&units[from])?;
        let drawn = star_rows::draw(planner, star, of)?;
        let values: Vec<TermId> = drawn.iter().map(|(value, _)| *value).collect();
        let weights: Vec<f64> = drawn.iter().map(|(_, weight)| *weight).collect();
        // Most of the solutions must be among what was looked at.
        if weights.iter().sum::<f64>() * 2.0 < units[from].rows {
            return None;
        }
        let mut others = Vec::new();
        for idx in having.iter().copied().filter(|idx| *idx != from) {
            let known = match subject == Some(idx) {
                true => subject_shares(planner, &units[idx], slot, &values),
                false if objects.contains(&idx) => {
                    object_shares(planner, &units[idx], slot, &values)
                }
                false => None,
            };
            others.extend(known.map(|shares| Shares {
                unit: idx,
                rows: units[idx].rows,
                shares,
            }));
        }
        (!others.is_empty()).then_some(Self {
            from,
            weights,
            others,
        })
    }

    /// What the product of the rows of the units inside is divided by; `even` tells it for a unit of which no shares are known.
    pub(super) fn divisor(&self, inside: u64, even: &dyn Fn(usize) -> f64) -> f64 {
        let is_inside = |idx: &usize| inside & (1 << idx) != 0;
        let known: Vec<&Vec<f64>> = self
            .others
            .iter()
            .filter(|known| is_inside(&known.unit))
            .map(|known| &known.shares)
            .collect();
        let is_known = |idx: &usize| self.others.iter().any(|known| known.unit == *idx);
        let others = super::search::bits(inside & !(1 << self.from));
        let unknown: Vec<usize> = others.filter(|idx| !is_known(idx)).collect();
        let evenly: f64 = unknown.into_iter().map(even).product();
        if known.is_empty() {
            return evenly;
        }
        let all: f64 = self.weights.iter().sum();
        let with = |place: usize| known.iter().map(|shares| shares[place]).product::<f64>();
        let met: f64 = self
            .weights
            .iter()
            .enumerate()
            .map(|(place, weight)| weight * with(place))
            .sum();
        if met > 0.0 {
            return evenly * all / met;
        }
        // None of those drawn has a partner: hardly more than half a one in all.
        let inside = || self.others.iter().filter(|known| is_inside(&known.unit));
        let even: f64 = inside().map(|known| even(known.unit)).product();
        let rows: f64 = inside().map(|known| known.rows).product();
        evenly * even.max(2.0 * self.weights.len() as f64 * rows)
    }
}

fn star_of(unit: &Unit) -> Option<&Star> {
    match &unit.kind {
        super::UnitKind::Star(star) => Some(star),
        _ => None,
    }
}

/// For a unit that has the slot as an object.
fn object_shares(
    planner: &Planner<'_>,
    unit: &Unit,
    slot: Slot,
    values: &[TermId],
) -> Option<Vec<f64>> {
    let (star, known) = object(unit, slot)?;
    let statistics = planner.statistics;
    let quads = statistics.quads_with_objects(&star.tables, known.predicate, values)?;
    let all = known.matches.max(1.0);
    Some(quads.into_iter().map(|quads| quads / all).collect())
}

/// For the unit that has the slot as its subject.
fn subject_shares(
    planner: &Planner<'_>,
    unit: &Unit,
    slot: Slot,
    values: &[TermId],
) -> Option<Vec<f64>> {
    let star = subject_star(unit, slot)?;
    let subjects = unit.distinct(slot);
    let solutions = star_rows::solutions_of(planner, star, values);
    let share = |solutions: Option<f64>| match solutions {
        Some(solutions) => (solutions / unit.rows.max(1.0)).min(1.0),
        None => 1.0 / subjects,
    };
    Some(solutions.into_iter().map(share).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known<const N: usize>(unit: usize, shares: [f64; N]) -> Shares {
        let (rows, shares) = (7.0, shares.to_vec());
        Shares { unit, rows, shares }
    }

    #[test]
    fn popular_values_count_as_often_as_they_come() {
        let drawn = Drawn {
            from: 0,
            weights: vec![3.0, 1.0],
            others: vec![known(1, [0.5, 0.0]), known(2, [0.1, 0.9])],
        };
        let even = |idx: usize| match idx {
            3 => 10.0,
            _ => unreachable!("{idx} has shares"),
        };
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        // 3 of 4 values have half of unit 1's rows.
        near(drawn.divisor(0b11, &even), 1.0 / (0.75 * 0.5));
        near(drawn.divisor(0b101, &even), 1.0 / (0.75 * 0.1 + 0.25 * 0.9));
        // Together: only the first value has both.
        near(drawn.divisor(0b111, &even), 1.0 / (0.75 * 0.5 * 0.1));
        near(drawn.divisor(0b1011, &even), 10.0 / (0.75 * 0.5));
        near(drawn.divisor(0b1001, &even), 10.0);
    }

    #[test]
    fn values_without_partners_are_not_quite_none() {
        let drawn = Drawn {
            from: 0,
            weights: vec![1.0; 4],
            others: vec![known(1, [0.0; 4])],
        };
        assert_eq!(drawn.divisor(0b11, &|_| 5.0), 8.0 * 7.0);
        assert_eq!(drawn.divisor(0b11, &|_| 500.0), 500.0);
    }
}
