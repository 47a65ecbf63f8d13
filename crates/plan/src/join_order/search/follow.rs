//! Following the tree of joins that searches of other groups of the same shape found ([`KnownOrder`]): only its sets are looked at, each joined
//! by the way that costs least.

use super::super::Problem;
use super::super::corrections::Corrections;
use super::super::edges::Edge;
use super::super::known_orders::{KnownOrder, Split};
use super::{Found, Search, bits};
use crate::planner::Planner;
use std::sync::Arc;

impl<'s> Search<'s> {
    /// The cheapest ways through a tree; `None` if it does not join all units.
    pub(crate) fn following(
        planner: &'s Planner<'_>,
        problem: &'s Problem<'s>,
        order: &KnownOrder,
    ) -> Option<Found> {
        let full = problem.all();
        // Shapes are compared by hash: a tree of another group may have more units.
        if order.splits.last().is_none_or(|split| split.mask() != full) {
            return None;
        }
        let of_samples = |edges: &[Edge]| match order.steady_corrections() {
            Some(known) => Arc::clone(known),
            None => {
                let sets: Vec<u64> = order.splits.iter().map(|split| split.mask()).collect();
                Arc::new(Corrections::along(planner, problem.units, edges, &sets))
            }
        };
        let mut search = Self::with_corrections(planner, problem, of_samples);
        search.leaves();
        for split in &order.splits {
            search.follow(*split);
        }
        search.best.contains_key(&full).then(|| search.found())
    }

    /// Joins the parts of a set.
    fn follow(&mut self, split: Split) {
        let [a, b] = split.parts;
        let mask = split.mask();
        let rows = self.rows(mask);
        self.remember_set(mask, rows);
        let units = [a, b].into_iter().filter(|part| part.count_ones() == 1);
        let units: Vec<usize> = units.flat_map(bits).collect();
        // As in the search, the left part has the lowest unit.
        let lowest = 1 << mask.trailing_zeros();
        let (left, right) = if a & lowest != 0 { (a, b) } else { (b, a) };
        for cross in [false, true] {
            for unit_idx in &units {
                self.try_unit(mask, *unit_idx, rows, cross);
            }
            self.try_split(left, right, rows, cross);
        }
    }
}
