//! Plans inside EXISTS that can run for many outer rows at once.
//!
//! ```text
//! Outer [?product]            three products instead of one
//!   StarJoin ... StarJoin     each row is extended, dropped or repeated by itself
//! rows with ?product          those that are left name the outer rows that have one
//! ```
//!
//! A chain of operators that treat each input row by itself gives for a batch of outer rows what it gives for each of them
//! alone. If the slots taken from outside stay in the rows to the end, the rows tell whose they are. So starting the
//! operators is paid once for many outer rows, and not once for each.
//!
//! Where the first join that leads to several rows is one by object, it looks at partners in waves, the first few of each outer row first, and
//! those with an answer need no more. With `d` rows at the end for each partner, an outer row is taken to be without an answer after `k`
//! partners as often as `1 / (1 + d k)`: as if each partner told with a chance of its own for each outer row, exponentially
//! distributed around `d`, since outer rows differ. The chain's cost and rows from there on are charged for the share that is looked at.
//!
//! Invariant: the slots are certain in the leaf, so that no join can change them.

use crate::expression::{is_volatile_plan, outer_slots};
use crate::physical::{JoinKind, Node, Op, Slot, StarEntry};
use crate::slot_set::SlotSet;

/// Rows (not ns) that the outer rows taken at once may have inside: an evaluation for one row stops at its first,
/// one for many goes on until each has one.
const ROWS_AT_ONCE: f64 = 32_768.0;
/// Outer rows taken at once at most: a batch.
const OUTER_ROWS_MAX: f64 = 2_048.0;

/// Partners of each outer row that a join by object looks at first: few enough to be worth little, and more than one, as many rows have an
/// answer after some.
pub const FIRST_PARTNERS: usize = 4;
/// How many times as many partners have been looked at after a wave as before it.
pub const WAVE_GROWTH: usize = 4;

/// A chain of operators from a plan's root to its only `Outer` leaf.
pub(crate) struct RowChain {
    /// What the leaf takes, certain in each of its rows.
    pub(crate) slots: SlotSet,
    /// Joins on the way.
    pub(crate) joins: usize,
    /// The most rows that an operator is expected to give for one outer row.
    rows: f64,
    /// The share of its partners that an outer row is expected to need.
    pub(crate) looked_share: f64,
    /// Whether the slots are in every row on the way.
    is_carried: bool,
}

impl RowChain {
    /// The chain of a plan, if it is one.
    pub(crate) fn of(root: &Node) -> Option<Self> {
        let mut nodes = vec![root];
        let mut joins = 0;
        loop {
            let node = nodes.last()?;
            let input = match &node.op {
                Op::Outer => break,
                Op::StarJoin { input, .. }
                | Op::PatternJoin { input, .. }
                | Op::CountJoin { input, .. }
                | Op::PathJoin { input, .. } => {
                    joins += 1;
                    input
                }
                Op::HashJoin {
                    left, right, kind, ..
                } => {
                    joins += 1;
                    match (outer_slots(left).is_empty(), outer_slots(right).is_empty()) {
                        (false, true) => left,
                        (true, false) if *kind == JoinKind::Inner => right,
                        _ => return None,
                    }
                }
                Op::Filter { input, .. }
                | Op::Extend { input, .. }
                | Op::Project { input }
                | Op::Distinct { input } => input,
                _ => return None,
            };
            nodes.push(input);
        }
        let leaf = nodes.last()?;
        let slots = SlotSet::of(&leaf.schema);
        let certain = slots.is_subset(&SlotSet::of(&leaf.certain));
        let looked_share = looked_share(&nodes);
        let rows = nodes.iter().map(|n| n.estimated_rows).fold(1.0, f64::max);
        (certain && !slots.is_empty()).then(|| Self {
            slots,
            joins,
            rows: (rows * looked_share).max(1.0),
            looked_share,
            is_carried: nodes
                .iter()
                .all(|node| slots.is_subset(&SlotSet::of(&node.schema))),
        })
    }

    /// The chain of a plan that runs for many outer rows at once: its rows tell whose they are, and asking twice gives the same.
    pub(crate) fn of_many(root: &Node) -> Option<Self> {
        Self::of(root).filter(|chain| chain.is_carried && !is_volatile_plan(root))
    }

    /// Outer rows for which the plan may run at once.
    pub(crate) fn outer_rows_max(&self) -> f64 {
        (ROWS_AT_ONCE / self.rows).clamp(1.0, OUTER_ROWS_MAX)
    }
}

/// The share of its partners that an outer row needs of a chain, from the root to the leaf.
fn looked_share(nodes: &[&Node]) -> f64 {
    let leads_on = nodes.iter().rev().find(|node| node.estimated_rows > 1.0);
    let by_object = |node: &&&Node| {
        matches!(
            &node.op,
            Op::StarJoin {
                entry: StarEntry::Object { .. },
                kind: JoinKind::Inner,
                ..
            }
        )
    };
    let (Some(join), Some(root)) = (leads_on.filter(by_object), nodes.first()) else {
        return 1.0;
    };
    looked_at(join.estimated_rows, root.estimated_rows) / join.estimated_rows
}

/// How many of so many partners an outer row with so many rows at the end looks at.
fn looked_at(partners: f64, rows: f64) -> f64 {
    let (mut from, mut to, mut looked) = (0.0, FIRST_PARTNERS as f64, 0.0);
    loop {
        let open = 1.0 / (1.0 + from * rows / partners);
        looked += open * (partners.min(to) - from);
        if to >= partners {
            return looked;
        }
        (from, to) = (to, to * WAVE_GROWTH as f64);
    }
}

/// How a plan runs for many outer rows at once.
pub struct ManyOuterRows {
    /// How many, at most.
    pub count_max: usize,
    /// The slots that tell its rows apart.
    pub slots: Vec<Slot>,
    /// The most rows that one of its operators is expected to give for one outer row.
    pub rows_for_each: f64,
}

/// How a finished plan without volatile parts may run for many outer rows at once; `None` if it must run for each alone.
pub fn many_outer_rows(root: &Node) -> Option<ManyOuterRows> {
    let chain = RowChain::of(root).filter(|chain| chain.is_carried)?;
    Some(ManyOuterRows {
        count_max: chain.outer_rows_max() as usize,
        slots: chain.slots.to_vec(),
        rows_for_each: chain.rows,
    })
}
