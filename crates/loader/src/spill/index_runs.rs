//! Generations of the index of terms that left memory: runs in a file, sorted by hash.
//!
//! ```text
//! entry: hash u128 | number u32      20 bytes, as in memory
//! ```
//!
//! An index stands in the order of its hashes already, so writing one sorts nothing. When all inputs are read the
//! runs of a shard and what is left of its index in memory are merged: entries with the same hash are one term.
//!
//! Memory: a read buffer for each run of the shard that is merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{BucketReader, Extent, SpillFile};
use crate::error::LoadError;
use crate::term_index::{SLOT_BYTES, Slot, TermIndex};

/// Entries written and read at a time.
const PIECE_ENTRIES: usize = 1 << 13;

/// A generation in a file.
#[derive(Debug)]
pub(crate) struct IndexRun {
    pieces: Vec<Extent>,
}

impl IndexRun {
    /// Writes an index.
    pub(crate) fn write(file: &SpillFile, index: &TermIndex) -> Result<Self, LoadError> {
        let mut pieces = Vec::new();
        let mut bytes = Vec::with_capacity(PIECE_ENTRIES.min(index.len()) * SLOT_BYTES);
        for slot in index.iter() {
            bytes.extend_from_slice(&slot.record());
            if bytes.len() == PIECE_ENTRIES * SLOT_BYTES {
                pieces.push(file.append(&bytes)?);
                bytes.clear();
            }
        }
        if !bytes.is_empty() {
            pieces.push(file.append(&bytes)?);
        }
        Ok(Self { pieces })
    }
}

/// Merges runs and the index that is left, and visits every entry by hash and number: its hash, its number, and the
/// least number that the hash has.
pub(crate) fn merge_runs(
    file: &SpillFile,
    runs: &[IndexRun],
    rest: &TermIndex,
    visit: &mut dyn FnMut(u128, u32, u32),
) -> Result<(), LoadError> {
    let of_runs = runs
        .iter()
        .map(|run| Source::Run(RunReader::new(file, run)));
    let rest = Source::Rest(Box::new(rest.iter()));
    let mut sources: Vec<Source<'_>> = of_runs.chain([rest]).collect();
    let mut heap = BinaryHeap::with_capacity(sources.len());
    for (at, source) in sources.iter_mut().enumerate() {
        if let Some(slot) = source.next()? {
            heap.push(Reverse((slot.hash(), slot.number(), at)));
        }
    }
    let mut last = None;
    while let Some(mut top) = heap.peek_mut() {
        let Reverse((hash, number, at)) = *top;
        let first = match last {
            Some((before, first)) if before == hash => first,
            _ => number,
        };
        last = Some((hash, first));
        visit(hash, number, first);
        match sources[at].next()? {
            Some(slot) => *top = Reverse((slot.hash(), slot.number(), at)),
            None => drop(std::collections::binary_heap::PeekMut::pop(top)),
        }
    }
    Ok(())
}

/// Where entries come from, in the order of their hashes.
enum Source<'s> {
    Run(RunReader<'s>),
    Rest(Box<dyn Iterator<Item = Slot> + 's>),
}

impl Source<'_> {
    fn next(&mut self) -> Result<Option<Slot>, LoadError> {
        match self {
            Self::Run(run) => run.next(),
            Self::Rest(rest) => Ok(rest.next()),
        }
    }
}

/// Reads one run.
struct RunReader<'s> {
    reader: BucketReader<'s>,
    bytes: Vec<u8>,
    /// Where the next entry begins.
    at: usize,
}

impl<'s> RunReader<'s> {
    fn new(file: &'s SpillFile, run: &'s IndexRun) -> Self {
        Self {
            reader: BucketReader::of_pieces(file, &run.pieces),
            bytes: Vec::new(),
            at: 0,
        }
    }

    fn next(&mut self) -> Result<Option<Slot>, LoadError> {
        if self.at == self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
            if !self.reader.fill(SLOT_BYTES, &mut self.bytes)? {
                return Ok(None);
            }
            debug_assert!(self.bytes.len().is_multiple_of(SLOT_BYTES));
        }
        let slot = Slot::read(&self.bytes[self.at..self.at + SLOT_BYTES]);
        self.at += SLOT_BYTES;
        Ok(Some(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spill::SpillFolder;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    /// Numbers terms that are told by hashes, in so many generations; each is a run but the last.
    fn check(hashes: &[u128], generations: usize) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let folder = Arc::new(SpillFolder::new(dir.path().to_path_buf()));
        let file = SpillFile::create(&folder).expect("created");
        let mut expected: BTreeMap<u128, Vec<u32>> = BTreeMap::new();
        let mut runs = Vec::new();
        let mut index = TermIndex::new(0, 1);
        let mut next = 0;
        let width = hashes.len().div_ceil(generations).max(1);
        for generation in hashes.chunks(width) {
            runs.push(IndexRun::write(&file, &index).expect("written"));
            index = TermIndex::new(0, 1);
            for &hash in generation {
                if index.intern(hash, next) == next {
                    expected.entry(hash).or_default().push(next);
                    next += 1;
                }
            }
        }
        let mut found: BTreeMap<u128, Vec<u32>> = BTreeMap::new();
        let mut last = (0, 0);
        let merged = merge_runs(&file, &runs, &index, &mut |hash, number, first| {
            assert!(last <= (hash, number), "by hash and number");
            last = (hash, number);
            let numbers = found.entry(hash).or_default();
            numbers.push(number);
            assert_eq!(first, numbers[0]);
        });
        merged.expect("read");
        assert!(found == expected, "{generations}");
    }

    #[test]
    fn merged_runs_tell_which_numbers_are_of_one_term() {
        let spread = |i: u128| i.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        // Some terms come once, some in every generation, runs have one piece or several.
        let hashes: Vec<u128> = (0..40_000).map(|i| spread(i % 7 * i % 30_011)).collect();
        for generations in [1, 2, 3, 17] {
            check(&hashes, generations);
        }
        check(&hashes[..50], 50);
        check(&[], 1);
        check(&[5, 5, 5], 3);
    }
}
