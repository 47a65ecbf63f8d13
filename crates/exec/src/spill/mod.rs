//! Temporary files of a running query: what an operator cannot hold goes there as rows of ids.
//!
//! ```text
//! sort       rows -> sorted runs -> merged            (operators::order_by)
//! group      rows of groups that found no room -> partitions by hash -> each grouped alone
//! distinct   rows that found no room, numbered -> partitions -> first ones -> merged by number
//! aggregates DISTINCT: values that found no room, as above;  GROUP_CONCAT: values -> runs by group -> merged
//! hash join  both sides -> partitions by hash -> each joined alone -> merged by number
//! merge join both sides -> runs by key -> merged
//! terms      computed ones -> one file, read one by one        (terms)
//! ```
//!
//! An operator begins to spill when it holds its share of the query's memory ([`share_bytes`]), or when the account
//! refuses more. Files are in [`ExecOptions::temp`](crate::ExecOptions::temp), unlinked as soon as they are open, written
//! and read from the start to the end, and gone when the operator is dropped.
//!
//! Cost: 8 bytes written and read for each cell; files of up to a few partitions or runs open at once
//! ([`PARTITIONS`], [`RUNS_MAX`]).

pub mod merge;
pub mod partitions;
pub mod row_file;
pub mod term_file;

use crate::context::{Context, ExecOptions};

/// What files are for, in their names.
const PURPOSE: &str = "query";
/// Partitions that rows are dealt out to at once.
pub const PARTITIONS: usize = 32;
/// Runs that are merged at once; more are merged in several rounds.
pub const RUNS_MAX: usize = 64;
/// Operators are taken to hold memory at the same time, each with a share this part of the whole.
const SHARES: usize = 4;
/// Smallest buffer of a file that is read or written.
const BUFFER_BYTES_MIN: usize = 4 << 10;
/// Largest buffer; larger ones save nothing.
const BUFFER_BYTES_MAX: usize = 256 << 10;

/// Bytes that one operator may hold on one thread before it begins to spill.
pub fn share_bytes(cx: &Context) -> usize {
    let options = cx.options();
    options.memory_bytes_max / SHARES / options.threads.max(1)
}

/// Bytes of terms that a query computed and may hold before it begins to spill them.
pub fn term_bytes_max(options: &ExecOptions) -> usize {
    options.memory_bytes_max / SHARES
}

/// Bytes for the buffer of each of so many files that are open at the same time.
fn buffer_bytes(files: usize, cx: &Context) -> usize {
    let share = share_bytes(cx) / files.max(1) / 2;
    share.clamp(BUFFER_BYTES_MIN, BUFFER_BYTES_MAX)
}
