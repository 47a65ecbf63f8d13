//! `JoinSample`: some solutions of a set of joined stars, and for how many each of them stands.
//!
//! ```text
//! ?x :school ?s .   ?s :type ?t .   ?t :label "university"@en
//! rows of ?x        its ?s          its ?t: has it the label?      64 rows, 40 arrive: 40/64 of all rows of ?x
//! ```
//!
//! A sample of one star are subjects spread over its rows. It grows by a star at a time: from each solution to the subject that it
//! names, or to subjects that have a value of it as an object. How many those are is counted; where they are more than
//! [`WALKS`] in all, so many are drawn of them, each solution's as often as it has partners. So what is popular is met as often as
//! it is linked to, and whether what was met has the other patterns is looked up, not guessed (Leis, Radke, Gubichev, Kemper,
//! Neumann, "Cardinality estimation done right: index-based join sampling", CIDR 2017; the draws of each step are those of a particle filter).
//!
//! Invariants: the weights of the walks sum up to the rows; the same data and query give the same sample; where all solutions were
//! looked at the rows are exact, as far as the first star's are. Cost: [`WALKS`] probes and a cell of each for every pattern, some
//! 20 µs a star.

use super::draw::mix;
use super::drawn_places::draw;
use crate::estimate::star::StarProfile;
use crate::estimate::star_rows;
use crate::physical::{Position, Slot, Star, StarPattern};
use crate::planner::Planner;
use crate::slot_set::SlotSet;
use basalt_rdf::TermId;
use std::sync::Arc;

/// Solutions that are kept of a set of stars.
pub(super) const WALKS: usize = 64;

/// As many times the usual candidates of a star are looked at where less than that share of them passes: 20 to 100 µs.
const MORE_CANDIDATES_MIN: usize = 4;
/// As many at most.
const MORE_CANDIDATES_MAX: usize = 16;

/// The relative variance of the numbers of partners of values at least, whatever was counted: the popular ones are rare, have most of the
/// partners, and may all have been missed.
pub(super) const FAN_OUT_VARIANCE: f64 = 16.0;

/// How the solutions of a sample meet a star.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meeting {
    /// The star's subject is a constant, or a slot that they bind.
    Subject,
    /// They bind the object of this pattern.
    Object { pattern_idx: usize },
}

/// A star with what is known of it.
#[derive(Clone, Copy)]
pub(super) struct KnownStar<'a> {
    pub(super) star: &'a Star,
    pub(super) profile: &'a StarProfile,
}

/// Some solutions of a set of stars.
#[derive(Debug)]
pub(crate) struct JoinSample {
    /// Solutions of the set.
    pub(super) rows: f64,
    /// The relative variance of `rows`, as far as the sample itself can tell.
    pub(super) variance: f64,
    /// Whether these are all solutions.
    pub(super) is_complete: bool,
    /// The slots of which values are kept.
    slots: Vec<Slot>,
    /// For each walk the values of the slots.
    values: Vec<TermId>,
    /// For how many solutions each walk stands.
    weights: Vec<f64>,
}

/// Subjects that the walks of a sample may go on to.
struct Steps {
    /// The walk that each goes on from.
    walks: Vec<usize>,
    subjects: Vec<TermId>,
    /// For how many pairs of a solution and a subject each stands.
    weights: Vec<f64>,
    /// Whether these are all.
    is_complete: bool,
}

impl JoinSample {
    /// A sample of one star that keeps values of these slots, made once for each query; `None` where its rows cannot be looked at, or
    /// what was seen tells of less than half of them.
    pub(super) fn of_star(
        planner: &Planner<'_>,
        known: KnownStar<'_>,
        kept: &SlotSet,
        seed: u64,
    ) -> Option<Arc<Self>> {
        let star = known.star;
        planner.star_samples.get_kept(
            planner.kept([star]).map(|known| &known.samples),
            |(other, slots, drawn)| other == star && slots == kept && *drawn == seed,
            || (star.clone(), *kept, seed),
            || Self::sample_star(planner, known, kept, seed).map(Arc::new),
        )
    }

