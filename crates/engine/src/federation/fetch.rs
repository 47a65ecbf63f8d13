//! Fetching documents over HTTP, for LOAD: GET with the RDF syntaxes that Basalt reads.
//!
//! The places that may be read are those of the [`ServicePolicy`], checked anew after each redirect. The body is
//! read as it arrives; reading ends with an error once nobody waits for it any more.

use super::http::{REDIRECTS_MAX, TIMEOUT_MAX, failure_text, new_agent, quoted, redirected};
use super::policy::ServicePolicy;
use basalt_rdf::GraphFormat;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use ureq::http::header;

/// The syntaxes that are asked for, those that read fastest first.
const ACCEPT: &str = "application/n-quads, application/n-triples, application/trig;q=0.9, text/turtle;q=0.9, \
    application/rdf+xml;q=0.7, application/ld+json;q=0.7, */*;q=0.1";

/// Media types that servers give to files whose type they do not know.
const UNKNOWN_TYPES: &[&str] = &["text/plain", "application/octet-stream"];

/// A document that is arriving.
pub struct Fetched {
    /// Where it was found at last; relative IRIs in it are resolved against this.
    pub place: String,
    /// Its syntax.
    pub format: GraphFormat,
    /// Its text, perhaps compressed.
    pub body: Box<dyn Read + Send>,
}

/// Why a document cannot be read.
pub enum FetchError {
    /// The place may not be asked.
    Refused(String),
    /// There is no such document, or not in a syntax that can be read.
    Failed(String),
}

/// Asks for a document; `cancel` ends the reading of its body.
pub fn fetch(
    policy: &ServicePolicy,
    iri: &str,
    timeout: Duration,
    cancel: &Arc<AtomicBool>,
) -> Result<Fetched, FetchError> {
    let timeout = timeout.min(TIMEOUT_MAX);
    let end = Instant::now() + timeout;
    let agent = new_agent();
    let mut place = iri.to_owned();
    for _ in 0..=REDIRECTS_MAX {
        policy.check(&place).map_err(FetchError::Refused)?;
        let left = end.saturating_duration_since(Instant::now());
        // A fragment is for the asker, not for the server.
        let url = place.split('#').next().unwrap_or(&place);
        let sent = agent
            .get(url)
            .config()
            // A timeout of zero would be none.
            .timeout_global(Some(left.max(Duration::from_millis(1))))
            .build()
            .header(header::ACCEPT, ACCEPT)
            .call();
        let response = sent.map_err(|error| FetchError::Failed(failure_text(&error)))?;
        let status = response.status();
        if matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            place = redirected(&place, &response)
                .map_err(|error| FetchError::Failed(error.to_string()))?;
            continue;
        }
        let media_type = response.body().mime_type().map(str::to_owned);
        let mut body = Watched {
            body: response
                .into_body()
                .into_with_config()
                .limit(u64::MAX)
                .reader(),
            cancel: Arc::clone(cancel),
        };
        if !status.is_success() {
            let text = format!("HTTP status {status}{}", quoted(&mut body));
            return Err(FetchError::Failed(text));
        }
        let format = format_of(&place, media_type.as_deref()).map_err(FetchError::Failed)?;
        return Ok(Fetched {
            place,
            format,
            body: Box::new(body),
        });
    }
    let message = format!("more than {REDIRECTS_MAX} redirects, the last one to <{place}>");
    Err(FetchError::Failed(message))
}

/// The syntax of a document: that of its media type, or where that says nothing that of its name.
fn format_of(place: &str, media_type: Option<&str>) -> Result<GraphFormat, String> {
    let path = place.split(['?', '#']).next().unwrap_or(place);
    let by_name = GraphFormat::from_path(Path::new(path));
    let told = media_type.filter(|name| !UNKNOWN_TYPES.contains(name));
    let by_type = told.and_then(GraphFormat::from_media_type);
    let plain = || media_type.and_then(GraphFormat::from_media_type);
    by_type.or(by_name).or_else(plain).ok_or_else(|| {
        let found = media_type.map_or_else(|| "none".to_owned(), |name| format!("'{name}'"));
        format!("its media type ({found}) is no RDF syntax, and its name tells none")
    })
}

/// A body that ends with an error if nobody waits for it any more.
struct Watched<R> {
    body: R,
    cancel: Arc<AtomicBool>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(io::Error::other("the update was cancelled"));
        }
        self.body.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => {
                io::Error::new(error.kind(), "no whole answer within its time limit")
            }
            _ => error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::format_of;
    use basalt_rdf::GraphFormat;

    #[test]
    fn the_media_type_counts_unless_it_says_nothing() {
        let format = |place: &str, media_type| format_of(place, media_type).ok();
        let turtle = Some(GraphFormat::Turtle);
        assert_eq!(format("http://a/x", Some("text/turtle")), turtle);
        assert_eq!(format("http://a/x.nt", Some("text/turtle")), turtle);
        assert_eq!(format("http://a/x.ttl?v=1#y", Some("text/plain")), turtle);
        assert_eq!(
            format("http://a/x.ttl.gz", Some("application/octet-stream")),
            turtle
        );
        assert_eq!(format("http://a/x.ttl", None), turtle);
        assert_eq!(
            format("http://a/x", Some("text/plain")),
            Some(GraphFormat::NTriples)
        );
        assert_eq!(format("http://a/x", Some("text/html")), None);
        assert_eq!(format("http://a/x", None), None);
    }
}
