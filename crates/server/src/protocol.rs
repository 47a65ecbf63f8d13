//! The SPARQL 1.1 Protocol: from a request to a query or an update with its parameters.
//!
//! Parameters that are not known are ignored, because clients send many of their own.

use crate::form::decode_form;
use crate::negotiate::{Accept, Coding};
use crate::options::parse_duration;
use crate::problem::Problem;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri, header};
use basalt_engine::{GraphFormat, ResultsFormat};
use std::time::Duration;

const FORM: &str = "application/x-www-form-urlencoded";
const SPARQL_QUERY: &str = "application/sparql-query";
const SPARQL_UPDATE: &str = "application/sparql-update";

/// The names of formats, for people.
const FORMAT_NAMES: &str = "json, xml, csv, tsv, arrow, nt, ttl, nq, trig, rdfxml, jsonld";

/// What an address takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Queries only.
    Queries,
    /// Updates only.
    Updates,
    /// Queries and updates.
    Both,
}

/// What to answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The answer.
    Answer,
    /// The plan with estimates.
    Explain(PlanFormat),
    /// The plan with actual rows, times and memory; the query is run to its end.
    Profile(PlanFormat),
}

/// The form of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanFormat {
    /// Text or JSON, by `format` and `Accept`.
    Negotiated,
    /// JSON, since the request says so.
    Json,
}

/// A query as requested.
#[derive(Clone, Debug)]
pub struct QueryRequest {
    /// The text.
    pub text: String,
    /// `default-graph-uri`, in order.
    pub default_graphs: Vec<String>,
    /// `named-graph-uri`, in order.
    pub named_graphs: Vec<String>,
    /// The time that the client gives.
    pub timeout: Option<Duration>,
    /// The answer or its plan.
    pub wanted: Wanted,
    /// A format by name, for people.
    pub format: Option<String>,
    /// The formats by media type.
    pub accept: Accept,
    /// How to pack the answer.
    pub coding: Option<Coding>,
    /// The IRI of the address, which resolves relative IRIs.
    pub base: Option<String>,
}

/// An update as requested.
#[derive(Clone, Debug)]
pub struct UpdateRequest {
    /// The text.
    pub text: String,
    /// `using-graph-uri`, in order.
    pub using_graphs: Vec<String>,
    /// `using-named-graph-uri`, in order.
    pub using_named_graphs: Vec<String>,
    /// The time that the client gives.
    pub timeout: Option<Duration>,
    /// The IRI of the address, which resolves relative IRIs.
    pub base: Option<String>,
}

/// What a request to a SPARQL address asks for.
#[derive(Debug)]
pub enum Requested {
    /// To run a query.
    Query(Box<QueryRequest>),
    /// To run an update.
    Update(Box<UpdateRequest>),
    /// To say what this service is.
    Description,
}

