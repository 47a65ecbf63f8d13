//! The search itself: the cheapest way to each set of units.
//!
//! Sets are bit masks. Exact search fills all sets in order of their number (every proper subset
//! has a smaller one); greedy search grows one set from the unit with the fewest rows. Cross
//! products are tried only for few units or where nothing connects.

mod follow;

use super::corrections::Corrections;
use super::costs::{
    JoinInput, hash_cost, hash_pairs_cost, pattern_probe_cost, star_join_cost, unkeyed_cost,
};
use super::count_by_object::CountByObject;
use super::edges::Edge;
use super::entries::{entries, entry_way};
use super::join_keys::{JoinKeys, near_from, shared_slots};
use super::join_sample::KnownStar;
use super::mask_map::MaskMap;
use super::{Condition, EXACT_UNITS_MAX, Problem, Unit, UnitKind};
use crate::alternative::{Alternative, Way, keep_cheaper};
use crate::cost_constants::{EMIT_ROW, MERGE_ROW, PAIR, PATTERN_PROBE, START};
use crate::estimate::star::StarProfile;
use crate::estimate::{condition, path};
use crate::join_ranges::is_range;
use crate::physical::{Slot, Star, StarEntry};
use crate::planner::{ForceJoin, Planner};
use crate::slot_set::SlotSet;
use std::sync::Arc;

/// Units up to which cross products are always considered.
const CROSS_UNITS_MAX: usize = 6;

/// How a set of units is produced.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Leaf {
        unit_idx: usize,
    },
    Star {
        rest: u64,
        unit_idx: usize,
        entry: StarEntry,
    },
    Pattern {
        rest: u64,
        unit_idx: usize,
    },
    Path {
        rest: u64,
        unit_idx: usize,
    },
    Count {
        rest: u64,
        unit_idx: usize,
    },
    Hash {
        left: u64,
        right: u64,
        build_left: bool,
    },
    Merge {
        left: u64,
        right: u64,
        key: Slot,
    },
}

/// The cheapest way to one set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) step: Step,
    pub(crate) rows: f64,
    pub(crate) cost: f64,
    sorted_by: Option<Slot>,
    /// The cheapest other way to the set.
    pub(crate) alternative: Option<Alternative>,
}

impl Step {
    /// The way that the step goes; reading a unit alone is none.
    fn way(self, units: &[Unit]) -> Option<Way> {
        Some(match self {
            Self::Leaf { .. } => return None,
            Self::Star {
                unit_idx, entry, ..
            } => match &units[unit_idx].kind {
                UnitKind::Star(star) => entry_way(star, entry),
                _ => Way::StarSubject,
            },
            Self::Pattern { .. } => Way::Pattern,
            Self::Path { .. } => Way::Path,
            Self::Count { .. } => Way::Count,
            Self::Hash { .. } => Way::Hash,
            Self::Merge { .. } => Way::Merge,
        })
    }
}

/// What the search found.
pub(crate) struct Found {
    pub(crate) best: MaskMap<Candidate>,
    pub(crate) full: u64,
    /// What samples of joins said.
    pub(super) corrections: Arc<Corrections>,
}

pub(crate) struct Search<'s> {
    planner: &'s Planner<'s>,
    problem: &'s Problem<'s>,
    best: MaskMap<Candidate>,
    /// Slots and certain slots of each set met.
    slots: MaskMap<(SlotSet, SlotSet)>,
    /// Bits of the conditions that each of them settles.
    settled: MaskMap<u64>,
    /// Units that share a slot with each unit.
    neighbours: Vec<u64>,
    /// Units whose rows differ from one outer row to the next.
    of_outer_row: u64,
    /// Slots of more than one unit.
    edges: Vec<Edge>,
    /// What samples of joins say instead.
    corrections: Arc<Corrections>,
    /// Distinct values of those slots.
    keys: JoinKeys<'s>,
}

impl<'s> Search<'s> {
    pub(crate) fn new(planner: &'s Planner<'_>, problem: &'s Problem<'s>) -> Self {
        Self::with_corrections(planner, problem, |edges| {
            Arc::new(Corrections::of(planner, problem.units, edges))
        })
    }

