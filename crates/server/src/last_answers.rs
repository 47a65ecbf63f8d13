//! The last answers of a server that stops: each says that its connection closes.
//!
//! A client that asks one question after the other on a connection would meet its end between two of them, and a question that
//! crosses that is lost. After an answer that names the end there is none.

use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set when the server stops.
pub type IsStopping = Arc<AtomicBool>;

/// Marks answers that are given after the stop.
pub async fn last_answers(
    State(is_stopping): State<IsStopping>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    if is_stopping.load(Ordering::Relaxed) {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    response
}
