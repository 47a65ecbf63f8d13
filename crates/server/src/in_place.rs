//! Quick queries are answered in place: on the thread of their connection, with no hand-over to another.
//!
//! Who is quick is guessed, by the time that queries of the same shape took ([`Pace`](crate::pace::Pace)), else by the planner's
//! estimate. A guess may be wrong, so what runs in place is an attempt with [`ATTEMPT`] to go. One that is not done by
//! then, or whose answer is longer than [`ANSWER_BYTES_MAX`], is given up without having sent anything, and the query
//! runs anew on a blocking thread, where it may take as long as it may. Decision 0012 has the figures.
//!
//! Invariant: a thread of connections is never held for longer than parsing and planning a quick text, an attempt and the
//! work of operators between two checks take together. Queries that ask endpoints are never attempted, since their
//! requests must not be sent twice; nor are those that read on threads of their own, whose work an attempt does not see.

use crate::metrics::Attempted;
use crate::problem::Problem;
use crate::protocol::{QueryRequest, Wanted};
use crate::query::{prepare, query_options, write_result};
use crate::sink::{CHUNK_BYTES, Head, WholeSink};
use crate::state::AppState;
use basalt_engine::{Error, PlanShape, Prepared, is_quick_to_parse, thread_time};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long a query may take in place.
pub const ATTEMPT: Duration = Duration::from_millis(1);
/// Up to which time of earlier runs a query is taken for quick: far enough from the limit that few attempts fail.
const QUICK_MAX: Duration = Duration::from_micros(500);
/// Up to which estimate, in nanoseconds, a query of a new shape is. Estimates leave out what small queries spend most time
/// on: starting operators and writing text.
const QUICK_ESTIMATE_MAX: f64 = 200_000.0;
/// Bytes of an answer in place; that of the first chunk of a stream.
pub const ANSWER_BYTES_MAX: usize = CHUNK_BYTES;

/// How far a query came in place.
pub enum InPlace {
    /// To its end: the answer with its rows, or what went wrong.
    Ended(Result<(Head, u64), Problem>),
    /// Not to its end, or nowhere; with its plan, if it has one by now.
    HandOver(Option<Prepared>),
}

/// Tries to answer a query on this thread.
pub fn try_in_place(state: &AppState, request: &QueryRequest, cancel: &Arc<AtomicBool>) -> InPlace {
    if request.wanted != Wanted::Answer || !is_quick_to_parse(&request.text) {
        return InPlace::HandOver(None);
    }
    let attempt = || attempt(state, request, cancel);
    // A panic ends the request, not the connections of this thread.
    catch_unwind(AssertUnwindSafe(attempt))
        .unwrap_or_else(|_| InPlace::Ended(Err(Problem::lost("query"))))
}

fn attempt(state: &AppState, request: &QueryRequest, cancel: &Arc<AtomicBool>) -> InPlace {
    let mut options = query_options(state, request, Arc::clone(cancel));
    let prepared = match prepare(state, &request.text, &options) {
        Ok(prepared) => prepared,
        Err(error) => return InPlace::Ended(Err(error.into())),
    };
    let shape = prepared.shape;
    if !is_quick(state, &prepared, shape) {
        state.metrics.attempted(Attempted::Not);
        return InPlace::HandOver(Some(prepared));
    }
    options.exec.attempt = Some(ATTEMPT);
    options.exec.threads = 1;
    let start = thread_time();
    let mut sink = WholeSink::new(request.coding, ANSWER_BYTES_MAX);
    let result = write_result(&prepared, request, &options, &mut sink);
    let is_given_up = sink.is_full() || matches!(result, Err(Failed::Query(Error::AttemptOver)));
    note_pace(state, shape, start, is_given_up);
    if is_given_up {
        state.metrics.attempted(Attempted::GivenUp);
        return InPlace::HandOver(Some(prepared));
    }
    state.metrics.attempted(Attempted::Answered);
    let ended = result.map_err(Problem::from).and_then(|rows| {
        let head = sink.finish().map_err(Error::from)?;
        Ok((head, rows))
    });
    InPlace::Ended(ended)
}

/// Notes how long a query has worked since this thread had worked so long; one with a long answer, or that was given up, counts
/// as slow, however little it has worked.
pub fn note_pace(state: &AppState, shape: PlanShape, start: Option<Duration>, is_slow: bool) {
    if let (Some(start), Some(end)) = (start, thread_time()) {
        let least = if is_slow { ATTEMPT } else { Duration::ZERO };
        state
            .pace
            .note(shape.hash, end.saturating_sub(start).max(least));
    }
}

/// Why there is no answer.
pub enum Failed {
    /// The query failed.
    Query(Error),
    /// The request asks for what the query does not give.
    Request(Problem),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Query(error)
    }
}

impl From<Problem> for Failed {
    fn from(problem: Problem) -> Self {
        Self::Request(problem)
    }
}

impl From<Failed> for Problem {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Query(error) => error.into(),
            Failed::Request(problem) => problem,
        }
    }
}

fn is_quick(state: &AppState, prepared: &Prepared, shape: PlanShape) -> bool {
    if shape.asks_services || shape.starts_threads {
        return false;
    }
    match state.pace.of(shape.hash) {
        Some(time) => time <= QUICK_MAX,
        None => prepared.plan().root.estimated_cost <= QUICK_ESTIMATE_MAX,
    }
}
