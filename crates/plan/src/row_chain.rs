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
//! Joins by object look at the partners of a row in waves, so not all of the chain is charged for ([`LookedAt`]).
//!
//! Invariant: the slots are certain in the leaf, so that no join can change them.

use crate::expression::{is_volatile_plan, outer_slots};
use crate::looked_at::{LookedAt, starts};
use crate::physical::{JoinKind, Node, Op, Slot};
use crate::slot_set::SlotSet;

/// Rows (not ns) that the outer rows taken at once may have inside: an evaluation for one row stops at its first,
/// one for many goes on until each has one.
const ROWS_AT_ONCE: f64 = 32_768.0;
/// Outer rows taken at once at most: a batch.
const OUTER_ROWS_MAX: f64 = 2_048.0;

/// A chain of operators from a plan's root to its only `Outer` leaf.
pub(crate) struct RowChain {
    /// What the leaf takes, certain in each of its rows.
    pub(crate) slots: SlotSet,
    /// The cost of starting the joins on the way.
    pub(crate) starts: f64,
    /// What is looked at for one outer row.
    pub(crate) looked_at: LookedAt,
    /// Whether the slots are in every row on the way.
    is_carried: bool,
}

impl RowChain {
    /// The chain of a plan, if it is one.
    pub(crate) fn of(root: &Node) -> Option<Self> {
        let mut nodes = vec![root];
        loop {
            let node = nodes.last()?;
            let input = match &node.op {
                Op::Outer => break,
                Op::StarJoin { input, .. }
                | Op::PatternJoin { input, .. }
                | Op::CountJoin { input, .. }
                | Op::PathJoin { input, .. } => input,
                Op::HashJoin {
                    left, right, kind, ..
                } => match (outer_slots(left).is_empty(), outer_slots(right).is_empty()) {
                    (false, true) => left,
                    (true, false) if *kind == JoinKind::Inner => right,
                    _ => return None,
                },
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
        (certain && !slots.is_empty()).then(|| Self {
            slots,
            starts: starts(&nodes),
            looked_at: LookedAt::of(&nodes),
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
        (ROWS_AT_ONCE / self.looked_at.rows).clamp(1.0, OUTER_ROWS_MAX)
    }

    /// How many of so many outer rows share a start of the plan.
    pub(crate) fn sharing(&self, rows: f64) -> f64 {
        self.outer_rows_max().min(rows).max(1.0)
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
        rows_for_each: chain.looked_at.rows,
    })
}
