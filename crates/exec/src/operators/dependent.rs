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
use super::answered::Answered;
use super::build::correlated::OuterRows;
use super::build::{Build, Shared};
use super::row_keys::RowKeys;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::row_numbers::RowNumbers;
use basalt_plan::physical::{Node, Slot};
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
    /// Those for the keys that were asked for last, which are among the others once somebody asks again: mostly nobody does.
    last: Option<(Arc<RowKeys>, Vec<bool>)>,
    /// The keys of the others; none before the first is put in.
    keys: Option<RowNumbers>,
    /// Their answers, in the same order.
    answers: Vec<bool>,
    held: HeldMemory,
}

impl Answers {
    /// Number of answers.
    pub fn count(&self) -> usize {
        let last = self.last.as_ref();
        self.answers.len() + last.map_or(0, |(keys, _)| keys.len())
    }

    /// The answers for some keys, where they are known.
    pub fn of(&mut self, keys: &RowKeys) -> Vec<Option<bool>> {
        self.settle();
        keys.iter().map(|key| self.of_one(key)).collect()
    }

    /// The answer for a key, if it is known.
    pub fn of_key(&mut self, key: &[u64]) -> Option<bool> {
        self.settle();
        self.of_one(key)
    }

    fn of_one(&self, key: &[u64]) -> Option<bool> {
        let place = self.keys.as_ref()?.find(key)?;
        Some(self.answers[place as usize])
    }

    /// Remembers the answer for a key.
    pub fn remember_one(&mut self, key: &[u64], answer: bool) {
        self.settle();
        let keys = self
            .keys
            .get_or_insert_with(|| RowNumbers::hashed(key.len()));
        if keys.insert(key) {
            self.answers.push(answer);
        }
    }

    /// Remembers the answers for distinct keys.
    pub fn remember(&mut self, keys: Arc<RowKeys>, answers: Vec<bool>) {
        debug_assert_eq!(keys.len(), answers.len());
        self.settle();
        self.last = Some((keys, answers));
    }

    /// Puts the last ones among the others. What another thread has put there stays.
    fn settle(&mut self) {
        let Some((last, answers)) = self.last.take() else {
            return;
        };
        let columns = last.columns();
        let columns: Vec<&[u64]> = columns.iter().map(Vec::as_slice).collect();
        let keys = self
            .keys
            .get_or_insert_with(|| RowNumbers::hashed(columns.len()));
        let new = keys.insert_all(&columns, last.len());
        self.answers
            .extend(new.into_iter().map(|place| answers[place as usize]));
    }

    /// Counts the memory of so many answers for keys of a width; false if there is no room for it.
    pub fn hold(&mut self, count: usize, width: usize, cx: &Context) -> bool {
        // Vectors and tables may be half empty.
        let bytes = 2 * count * (RowNumbers::row_bytes(width) + size_of::<bool>());
        self.held.grow_cache_to(bytes, "EXISTS", cx)
    }
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

    /// The columns of a row whose values enter the plan.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The slots of these columns.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The values that enter the plan, of a row given by column.
    pub fn key(&self, cell: impl Fn(usize) -> u64) -> Vec<u64> {
        self.columns.iter().map(|&column| cell(column)).collect()
    }

    /// The operators for a key.
    pub fn operator(&self, key: &[u64], cx: &Context) -> Result<BoxOperator, ExecError> {
        let columns: Vec<&[u64]> = key.chunks(1).collect();
        self.operator_for(&RowKeys::of_columns(&columns, 1), None, cx)
    }

    /// The operators for several keys at once, where [`Self::at_once`] allows it; of keys that have been answered they need not give more
    /// rows.
    pub fn operator_of(
        &self,
        answered: &Arc<Answered>,
        cx: &Context,
    ) -> Result<BoxOperator, ExecError> {
        self.operator_for(answered.keys(), Some(Arc::clone(answered)), cx)
    }

    fn operator_for(
        &self,
        keys: &RowKeys,
        answered: Option<Arc<Answered>>,
        cx: &Context,
    ) -> Result<BoxOperator, ExecError> {
        let outer = Arc::new(OuterRows {
            slots: self.slots.clone(),
            columns: (0..self.slots.len()).map(|idx| keys.column(idx)).collect(),
            rows: keys.len(),
            answered,
        });
        Build::for_outer_rows(cx.shared(), Arc::clone(&self.memo.kept), outer).operator(&self.node)
    }

    /// How the plan runs for many keys at once; `None` if each key needs its own operators.
    pub fn at_once(&self) -> Option<AtOnce> {
        if !self.is_repeatable {
            return None;
        }
        let many = basalt_plan::many_outer_rows(&self.node)?;
        let all = many.slots.len() == self.slots.len();
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