    fn with_corrections(
        planner: &'s Planner<'_>,
        problem: &'s Problem<'s>,
        corrections: impl FnOnce(&[Edge]) -> Arc<Corrections>,
    ) -> Self {
        let units = problem.units;
        let neighbours = units.iter().enumerate().map(|(idx, unit)| {
            let others = units.iter().enumerate().filter(|(other, candidate)| {
                *other != idx && !unit.slots.is_disjoint(&candidate.slots)
            });
            others.fold(0, |mask, (other, _)| mask | 1 << other)
        });
        let shared = shared_slots(units);
        let edges = Edge::all(planner, units, &shared.to_vec());
        Self {
            planner,
            problem,
            best: MaskMap::default(),
            slots: MaskMap::default(),
            settled: MaskMap::default(),
            neighbours: neighbours.collect(),
            of_outer_row: planner.of_outer_row(units),
            corrections: corrections(&edges),
            edges,
            keys: JoinKeys::new(units, &shared),
        }
    }

    pub(crate) fn run(mut self) -> Found {
        self.leaves();
        let full = self.problem.all();
        if self.problem.units.len() <= EXACT_UNITS_MAX {
            for mask in 1..=full {
                if mask.count_ones() > 1 {
                    self.exact(mask);
                }
            }
        } else {
            self.greedy(full);
        }
        self.found()
    }

    fn found(self) -> Found {
        Found {
            best: self.best,
            full: self.problem.all(),
            corrections: self.corrections,
        }
    }

    /// Begins with each unit alone.
    fn leaves(&mut self) {
        (0..self.problem.units.len()).for_each(|unit_idx| self.leaf(unit_idx));
    }

    fn leaf(&mut self, unit_idx: usize) {
        let unit = &self.problem.units[unit_idx];
        let mask = 1 << unit_idx;
        self.slots.insert(mask, (unit.slots, unit.certain));
        self.settled.insert(mask, self.problem.covered(mask));
        let sorted_by = match &unit.kind {
            UnitKind::Star(star) => scan_order(star, unit.profile.as_ref()),
            UnitKind::Plan(node) => node.sorted_by.first().copied(),
            _ => None,
        };
        let rows = self.rows(mask);
        self.keys.add_set(mask, rows);
        let step = Step::Leaf { unit_idx };
        self.best.insert(
            mask,
            Candidate {
                step,
                rows,
                cost: unit.cost,
                sorted_by,
                alternative: None,
            },
        );
    }

    /// Rows of a set of units, whatever the order.
    fn rows(&self, mask: u64) -> f64 {
        let units = self.problem.units;
        let inside = || bits(mask).map(|i| &units[i]);
        let mut rows: f64 = inside().map(Unit::some_rows).product();
        for edge in &self.edges {
            rows /= edge.divisor(units, mask);
        }
        rows *= self.corrections.factor(mask);
        let mut pending = self.problem.covered(mask);
        for (idx, condition) in self.problem.conditions.iter().enumerate() {
            let counted = inside().any(|unit| condition.slots.is_subset(&unit.certain));
            if pending & (1 << idx) != 0 && (condition.exists || !counted) {
                rows *= condition::selectivity(&condition.expr, &|slot| {
                    inside().find_map(|unit| unit.statistics(slot))
                });
            }
            pending &= !(1 << idx);
        }
        rows
    }

    fn exact(&mut self, mask: u64) {
        let rows = self.rows(mask);
        let lowest = 1u64 << mask.trailing_zeros();
        self.remember_set(mask, rows);
        for cross in [false, true] {
            for unit_idx in self.cheapest_first(mask) {
                self.try_unit(mask, unit_idx, rows, cross);
            }
            // Every split once: the left part has the lowest unit.
            let rest = mask & !lowest;
            let mut part = rest;
            loop {
                part = part.wrapping_sub(1) & rest;
                let left = part | lowest;
                let right = mask & !left;
                if right != 0 {
                    self.try_split(left, right, rows, cross);
                }
                if part == 0 {
                    break;
                }
            }
            let enough = self.best.contains_key(&mask);
            if enough && self.problem.units.len() > CROSS_UNITS_MAX {
                break;
            }
        }
    }

