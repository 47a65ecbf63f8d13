//! Asking endpoints by the SPARQL 1.1 Protocol: POST of a form, results as JSON, XML or TSV.
//!
//! CSV is not accepted, as it does not tell an IRI from a text; joining its values would give
//! wrong answers that look right. Redirects keep the method and the body (many endpoints have moved from
//! `http:` to `https:`), and each new place is checked against the policy.
//!
//! Cost: one connection to each endpoint, kept for the query; the answer is read as it arrives.

use super::policy::ServicePolicy;
use crate::results::ResultsFormat;
use crate::results::read::{ReadResults, read};
use basalt_exec::{ServiceClient, ServiceError, ServiceRequest, ServiceRows};
use std::io::{self, Read};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use ureq::http::{Response, header};
use ureq::{Agent, Body};

/// Time of one request where nothing else is said.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time of one request, whatever is said: some thirty years, which a clock can tell.
pub(super) const TIMEOUT_MAX: Duration = Duration::from_secs(1_000_000_000);
/// Redirects followed for one request.
pub(super) const REDIRECTS_MAX: usize = 4;
/// Characters of an answer that are quoted where it is no result.
const QUOTED_CHARS: usize = 200;

const ACCEPT: &str = "application/sparql-results+json, application/sparql-results+xml;q=0.8, \
    text/tab-separated-values;q=0.6";

/// Sends requests over HTTP to the endpoints that a policy allows.
#[derive(Debug)]
pub struct HttpServices {
    policy: ServicePolicy,
    timeout: Duration,
    /// Made for the first request: most queries have none.
    agent: OnceLock<Agent>,
}

impl HttpServices {
    /// A client for these endpoints; a request takes at most `timeout`, or 30 seconds.
    pub fn new(policy: ServicePolicy, timeout: Option<Duration>) -> Self {
        Self {
            policy,
            timeout: timeout.unwrap_or(TIMEOUT).min(TIMEOUT_MAX),
            agent: OnceLock::new(),
        }
    }

    /// The head of the answer at the end of all redirects.
    fn send(&self, request: &ServiceRequest<'_>) -> Result<Response<Body>, ServiceError> {
        let now = Instant::now();
        let end = now + self.timeout;
        let end = request.deadline.map_or(end, |deadline| deadline.min(end));
        let mut place = request.endpoint.to_owned();
        for _ in 0..=REDIRECTS_MAX {
            self.policy.check(&place).map_err(ServiceError::Refused)?;
            let left = end.saturating_duration_since(Instant::now());
            // A timeout of zero would be none.
            let left = left.max(Duration::from_millis(1));
            let response = self.post(&place, request.query, left)?;
            match response.status().as_u16() {
                301 | 302 | 307 | 308 => place = redirected(&place, &response)?,
                _ => return Ok(response),
            }
        }
        let message = format!("more than {REDIRECTS_MAX} redirects, the last one to <{place}>");
        Err(ServiceError::Failed(message))
    }

    fn post(
        &self,
        place: &str,
        query: &str,
        left: Duration,
    ) -> Result<Response<Body>, ServiceError> {
        let agent = self.agent.get_or_init(new_agent);
        // A fragment is for the asker, not for the server.
        let url = place.split('#').next().unwrap_or(place);
        let sent = agent
            .post(url)
            .config()
            .timeout_global(Some(left))
            .build()
            .header(header::ACCEPT, ACCEPT)
            .send_form([("query", query)]);
        sent.map_err(|error| ServiceError::Failed(failure_text(&error)))
    }
}

impl ServiceClient for HttpServices {
    fn select<'a>(&'a self, request: &ServiceRequest<'a>) -> Result<ServiceRows<'a>, ServiceError> {
        let response = self.send(request)?;
        let status = response.status();
        let media_type = response.body().mime_type().map(str::to_owned);
        let mut body = Watched {
            body: response
                .into_body()
                .into_with_config()
                .limit(u64::MAX)
                .reader(),
            left: request.bytes_max,
            cancel: request.cancel,
        };
        if !status.is_success() {
            let text = format!("HTTP status {status}{}", quoted(&mut body));
            return Err(ServiceError::Failed(text));
        }
        let format = media_type
            .as_deref()
            .and_then(ResultsFormat::from_media_type)
            .filter(|format| *format != ResultsFormat::Csv);
        let Some(format) = format else {
            let what = match media_type {
                Some(name) => format!("the media type '{name}' is not one of its results"),
                None => "the answer has no media type".to_owned(),
            };
            return Err(ServiceError::Failed(format!("{what}{}", quoted(&mut body))));
        };
        let failed = |error: crate::Error| ServiceError::Failed(error.to_string());
        match read(format, body).map_err(failed)? {
            ReadResults::Boolean(_) => {
                let text = "the answer is a boolean, not solutions";
                Err(ServiceError::Failed(text.to_owned()))
            }
            ReadResults::Solutions(solutions) => Ok(ServiceRows {
                variables: solutions.variables().to_vec(),
                rows: Box::new(solutions.map(move |row| row.map_err(failed))),
            }),
        }
    }
}

/// A client that leaves statuses and redirects to the caller.
pub(super) fn new_agent() -> Agent {
    let user_agent = concat!("basalt/", env!("CARGO_PKG_VERSION"));
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(user_agent)
        .build();
    config.new_agent()
}

/// Where a redirect leads: an absolute IRI, or a path on the same host.
pub(super) fn redirected(place: &str, response: &Response<Body>) -> Result<String, ServiceError> {
    let location = response.headers().get(header::LOCATION);
    let location = location.and_then(|value| value.to_str().ok()).unwrap_or("");
    if location.contains("://") {
        return Ok(location.to_owned());
    }
    let host_end = place
        .find("://")
        .map(|at| at + 3)
        .and_then(|start| Some(start + place[start..].find(['/', '?', '#'])?))
        .unwrap_or(place.len());
    if location.starts_with('/') && !location.starts_with("//") {
        return Ok(format!("{}{location}", &place[..host_end]));
    }
    let status = response.status();
    let text = format!("HTTP status {status} leads to '{location}', which is no place to go");
    Err(ServiceError::Failed(text))
}

/// What the client says went wrong, in the words of this project.
pub(super) fn failure_text(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "no answer within its time limit".to_owned(),
        ureq::Error::HostNotFound => "its host is not known".to_owned(),
        ureq::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// The start of a body that is no result, for a message.
pub(super) fn quoted(body: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    // What cannot be read is not quoted.
    let _ = body.take(4 * QUOTED_CHARS as u64).read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let words: Vec<&str> = text.split_whitespace().collect();
    let text: String = words.join(" ").chars().take(QUOTED_CHARS).collect();
    match text.is_empty() {
        true => String::new(),
        false => format!(": «{text}»"),
    }
}

/// A body that ends with an error if it is too long or nobody waits for it any more.
struct Watched<'a, R> {
    body: R,
    left: usize,
    cancel: &'a AtomicBool,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(io::Error::other("the query was cancelled"));
        }
        let count = self.body.read(buffer).map_err(|error| {
            if error.kind() == io::ErrorKind::TimedOut {
                return io::Error::new(error.kind(), "no whole answer within its time limit");
            }
            error
        })?;
        self.left = self
            .left
            .checked_sub(count)
            .ok_or_else(|| io::Error::other("the answer is larger than the query's memory"))?;
        Ok(count)
    }
}
