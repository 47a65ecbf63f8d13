//! GROUP BY over patterns that hang together by one slot at a time: counted, added up and compared part by part.
//!
//! ```text
//! COUNT(*), SUM(?x) over  ?a :cites ?b . ?b :cites ?c . ?c :pages ?x   by ?a
//! are the sums of ?n and of ?s over  ?a :cites ?b  joined with
//!     ?n = COUNT(*) and ?s = SUM(?x)  of  ?b :cites ?c . ?c :pages ?x   by ?b
//! ```
//!
//! A *part* is what shares one slot with the rest of the group, by patterns, conditions and what is added up: each row of the rest has as many joined rows
//! as the part has of its value. So a part is grouped by that slot, in parts again, and the counts of all parts of a row are multiplied, a sum with the
//! counts of the others: no row is made for each walk, and the time is that of the patterns' own quads (acyclic joins: Yannakakis, "Algorithms for
//! acyclic database schemes", VLDB 1981; sums of products over them: Abo Khamis, Ngo and Rudra, "FAQ", PODS 2016). What is connected by several slots at
//! once, a triangle, stays together and is joined.
//!
//! Keys of the group that a part holds are keys of the part, too: walks by the countries of both ends are counted by country and middle first. That pays
//! where such keys have few values, so the rest that holds all keys is tried, and the one that holds each key.
//!
//! Patterns that give a row about one partner (labels, types, conditions) are not worth a group and stay with the rows that they belong to; so does
//! one pattern of the same subject, as a star reads it with the others.
//!
//! Applies where every aggregate counts joined rows, or adds up integers and decimals, or takes the least or greatest value of a slot: sums of floats are
//! rounded once, and would be more often. Nothing may come from around an EXISTS. Chosen by cost.

mod split;

use crate::expression::{is_pure, slots_of};
use crate::logical::{JoinGroup, Logical};
use crate::lower::Outer;
use crate::physical::{Aggregate, AggregateFunction, Expr, Node, Slot};
use crate::planner::{PlanError, Planner};
use crate::rules::count_first::{count_rows, sum};
use crate::slot_set::SlotSet;
use crate::value_kinds::ValueKinds;
use split::{Parts, Split};

/// The group, if parts of it can be grouped before they are joined; with `carried`, by keys that are in a part, too.
pub(crate) fn aggregate(
    planner: &mut Planner<'_>,
    input: &Logical,
    keys: &[Slot],
    aggregates: &[Aggregate],
    (outer, carried): (&Outer, bool),
) -> Result<Option<Node>, PlanError> {
    let Logical::Group(group) = input else {
        return Ok(None);
    };
    let own = aggregates.iter().map(|aggregate| aggregate.slot);
    let is_made = own
        .chain(group.schema().iter())
        .any(|slot| planner.in_parts.contains(slot));
    let is_free = planner.rule("aggregate_parts") && outer.slots.is_empty();
    if is_made || !is_free || aggregates.is_empty() {
        return Ok(None);
    }
    let Some((made, averages)) = made(planner, group, keys, aggregates) else {
        return Ok(None);
    };
    let Some(whole) = Parts::of(group, made.iter().map(|made| made.read)) else {
        return Ok(None);
    };
    let grouping = Grouping {
        whole,
        made,
        keys: SlotSet::of(keys),
    };
    let mut best: Option<Node> = None;
    for first in grouping.whole.firsts(planner, keys, carried) {
        let Some(parted) = grouping.parted(planner, first, keys) else {
            continue;
        };
        let parted = with_averages(parted, keys, aggregates, &averages);
        let plan = planner.lower(&parted, &Outer::default())?;
        let is_better = |known: &Node| plan.estimated_cost < known.estimated_cost;
        if planner.options.aggregate_parts_always || best.as_ref().is_none_or(is_better) {
            best = Some(plan);
        }
    }
    Ok(best)
}

/// Whether parts of what a group counts by some keys can be counted before they are joined.
pub(super) fn has_parts(planner: &Planner<'_>, group: &JoinGroup, keys: &[Slot]) -> bool {
    let Some(whole) = Parts::of(group, std::iter::empty()) else {
        return false;
    };
    let firsts = whole.firsts(planner, keys, false);
    let mut splits = firsts
        .into_iter()
        .filter_map(|first| whole.split(planner, &whole.all(), first));
    splits.any(|split| !split.parts.is_empty())
}

