//! The memory budget of one load.
//!
//! ```text
//! budget = reserve (blocks of text in flight, encoders, groups of literals: by threads)
//!        + hash index of terms           counted as its tables grow
//!        + text and quads                counted as they are kept; what does not fit is spilled
//! ```
//!
//! While the inputs are read, text and quads stay in memory until their sum with the index comes near the budget; from
//! then on text goes to files, as much as does not fit, and if that is not enough all quads do. Afterwards the sizes of everything
//! are known: text makes room for grouping, and the stages ask what is left for them. When the index outgrows its share, parts of it
//! are spilled too. What cannot be are the numbers of terms that later stages keep: if those do not fit the load ends with an error,
//! as soon as that is certain.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::SpillFolder;
use crate::cancel::CancelFlag;
use crate::error::LoadError;
use crate::grouped::QUAD_BYTES;
use crate::options::SpillSettings;

const MIB: u64 = 1 << 20;
/// What a load needs whatever its size: code, buffers of the store's writers, columns of a batch of segments.
const RESERVE_BYTES: u64 = 56 * MIB;
/// What each thread needs: blocks of text (4 MiB each) that are read, parsed and recycled, quads of a
/// block, groups of literals on their way through compression.
const THREAD_BYTES: u64 = 24 * MIB;
/// Bytes of a quad that is put to its subject.
const GROUPED_QUAD_BYTES: u64 = QUAD_BYTES as u64;
/// The least that is left for the data.
const DATA_BYTES_MIN: u64 = 64 * MIB;

/// Counts the large things of a load and knows the limits.
#[derive(Debug)]
pub(crate) struct LoadMemory {
    /// Bytes for everything but the reserve.
    data_limit: u64,
    /// The budget as given, for messages.
    budget: u64,
    /// Worker threads.
    threads: usize,
    /// Bytes of text and quads in memory.
    held: AtomicU64,
    /// Bytes of the hash index.
    index: AtomicU64,
    spilling: AtomicBool,
    /// The most that was counted.
    #[cfg(test)]
    pub peak: AtomicU64,
    /// Every stage has the budget at hand, so who cancels the load is told here.
    cancel: CancelFlag,
    /// Sizes that tests make small.
    pub settings: SpillSettings,
    /// Where temporary files go.
    pub folder: Arc<SpillFolder>,
}

impl LoadMemory {
    /// The budget of a load with so many threads; `None` is three quarters of the memory available.
    pub(crate) fn new(
        budget: Option<u64>,
        threads: usize,
        folder: PathBuf,
        settings: SpillSettings,
    ) -> Result<Self, LoadError> {
        let reserve = RESERVE_BYTES + THREAD_BYTES * threads as u64;
        let minimum = Self::minimum(threads, 0);
        let budget = match budget {
            Some(given) if given < minimum => {
                return Err(LoadError::MemoryTooSmall {
                    budget: given.div_ceil(MIB),
                    minimum: minimum.div_ceil(MIB),
                });
            }
            Some(given) => given,
            None => default_budget().max(minimum),
        };
        Ok(Self {
            data_limit: budget - reserve,
            budget,
            threads,
            held: AtomicU64::new(0),
            index: AtomicU64::new(0),
            spilling: AtomicBool::new(false),
            #[cfg(test)]
            peak: AtomicU64::new(0),
            cancel: CancelFlag::default(),
            settings,
            folder: Arc::new(SpillFolder::new(folder)),
        })
    }

    /// The least budget of a load with so many threads and distinct terms. Numbers of terms
    /// stay in memory; with this much the index of terms, up to 60 bytes a term while it grows, stays there too.
    pub(crate) fn minimum(threads: usize, terms: u64) -> u64 {
        const TERM_BYTES: u64 = 128;
        let data = DATA_BYTES_MIN.max(TERM_BYTES.saturating_mul(terms));
        (RESERVE_BYTES + THREAD_BYTES * threads as u64).saturating_add(data)
    }

    /// The budget of a load that this flag cancels.
    pub(crate) fn cancelled_by(self, cancel: CancelFlag) -> Self {
        Self { cancel, ..self }
    }

