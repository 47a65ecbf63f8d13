//! `SampledSets`: rows of sets of joined stars, by samples ([`JoinSample`]) instead of formulas.
//!
//! Sets grow by a star at a time, all of two before those of three, until [`EXTENSIONS_MAX`] samples were made. A set is sampled
//! from the smaller one whose solutions tell most of it: those that are all known, or that lead to one subject each; many solutions that
//! lead to subjects with very unequal numbers of partners tell least. Where the sample itself shows that it tells little, another one is tried.
//!
//! What is joined by other slots than subjects and required objects (graphs), and what is no star (paths, patterns, sub-plans), is left to formulas,
//! as are sets beyond the limit: their rows are those of the formulas, times what the samples of parts of them differ from theirs.
//!
//! Cost: some 20 µs for each set. So it is done only where a star has [`WORTH_ROWS`] rows or more and a wrong order would cost more, and
//! once for the same stars of a query.

use super::join_sample::{FAN_OUT_VARIANCE, JoinSample, KnownStar, Meeting, WALKS};
use super::search::bits;
use crate::physical::{Position, Slot, Star};
use crate::planner::Planner;
use crate::slot_set::SlotSet;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A star with so many rows makes sampling worth its time.
pub(super) const WORTH_ROWS: f64 = 1_000.0;
/// Samples of sets that are made for one group.
const EXTENSIONS_MAX: usize = 40;
/// Smaller sets that a set is sampled from at most.
const WAYS: usize = 2;
/// With so small a relative variance of its rows no other way to a set is tried: they are right within a third.
const VARIANCE_GOOD: f64 = 0.1;
/// With so small a relative variance that is to be expected of a way to a pair the other one is not looked at: it is right within a seventh,
/// and a sample of one star takes as long as the way itself.
const VARIANCE_SMALL: f64 = 0.02;

/// Rows of sets of stars, which are bits in the order of the stars.
#[derive(Debug, Default)]
pub(crate) struct SampledSets {
    /// Rows by set.
    rows: BTreeMap<u64, f64>,
    /// The stars that share a slot with each.
    neighbours: Vec<u64>,
}

/// What sampling a group needs.
struct Sampling<'a, 'p> {
    planner: &'a Planner<'p>,
    stars: &'a [KnownStar<'a>],
    /// For each star the slots by which it can be met.
    slots: Vec<SlotSet>,
    neighbours: Vec<u64>,
    /// Rows of a set by formulas.
    even: &'a dyn Fn(u64) -> f64,
    samples: BTreeMap<u64, Option<Arc<JoinSample>>>,
    /// Samples that may still be made.
    left: usize,
}

/// A way to a set: the smaller one, the star that is added, and how it is met.
struct Growth {
    from: u64,
    star_idx: usize,
    meeting: Meeting,
    /// The relative variance that is to be expected.
    expected: f64,
}