    fn sample_star(
        planner: &Planner<'_>,
        known: KnownStar<'_>,
        kept: &SlotSet,
        seed: u64,
    ) -> Option<Self> {
        let few = Self::sample_some(planner, known, kept, seed, 1)?;
        // Of few that pass the conditions some are missed that have the most partners.
        let passed = few.weights.len().max(1);
        let mut sample = match (WALKS / passed).min(MORE_CANDIDATES_MAX) {
            times if times >= MORE_CANDIDATES_MIN && !few.is_complete => {
                Self::sample_some(planner, known, kept, seed, times).unwrap_or(few)
            }
            _ => few,
        };
        let seen: f64 = sample.weights.iter().sum();
        if seen * 2.0 < known.profile.rows || sample.weights.is_empty() {
            return None;
        }
        let is_regular = known.profile.patterns.iter().all(|p| p.irregular == 0.0);
        if !(sample.is_complete && is_regular) {
            // How many rows a star has is known better than by this.
            let factor = known.profile.rows / seen;
            sample.weights.iter_mut().for_each(|w| *w *= factor);
            sample.rows = known.profile.rows;
        }
        Some(sample)
    }

    /// The solutions of a star among so many times the usual number of candidates.
    fn sample_some(
        planner: &Planner<'_>,
        known: KnownStar<'_>,
        kept: &SlotSet,
        seed: u64,
        times: usize,
    ) -> Option<Self> {
        let subjects = match known.star.subject {
            Position::Id(subject) => vec![(subject, 1.0)],
            Position::Slot(_) => {
                star_rows::candidates(planner, known.star, &known.profile.patterns, times)?
            }
        };
        let nothing = Self {
            rows: 1.0,
            variance: 0.0,
            is_complete: true,
            slots: Vec::new(),
            values: Vec::new(),
            weights: vec![1.0],
        };
        let steps = Steps {
            walks: vec![0; subjects.len()],
            is_complete: subjects.iter().all(|(_, weight)| *weight <= 1.0),
            weights: subjects.iter().map(|(_, weight)| *weight).collect(),
            subjects: subjects.into_iter().map(|(subject, _)| subject).collect(),
        };
        nothing.walked(planner, known, None, steps, kept, seed)
    }

    /// The sample of the set with one more star; `None` where its subjects cannot be found cheaply.
    pub(super) fn with_star(
        &self,
        planner: &Planner<'_>,
        known: KnownStar<'_>,
        meeting: Meeting,
        kept: &SlotSet,
        seed: u64,
    ) -> Option<Self> {
        match meeting {
            Meeting::Subject => {
                let walks: Vec<usize> = (0..self.weights.len()).collect();
                let subject = |walk: &usize| match known.star.subject {
                    Position::Id(subject) => Some(subject),
                    Position::Slot(slot) => Some(self.value(*walk, self.column(slot)?)),
                };
                let steps = Steps {
                    subjects: walks.iter().map(subject).collect::<Option<_>>()?,
                    weights: self.weights.clone(),
                    is_complete: self.is_complete,
                    walks,
                };
                self.walked(planner, known, None, steps, kept, seed)
            }
            Meeting::Object { pattern_idx } => {
                self.with_subjects(planner, known, pattern_idx, kept, seed)
            }
        }
    }

    /// Goes on to the subjects that have a value as the object of a pattern.
    fn with_subjects(
        &self,
        planner: &Planner<'_>,
        known: KnownStar<'_>,
        pattern_idx: usize,
        kept: &SlotSet,
        seed: u64,
    ) -> Option<Self> {
        let StarPattern {
            predicate, object, ..
        } = known.star.patterns[pattern_idx];
        let column = self.column(object.slot()?)?;
        let walks = 0..self.weights.len();
        let objects: Vec<TermId> = walks.map(|walk| self.value(walk, column)).collect();
        let tables = &known.star.tables;
        let statistics = planner.statistics;
        let counts = statistics.quads_with_objects(tables, predicate, &objects)?;
        if counts.iter().all(|count| *count == 0.0) {
            return Some(self.ended());
        }
        let fan_out = match self.is_complete {
            true => 0.0,
            false => relative_variance(&self.weights, &counts).max(FAN_OUT_VARIANCE / WALKS as f64),
        };
        let groups: Vec<(f64, f64)> = self.weights.iter().copied().zip(counts).collect();
        let drawn = draw(&groups, seed);
        let is_complete = self.is_complete && drawn.is_all;
        let mut sample = if self.is_told_by(planner, known.star, pattern_idx, kept) {
            let weights = groups.iter().map(|(weight, count)| weight * count);
            let steps = Steps {
                walks: (0..groups.len()).collect(),
                subjects: Vec::new(),
                weights: weights.collect(),
                is_complete: self.is_complete,
            };
            self.expanded(&steps, known.profile, Vec::new(), Vec::new(), seed)
        } else {
            let wanted = drawn.places.iter();
            let wanted: Vec<_> = wanted.map(|(walk, n)| (objects[*walk], *n)).collect();
            let steps = Steps {
                subjects: statistics.subjects_with(tables, predicate, &wanted)?,
                walks: drawn.places.into_iter().map(|(walk, _)| walk).collect(),
                weights: drawn.weights,
                is_complete,
            };
            self.walked(planner, known, Some(pattern_idx), steps, kept, seed)?
        };
        sample.variance += fan_out;
        Some(sample)
    }

