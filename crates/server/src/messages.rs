//! What holds for the messages of every path: a request names its host, and one that is answered before its body was read says so.
//!
//! A handler drops a body that it does not want. What is left of it then comes back here: a small rest is read away, so that the
//! connection can take the next request; before a longer one the answer says `Connection: close` (RFC 9112, section 9.6), and the connection ends
//! so that the client can still read it ([`connection`](crate::connection)).
//!
//! Cost: nothing for requests without a body; one box and one lock for others.

use crate::marks::Marks;
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
use tokio::time::Sleep;
use tokio_stream::{Stream, StreamExt};

/// Bytes of a body that nobody wants and that are read away; less than a new connection costs.
const READ_AWAY_BYTES_MAX: usize = 64 << 10;
/// Time in which they are waited for.
const READ_AWAY: Duration = Duration::from_secs(1);
/// How long a client may send nothing of a body that is waited for before it counts as gone.
const STALL: Duration = Duration::from_secs(60);

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
    /// The end of patience, while it is waited for.
    stall: Option<Pin<Box<Sleep>>>,
    rest: Arc<Mutex<Rest>>,
}

impl Watched {
    /// Whether nothing has come for too long.
    fn has_stalled(&mut self, context: &mut Context<'_>) -> bool {
        let sleep = || Box::pin(tokio::time::sleep(STALL));
        let stall = self.stall.get_or_insert_with(sleep);
        stall.as_mut().poll(context).is_ready()
    }

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
        let mut polled = Pin::new(body).poll_next(context);
        if polled.is_pending() && self.has_stalled(context) {
            let seconds = STALL.as_secs();
            let what = format!("the client sent nothing for {seconds} seconds");
            polled = Poll::Ready(Some(Err(axum::Error::new(what))));
        }
        let rest = match &polled {
            Poll::Ready(None) => Rest::Read,
            Poll::Ready(Some(Err(_))) => Rest::Broken,
            Poll::Pending => return polled,
            Poll::Ready(Some(Ok(_))) => {
                self.stall = None;
                return polled;
            }
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
    let marks = request.extensions().get::<ConnectInfo<Marks>>();
    let Some(ConnectInfo(marks)) = marks.cloned() else {
        // A request that came by no connection.
        return answer(&Marks::default(), request, next).await;
    };
    let at_work = marks.begin_work();
    at_work.go_on_with(answer(&marks, request, next).await)
}

async fn answer(marks: &Marks, request: Request, next: Next) -> Response {
    let host = check_host(&request);
    if request.body().is_end_stream() {
        return match host {
            Ok(()) => next.run(request).await,
            Err(problem) => problem.into_response(),
        };
    }
    let is_worth_reading = is_worth_reading(request.headers());
    let rest = Arc::<Mutex<Rest>>::default();
    let request = request.map(|body| {
        Body::from_stream(Watched {
            body: Some(body.into_data_stream()),
            stall: None,
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
        marks.set_unread();
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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::Builder;

    #[test]
    fn a_body_of_which_nothing_comes_breaks_off() {
        let runtime = Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(async {
            let sent = tokio_stream::once(Ok::<_, axum::Error>("a"));
            let body = Body::from_stream(sent.chain(tokio_stream::pending()));
            let rest = Arc::<Mutex<Rest>>::default();
            let mut watched = Watched {
                body: Some(body.into_data_stream()),
                stall: Some(Box::pin(tokio::time::sleep(Duration::ZERO))),
                rest: Arc::clone(&rest),
            };
            tokio::time::sleep(Duration::from_millis(5)).await;
            let first = watched.next().await;
            assert_eq!(first.and_then(Result::ok), Some(Bytes::from("a")));
            // Patience began anew with what came.
            let soon = tokio::time::timeout(Duration::from_millis(20), watched.next());
            assert!(soon.await.is_err());
            watched.stall = Some(Box::pin(tokio::time::sleep(Duration::ZERO)));
            let broken = watched.next().await.and_then(Result::err);
            let broken = broken.expect("an error").to_string();
            assert!(broken.contains("nothing for 60 seconds"), "{broken}");
            assert!(matches!(*rest.lock().expect("it is whole"), Rest::Broken));
            assert!(watched.next().await.is_none());
        });
    }
}
