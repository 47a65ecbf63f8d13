//! `SortedQuads`: distinct quads in order, in memory or in a temporary file, to be visited and to be looked up.
//!
//! ```text
//! file:   | block of 4,096 quads, 32 bytes each | block | ... | last block |      in memory: the first quad of each block
//! ```
//!
//! A look-up finds the block among the first quads and reads it, if it is not the one that was read last. Rewriting a store asks for
//! quads by table and predicate, subjects ascending, so each pass over a predicate reads each block at most once.
//!
//! Invariants: quads ascend without repeats; the space of a file is given back when it is dropped, even by a kill. Memory of a set in a file: a block, and 32 bytes for each block.

use super::quad_set::{Owner, QUAD_BYTES};
use crate::error::Error;
use basalt_rdf::TermId;
use basalt_store::{QuadIds, TemporaryFile, TemporaryFileError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

/// Quads of a block.
const BLOCK_QUADS: usize = 1 << 12;
/// Quads read at once from each of the runs that are merged.
const MERGED_BLOCK_QUADS: usize = 1 << 9;

/// Quads in a temporary file; the first of each block in memory.
#[derive(Debug)]
pub(super) struct QuadFile {
    file: TemporaryFile,
    quads: u64,
    firsts: Vec<QuadIds>,
}

fn failed(error: TemporaryFileError) -> Error {
    Error::Limit(error.to_string())
}

fn put(quad: &QuadIds, bytes: &mut Vec<u8>) {
    for id in [quad.subject, quad.predicate, quad.object, quad.graph] {
        bytes.extend_from_slice(&id.0.to_le_bytes());
    }
}

fn take(bytes: &[u8]) -> QuadIds {
    let id = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at * 8..at * 8 + 8]);
        TermId(u64::from_le_bytes(word))
    };
    QuadIds {
        subject: id(0),
        predicate: id(1),
        object: id(2),
        graph: id(3),
    }
}

impl QuadFile {
    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        self.quads
    }

    /// Writes quads, which ascend without repeats.
    pub(super) fn write(
        folder: Option<&Path>,
        quads: impl Iterator<Item = Result<QuadIds, Error>>,
        owner: &mut dyn Owner,
    ) -> Result<Self, Error> {
        let file = TemporaryFile::create(folder, "update").map_err(failed)?;
        let mut bytes = Vec::with_capacity(BLOCK_QUADS * QUAD_BYTES);
        let mut firsts = Vec::new();
        let mut count = 0;
        for quad in quads {
            let quad = quad?;
            owner.tick()?;
            if bytes.is_empty() {
                firsts.push(quad);
            }
            put(&quad, &mut bytes);
            count += 1;
            if bytes.len() == BLOCK_QUADS * QUAD_BYTES {
                file.append(&bytes).map_err(failed)?;
                bytes.clear();
            }
        }
        file.append(&bytes).map_err(failed)?;
        Ok(Self {
            file,
            quads: count,
            firsts,
        })
    }

    /// Reads so many quads, fewer at the end, from one on.
    fn read(&self, from: u64, count_max: usize, out: &mut Vec<QuadIds>) -> Result<(), Error> {
        out.clear();
        let count = (self.quads - from.min(self.quads)).min(count_max as u64) as usize;
        let mut bytes = vec![0; count * QUAD_BYTES];
        let offset = from * QUAD_BYTES as u64;
        self.file.read_at(offset, &mut bytes).map_err(failed)?;
        out.extend(bytes.chunks_exact(QUAD_BYTES).map(take));
        Ok(())
    }

    /// Its quads, so many read at a time.
    fn quads(&self, block_quads: usize) -> Quads<'_> {
        Quads {
            file: self,
            block_quads,
            next: 0,
            block: Vec::new(),
            at: 0,
        }
    }
}

/// Walks over the quads of a file.
struct Quads<'f> {
    file: &'f QuadFile,
    block_quads: usize,
    /// The number of the first quad after the block.
    next: u64,
    block: Vec<QuadIds>,
    at: usize,
}

impl Iterator for Quads<'_> {
    type Item = Result<QuadIds, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.block.len() {
            let read = self.file.read(self.next, self.block_quads, &mut self.block);
            if let Err(error) = read {
                return Some(Err(error));
            }
            self.next += self.block.len() as u64;
            self.at = 0;
        }
        let quad = self.block.get(self.at)?;
        self.at += 1;
        Some(Ok(*quad))
    }
}

/// Walks over the quads of several runs in order, each once.
struct Merged<'f> {
    runs: Vec<Quads<'f>>,
    /// The next quad of each run that has one.
    heap: BinaryHeap<Reverse<(QuadIds, usize)>>,
    last: Option<QuadIds>,
}

impl Merged<'_> {
    fn advance(&mut self, run: usize) -> Result<(), Error> {
        if let Some(quad) = self.runs[run].next() {
            self.heap.push(Reverse((quad?, run)));
        }
        Ok(())
    }
}

