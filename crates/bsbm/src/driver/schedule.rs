//! The one list of mixes that all clients take from.
//!
//! A client takes a whole mix at a time, with the blocks of the update file that belong to it, so
//! a mix asks the same whoever runs it. Warm-up mixes have negative numbers and never repeat the
//! questions of measured ones. Measuring ends after a number of mixes, or by the clock, which is
//! looked at before a mix is handed out: one that was begun is ended.
//! Invariant: numbers of measured mixes are handed out once each, in ascending order.

use super::options::RunOptions;
use super::ramp_up::Periods;
use super::transactions::Transactions;
use crate::report::RampUpReport;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Ramp-up mixes are numbered upwards from here.
const RAMP_UP_FIRST_MIX: i64 = -(1 << 40);

/// Blocks of the update file, or in words why one is missing.
pub(crate) type Blocks = VecDeque<Result<String, String>>;

/// What a client does next.
pub(crate) enum Task {
    /// A mix that is not measured, without updates.
    WarmUp(i64),
    /// A mix that is measured.
    Measured(i64, Blocks),
    /// Nothing is left.
    End,
}

/// The list.
pub(crate) struct Schedule {
    state: Mutex<State>,
    /// Mixes to measure, unless there is a duration.
    runs: u64,
    /// How long mixes are begun.
    duration: Option<Duration>,
    /// Mixes that the update file suffices for, if mixes need it.
    supply: Option<u64>,
    blocks_per_mix: u64,
}

struct State {
    next_warm_up: i64,
    next_measured: u64,
    periods: Option<Periods>,
    transactions: Option<Transactions>,
    has_run_out: bool,
}

impl Schedule {
    /// The mixes of a run; so many blocks are left in the update file.
    pub(crate) fn new(
        options: &RunOptions,
        transactions: Option<Transactions>,
        blocks: u64,
        blocks_per_mix: u64,
    ) -> Schedule {
        let next_warm_up = match options.ramp_up {
            Some(_) => RAMP_UP_FIRST_MIX,
            None => -(options.warmup.min(i64::MAX as u64) as i64),
        };
        Schedule {
            state: Mutex::new(State {
                next_warm_up,
                next_measured: 0,
                periods: options.ramp_up.map(Periods::new),
                transactions,
                has_run_out: false,
            }),
            runs: options.runs,
            duration: options.duration,
            supply: blocks.checked_div(blocks_per_mix),
            blocks_per_mix,
        }
    }

    /// Takes the next mix; `started` is when measuring began, if it did.
    pub(crate) fn take(&self, started: Option<Instant>) -> Task {
        let mut state = self.lock();
        let is_warm = match &mut state.periods {
            Some(periods) => {
                periods.start(Instant::now());
                periods.is_over()
            }
            None => state.next_warm_up >= 0,
        };
        if !is_warm {
            let mix = state.next_warm_up;
            state.next_warm_up += 1;
            return Task::WarmUp(mix);
        }
        let is_over = match self.duration {
            Some(duration) => started.is_some_and(|started| started.elapsed() >= duration),
            None => state.next_measured >= self.runs,
        };
        if is_over {
            return Task::End;
        }
        if self
            .supply
            .is_some_and(|mixes| state.next_measured >= mixes)
        {
            state.has_run_out = true;
            return Task::End;
        }
        let mix = state.next_measured;
        state.next_measured += 1;
        let mut blocks = Blocks::new();
        if let Some(transactions) = &mut state.transactions {
            blocks.extend((0..self.blocks_per_mix).map(|_| transactions.take()));
        }
        Task::Measured(mix as i64, blocks)
    }

    /// A warm-up mix has been run.
    pub(crate) fn finish_warm_up(&self) {
        if let Some(periods) = &mut self.lock().periods {
            periods.finish_mix(Instant::now());
        }
    }

    /// Mixes that the update file suffices for, if mixes need it.
    pub(crate) fn supply(&self) -> Option<u64> {
        self.supply
    }

    /// Whether measuring ended for want of blocks of the update file.
    pub(crate) fn has_run_out(&self) -> bool {
        self.lock().has_run_out
    }

    /// How the ramp-up went, if there was one.
    pub(crate) fn ramp_up(&self) -> Option<RampUpReport> {
        self.lock().periods.as_ref().map(Periods::report)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
