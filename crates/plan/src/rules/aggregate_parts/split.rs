//! How a group falls into parts: which items hang on others by one slot alone.

use crate::estimate::pattern;
use crate::expression::{is_pure, slots_of};
use crate::logical::{JoinGroup, Logical, Triple};
use crate::physical::{Expr, Position, Slot};
use crate::planner::Planner;
use crate::slot_set::SlotSet;

/// Partners of a row, on average, up to which they are joined and not grouped.
const JOINED_PARTNERS_MAX: f64 = 1.2;

/// What a group joins.
enum Item<'g> {
    Triple(&'g Triple),
    Child(&'g Logical),
}

/// The items of a group, and its conditions, with the slots of each.
pub(super) struct Parts<'g> {
    items: Vec<(Item<'g>, SlotSet)>,
    conditions: Vec<(&'g Expr, SlotSet)>,
    /// Slots that something is made of together.
    together: Vec<SlotSet>,
}

/// What is left of some items when parts are taken off.
pub(super) struct Split {
    /// These are joined.
    pub(super) rest: Vec<usize>,
    /// Each of these is grouped by its slot.
    pub(super) parts: Vec<(Slot, Vec<usize>)>,
}

impl<'g> Parts<'g> {
    /// A group's items, if each is a pattern or a child whose slots are always bound, and what is made of slots `together`.
    pub(super) fn of(
        group: &'g JoinGroup,
        together: impl Iterator<Item = SlotSet>,
    ) -> Option<Self> {
        let slots = group.schema();
        let is_plain = group.paths.is_empty()
            && group.triples.iter().all(|triple| !triple.optional)
            && slots.is_subset(&group.certain())
            && group.filters.iter().all(is_pure);
        if !is_plain {
            return None;
        }
        let triples = group.triples.iter();
        let triples = triples.map(|triple| (Item::Triple(triple), triple.slots()));
        let children = group.children.iter();
        let children = children.map(|child| (Item::Child(child), child.schema()));
        let filters = group.filters.iter();
        let conditions: Vec<_> = filters.map(|filter| (filter, slots_of(filter))).collect();
        let items: Vec<_> = triples.chain(children).collect();
        let all_bound = conditions.iter().all(|(_, read)| read.is_subset(&slots));
        let all_share = items.iter().all(|(_, slots)| !slots.is_empty());
        (all_bound && all_share && items.len() > 1).then(|| Self {
            items,
            conditions,
            together: together.collect(),
        })
    }

    pub(super) fn all(&self) -> Vec<usize> {
        (0..self.items.len()).collect()
    }

    pub(super) fn slots(&self, items: &[usize]) -> SlotSet {
        let slots = items.iter().map(|item| self.items[*item].1);
        slots.fold(SlotSet::default(), SlotSet::union)
    }

    /// The items that have any of some slots.
    pub(super) fn having(&self, items: &[usize], slots: SlotSet) -> Vec<usize> {
        let has = |item: &&usize| !self.items[**item].1.is_disjoint(&slots);
        items.iter().filter(has).copied().collect()
    }

    /// The items from which parts are taken off, for each way to do it: those that hold the keys and, if they may be `carried`, those that hold one of them.
    pub(super) fn firsts(
        &self,
        planner: &Planner<'_>,
        keys: &[Slot],
        carried: bool,
    ) -> Vec<Vec<usize>> {
        let all = self.all();
        if !SlotSet::of(keys).is_subset(&self.slots(&all)) {
            return Vec::new();
        }
        let mut firsts = match keys {
            [] => vec![self.largest(planner)],
            keys => vec![self.having(&all, SlotSet::of(keys))],
        };
        for key in keys.iter().filter(|_| carried) {
            let first = self.having(&all, SlotSet::of(&[*key]));
            if !firsts.contains(&first) {
                firsts.push(first);
            }
        }
        firsts.retain(|first| !first.is_empty());
        firsts
    }

    /// The pattern with the most quads, which no group is made of; one in the middle where there is any.
    fn largest(&self, planner: &Planner<'_>) -> Vec<usize> {
        let is_middle = |item: usize| {
            let slots = self.items[item].1.iter();
            let shared = slots.filter(|slot| {
                let mut others = self.items.iter().enumerate();
                others.any(|(other, (_, slots))| other != item && slots.contains(*slot))
            });
            shared.count() > 1
        };
        let quads = |item: usize| match self.items[item].0 {
            Item::Triple(triple) => match triple.predicate {
                Position::Id(predicate) => planner.statistics.predicate_quads(predicate),
                Position::Slot(_) => planner.statistics.quad_count(),
            },
            Item::Child(_) => 0,
        };
        let all = 0..self.items.len();
        let largest = all.max_by_key(|item| (is_middle(*item), quads(*item)));
        largest.into_iter().collect()
    }

    /// Whether the only part is one pattern that an inverse counts, which is planned without these rules.
    pub(super) fn is_counted_first(&self, split: &Split) -> bool {
        match &split.parts[..] {
            [(by, items)] => match items[..] {
                [item] => !self.is_of_subject(item, *by),
                _ => false,
            },
            parts => parts.is_empty(),
        }
    }

    /// Some items, with the conditions on their slots.
    pub(super) fn joined(&self, items: &[usize]) -> JoinGroup {
        let mut group = JoinGroup::default();
        for item in items {
            match self.items[*item].0 {
                Item::Triple(triple) => group.triples.push(triple.clone()),
                Item::Child(child) => group.children.push(child.clone()),
            }
        }
        let within = self.slots(items);
        let own = self.conditions.iter();
        let own = own.filter(|(_, read)| read.is_subset(&within));
        group.filters = own.map(|(condition, _)| (*condition).clone()).collect();
        group
    }

    /// Takes off parts of some items, from which some are to be left; `None` if something is connected with nothing of these.
    pub(super) fn split(
        &self,
        planner: &Planner<'_>,
        items: &[usize],
        first: Vec<usize>,
    ) -> Option<Split> {
        let mut rest = first;
        // Termination: each turn adds an item to the rest, or is the last one.
        loop {
            let within = self.slots(&rest);
            let mut parts: Vec<(Slot, Vec<usize>)> = Vec::new();
            let mut joined = Vec::new();
            let mut left: Vec<usize> = items.to_vec();
            left.retain(|item| !rest.contains(item));
            while let Some(item) = left.first().copied() {
                let (part, by) = self.connected(&left, item, within);
                left.retain(|item| !part.contains(item));
                let beside = self.having(&part, by);
                match by.to_vec()[..] {
                    _ if beside.is_empty() => return None,
                    [by] if !self.is_joined(planner, &rest, &beside, by) => parts.push((by, part)),
                    _ => joined = beside,
                }
                if !joined.is_empty() {
                    break;
                }
            }
            if joined.is_empty() {
                return Some(Split { rest, parts });
            }
            rest.extend(joined);
        }
    }

    /// The items that are connected with one apart from some slots, by items and conditions, and which of these slots they meet.
    fn connected(&self, items: &[usize], item: usize, within: SlotSet) -> (Vec<usize>, SlotSet) {
        let sets = items.iter().map(|item| self.items[*item].1);
        let own = self.items[item].1.minus(within);
        let conditions = self.conditions.iter().map(|(_, read)| *read);
        let sets = sets.chain(conditions).chain(self.together.iter().copied());
        let own = own.connected(sets.clone().map(|set| set.minus(within)));
        let is_part = |other: &&usize| **other == item || !self.items[**other].1.is_disjoint(&own);
        let part: Vec<usize> = items.iter().filter(is_part).copied().collect();
        let met = sets.filter(|set| !set.is_disjoint(&own));
        let met = met.fold(self.slots(&part), SlotSet::union);
        (part, met.intersect(within))
    }

    /// Whether what stands beside a slot of the rest is joined: it gives each row about one partner, or is one pattern of a subject of which the rest has one
    /// row each.
    fn is_joined(&self, planner: &Planner<'_>, rest: &[usize], beside: &[usize], by: Slot) -> bool {
        let partners = |item: &usize| self.partners(planner, *item, by);
        if beside.iter().map(partners).product::<f64>() <= JOINED_PARTNERS_MAX {
            return true;
        }
        let [beside] = beside else {
            return false;
        };
        let rest = self.having(rest, SlotSet::of(&[by]));
        let in_star = |item: &usize| self.is_of_subject(*item, by);
        in_star(beside)
            && rest.iter().any(in_star)
            && rest.iter().map(partners).product::<f64>() <= JOINED_PARTNERS_MAX
    }

    /// Whether an item is a pattern of a subject.
    fn is_of_subject(&self, item: usize, subject: Slot) -> bool {
        match self.items[item].0 {
            Item::Triple(triple) => triple.subject == Position::Slot(subject),
            Item::Child(_) => false,
        }
    }

    /// How many rows of an item a value of one of its slots has, on average.
    fn partners(&self, planner: &Planner<'_>, item: usize, by: Slot) -> f64 {
        let Item::Triple(triple) = self.items[item].0 else {
            return 1.0;
        };
        let Position::Id(predicate) = triple.predicate else {
            return f64::INFINITY;
        };
        let is_subject = triple.subject == Position::Slot(by);
        let is_object = triple.object == Position::Slot(by);
        let quads = planner.statistics.predicate_quads(predicate) as f64;
        match (triple.subject, triple.object) {
            (Position::Slot(_), Position::Slot(_)) if is_subject && !is_object => {
                quads / pattern::subjects(planner, predicate)
            }
            (Position::Slot(_), Position::Slot(_)) if is_object && !is_subject => {
                quads / pattern::objects(planner, predicate)
            }
            // The other end is given.
            _ => 1.0,
        }
    }
}
