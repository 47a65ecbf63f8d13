//! Asking remote endpoints, as execution sees it: a trait that others implement.
//!
//! Execution writes the text of a request and reads rows of terms; how they travel (HTTP, formats,
//! who may be asked) is the embedder's business, so nothing below the façade knows the network.

use oxrdf::Term;
use std::fmt::Debug;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// One request to a remote endpoint.
#[derive(Clone, Copy, Debug)]
pub struct ServiceRequest<'a> {
    /// The IRI of the endpoint.
    pub endpoint: &'a str,
    /// The text of a SELECT query.
    pub query: &'a str,
    /// When the answer must have been read.
    pub deadline: Option<Instant>,
    /// True once nobody waits for the answer any more.
    pub cancel: &'a AtomicBool,
    /// The longest answer, in bytes, that may be read.
    pub bytes_max: usize,
}

/// The rows of an answer as they come.
pub type ServiceRowIterator<'a> =
    Box<dyn Iterator<Item = Result<Vec<Option<Term>>, ServiceError>> + 'a>;

/// The answer to a request.
pub struct ServiceRows<'a> {
    /// The names of the columns, without question marks.
    pub variables: Vec<String>,
    /// The rows, each with one value or none for each column.
    pub rows: ServiceRowIterator<'a>,
}

/// Why there is no answer, or no whole answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// The endpoint may not be asked. That ends the query, also with SILENT.
    #[error("{0}")]
    Refused(String),
    /// The endpoint did not answer, or with something else than solutions.
    #[error("{0}")]
    Failed(String),
}

/// Sends requests to remote endpoints.
pub trait ServiceClient: Debug + Send + Sync {
    /// Sends a request. The answer may be read while it arrives; it borrows from the request.
    fn select<'a>(&'a self, request: &ServiceRequest<'a>) -> Result<ServiceRows<'a>, ServiceError>;
}
