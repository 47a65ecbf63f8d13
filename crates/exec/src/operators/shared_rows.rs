//! `SharedRows`: rows that were made whole, that a thread of its own scans for, or that are few, dealt out to the threads of a pipeline batch by batch.
//!
//! ```text
//! Group, Spool, full scan, few rows ── next, under a lock ──► thread 1: its copy of the chain above
//!                                                            └─► thread 2: its copy
//! ```
//!
//! What makes rows whole has done its work when the first batch comes; then a batch costs a slice, as it does where another thread scans. So a lock around the
//! operator deals out as well as a counter of morsels, and what comes by and by (groups from files) needs no
//! list. What is work is not the rows but what they lead to in the chain above: few rows, each of which leads to many, are all read at once and cut
//! into small batches ([`Shares`]), be they a batch or some; so are rows that cost little beside what they are joined with.
//!
//! Invariants: the first batches are read before threads share the rows, so that no thread waits at the lock while rows
//! are made, unless there are more than was expected; after an error or the end nothing more comes. Memory: the batches read, two for each thread
//! and one. Order: none across threads.

use super::reserve::Reserve;
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::{Context, ExecOptions};
use crate::error::ExecError;
use crate::profile;
use basalt_plan::physical::{Node, Op};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

/// Parts of few rows for each thread, so that the last ones end about together.
const THREAD_PARTS: usize = 8;
/// Batches for each thread that are few, and read before threads share the rest.
const THREAD_BATCHES: usize = 2;
/// To how many rows each of the few must lead at least: less is no reason to make them on one thread, or to cut them.
pub const FAN_OUT_MIN: f64 = 4.0;

/// Into what shares rows are cut, if those that are read first are all.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// Batches that are read first; more than one must be there to share.
    pub batches: usize,
    /// Parts that few rows are cut into at most, one or more.
    pub parts: usize,
    /// To how many rows each of them is expected to lead.
    pub fan_out: f64,
    /// To how many rows a part must lead.
    pub many: f64,
}

impl Shares {
    /// Of rows that are work for all threads, however few they are.
    pub fn of_few(options: &ExecOptions) -> Self {
        Self {
            batches: options.threads * THREAD_BATCHES + 1,
            parts: options.threads * THREAD_PARTS,
            fan_out: f64::INFINITY,
            many: options.dealt_rows_min as f64,
        }
    }

    /// Of rows that are each expected to lead to so many.
    pub fn of_rows(fan_out: f64, options: &ExecOptions) -> Self {
        Self {
            fan_out,
            ..Self::of_few(options)
        }
    }

    /// Of rows that are shared in the batches in which they come.
    pub fn in_batches(options: &ExecOptions) -> Self {
        Self {
            batches: 2,
            parts: 1,
            ..Self::of_few(options)
        }
    }

    /// Rows of a part, if so many are all: it is expected to lead to many.
    pub fn part_rows(&self, rows: usize) -> usize {
        let parts = match self.fan_out >= FAN_OUT_MIN || self.many == 0.0 {
            // One where it is none, as many as can be where any rows are many.
            true => (rows as f64 * self.fan_out / self.many) as usize,
            false => 1,
        };
        rows.div_ceil(parts.clamp(1, self.parts)).max(1)
    }
}

/// Rows for several threads; see the [module documentation](self).
pub struct SharedRows {
    /// Threads that are called to take their share.
    pub reserve: Reserve,
    state: Mutex<State>,
}

struct State {
    read: VecDeque<Batch>,
    /// Brings the others; `None` at the end.
    source: Option<BoxOperator>,
}

/// Whether a node makes all its rows before it gives the first, in no particular order, if whoever reads it reads all of them.
pub fn is_made_whole(node: &Node, options: &ExecOptions) -> bool {
    match &node.op {
        Op::Group { .. } | Op::GroupThrough(_) | Op::RollUp(_) => true,
        Op::Distinct { .. } => distinct_pays_whole(node, options),
        Op::Spool { input, .. } => is_made_whole(input, options),
        _ => false,
    }
}

/// Whether the rows of a DISTINCT that are all read had better be made as groups, in partitions and by all threads: there are many, and in no order.
pub fn distinct_pays_whole(node: &Node, options: &ExecOptions) -> bool {
    let Op::Distinct { input } = &node.op else {
        return false;
    };
    !input.schema.is_empty() && options.are_many(input.estimated_rows) && !has_order(input)
}

/// Whether rows are sorted somewhere below.
fn has_order(node: &Node) -> bool {
    matches!(node.op, Op::OrderBy { .. }) || node.op.children().into_iter().any(has_order)
}

impl SharedRows {
    /// Shares what `source` brings; reads its first batches, and cuts them if they are all.
    pub fn new(source: BoxOperator, shares: &Shares, cx: &Context) -> Result<Self, ExecError> {
        let mut state = State {
            read: VecDeque::new(),
            source: Some(source),
        };
        while state.read.len() < shares.batches
            && let Some(batch) = state.pull(cx)?
        {
            state.read.push_back(batch);
        }
        if state.source.is_none() {
            state.cut(shares);
        }
        Ok(Self {
            reserve: Reserve::default(),
            state: Mutex::new(state),
        })
    }

    /// Whether there is work for more than one thread.
    pub fn has_several_batches(&self) -> bool {
        self.lock().read.len() > 1
    }

    /// Whether there are none at all.
    pub fn is_empty(&self) -> bool {
        self.lock().read.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    fn next(&self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        cx.check()?;
        self.reserve.call_if_due();
        let mut state = profile::waiting(|| self.lock());
        match state.read.pop_front() {
            Some(batch) => Ok(Some(batch)),
            None => state.pull(cx),
        }
    }
}

impl State {
    /// Cuts the batches that were read, which are all.
    fn cut(&mut self, shares: &Shares) {
        let part_rows = shares.part_rows(self.read.iter().map(Batch::rows).sum());
        let whole = std::mem::take(&mut self.read);
        for batch in whole {
            let starts = (0..batch.rows()).step_by(part_rows);
            let cut = starts.map(|start| batch.slice(start, part_rows.min(batch.rows() - start)));
            self.read.extend(cut);
        }
    }

    fn pull(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        let Some(source) = &mut self.source else {
            return Ok(None);
        };
        let result = source.next(cx);
        if !matches!(result, Ok(Some(_))) {
            self.source = None;
        }
        result
    }
}

/// The operator by which one thread takes its share.
pub struct SharedReader(pub Arc<SharedRows>);

impl Operator for SharedReader {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        self.0.next(cx)
    }
}
