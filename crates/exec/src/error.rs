//! What can go wrong while a query runs.

use basalt_store::{StoreError, TemporaryFileError};
use std::path::PathBuf;

/// An error of execution; expression errors are not errors here but unbound values.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The deadline passed.
    #[error("the query ran longer than its time limit of {limit_ms} ms")]
    Timeout {
        /// The limit in milliseconds.
        limit_ms: u128,
    },
    /// The time of the attempt passed; the query itself may take longer.
    #[error("the query takes longer than this attempt")]
    AttemptOver,
    /// Somebody cancelled the query.
    #[error("the query was cancelled")]
    Cancelled,
    /// The query needs more memory than it may use.
    #[error("the query needs more than its memory limit of {limit_bytes} bytes (in {operator})")]
    MemoryLimit {
        /// The limit in bytes.
        limit_bytes: usize,
        /// The operator that asked.
        operator: &'static str,
    },
    /// A temporary file could not be made, written or read.
    #[error("cannot {operation} the temporary file '{}', which the query needs within its memory limit: {source}", path.display())]
    Temporary {
        /// What was tried.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A remote endpoint gave no usable answer.
    #[error("the service <{endpoint}> failed: {message}")]
    Service {
        /// The endpoint.
        endpoint: String,
        /// What happened.
        message: String,
    },
    /// There is no endpoint to ask.
    #[error("{0}")]
    NoEndpoint(String),
    /// A remote endpoint may not be asked.
    #[error("{0}")]
    ServiceRefused(String),
    /// A feature that is not there.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// A worker thread ended without an answer.
    #[error("internal error: {0}")]
    Internal(String),
}

impl From<TemporaryFileError> for ExecError {
    fn from(error: TemporaryFileError) -> Self {
        let TemporaryFileError {
            operation,
            path,
            source,
        } = error;
        Self::Temporary {
            operation,
            path,
            source,
        }
    }
}
