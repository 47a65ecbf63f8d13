//! Durable changes: one writer at a time, any number of readers, commits that are synced in groups.
//!
//! ```text
//! begin -> the line -> the turn -> apply, apply, ... -> commit: record to the log | the turn goes on to the next writer
//!                                                               sync, one for all that wait -> published -> acknowledged
//! ```
//!
//! A writer works on the *tip*, the newest state in the log; readers see the *published* state, which is
//! synced. So a writer need not wait for the sync of the one before, and a reader never sees what a power cut
//! could take back. When changes have grown many, a *merge* writes them into a new version in the background, while
//! writers go on; what they commit meanwhile is said again in terms of that version. A transaction that changes as much by itself
//! is written as a version in its turn, and never stands in the delta (`replacement`). What is promised, and why it holds, is told in `docs/transactions.md`.
//!
//! Invariants: tip and published state are states after a whole number of commits, the published one is not
//! the later one; a commit is acknowledged after it is published; with the turn goes the right to append to the
//! log, to replace the version and to move the tip. Locks are taken in the order
//! line, right to write a version, turn, group, published state; a transaction that wants the right when it has the turn makes the one who has it
//! give up, or does without.
//!
//! Cost: a commit of one quad is one sync of the log, or its share of one.

mod core;
mod durability;
mod group_commit;
mod journal;
mod line;
mod merge;
mod merge_policy;
mod merges;
mod replacement;
mod standing_back;
mod successor;
mod tip;
mod transaction;
mod turn;
mod writer_turn;

pub use durability::{Durability, WriteOptions};
#[doc(hidden)]
pub use merge::{MergeStage, MergeWatcher};
pub use merge_policy::MergePolicy;
pub use transaction::{ChangeCounts, Commit, Transaction};

pub(crate) use self::core::Core;
pub use self::core::WriteStatus;
pub(crate) use replacement::LargeChanges;