    /// The units of a set, by what the rest without each of them costs: after a good plan others need no look at the data.
    fn cheapest_first(&self, mask: u64) -> Vec<usize> {
        let cost = |idx: usize| self.best.get(&(mask & !(1 << idx))).map(|rest| rest.cost);
        let cost = |idx: usize| cost(idx).unwrap_or(f64::INFINITY);
        let mut units: Vec<usize> = bits(mask).collect();
        units.sort_by(|a, b| cost(*a).total_cmp(&cost(*b)));
        units
    }

    fn greedy(&mut self, full: u64) {
        let cheapest = bits(full).min_by(|a, b| {
            let rows = |idx: usize| self.problem.units[idx].rows;
            rows(*a).total_cmp(&rows(*b))
        });
        let mut mask = cheapest.map_or(0, |idx| 1u64 << idx);
        while mask != full {
            let connected = bits(full & !mask).filter(|idx| self.neighbours[*idx] & mask != 0);
            let mut next: Vec<usize> = connected.collect();
            if next.is_empty() {
                next = bits(full & !mask).collect();
            }
            let mut chosen: Option<(f64, u64)> = None;
            for unit_idx in next {
                let grown = mask | 1 << unit_idx;
                let rows = self.rows(grown);
                self.remember_set(grown, rows);
                self.try_unit(grown, unit_idx, rows, false);
                self.try_split(mask, 1 << unit_idx, rows, true);
                self.try_split(mask, 1 << unit_idx, rows, false);
                let score = self.best[&grown].cost + rows;
                if chosen.is_none_or(|(least, _)| score < least) {
                    chosen = Some((score, grown));
                }
            }
            match chosen {
                Some((_, grown)) => mask = grown,
                None => break,
            }
        }
    }

    fn remember_set(&mut self, mask: u64, rows: f64) {
        self.keys.add_set(mask, rows);
        let units = self.problem.units;
        let all = bits(mask).fold(
            (SlotSet::default(), SlotSet::default()),
            |(slots, certain), i| (slots.union(units[i].slots), certain.union(units[i].certain)),
        );
        self.slots.insert(mask, all);
        self.settled.insert(mask, self.problem.covered(mask));
    }

    /// Bits of the conditions that a set met settles.
    fn settled(&self, mask: u64) -> u64 {
        self.settled.get(&mask).copied().unwrap_or_default()
    }

    /// Keeps the candidate if it is the cheapest, after the costs that all ways share.
    fn offer(&mut self, mask: u64, parts: [u64; 2], candidate: Candidate) {
        let mut candidate = candidate;
        let before = self.settled(parts[0]) | self.settled(parts[1]);
        let fresh = self.settled(mask) & !before;
        for idx in bits(fresh) {
            let condition = &self.problem.conditions[idx];
            let each = if condition.exists {
                PATTERN_PROBE
            } else {
                condition::cost(&condition.expr)
            };
            candidate.cost += candidate.rows * each;
        }
        if !matches!(candidate.step, Step::Star { .. }) {
            candidate.cost += candidate.rows * EMIT_ROW;
        }
        if let Some(draw) = self.planner.options.order_draw {
            candidate.cost = draw.weigh(mask, candidate.step, candidate.cost);
        }
        let Some(best) = self.best.get_mut(&mask) else {
            self.best.insert(mask, candidate);
            return;
        };
        let units = self.problem.units;
        let (known, way) = (best.step.way(units), candidate.step.way(units));
        if best.cost <= candidate.cost {
            if let Some(way) = way
                && known != Some(way)
            {
                keep_cheaper(&mut best.alternative, way, candidate.cost);
            }
            return;
        }
        // The best one is never dearer than its alternative, so it takes that place unless it goes the same way.
        candidate.alternative = match known {
            Some(known) if Some(known) != way => Some(Alternative {
                way: known,
                cost: best.cost,
            }),
            _ => best.alternative,
        };
        *best = candidate;
    }

