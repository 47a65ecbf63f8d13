//! Running an update for a request: on a blocking thread, answered when it is committed.
//!
//! So many may wait for their turn on such threads ([`AppState::writes`]); others wait without one.
//! A client that hangs up cancels its update as long as that waits or runs; one whose commit has begun may find it done
//! all the same.

use crate::metrics::Outcome;
use crate::problem::{Problem, of_write};
use crate::protocol::UpdateRequest;
use crate::query::limits;
use crate::registry::{Work, shown};
use crate::sink::CancelOnDrop;
use crate::state::AppState;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use basalt_engine::{Error, UpdateOptions, UpdateReport};
use serde_json::{Value, json};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;

/// How often an update that waits for room looks whether it was cancelled.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs an update and says what it did.
pub async fn answer_update(state: AppState, request: UpdateRequest) -> Result<Response, Problem> {
    let text = shown(&request.text).to_owned();
    let report = run_write(state, &text, move |state, cancel| {
        let mut query = limits(state, request.timeout, cancel);
        query.base = request.base;
        query.default_graphs = request.using_graphs;
        query.named_graphs = request.using_named_graphs;
        let options = UpdateOptions {
            query,
            load_folders: state.options.load_folders.clone(),
        };
        let updated = state.database.update(&request.text, &options);
        let report = updated.map_err(|error| of_write(error, "update"))?;
        state.metrics.quads_changed(report.removed, report.added);
        Ok(report)
    });
    Ok(json_answer(&to_json(&report.await?)))
}

/// An answer that is a JSON value, on a line.
pub fn json_answer(value: &Value) -> Response {
    let media_type = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, media_type)], format!("{value}\n")).into_response()
}

/// Runs something that writes on a blocking thread; it is in the list of what runs, with this text, counted
/// when it has ended, and cancelled if nobody waits for it any more.
pub async fn run_write<T: Send + 'static>(
    state: AppState,
    text: &str,
    work: impl FnOnce(&AppState, Arc<AtomicBool>) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    run_write_until(state, text, Arc::default(), work).await
}

/// As [`run_write`], with the flag that cancels it.
pub async fn run_write_until<T: Send + 'static>(
    state: AppState,
    text: &str,
    cancel: Arc<AtomicBool>,
    work: impl FnOnce(&AppState, Arc<AtomicBool>) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let flag = Arc::clone(&cancel);
    let entry = state.registry.enter(text, Work::Write, flag).elsewhere();
    let waiting = CancelOnDrop::new(&cancel);
    let room = room_unless(&state, &cancel).await?;
    let ended = tokio::task::spawn_blocking(move || {
        let _room = room;
        let start = Instant::now();
        let outcome = work(&state, cancel);
        let status = outcome
            .as_ref()
            .map_or_else(|problem| problem.status, |_| StatusCode::OK);
        let status = Outcome::Status(status.as_u16());
        state.metrics.update_ended(status, start.elapsed());
        drop(entry);
        outcome
    });
    let outcome = ended.await.unwrap_or_else(|_| Err(Problem::lost("update")));
    waiting.disarm();
    outcome
}

/// Room on a blocking thread, unless it is cancelled while others have all of it.
async fn room_unless(
    state: &AppState,
    cancel: &AtomicBool,
) -> Result<OwnedSemaphorePermit, Problem> {
    let mut room = pin!(Arc::clone(&state.writes).acquire_owned());
    loop {
        tokio::select! {
            room = &mut room => return room.map_err(|_| Problem::lost("update")),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        if cancel.load(Ordering::Relaxed) {
            return Err(of_write(Error::Cancelled, "update"));
        }
    }
}

/// What an update did.
fn to_json(report: &UpdateReport) -> Value {
    let seconds = report.parse_time + report.run_time() + report.commit_time;
    let mut summary = report.to_json();
    summary["seconds"] = json!(seconds.as_secs_f64());
    summary
}
