//! The one error type of the loader.

use std::io;
use std::path::PathBuf;

use basalt_rdf::reader::SyntaxError;
use basalt_rdf::reader::input::InputError;
use basalt_rdf::{QualifierError, ReadError};
use basalt_store::{StoreError, TemporaryFileError};

/// Why a load failed; the store is as it was before.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// An input could not be opened.
    #[error(transparent)]
    Input(#[from] InputError),
    /// An input is not what its format asks for.
    #[error(transparent)]
    Syntax(Box<SyntaxError>),
    /// An input of a format without lines is not what its format asks for, in a lenient load.
    #[error("{0} (only bad lines of N-Triples and N-Quads can be skipped)")]
    StrictDocument(Box<SyntaxError>),
    /// An input has more bad lines than the load was told to bear.
    #[error("gave up after {count} bad lines, the last: {last}")]
    TooManyErrors {
        /// Bad lines found.
        count: u64,
        /// The last of them.
        last: Box<SyntaxError>,
    },
    /// The bytes of an input could not be read or decompressed.
    #[error("cannot read {file}: {source}")]
    Read {
        /// The input as the user named it.
        file: String,
        /// What went wrong.
        source: io::Error,
    },
    /// The file for bad lines could not be written.
    #[error("cannot {op} '{}', the file for bad lines: {source}", path.display())]
    ErrorsFile {
        /// What was tried, as a verb.
        op: &'static str,
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The file for bad lines is an input.
    #[error("'{}' is an input and cannot be the file for bad lines too", path.display())]
    ErrorsFileIsInput {
        /// The file.
        path: PathBuf,
    },
    /// Neither the name nor the options tell the format.
    #[error("cannot tell the format of '{name}': no known extension and no format given")]
    UnknownFormat {
        /// The input as the user named it.
        name: String,
    },
    /// The graph to load into has no valid IRI.
    #[error("'{iri}' is not an absolute IRI: {message}")]
    InvalidGraph {
        /// The text given.
        iri: String,
        /// What is wrong with it.
        message: String,
    },
    /// More datatypes or languages than ids can tell apart.
    #[error(transparent)]
    Qualifiers(#[from] QualifierError),
    /// More of something than one load can number.
    #[error("too many {what}: one load can number {limit}")]
    Limit {
        /// Of what there are too many.
        what: &'static str,
        /// How many there may be.
        limit: u64,
    },
    /// A temporary file could not be used.
    #[error(transparent)]
    Spill(#[from] TemporaryFileError),
    /// No load can be done in so little memory.
    #[error(
        "a memory budget of {budget} MiB is too small: with so many threads give at least {minimum} MiB"
    )]
    MemoryTooSmall {
        /// The budget in MiB.
        budget: u64,
        /// The least that works, in MiB.
        minimum: u64,
    },
    /// The numbers of terms, which must be in memory, do not fit.
    #[error(
        "the numbers of the distinct terms do not fit in a memory budget of {budget} MiB: give 50 bytes for each, or load the inputs one after the other"
    )]
    MemoryForTerms {
        /// The budget in MiB.
        budget: u64,
    },
    /// Somebody did not want the load any more, before its commit began.
    #[error("the load was cancelled")]
    Cancelled,
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LoadError {
    /// What a reader's error means for the load.
    pub(crate) fn from_read(error: ReadError<Self>, file: &str) -> Self {
        match error.in_file(file) {
            ReadError::Syntax(error) => Self::Syntax(Box::new(error)),
            ReadError::Io { file, source } => Self::Read { file, source },
            ReadError::Sink(error) => error,
        }
    }
}
