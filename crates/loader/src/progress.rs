//! Telling the caller how far a load has come.

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
}

/// Keeps quiet.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn begin(&self, _phase: Phase) {}

    fn advance(&self, _quads: u64, _bytes: u64) {}
}