/// Reads a request to a SPARQL address.
pub fn read_request(
    takes: Takes,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Requested, Problem> {
    let mut pairs = decode_form(uri.query().unwrap_or_default()).map_err(Problem::bad_request)?;
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    if !is_read {
        add_body(takes, headers, body, &mut pairs)?;
    }
    let count = |wanted: &str| pairs.iter().filter(|(name, _)| name == wanted).count();
    let base = base(uri, headers);
    match (count("query"), count("update")) {
        (0, 0) if is_read && count("graph") + count("default") > 0 => Err(Problem::bad_request(
            "this address takes queries; graphs are at '/store' and '/sparql'",
        )),
        (0, 0) if is_read => Ok(Requested::Description),
        (0, 0) => Err(missing(takes)),
        (_, 1..) if takes == Takes::Queries => Err(Problem::bad_request(
            "this address takes queries, not updates",
        )),
        (1.., _) if takes == Takes::Updates => Err(Problem::bad_request(
            "this address takes updates, not queries",
        )),
        (0, 1) if *method == Method::POST => {
            Ok(Requested::Update(Box::new(update_request(pairs, base)?)))
        }
        (0, 1) => Err(Problem::bad_request("an update comes by POST only")),
        (1, 0) => {
            let request = query_request(pairs, headers, base)?;
            Ok(Requested::Query(Box::new(request)))
        }
        (_, 0) => Err(Problem::bad_request(
            "the request has several parameters 'query'",
        )),
        (0, _) => Err(Problem::bad_request(
            "the request has several parameters 'update'",
        )),
        _ => Err(Problem::bad_request(
            "the request has a parameter 'query' and a parameter 'update'",
        )),
    }
}

/// Whether a request to an address of queries and updates is about a graph instead: it has a parameter of the Graph Store Protocol,
/// and nothing of a query or an update. Clients that know one address for everything ask so.
pub fn is_of_graph_store(method: &Method, uri: &Uri, headers: &HeaderMap) -> bool {
    let pairs = uri.query().unwrap_or_default().split('&');
    let names = pairs.map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name));
    let (mut is_of_graph, mut is_of_sparql) = (false, false);
    for name in names {
        is_of_graph |= matches!(name, "graph" | "default");
        is_of_sparql |= matches!(name, "query" | "update");
    }
    let has_sparql_body = || {
        let media_type = essence(headers);
        *method == Method::POST
            && matches!(
                media_type.as_deref(),
                Some(FORM | SPARQL_QUERY | SPARQL_UPDATE)
            )
    };
    is_of_graph && !is_of_sparql && method.as_str() != "QUERY" && !has_sparql_body()
}

/// Adds the parameters that stand in the body, or are the body.
fn add_body(
    takes: Takes,
    headers: &HeaderMap,
    body: &Bytes,
    pairs: &mut Vec<(String, String)>,
) -> Result<(), Problem> {
    let text = std::str::from_utf8(body)
        .map_err(|_| Problem::bad_request("the body of the request is not UTF-8"))?;
    match essence(headers).as_deref() {
        Some(FORM) => pairs.extend(decode_form(text).map_err(Problem::bad_request)?),
        Some(SPARQL_QUERY) if takes != Takes::Updates => {
            pairs.push(("query".to_owned(), text.to_owned()));
        }
        Some(SPARQL_UPDATE) if takes != Takes::Queries => {
            pairs.push(("update".to_owned(), text.to_owned()));
        }
        None if text.is_empty() => {}
        other => return Err(unknown_media_type(takes, other)),
    }
    Ok(())
}

fn missing(takes: Takes) -> Problem {
    Problem::bad_request(match takes {
        Takes::Queries => "the request has no parameter 'query'",
        Takes::Updates => "the request has no parameter 'update'",
        Takes::Both => "the request has no parameter 'query' or 'update'",
    })
}

fn query_request(
    pairs: Vec<(String, String)>,
    headers: &HeaderMap,
    base: Option<String>,
) -> Result<QueryRequest, Problem> {
    let mut request = QueryRequest {
        text: String::new(),
        default_graphs: Vec::new(),
        named_graphs: Vec::new(),
        timeout: None,
        wanted: Wanted::Answer,
        format: None,
        accept: accept(headers),
        coding: coding(headers)?,
        base,
    };
    for (name, value) in pairs {
        match name.as_str() {
            "query" => request.text = value,
            "default-graph-uri" => request.default_graphs.push(value),
            "named-graph-uri" => request.named_graphs.push(value),
            "timeout" => request.timeout = Some(timeout(&value)?),
            "explain" => request.wanted = wanted(&value)?,
            "format" => request.format = Some(value),
            _ => {}
        }
    }
    check_format(&request)?;
    Ok(request)
}

