//! One client: takes mixes from the list and runs their queries one after the other.
//!
//! The clock of an execution stops with the last byte of its answer; only then is the answer
//! read and hashed. A failed execution is recorded and never ends the run; after an error the
//! client pauses, so that a dead endpoint is not stormed. A question that has been given up is
//! recorded as not tried.

use super::connection::Connections;
use super::give_up::{GivenUp, Question};
use super::ledger::Ledger;
use super::progress::Counters;
use super::schedule::{Blocks, Schedule, Task};
use super::start_line::{Place, StartLine};
use super::workload::{Request, Slot, Workload, Writes};
use crate::answer::digest;
use crate::error::BsbmError;
use crate::http::Failure;
use crate::random::scramble;
use crate::report::{Execution, MixTime, Outcome, Samples};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a client waits after a failed execution.
const BACK_OFF: Duration = Duration::from_millis(50);

/// What the clients of a run share.
pub(crate) struct Shared<'a> {
    pub(crate) workload: Workload<'a>,
    pub(crate) schedule: Schedule,
    pub(crate) start_line: StartLine,
    pub(crate) ledger: Mutex<Ledger>,
    /// What is not asked any more.
    pub(crate) given_up: GivenUp,
    /// What was done before the clock started.
    pub(crate) warm: Counters,
    /// What was done since.
    pub(crate) measured: Counters,
}

/// What a client brings back.
pub(crate) struct Harvest {
    pub(crate) samples: Samples,
    pub(crate) mixes: Vec<MixTime>,
    /// When it had nothing left to do.
    pub(crate) ended: Instant,
}

/// Runs mixes until none is left.
pub(crate) fn run_client(shared: &Shared<'_>, mut place: Place<'_>) -> Result<Harvest, BsbmError> {
    let mut connections = Connections::new(shared.workload.options)?;
    let mut harvest = Harvest {
        samples: Samples::default(),
        mixes: Vec::new(),
        ended: Instant::now(),
    };
    // Termination: every round takes a mix from a list that ends, or lets the clock go on.
    loop {
        match shared.schedule.take(shared.start_line.started()) {
            Task::WarmUp(mix) => {
                let run = MixRun {
                    shared,
                    mix,
                    started: None,
                    counters: &shared.warm,
                };
                run.run(&mut connections, Blocks::new(), &mut |_| ());
                shared.schedule.finish_warm_up();
            }
            Task::Measured(mix, blocks) => {
                let started = place.wait();
                let run = MixRun {
                    shared,
                    mix,
                    started: Some(started),
                    counters: &shared.measured,
                };
                let samples = &mut harvest.samples;
                let seconds = run.run(&mut connections, blocks, &mut |e| samples.add(e));
                let ended_s = started.elapsed().as_secs_f64();
                harvest.mixes.push(MixTime { seconds, ended_s });
            }
            Task::End => {
                place.wait();
                harvest.ended = Instant::now();
                return Ok(harvest);
            }
        }
    }
}

/// A mix that is being run.
struct MixRun<'a> {
    shared: &'a Shared<'a>,
    mix: i64,
    /// When measuring began, if it did.
    started: Option<Instant>,
    counters: &'a Counters,
}

impl MixRun<'_> {
    /// Runs all of it; returns the time of its executions together.
    fn run(
        &self,
        connections: &mut Connections<'_>,
        blocks: Blocks,
        record: &mut dyn FnMut(Execution),
    ) -> f64 {
        let workload = &self.shared.workload;
        let writes = match self.started {
            Some(_) => Writes::Sent,
            None => Writes::LeftOut,
        };
        let mut blocks = blocks.into_iter();
        let mut seconds = 0.0;
        for slot in workload.slots(self.mix, writes) {
            match workload.requests(self.mix, slot, &mut blocks) {
                Ok(requests) => {
                    for request in requests {
                        let execution = self.execute(connections, slot, request);
                        seconds += execution.seconds.unwrap_or(0.0);
                        self.settle(execution, record);
                    }
                }
                Err(reason) => {
                    let mut execution = self.blank(slot, None);
                    execution.outcome = Outcome::Failed(reason);
                    self.settle(execution, record);
                }
            }
        }
        self.counters.mixes.fetch_add(1, Ordering::Relaxed);
        seconds
    }

    /// Counts an execution and hands it over.
    fn settle(&self, mut execution: Execution, record: &mut dyn FnMut(Execution)) {
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        count(&self.counters.executions);
        let pause = match execution.outcome {
            Outcome::Answered | Outcome::NotTried => None,
            Outcome::TimedOut => {
                count(&self.counters.timeouts);
                Some(self.shared.workload.options.timeout_pause)
            }
            Outcome::Failed(_) => {
                count(&self.counters.errors);
                Some(BACK_OFF)
            }
        };
        if let Some(started) = self.started {
            execution.ended_s = started.elapsed().as_secs_f64();
        }
        record(execution);
        if let Some(pause) = pause {
            std::thread::sleep(pause);
        }
    }

    fn blank(&self, slot: Slot, level: Option<usize>) -> Execution {
        Execution {
            number: slot.number,
            form: slot.form,
            level,
            outcome: Outcome::Answered,
            seconds: None,
            ended_s: 0.0,
            rows: 0,
            hash: 0,
        }
    }

    /// Runs one query or update.
    fn execute(
        &self,
        connections: &mut Connections<'_>,
        slot: Slot,
        request: Request,
    ) -> Execution {
        let mut execution = self.blank(slot, request.level);
        let options = self.shared.workload.options;
        let question = Question {
            number: slot.number,
            level: request.level,
        };
        if self.shared.given_up.has(question) {
            execution.seconds = Some(options.timeout.as_secs_f64());
            execution.outcome = Outcome::NotTried;
            return execution;
        }
        let answer = connections.send(slot.form, &request.text);
        let checked = answer.and_then(|answer| {
            let digest = digest(slot.form, options.results_format, &answer);
            let digest = digest.map_err(Failure::Other)?;
            Ok((answer.seconds, digest))
        });
        let outcome = match checked {
            Ok((seconds, digest)) => {
                execution.seconds = Some(seconds);
                execution.rows = digest.rows;
                // The same answer in another place of the run is another one.
                let (position, step) = (u64::from(slot.position), u64::from(request.step));
                let place = [self.mix as u64, position, step].into_iter();
                execution.hash =
                    place.fold(digest.hash, |hash, part| scramble(hash ^ scramble(part)));
                Outcome::Answered
            }
            Err(Failure::Timeout) => {
                self.shared.given_up.timed_out(question);
                execution.seconds = Some(options.timeout.as_secs_f64());
                Outcome::TimedOut
            }
            Err(Failure::Other(reason)) => Outcome::Failed(reason),
        };
        if let Some(effect) = request.effect {
            // The ledger is whole between any two statements.
            let ledger = &self.shared.ledger;
            let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
            match outcome {
                Outcome::Answered => ledger.confirm(effect),
                Outcome::TimedOut | Outcome::NotTried | Outcome::Failed(_) => {
                    ledger.doubt(&effect);
                }
            }
        }
        execution.outcome = outcome;
        execution
    }
}
