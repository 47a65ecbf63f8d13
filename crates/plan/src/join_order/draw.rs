//! `OrderDraw`: another way to join than the cheapest, for tests and measurements.
//!
//! The search compares costs; with a draw it compares costs that were multiplied by factors, or nothing but random numbers.
//! Every step to every set of units has a factor of its own, so that any join order, any way to join and any shape of the
//! tree can come out; answers stay the same. Who asks for many draws has a sample of all plans that the search
//! could have chosen (the idea is QuickPick's: Waas, Pellenkoft, "Join order selection: good enough is easy", BNCOD 2000).
//!
//! Invariant: a seed gives the same plan over the same statistics. Cost: some ten nanoseconds a step; nothing without a draw.

use super::search::Step;
use crate::physical::StarEntry;

/// How the costs of the join search are changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrderDraw {
    /// Tells one draw from another.
    pub seed: u64,
    /// The largest factor: costs become up to so many times larger or smaller. `None` takes any order, as likely as any other
    /// at each set of units.
    pub spread: Option<f64>,
}

impl OrderDraw {
    /// What a step to a set of units is compared by.
    pub(super) fn weigh(self, mask: u64, step: Step, cost: f64) -> f64 {
        let share = self.share(mask, step);
        match self.spread {
            Some(spread) => cost * spread.max(1.0).powf(2.0 * share - 1.0),
            None => share,
        }
    }

    /// From 0 to 1, for each step another.
    fn share(self, mask: u64, step: Step) -> f64 {
        let (way, part) = match step {
            Step::Leaf { unit_idx } => (0, unit_idx as u64),
            Step::Star {
                unit_idx, entry, ..
            } => match entry {
                StarEntry::Subject => (1, unit_idx as u64),
                StarEntry::Object { pattern_idx } => (9 + pattern_idx as u64, unit_idx as u64),
                StarEntry::Graph => (8, unit_idx as u64),
            },
            Step::Pattern { unit_idx, .. } => (2, unit_idx as u64),
            Step::Path { unit_idx, .. } => (3, unit_idx as u64),
            Step::Hash {
                left, build_left, ..
            } => (4 + u64::from(build_left), left),
            Step::Merge { left, .. } => (6, left),
            Step::Count { unit_idx, .. } => (7, unit_idx as u64),
        };
        let parts = [self.seed, mask, way, part];
        let mixed = parts.into_iter().fold(0, |state, part| mix(state ^ part));
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// One step of SplitMix64: neighbours become unrelated.
pub(super) fn mix(state: u64) -> u64 {
    let mut mixed = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_stay_within_the_spread_and_differ() {
        let step = Step::Leaf { unit_idx: 3 };
        let mut least = f64::INFINITY;
        let mut most = 0.0f64;
        for seed in 0..200 {
            let draw = OrderDraw {
                seed,
                spread: Some(10.0),
            };
            let cost = draw.weigh(5, step, 7.0);
            assert_eq!(cost, draw.weigh(5, step, 7.0));
            least = least.min(cost);
            most = most.max(cost);
        }
        assert!((0.7..1.4).contains(&least), "{least}");
        assert!((35.0..=70.0).contains(&most), "{most}");
        let any = OrderDraw {
            seed: 1,
            spread: None,
        };
        assert_eq!(any.weigh(5, step, 7.0), any.weigh(5, step, 7e9));
        assert_ne!(any.weigh(5, step, 7.0), any.weigh(6, step, 7.0));
    }
}
