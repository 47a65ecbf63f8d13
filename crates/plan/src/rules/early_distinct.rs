//! Rows whose repeats nobody counts are not repeated on the way: below DISTINCT, groups that only ask for distinct, least or greatest
//! values, and the other side of semi and anti joins.
//!
//! `SELECT DISTINCT ?z { ?a :knows ?b . ?b :knows ?c . ?c :type ?z }` asks for a handful of types, and a join makes each of them as often as
//! paths lead there. Five things are done, from the top:
//!
//! - A join whose build side, or star, gives nothing but partners is a *semi join*.
//! - An OPTIONAL part that nobody reads is left out.
//! - Of a pattern of a star whose object nobody reads *any value* will do.
//! - A closure of which only the ends are read is walked from all rows *at once*.
//! - Where columns that told rows apart have been read for the last time, a [`Op::PartialDistinct`] drops the repeats before they are
//!   joined further. It is put there if, as far as estimates tell, at least half of the rows repeat and the work above that they
//!   would be is more than the look-ups.
//!
//! Rows as a set are the same, so whoever counts none sees no difference. Where a condition draws random numbers, repeats matter.
//!
//! The order of joins is chosen before; it knows nothing of this.

use crate::cost_constants::GROUP_ROW;
use crate::estimate::groups;
use crate::expression::{has_exists, is_volatile, is_volatile_plan, slots_of_all};
use crate::physical::{
    Aggregate, AggregateFunction, Endpoint, JoinKind, Node, Op, Slot, Star, StarAccess, StarEntry,
};
use crate::planner::{Planner, take_node};
use crate::slot_set::SlotSet;
use std::sync::Arc;

/// Fewer rows are not worth a look.
const ROWS_MIN: f64 = 256.0;
/// Of the rows, at most so many may be different.
const DIFFERENT_SHARE_MAX: f64 = 0.5;

/// Whether repeats of the rows of a node count.
#[derive(Clone, Copy)]
enum Repeats {
    Count,
    /// They do not; and what is done with the rows above, by cost.
    Idle {
        above: f64,
    },
}

impl Repeats {
    /// Below an operator that does so much itself.
    fn below(self, own: f64) -> Self {
        match self {
            Self::Count => Self::Count,
            Self::Idle { above } => Self::Idle {
                above: above + own.max(0.0),
            },
        }
    }
}

/// Changes a plan of which columns have been pruned; whether it did.
pub(crate) fn apply(root: &mut Node, planner: &Planner<'_>) -> bool {
    let mut early = EarlyDistinct {
        planner,
        changes: 0,
    };
    if planner.rule("early_distinct") {
        early.visit(root, Repeats::Count);
    }
    early.changes > 0
}

struct EarlyDistinct<'p, 's> {
    planner: &'p Planner<'s>,
    changes: usize,
}

impl EarlyDistinct<'_, '_> {
    /// Changes a node and all below it.
    fn visit(&mut self, node: &mut Node, repeats: Repeats) {
        let changes = self.changes;
        if let Repeats::Idle { .. } = repeats
            && let Some(kept) = kept_side(node)
        {
            let mut below = self.planner.project(kept, node.schema.clone());
            self.changes += 1;
            self.visit(&mut below, repeats);
            *node = below;
            return;
        }
        self.make_semi(node, repeats);
        self.take_any_value(node, repeats);
        self.walk_at_once(node, repeats);
        let own = own_cost(node);
        let rows_before: Vec<f64> = rows_of_inputs(node);
        self.visit_inputs(&mut node.op, repeats, own);
        if self.changes > changes {
            project_once(node);
            estimate_again(node, own, &rows_before);
        }
    }

