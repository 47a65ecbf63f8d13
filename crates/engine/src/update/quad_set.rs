//! `QuadSet`: quads that an operation removes or adds, each once, as many as there are.
//!
//! ```text
//! insert -> held, sorted and freed of repeats whenever it is full | no more memory: a run in a temporary file
//! finish -> in order: in memory, or the runs merged into one file
//! ```
//!
//! A set holds at most its share of the request's memory ([`SetLimits`]), and takes less where the request has no more; from then
//! on its quads go to a file in runs. So the size of an update is bounded by the disk and not by memory. Whenever there are
//! [`RUNS_MAX`] runs the smaller ones become one.
//!
//! Invariants: memory is asked for before it is taken, but for the first [`RUN_QUADS_MIN`] quads; a set has at most [`RUNS_MAX`]
//! files, and one more while it merges. Cost: 32 bytes for each quad while it is held, and sorting, once for each time that the
//! set doubles; of a set in files 64 bytes written and read for each, and 64 more each time that its run is merged, which makes
//! the run at least twice as large, but for the largest of those merged.

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
/// Quads of a run at least, however small the memory: each run needs a buffer when they are merged. Every set may have so many.
const RUN_QUADS_MIN: usize = 1 << 10;
/// Bytes that every set may have without asking.
pub(super) const FREE_BYTES: usize = RUN_QUADS_MIN * QUAD_BYTES;
/// Runs of a set at most; each is an open file.
const RUNS_MAX: usize = 64;

/// The request that a set belongs to: its memory, and its time.
pub(super) trait Owner {
    /// Asks for more memory; whether there is so much.
    fn reserve(&mut self, bytes: usize) -> bool;
    /// Takes note of a quad that was handled; an error if the request has to end.
    fn tick(&mut self) -> Result<(), Error>;
}

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
    /// Bytes that were asked for.
    reserved: usize,
}

/// How many runs, of these sizes in ascending order, are merged: from the smallest on, as long as the next is no larger than
/// those before it together.
fn smaller_runs(sizes: &[u64]) -> usize {
    let mut together = 0u64;
    for (idx, size) in sizes.iter().enumerate() {
        if idx >= 2 && *size > together {
            return idx;
        }
        together = together.saturating_add(*size);
    }
    sizes.len()
}

impl QuadSet {
    /// An empty set.
    pub(super) fn new(limits: SetLimits) -> Self {
        Self {
            limits,
            held: Vec::new(),
            runs: Vec::new(),
            reserved: 0,
        }
    }

    /// Bytes that were asked for until now.
    pub(super) fn reserved(&self) -> usize {
        self.reserved
    }

    /// Adds a quad; the owner is asked for more memory where it is needed, and may refuse.
    pub(super) fn insert(&mut self, quad: QuadIds, owner: &mut dyn Owner) -> Result<(), Error> {
        if self.held.len() == self.held.capacity() {
            self.make_room(owner)?;
        }
        self.held.push(quad);
        Ok(())
    }

    fn make_room(&mut self, owner: &mut dyn Owner) -> Result<(), Error> {
        self.sort();
        let (len, capacity) = (self.held.len(), self.held.capacity());
        if len < capacity / 2 {
            return Ok(());
        }
        let room = self.limits.held_max.saturating_sub(capacity);
        let more = capacity.max(QUADS_MIN).min(room);
        let asked = match capacity + more <= RUN_QUADS_MIN {
            true => 0,
            false => more * QUAD_BYTES,
        };
        if more == 0 || (asked > 0 && !owner.reserve(asked)) {
            return self.end_run(owner);
        }
        self.reserved += asked;
        self.held.reserve_exact(capacity + more - len);
        Ok(())
    }

    fn sort(&mut self) {
        self.held.sort_unstable();
        self.held.dedup();
    }

    fn end_run(&mut self, owner: &mut dyn Owner) -> Result<(), Error> {
        let quads = self.held.iter().copied().map(Ok);
        let run = QuadFile::write(self.limits.temp.as_deref(), quads, owner)?;
        self.runs.push(run);
        self.held.clear();
        if self.runs.len() == RUNS_MAX {
            self.merge_smaller_runs(owner)?;
        }
        Ok(())
    }

    fn merge_smaller_runs(&mut self, owner: &mut dyn Owner) -> Result<(), Error> {
        self.runs.sort_by_key(QuadFile::len);
        let sizes: Vec<u64> = self.runs.iter().map(QuadFile::len).collect();
        let larger = self.runs.split_off(smaller_runs(&sizes));
        let smaller = std::mem::replace(&mut self.runs, larger);
        let merged = merge_runs(smaller, self.limits.temp.as_deref(), owner)?;
        self.runs.push(merged);
        Ok(())
    }

