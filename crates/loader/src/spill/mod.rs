//! What a load does when memory is short: temporary files, and the budget that decides.
//!
//! Every file is written by appending large pieces ([`SpillFile`]) and read back piece by piece in the order of
//! the offsets, or bucket by bucket ([`Buckets`]), or run by run ([`QuadSorter`], [`IndexRun`]); nothing is looked up in one.
//! They are unlinked as soon as they are open, so they vanish with the load, however it ends.

mod buckets;
mod file;
mod index_runs;
mod memory;
mod quad_sorter;
#[cfg(test)]
mod tests;

pub(crate) use buckets::{BucketReader, Buckets};
pub(crate) use file::{Extent, SpillFile, SpillFolder};
pub(crate) use index_runs::{IndexRun, merge_runs};
pub(crate) use memory::LoadMemory;
pub use memory::available_bytes;
pub(crate) use quad_sorter::{QuadSorter, SortOrder};
