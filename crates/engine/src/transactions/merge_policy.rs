//! When changes are merged, and what a merge may take.

use basalt_exec::context::core_count;
use basalt_loader::{CancelFlag, LoadOptions};
use basalt_store::{DELTA_QUAD_BYTES, Snapshot};
use std::time::Duration;

/// When the delta is merged into a new version, and how much of the machine that may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MergePolicy {
    /// No merge for fewer changed quads than this.
    pub quads_min: u64,
    /// No merge for changed quads below this share of the quads of the store.
    pub share_min: f64,
    /// A log of more bytes than this is merged whatever the number of quads.
    pub log_bytes_max: u64,
    /// A log of more bytes than this share of the version's files is merged too, if it has more than [`Self::log_bytes_min`].
    pub log_share: f64,
    /// A log of fewer bytes than this is never merged for its share.
    pub log_bytes_min: u64,
    /// Terms that were added and take more bytes of memory than this are merged whatever the number of quads: those of changes
    /// that were given up stay until then, and are in no quad.
    pub term_bytes_max: u64,
    /// After a merge that failed the next one waits so long.
    pub retry_after: Duration,
    /// A transaction after which a merge would be due is written as a version if that takes no more times as long as its
    /// changes in the delta: it and others wait longer, but the merge is saved.
    pub times_delta_max: f64,
    /// Worker threads of a merge; 0 for a quarter of the cores, at least one.
    pub threads: usize,
    /// How far the threads of a merge stand back behind those of queries and commits: what is added to their niceness, 0 to
    /// 19, on Linux. They have an idle core to themselves all the same; on one that they share with a query a merge
    /// with the default of 10 gets a tenth.
    pub niceness: u8,
    /// Bytes of memory that a merge may take; what does not fit goes to temporary files. A merge of a store whose terms
    /// alone need more, 128 bytes each, takes that.
    pub memory_bytes: u64,
}

/// What a rewrite of a store goes by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreSize {
    /// Quads.
    pub(crate) quads: u64,
    /// Bytes of the files of its version.
    pub(crate) bytes: u64,
    /// Tables.
    pub(crate) tables: usize,
}

/// How many times the bytes of a log for which a merge is due may come together while it runs. One that has a core to itself has ended long before.
const TIMES_LOG_MAX: u64 = 4;
/// How many times those of terms, which take several times as much memory as the log has bytes.
const TIMES_TERMS_MAX: u64 = 2;
/// A log of fewer bytes makes nobody wait.
const BEHIND_LOG_BYTES_MIN: u64 = 32 << 20;

/// About how long it takes to put so many changed quads into the delta.
fn delta_micros(changed: u64) -> f64 {
    2.4 * changed as f64
}

impl StoreSize {
    /// The size of a state.
    pub(crate) fn of(state: &Snapshot) -> Self {
        Self {
            quads: state.quad_count(),
            bytes: state.file_bytes(),
            tables: state.tables().len(),
        }
    }

    /// About how long it takes to write it as a version: what seven stores of 3 to 13 million quads and 7 to 1,000 tables
    /// took (decision 0016).
    fn rewrite_micros(self) -> f64 {
        let (quads, bytes, tables) = (self.quads as f64, self.bytes as f64, self.tables as f64);
        0.33 * quads + 0.025 * bytes + 8_000.0 * tables
    }
}

impl Default for MergePolicy {
    /// A merge rewrites the store: with a tenth of it each quad is rewritten some ten times while the store
    /// doubles. Below 200,000 quads reading the delta costs little, and replaying it less than a second; smaller stores are
    /// merged for their log, which is half of the version's files sooner. Changes that undo
    /// each other leave no delta but a log: with half of the store it and the two versions there are while it is merged
    /// stay below three times the store. Terms may take a quarter of what the merge takes, which is the most that a log has.
    fn default() -> Self {
        Self {
            quads_min: 200_000,
            share_min: 0.1,
            log_bytes_max: 256 << 20,
            log_share: 0.5,
            log_bytes_min: 1 << 20,
            term_bytes_max: 256 << 20,
            retry_after: Duration::from_secs(60),
            times_delta_max: 2.0,
            threads: 0,
            niceness: 10,
            memory_bytes: 1 << 30,
        }
    }
}

