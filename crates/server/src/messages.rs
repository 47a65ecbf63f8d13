//! What holds for the messages of every path: a request names its host, and one that is answered before its body was read says so.
//!
//! A handler drops a body that it does not want. What is left of it then comes back here: a small rest is read away, so that the
//! connection can take the next request; before a longer one the answer says `Connection: close` (RFC 9112, section 9.6), and the connection ends
//! so that the client can still read it ([`connection`](crate::connection)).
//!
//! Cost: nothing for requests without a body; one box and one lock for others.

use crate::connection::UnreadMark;
use crate::problem::Problem;
use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio_stream::{Stream, StreamExt};

/// Bytes of a body that nobody wants and that are read away; less than a new connection costs.
const READ_AWAY_BYTES_MAX: usize = 64 << 10;
/// Time in which they are waited for.
const READ_AWAY: Duration = Duration::from_secs(1);

/// What became of a body.
#[derive(Default)]
enum Rest {
    /// Somebody has it.
    #[default]
    BeingRead,
    /// It was dropped, with this left of it.
    Left(BodyDataStream),
    /// It was read to its end.
    Read,
    /// It cannot be read to its end.
    Broken,
}

/// A body that leaves what was not read of it.
struct Watched {
    /// Until its end.
    body: Option<BodyDataStream>,
    rest: Arc<Mutex<Rest>>,
}

impl Watched {
    fn leave(&self, rest: Rest) {
        *self.rest.lock().unwrap_or_else(PoisonError::into_inner) = rest;
    }
}

impl Stream for Watched {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(body).poll_next(context);
        let rest = match &polled {
            Poll::Ready(None) => Rest::Read,
            Poll::Ready(Some(Err(_))) => Rest::Broken,
            Poll::Ready(Some(Ok(_))) | Poll::Pending => return polled,
        };
        self.leave(rest);
        self.body = None;
        polled
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            self.leave(Rest::Left(body));
        }
    }
}

/// Answers requests that name no host, and sees to bodies that nobody has read.
pub async fn messages(request: Request, next: Next) -> Response {
    let host = check_host(&request);
    if request.body().is_end_stream() {
        return match host {
            Ok(()) => next.run(request).await,
            Err(problem) => problem.into_response(),
        };
    }
    let unread = request.extensions().get::<ConnectInfo<UnreadMark>>();
    let unread = unread.map(|info| info.0.clone());
    let is_worth_reading = is_worth_reading(request.headers());
    let rest = Arc::<Mutex<Rest>>::default();
    let request = request.map(|body| {
        Body::from_stream(Watched {
            body: Some(body.into_data_stream()),
            rest: Arc::clone(&rest),
        })
    });
    let mut response = match host {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            drop(request);
            problem.into_response()
        }
    };
    let rest = std::mem::take(&mut *rest.lock().unwrap_or_else(PoisonError::into_inner));
    let is_over = match rest {
        Rest::Read => true,
        Rest::Broken => false,
        // An answer that tells of the work on the body as it comes.
        Rest::BeingRead => response.status().is_success(),
        Rest::Left(body) => is_worth_reading && is_read_away(body).await,
    };
    if !is_over {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
        if let Some(unread) = unread {
            unread.set();
        }
    }
    response
}

/// RFC 9112, section 3.2: exactly one host, which older versions need not name.
fn check_host(request: &Request) -> Result<(), Problem> {
    let count = request.headers().get_all(header::HOST).iter().count();
    let detail = match count {
        0 if request.version() == Version::HTTP_11 => "the request has no header 'Host'",
        0 | 1 => return Ok(()),
        _ => "the request has several headers 'Host'",
    };
    Err(Problem::new(StatusCode::BAD_REQUEST, detail))
}

/// Whether a body that nobody wants may be short, and comes without being asked for.
fn is_worth_reading(headers: &HeaderMap) -> bool {
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    !headers.contains_key(header::EXPECT) && length.is_none_or(|bytes| bytes <= READ_AWAY_BYTES_MAX)
}

/// Reads a body away; whether it came to its end in time.
async fn is_read_away(mut body: BodyDataStream) -> bool {
    let reading = async {
        let mut left = READ_AWAY_BYTES_MAX;
        // Termination: the bytes left become fewer; an empty chunk is none of a body.
        while let Some(chunk) = body.next().await {
            let rest = chunk.ok().and_then(|chunk| left.checked_sub(chunk.len()));
            let Some(rest) = rest else {
                return false;
            };
            left = rest;
        }
        true
    };
    tokio::time::timeout(READ_AWAY, reading)
        .await
        .unwrap_or(false)
}
