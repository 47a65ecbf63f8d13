//! `MergeJoin`: two inputs joined in the order of one slot.
//!
//! Both sides are read whole; a side that turns out unsorted is sorted first, so that the answer never
//! depends on an order that was only promised. Runs of equal keys are paired. Memory: both sides, counted; if one of them
//! does not fit into its share, both are merged from files ([`SpilledMerge`]).

use super::Operator;
use super::merge_side::{MergeSide, SideInMemory};
use super::output::Output;
use super::spilled_merge::SpilledMerge;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;

/// Pairs produced before they are handed on.
const PAIRS_MAX: usize = 1 << 14;

/// A side and how far it was read.
struct Reading {
    side: SideInMemory,
    position: usize,
}

impl Reading {
    fn new(side: MergeSide) -> Self {
        Self {
            side: side.into_memory(),
            position: 0,
        }
    }

    fn key(&self) -> Option<u64> {
        let row = *self.side.order.get(self.position)?;
        Some(self.side.columns[self.side.key_column][row as usize])
    }

    /// The places in the order of the rows with the present key, passing over them.
    fn take_run(&mut self, key: u64) -> std::ops::Range<usize> {
        let start = self.position;
        while self.key() == Some(key) {
            self.position += 1;
        }
        start..self.position
    }
}

/// The operator; see the [module documentation](self).
pub enum MergeJoin {
    /// Both sides in memory.
    InMemory(Box<InMemory>),
    /// Both sides in files.
    Spilled(Box<SpilledMerge>),
}

/// A join in memory.
pub struct InMemory {
    left: Reading,
    right: Reading,
    /// Rows of the key at hand that were not paired yet: left ones, each with all of the right ones, and where in the
    /// right ones the first left one goes on.
    pairing: (std::ops::Range<usize>, std::ops::Range<usize>, usize),
    /// For each output column the side (true is left) and its column.
    sources: Vec<(bool, usize)>,
    output: Output,
}

impl MergeJoin {
    /// Joins two inputs that were read.
    pub fn new(
        left: MergeSide,
        right: MergeSide,
        sources: Vec<(bool, usize)>,
        cx: &Context,
    ) -> Result<Self, ExecError> {
        if left.is_spilled() || right.is_spilled() {
            let join = SpilledMerge::new(left, right, sources, cx)?;
            return Ok(Self::Spilled(Box::new(join)));
        }
        Ok(Self::InMemory(Box::new(InMemory {
            left: Reading::new(left),
            right: Reading::new(right),
            pairing: (0..0, 0..0, 0),
            sources,
            output: Output::default(),
        })))
    }
}

impl InMemory {
    /// The next pairs of rows, at most [`PAIRS_MAX`], however many there are of one key.
    fn pairs(&mut self) -> (Vec<u32>, Vec<u32>) {
        let (mut left_rows, mut right_rows) = (Vec::new(), Vec::new());
        while left_rows.len() < PAIRS_MAX {
            let (lefts, rights, begun) = &mut self.pairing;
            if lefts.start < lefts.end {
                let row = self.left.side.order[lefts.start];
                let from = rights.start + *begun;
                let count = (rights.end - from).min(PAIRS_MAX - left_rows.len());
                left_rows.resize(left_rows.len() + count, row);
                right_rows.extend_from_slice(&self.right.side.order[from..from + count]);
                *begun += count;
                if from + count == rights.end {
                    lefts.start += 1;
                    *begun = 0;
                }
                continue;
            }
            let (Some(left), Some(right)) = (self.left.key(), self.right.key()) else {
                break;
            };
            if left < right {
                self.left.position += 1;
            } else if right < left {
                self.right.position += 1;
            } else {
                self.pairing = (self.left.take_run(left), self.right.take_run(left), 0);
            }
        }
        (left_rows, right_rows)
    }

    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        loop {
            if let Some(batch) = self.output.take(cx) {
                return Ok(Some(batch));
            }
            cx.check()?;
            let (left_rows, right_rows) = self.pairs();
            if left_rows.is_empty() {
                return Ok(None);
            }
            let gather = |values: &[u64], rows: &[u32]| {
                rows.iter().map(|&row| values[row as usize]).collect()
            };
            let columns = self
                .sources
                .iter()
                .map(|&(left, column)| {
                    if left {
                        gather(&self.left.side.columns[column], &left_rows)
                    } else {
                        gather(&self.right.side.columns[column], &right_rows)
                    }
                })
                .collect();
            self.output
                .put(Batch::from_vectors(columns, left_rows.len()));
        }
    }
}

impl Operator for MergeJoin {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        match self {
            Self::InMemory(join) => join.next(cx),
            Self::Spilled(join) => join.next(cx),
        }
    }
}