impl MergePolicy {
    /// Never merges by itself.
    pub const NEVER: Self = Self {
        quads_min: u64::MAX,
        share_min: 1.0,
        log_bytes_max: u64::MAX,
        log_share: 1.0,
        log_bytes_min: u64::MAX,
        term_bytes_max: u64::MAX,
        retry_after: Duration::ZERO,
        times_delta_max: 0.0,
        threads: 0,
        niceness: 10,
        memory_bytes: 1 << 30,
    };

    /// Whether a delta of so many changed quads over a store of so many is merged.
    pub(crate) fn is_due(&self, changed: u64, quads: u64) -> bool {
        let share = (quads as f64 * self.share_min) as u64;
        changed > self.quads_min.max(share)
    }

    /// Whether a log of so many bytes is merged into a version whose files have so many.
    pub(crate) fn is_log_due(&self, log_bytes: u64, version_bytes: u64) -> bool {
        log_bytes > self.log_bytes_due(version_bytes)
    }

    fn log_bytes_due(&self, version_bytes: u64) -> u64 {
        let share = (version_bytes as f64 * self.log_share) as u64;
        self.log_bytes_max.min(self.log_bytes_min.max(share))
    }

    /// Whether a merge that runs is so far behind those who commit meanwhile that these wait for it: else log and memory would grow without
    /// bound where it gets little of the machine.
    pub(crate) fn is_behind(&self, log_bytes: u64, version_bytes: u64, term_bytes: u64) -> bool {
        let log_bytes_max = self
            .log_bytes_due(version_bytes)
            .saturating_mul(TIMES_LOG_MAX)
            .max(BEHIND_LOG_BYTES_MIN);
        let terms_max = self.term_bytes_max.saturating_mul(TIMES_TERMS_MAX);
        log_bytes > log_bytes_max || term_bytes > terms_max
    }

    /// Whether added terms of so many bytes of memory are merged.
    pub(crate) fn are_terms_due(&self, term_bytes: u64) -> bool {
        term_bytes > self.term_bytes_max
    }

    /// Whether a transaction that changes so many quads is written as a version: if a merge were due after it anyway and the
    /// transaction does not take much longer so, and if its share of the delta would take more memory than the merge.
    pub(crate) fn is_written_at_once(&self, changed: u64, store: StoreSize) -> bool {
        let is_never = self.quads_min == u64::MAX;
        let bytes = changed.saturating_mul(DELTA_QUAD_BYTES);
        let is_quick = store.rewrite_micros() <= self.times_delta_max * delta_micros(changed);
        let is_cheaper = self.is_due(changed, store.quads) && is_quick;
        !is_never && (is_cheaper || bytes > self.memory_bytes)
    }

    /// How to rewrite a state in the background.
    pub(crate) fn load_options(&self, state: &Snapshot, cancel: CancelFlag) -> LoadOptions {
        let threads = match self.threads {
            0 => (core_count() / 4).max(1),
            given => given,
        };
        self.options_for(threads, state, cancel)
    }

    /// How to write a state as the commit of a transaction: writers wait for that, so with all cores.
    pub(crate) fn replace_options(&self, state: &Snapshot, cancel: CancelFlag) -> LoadOptions {
        self.options_for(core_count(), state, cancel)
    }