    /// Changes the inputs of an operator that does so much itself.
    fn visit_inputs(&mut self, op: &mut Op, repeats: Repeats, own: f64) {
        let below = repeats.below(own);
        // A value that is drawn is another for each of repeated rows.
        let idle = |input: &Node| match is_volatile_plan(input) {
            true => Repeats::Count,
            false => Repeats::Idle { above: own },
        };
        match op {
            Op::Distinct { input } => {
                let repeats = idle(input);
                self.input(input, repeats, false);
            }
            Op::Group {
                input, aggregates, ..
            } => {
                let repeats = match aggregates.iter().all(ignores_repeats) {
                    true => idle(input),
                    false => Repeats::Count,
                };
                self.input(input, repeats, false);
            }
            Op::HashJoin {
                left,
                right,
                kind: JoinKind::Semi | JoinKind::Anti,
                filter,
                ..
            } if !filter.as_ref().is_some_and(is_volatile) => {
                let of_right = idle(right);
                self.sides((left, below), (right, of_right));
            }
            Op::Minus { left, right, .. } => {
                let of_right = idle(right);
                self.sides((left, below), (right, of_right));
            }
            // Partners that are counted or added up are so as often as they are there.
            Op::HashJoin {
                left,
                right,
                partners,
                ..
            } if !partners.is_empty() => {
                self.sides((left, Repeats::Count), (right, Repeats::Count));
            }
            Op::HashJoin { left, right, .. } | Op::MergeJoin { left, right, .. } => {
                self.sides((left, below), (right, below));
            }
            Op::LateralJoin { left: input, .. }
            | Op::StarJoin { input, .. }
            | Op::PatternJoin { input, .. }
            | Op::CountJoin { input, .. }
            | Op::PathJoin { input, .. } => self.input(input, below, true),
            Op::Filter { input, .. }
            | Op::Extend { input, .. }
            | Op::Project { input }
            | Op::OrderBy {
                input, limit: None, ..
            } => self.input(input, below, false),
            Op::Union { inputs } => {
                for input in inputs {
                    self.visit(input, repeats);
                }
            }
            other => {
                for child in other.children_mut() {
                    self.visit(child, Repeats::Count);
                }
            }
        }
    }

    /// Changes both sides of a join.
    fn sides(
        &mut self,
        (left, of_left): (&mut Arc<Node>, Repeats),
        (right, of_right): (&mut Arc<Node>, Repeats),
    ) {
        self.input(left, of_left, true);
        self.input(right, of_right, true);
    }

    /// Changes an input; before a join, drops repeats of its rows.
    fn input(&mut self, input: &mut Arc<Node>, repeats: Repeats, is_joined: bool) {
        let input = Arc::make_mut(input);
        self.visit(input, repeats);
        if let (true, Repeats::Idle { above }) = (is_joined, repeats) {
            self.drop_repeats(input, above);
        }
    }

    fn drop_repeats(&mut self, node: &mut Node, above: f64) {
        let rows = node.estimated_rows;
        let is_set = matches!(
            node.op,
            Op::Distinct { .. } | Op::PartialDistinct { .. } | Op::Group { .. } | Op::Outer
        );
        if is_set || rows < ROWS_MIN {
            return;
        }
        let Some(different) = groups::combinations(self.planner, node, &node.schema) else {
            return;
        };
        let share = different / rows;
        let looked_up = rows * GROUP_ROW;
        if share > DIFFERENT_SHARE_MAX || above * (1.0 - share) <= looked_up {
            return;
        }
        let cost = node.estimated_cost + looked_up;
        let input = take_node(node);
        *node = self
            .planner
            .pass(input, different, cost, |input| Op::PartialDistinct {
                input,
            });
        self.changes += 1;
    }

