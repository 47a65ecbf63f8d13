//! `Dependent`: a plan that runs anew for each row around it, as EXISTS and lateral joins need it.
//!
//! ```text
//! row -> key: the values of the slots that `Outer` leaves take -> operators, made for this key
//! ```
//!
//! Nothing but the key enters the plan, so callers may remember what came out for a key, unless the
//! plan has something volatile in it ([`Dependent::is_repeatable`]). Hash tables whose rows do not
//! depend on the key are built by the first evaluation and used by all.
//!
//! Cost: making the operators, some microseconds for each evaluation, and what they read. Some plans run for many keys at
//! once and pay the making once ([`Dependent::at_once`]).

use super::BoxOperator;
use super::build::correlated::OuterRows;
use super::build::{Build, Shared};
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use basalt_plan::physical::{Node, Slot};
use hashbrown::HashMap;
use std::hash::RandomState;
use std::sync::{Arc, Mutex};

/// What the evaluations of one plan share through the whole query, on all threads.
#[derive(Default)]
pub struct Memo {
    /// Hash tables that do not depend on the row.
    kept: Arc<Shared>,
    /// Whether the plan has a row, by key.
    pub answers: Mutex<Answers>,
}

/// Answers of an EXISTS that are remembered.
#[derive(Default)]
pub struct Answers {
    /// The answers by key.
    pub by_key: HashMap<Vec<u64>, bool, RandomState>,
    /// The memory they take.
    pub held: HeldMemory,
}

/// The plan; see the [module documentation](self).
#[derive(Clone)]
pub struct Dependent {
    node: Arc<Node>,
    /// The slots that `Outer` leaves take and the row has.
    slots: Vec<Slot>,
    /// Their columns in the row.
    columns: Vec<usize>,
    memo: Arc<Memo>,
    is_repeatable: bool,
}

impl Dependent {
    /// A plan for rows whose columns are `schema`.
    pub fn new(node: &Node, schema: &[Slot], cx: &Context) -> Self {
        let taken = basalt_plan::outer_slots(node);
        let column = |slot: &Slot| schema.iter().position(|s| s == slot);
        let places = taken.into_iter().filter_map(|s| Some((s, column(&s)?)));
        let (slots, columns): (Vec<Slot>, _) = places.unzip();
        let memo = cx.memo(node.id, &slots);
        Self {
            node: Arc::new(node.clone()),
            slots,
            columns,
            memo,
            is_repeatable: !basalt_plan::is_volatile_plan(node),
        }
    }

    /// Whether two evaluations for one key give the same.
    pub fn is_repeatable(&self) -> bool {
        self.is_repeatable
    }

    /// What all evaluations share.
    pub fn memo(&self) -> &Memo {
        &self.memo
    }

    /// The values that enter the plan, of a row given by column.
    pub fn key(&self, cell: impl Fn(usize) -> u64) -> Vec<u64> {
        self.columns.iter().map(|&column| cell(column)).collect()
    }

    /// The operators for a key.
    pub fn operator(&self, key: &[u64], cx: &Context) -> Result<BoxOperator, ExecError> {
        self.operator_of(&[key], cx)
    }

    /// The operators for several keys at once, where [`Self::at_once`] allows it.
    pub fn operator_of(&self, keys: &[&[u64]], cx: &Context) -> Result<BoxOperator, ExecError> {
        let column = |column: usize| keys.iter().map(|key| key[column]).collect();
        let outer = Arc::new(OuterRows {
            slots: self.slots.clone(),
            columns: (0..self.slots.len()).map(column).collect(),
            rows: keys.len(),
        });
        Build::for_outer_rows(cx.shared(), Arc::clone(&self.memo.kept), outer).operator(&self.node)
    }

    /// How the plan runs for many keys at once; `None` if each key needs its own operators.
    pub fn at_once(&self) -> Option<AtOnce> {
        if !self.is_repeatable {
            return None;
        }
        let many = basalt_plan::many_outer_rows(&self.node)?;
        let all = many.slots.len() == self.slots.len() && many.count_max > 1;
        let column = |slot: &Slot| self.node.schema.iter().position(|s| s == slot);
        let columns: Option<Vec<usize>> = self.slots.iter().map(column).collect();
        columns.filter(|_| all).map(|columns| AtOnce {
            keys_max: many.count_max,
            columns,
            rows_for_key: many.rows_for_each,
        })
    }
}

/// How a plan runs for many keys at once.
#[derive(Clone)]
pub struct AtOnce {
    /// Keys that the operators may be made for, at most.
    pub keys_max: usize,
    /// The columns of their rows that make up the key.
    pub columns: Vec<usize>,
    /// The most rows that an operator is expected to give for a key.
    pub rows_for_key: f64,
}
