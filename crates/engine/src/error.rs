//! The one error type of the façade, by meaning.

use basalt_exec::ExecError;
use basalt_loader::LoadError;
use basalt_plan::PlanError;
use basalt_store::StoreError;

/// Anything that can go wrong with a database.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The query text is not SPARQL.
    #[error("the query cannot be parsed: {message}")]
    Query {
        /// What is wrong, with the place and the text there.
        message: String,
    },
    /// The text of an update is not SPARQL, or does not go with what is given beside it.
    #[error("the update cannot be parsed: {message}")]
    UpdateText {
        /// What is wrong, with the place and the text there.
        message: String,
    },
    /// An operation of an update found the graphs not as it must have them; nothing was changed.
    #[error("{0}")]
    Graph(String),
    /// A document could not be loaded by an update; nothing was changed.
    #[error("cannot load {document}: {message}")]
    Document {
        /// The IRI of the document in angle brackets, or what else it is called.
        document: String,
        /// What happened.
        message: String,
    },
    /// An update may not load a document.
    #[error("{0}")]
    DocumentRefused(String),
    /// One of several operations of an update failed; nothing was changed.
    #[error("operation {number} of the update, «{text}»: {error}")]
    InOperation {
        /// Its place, from 1.
        number: usize,
        /// The beginning of its text.
        text: String,
        /// Why it failed.
        error: Box<Error>,
    },
    /// The query uses something that is not there.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// The query's time is over.
    #[error("the query ran longer than its time limit of {limit_ms} ms")]
    Timeout {
        /// The limit in milliseconds.
        limit_ms: u128,
    },
    /// The query needs more memory than it may use, or is too large to plan.
    #[error("{0}")]
    Limit(String),
    /// Somebody cancelled the query.
    #[error("the query was cancelled")]
    Cancelled,
    /// The time of an attempt passed (see [`attempt`](basalt_exec::attempt)); the query itself may take longer.
    #[error("the query takes longer than this attempt")]
    AttemptOver,
    /// The query has a SERVICE without an endpoint to ask.
    #[error("{0}")]
    NoEndpoint(String),
    /// A remote endpoint may not be asked by this query.
    #[error("{0}")]
    ServiceRefused(String),
    /// A remote endpoint gave no usable answer.
    #[error("the service <{endpoint}> failed: {message}")]
    Service {
        /// The endpoint.
        endpoint: String,
        /// What happened.
        message: String,
    },
    /// Results could not be read.
    #[error("cannot read {format} results: {message}")]
    Results {
        /// The name of the format.
        format: &'static str,
        /// What is wrong with them.
        message: String,
    },
    /// Statistics for the planner are no such file, or damaged, or may not be kept where they are wanted.
    #[error("the statistics cannot be used: {message}")]
    PlannerStatistics {
        /// What is wrong with them.
        message: String,
    },
    /// A store could not be opened, read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The disk has failed in a way that leaves open what is on it, so nothing more is written before the
    /// database is opened again. What was acknowledged is safe; of a commit that failed the outcome is unknown.
    #[error("the store takes no changes until it is opened again: {0}")]
    WritesRefused(String),
    /// A load failed; the store is as it was.
    #[error(transparent)]
    Load(#[from] Box<LoadError>),
    /// Results could not be written.
    #[error("cannot write results: {0}")]
    Output(#[from] std::io::Error),
    /// A defect of Basalt.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// An error of a writer of quads: what its syntax cannot say, or a target that failed.
    pub(crate) fn of_writer(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::InvalidInput => Self::Unsupported(error.to_string()),
            _ => Self::Output(error),
        }
    }
}

impl From<ExecError> for Error {
    fn from(error: ExecError) -> Self {
        match error {
            ExecError::Store(error) => Self::Store(error),
            ExecError::Timeout { limit_ms } => Self::Timeout { limit_ms },
            ExecError::AttemptOver => Self::AttemptOver,
            ExecError::Cancelled => Self::Cancelled,
            ExecError::MemoryLimit { .. } | ExecError::Temporary { .. } => {
                Self::Limit(error.to_string())
            }
            ExecError::Unsupported(what) => Self::Unsupported(what),
            ExecError::NoEndpoint(what) => Self::NoEndpoint(what),
            ExecError::ServiceRefused(what) => Self::ServiceRefused(what),
            ExecError::Service { endpoint, message } => Self::Service { endpoint, message },
            ExecError::Internal(what) => Self::Internal(what),
        }
    }
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Unsupported(what) => Self::Unsupported(what),
            PlanError::TooLarge(_) => Self::Limit(error.to_string()),
            PlanError::HasValue(_) => Self::Query {
                message: error.to_string(),
            },
        }
    }
}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        Self::Load(Box::new(error))
    }
}