    /// Does two things, at the same time if there are threads for that.
    pub(crate) fn join<A, B: Send>(
        &self,
        first: impl FnOnce() -> A,
        second: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        if self.threads < 2 {
            return (first(), second());
        }
        std::thread::scope(|scope| {
            let second = scope.spawn(second);
            let first = first();
            match second.join() {
                Ok(second) => (first, second),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Fails if the load was cancelled.
    #[inline]
    pub(crate) fn go_on(&self) -> Result<(), LoadError> {
        self.cancel.go_on()
    }

    /// A budget that is never reached.
    #[cfg(test)]
    pub(crate) fn unlimited() -> Self {
        Self::new(
            Some(u64::MAX / 4),
            1,
            std::env::temp_dir(),
            SpillSettings::default(),
        )
        .expect("the budget is large")
    }

    /// Counts text or quads that are kept in memory.
    pub(crate) fn hold(&self, bytes: usize) {
        self.held.fetch_add(bytes as u64, Ordering::Relaxed);
        if self.is_nearly_full() {
            self.begin_to_spill();
        }
        self.note_peak();
    }

    /// Counts what was put in memory after the inputs were read.
    pub(crate) fn keep(&self, bytes: usize) {
        self.held.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts what was freed.
    pub(crate) fn release(&self, bytes: usize) {
        self.held.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    /// Counts the growth of a part of the index by its new size, the old one being freed.
    pub(crate) fn grow_index(&self, old: usize, new: usize) {
        self.index.fetch_add((new - old) as u64, Ordering::Relaxed);
        self.note_peak();
    }

    /// Counts a part of the index that leaves memory.
    pub(crate) fn shrink_index(&self, bytes: usize) {
        self.index.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    /// Whether parts of the index are to leave memory.
    #[inline]
    pub(crate) fn is_index_over(&self) -> bool {
        // A quarter remains for text on its way to files, and for merging.
        let limit = self.settings.index_bytes.unwrap_or(self.data_limit / 4 * 3);
        limit < self.index_bytes()
    }

    /// Notes that not everything fits: from now on text goes to files, as much as has no room.
    pub(crate) fn begin_to_spill(&self) {
        self.spilling.store(true, Ordering::Relaxed);
    }

    /// Checks that numbers of terms and subjects, of so many bytes, fit.
    pub(crate) fn check_numbers(&self, bytes: u64) -> Result<(), LoadError> {
        // An eighth remains for buffers, beside what every load needs.
        let limit = self
            .settings
            .number_bytes
            .unwrap_or(self.data_limit / 8 * 7);
        if limit < bytes {
            return Err(LoadError::MemoryForTerms {
                budget: self.budget.div_ceil(MIB),
            });
        }
        Ok(())
    }

    fn note_peak(&self) {
        #[cfg(test)]
        {
            let now = self.held.load(Ordering::Relaxed) + self.index_bytes();
            self.peak.fetch_max(now, Ordering::Relaxed);
        }
    }

    /// What the index takes: tables that were outgrown leave holes that are not used up at once.
    fn index_bytes(&self) -> u64 {
        self.index.load(Ordering::Relaxed) / 4 * 5
    }

    /// Whether text may go to files.
    #[inline]
    pub(crate) fn is_spilling(&self) -> bool {
        self.spilling.load(Ordering::Relaxed)
    }

    /// Whether text, quads and index take nearly all that they may, so that text is to make room.
    pub(crate) fn is_nearly_full(&self) -> bool {
        self.parse_limit() / 8 * 7 < self.held.load(Ordering::Relaxed) + self.index_bytes()
    }

    /// Whether text, quads and index take more than they may, though text has made room.
    pub(crate) fn is_full(&self) -> bool {
        self.parse_limit() < self.held.load(Ordering::Relaxed) + self.index_bytes()
    }

    fn parse_limit(&self) -> u64 {
        self.settings.parse_bytes.unwrap_or(self.data_limit)
    }

    /// What text, quads and numbers may take from grouping on.
    pub(crate) fn limit_of_groups(&self) -> u64 {
        self.settings.group_bytes.unwrap_or(self.data_limit)
    }

    /// Whether so many bytes, which are not counted, fit besides text and quads when the index is gone.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.held.load(Ordering::Relaxed) + bytes <= self.limit_of_groups()
    }

    /// Bytes that text has to leave free for grouping, when not everything fits: those of all grouped quads, if they
    /// fit where no text is, else a quarter for windows. `held` are the bytes of parsed quads in memory, `resident`
    /// those of numbers.
    pub(crate) fn room_for_groups(&self, quads: u64, held: u64, resident: u64) -> u64 {
        let all = resident + GROUPED_QUAD_BYTES * quads + self.data_limit / 16;
        match held + all <= self.limit_of_groups() {
            true => all,
            false => resident + self.data_limit / 4,
        }
    }

    /// Decides, when all inputs were read, whether grouping can be done without files; else text makes room
    /// for it. `quads` were read, `extra` bytes are needed besides text and quads.
    pub(crate) fn decide(&self, quads: u64, extra: u64) {
        if !self.fits(quads, extra) {
            self.begin_to_spill();
        }
    }

    /// Whether nothing was spilled, and grouping so many quads with so many bytes besides needs no files.
    pub(crate) fn fits(&self, quads: u64, extra: u64) -> bool {
        // A quad is put to its subject when the index is gone: see the sketch in docs/life-of-a-load.md.
        let later = (GROUPED_QUAD_BYTES * quads).max(self.index_bytes());
        !self.is_spilling() && self.has_room(later + extra)
    }

    /// Bytes for buffers of one stage when `resident` bytes are taken besides text and quads.
    pub(crate) fn left(&self, resident: u64) -> usize {
        let taken = resident + self.index_bytes() + self.held.load(Ordering::Relaxed);
        let left = self
            .data_limit
            .saturating_sub(taken)
            .max(DATA_BYTES_MIN / 2);
        usize::try_from(left).unwrap_or(usize::MAX)
    }
}

/// Three quarters of what the system has available; as good as unlimited where it does not say.
fn default_budget() -> u64 {
    available_bytes().map_or(u64::MAX / 4, |bytes| bytes / 4 * 3)
}

/// Bytes of memory that the system has available, as far as it says so.
pub fn available_bytes() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|t| {
        let line = t.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib * 1024)
    });
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max");
    let group = group.ok().and_then(|t| t.trim().parse::<u64>().ok());
    machine.into_iter().chain(group).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_too_small_to_work_is_refused_with_what_to_give() {
        let new = |budget| LoadMemory::new(budget, 2, PathBuf::new(), SpillSettings::default());
        let error = new(Some(100 * MIB)).expect_err("too small").to_string();
        assert!(
            error.contains("100 MiB") && error.contains("168 MiB"),
            "{error}"
        );
        assert!(new(Some(168 * MIB)).is_ok());
        assert!(new(None).is_ok());
    }

    #[test]
    fn spilling_begins_when_the_sum_comes_near_the_budget() {
        let memory = LoadMemory::new(Some(268 * MIB), 2, PathBuf::new(), SpillSettings::default());
        let memory = memory.expect("large enough");
        memory.hold(80 << 20);
        memory.grow_index(0, 40 << 20);
        assert!(!memory.is_spilling() && !memory.is_index_over());
        memory.hold(20 << 20);
        assert!(memory.is_spilling() && memory.is_nearly_full() && !memory.is_full());
        memory.hold(20 << 20);
        assert!(memory.is_full());
        memory.release(60 << 20);
        assert!(memory.is_spilling() && !memory.is_nearly_full());
        assert!(memory.has_room(104 * MIB) && !memory.has_room(105 * MIB));
        // What grouping wants: all quads, or where that is too much a quarter.
        assert_eq!(
            memory.room_for_groups(1 << 20, MIB, MIB),
            27 * MIB + MIB / 4
        );
        assert_eq!(memory.room_for_groups(16 << 20, MIB, MIB), 42 * MIB);
        memory.grow_index(40 << 20, 120 << 20);
        assert!(memory.is_index_over());
        memory.shrink_index(60 << 20);
        assert!(!memory.is_index_over());
        assert!(memory.check_numbers(130 << 20).is_ok());
        let error = memory.check_numbers(150 << 20).expect_err("too much");
        assert!(error.to_string().contains("268 MiB"), "{error}");
    }
}
