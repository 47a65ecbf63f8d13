//! Telling the caller how far a load has come.
//!
//! Calls come from several threads, some thousands of quads or terms apart, so that whoever hears them may
//! take a microsecond each.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::LoadError;
use crate::spill::LoadMemory;

/// The stages of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Reading the quads of the version that is added to.
    ReadOldVersion,
    /// Reading, parsing and encoding the inputs.
    Parse,
    /// Grouping by subject and dropping repeated quads.
    Group,
    /// Characteristic sets, links, tables.
    Discover,
    /// New numbers for resources.
    Number,
    /// Writing the tables.
    WriteTables,
    /// Writing the irregular quads.
    WriteIrregular,
    /// Writing the dictionary.
    WriteTerms,
    /// Making all of it durable and visible.
    Commit,
}

impl Phase {
    /// All of them, in order.
    pub const ALL: [Self; 9] = [
        Self::ReadOldVersion,
        Self::Parse,
        Self::Group,
        Self::Discover,
        Self::Number,
        Self::WriteTables,
        Self::WriteIrregular,
        Self::WriteTerms,
        Self::Commit,
    ];

    /// A few words for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadOldVersion => "read old version",
            Self::Parse => "parse",
            Self::Group => "group by subject",
            Self::Discover => "discover tables",
            Self::Number => "number resources",
            Self::WriteTables => "write tables",
            Self::WriteIrregular => "write irregular quads",
            Self::WriteTerms => "write terms",
            Self::Commit => "commit",
        }
    }
}

/// Hears of progress; called from several threads.
pub trait Progress: Sync {
    /// A phase begins.
    fn begin(&self, phase: Phase);
    /// So many more quads and (decompressed) bytes were read.
    fn advance(&self, quads: u64, bytes: u64);
    /// So much of the work of the phase is done, in a unit that is the same for all of it (quads of the old
    /// version, rows, terms). The last call of a phase need not come.
    fn work(&self, _done: u64, _total: u64) {}
    /// Where to count the bytes read from files, before decompression.
    fn file_bytes(&self) -> Arc<AtomicU64> {
        Arc::default()
    }
}

/// Work whose amount is known, done by any number of threads.
pub(crate) struct WorkCounter<'p> {
    progress: &'p dyn Progress,
    memory: &'p LoadMemory,
    done: AtomicU64,
    total: u64,
}

impl<'p> WorkCounter<'p> {
    /// Nothing of `total` is done.
    pub(crate) fn new(progress: &'p dyn Progress, memory: &'p LoadMemory, total: u64) -> Self {
        Self {
            progress,
            memory,
            done: AtomicU64::new(0),
            total,
        }
    }

    /// So much more is done; fails if the load was cancelled.
    pub(crate) fn add(&self, work: u64) -> Result<(), LoadError> {
        let done = self.done.fetch_add(work, Ordering::Relaxed) + work;
        self.progress.work(done, self.total);
        self.memory.go_on()
    }
}

/// Keeps quiet.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn begin(&self, _phase: Phase) {}

    fn advance(&self, _quads: u64, _bytes: u64) {}
}