    /// What is left where no solution has a partner.
    fn ended(&self) -> Self {
        Self {
            rows: half_of_one(&self.weights, self.is_complete),
            variance: f64::INFINITY,
            is_complete: self.is_complete,
            slots: self.slots.clone(),
            values: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// Whether a star asks nothing of its subjects but the object that they are found by: its other patterns have one value each in all of them, and nobody
    /// else asks for these or for the subjects.
    fn is_told_by(
        &self,
        planner: &Planner<'_>,
        star: &Star,
        found_by: usize,
        kept: &SlotSet,
    ) -> bool {
        let is_free = |slot: Slot| !kept.contains(slot) && self.column(slot).is_none();
        let is_open = |position: Position| position.slot().is_some_and(is_free);
        let statistics = planner.statistics;
        // Subjects by irregular quads may have none of the other patterns.
        let all_are_rows = || {
            let found_by = star.patterns[found_by].predicate;
            statistics.irregular(found_by).quads == 0
        };
        let mut others = star.patterns.iter().enumerate();
        let is_sure = |(idx, pattern): (usize, &StarPattern)| {
            let has_one = || star_rows::has_one(planner, star, pattern.predicate);
            idx == found_by || is_open(pattern.object) && all_are_rows() && has_one()
        };
        star_rows::comparisons(star).is_empty() && is_open(star.subject) && others.all(is_sure)
    }

    /// Looks up the patterns of a star for subjects, but the one by which they were found.
    fn walked(
        &self,
        planner: &Planner<'_>,
        known: KnownStar<'_>,
        found_by: Option<usize>,
        mut steps: Steps,
        kept: &SlotSet,
        seed: u64,
    ) -> Option<Self> {
        let before = steps.weights.clone();
        let mut places: Vec<usize> = (0..before.len()).collect();
        let (mut slots, mut lists) = (Vec::new(), Vec::new());
        let mut patterns = self.looked_up(planner, known.star, found_by, &steps.subjects, kept);
        // Patterns of which values are kept come last, when it is known whose.
        patterns.sort_by_key(|(pattern, kept)| (kept.is_some(), pattern.object.slot()));
        for (pattern, kept) in patterns {
            let values = self.values_of(planner, known.star, pattern, kept, &steps)?;
            let Some(slot) = kept else {
                let counts = values.iter().map(|(share, _)| *share);
                steps
                    .weights
                    .iter_mut()
                    .zip(counts)
                    .for_each(|(weight, count)| *weight *= count);
                steps.drop_dead(&mut places);
                continue;
            };
            slots.push(slot);
            lists.push(values);
        }
        if let Position::Slot(slot) = known.star.subject
            && kept.contains(slot)
            && self.column(slot).is_none()
        {
            slots.push(slot);
            let subjects = steps.subjects.iter();
            lists.push(subjects.map(|subject| (1.0, vec![*subject])).collect());
        }
        let mut counts = vec![0.0; before.len()];
        for (idx, place) in places.iter().enumerate() {
            let all: f64 = lists.iter().map(|list| list[idx].0).product();
            counts[*place] = steps.weights[idx] * all / before[*place];
        }
        let is_complete = steps.is_complete;
        let mut sample = self.expanded(&steps, known.profile, slots, lists, seed);
        if !is_complete {
            sample.variance += relative_variance(&before, &counts);
        }
        if sample.weights.is_empty() {
            sample.rows = half_of_one(&before, is_complete);
        }
        Some(sample)
    }

    /// The patterns that have to be looked up, with the slot if its values are kept. One that every row of the star's tables has, once, and
    /// of which nothing is asked need not, if all subjects are such rows.
    fn looked_up<'s>(
        &self,
        planner: &Planner<'_>,
        star: &'s Star,
        found_by: Option<usize>,
        subjects: &[TermId],
        kept: &SlotSet,
    ) -> Vec<(&'s StarPattern, Option<Slot>)> {
        let statistics = planner.statistics;
        let comparisons = star_rows::comparisons(star);
        let is_open = |pattern: &StarPattern| {
            let is_asked = |slot: Slot| {
                let is_bound = self.column(slot).is_some();
                is_bound || kept.contains(slot) || comparisons.iter().any(|c| c.slot == slot)
            };
            pattern.object.slot().is_some_and(|slot| !is_asked(slot))
        };
        let is_row = |subject: &TermId| {
            let table = statistics.table_of(*subject);
            table.is_some_and(|table| star.has_table(table))
        };
        let all_rows = subjects.iter().all(is_row);
        let is_sure = |pattern: &StarPattern| {
            all_rows && is_open(pattern) && star_rows::has_one(planner, star, pattern.predicate)
        };
        let patterns = star.patterns.iter().enumerate();
        let patterns =
            patterns.filter(|(idx, pattern)| Some(*idx) != found_by && !is_sure(pattern));
        let with_slot = |(_, pattern): (usize, &'s StarPattern)| {
            let slot = pattern.object.slot().filter(|_| !pattern.optional);
            let slot = slot.filter(|s| kept.contains(*s) && self.column(*s).is_none());
            (pattern, slot)
        };
        patterns.map(with_slot).collect()
    }

    /// For each subject how many values a pattern has that pass the comparisons, and which, if they are of use. Of a constant, or a value
    /// that the walk binds, it is one or none; of an optional pattern never none.
    fn values_of(
        &self,
        planner: &Planner<'_>,
        star: &Star,
        pattern: &StarPattern,
        kept: Option<Slot>,
        steps: &Steps,
    ) -> Option<Vec<(f64, Vec<TermId>)>> {
        let comparisons = star_rows::comparisons(star);
        let slot = pattern.object.slot();
        let column = slot.and_then(|slot| self.column(slot));
        let passes = |value: TermId| -> f64 {
            let own = comparisons.iter().filter(|c| Some(c.slot) == slot);
            own.map(|comparison| comparison.passes(value)).product()
        };
        let of_subject = |walk: usize, objects: &[TermId]| {
            let wanted = match (pattern.object, column) {
                (Position::Id(object), _) => Some(object),
                (_, Some(column)) => Some(self.value(walk, column)),
                _ => None,
            };
            let count: f64 = match wanted {
                Some(wanted) if objects.contains(&wanted) => passes(wanted),
                Some(_) => 0.0,
                None => objects.iter().map(|value| passes(*value)).sum(),
            };
            match kept {
                _ if pattern.optional => (count.max(1.0), Vec::new()),
                None => (count, Vec::new()),
                Some(_) => {
                    let passing = objects.iter().filter(|value| passes(**value) > 0.0);
                    (count, passing.copied().collect())
                }
            }
        };
        let mut all = Vec::with_capacity(steps.subjects.len());
        let mut walks = steps.walks.iter();
        let subjects = &steps.subjects;
        let is_read = planner
            .statistics
            .objects_of(pattern.predicate, subjects, &mut |objects| {
                all.extend(walks.next().map(|walk| of_subject(*walk, objects)));
            });
        is_read.then_some(all)
    }

    /// The solutions that the steps lead to: each with every combination of the values of new slots, or some of all.
    fn expanded(
        &self,
        steps: &Steps,
        profile: &StarProfile,
        slots: Vec<Slot>,
        lists: Vec<Vec<(f64, Vec<TermId>)>>,
        seed: u64,
    ) -> Self {
        let group = |(place, weight): (usize, &f64)| {
            let lists = || lists.iter().map(|list| &list[place]);
            let count: usize = lists().map(|(_, values)| values.len()).product();
            let passing: f64 = lists().map(|(passing, _)| passing).product();
            let share = passing / (count as f64).max(1.0);
            (weight * share * profile.unlooked, count as f64)
        };
        let groups: Vec<(f64, f64)> = steps.weights.iter().enumerate().map(group).collect();
        let drawn = draw(&groups, mix(seed));
        let mut values = Vec::new();
        for (place, number) in &drawn.places {
            let walk = steps.walks[*place] * self.slots.len();
            values.extend_from_slice(&self.values[walk..walk + self.slots.len()]);
            let mut number = *number as usize;
            for list in &lists {
                let of_place = &list[*place].1;
                values.push(of_place[number % of_place.len()]);
                number /= of_place.len();
            }
        }
        Self {
            rows: drawn.weights.iter().sum(),
            variance: self.variance,
            is_complete: steps.is_complete && drawn.is_all,
            slots: [&self.slots[..], &slots].concat(),
            values,
            weights: drawn.weights,
        }
    }

    /// Where the values of a slot are.
    pub(super) fn column(&self, slot: Slot) -> Option<usize> {
        self.slots.iter().position(|known| *known == slot)
    }

    /// The values of a slot that is kept, of each walk, and for how many solutions it stands.
    pub(super) fn weighted_values(
        &self,
        slot: Slot,
    ) -> Option<impl Iterator<Item = (TermId, f64)>> {
        let column = self.column(slot)?;
        let weights = self.weights.iter().enumerate();
        Some(weights.map(move |(walk, weight)| (self.value(walk, column), *weight)))
    }

    fn value(&self, walk: usize, column: usize) -> TermId {
        self.values[walk * self.slots.len() + column]
    }

    /// Whether there is a solution to go on from.
    pub(super) fn is_alive(&self) -> bool {
        !self.weights.is_empty()
    }
}

impl Steps {
    /// Drops those that stand for nothing, here and in what is told of each.
    fn drop_dead(&mut self, places: &mut Vec<usize>) {
        let is_alive: Vec<bool> = self.weights.iter().map(|weight| *weight > 0.0).collect();
        if is_alive.iter().all(|alive| *alive) {
            return;
        }
        keep(&is_alive, &mut self.walks);
        keep(&is_alive, &mut self.subjects);
        keep(&is_alive, &mut self.weights);
        keep(&is_alive, places);
    }
}

/// Rows where not one of those looked at has the rest: hardly more than half of what one stands for.
fn half_of_one(weights: &[f64], is_complete: bool) -> f64 {
    let one = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
    match is_complete {
        true => 0.5,
        false => 0.5 * one.max(1.0),
    }
}

fn keep<T>(is_kept: &[bool], values: &mut Vec<T>) {
    let mut place = 0;
    values.retain(|_| {
        place += 1;
        is_kept[place - 1]
    });
}

/// The variance of a mean of values with these weights, divided by its square.
fn relative_variance(weights: &[f64], values: &[f64]) -> f64 {
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        let pairs = weights.iter().zip(values);
        pairs.map(|(weight, value)| of(*weight, *value)).sum()
    };
    let all = sum(&|weight, _| weight);
    let mean = sum(&|weight, value| weight * value) / all;
    if mean.is_nan() || mean <= 0.0 {
        return f64::INFINITY;
    }
    let variance = sum(&|weight, value| weight * (value - mean).powi(2)) / all;
    // What so many of unequal weights are worth.
    let count = all * all / sum(&|weight, _| weight * weight);
    variance / (mean * mean) / count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variance_is_that_of_a_mean() {
        assert_eq!(relative_variance(&[1.0; 4], &[5.0; 4]), 0.0);
        // The half of 64 pass: 1/64.
        let passed: Vec<f64> = (0..64).map(|i| f64::from(i % 2)).collect();
        let variance = relative_variance(&[3.0; 64], &passed);
        assert!((variance - 1.0 / 64.0).abs() < 1e-9, "{variance}");
        assert_eq!(relative_variance(&[1.0; 4], &[0.0; 4]), f64::INFINITY);
        assert_eq!(relative_variance(&[], &[]), f64::INFINITY);
    }
}
