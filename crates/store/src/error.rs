//! The one error type of the store.
//!
//! Every failure says what was being done to which file; corruption names the file, the offset
//! and what is wrong there.

use crate::lock::Holder;
use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong in the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {op} `{}`: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        op: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file does not hold what it must.
    #[error("`{file}` is corrupt at byte {offset}: {what}")]
    Corrupt {
        /// The file, relative to the store.
        file: String,
        /// Where in the file, as near as is known.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// The folder holds no store.
    #[error("`{}` is not a store: it has no MANIFEST", path.display())]
    NotAStore {
        /// The folder.
        path: PathBuf,
    },
    /// The store was written by a program that knows a later format.
    #[error("`{file}` has format {found}, this program reads format {supported}")]
    UnknownFormat {
        /// The file, relative to the store.
        file: String,
        /// Its format.
        found: u32,
        /// The format of this program.
        supported: u32,
    },
    /// Another process (or another writer of this one) has the store open for writing.
    #[error("`{}` is open for writing elsewhere{}", path.display(), told(holder))]
    Locked {
        /// The store.
        path: PathBuf,
        /// Who that is, if it says so.
        holder: Option<Box<Holder>>,
    },
    /// This process has given up writing to the store, because it is about to end.
    #[error("writing to `{}` was abandoned", path.display())]
    Abandoned {
        /// The store.
        path: PathBuf,
    },
    /// A folder that a backup cannot be made in.
    #[error("cannot back up to `{}`: {why}", path.display())]
    Destination {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A new version is in place, and it could not be made durable that it is: after a power cut the one before may be back.
    #[error("the outcome is unknown: `{}` has a new version, which a power cut may undo: {source}", path.display())]
    OutcomeUnknown {
        /// The store.
        path: PathBuf,
        /// The reason.
        source: Box<StoreError>,
    },
    /// More than the format can hold.
    #[error("too many {what}: the limit is {limit}")]
    Limit {
        /// Of what there are too many.
        what: &'static str,
        /// How many there may be.
        limit: u64,
    },
    /// The caller of a writer broke its contract.
    #[error("invalid input for the store: {what}")]
    InvalidInput {
        /// What was wrong.
        what: String,
    },
}

impl StoreError {
    /// Makes a function for `map_err` on results of file operations.
    pub(crate) fn io(op: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { op, path, source }
    }

    /// A [`StoreError::Corrupt`].
    pub(crate) fn corrupt(file: &str, offset: u64, what: impl Into<String>) -> Self {
        Self::Corrupt {
            file: file.to_owned(),
            offset,
            what: what.into(),
        }
    }

    /// A [`StoreError::InvalidInput`].
    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::InvalidInput { what: what.into() }
    }
}

/// The part of a message that names the holder of a lock.
fn told(holder: &Option<Box<Holder>>) -> String {
    holder
        .as_ref()
        .map_or_else(String::new, |holder| format!(": {holder}"))
}
