//! `Spool`: rows that several places of a plan read, made once.
//!
//! The first place that asks evaluates its input to the end and keeps the batches; the others, whose inputs would
//! give the same rows, read those. Memory: the rows, counted, up to the operator's share of the query's
//! memory; where they do not fit, nothing is kept and each place evaluates its own input. Rows of a LIMIT, which
//! might be others then, are kept at any rate, or there is no room for the query. Order: that of the input.

use super::build::Build;
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::spill::share_bytes;
use basalt_plan::physical::Node;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// What all places with the same number have together. The lock is held while the rows are made, so that they are
/// made once; what makes them reads no spool of the same number.
#[derive(Default)]
pub struct SpooledRows(Mutex<State>);

#[derive(Default)]
enum State {
    /// Nobody has asked.
    #[default]
    Unmade,
    Kept(Arc<Kept>),
    /// They did not fit.
    TooMany,
}

/// Batches, and the account of their bytes.
struct Kept {
    batches: Vec<Batch>,
    _held: HeldMemory,
}

/// Where the rows come from.
enum Source {
    /// Not known before the first row is asked for.
    Unknown,
    Kept {
        rows: Arc<Kept>,
        next: usize,
    },
    /// The own input; what was read of it before it turned out to be too much comes first.
    Input {
        read: VecDeque<Batch>,
        /// The account of what was read.
        held: HeldMemory,
        input: BoxOperator,
    },
}

/// The operator; see the [module documentation](self).
pub struct Spool {
    input: Arc<Node>,
    /// Whether its rows must be kept.
    always: bool,
    build: Build,
    rows: Arc<SpooledRows>,
    source: Source,
}

impl Spool {
    /// Reads `rows`, or makes them from `input`, and keeps them `always` or where there is room.
    pub fn new((input, always): (Arc<Node>, bool), build: Build, rows: Arc<SpooledRows>) -> Self {
        Self {
            input,
            always,
            build,
            rows,
            source: Source::Unknown,
        }
    }

    fn open(&self, cx: &Context) -> Result<Source, ExecError> {
        let mut state = self.rows.0.lock().expect("no holder panics");
        match &*state {
            State::Kept(rows) => {
                let rows = Arc::clone(rows);
                return Ok(Source::Kept { rows, next: 0 });
            }
            State::TooMany => {
                return Ok(Source::Input {
                    read: VecDeque::new(),
                    held: HeldMemory::default(),
                    input: self.build.operator(&self.input)?,
                });
            }
            State::Unmade => {}
        }
        let mut input = self.build.operator(&self.input)?;
        let (mut batches, mut bytes, mut held) = (Vec::new(), 0, HeldMemory::default());
        while let Some(batch) = input.next(cx)? {
            cx.check()?;
            bytes += batch.bytes();
            batches.push(batch.compact());
            let fits = (self.always || bytes <= share_bytes(cx))
                && match held.grow_to(bytes, "Spool", cx) {
                    Err(ExecError::MemoryLimit { .. }) if !self.always => false,
                    outcome => outcome.map(|()| true)?,
                };
            if !fits {
                *state = State::TooMany;
                let read = batches.into();
                return Ok(Source::Input { read, held, input });
            }
        }
        let rows = Arc::new(Kept {
            batches,
            _held: held,
        });
        *state = State::Kept(Arc::clone(&rows));
        Ok(Source::Kept { rows, next: 0 })
    }
}

impl Operator for Spool {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        if matches!(self.source, Source::Unknown) {
            self.source = self.open(cx)?;
        }
        match &mut self.source {
            Source::Kept { rows, next } => {
                *next += 1;
                Ok(rows.batches.get(*next - 1).cloned())
            }
            Source::Input { read, held, input } => match read.pop_front() {
                Some(batch) => Ok(Some(batch)),
                None => {
                    held.release();
                    input.next(cx)
                }
            },
            Source::Unknown => Ok(None),
        }
    }
}