    /// Makes a join that gives nothing but partners a semi join, below a projection to the columns that it had.
    fn make_semi(&mut self, node: &mut Node, repeats: Repeats) {
        let Repeats::Idle { .. } = repeats else {
            return;
        };
        let schema = SlotSet::of(&node.schema);
        let gives_nothing = |slots: SlotSet, input: &Node| {
            slots
                .intersect(schema)
                .is_subset(&SlotSet::of(&input.schema))
        };
        let kept = match &mut node.op {
            Op::StarJoin {
                input, star, kind, ..
            } if *kind == JoinKind::Inner && gives_nothing(SlotSet::of(&star.slots()), input) => {
                *kind = JoinKind::Semi;
                input
            }
            Op::PatternJoin {
                input,
                pattern,
                kind,
                ..
            } if *kind == JoinKind::Inner
                && gives_nothing(SlotSet::of(&pattern.slots()), input) =>
            {
                *kind = JoinKind::Semi;
                input
            }
            Op::HashJoin {
                left,
                right,
                compatible,
                kind,
                build_left,
                partners,
                ..
            } if *kind == JoinKind::Inner && compatible.is_empty() && partners.is_empty() => {
                let (probe, build) = match *build_left {
                    true => (&mut *right, &mut *left),
                    false => (&mut *left, &mut *right),
                };
                if !gives_nothing(SlotSet::of(&build.schema), probe) {
                    return;
                }
                if *build_left {
                    std::mem::swap(left, right);
                }
                *build_left = false;
                *kind = JoinKind::Semi;
                left
            }
            _ => return,
        };
        let rows = node.estimated_rows.min(kept.estimated_rows);
        let (columns, certain) = (kept.schema.clone(), kept.certain.clone());
        self.changes += 1;
        node.estimated_rows = rows;
        let before = std::mem::replace(&mut node.schema, columns);
        node.certain = certain;
        if before != node.schema {
            let semi = take_node(node);
            *node = self.planner.project(semi, before);
        }
    }

    /// Walks a closure from all rows at once where only its ends are read.
    fn walk_at_once(&mut self, node: &mut Node, repeats: Repeats) {
        let Op::PathJoin {
            input,
            pattern,
            at_once,
        } = &mut node.op
        else {
            return;
        };
        let is_bound =
            |end: &Endpoint| matches!(end, Endpoint::Slot(slot) if input.schema.contains(slot));
        let is_new = |end: &Endpoint| matches!(end, Endpoint::Slot(slot) if node.schema == [*slot] && !input.schema.contains(slot));
        let (subject, object) = (&pattern.subject, &pattern.object);
        let has_one_start =
            is_bound(subject) && is_new(object) || is_new(subject) && is_bound(object);
        let is_idle = matches!(repeats, Repeats::Idle { .. });
        if is_idle
            && pattern.is_closure()
            && has_one_start
            && pattern.graphs.slot().is_none()
            && !*at_once
        {
            *at_once = true;
            self.changes += 1;
        }
    }

    /// Of the patterns of a star whose objects nobody reads any value will do, and none is needed if they are optional.
    fn take_any_value(&mut self, node: &mut Node, repeats: Repeats) {
        let mut read = SlotSet::of(&node.schema);
        let (star, place) = match &mut node.op {
            Op::StarScan { star, access } if matches!(repeats, Repeats::Idle { .. }) => {
                let place = match access {
                    StarAccess::Object { pattern_idx } => Some(pattern_idx),
                    StarAccess::Rows | StarAccess::Subject => None,
                };
                (star, place)
            }
            Op::StarJoin {
                input,
                star,
                entry,
                kind,
            } => {
                let tests = matches!(kind, JoinKind::Semi | JoinKind::Anti);
                if !tests && matches!(repeats, Repeats::Count) {
                    return;
                }
                read = read.union(SlotSet::of(&input.schema));
                let place = match entry {
                    StarEntry::Object { pattern_idx } => Some(pattern_idx),
                    StarEntry::Subject | StarEntry::Graph => None,
                };
                (star, place)
            }
            _ => return,
        };
        let found = any_values(star, read, place);
        self.changes += usize::from(found);
    }
}