impl SampledSets {
    /// Samples joins of stars; `even` tells the rows of a set by formulas.
    pub(super) fn of(
        planner: &Planner<'_>,
        stars: &[KnownStar<'_>],
        even: &dyn Fn(u64) -> f64,
    ) -> Self {
        let Some(mut sampling) = Sampling::new(planner, stars, even) else {
            return Self::default();
        };
        sampling.run();
        sampling.finish()
    }

    /// As [`Self::of`], of these sets alone, and what leads to them.
    pub(super) fn along(
        planner: &Planner<'_>,
        stars: &[KnownStar<'_>],
        even: &dyn Fn(u64) -> f64,
        sets: &[u64],
    ) -> Self {
        let Some(mut sampling) = Sampling::new(planner, stars, even) else {
            return Self::default();
        };
        sets.iter().for_each(|set| sampling.reach(*set));
        sampling.finish()
    }

    /// The sampled sets with their rows.
    pub(super) fn rows(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        self.rows.iter().map(|(mask, rows)| (*mask, *rows))
    }

    /// The stars that share a slot with a star.
    pub(super) fn neighbours(&self) -> &[u64] {
        &self.neighbours
    }
}

/// The slots that all solutions of a star bind: its subject and required objects.
pub(super) fn met_by(star: &Star) -> SlotSet {
    let required = star.patterns.iter().filter(|pattern| !pattern.optional);
    let objects = required.filter_map(|pattern| pattern.object.slot());
    objects.chain(star.subject.slot()).collect()
}

impl<'a, 'p> Sampling<'a, 'p> {
    /// `None` where sampling is not worth its time.
    fn new(
        planner: &'a Planner<'p>,
        stars: &'a [KnownStar<'a>],
        even: &'a dyn Fn(u64) -> f64,
    ) -> Option<Self> {
        let slots: Vec<SlotSet> = stars.iter().map(|known| met_by(known.star)).collect();
        let neighbours = slots.iter().enumerate().map(|(idx, own)| {
            let others = slots.iter().enumerate();
            let others = others.filter(|(other, slots)| *other != idx && !own.is_disjoint(slots));
            others.fold(0, |mask, (other, _)| mask | 1 << other)
        });
        let neighbours: Vec<u64> = neighbours.collect();
        let is_worth = stars.iter().any(|known| known.profile.rows >= WORTH_ROWS);
        let is_joined = neighbours.iter().any(|others| *others != 0);
        (is_worth && is_joined).then_some(Self {
            planner,
            stars,
            slots,
            neighbours,
            even,
            samples: BTreeMap::new(),
            left: EXTENSIONS_MAX,
        })
    }

    fn finish(self) -> SampledSets {
        let samples = self.samples.into_iter();
        let rows = samples.filter_map(|(mask, sample)| Some((mask, sample?.rows)));
        SampledSets {
            rows: rows.filter(|(mask, _)| mask.count_ones() > 1).collect(),
            neighbours: self.neighbours,
        }
    }

    /// Samples a set, from the largest part of it that was sampled.
    fn reach(&mut self, set: u64) {
        let parts = self.samples.keys().filter(|part| *part & !set == 0);
        let largest = parts.max_by_key(|part| part.count_ones()).copied();
        let mut mask = largest.unwrap_or(set & set.wrapping_neg());
        // Termination: the mask grows with each turn, within the set.
        while mask != set && self.left > 0 {
            let Some(next) = bits(self.around(mask) & set).next() else {
                return;
            };
            mask |= 1 << next;
            let sample = self.sample(mask).map(Arc::new);
            let is_alive = sample.as_ref().is_some_and(|sample| sample.is_alive());
            self.samples.insert(mask, sample);
            if !is_alive {
                return;
            }
        }
    }

    /// The stars that share slots with some of a set and are not among them.
    fn around(&self, mask: u64) -> u64 {
        bits(mask).fold(0, |all, idx| all | self.neighbours[idx]) & !mask
    }

    fn run(&mut self) {
        let mut level: BTreeSet<u64> = (0..self.stars.len()).map(|idx| 1 << idx).collect();
        while !level.is_empty() {
            let grown = level
                .iter()
                .flat_map(|mask| bits(self.around(*mask)).map(move |idx| mask | 1 << idx));
            let grown: BTreeSet<u64> = grown.collect();
            for mask in &grown {
                if self.left == 0 {
                    return;
                }
                let sample = self.sample(*mask).map(Arc::new);
                self.samples.insert(*mask, sample);
            }
            // A set grows from samples that have something left, so the others lead nowhere.
            let leads_on = |mask: &u64| {
                let sample = self.samples.get(mask);
                sample.is_some_and(|sample| sample.as_ref().is_some_and(|s| s.is_alive()))
            };
            level = grown.into_iter().filter(leads_on).collect();
        }
    }

    /// The sample of a set of several stars, from one of the smaller ones.
    fn sample(&mut self, mask: u64) -> Option<JoinSample> {
        let mut best: Option<JoinSample> = None;
        let mut tried = 0_u64;
        for _ in 0..WAYS {
            let Some(way) = self.next_way(mask, tried) else {
                break;
            };
            tried |= 1 << way.star_idx;
            let from = self.samples.get(&way.from)?.as_ref()?;
            let known = self.stars[way.star_idx];
            let kept = self.kept(mask);
            self.left = self.left.saturating_sub(1);
            let sample = from.with_star(self.planner, known, way.meeting, &kept, mask);
            let Some(mut sample) = sample else {
                continue;
            };
            if !sample.is_alive() && !sample.is_complete {
                // Nothing was met: what is known is that there are not many.
                sample.rows = sample.rows.min((self.even)(mask));
            }
            let is_good = sample.is_complete || sample.variance <= VARIANCE_GOOD;
            let rank = |sample: &JoinSample| (sample.variance, sample.rows);
            if best.as_ref().is_none_or(|best| rank(&sample) < rank(best)) {
                best = Some(sample);
            }
            if is_good {
                break;
            }
        }
        best
    }

    /// Of the ways to a set that were not tried, by the stars added at last, the one that promises to tell most.
    fn next_way(&mut self, mask: u64, tried: u64) -> Option<Growth> {
        if mask.count_ones() == 2 {
            self.singles(mask, tried == 0);
        }
        let ways = bits(mask & !tried).filter_map(|idx| self.way(mask, idx));
        ways.min_by(|a, b| a.expected.total_cmp(&b.expected))
    }

    /// Samples the stars of a pair, the smaller one first; if it `may_end`, not the other one where all solutions of the first are known and
    /// lead on to what mostly has the rest: another way would hardly tell more.
    fn singles(&mut self, pair: u64, may_end: bool) {
        let mut stars: Vec<usize> = bits(pair).collect();
        let rows = |star_idx: usize| self.stars[star_idx].profile.rows;
        stars.sort_by(|a, b| rows(*a).total_cmp(&rows(*b)));
        for star_idx in stars {
            self.single(star_idx);
            let mut ways = bits(pair).filter_map(|added| self.way(pair, added));
            if may_end && ways.any(|way| way.expected <= VARIANCE_SMALL) {
                return;
            }
        }
    }

    /// Samples one star, once.
    fn single(&mut self, star_idx: usize) {
        let mask = 1 << star_idx;
        if !self.samples.contains_key(&mask) {
            let kept = self.kept(mask);
            let known = self.stars[star_idx];
            let sample = JoinSample::of_star(self.planner, known, &kept, mask);
            self.samples.insert(mask, sample);
        }
    }

    /// The slots of a set by which other stars are met.
    fn kept(&self, mask: u64) -> SlotSet {
        let all = |inside: bool| {
            let stars = (0..self.stars.len()).filter(|idx| (mask & (1 << idx) != 0) == inside);
            stars.fold(SlotSet::default(), |all, idx| all.union(self.slots[idx]))
        };
        all(true).intersect(all(false))
    }

    /// How many times more rows a set has than without this star: by formulas, and by what is known of its pairs with the others.
    fn growth(&self, mask: u64, star_idx: usize) -> f64 {
        let from = mask & !(1 << star_idx);
        let by_formula = (self.even)(mask) / (self.even)(from).max(f64::MIN_POSITIVE);
        let pairs = bits(from & self.neighbours[star_idx]).map(|other| 1 << star_idx | 1 << other);
        let of_pair = |pair: u64| {
            let known = self.samples.get(&pair).and_then(Option::as_ref);
            let even = (self.even)(pair).max(f64::MIN_POSITIVE);
            known
                .filter(|_| pair != mask)
                .map_or(1.0, |known| known.rows / even)
        };
        by_formula * pairs.map(of_pair).product::<f64>()
    }

    /// How a set could be sampled by adding this star at last; `None` if that cannot be done.
    fn way(&self, mask: u64, star_idx: usize) -> Option<Growth> {
        let from = mask & !(1 << star_idx);
        let sample = self.samples.get(&from)?.as_ref()?;
        if !sample.is_alive() {
            return None;
        }
        let KnownStar { star, profile } = self.stars[star_idx];
        let binds = |slot: Slot| sample.column(slot).is_some();
        let of_fan_out = |pattern_idx: usize| {
            let known = &profile.patterns[pattern_idx];
            known.matches / known.distinct.max(1.0)
        };
        let bound = star.patterns.iter().enumerate();
        let bound = bound.filter(|(_, p)| !p.optional && p.object.slot().is_some_and(binds));
        let by_object = bound
            .map(|(pattern_idx, _)| pattern_idx)
            .min_by(|a, b| of_fan_out(*a).total_cmp(&of_fan_out(*b)));
        let meeting = match star.subject {
            Position::Id(_) => by_object.map(|_| Meeting::Subject)?,
            Position::Slot(slot) if binds(slot) => Meeting::Subject,
            Position::Slot(_) => Meeting::Object {
                pattern_idx: by_object?,
            },
        };
        let growth = self.growth(mask, star_idx);
        let (fan_out, unequal) = match meeting {
            Meeting::Subject => (1.0, 0.0),
            Meeting::Object { pattern_idx } => (of_fan_out(pattern_idx), FAN_OUT_VARIANCE),
        };
        // Of those that are met, the share that is expected to have the rest.
        let share = (growth / fan_out).clamp(1e-6, 1.0);
        let walks = WALKS as f64;
        let (unequal, passing) = match (sample.is_complete, meeting) {
            (true, Meeting::Subject) => (0.0, 0.0),
            (true, Meeting::Object { .. }) => (0.0, (1.0 / share - 1.0) / walks),
            (false, _) => (unequal / walks, (1.0 / share - 1.0) / walks),
        };
        Some(Growth {
            from,
            star_idx,
            meeting,
            expected: sample.variance + unequal + passing,
        })
    }
}
