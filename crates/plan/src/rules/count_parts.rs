//! GROUP BY that counts the rows of patterns that hang together by one slot at a time: counted part by part.
//!
//! ```text
//! COUNT(*) over  ?a :cites ?b . ?b :cites ?c . ?c :cites ?d
//! is the sum of ?n * ?m over  ?b :cites ?c , with ?n = COUNT(*) of ?a :cites ?b by ?b, and ?m = COUNT(*) of ?c :cites ?d by ?c
//! ```
//!
//! A *part* is what shares one slot with the rest of the group, by patterns and by conditions: each row of the rest has as many joined rows as the part
//! has of its value. So a part is counted by that slot, in parts again, and the counts of all parts of a row are multiplied: no row is made for each
//! walk, and the time is that of the patterns' own quads (acyclic joins: Yannakakis, "Algorithms for acyclic database schemes", VLDB 1981; sums of
//! products over them: Abo Khamis, Ngo and Rudra, "FAQ", PODS 2016). What is connected by several slots at once, a triangle, stays together and is joined.
//!
//! Patterns that give a row about one partner (labels, types, conditions) are not worth a count and stay with the rows that they belong to; so does
//! one pattern of the same subject, as a star reads it with the others.
//!
//! Applies where every aggregate counts joined rows, as in [`count_first`](super::count_first), which counts single patterns by their inverses.
//! Nothing may come from around an EXISTS. Chosen by cost.

use crate::estimate::pattern;
use crate::expression::{is_pure, slots_of};
use crate::logical::{JoinGroup, Logical, Triple};
use crate::lower::Outer;
use crate::physical::{Aggregate, Expr, Node, Position, Slot};
use crate::planner::{PlanError, Planner};
use crate::rules::count_first::{count_rows, counted_group, sum};
use crate::slot_set::SlotSet;

/// Partners of a row, on average, up to which they are joined and not counted.
const JOINED_PARTNERS_MAX: f64 = 1.2;

/// The group, if parts of what it counts can be counted before they are joined.
pub(crate) fn aggregate(
    planner: &mut Planner<'_>,
    input: &Logical,
    keys: &[Slot],
    aggregates: &[Aggregate],
    outer: &Outer,
) -> Result<Option<Node>, PlanError> {
    let Some(group) = counted_group(planner, "count_parts", input, aggregates, outer) else {
        return Ok(None);
    };
    let Some((whole, first)) = begin(planner, group, keys) else {
        return Ok(None);
    };
    let split = whole.split(planner, &whole.all(), first);
    let Some(split) = split.filter(|split| !whole.is_counted_first(split)) else {
        return Ok(None);
    };
    let Some((joined, counts)) = whole.counted(planner, split) else {
        return Ok(None);
    };
    let Some(each) = product(&counts) else {
        return Ok(None);
    };
    let aggregates = aggregates.iter().map(|a| sum(a.slot, each.clone()));
    let counted = Logical::Aggregate {
        input: Box::new(Logical::Group(joined)),
        keys: keys.to_vec(),
        aggregates: aggregates.collect(),
    };
    planner.lower(&counted, &Outer::default()).map(Some)
}

/// Whether parts of what a group counts by some keys can be counted before they are joined.
pub(super) fn has_parts(planner: &Planner<'_>, group: &JoinGroup, keys: &[Slot]) -> bool {
    begin(planner, group, keys)
        .and_then(|(whole, first)| whole.split(planner, &whole.all(), first))
        .is_some_and(|split| !split.parts.is_empty())
}

/// The items of a group, and those from which parts are taken off: what holds the keys.
fn begin<'g>(
    planner: &Planner<'_>,
    group: &'g JoinGroup,
    keys: &[Slot],
) -> Option<(Parts<'g>, Vec<usize>)> {
    let whole = Parts::of(group)?;
    let first = match keys {
        [] => whole.largest(planner),
        keys => whole.having(&whole.all(), SlotSet::of(keys)),
    };
    let is_read = SlotSet::of(keys).is_subset(&group.schema());
    (is_read && !first.is_empty()).then_some((whole, first))
}

/// What a group joins.
enum Item<'g> {
    Triple(&'g Triple),
    Child(&'g Logical),
}

/// The items of a group, and its conditions, with the slots of each.
struct Parts<'g> {
    items: Vec<(Item<'g>, SlotSet)>,
    conditions: Vec<(&'g Expr, SlotSet)>,
}

/// What is left of some items when parts are taken off.
struct Split {
    /// These are joined.
    rest: Vec<usize>,
    /// Each of these is counted by its slot.
    parts: Vec<(Slot, Vec<usize>)>,
}

impl<'g> Parts<'g> {
    /// A group's items, if each is a pattern or a child whose slots are always bound.
    fn of(group: &'g JoinGroup) -> Option<Self> {
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
        (all_bound && all_share && items.len() > 1).then_some(Self { items, conditions })
    }

    fn all(&self) -> Vec<usize> {
        (0..self.items.len()).collect()
    }

    fn slots(&self, items: &[usize]) -> SlotSet {
        let slots = items.iter().map(|item| self.items[*item].1);
        slots.fold(SlotSet::default(), SlotSet::union)
    }

    /// The items that have any of some slots.
    fn having(&self, items: &[usize], slots: SlotSet) -> Vec<usize> {
        let has = |item: &&usize| !self.items[**item].1.is_disjoint(&slots);
        items.iter().filter(has).copied().collect()
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

    /// Whether the only part is one pattern that an inverse counts, which is planned without this rule.
    fn is_counted_first(&self, split: &Split) -> bool {
        match &split.parts[..] {
            [(by, items)] => match items[..] {
                [item] => !self.is_of_subject(item, *by),
                _ => false,
            },
            parts => parts.is_empty(),
        }
    }

    /// The rows of some items with their parts counted, and the counts that are to be multiplied; `None` if items are not connected.
    fn counted(&self, planner: &mut Planner<'_>, split: Split) -> Option<(JoinGroup, Vec<Slot>)> {
        let mut group = JoinGroup::default();
        for item in &split.rest {
            match self.items[*item].0 {
                Item::Triple(triple) => group.triples.push(triple.clone()),
                Item::Child(child) => group.children.push(child.clone()),
            }
        }
        let within = self.slots(&split.rest);
        let own = self.conditions.iter();
        let own = own.filter(|(_, read)| read.is_subset(&within));
        group.filters = own.map(|(condition, _)| (*condition).clone()).collect();
        let mut counts = Vec::new();
        for (by, items) in split.parts {
            let first = self.having(&items, SlotSet::of(&[by]));
            let part = self.split(planner, &items, first)?;
            let (part, below) = self.counted(planner, part)?;
            let slot = planner.fresh_slot("count").ok()?;
            let count = match product(&below) {
                Some(each) => sum(slot, each),
                None => count_rows(slot),
            };
            group.children.push(Logical::Aggregate {
                input: Box::new(Logical::Group(part)),
                keys: vec![by],
                aggregates: vec![count],
            });
            counts.push(slot);
        }
        Some((group, counts))
    }

    /// Takes off parts of some items, from which some are to be left; `None` if something is connected with nothing of these.
    fn split(&self, planner: &Planner<'_>, items: &[usize], first: Vec<usize>) -> Option<Split> {
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
        let sets = sets.chain(conditions);
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

/// The product of counts; `None` if there is none.
fn product(counts: &[Slot]) -> Option<Expr> {
    let counts = counts.iter().map(|slot| Expr::Slot(*slot));
    counts.reduce(|a, b| Expr::Multiply(Box::new(a), Box::new(b)))
}