    /// Looks up one unit for each row of the rest.
    fn try_unit(&mut self, mask: u64, unit_idx: usize, rows: f64, cross: bool) {
        let rest = mask & !(1 << unit_idx);
        let problem = self.problem;
        let unit = &problem.units[unit_idx];
        let connected = self.neighbours[unit_idx] & rest != 0;
        let Some(input) = self.best.get(&rest).copied() else {
            return;
        };
        let (slots, certain) = self.slots[&rest];
        let shared = slots.intersect(unit.slots);
        let both = shared.is_subset(&certain) && shared.is_subset(&unit.certain);
        if cross == connected || !both {
            return;
        }
        let forced_hash = matches!(
            self.planner.options.force_join,
            Some(ForceJoin::Hash | ForceJoin::Merge)
        );
        if forced_hash {
            return;
        }
        let mut offers: Vec<(Step, f64)> = Vec::new();
        match (&unit.kind, &unit.profile) {
            (UnitKind::Star(star), Some(profile)) => {
                let known = KnownStar { star, profile };
                offers = self.star_offers((mask, unit_idx), known, &shared, rows);
            }
            (UnitKind::Pattern(pattern), _) if connected => {
                let step = Step::Pattern { rest, unit_idx };
                let probe = pattern_probe_cost(self.planner, pattern, &shared);
                offers.push((step, START + input.rows * probe));
            }
            (UnitKind::Path(pattern), _) if connected => {
                let step = Step::Path { rest, unit_idx };
                let values = |slot| self.keys.values(rest, slot);
                let cost = path::join_cost(self.planner, pattern, input.rows, &shared, values);
                offers.push((step, cost));
            }
            (UnitKind::Plan(plan), _) => {
                let probes = CountByObject::of(plan)
                    .and_then(|counted| counted.probes_cost(self.planner, &shared, input.rows));
                if let Some(probes) = probes {
                    offers.push((Step::Count { rest, unit_idx }, START + probes));
                }
            }
            _ => {}
        }
        for (step, cost) in offers {
            let cost = match self.planner.options.force_join {
                Some(ForceJoin::Index) => 0.0,
                _ => input.cost + cost,
            };
            let candidate = Candidate {
                step,
                rows,
                cost,
                sorted_by: None,
                alternative: None,
            };
            self.offer(mask, [rest, 1 << unit_idx], candidate);
        }
    }

    /// The ways to join a star to the rest of a set, with their costs.
    fn star_offers(
        &mut self,
        (mask, unit_idx): (u64, usize),
        KnownStar { star, profile }: KnownStar<'_>,
        shared: &SlotSet,
        joined: f64,
    ) -> Vec<(Step, f64)> {
        let rest = mask & !(1 << unit_idx);
        let input = self.best[&rest];
        // What costs more than another plan before the join is not worth a look at the data.
        let known = self.best.get(&mask).map(|best| best.cost);
        let can_win = known.is_none_or(|known| input.cost < known)
            || self.planner.options.order_draw.is_some();
        let source = star.subject.slot();
        let join_input = JoinInput {
            rows: input.rows,
            keys_per_row: match self.only_key(rest, unit_idx, shared) {
                Some(key) => {
                    let of = (rest, key);
                    self.keys
                        .per_row(self.planner, &self.best, of, joined, can_win)
                }
                None => 1.0,
            },
            joined,
            source: source.and_then(|slot| self.keys.source(rest, slot)),
            looked_share: 1.0,
            shared: *shared,
        };
        let of_entry = |entry: StarEntry| {
            let step = Step::Star {
                rest,
                unit_idx,
                entry,
            };
            (step, star_join_cost(star, profile, entry, join_input))
        };
        entries(star, shared).into_iter().map(of_entry).collect()
    }

    /// The one slot through which a unit is joined to a set of units, where its solutions depend on nothing else of a row.
    fn only_key(&self, rest: u64, unit_idx: usize, shared: &SlotSet) -> Option<Slot> {
        let [key] = shared.to_vec()[..] else {
            return None;
        };
        // A condition that the join settles may read other slots of the row.
        let (before, own) = (self.slots[&rest].0, self.problem.units[unit_idx].slots);
        let is_across = |c: &Condition| {
            !c.exists
                && c.slots.is_subset(&before.union(own))
                && !c.slots.is_subset(&before)
                && !c.slots.is_subset(&own)
        };
        let is_alone = !self.problem.conditions.iter().any(is_across);
        is_alone.then_some(key)
    }

