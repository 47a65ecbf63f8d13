//! Running a query for a request: in place if it is quick, else on a blocking thread, its answer streamed.
//!
//! What cannot be answered [in place](crate::in_place) goes to a blocking thread, with its plan if there is one by then. The thread
//! chooses the format by the form of the query and writes into a [`ChunkSink`]; the request waits for the head only. Whoever drops the waiting future or the
//! body (a client that hangs up) thereby sets the query's cancel flag.

use crate::in_place::{Failed, InPlace, note_pace, try_in_place};
use crate::metrics::Outcome;
use crate::negotiate::{GRAPH_OFFERS, SOLUTION_OFFERS, with_charset};
use crate::problem::Problem;
use crate::protocol::{PlanFormat, QueryRequest, Wanted};
use crate::registry::Work;
use crate::sink::{AnswerSink, CancelOnDrop, ChunkSink, Head};
use crate::state::AppState;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use basalt_engine::results::{write_boolean, write_graph, write_solutions};
use basalt_engine::{
    Answer, Error, GraphFormat, PlanReport, Prepared, QueryOptions, ResultsFormat, thread_time,
};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Runs a query and answers with its result.
pub async fn answer_query(state: AppState, request: QueryRequest) -> Result<Response, Problem> {
    let start = Instant::now();
    let cancel = Arc::new(AtomicBool::new(false));
    let entry = state
        .registry
        .enter(&request.text, Work::Read, Arc::clone(&cancel));
    let prepared = match try_in_place(&state, &request, &cancel) {
        InPlace::Ended(ended) => return answer_ended(&state, ended, start),
        InPlace::HandOver(prepared) => prepared,
    };
    let (head_sender, head) = oneshot::channel();
    let sink = ChunkSink::new(
        head_sender,
        request.coding,
        Arc::clone(&cancel),
        Handle::current(),
    );
    let waiting = CancelOnDrop::new(&cancel);
    let entry = entry.elsewhere();
    tokio::task::spawn_blocking(move || {
        run_query(&state, &request, prepared, cancel, sink, start);
        drop(entry);
    });
    let head = head.await.unwrap_or_else(|_| Err(Problem::lost("query")))?;
    // From here on the body is what the client can hang up on.
    waiting.disarm();
    Ok(head_response(head))
}

/// Counts a query that was answered in place, and answers.
fn answer_ended(
    state: &AppState,
    ended: Result<(Head, u64), Problem>,
    start: Instant,
) -> Result<Response, Problem> {
    let (status, rows) = match &ended {
        Ok((_, rows)) => (StatusCode::OK, *rows),
        Err(problem) => (problem.status, 0),
    };
    let outcome = Outcome::Status(status.as_u16());
    state.metrics.query_ended(outcome, rows, start.elapsed());
    ended.map(|(head, _)| head_response(head))
}

/// The response that begins with this head.
pub fn head_response(head: Head) -> Response {
    let (media_type, coding, body) = match head {
        Head::Whole {
            media_type,
            coding,
            bytes,
        } => (media_type, coding, Body::from(bytes)),
        Head::Stream {
            media_type,
            coding,
            body,
        } => (media_type, coding, Body::from_stream(body)),
    };
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static(with_charset(media_type)),
        ),
        (
            header::VARY,
            HeaderValue::from_static("accept, accept-encoding"),
        ),
    ];
    let mut response = (headers, body).into_response();
    if let Some(coding) = coding {
        let token = HeaderValue::from_static(coding.token());
        response
            .headers_mut()
            .insert(header::CONTENT_ENCODING, token);
    }
    response
}

/// The work of the blocking thread.
fn run_query(
    state: &AppState,
    request: &QueryRequest,
    prepared: Option<Prepared>,
    cancel: Arc<AtomicBool>,
    mut sink: ChunkSink,
    start: Instant,
) {
    let outcome = write_answer(state, request, prepared, cancel, &mut sink);
    let (outcome, rows) = match outcome {
        Ok(rows) => match sink.finish() {
            Ok(()) => (Outcome::Status(200), rows),
            Err(_) => (Outcome::Aborted, rows),
        },
        Err(problem) => {
            let status = problem.status.as_u16();
            match sink.fail(problem) {
                true => (Outcome::Status(status), 0),
                false => (Outcome::Aborted, 0),
            }
        }
    };
    state.metrics.query_ended(outcome, rows, start.elapsed());
}

fn write_answer(
    state: &AppState,
    request: &QueryRequest,
    prepared: Option<Prepared>,
    cancel: Arc<AtomicBool>,
    sink: &mut ChunkSink,
) -> Result<u64, Problem> {
    let options = query_options(state, request, cancel);
    let prepared = match prepared {
        Some(prepared) => prepared,
        None => prepare(state, &request.text, &options)?,
    };
    let report = match request.wanted {
        Wanted::Answer => None,
        Wanted::Explain(format) => Some((prepared.explain(), format)),
        Wanted::Profile(format) => Some((prepared.profile(&options)?, format)),
    };
    if let Some((report, format)) = report {
        return write_plan(&report, is_json_plan(request, format), sink);
    }
    let start = thread_time();
    let rows = write_result(&prepared, request, &options, sink)?;
    let shape = prepared.shape;
    note_pace(state, shape, start, sink.is_streaming());
    Ok(rows)
}

