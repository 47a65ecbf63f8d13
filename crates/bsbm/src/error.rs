//! What can go wrong when data are generated, parameters are read or a run is started.

use std::path::PathBuf;

/// An error of the generator, of the parameter files or of the driver.
#[derive(Debug, thiserror::Error)]
pub enum BsbmError {
    /// The number of products was zero.
    #[error("the number of products must be at least 1")]
    NoProducts,
    /// The number of products is beyond what the counters are made for.
    #[error("{products} products are too many, the limit is {max}")]
    TooManyProducts {
        /// The number asked for.
        products: u64,
        /// The largest number allowed.
        max: u64,
    },
    /// The update transactions ask for more products than there are.
    #[error(
        "{transactions} update transactions of {products_per_transaction} products need more than the {products} products of the data set"
    )]
    HoldOutTooLarge {
        /// The number of transactions.
        transactions: u64,
        /// The products in each.
        products_per_transaction: u64,
        /// The products of the data set.
        products: u64,
    },
    /// Update transactions were asked for, but no file to write them to.
    #[error("update transactions need an output file of their own")]
    NoUpdateOutput,
    /// No query could be asked even once.
    #[error("a query can be given up after one timeout or more, not after none")]
    NoPatience,
    /// A run by the clock would begin no mix.
    #[error("a run needs a duration above 0 s")]
    NoDuration,
    /// Standard output cannot be cut into several files.
    #[error("standard output cannot be cut into {files} files")]
    FilesOnStandardOutput {
        /// The number of files asked for.
        files: usize,
    },
    /// The file name does not say which format is meant.
    #[error(
        "cannot tell the format from {name:?}, expected .nt, .nq or .ttl, perhaps with .gz or .zst"
    )]
    UnknownFormat {
        /// The name given.
        name: String,
    },
    /// Reading or writing failed.
    #[error("{operation} {path:?} failed")]
    Io {
        /// What was being done.
        operation: &'static str,
        /// The file, or `-` for a stream.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A worker thread ended before its work did.
    #[error("a generator thread ended early")]
    WorkerLost,
    /// A file of the data directory is not what it should be.
    #[error("{path:?} is not a valid parameter file: {reason}")]
    BadParameters {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A manifest or parameter file could not be put into JSON.
    #[error("cannot write {path:?} as json")]
    Json {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: serde_json::Error,
    },
    /// Updates are to be run, but there is no update file.
    #[error("a run with updates needs an update file")]
    NoUpdateInput,
    /// The update file ends before the run would.
    #[error(
        "{path:?} has {found} transactions from number {first} on, and {runs} mixes need {needed}"
    )]
    TooFewTransactions {
        /// The update file.
        path: PathBuf,
        /// Transactions that could be sent.
        found: u64,
        /// The first of them.
        first: u64,
        /// Transactions that the run would send.
        needed: u64,
        /// The mixes of the run.
        runs: u64,
    },
    /// A query was named that the use case does not have.
    #[error("there is no query {number} in {use_case}, the last one is {last}")]
    UnknownQuery {
        /// The number given.
        number: u8,
        /// The use case.
        use_case: &'static str,
        /// Its highest number.
        last: u8,
    },
    /// No query of the use case takes a product type of any level.
    #[error("no query of {use_case} can be drilled down")]
    NothingToDrillDown {
        /// The use case.
        use_case: &'static str,
    },
    /// Flights were to begin below the leaves of the tree.
    #[error("there is no level {level} of product types, the leaves are level {depth}")]
    NoSuchLevel {
        /// The level given.
        level: usize,
        /// The last one.
        depth: usize,
    },
    /// A recording of answers is not what it should be.
    #[error("{path:?} is not a valid recording: {reason}")]
    BadRecording {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and in which line.
        reason: String,
    },
    /// Two recordings are not of the same questions.
    #[error("the recordings differ in {what}: {reference} in the reference, {tested} in the other")]
    OtherQuestions {
        /// In what they differ.
        what: &'static str,
        /// What the reference has.
        reference: String,
        /// What the tested one has.
        tested: String,
    },
    /// The endpoint is not an address that the driver understands.
    #[error("{url:?} is not an http:// address")]
    BadEndpoint {
        /// The address given.
        url: String,
    },
}

/// The error of [`crate::generate`]; the crate has one error type.
pub type GenerateError = BsbmError;