/// Marks the patterns of a star whose objects are not read, and takes out those that are optional; whether there were any. The scan or join
/// begins at the pattern with the number in `place`.
fn any_values(star: &mut Star, read: SlotSet, place: Option<&mut usize>) -> bool {
    if star.filters.iter().any(has_exists) {
        return false;
    }
    let read = read.union(slots_of_all(&star.filters));
    let slots = star.slots();
    let is_unread = |slot: Slot| {
        let times = slots.iter().filter(|other| **other == slot).count();
        times == 1 && !read.contains(slot)
    };
    let first = place.as_deref().copied();
    let (mut found, mut idx, mut taken_before) = (false, 0, 0);
    star.patterns.retain_mut(|pattern| {
        let is_unread = pattern.object.slot().is_some_and(is_unread) && first != Some(idx);
        let is_taken = is_unread && pattern.optional;
        taken_before += usize::from(is_taken && first.is_some_and(|first| idx < first));
        idx += 1;
        found |= is_unread && !pattern.any_value;
        pattern.any_value |= is_unread;
        !is_taken
    });
    if let Some(place) = place {
        *place -= taken_before;
    }
    found
}

/// The rows that an OPTIONAL keeps, if nothing of the optional part is read.
fn kept_side(node: &mut Node) -> Option<Node> {
    let schema = SlotSet::of(&node.schema);
    let kept = match &mut node.op {
        Op::HashJoin {
            left: kept,
            compatible,
            kind: JoinKind::LeftOuter,
            ..
        } if compatible.is_empty() => kept,
        Op::StarJoin {
            input: kept,
            kind: JoinKind::LeftOuter,
            ..
        }
        | Op::PatternJoin {
            input: kept,
            kind: JoinKind::LeftOuter,
            ..
        } => kept,
        _ => return None,
    };
    let kept = Arc::make_mut(kept);
    schema
        .is_subset(&SlotSet::of(&kept.schema))
        .then(|| take_node(kept))
}

/// Whether an aggregate is the same whatever rows repeat.
fn ignores_repeats(aggregate: &Aggregate) -> bool {
    use AggregateFunction::{Max, Min};
    let is_drawn = aggregate.argument.as_ref().is_some_and(is_volatile);
    !is_drawn && (aggregate.distinct || matches!(aggregate.function, Min | Max))
}

/// Takes a projection out that stands below another one.
fn project_once(node: &mut Node) {
    let Op::Project { input } = &mut node.op else {
        return;
    };
    if let Op::Project { input: below } = &input.op
        && node.schema.iter().all(|slot| input.schema.contains(slot))
    {
        *input = Arc::clone(below);
    }
}

/// The cost of an operator without its inputs.
fn own_cost(node: &Node) -> f64 {
    let inputs = node.op.children().into_iter();
    let inputs: f64 = inputs.map(|input| input.estimated_cost).sum();
    (node.estimated_cost - inputs).max(0.0)
}

fn rows_of_inputs(node: &Node) -> Vec<f64> {
    let inputs = node.op.children().into_iter();
    inputs.map(|input| input.estimated_rows).collect()
}

/// Lowers the rows and the cost of an operator as those of its inputs were.
fn estimate_again(node: &mut Node, own: f64, before: &[f64]) {
    let now = rows_of_inputs(node);
    let share = |idx: usize| match (now.get(idx), before.get(idx)) {
        (Some(now), Some(before)) if *before > 0.0 => (now / before).min(1.0),
        _ => 1.0,
    };
    let inputs = node.op.children().into_iter();
    let inputs: f64 = inputs.map(|input| input.estimated_cost).sum();
    node.estimated_cost = inputs + own * share(0);
    let rows = node.estimated_rows;
    node.estimated_rows = match &node.op {
        Op::Union { .. } => now.iter().sum(),
        Op::Distinct { .. } | Op::Group { .. } => rows.min(now.iter().sum::<f64>().max(1.0)),
        Op::HashJoin {
            kind: JoinKind::Inner,
            ..
        }
        | Op::MergeJoin { .. } => rows * share(0) * share(1),
        _ => rows * share(0),
    };
}
