//! `Interval`: the ids between which values lie that can pass the comparisons with constants of their column.
//!
//! Found by bisection with the proof that lets segments be skipped ([`CompiledExpr::zone_may_match`](crate::expr::CompiledExpr::zone_may_match)):
//! as long as no id from the least up to some id can pass, the interval begins behind it. So it is never too narrow, whatever the
//! conditions are, and exact where ids order as values do.

use super::compiled::CompiledStar;
use basalt_rdf::TermId;
use basalt_store::Cells;
use std::ops::Range;

/// Rows that are looked at to tell how many have a value in an interval.
pub const SAMPLED_ROWS: u64 = 64;

/// Ids of values, both ends included; see the [module documentation](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The least.
    pub low: TermId,
    /// The greatest; less than [`Self::low`] if no value can pass.
    pub high: TermId,
}

impl Interval {
    /// Of values from `min` to `max` that may pass the filters of a new column alone; `None` if these leave nothing out.
    pub fn of(star: &CompiledStar, column: usize, (min, max): (TermId, TermId)) -> Option<Self> {
        if star.filters_of(column).next().is_none() || min > max {
            return None;
        }
        Self::by_proof(min.0, max.0, |low, high| star.may_pass(column, low, high))
    }

    /// Of ids from `min` to `max`, where `may_match` says of two ids whether one between them may pass.
    fn by_proof(min: u64, max: u64, may_match: impl Fn(u64, u64) -> bool) -> Option<Self> {
        let interval = |low, high| {
            Some(Self {
                low: TermId(low),
                high: TermId(high),
            })
        };
        if !may_match(min, max) {
            return interval(max, min);
        }
        let low = first(min, max, |id| may_match(min, id));
        // Mirrored, the greatest is the first.
        let high = !first(!max, !min, |id| may_match(!id, max));
        if (low, high) == (min, max) {
            return None;
        }
        interval(low, high)
    }

    /// Whether an id is in it.
    pub fn has(self, id: u64) -> bool {
        self.low.0 <= id && id <= self.high.0
    }

    /// How many of [`SAMPLED_ROWS`] rows, spread over some, have a value in it.
    pub fn sample(self, cells: Cells<'_>, rows: &Range<u32>) -> u64 {
        let step = (rows.end - rows.start) as usize / SAMPLED_ROWS as usize;
        let sampled = rows.clone().step_by(step.max(1));
        let sampled: Vec<u32> = sampled.take(SAMPLED_ROWS as usize).collect();
        let mut values = Vec::with_capacity(sampled.len());
        if !cells.multi_valued() {
            cells.gather(&sampled, &mut values);
            return values.into_iter().filter(|&id| self.has(id)).count() as u64;
        }
        let mut counts = Vec::with_capacity(sampled.len());
        cells.gather_lists(&sampled, &mut counts, &mut values);
        let mut left = values.as_slice();
        let mut passing = 0;
        for count in counts {
            let (list, others) = left.split_at(count as usize);
            left = others;
            passing += u64::from(list.iter().any(|&id| self.has(id)));
        }
        passing
    }
}

/// An id for which `may` holds and does not for the one before, or `min` if it holds there; it holds for `max`.
/// Termination: what is left to search shrinks.
fn first(min: u64, max: u64, may: impl Fn(u64) -> bool) -> u64 {
    if may(min) {
        return min;
    }
    // Invariant: it does not hold for `below`, and for `found` it does.
    let (mut below, mut found) = (min, max);
    while found - below > 1 {
        let middle = below + (found - below) / 2;
        if may(middle) {
            found = middle;
        } else {
            below = middle;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The interval of ids from `min` to `max` of which `passes` is true for some.
    fn of(min: u64, max: u64, passes: impl Fn(u64) -> bool) -> Option<(u64, u64)> {
        let may_match = |low: u64, high: u64| (low..=high).any(&passes);
        let interval = Interval::by_proof(min, max, may_match);
        interval.map(|interval| (interval.low.0, interval.high.0))
    }

    #[test]
    fn ends_are_the_first_and_the_last_that_pass() {
        for (first, last) in [(10, 10), (10, 17), (13, 13), (13, 30), (29, 30), (30, 30)] {
            let interval = of(10, 30, |id| (first..=last).contains(&id));
            assert_eq!(interval, Some((first, last)), "{first} to {last}");
        }
        assert_eq!(of(10, 30, |id| id == 12 || id == 20), Some((12, 20)));
    }

    #[test]
    fn nothing_is_left_out() {
        assert_eq!(of(10, 30, |_| true), None);
        assert_eq!(of(10, 30, |id| id == 10 || id == 30), None);
        assert_eq!(of(10, 10, |_| true), None);
    }

    #[test]
    fn nothing_passes() {
        let none = Interval::by_proof(10, 30, |_, _| false).expect("all are left out");
        assert!((0..40).all(|id| !none.has(id)));
    }

    #[test]
    fn a_proof_that_contradicts_itself_loses_no_id() {
        // No proof for some bounds, though there is one for wider ones.
        let passes = |id: u64| (17..=19).contains(&id);
        let may_match =
            |low: u64, high: u64| (low + high).is_multiple_of(3) || (low..=high).any(passes);
        let interval = Interval::by_proof(1, 40, may_match).expect("some are left out");
        assert!((17..=19).all(|id| interval.has(id)));
    }
}
