//! The SPARQL 1.1 Protocol: from a request to a query with its parameters.
//!
//! Parameters that are not known are ignored, because clients send many of their own.

use crate::form::decode_form;
use crate::negotiate::{Accept, Coding};
use crate::options::parse_duration;
use crate::problem::Problem;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri, header};
use std::time::Duration;

const FORM: &str = "application/x-www-form-urlencoded";
const SPARQL_QUERY: &str = "application/sparql-query";

/// What to answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The answer.
    Answer,
    /// The plan with estimates.
    Explain,
    /// The plan with actual rows and times; the query is run to its end.
    Profile,
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
}

/// What a request to the query address asks for.
#[derive(Debug)]
pub enum Requested {
    /// To run a query.
    Query(Box<QueryRequest>),
    /// To say what this service is.
    Description,
}

/// Reads a request to the query address.
pub fn read_request(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Requested, Problem> {
    let mut pairs = decode_form(uri.query().unwrap_or_default()).map_err(Problem::bad_request)?;
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    if !is_read {
        let text = std::str::from_utf8(body)
            .map_err(|_| Problem::bad_request("the body of the request is not UTF-8"))?;
        match essence(headers).as_deref() {
            Some(FORM) => pairs.extend(decode_form(text).map_err(Problem::bad_request)?),
            Some(SPARQL_QUERY) => pairs.push(("query".to_owned(), text.to_owned())),
            None if text.is_empty() => {}
            other => return Err(unknown_media_type(other)),
        }
    }
    if pairs.iter().any(|(name, _)| name == "update") {
        return Err(Problem::bad_request(
            "this address takes queries, not updates",
        ));
    }
    let mut request = QueryRequest {
        text: String::new(),
        default_graphs: Vec::new(),
        named_graphs: Vec::new(),
        timeout: None,
        wanted: Wanted::Answer,
        format: None,
        accept: accept(headers),
        coding: coding(headers)?,
    };
    let mut texts = Vec::new();
    for (name, value) in pairs {
        match name.as_str() {
            "query" => texts.push(value),
            "default-graph-uri" => request.default_graphs.push(value),
            "named-graph-uri" => request.named_graphs.push(value),
            "timeout" => request.timeout = Some(timeout(&value)?),
            "explain" => request.wanted = wanted(&value)?,
            "format" => request.format = Some(value),
            _ => {}
        }
    }
    match (texts.pop(), texts.is_empty()) {
        (None, _) if is_read => Ok(Requested::Description),
        (None, _) => Err(Problem::bad_request("the request has no parameter 'query'")),
        (Some(_), false) => Err(Problem::bad_request(
            "the request has several parameters 'query'",
        )),
        (Some(text), true) => {
            request.text = text;
            Ok(Requested::Query(Box::new(request)))
        }
    }
}

/// The `Accept` headers of a request, as one.
pub fn accept(headers: &HeaderMap) -> Accept {
    Accept::parse(&joined(headers, &header::ACCEPT))
}

/// The coding that the `Accept-Encoding` headers of a request ask for.
fn coding(headers: &HeaderMap) -> Result<Option<Coding>, Problem> {
    Coding::choose(&joined(headers, &header::ACCEPT_ENCODING))
        .map_err(|detail| Problem::new(StatusCode::NOT_ACCEPTABLE, detail))
}

/// All headers of a name, as one.
fn joined(headers: &HeaderMap, name: &HeaderName) -> String {
    let values = headers.get_all(name).iter();
    let values = values.filter_map(|value| value.to_str().ok());
    values.collect::<Vec<_>>().join(",")
}

/// The media type of the body, without parameters.
fn essence(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next()?.trim().to_ascii_lowercase())
}

fn unknown_media_type(found: Option<&str>) -> Problem {
    let found = found.map_or_else(|| "no media type".to_owned(), |name| format!("'{name}'"));
    let detail = format!("the body has {found}, expected '{SPARQL_QUERY}' or '{FORM}'");
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
        "" | "1" | "true" | "plan" => Ok(Wanted::Explain),
        "profile" => Ok(Wanted::Profile),
        "0" | "false" => Ok(Wanted::Answer),
        _ => Err(Problem::bad_request(format!(
            "explain '{value}' is none of true, false, profile"
        ))),
    }
}