    /// The quads in order, so that the same update makes the same record.
    pub(super) fn finish(mut self, owner: &mut dyn Owner) -> Result<SortedQuads, Error> {
        self.sort();
        if self.runs.is_empty() {
            return Ok(SortedQuads::held(self.held).with_reserved(self.reserved));
        }
        if !self.held.is_empty() {
            self.end_run(owner)?;
        }
        self.held = Vec::new();
        let merged = match self.runs.len() {
            1 => self.runs.pop(),
            _ => None,
        };
        let file = match merged {
            Some(only) => only,
            None => merge_runs(self.runs, self.limits.temp.as_deref(), owner)?,
        };
        Ok(SortedQuads::of_file(file).with_reserved(self.reserved))
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

    /// A request with so much memory, that ends after so many quads.
    struct Request {
        memory: usize,
        ticks: usize,
    }

    impl Owner for Request {
        fn reserve(&mut self, bytes: usize) -> bool {
            let left = self.memory.checked_sub(bytes);
            self.memory = left.unwrap_or(self.memory);
            left.is_some()
        }

        fn tick(&mut self) -> Result<(), Error> {
            self.ticks = self.ticks.checked_sub(1).ok_or(Error::Cancelled)?;
            Ok(())
        }
    }

    const NO_END: usize = usize::MAX;

    /// A set of quads with many repeats, in the folder, and what it should hold.
    fn set(limits: SetLimits, memory: usize) -> (Result<SortedQuads, Error>, BTreeSet<QuadIds>) {
        let mut random = SplitMix::new(7);
        let mut set = QuadSet::new(limits);
        let mut expected = BTreeSet::new();
        let mut request = Request {
            memory,
            ticks: NO_END,
        };
        for _ in 0..60_000 {
            let quad = quad(random.below(40_000));
            expected.insert(quad);
            if let Err(error) = set.insert(quad, &mut request) {
                return (Err(error), expected);
            }
        }
        let reserved = set.reserved();
        assert_eq!(reserved, memory - request.memory);
        let sorted = set.finish(&mut request);
        if let Ok(sorted) = &sorted {
            assert_eq!(sorted.reserved(), reserved);
        }
        (sorted, expected)
    }

    #[test]
    fn sets_in_memory_and_in_files_hold_the_same() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (held_max, memory, in_file) in [
            (usize::MAX, usize::MAX, false),
            (RUN_QUADS_MIN, usize::MAX, true),
            (20_000, usize::MAX, true),
            (usize::MAX, 5_000 * QUAD_BYTES, true),
            // The first quads need no memory of the request.
            (usize::MAX, 0, true),
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
            let mut request = Request {
                memory,
                ticks: NO_END,
            };
            let all = sorted.into_vec(&mut request).expect("it can be read");
            assert!(all.iter().eq(&expected));
        }
        let left = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 0);
    }

    #[test]
    fn many_more_runs_than_files_hold_the_same() {
        let mut set = QuadSet::new(SetLimits::of(0, None));
        let mut request = Request {
            memory: 0,
            ticks: NO_END,
        };
        let count = RUN_QUADS_MIN * RUNS_MAX * 3 + 5;
        // Each twice, far from each other.
        for number in (0..count).chain((0..count).rev().step_by(2)) {
            let put = set.insert(quad(number), &mut request);
            put.expect("there is room on the disk");
            assert!(set.runs.len() < RUNS_MAX);
        }
        let expected: BTreeSet<QuadIds> = (0..count).map(quad).collect();
        let sorted = set.finish(&mut request).expect("there is room on the disk");
        assert!(sorted.is_in_file());
        let all = sorted.into_vec(&mut request).expect("it can be read");
        assert!(all.iter().eq(&expected));
    }

    #[test]
    fn a_run_is_merged_seldom_however_many_there_are() {
        let (mut runs, mut merged) = (Vec::new(), 0);
        let count = 100_000;
        for _ in 0..count {
            runs.extend([1]);
            if runs.len() == RUNS_MAX {
                runs.sort_unstable();
                let larger = runs.split_off(smaller_runs(&runs));
                let size: u64 = runs.iter().sum();
                assert!(runs.len() > 1);
                merged += size;
                runs = larger;
                runs.push(size);
            }
        }
        assert!(runs.len() < RUNS_MAX && runs.iter().sum::<u64>() == count);
        assert!(merged < 6 * count, "{merged}");
    }

    #[test]
    fn the_end_of_the_request_is_seen_in_every_pass_over_the_quads() {
        let fill = |request: &mut Request| {
            let mut set = QuadSet::new(SetLimits::of(0, None));
            for number in 0..RUN_QUADS_MIN * 3 {
                let put = set.insert(quad(number), request);
                put.expect("it goes on");
            }
            set
        };
        let request = || Request {
            memory: 0,
            ticks: NO_END,
        };
        let mut ending = request();
        let set = fill(&mut ending);
        assert_eq!(set.runs.len(), 2);
        // Writing the last run is done, merging them is not.
        ending.ticks = RUN_QUADS_MIN * 2;
        assert!(matches!(set.finish(&mut ending), Err(Error::Cancelled)));
        let mut going_on = request();
        let sorted = fill(&mut going_on).finish(&mut going_on);
        let sorted = sorted.expect("there is room on the disk");
        ending.ticks = RUN_QUADS_MIN;
        let all = sorted.into_vec(&mut ending);
        assert!(matches!(all, Err(Error::Cancelled)));
    }

    #[test]
    fn no_folder_is_an_error() {
        let temp = Some(PathBuf::from("/no/such/folder"));
        let limits = SetLimits::of(1 << 20, temp);
        let error = set(limits, usize::MAX).0.expect_err("no folder");
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }
}
