//! What goes wrong, as a status and an `application/problem+json` document (RFC 9457).

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use basalt_engine::Error;

/// A failed request.
#[derive(Debug)]
pub struct Problem {
    /// The status to answer with.
    pub status: StatusCode,
    /// What went wrong, for people.
    pub detail: String,
}

impl Problem {
    /// A problem with these words.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            detail: detail.into(),
        }
    }

    /// A request that makes no sense.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// The document.
    pub fn to_json(&self) -> String {
        let title = self.status.canonical_reason().unwrap_or("error");
        let value = serde_json::json!({
            "type": "about:blank",
            "title": title,
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        format!("{value}\n")
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::new(status_of(&error), error.to_string())
    }
}

/// The status of an error of the engine; the only place that decides it.
fn status_of(error: &Error) -> StatusCode {
    match error {
        Error::Query { .. } | Error::NoEndpoint(_) => StatusCode::BAD_REQUEST,
        Error::ServiceRefused(_) => StatusCode::FORBIDDEN,
        Error::Service { .. } => StatusCode::BAD_GATEWAY,
        Error::Unsupported(_) => StatusCode::NOT_IMPLEMENTED,
        Error::Timeout { .. } | Error::Cancelled | Error::WritesRefused(_) => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        Error::Limit(_) => StatusCode::INSUFFICIENT_STORAGE,
        Error::Store(_)
        | Error::Load(_)
        | Error::Output(_)
        | Error::Results { .. }
        | Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let media_type = HeaderValue::from_static("application/problem+json");
        (
            self.status,
            [(header::CONTENT_TYPE, media_type)],
            self.to_json(),
        )
            .into_response()
    }
}
