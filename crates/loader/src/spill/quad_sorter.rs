//! External sort of irregular quads: sorted runs in a file, merged with a heap.
//!
//! Equal keys stay in the order in which they were pushed: runs are sorted stably and ties go to the earlier
//! run. Memory: the quads of one run while pushing, a read buffer for each run while merging.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use basalt_rdf::TermId;
use basalt_store::QuadIds;

use super::{BucketReader, Extent, SpillFile, SpillFolder};
use crate::error::LoadError;

/// Bytes of a quad in a run.
const QUAD_BYTES: usize = 32;
/// Bytes written at a time.
const PIECE_BYTES: usize = 1 << 18;

/// The orders that a load needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SortOrder {
    /// By predicate and subject: the order in which terms are numbered.
    Use,
    /// By predicate, subject, object, graph.
    Psog,
    /// By predicate, object, subject, graph.
    Posg,
}

impl SortOrder {
    #[inline]
    fn key(self, q: &QuadIds) -> [TermId; 4] {
        match self {
            Self::Use => [q.predicate, q.subject, TermId::UNBOUND, TermId::UNBOUND],
            Self::Psog => [q.predicate, q.subject, q.object, q.graph],
            Self::Posg => [q.predicate, q.object, q.subject, q.graph],
        }
    }
}

/// Collects quads to be sorted.
pub(crate) struct QuadSorter {
    folder: Arc<SpillFolder>,
    order: SortOrder,
    /// Quads of the run to be.
    held: Vec<QuadIds>,
    held_max: usize,
    /// Made with the first run.
    file: Option<SpillFile>,
    runs: Vec<Vec<Extent>>,
    count: u64,
}

impl QuadSorter {
    /// A sorter that keeps at most `held_max` quads in memory.
    pub(crate) fn new(folder: &Arc<SpillFolder>, order: SortOrder, held_max: usize) -> Self {
        Self {
            folder: Arc::clone(folder),
            order,
            held: Vec::new(),
            held_max: held_max.max(1),
            file: None,
            runs: Vec::new(),
            count: 0,
        }
    }

    /// Quads so far.
    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    /// Adds a quad.
    pub(crate) fn push(&mut self, quad: QuadIds) -> Result<(), LoadError> {
        if self.held.len() >= self.held_max {
            self.end_run()?;
        }
        self.held.push(quad);
        self.count += 1;
        Ok(())
    }

    /// Adds quads and leaves their vector empty.
    pub(crate) fn append(&mut self, quads: &mut Vec<QuadIds>) -> Result<(), LoadError> {
        self.count += quads.len() as u64;
        if self.held.len() + quads.len() > self.held_max && !self.held.is_empty() {
            self.end_run()?;
        }
        self.held.append(quads);
        Ok(())
    }

    fn end_run(&mut self) -> Result<(), LoadError> {
        let order = self.order;
        self.held.sort_by_key(|q| order.key(q));
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(SpillFile::create(&self.folder)?),
        };
        let mut run = Vec::new();
        let mut bytes = Vec::with_capacity(PIECE_BYTES);
        for part in self.held.chunks(PIECE_BYTES / QUAD_BYTES) {
            bytes.clear();
            for quad in part {
                for id in [quad.subject, quad.predicate, quad.object, quad.graph] {
                    bytes.extend_from_slice(&id.0.to_le_bytes());
                }
            }
            run.push(file.append(&bytes)?);
        }
        self.runs.push(run);
        self.held.clear();
        Ok(())
    }

    /// Whether no quad went to a file.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.file.is_none()
    }

    /// The quads in memory, unsorted, as they were pushed.
    pub(crate) fn into_held(self) -> Vec<QuadIds> {
        self.held
    }

    /// Ends pushing.
    pub(crate) fn finish(mut self) -> Result<SortedQuads, LoadError> {
        if !self.held.is_empty() || self.file.is_none() {
            self.end_run()?;
        }
        let file = self.file.take();
        Ok(SortedQuads {
            file: file.expect("ending a run makes the file"),
            order: self.order,
            runs: self.runs,
        })
    }
}

/// Sorted runs.
pub(crate) struct SortedQuads {
    file: SpillFile,
    order: SortOrder,
    runs: Vec<Vec<Extent>>,
}

