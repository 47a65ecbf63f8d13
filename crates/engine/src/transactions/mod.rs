//! Durable changes: one writer at a time, any number of readers, commits that are synced in groups.
//!
//! ```text
//! begin -> the turn -> apply, apply, ... -> commit: record to the log | the turn goes on to the next writer
//!                                                   sync, one for all that wait -> published -> acknowledged
//! ```
//!
//! A writer works on the *tip*, the newest state in the log; readers see the *published* state, which is
//! synced. So a writer need not wait for the sync of the one before, and a reader never sees what a power cut
//! could take back. What is promised, and why it holds, is told in `docs/transactions.md`.
//!
//! Invariants: tip and published state are states after a whole number of commits, the published one is not
//! the later one; a commit is acknowledged after it is published; with the turn goes the right to append to the
//! log, to replace the version and to move the tip. Locks are taken in the order turn, group, published state.
//!
//! Cost: a commit of one quad is one sync of the log, or its share of one.

mod core;
mod durability;
mod group_commit;
mod merge;
mod transaction;
mod turn;

pub use durability::{Durability, WriteOptions};
pub use merge::MergePolicy;
pub use transaction::{ChangeCounts, Commit, Transaction};

pub(crate) use self::core::Core;
pub use self::core::WriteStatus;