/// Parses and plans a query, and counts the time.
pub fn prepare(state: &AppState, text: &str, options: &QueryOptions) -> Result<Prepared, Error> {
    let prepared = state.database.prepare(text, options)?;
    let (parse, plan) = (prepared.parse_time, prepared.plan_time);
    state.metrics.query_prepared(parse, plan);
    Ok(prepared)
}

/// Runs a query and writes its answer, in the format that the request wants; the rows of it.
pub fn write_result(
    prepared: &Prepared,
    request: &QueryRequest,
    options: &QueryOptions,
    sink: &mut dyn AnswerSink,
) -> Result<u64, Failed> {
    let solutions = solution_format(request);
    let graphs = graph_format(request);
    if solutions.is_none() && graphs.is_none() {
        return Err(not_acceptable("any answer").into());
    }
    match prepared.run(options)? {
        Answer::Solutions(mut answer) => {
            let (media_type, format) = solutions.ok_or_else(|| not_acceptable("solutions"))?;
            sink.set_media_type(media_type);
            Ok(write_solutions(&mut answer, format, sink)?)
        }
        Answer::Boolean(value) => {
            let (media_type, format) = solutions.ok_or_else(|| not_acceptable("a boolean"))?;
            sink.set_media_type(media_type);
            write_boolean(value, format, sink)?;
            Ok(1)
        }
        Answer::Graph(mut answer) => {
            let (media_type, format) = graphs.ok_or_else(|| not_acceptable("a graph"))?;
            sink.set_media_type(media_type);
            Ok(write_graph(&mut answer, format, sink)?)
        }
    }
}

fn write_plan(report: &PlanReport, is_json: bool, sink: &mut ChunkSink) -> Result<u64, Problem> {
    let text = if is_json {
        sink.set_media_type("application/json");
        format!("{:#}\n", report.to_json())
    } else {
        report.to_text() + &report.times_text()
    };
    sink.write_all(text.as_bytes())
        .map_err(basalt_engine::Error::from)?;
    Ok(report.run.map_or(0, |run| run.rows))
}

/// Whether a plan goes out as JSON: it is asked for by `explain` or `format`, or is more welcome than text.
fn is_json_plan(request: &QueryRequest, format: PlanFormat) -> bool {
    let named = request.format.as_deref().map(str::to_ascii_lowercase);
    match (format, named.as_deref()) {
        (PlanFormat::Json, _) | (_, Some("json" | "application/json")) => true,
        (_, Some("text" | "text/plain")) => false,
        (PlanFormat::Negotiated, _) => {
            let offers = [("text/plain", false), ("application/json", true)];
            request.accept.best(&offers).is_some_and(|(_, json)| json)
        }
    }
}

/// The options of a query of this request.
pub fn query_options(
    state: &AppState,
    request: &QueryRequest,
    cancel: Arc<AtomicBool>,
) -> QueryOptions {
    let mut options = limits(state, request.timeout, cancel);
    options.base.clone_from(&request.base);
    options.default_graphs.clone_from(&request.default_graphs);
    options.named_graphs.clone_from(&request.named_graphs);
    options
}

/// What a query or an update may use, and whom it may ask, as this server has it; a client may ask for less time.
pub fn limits(state: &AppState, asked: Option<Duration>, cancel: Arc<AtomicBool>) -> QueryOptions {
    let given = &state.options;
    let mut options = QueryOptions {
        union_default_graph: given.union_default_graph,
        services: given.services.clone(),
        service_timeout: Some(given.service_timeout),
        ..QueryOptions::default()
    };
    options.exec.cancel = cancel;
    options.exec.memory_bytes_max = given.query_memory_bytes;
    options.exec.give_back = given.give_back;
    options.exec.temp.clone_from(&given.temp);
    options.exec.timeout = match (given.timeout, asked) {
        (Some(limit), Some(asked)) => Some(limit.min(asked)),
        (limit, asked) => limit.or(asked),
    };
    if given.threads > 0 {
        options.exec.threads = given.threads;
    }
    options
}

/// The format of solutions: the one named, else the best one accepted.
fn solution_format(request: &QueryRequest) -> Option<(&'static str, ResultsFormat)> {
    let named = request.format.as_deref().and_then(|name| {
        ResultsFormat::from_name(name).or_else(|| ResultsFormat::from_media_type(name))
    });
    let chosen = match named {
        Some(format) => Some((format.media_type(), format)),
        None => request.accept.best(&SOLUTION_OFFERS),
    };
    chosen.map(|(media_type, format)| match format {
        ResultsFormat::Csv | ResultsFormat::Tsv => (format.media_type(), format),
        ResultsFormat::Json | ResultsFormat::Xml | ResultsFormat::Arrow => (media_type, format),
    })
}

/// The format of a graph: the one named, else the best one accepted.
fn graph_format(request: &QueryRequest) -> Option<(&'static str, GraphFormat)> {
    let named = request.format.as_deref().and_then(GraphFormat::from_name);
    match named {
        Some(format) => Some((format.media_type(), format)),
        None => request.accept.best(&GRAPH_OFFERS),
    }
}

fn not_acceptable(what: &str) -> Problem {
    let solutions = SOLUTION_OFFERS.map(|offer| offer.0).join(", ");
    let graphs = GRAPH_OFFERS.map(|offer| offer.0).join(", ");
    let detail = format!(
        "no accepted media type can hold {what}: solutions come as {solutions}; graphs as {graphs}"
    );
    Problem::new(StatusCode::NOT_ACCEPTABLE, detail)
}