    fn options_for(&self, threads: usize, state: &Snapshot, cancel: CancelFlag) -> LoadOptions {
        let dictionary = state.dictionary();
        let terms = dictionary.resource_count() + dictionary.literal_count();
        let memory = self
            .memory_bytes
            .max(LoadOptions::memory_min(threads, terms));
        LoadOptions {
            threads,
            memory: Some(memory),
            cancel,
            ..LoadOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_is_due_by_share_by_number_by_log_and_by_terms() {
        let policy = MergePolicy::default();
        assert!(!policy.is_due(200_000, 0));
        assert!(policy.is_due(200_001, 0));
        assert!(!policy.is_due(1_000_000, 10_000_000));
        assert!(policy.is_due(1_000_001, 10_000_000));
        assert!(policy.is_log_due(policy.log_bytes_max + 1, u64::MAX));
        assert!(!policy.is_log_due(policy.log_bytes_min, 0));
        assert!(policy.is_log_due(policy.log_bytes_min + 1, 0));
        assert!(!policy.is_log_due(50 << 20, 100 << 20));
        assert!(policy.is_log_due((50 << 20) + 1, 100 << 20));
        assert!(!MergePolicy::NEVER.is_due(u64::MAX, 0));
        assert!(!MergePolicy::NEVER.is_log_due(u64::MAX, 0));
        assert!(!policy.are_terms_due(policy.memory_bytes / 4));
        assert!(policy.are_terms_due(policy.memory_bytes / 4 + 1));
        assert!(!MergePolicy::NEVER.are_terms_due(u64::MAX));
    }

    #[test]
    fn a_merge_is_behind_by_log_and_by_terms() {
        let policy = MergePolicy::default();
        // Of a small store, of one whose log may have half of its bytes, of a large one.
        for (version, log_max) in [
            (1 << 20, 32 << 20),
            (100 << 20, 200 << 20),
            (1 << 40, 1 << 30),
        ] {
            assert!(!policy.is_behind(log_max, version, 0), "{version}");
            assert!(policy.is_behind(log_max + 1, version, 0), "{version}");
        }
        assert!(!policy.is_behind(0, 0, policy.memory_bytes / 2));
        assert!(policy.is_behind(0, 0, policy.memory_bytes / 2 + 1));
        assert!(!MergePolicy::NEVER.is_behind(u64::MAX, u64::MAX, u64::MAX));
    }

    #[test]
    fn a_transaction_is_a_version_by_what_it_changes_itself() {
        let policy = MergePolicy::default();
        let store = |quads: u64, tables: usize| StoreSize {
            quads,
            bytes: 25 * quads,
            tables,
        };
        // Below that a merge in the background is due, but the transaction would wait long for its version.
        assert!(!policy.is_written_at_once(1_900_000, store(10_000_000, 8)));
        assert!(policy.is_written_at_once(2_100_000, store(10_000_000, 8)));
        // A thousand tables take longer to be written.
        assert!(!policy.is_written_at_once(2_000_000, store(4_000_000, 1_000)));
        assert!(policy.is_written_at_once(2_600_000, store(4_000_000, 1_000)));
        // The delta would take more memory than the merge may.
        assert!(!policy.is_written_at_once(8_000_000, store(1_000_000_000, 8)));
        assert!(policy.is_written_at_once(8_300_000, store(1_000_000_000, 8)));
        assert!(!MergePolicy::NEVER.is_written_at_once(u64::MAX, store(0, 0)));
    }

    #[test]
    fn a_merge_has_a_bounded_share_of_the_machine() {
        let options = |policy: MergePolicy| {
            let options = policy.load_options(&Snapshot::empty(), CancelFlag::default());
            (options.threads, options.memory)
        };
        let (threads, memory) = options(MergePolicy::default());
        let cores = core_count();
        assert!(1 <= threads && threads <= cores.div_ceil(4));
        assert_eq!(memory, Some(1 << 30));
        let small = MergePolicy {
            threads: 3,
            memory_bytes: 1,
            ..MergePolicy::default()
        };
        let minimum = LoadOptions::memory_min(3, 0);
        assert_eq!(options(small), (3, Some(minimum)), "what works at all");
    }
}
