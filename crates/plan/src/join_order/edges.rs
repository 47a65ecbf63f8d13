//! What units have in common: by how much a shared slot makes their product smaller.
//!
//! A slot that is the subject of one star and an object of another is a link. The statistics tell how many of the
//! object's values are rows of which table, so the share of links that end in the subject's star is known, and each
//! of them meets one of that star's subjects. Of a pattern with a variable predicate it is known how many quads lead from rows of which table, and to
//! them. For all other slots, all but the smallest of the distinct counts before
//! conditions divide: values of the smaller side are taken to be among those of the larger.
//!
//! The graph of what a pattern finds mostly follows from what is found: a subject, or an object that leads to it. So a unit whose graph is
//! the slot counts for it only where it has no other slot in common with the units.
//!
//! All this takes values as alike, and they are not: some occupations are those of a third of all people. Where it matters,
//! joins of stars are sampled ([`SampledSets`](super::sampled_sets::SampledSets)), and these formulas say the rest.
//!
//! Cost: worked out once for a group, a division for each slot and set of units.

use super::{Unit, UnitKind};
use crate::estimate::star::PatternProfile;
use crate::physical::{Position, Slot, Star, StarPattern};
use crate::planner::Planner;

/// The least share of links that is believed: more subjects than statistics tell of may be there.
const SHARE_MIN: f64 = 1e-4;

/// Cells tell little of a predicate of which more than this share is irregular.
const IRREGULAR_MAX: f64 = 0.3;

/// A slot of several units.
pub(super) struct Edge {
    pub(super) slot: Slot,
    /// The units that have it.
    units: u64,
    /// Those whose graph it is, with the units that they share other slots with.
    graphs: Vec<(usize, u64)>,
    /// The unit that the others are compared with: the one that has the slot as its subject, or any.
    hub: Option<usize>,
    /// For each other unit what its product with the hub is divided by.
    divisors: Vec<(usize, f64)>,
}

impl Edge {
    /// The edges of slots that several units have.
    pub(super) fn all(planner: &Planner<'_>, units: &[Unit], shared: &[Slot]) -> Vec<Self> {
        let of_slot = |slot: &Slot| {
            let others: Vec<u64> = shared
                .iter()
                .filter(|other| *other != slot)
                .map(|other| having(units, *other))
                .collect();
            Self::of(planner, units, *slot, &others)
        };
        shared.iter().map(of_slot).collect()
    }

    /// The edge of a slot; `others` are the units of each other one.
    fn of(planner: &Planner<'_>, units: &[Unit], slot: Slot, others: &[u64]) -> Self {
        let linked = |idx: usize| {
            let of_unit = others.iter().filter(|mask| **mask & (1 << idx) != 0);
            of_unit.fold(0, |all, mask| all | mask) & !(1 << idx)
        };
        let is_graph = |idx: &usize| units[*idx].kind.graph() == Some(slot);
        let graphs = (0..units.len()).filter(is_graph);
        let graphs = graphs.map(|idx| (idx, linked(idx))).collect();
        let mask = having(units, slot);
        let having = || super::search::bits(mask);
        let mut subjects = having().filter(|idx| subject_star(&units[*idx], slot).is_some());
        let (hub, is_subject) = match (subjects.next(), subjects.next()) {
            (Some(only), None) => (Some(only), true),
            (None, _) => (having().next(), false),
            _ => (None, false),
        };
        let divisors = hub.map_or_else(Vec::new, |hub| {
            let others = having().filter(|idx| *idx != hub);
            let divisor = |idx: usize| match is_subject {
                true => subject_divisor(planner, &units[hub], &units[idx], slot),
                false => value_divisor(planner, &units[hub], &units[idx], slot),
            };
            others.map(|idx| (idx, divisor(idx))).collect()
        });
        Self {
            slot,
            units: mask,
            graphs,
            hub,
            divisors,
        }
    }

    /// What the product of the rows of some units is divided by.
    pub(super) fn divisor(&self, units: &[Unit], mask: u64) -> f64 {
        let mut inside = self.units & mask;
        for (idx, linked) in &self.graphs {
            if linked & mask != 0 {
                inside &= !(1 << idx);
            }
        }
        if inside.count_ones() < 2 {
            return 1.0;
        }
        if self.hub.is_some_and(|idx| inside & (1 << idx) != 0) {
            let others = self.divisors.iter();
            let others = others.filter(|(idx, _)| inside & (1 << idx) != 0);
            return others.map(|(_, divisor)| divisor).product();
        }
        let having = super::search::bits(inside);
        let mut distinct: Vec<f64> = having.map(|idx| units[idx].distinct(self.slot)).collect();
        distinct.sort_by(f64::total_cmp);
        distinct.iter().skip(1).product()
    }
}

