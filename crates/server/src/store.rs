//! The Graph Store Protocol: whole graphs at `/store` (also `/data`), by a parameter or by the address itself.
//!
//! A body is taken in whole, in memory or in a temporary file, before the writer's turn begins: a slow client holds
//! up nobody. Answers stream as those of queries do.

use crate::access::body_to_write;
use crate::form::decode_form;
use crate::metrics::Outcome;
use crate::multipart;
use crate::negotiate::GRAPH_OFFERS;
use crate::precondition::Precondition;
use crate::problem::{Problem, of_write};
use crate::protocol::{accept, base, coding, essence};
use crate::query::{head_response, limits};
use crate::registry::Work;
use crate::routes::refused_method;
use crate::sink::{AnswerSink, CancelOnDrop, ChunkSink};
use crate::spool::{is_packed, spool, take_in};
use crate::state::AppState;
use crate::update::run_write;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use basalt_engine::dump::{DumpGraph, dump};
use basalt_engine::update::graph_store::{check_graph, has_graph};
use basalt_engine::{Error, GraphDocument, GraphFormat, GraphReport, GraphWrite, UpdateOptions};
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The methods of a graph.
const METHODS: &str = "GET, HEAD, PUT, POST, DELETE";

/// What messages call a write.
const WRITE: &str = "change of the graph";

/// The media type of forms with files.
const FORM: &str = "multipart/form-data";
/// Bytes of a form, which is held in memory.
const FORM_BYTES_MAX: usize = 64 << 20;

/// Numbers of graphs that clients let the server name.
static NAMED: AtomicU64 = AtomicU64::new(0);

/// What a request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    /// The default graph.
    Default,
    /// A graph, by its IRI.
    Named(String),
    /// All graphs: neither parameter is there.
    All,
}

impl Target {
    /// The IRI as the engine wants it.
    fn iri(&self) -> Option<&str> {
        match self {
            Self::Named(iri) => Some(iri),
            Self::Default | Self::All => None,
        }
    }
}

/// `/store` and what is below it.
pub async fn store(State(state): State<AppState>, request: Request) -> Result<Response, Response> {
    let (parts, body) = request.into_parts();
    let told = IntoResponse::into_response;
    let target = target_of(&parts.uri, &parts.headers).map_err(told)?;
    match parts.method {
        Method::GET | Method::HEAD => read(state, &parts, target).await.map_err(told),
        Method::PUT | Method::POST | Method::DELETE => {
            let body = body_to_write(&state.options, &parts.headers, body);
            let body = body.map_err(|refusal| *refusal)?;
            if parts.method == Method::DELETE {
                return remove(state, &parts, target).await.map_err(told);
            }
            write(state, &parts, target, body).await.map_err(told)
        }
        _ => Err(refused_method(&parts.method, &parts.uri, METHODS)),
    }
}

/// The graph that an address means.
fn target_of(uri: &Uri, headers: &HeaderMap) -> Result<Target, Problem> {
    let below = ["/store/", "/data/"];
    if below.iter().any(|start| uri.path().starts_with(start)) {
        let iri = base(uri, headers).ok_or_else(|| {
            Problem::bad_request("a graph named by its address needs the header 'Host'")
        })?;
        let iri = uri
            .query()
            .map_or(iri.clone(), |query| format!("{iri}?{query}"));
        return named(iri);
    }
    let pairs = decode_form(uri.query().unwrap_or_default()).map_err(Problem::bad_request)?;
    let mut is_default = false;
    let mut unknown = None;
    for (name, value) in &pairs {
        match name.as_str() {
            "default" if value.is_empty() => is_default = true,
            "default" => {
                let detail = format!("default takes no value, and has '{value}'");
                return Err(Problem::bad_request(detail));
            }
            "graph" => {}
            _ => unknown = Some(name.clone()),
        }
    }
    let mut graphs = pairs.into_iter().filter(|(name, _)| name == "graph");
    match (is_default, graphs.next(), graphs.next()) {
        // A name that is misspelt would make another graph of it, or all of them.
        (false, None, _) => match unknown {
            Some(name) => Err(Problem::bad_request(format!(
                "the request has a parameter '{name}', expected 'graph' or 'default'"
            ))),
            None => Ok(Target::All),
        },
        (true, None, _) => Ok(Target::Default),
        (false, Some((_, iri)), None) => named(iri),
        _ => Err(Problem::bad_request(
            "the request has more than one of the parameters 'graph' and 'default'",
        )),
    }
}

/// A graph by its IRI.
fn named(iri: String) -> Result<Target, Problem> {
    match check_graph(Some(&iri)) {
        Ok(()) => Ok(Target::Named(iri)),
        // It is not an update that is wrong.
        Err(Error::UpdateText { message }) => Err(Problem::bad_request(message)),
        Err(error) => Err(error.into()),
    }
}

