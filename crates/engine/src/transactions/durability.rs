//! When a commit is acknowledged, and the other options of writing.

use crate::transactions::{MergePolicy, MergeWatcher};
use basalt_store::{Disk, RealDisk};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// When a commit is acknowledged and readers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Durability {
    /// When it is synced: an acknowledged commit survives a power cut. Commits that wait at the same time
    /// share a sync.
    #[default]
    Always,
    /// At once; the log is synced after so long at the latest. A crash of the process loses nothing, a power cut
    /// the last commits.
    Interval(Duration),
    /// At once; the log is synced when the operating system likes. As `Interval`, without a bound.
    None,
}

impl fmt::Display for Durability {
    /// The words of the option `--durability`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("always"),
            Self::Interval(interval) => write!(f, "interval={}ms", interval.as_millis()),
            Self::None => f.write_str("none"),
        }
    }
}

/// How a database writes.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// When commits are acknowledged.
    pub durability: Durability,
    /// When the delta is merged into a new version, and what that may take.
    pub merge: MergePolicy,
    /// Hears of merges; for tests.
    #[doc(hidden)]
    pub merge_watcher: Option<Arc<dyn MergeWatcher>>,
    /// What log and manifest are written to; tests put disks here that fail.
    #[doc(hidden)]
    pub disk: Arc<dyn Disk>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            merge: MergePolicy::default(),
            merge_watcher: None,
            disk: Arc::new(RealDisk),
        }
    }
}