/// The units that have a slot.
fn having(units: &[Unit], slot: Slot) -> u64 {
    let having = (0..units.len()).filter(|idx| units[*idx].slots.contains(slot));
    having.fold(0, |mask, idx| mask | 1 << idx)
}

fn subject_star(unit: &Unit, slot: Slot) -> Option<&Star> {
    match &unit.kind {
        UnitKind::Star(star) if star.subject == Position::Slot(slot) => Some(star),
        _ => None,
    }
}

/// For two units that both have the slot as an object.
fn value_divisor(planner: &Planner<'_>, a: &Unit, b: &Unit, slot: Slot) -> f64 {
    let even = a.distinct(slot).max(b.distinct(slot));
    let (Some((a_star, from)), Some((b_star, into))) = (object(a, slot), object(b, slot)) else {
        return even;
    };
    if from.irregular_share > IRREGULAR_MAX || into.irregular_share > IRREGULAR_MAX {
        return even;
    }
    let from = (&a_star.tables[..], from.predicate);
    let partners = planner
        .statistics
        .partners(from, (&b_star.tables, into.predicate));
    match partners {
        // Each row of `a` meets so many of the cells, each of which stands for the same part of the rows of `b`.
        Some(partners) if partners > 0.0 => into.cell_values / partners,
        _ => even,
    }
}

/// A star and what is known of the pattern that has the slot as its object.
fn object(unit: &Unit, slot: Slot) -> Option<(&Star, &PatternProfile)> {
    let UnitKind::Star(star) = &unit.kind else {
        return None;
    };
    let of_slot = |pattern: &StarPattern| pattern.object == Position::Slot(slot);
    let pattern_idx = star.patterns.iter().position(of_slot)?;
    Some((star, &unit.profile.as_ref()?.patterns[pattern_idx]))
}

/// For a unit and the star that has the slot as its subject.
fn subject_divisor(planner: &Planner<'_>, subject: &Unit, other: &Unit, slot: Slot) -> f64 {
    open_divisor(planner, subject, other, slot)
        .unwrap_or_else(|| link_divisor(subject, other, slot))
}

/// For a pattern with a variable predicate and the star that has its subject, or its object, as the subject: rows of some tables have far more
/// quads than those of others.
fn open_divisor(planner: &Planner<'_>, subject: &Unit, other: &Unit, slot: Slot) -> Option<f64> {
    let star = subject_star(subject, slot)?;
    let UnitKind::Pattern(pattern) = &other.kind else {
        return None;
    };
    pattern.predicate.slot().filter(|p| *p != slot)?;
    let [is_subject, is_object] =
        [pattern.subject, pattern.object].map(|position| position == Position::Slot(slot));
    if !is_subject && !is_object {
        return None;
    }
    let statistics = planner.statistics;
    let (mut quads, mut rows) = (0.0, 0.0);
    for table in &star.tables {
        let of_row = match is_subject {
            true => statistics.quads_of_row(*table)?,
            false => statistics.links_to_row(*table)?,
        };
        let count = statistics.table_rows(*table) as f64;
        quads += of_row * count;
        rows += count;
    }
    (quads > 0.0).then(|| other.rows / (quads / rows))
}

/// As [`subject_divisor`], by what links tell.
fn link_divisor(subject: &Unit, other: &Unit, slot: Slot) -> f64 {
    let domain = subject.distinct(slot);
    match link_share(subject, other, slot) {
        Some(share) => domain / share.max(SHARE_MIN),
        None => domain.max(other.distinct(slot)),
    }
}

/// The share of a unit's objects that are subjects of a star; `None` where links do not tell.
fn link_share(subject: &Unit, other: &Unit, slot: Slot) -> Option<f64> {
    let (star, profile) = (subject_star(subject, slot)?, subject.profile.as_ref()?);
    let (_, known) = object(other, slot)?;
    if star.tables.is_empty() || known.cell_values <= 0.0 {
        return None;
    }
    let linked: f64 = known.links.iter().map(|(_, count)| count).sum();
    let into = known.links.iter().filter(|(t, _)| star.has_table(*t));
    let into: f64 = into.map(|(_, count)| count).sum();
    // What is no row of any table may be a subject outside of tables.
    let outside = (1.0 - linked / known.cell_values).max(0.0);
    let met = profile.irregular_subjects / (outside * known.distinct).max(1.0);
    Some((into / known.cell_values + outside * met.min(1.0)).min(1.0))
}