/// GET and HEAD.
async fn read(state: AppState, parts: &Parts, target: Target) -> Result<Response, Problem> {
    let offers: Vec<(&'static str, GraphFormat)> = GRAPH_OFFERS
        .into_iter()
        .filter(|(_, format)| target != Target::All || format.has_graphs())
        .collect();
    let chosen = accept(&parts.headers).best(&offers);
    let (media_type, format) = chosen.ok_or_else(|| {
        let offers: Vec<&str> = offers.iter().map(|offer| offer.0).collect();
        let detail = format!("graphs come as {}", offers.join(", "));
        Problem::new(StatusCode::NOT_ACCEPTABLE, detail)
    })?;
    let coding = coding(&parts.headers)?;
    let cancel = Arc::new(AtomicBool::new(false));
    let (head_sender, head) = oneshot::channel();
    let runtime = Handle::current();
    let mut sink = ChunkSink::new(head_sender, coding, Arc::clone(&cancel), runtime);
    sink.set_media_type(media_type);
    let entry = state
        .registry
        .enter(&shown(parts), Work::Read, Arc::clone(&cancel))
        .elsewhere();
    let waiting = CancelOnDrop::new(&cancel);
    tokio::task::spawn_blocking(move || {
        let start = Instant::now();
        let (outcome, rows) = send_graph(&state, &target, format, sink);
        state.metrics.query_ended(outcome, rows, start.elapsed());
        drop(entry);
    });
    let head = head.await.unwrap_or_else(|_| Err(Problem::lost("graph")))?;
    waiting.disarm();
    Ok(head_response(head))
}

/// The work of the blocking thread. A client that hangs up makes the sink fail, which ends the dump.
fn send_graph(
    state: &AppState,
    target: &Target,
    format: GraphFormat,
    mut sink: ChunkSink,
) -> (Outcome, u64) {
    let snapshot = state.database.snapshot();
    let written = match target {
        Target::Default => dump(&snapshot, &mut sink, format, DumpGraph::Default),
        Target::All => dump(&snapshot, &mut sink, format, DumpGraph::All),
        Target::Named(iri) => match has_graph(&snapshot, Some(iri)) {
            Ok(true) => dump(&snapshot, &mut sink, format, DumpGraph::Named(iri)),
            Ok(false) => {
                sink.fail(missing(iri));
                return (Outcome::Status(404), 0);
            }
            Err(error) => Err(error),
        },
    };
    match written {
        Ok(rows) => match sink.finish() {
            Ok(()) => (Outcome::Status(200), rows),
            Err(_) => (Outcome::Aborted, rows),
        },
        Err(error) => {
            let problem = Problem::from(error);
            let status = problem.status.as_u16();
            match sink.fail(problem) {
                true => (Outcome::Status(status), 0),
                false => (Outcome::Aborted, 0),
            }
        }
    }
}

fn missing(iri: &str) -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        format!("the graph <{iri}> is not there"),
    )
}

