//! What goes wrong, as a status and an `application/problem+json` document (RFC 9457).

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use basalt_engine::{Error, LoadError, StoreError, TemporaryFileError};
use std::io::ErrorKind;

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

    /// Work that ended without saying how.
    pub fn lost(work: &str) -> Self {
        let detail = format!("internal error: the {work} ended without an answer");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
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

/// The problem of a write, which an error of the engine may call a query: `write` is what it is called.
pub fn of_write(error: Error, write: &str) -> Problem {
    let mut cause = &error;
    // Termination: each round goes to the cause of an error.
    while let Error::InOperation { error, .. } = cause {
        cause = error;
    }
    let words = match cause {
        Error::Timeout { limit_ms } => {
            format!("the {write} ran longer than its time limit of {limit_ms} ms")
        }
        Error::Cancelled => format!("the {write} was cancelled"),
        _ => return error.into(),
    };
    let (all, end) = (error.to_string(), cause.to_string());
    let start = all.strip_suffix(&end).unwrap_or_default();
    Problem::new(status_of(&error), format!("{start}{words}"))
}

/// The status of an error of the engine; the only place that decides it.
fn status_of(error: &Error) -> StatusCode {
    match error {
        Error::Query { .. } | Error::UpdateText { .. } | Error::NoEndpoint(_) => {
            StatusCode::BAD_REQUEST
        }
        Error::InOperation { error, .. } => status_of(error),
        Error::ServiceRefused(_) | Error::DocumentRefused(_) => StatusCode::FORBIDDEN,
        Error::Graph(_) => StatusCode::CONFLICT,
        Error::Service { .. } | Error::Document { .. } => StatusCode::BAD_GATEWAY,
        Error::Unsupported(_) => StatusCode::NOT_IMPLEMENTED,
        Error::Timeout { .. }
        | Error::AttemptOver
        | Error::Cancelled
        | Error::WritesRefused(_)
        | Error::Store(StoreError::Locked { .. }) => StatusCode::SERVICE_UNAVAILABLE,
        Error::Store(error) if is_full(error) => StatusCode::INSUFFICIENT_STORAGE,
        Error::Limit(_) => StatusCode::INSUFFICIENT_STORAGE,
        Error::Load(error) => status_of_load(error),
        Error::Store(_)
        | Error::Output(_)
        | Error::Results { .. }
        | Error::PlannerStatistics { .. }
        | Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The status of a load that failed: what it was given is the client's.
fn status_of_load(error: &LoadError) -> StatusCode {
    match error {
        LoadError::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        LoadError::Input(_)
        | LoadError::Syntax(_)
        | LoadError::StrictDocument(_)
        | LoadError::TooManyErrors { .. }
        | LoadError::Read { .. }
        | LoadError::UnknownFormat { .. }
        | LoadError::InvalidGraph { .. } => StatusCode::BAD_REQUEST,
        LoadError::Limit { .. }
        | LoadError::Qualifiers(_)
        | LoadError::MemoryTooSmall { .. }
        | LoadError::MemoryForTerms { .. } => StatusCode::INSUFFICIENT_STORAGE,
        LoadError::Spill(TemporaryFileError { source, .. })
        | LoadError::ErrorsFile { source, .. }
            if is_full_disk(source) =>
        {
            StatusCode::INSUFFICIENT_STORAGE
        }
        LoadError::Store(StoreError::Locked { .. } | StoreError::Abandoned { .. }) => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        LoadError::Store(error) if is_full(error) => StatusCode::INSUFFICIENT_STORAGE,
        LoadError::Store(_)
        | LoadError::Spill(_)
        | LoadError::ErrorsFile { .. }
        | LoadError::ErrorsFileIsInput { .. } => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Whether the store's disk is full.
fn is_full(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { source, .. } if is_full_disk(source))
}

/// Whether there is no room on a disk.
pub fn is_full_disk(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
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
