//! `QuadSet`: quads that an operation removes or adds, each once, as many as there are.
//!
//! ```text
//! insert -> held, sorted and freed of repeats whenever it is full | no more memory: a run in a temporary file
//! finish -> in order: in memory, or the runs merged into one file
//! ```
//!
//! A set holds at most its share of the request's memory ([`SetLimits`]), and takes less where the request has no more; from then
//! on its quads go to a file in runs. So the size of an update is bounded by the disk and not by memory.
//!
//! Invariant: memory is asked for before it is taken. Cost: 32 bytes for each quad while it is held, and sorting, once for each
//! time that the set doubles; of a set in files 64 bytes written and read for each.

use super::sorted_quads::{QuadFile, SortedQuads, merge_runs};
use crate::error::Error;
use basalt_store::QuadIds;
use std::path::PathBuf;

/// Bytes of a quad in memory.
pub(super) const QUAD_BYTES: usize = size_of::<QuadIds>();
/// Places that a set begins with.
const QUADS_MIN: usize = 64;
/// The part of a request's memory that one set may hold: an operation has up to three, beside its query.
const SHARES: usize = 8;
/// Quads of a run at least, however small the memory: each run needs a buffer when they are merged.
const RUN_QUADS_MIN: usize = 1 << 10;

/// How much a set may hold, and where the rest goes.
#[derive(Clone, Debug, Default)]
pub(super) struct SetLimits {
    /// Quads held in memory.
    pub(super) held_max: usize,
    /// The folder of temporary files; `None` for that of the system.
    pub(super) temp: Option<PathBuf>,
}

impl SetLimits {
    /// The limits of a request with so much memory.
    pub(super) fn of(memory_bytes: usize, temp: Option<PathBuf>) -> Self {
        let held_max = memory_bytes / SHARES / QUAD_BYTES;
        Self {
            held_max: held_max.max(RUN_QUADS_MIN),
            temp,
        }
    }
}

/// A set of quads.
#[derive(Debug)]
pub(super) struct QuadSet {
    limits: SetLimits,
    held: Vec<QuadIds>,
    /// Sorted runs, each without repeats.
    runs: Vec<QuadFile>,
}

impl QuadSet {
    /// An empty set.
    pub(super) fn new(limits: SetLimits) -> Self {
        Self {
            limits,
            held: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Adds a quad; `reserve` is asked for more memory where it is needed, and may refuse.
    pub(super) fn insert<E: Into<Error>>(
        &mut self,
        quad: QuadIds,
        reserve: impl FnOnce(usize) -> Result<(), E>,
    ) -> Result<(), Error> {
        if self.held.len() == self.held.capacity() {
            self.make_room(reserve)?;
        }
        self.held.push(quad);
        Ok(())
    }

    fn make_room<E: Into<Error>>(
        &mut self,
        reserve: impl FnOnce(usize) -> Result<(), E>,
    ) -> Result<(), Error> {
        self.sort();
        let (len, capacity) = (self.held.len(), self.held.capacity());
        if len < capacity / 2 {
            return Ok(());
        }
        let room = self.limits.held_max.saturating_sub(capacity);
        let more = capacity.max(QUADS_MIN).min(room);
        let granted = match more {
            0 => None,
            more => Some(reserve(more * QUAD_BYTES)),
        };
        match granted {
            Some(Ok(())) => self.held.reserve_exact(capacity + more - len),
            // Nothing can be done with so little.
            Some(Err(error)) if capacity < RUN_QUADS_MIN => return Err(error.into()),
            _ => self.end_run()?,
        }
        Ok(())
    }

    fn sort(&mut self) {
        self.held.sort_unstable();
        self.held.dedup();
    }

    fn end_run(&mut self) -> Result<(), Error> {
        let run = QuadFile::write(
            self.limits.temp.as_deref(),
            self.held.iter().copied().map(Ok),
        )?;
        self.runs.push(run);
        self.held.clear();
        Ok(())
    }

    /// The quads in order, so that the same update makes the same record.
    pub(super) fn finish(mut self) -> Result<SortedQuads, Error> {
        self.sort();
        if self.runs.is_empty() {
            return Ok(SortedQuads::held(self.held));
        }
        if !self.held.is_empty() {
            self.end_run()?;
        }
        self.held = Vec::new();
        let merged = match self.runs.len() {
            1 => self.runs.pop(),
            _ => None,
        };
        Ok(SortedQuads::of_file(match merged {
            Some(only) => only,
            None => merge_runs(self.runs, self.limits.temp.as_deref())?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use basalt_rdf::TermId;
    use basalt_testkit::split_mix::SplitMix;
    use std::collections::BTreeSet;

    fn quad(number: usize) -> QuadIds {
        let id = |n: usize| TermId::resource(n as u64);
        QuadIds {
            subject: id(number / 7),
            predicate: id(number % 7),
            object: id(number * 31 % 11),
            graph: TermId::DEFAULT_GRAPH,
        }
    }

    /// A set of quads with many repeats, in the folder, and what it should hold.
    fn set(limits: SetLimits, memory: usize) -> (Result<SortedQuads, Error>, BTreeSet<QuadIds>) {
        let mut random = SplitMix::new(7);
        let mut set = QuadSet::new(limits);
        let mut expected = BTreeSet::new();
        let mut left = memory;
        for _ in 0..60_000 {
            let quad = quad(random.below(40_000));
            expected.insert(quad);
            let added = set.insert(quad, |bytes| {
                left = left.checked_sub(bytes).ok_or(Error::Cancelled)?;
                Ok::<(), Error>(())
            });
            if let Err(error) = added {
                return (Err(error), expected);
            }
        }
        (set.finish(), expected)
    }

    #[test]
    fn sets_in_memory_and_in_files_hold_the_same() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (held_max, memory, in_file) in [
            (usize::MAX, usize::MAX, false),
            (RUN_QUADS_MIN, usize::MAX, true),
            (20_000, usize::MAX, true),
            (usize::MAX, 5_000 * QUAD_BYTES, true),
        ] {
            let temp = Some(folder.path().to_path_buf());
            let (sorted, expected) = set(SetLimits { held_max, temp }, memory);
            let mut sorted = sorted.expect("there is room on the disk");
            assert_eq!(sorted.is_in_file(), in_file);
            assert_eq!(sorted.len(), expected.len() as u64);
            let mut found = Vec::new();
            let visited = sorted.visit(&mut |quad| {
                found.push(quad);
                Ok(())
            });
            visited.expect("it can be read");
            assert!(found.iter().eq(&expected));
            // In order, as a rewrite asks, and in any order.
            let mut random = SplitMix::new(9);
            let ordered = (0..41_000).map(quad);
            let any = (0..3_000).map(|_| quad(random.below(41_000)));
            for quad in ordered.chain(any).collect::<Vec<_>>() {
                let is_in = sorted.contains(&quad).expect("it can be read");
                assert_eq!(is_in, expected.contains(&quad));
            }
            assert!(
                sorted
                    .into_vec()
                    .expect("it can be read")
                    .iter()
                    .eq(&expected)
            );
        }
        let left = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 0);
    }

    #[test]
    fn no_memory_at_all_is_an_error_and_so_is_no_folder() {
        let limits = SetLimits::of(1 << 20, None);
        assert!(matches!(set(limits, 10).0, Err(Error::Cancelled)));
        let temp = Some(PathBuf::from("/no/such/folder"));
        let limits = SetLimits::of(1 << 20, temp);
        let error = set(limits, usize::MAX).0.expect_err("no folder");
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }
}