/// What is made of the joined rows.
struct Made {
    slot: Slot,
    function: AggregateFunction,
    argument: Option<Expr>,
    /// The slots of the argument.
    read: SlotSet,
}

/// A sum and a count that are an average.
struct Average {
    slot: Slot,
    sum: Slot,
    count: Slot,
}

/// What aggregates make, if each can be made of parts.
fn made(
    planner: &mut Planner<'_>,
    group: &JoinGroup,
    keys: &[Slot],
    aggregates: &[Aggregate],
) -> Option<(Vec<Made>, Vec<Average>)> {
    let certain = group.certain();
    let (mut all, mut averages) = (Vec::new(), Vec::new());
    for aggregate in aggregates {
        let read = aggregate
            .argument
            .as_ref()
            .map(slots_of)
            .unwrap_or_default();
        if !read.is_subset(&certain) {
            return None;
        }
        let is_slot = matches!(aggregate.argument, None | Some(Expr::Slot(_)));
        let is_exact = || {
            let of_slot = |slot: Slot| ValueKinds::in_group(planner, group, slot);
            let is_exact =
                |argument| is_pure(argument) && ValueKinds::of_expr(argument, &of_slot).are_exact();
            !read.is_empty() && aggregate.argument.as_ref().is_some_and(is_exact)
        };
        let of_argument = |slot: Slot, function: AggregateFunction| Made {
            slot,
            function,
            argument: aggregate.argument.clone(),
            read,
        };
        match aggregate.function {
            AggregateFunction::Count if is_slot && !aggregate.distinct => {
                all.push(Made::count(aggregate.slot));
            }
            AggregateFunction::Min | AggregateFunction::Max if is_slot => {
                all.push(of_argument(aggregate.slot, aggregate.function.clone()));
            }
            AggregateFunction::Sum if !aggregate.distinct && is_exact() => {
                all.push(of_argument(aggregate.slot, AggregateFunction::Sum));
            }
            // Without keys the average of no rows is zero, and no quotient.
            AggregateFunction::Avg if !aggregate.distinct && !keys.is_empty() && is_exact() => {
                let (sum, count) = (
                    planner.fresh_slot("sum").ok()?,
                    planner.fresh_slot("count").ok()?,
                );
                all.push(of_argument(sum, AggregateFunction::Sum));
                all.push(Made::count(count));
                averages.push(Average {
                    slot: aggregate.slot,
                    sum,
                    count,
                });
            }
            _ => return None,
        }
    }
    Some((all, averages))
}

/// Groups with their averages, and nothing that these are made of.
fn with_averages(
    grouped: Logical,
    keys: &[Slot],
    aggregates: &[Aggregate],
    averages: &[Average],
) -> Logical {
    if averages.is_empty() {
        return grouped;
    }
    let divided = averages.iter().fold(grouped, |input, average| {
        let (sum, count) = (Expr::Slot(average.sum), Expr::Slot(average.count));
        Logical::Extend {
            input: Box::new(input),
            slot: average.slot,
            expr: Expr::Divide(Box::new(sum), Box::new(count)),
        }
    });
    let own = aggregates.iter().map(|aggregate| aggregate.slot);
    Logical::Project {
        input: Box::new(divided),
        slots: keys.iter().copied().chain(own).collect(),
    }
}

/// A group, what is made of it and by which keys.
struct Grouping<'g> {
    whole: Parts<'g>,
    made: Vec<Made>,
    keys: SlotSet,
}

/// Something that is made of some items: in which slot, and what.
type Wanted<'m> = (Slot, &'m Made);