/// DELETE.
async fn remove(state: AppState, parts: &Parts, target: Target) -> Result<Response, Problem> {
    if target == Target::All {
        return Err(unnamed());
    }
    let condition = Precondition::read(&parts.headers)?;
    let iri = target.iri().map(str::to_owned);
    let text = shown(parts);
    let report = run_write(state, &text, move |state, cancel| {
        check(state, condition, iri.as_deref())?;
        let dropped = state
            .database
            .drop_graph(iri.as_deref(), &options(state, cancel));
        let report = dropped.map_err(|error| of_write(error, WRITE))?;
        state.metrics.quads_changed(report.removed, report.added);
        Ok(report)
    });
    let report = report.await?;
    match target {
        Target::Named(iri) if !report.was_there => Err(missing(&iri)),
        _ => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// PUT and POST.
async fn write(
    state: AppState,
    parts: &Parts,
    target: Target,
    body: Body,
) -> Result<Response, Problem> {
    let is_post = parts.method == Method::POST;
    let (target, location) = match (target, is_post) {
        (Target::All, false) => return Err(unnamed()),
        (Target::All, true) => {
            let iri = new_graph(&parts.uri, &parts.headers)?;
            (Target::Named(iri.clone()), Some(iri))
        }
        (target, _) => (target, None),
    };
    let condition = Precondition::read(&parts.headers)?;
    if !is_post && parts.headers.contains_key(header::CONTENT_RANGE) {
        let detail =
            "a part of a graph cannot be put, and the request has the header 'Content-Range'";
        return Err(Problem::bad_request(detail));
    }
    let graph = target.iri().map(str::to_owned);
    // Relative IRIs in a graph are about the graph.
    let own_base = base(&parts.uri, &parts.headers);
    let document_base = graph.clone().or(own_base);
    let documents = documents(&parts.headers, body, document_base).await?;
    let text = shown(parts);
    let report = run_write(state, &text, move |state, cancel| {
        let write = match is_post {
            true => GraphWrite::Add,
            false => GraphWrite::Replace,
        };
        let options = options(state, cancel);
        check(state, condition, graph.as_deref())?;
        let written = state
            .database
            .write_graph(graph.as_deref(), write, documents, &options);
        let report = written.map_err(|error| of_write(error, WRITE))?;
        state.metrics.quads_changed(report.removed, report.added);
        Ok(report)
    });
    let report: GraphReport = report.await.map_err(of_body)?;
    let status = match report.was_there {
        true => StatusCode::NO_CONTENT,
        false => StatusCode::CREATED,
    };
    let mut response = status.into_response();
    if let Some(place) = location.and_then(|iri| HeaderValue::from_str(&iri).ok()) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

/// The body as a document, or the parts of a form as several.
async fn documents(
    headers: &HeaderMap,
    body: Body,
    base: Option<String>,
) -> Result<Vec<GraphDocument>, Problem> {
    if essence(headers).as_deref() != Some(FORM) {
        return Ok(vec![GraphDocument {
            name: "the body".to_owned(),
            format: format_of(headers)?,
            reader: spool(body).await?,
            base,
        }]);
    }
    let content_type = headers.get(header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let boundary = content_type.and_then(multipart::boundary);
    let boundary = boundary.ok_or_else(|| Problem::bad_request("the form names no boundary"))?;
    let bytes = take_in(body, FORM_BYTES_MAX).await?;
    let parts = multipart::parts(&bytes, boundary).map_err(Problem::bad_request)?;
    let documents = parts.into_iter().map(|part| {
        let by_type = part.media_type.as_deref();
        let by_type = by_type.and_then(GraphFormat::from_media_type);
        let format = by_type.or_else(|| GraphFormat::from_path(Path::new(&part.name)));
        Ok(GraphDocument {
            format: format.ok_or_else(|| unknown_syntax(part.media_type.as_deref()))?,
            reader: Box::new(Cursor::new(part.body.to_vec())),
            base: base.clone(),
            name: format!("the part '{}'", part.name),
        })
    });
    documents.collect()
}

/// Whether the condition of a request is fulfilled now.
fn check(state: &AppState, condition: Precondition, graph: Option<&str>) -> Result<(), Problem> {
    match condition {
        Precondition::Nothing => Ok(()),
        condition => condition.check(has_graph(&state.database.snapshot(), graph)?),
    }
}

/// A document that cannot be read is the client's here, not another server's.
fn of_body(problem: Problem) -> Problem {
    match problem.status {
        StatusCode::BAD_GATEWAY => Problem::bad_request(problem.detail),
        _ => problem,
    }
}

fn unnamed() -> Problem {
    Problem::bad_request("the request needs one of the parameters 'graph' and 'default'")
}

/// The name of a graph that the client leaves to the server.
fn new_graph(uri: &Uri, headers: &HeaderMap) -> Result<String, Problem> {
    let start = base(uri, headers).ok_or_else(|| {
        Problem::bad_request("a graph without a name needs the header 'Host' to get one")
    })?;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let nanos = since.unwrap_or(Duration::ZERO).as_nanos();
    let number = NAMED.fetch_add(1, Ordering::Relaxed);
    Ok(format!(
        "{}/g{nanos:x}-{number}",
        start.trim_end_matches('/')
    ))
}

/// The syntax of a body. Compression is told by its first bytes.
fn format_of(headers: &HeaderMap) -> Result<GraphFormat, Problem> {
    is_packed(headers)?;
    let media_type = essence(headers);
    let format = media_type.as_deref().and_then(GraphFormat::from_media_type);
    format.ok_or_else(|| unknown_syntax(media_type.as_deref()))
}

fn unknown_syntax(media_type: Option<&str>) -> Problem {
    let found = media_type.map_or_else(|| "no media type".into(), |name| format!("'{name}'"));
    let detail = format!(
        "the body has {found}, expected one of {}, or {FORM} of such",
        known_syntaxes()
    );
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
}

/// The media types of the RDF syntaxes, for people.
pub fn known_syntaxes() -> String {
    GraphFormat::ALL.map(GraphFormat::media_type).join(", ")
}

fn options(state: &AppState, cancel: Arc<AtomicBool>) -> UpdateOptions {
    UpdateOptions {
        query: limits(state, None, cancel),
        ..UpdateOptions::default()
    }
}

/// The request, for the list of what runs.
fn shown(parts: &Parts) -> String {
    format!("{} {}", parts.method, parts.uri)
}

#[cfg(test)]
mod tests {
    use super::{Target, target_of};
    use axum::http::{HeaderMap, HeaderValue, Uri, header};

    #[test]
    fn graphs_are_named_by_parameter_or_by_address() {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("h:1"));
        let target = |uri: &'static str| target_of(&Uri::from_static(uri), &headers);
        let named = |iri: &str| Some(Target::Named(iri.to_owned()));
        assert_eq!(target("/store").ok(), Some(Target::All));
        assert_eq!(target("/data?default").ok(), Some(Target::Default));
        assert_eq!(
            target("/store?graph=http%3A%2F%2Fe%2Fg&x=y").ok(),
            named("http://e/g")
        );
        assert_eq!(
            target("/store/a/b.ttl").ok(),
            named("http://h:1/store/a/b.ttl")
        );
        assert_eq!(
            target("/data/a?default").ok(),
            named("http://h:1/data/a?default")
        );
        for wrong in [
            "/store?graph=relative",
            "/store?graph=http://a/&graph=http://b/",
            "/store?graph=http://a/&default",
            "/store?graph=",
            "/store?default=http://a/",
            "/store?grph=http://a/",
        ] {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }
}