/// Whether somebody knows the format that a query names.
fn check_format(request: &QueryRequest) -> Result<(), Problem> {
    let Some(name) = &request.format else {
        return Ok(());
    };
    let is_plan = request.wanted != Wanted::Answer;
    let is_known = ResultsFormat::from_name(name).is_some()
        || ResultsFormat::from_media_type(name).is_some()
        || GraphFormat::from_name(name).is_some()
        || is_plan && matches!(name.to_ascii_lowercase().as_str(), "text" | "text/plain");
    match is_known {
        true => Ok(()),
        false => Err(Problem::bad_request(format!(
            "format '{name}' is none of {FORMAT_NAMES}, nor one of their media types"
        ))),
    }
}

fn update_request(
    pairs: Vec<(String, String)>,
    base: Option<String>,
) -> Result<UpdateRequest, Problem> {
    let mut request = UpdateRequest {
        text: String::new(),
        using_graphs: Vec::new(),
        using_named_graphs: Vec::new(),
        timeout: None,
        base,
    };
    for (name, value) in pairs {
        match name.as_str() {
            "update" => request.text = value,
            "using-graph-uri" => request.using_graphs.push(value),
            "using-named-graph-uri" => request.using_named_graphs.push(value),
            "timeout" => request.timeout = Some(timeout(&value)?),
            _ => {}
        }
    }
    Ok(request)
}

/// The IRI of the address, as far as the client names the host.
pub fn base(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let host = headers.get(header::HOST)?.to_str().ok()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    let is_host = !host.is_empty() && host.chars().all(is_plain);
    is_host.then(|| format!("http://{host}{}", uri.path()))
}

/// The `Accept` headers of a request, as one.
pub fn accept(headers: &HeaderMap) -> Accept {
    Accept::parse(&joined(headers, &header::ACCEPT))
}

/// The coding that the `Accept-Encoding` headers of a request ask for.
pub fn coding(headers: &HeaderMap) -> Result<Option<Coding>, Problem> {
    Coding::choose(&joined(headers, &header::ACCEPT_ENCODING))
        .map_err(|detail| Problem::new(StatusCode::NOT_ACCEPTABLE, detail))
}

/// All headers of a name, as one.
pub fn joined(headers: &HeaderMap, name: &HeaderName) -> String {
    let values = headers.get_all(name).iter();
    let values = values.filter_map(|value| value.to_str().ok());
    values.collect::<Vec<_>>().join(",")
}

/// The media type of the body, without parameters.
pub fn essence(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next()?.trim().to_ascii_lowercase())
}

/// Whether the headers of a request say that its body is an update.
pub fn is_update_body(headers: &HeaderMap) -> bool {
    essence(headers).as_deref() == Some(SPARQL_UPDATE)
}

fn unknown_media_type(takes: Takes, found: Option<&str>) -> Problem {
    let found = found.map_or_else(|| "no media type".to_owned(), |name| format!("'{name}'"));
    let expected = match takes {
        Takes::Queries => format!("'{SPARQL_QUERY}'"),
        Takes::Updates => format!("'{SPARQL_UPDATE}'"),
        Takes::Both => format!("'{SPARQL_QUERY}', '{SPARQL_UPDATE}'"),
    };
    let detail = format!("the body has {found}, expected {expected} or '{FORM}'");
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
}

fn timeout(value: &str) -> Result<Duration, Problem> {
    parse_duration(value, Duration::from_millis(1)).ok_or_else(|| {
        let detail = format!("timeout '{value}' is neither milliseconds nor like '10s'");
        Problem::bad_request(detail)
    })
}

fn wanted(value: &str) -> Result<Wanted, Problem> {
    match value.to_ascii_lowercase().as_str() {
        "" | "1" | "true" | "plan" => Ok(Wanted::Explain(PlanFormat::Negotiated)),
        "json" => Ok(Wanted::Explain(PlanFormat::Json)),
        "profile" => Ok(Wanted::Profile(PlanFormat::Negotiated)),
        "profile-json" => Ok(Wanted::Profile(PlanFormat::Json)),
        "0" | "false" => Ok(Wanted::Answer),
        _ => Err(Problem::bad_request(format!(
            "explain '{value}' is none of true, json, profile, profile-json, false"
        ))),
    }
}