impl Grouping<'_> {
    /// The whole with parts taken off some first items; `None` if there are none, or none worth it.
    fn parted(
        &self,
        planner: &mut Planner<'_>,
        first: Vec<usize>,
        keys: &[Slot],
    ) -> Option<Logical> {
        let split = self.whole.split(planner, &self.whole.all(), first)?;
        let are_counts = self
            .made
            .iter()
            .all(|made| made.function == AggregateFunction::Count);
        if split.parts.is_empty() || are_counts && self.whole.is_counted_first(&split) {
            return None;
        }
        let wanted: Vec<Wanted<'_>> = self.made.iter().map(|made| (made.slot, made)).collect();
        self.grouped(planner, split, keys.to_vec(), &wanted)
    }

    /// The rows of some items grouped by keys, their parts before them; `None` if items are not connected, or there are too many slots.
    fn grouped(
        &self,
        planner: &mut Planner<'_>,
        split: Split,
        keys: Vec<Slot>,
        wanted: &[Wanted<'_>],
    ) -> Option<Logical> {
        let mut joined = self.whole.joined(&split.rest);
        let within = self.whole.slots(&split.rest);
        let mut parts = Vec::new();
        for (by, items) in split.parts {
            let part = self.part(planner, (by, &items), within, wanted)?;
            joined.children.push(part.rows);
            parts.push(part.made);
        }
        let aggregates = wanted
            .iter()
            .map(|&(slot, made)| made.of_parts(slot, &parts));
        Some(Logical::Aggregate {
            input: Box::new(Logical::Group(joined)),
            keys,
            aggregates: aggregates.collect(),
        })
    }

    /// A part grouped by the slot that it shares, and by keys that it holds, with its count and what of the wanted is in it, not `within` the rest.
    fn part(
        &self,
        planner: &mut Planner<'_>,
        (by, items): (Slot, &[usize]),
        within: SlotSet,
        wanted: &[Wanted<'_>],
    ) -> Option<Part> {
        let slots = self.whole.slots(items);
        let mut keys = vec![by];
        keys.extend(self.keys.intersect(slots).iter().filter(|key| *key != by));
        let count = planner.fresh_slot("count").ok()?;
        planner.in_parts.insert(count);
        let rows = Made::count(count);
        let mut here: Vec<Wanted<'_>> = vec![(count, &rows)];
        let mut values = Vec::new();
        for &(slot, made) in wanted {
            if !made.read.is_subset(&within) && made.read.is_subset(&slots) {
                let value = planner.fresh_slot("part").ok()?;
                planner.in_parts.insert(value);
                here.push((value, made));
                values.push((slot, value));
            }
        }
        let first = self.whole.having(items, SlotSet::of(&[by]));
        let split = self.whole.split(planner, items, first)?;
        let rows = self.grouped(planner, split, keys, &here)?;
        Some(Part {
            rows,
            made: OfPart { count, values },
        })
    }
}

/// A part that was grouped.
struct Part {
    rows: Logical,
    made: OfPart,
}

/// What a part gives each row that it is joined with.
struct OfPart {
    /// How many rows it has.
    count: Slot,
    /// What is in it, by what is made of it.
    values: Vec<(Slot, Slot)>,
}

impl OfPart {
    fn value(&self, of: Slot) -> Option<Slot> {
        let (_, value) = self.values.iter().find(|(slot, _)| *slot == of)?;
        Some(*value)
    }
}

impl Made {
    /// The count of the rows.
    fn count(slot: Slot) -> Self {
        Self {
            slot,
            function: AggregateFunction::Count,
            argument: None,
            read: SlotSet::default(),
        }
    }

    /// The same made of joined rows that stand for as many as their parts count.
    fn of_parts(&self, slot: Slot, parts: &[OfPart]) -> Aggregate {
        let in_part = parts.iter().find_map(|part| part.value(slot));
        let value = in_part.map(Expr::Slot).or_else(|| self.argument.clone());
        if let AggregateFunction::Min | AggregateFunction::Max = self.function {
            return Aggregate {
                slot,
                function: self.function.clone(),
                argument: value,
                distinct: false,
            };
        }
        let others = parts.iter().filter(|part| part.value(slot).is_none());
        let counts = others.map(|part| Expr::Slot(part.count));
        let factors = value.into_iter().chain(counts);
        match factors.reduce(|a, b| Expr::Multiply(Box::new(a), Box::new(b))) {
            Some(each) => sum(slot, each),
            None => count_rows(slot),
        }
    }
}
