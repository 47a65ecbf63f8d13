//! The log: the commits since the version was made, one checksummed record each.
//!
//! ```text
//! log-7:  header (version, salt) | record: commit 41 | record: commit 42 | ... | torn tail
//! ```
//!
//! A version has one log, the file `log-<version>` beside its folder, made by its first commit. As the log belongs to one
//! version, its records hold ids; new terms are in the record of the first commit that could use them. When the next version is
//! current the log has become meaningless and is removed with the other files of the version.
//!
//! Readers take the longest prefix of whole records. What is after it is either a *torn tail*, commits that were never
//! acknowledged, or *damage*, which is an error; how the two are told apart stands in [`scan`]. The bytes are drawn in
//! `docs/storage-format/log.md`.
//!
//! Invariants: records are numbered without gaps; a record that was synced is never changed or cut off; only the holder of
//! the store's lock writes.
//!
//! Cost: a commit writes its record at once and syncs it; opening a store reads the whole log into memory.

mod file;
mod header;
mod payload;
mod recovery;
mod scan;
mod writer;

pub use payload::CommitRecord;
pub use recovery::{Recovered, recover};
pub use writer::{LogSync, LogWriter};

pub(crate) use file::{is_log_name, number_of_log, path_of_log, read_log, read_log_and_bytes};
pub(crate) use header::HEADER_BYTES;
pub(crate) use recovery::{LogContents, of_current, open_unpublished};

#[cfg(test)]
mod tests;
