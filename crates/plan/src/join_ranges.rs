//! Ranges of a hash join: conditions that compare an expression of one side with an expression of the other.
//!
//! ```text
//! FILTER(?at >= ?start && ?at < ?end)     two ranges of the build side, of ?start and of ?end, or one of ?at
//! FILTER NOT EXISTS { .. FILTER(?later > ?date) }
//! FILTER(ABS(?x - ?y) < 0.5)              one of either side: terms are moved ([`moved_terms`](crate::moved_terms))
//! FILTER(HOURS(?t) = HOURS(?u) && FLOOR(?x) = FLOOR(?y))      one of both expressions of the build side together
//! ```
//!
//! The executor keeps the build rows of a key in the order of such an expression, so that a row is compared only with those in its range.
//! What a range says is derived from the condition and not kept beside it: plans have one truth.

use crate::cost_constants::EXPRESSION;
use crate::estimate::condition::cost;
use crate::expression::{conjunction, conjuncts, is_pure, slots_of};
use crate::moved_terms::{Moved, moved_bounds};
use crate::physical::{Expr, JoinKind, Node, Op, Slot};
use crate::slot_set::SlotSet;

/// Ranges that the executor uses of one join: rows are in the order of the first, and blocks of them tell the bounds of the second.
const RANGES_MAX: usize = 2;

/// How a value of the build side lies to one of the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// `build >= other`
    AtLeast,
    /// `build > other`
    Above,
    /// `build <= other`
    AtMost,
    /// `build < other`
    Below,
    /// `build = other`
    Equal,
}

impl Bound {
    /// The same where the sides are written the other way round.
    pub(crate) fn turned(self) -> Self {
        match self {
            Self::AtLeast => Self::AtMost,
            Self::Above => Self::Below,
            Self::AtMost => Self::AtLeast,
            Self::Below => Self::Above,
            Self::Equal => Self::Equal,
        }
    }
}

/// A bound of an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinBound {
    /// How the expression lies.
    pub bound: Bound,
    /// By what, of the other side alone.
    pub by: Expr,
    /// What of that the condition has with the expression.
    pub moved: Option<Moved>,
}

/// An expression of the build side, and what bounds it; or several, each of which is equal to something.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinRange {
    /// Of the build side alone.
    pub of: Vec<Expr>,
    /// Bounds of the only one, or a [`Bound::Equal`] of each.
    pub bounds: Vec<JoinBound>,
}

/// The ranges of a join.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinRanges {
    /// One or two.
    pub ranges: Vec<JoinRange>,
    /// What the condition says besides.
    pub rest: Option<Expr>,
}

/// The streaming side and the build side of a hash join.
pub fn probe_and_build(op: &Op) -> Option<(&Node, &Node)> {
    let Op::HashJoin {
        left,
        right,
        kind,
        build_left,
        ..
    } = op
    else {
        return None;
    };
    // Only an inner join may swap its sides: the others keep rows of the left one.
    Some(match *build_left && *kind == JoinKind::Inner {
        true => (right, left),
        false => (left, right),
    })
}

/// The ranges of a hash join; `None` if its condition has none, and where a slot may be unbound on a side that has it.
pub fn join_ranges(op: &Op) -> Option<JoinRanges> {
    let (probe, build) = probe_and_build(op)?;
    let Op::HashJoin {
        compatible, filter, ..
    } = op
    else {
        return None;
    };
    let filter = filter.as_ref().filter(|_| compatible.is_empty())?;
    let sides = (SlotSet::of(&probe.schema), SlotSet::of(&build.schema));
    ranges_of(filter, &sides.0, &sides.1)
}

/// The ranges of a condition over the slots of two sides.
pub(crate) fn ranges_of(condition: &Expr, probe: &SlotSet, build: &SlotSet) -> Option<JoinRanges> {
    let mut ranges: Vec<JoinRange> = Vec::new();
    let mut rest = Vec::new();
    for conjunct in conjuncts(condition) {
        let bounds = bounds_of(&conjunct, probe, build);
        let is_added = !bounds.is_empty();
        let mut bounds = bounds.into_iter();
        if !is_added || !bounds.all(|(of, bound)| add(&mut ranges, &of, bound)) {
            rest.push(conjunct);
        }
    }
    // Of several, equalities leave the fewest rows, or one with bounds on both ends.
    ranges.sort_by_key(|range| std::cmp::Reverse((range.is_equality(), range.ends())));
    (!ranges.is_empty()).then(|| JoinRanges {
        ranges,
        rest: conjunction(rest),
    })
}