    /// Whether a condition that is settled once two sets are joined bounds the partners of rows.
    fn has_range(&self, left: u64, right: u64) -> bool {
        let fresh = self.settled(left | right) & !(self.settled(left) | self.settled(right));
        let sides = (self.slots[&left].0, self.slots[&right].0);
        let mut conditions = bits(fresh).map(|idx| &self.problem.conditions[idx]);
        conditions.any(|condition| is_range(&condition.expr, &sides.0, &sides.1))
    }

    /// Making two sets, a hash table of the first and looking the rows of the second up in it.
    fn built_cost(&self, sides: [(u64, &Candidate); 2], near_from: f64) -> f64 {
        let [(built, build), (probed, probe)] = sides;
        let hashed = hash_cost(build.rows, probe.rows, build.rows >= near_from);
        let is_kept = built & self.of_outer_row == 0 && probed & self.of_outer_row != 0;
        let saved = match is_kept {
            true => self.planner.saved_of_build(build.rows, build.cost),
            false => 0.0,
        };
        START + build.cost + probe.cost + hashed - saved
    }

    /// Joins two sets by hashing, or by merging where they are sorted.
    fn try_split(&mut self, left: u64, right: u64, rows: f64, cross: bool) {
        let connected = bits(right).any(|idx| self.neighbours[idx] & left != 0);
        if cross == connected {
            return;
        }
        let (Some(a), Some(b)) = (self.best.get(&left), self.best.get(&right)) else {
            return;
        };
        let (a, b) = (*a, *b);
        let ((a_slots, a_certain), (b_slots, b_certain)) = (self.slots[&left], self.slots[&right]);
        let shared = a_slots.intersect(b_slots);
        let keys = shared.intersect(a_certain).intersect(b_certain);
        let mask = left | right;
        let in_range = keys.is_empty() && shared.is_empty() && self.has_range(left, right);
        let near_from = near_from(bits(mask).map(|idx| &self.problem.units[idx]), &keys);
        for build_left in [false, true] {
            let sides = match build_left {
                true => [(left, &a), (right, &b)],
                false => [(right, &b), (left, &a)],
            };
            let mut cost = self.built_cost(sides, near_from) + hash_pairs_cost(rows);
            if keys.is_empty() {
                cost += unkeyed_cost((a.rows, b.rows), in_range.then_some(rows));
            } else if !shared.is_subset(&keys) {
                // Partners by the keys alone are compared by what a side may lack.
                let pairs = self.keys.pairs((left, a.rows), (right, b.rows), &keys);
                cost += (pairs - rows).max(0.0) * PAIR;
            }
            let step = Step::Hash {
                left,
                right,
                build_left,
            };
            self.offer(
                mask,
                [left, right],
                Candidate {
                    step,
                    rows,
                    cost,
                    sorted_by: None,
                    alternative: None,
                },
            );
        }
        if let (Some(key), Some(other)) = (a.sorted_by, b.sorted_by)
            && key == other
            && shared.to_vec() == [key]
            && keys.contains(key)
        {
            let forced = self.planner.options.force_join == Some(ForceJoin::Merge);
            let cost = if forced {
                0.0
            } else {
                a.cost + b.cost + (a.rows + b.rows) * MERGE_ROW
            };
            let step = Step::Merge { left, right, key };
            self.offer(
                mask,
                [left, right],
                Candidate {
                    step,
                    rows,
                    cost,
                    sorted_by: Some(key),
                    alternative: None,
                },
            );
        }
    }
}

/// The indexes of the bits set.
pub(crate) fn bits(mask: u64) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let idx = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (idx < u64::BITS).then_some(idx as usize)
    })
}

/// The subject, where a scan of the star gives it in order: one table and nothing irregular.
pub(crate) fn scan_order(star: &Star, profile: Option<&StarProfile>) -> Option<Slot> {
    let profile = profile?;
    let rows = matches!(profile.access, crate::physical::StarAccess::Rows);
    let regular = profile.patterns.iter().all(|pattern| pattern.is_in_cells);
    let subject = star.subject.slot()?;
    (rows && regular && star.tables.len() == 1).then_some(subject)
}