impl Iterator for Merged<'_> {
    type Item = Result<QuadIds, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Reverse((quad, run)) = self.heap.pop()?;
            if let Err(error) = self.advance(run) {
                return Some(Err(error));
            }
            if self.last.replace(quad) != Some(quad) {
                return Some(Ok(quad));
            }
        }
    }
}

/// Merges runs into one file.
pub(super) fn merge_runs(
    runs: Vec<QuadFile>,
    folder: Option<&Path>,
    owner: &mut dyn Owner,
) -> Result<QuadFile, Error> {
    let readers = runs.iter().map(|run| run.quads(MERGED_BLOCK_QUADS));
    let mut merged = Merged {
        runs: readers.collect(),
        heap: BinaryHeap::new(),
        last: None,
    };
    for run in 0..runs.len() {
        merged.advance(run)?;
    }
    QuadFile::write(folder, merged, owner)
}

/// See the [module documentation](self).
#[derive(Debug)]
pub(super) struct SortedQuads {
    place: Place,
    /// Of a file, the block that was read last; in memory the whole set.
    block: Vec<QuadIds>,
    /// Which block that is.
    block_idx: usize,
    /// Where the last look-up ended in the block.
    hint: usize,
    /// Bytes that the request has counted for it.
    reserved: usize,
}

#[derive(Debug)]
enum Place {
    Memory,
    File(QuadFile),
}

/// Quads near the place of the last look-up that are looked at first.
const NEAR_QUADS: usize = 64;

impl Default for SortedQuads {
    fn default() -> Self {
        Self::held(Vec::new())
    }
}

impl SortedQuads {
    /// Of quads that ascend without repeats.
    pub(super) fn held(quads: Vec<QuadIds>) -> Self {
        Self {
            place: Place::Memory,
            block: quads,
            block_idx: 0,
            hint: 0,
            reserved: 0,
        }
    }

    /// Of a file.
    pub(super) fn of_file(file: QuadFile) -> Self {
        Self {
            place: Place::File(file),
            block: Vec::new(),
            block_idx: usize::MAX,
            hint: 0,
            reserved: 0,
        }
    }

    /// The same, for which the request has counted so many bytes.
    pub(super) fn with_reserved(self, reserved: usize) -> Self {
        Self { reserved, ..self }
    }

    /// Bytes that the request has counted for it.
    pub(super) fn reserved(&self) -> usize {
        self.reserved
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        match &self.place {
            Place::Memory => self.block.len() as u64,
            Place::File(file) => file.quads,
        }
    }

    /// Bytes of memory that it holds, but for a block of a file.
    pub(super) fn held_bytes(&self) -> usize {
        match &self.place {
            Place::Memory => self.block.capacity() * QUAD_BYTES,
            Place::File(file) => file.firsts.len() * QUAD_BYTES,
        }
    }

    /// Whether they are in a file.
    #[cfg(test)]
    pub(super) fn is_in_file(&self) -> bool {
        matches!(self.place, Place::File(_))
    }

    /// Whether a quad is among them.
    pub(super) fn contains(&mut self, quad: &QuadIds) -> Result<bool, Error> {
        if let Place::File(file) = &self.place {
            let before = file.firsts.partition_point(|first| first <= quad);
            let Some(idx) = before.checked_sub(1) else {
                return Ok(false);
            };
            if idx != self.block_idx {
                let from = (idx * BLOCK_QUADS) as u64;
                file.read(from, BLOCK_QUADS, &mut self.block)?;
                self.block_idx = idx;
                self.hint = 0;
            }
        }
        let near = self.hint..(self.hint + NEAR_QUADS).min(self.block.len());
        let is_near = |quads: &[QuadIds]| {
            let (first, last) = (quads.first(), quads.last());
            first.is_some_and(|first| first <= quad) && last.is_some_and(|last| quad <= last)
        };
        let place = match is_near(&self.block[near.clone()]) {
            true => {
                let found = self.block[near].binary_search(quad);
                found.map(|at| at + self.hint).map_err(|at| at + self.hint)
            }
            false => self.block.binary_search(quad),
        };
        self.hint = place.unwrap_or_else(|at| at).saturating_sub(1);
        Ok(place.is_ok())
    }

    /// Visits all in order.
    pub(super) fn visit(
        &self,
        visit: &mut dyn FnMut(QuadIds) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match &self.place {
            Place::Memory => self.block.iter().try_for_each(|quad| visit(*quad)),
            Place::File(file) => file.quads(BLOCK_QUADS).try_for_each(|quad| visit(quad?)),
        }
    }

    /// All in memory, in order.
    pub(super) fn into_vec(self, owner: &mut dyn Owner) -> Result<Vec<QuadIds>, Error> {
        match &self.place {
            Place::Memory => Ok(self.block),
            Place::File(file) => {
                let quads = file.quads(BLOCK_QUADS);
                quads.map(|quad| owner.tick().and(quad)).collect()
            }
        }
    }
}