impl JoinRange {
    /// Whether all of its expressions are equal to something.
    pub fn is_equality(&self) -> bool {
        self.bounds.iter().all(|own| own.bound == Bound::Equal)
    }

    /// The expression, if it is one, and not only equal to something.
    pub fn sole(&self) -> Option<&Expr> {
        match self.of.as_slice() {
            [of] if !self.is_equality() => Some(of),
            _ => None,
        }
    }

    /// Whether it is of this slot alone.
    pub fn is_of_slot(&self, slot: Slot) -> bool {
        self.sole() == Some(&Expr::Slot(slot))
    }

    /// Ends that are bounded.
    pub fn ends(&self) -> usize {
        let has = |of: [Bound; 2]| {
            self.bounds
                .iter()
                .any(|own| of.contains(&own.bound) || own.bound == Bound::Equal)
        };
        usize::from(has([Bound::AtLeast, Bound::Above]))
            + usize::from(has([Bound::AtMost, Bound::Below]))
    }
}

/// Adds a bound to the range of its expression, or an equality to the others; false if there are too many.
fn add(ranges: &mut Vec<JoinRange>, of: &Expr, bound: JoinBound) -> bool {
    let is_equality = bound.bound == Bound::Equal;
    let own = |range: &&mut JoinRange| match is_equality {
        true => range.is_equality(),
        false => range.sole() == Some(of),
    };
    if let Some(range) = ranges.iter_mut().find(own) {
        if is_equality {
            range.of.push(of.clone());
        }
        range.bounds.push(bound);
        return true;
    }
    let has_room = ranges.len() < RANGES_MAX;
    if has_room {
        ranges.push(JoinRange {
            of: vec![of.clone()],
            bounds: vec![bound],
        });
    }
    has_room
}

/// What a comparison says of an expression of the build side: all of these bounds together say it.
fn bounds_of(conjunct: &Expr, probe: &SlotSet, build: &SlotSet) -> Vec<(Expr, JoinBound)> {
    let Some((of, bound, by)) = bound_apart(conjunct, probe, build) else {
        return bounds_by_moving(conjunct, probe, build);
    };
    let bound = JoinBound {
        bound,
        by: by.clone(),
        moved: None,
    };
    vec![(of.clone(), bound)]
}

/// The bound of an expression of the build side by one of the other, each of which is a side of a comparison.
fn bound_apart<'e>(
    conjunct: &'e Expr,
    probe: &SlotSet,
    build: &SlotSet,
) -> Option<(&'e Expr, Bound, &'e Expr)> {
    let (a, b, bound) = match conjunct {
        Expr::Less(a, b) => (a, b, Bound::Below),
        Expr::LessOrEqual(a, b) => (a, b, Bound::AtMost),
        Expr::Equal(a, b) => (a, b, Bound::Equal),
        _ => return None,
    };
    let (of_a, of_b) = (slots_of(a), slots_of(b));
    let is_within = |slots: &SlotSet, side: &SlotSet| !slots.is_empty() && slots.is_subset(side);
    let (of, bound, by) = if is_within(&of_a, build) && is_within(&of_b, probe) {
        (a, bound, b)
    } else if is_within(&of_b, build) && is_within(&of_a, probe) {
        (b, bound.turned(), a)
    } else {
        return None;
    };
    // What bounds it is made once for each row of its side.
    (is_pure(by) && is_bounding(of, bound)).then_some((of, bound, by))
}

/// The same once terms are moved.
fn bounds_by_moving(conjunct: &Expr, probe: &SlotSet, build: &SlotSet) -> Vec<(Expr, JoinBound)> {
    if !is_pure(conjunct) {
        return Vec::new();
    }
    let mut bounds = moved_bounds(conjunct, probe, build);
    bounds.retain(|(of, bound)| is_bounding(of, bound.bound));
    bounds
}

/// Whether bounds of an expression tell anything.
fn is_bounding(expr: &Expr, bound: Bound) -> bool {
    // The texts of most terms begin alike, so an order by what they begin with tells little; whether they are equal is told by all of a text.
    is_pure(expr) && (bound == Bound::Equal || cost(expr) <= EXPRESSION)
}

/// Whether a condition is a range of one of two sides that is bounded by the other.
pub(crate) fn is_range(condition: &Expr, a: &SlotSet, b: &SlotSet) -> bool {
    bound_apart(condition, a, b).is_some() || !bounds_by_moving(condition, a, b).is_empty()
}