impl SortedQuads {
    /// All quads in order.
    pub(crate) fn merge(&self) -> Result<Merge<'_>, LoadError> {
        let mut merge = Merge {
            order: self.order,
            runs: Vec::new(),
            heap: BinaryHeap::new(),
        };
        for pieces in &self.runs {
            merge.runs.push(RunReader {
                reader: BucketReader::of_pieces(&self.file, pieces),
                bytes: Vec::new(),
                at: 0,
                current: QuadIds {
                    subject: TermId::UNBOUND,
                    predicate: TermId::UNBOUND,
                    object: TermId::UNBOUND,
                    graph: TermId::UNBOUND,
                },
            });
            merge.advance(merge.runs.len() - 1)?;
        }
        Ok(merge)
    }
}

/// Reads one run.
struct RunReader<'s> {
    reader: BucketReader<'s>,
    bytes: Vec<u8>,
    at: usize,
    current: QuadIds,
}

impl RunReader<'_> {
    /// Makes the next quad the current one; `false` at the end.
    fn next(&mut self) -> Result<bool, LoadError> {
        if self.at == self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
            if self.reader.read(&mut self.bytes)? == 0 {
                return Ok(false);
            }
        }
        let record = &self.bytes[self.at..self.at + QUAD_BYTES];
        let id = |i: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&record[i * 8..i * 8 + 8]);
            TermId(u64::from_le_bytes(word))
        };
        self.current = QuadIds {
            subject: id(0),
            predicate: id(1),
            object: id(2),
            graph: id(3),
        };
        self.at += QUAD_BYTES;
        Ok(true)
    }
}

/// The quads of several runs in one order.
pub(crate) struct Merge<'s> {
    order: SortOrder,
    runs: Vec<RunReader<'s>>,
    /// Key of the current quad and index of each run that has one.
    heap: BinaryHeap<Reverse<([TermId; 4], usize)>>,
}

impl Merge<'_> {
    fn advance(&mut self, run: usize) -> Result<(), LoadError> {
        if self.runs[run].next()? {
            let key = self.order.key(&self.runs[run].current);
            self.heap.push(Reverse((key, run)));
        }
        Ok(())
    }
}

impl Iterator for Merge<'_> {
    type Item = Result<QuadIds, LoadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((_, run)) = self.heap.pop()?;
        let quad = self.runs[run].current;
        Some(self.advance(run).map(|()| quad))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quads() -> Vec<QuadIds> {
        let id = |n: u64| TermId::resource(n);
        (0..1_000u64)
            .map(|i| QuadIds {
                subject: id(i * 7919 % 31),
                predicate: id(i * 104_729 % 5),
                object: id(i * 31 % 97),
                graph: id(i % 3),
            })
            .collect()
    }

    #[test]
    fn runs_merge_to_a_stable_sort() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let folder = Arc::new(SpillFolder::new(dir.path().to_path_buf()));
        for order in [SortOrder::Use, SortOrder::Psog, SortOrder::Posg] {
            let mut expected = quads();
            expected.sort_by_key(|q| order.key(q));
            for held_max in [7, 300, 5_000] {
                let mut sorter = QuadSorter::new(&folder, order, held_max);
                let mut rest = quads().split_off(10);
                for quad in &quads()[..10] {
                    sorter.push(*quad).expect("pushed");
                }
                while !rest.is_empty() {
                    let after = rest.split_off(rest.len().min(90));
                    sorter.append(&mut rest).expect("appended");
                    rest = after;
                }
                assert_eq!(sorter.len(), 1_000);
                let sorted = sorter.finish().expect("finished");
                let merged: Result<Vec<_>, _> = sorted.merge().expect("merges").collect();
                assert!(merged.expect("read") == expected, "{order:?} {held_max}");
            }
        }
    }

    #[test]
    fn few_quads_need_no_file() {
        let folder = Arc::new(SpillFolder::new("/no/such/folder".into()));
        let mut sorter = QuadSorter::new(&folder, SortOrder::Use, 2_000);
        sorter.append(&mut quads()).expect("appended");
        assert!(sorter.is_in_memory());
        assert!(sorter.into_held() == quads());
    }
}
