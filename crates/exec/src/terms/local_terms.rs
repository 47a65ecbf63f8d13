//! `LocalTerms`: the terms that a query made, by ordinal and back.
//!
//! ```text
//! table   hash -> ordinal
//! terms   [ hash | place ]...                          by ordinal
//! chunks  [ record record .. ][ record .. ]            in memory
//! file    [ record record ................ ]           those that found no room
//! ```
//!
//! Invariant: a term has one ordinal. Chunks do not move, and each has twice the bytes of the one before, up to a limit.
//! Cost: three cache misses for a look-up in large tables, which overlap where [prefetching](LocalTerms::prefetch) comes before;
//! some 45 bytes for a term beside its record.

use super::record::{self, Record};
use crate::context::SpillCount;
use crate::error::ExecError;
use crate::number_table::NumberTable;
use crate::spill::term_file::{TermFile, TermPlace};
use crate::value::Number;
use basalt_columns::prefetch;
use basalt_rdf::TermView;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;

/// Bytes of the first chunk.
const CHUNK_BYTES_MIN: usize = 4 << 10;
/// Bytes of a chunk of records that fit in one.
const CHUNK_BYTES_MAX: usize = 1 << 20;
/// Bytes of a term in table and vector, which have up to twice the places that they need.
const PLACE_BYTES: usize = 2 * (size_of::<LocalTerm>() + size_of::<u32>());

/// The terms; see the [module documentation](self).
pub struct LocalTerms {
    terms: Vec<LocalTerm>,
    table: NumberTable,
    chunks: Vec<Vec<u8>>,
    /// What hashes are made with.
    seed: u64,
    file: Option<TermFile>,
    /// Where the file is to be made; `None` once that or writing it failed.
    spill: Option<(Option<PathBuf>, SpillCount)>,
    /// Why it failed.
    spill_error: Option<ExecError>,
}

struct LocalTerm {
    hash: u64,
    at: TermAt,
}

/// Where a term is.
enum TermAt {
    Chunk {
        chunk: u32,
        start: u32,
        bytes: usize,
    },
    File(TermPlace),
}

impl LocalTerms {
    /// No terms, and where those go that find no room.
    pub fn new(folder: Option<PathBuf>, spilled: SpillCount) -> Self {
        Self {
            terms: Vec::new(),
            table: NumberTable::default(),
            chunks: Vec::new(),
            seed: RandomState::new().hash_one(0),
            file: None,
            spill: Some((folder, spilled)),
            spill_error: None,
        }
    }

    /// The hash of a term.
    #[inline]
    pub fn hash(&self, term: TermView<'_>) -> u64 {
        record::hash(term, self.seed)
    }

    /// Asks for what look-ups of hashes will touch.
    pub fn prefetch(&self, hashes: &[u64]) {
        for &hash in hashes {
            self.table.prefetch(hash);
        }
        let guess = |&hash: &u64| self.table.first_guess(hash) as usize;
        for at in hashes.iter().map(guess) {
            prefetch(&self.terms, at);
        }
        for at in hashes.iter().map(guess) {
            if let Some(TermAt::Chunk { chunk, start, .. }) =
                self.terms.get(at).map(|term| &term.at)
            {
                prefetch(&self.chunks[*chunk as usize], *start as usize);
            }
        }
    }

    /// The ordinal of a term. `failed` is told why a term in the file could not be read.
    #[inline]
    pub fn find(
        &self,
        hash: u64,
        term: TermView<'_>,
        mut failed: impl FnMut(ExecError),
    ) -> Option<u64> {
        let is_it = |number: u32| {
            let known = &self.terms[number as usize];
            known.hash == hash
                && match &known.at {
                    TermAt::Chunk { .. } => record::is_of(self.in_memory(&known.at), term),
                    TermAt::File(_) => {
                        self.look(known, |known| known == term)
                            .unwrap_or_else(|error| {
                                failed(error);
                                false
                            })
                    }
                }
        };
        self.table.find(hash, is_it).map(u64::from)
    }

    /// Looks at the term with an ordinal.
    pub fn with<R>(
        &self,
        ordinal: u64,
        look: impl FnOnce(TermView<'_>) -> R,
    ) -> Result<R, ExecError> {
        self.look(&self.terms[ordinal as usize], look)
    }

    /// Whether the term with an ordinal is a blank node. None of those is in the file.
    pub fn is_blank(&self, ordinal: u64) -> bool {
        record::is_blank(self.in_memory(&self.terms[ordinal as usize].at))
    }

    /// The text of the term with an ordinal, if it is an `xsd:string` and in memory.
    #[inline]
    pub fn simple(&self, ordinal: u64) -> Option<&[u8]> {
        record::simple(self.in_memory(&self.terms[ordinal as usize].at))
    }

    /// The number that the term with an ordinal is, if its record says so and is in memory.
    #[inline]
    pub fn number(&self, ordinal: u64) -> Option<Number> {
        record::number(self.in_memory(&self.terms[ordinal as usize].at))
    }

    /// Why terms could not be written, if that failed; once.
    pub fn take_spill_error(&mut self) -> Option<ExecError> {
        self.spill_error.take()
    }

    /// Adds a term that is not there; gives its ordinal and the bytes that it takes in memory.
    pub fn add(&mut self, hash: u64, term: TermView<'_>, has_room: bool) -> (u64, usize) {
        let place = match has_room || matches!(term, TermView::Blank(_)) {
            true => None,
            false => self.write(term),
        };
        let (at, bytes) = match place {
            Some(place) => (TermAt::File(place), 0),
            None => self.keep(term),
        };
        let number = u32::try_from(self.terms.len()).expect("memory ends before 2^32 terms");
        self.terms.push(LocalTerm { hash, at });
        while !self.table.has_room(1, self.terms.len()) {
            let mut larger = self.table.doubled();
            for (number, term) in (0..number).zip(&self.terms) {
                larger.find_or_insert(term.hash, number, |_| false);
            }
            self.table = larger;
        }
        self.table.find_or_insert(hash, number, |_| false);
        (number.into(), bytes + PLACE_BYTES)
    }

    /// The record of a term, nothing if it is in the file.
    #[inline]
    fn in_memory(&self, at: &TermAt) -> &[u8] {
        match *at {
            TermAt::Chunk {
                chunk,
                start,
                bytes,
            } => &self.chunks[chunk as usize][start as usize..][..bytes],
            TermAt::File(_) => &[],
        }
    }

    fn look<R>(
        &self,
        term: &LocalTerm,
        look: impl FnOnce(TermView<'_>) -> R,
    ) -> Result<R, ExecError> {
        let lost = || ExecError::Internal("a computed term is not there".to_owned());
        match (&term.at, &self.file) {
            (TermAt::Chunk { .. }, _) => {
                let term = record::read(self.in_memory(&term.at));
                term.map(look).ok_or_else(lost)
            }
            (TermAt::File(place), Some(file)) => file.read(*place, look),
            (TermAt::File(_), None) => Err(lost()),
        }
    }

    /// Puts the record of a term into memory; gives its place and how many bytes memory has grown by.
    fn keep(&mut self, term: TermView<'_>) -> (TermAt, usize) {
        let record = Record::of(term);
        let bytes = record.length();
        let last = self.chunks.last();
        // Of a chunk of one longer record nothing more is used: records begin at places of 32 bits.
        let has_room = last.is_some_and(|chunk| {
            chunk.len() <= CHUNK_BYTES_MAX && chunk.capacity() - chunk.len() >= bytes
        });
        let mut grown = 0;
        if !has_room {
            let capacity = last.map_or(0, |chunk| 2 * chunk.capacity());
            let capacity = capacity.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX).max(bytes);
            self.chunks.push(Vec::with_capacity(capacity));
            grown = capacity;
        }
        let chunk = self.chunks.len() - 1;
        let records = &mut self.chunks[chunk];
        let at = TermAt::Chunk {
            chunk: chunk as u32,
            start: records.len() as u32,
            bytes,
        };
        record.write(records);
        (at, grown)
    }

    /// Writes a term to the file; `None` if that cannot be done. Then it stays in memory, and ends the query at its limit.
    fn write(&mut self, term: TermView<'_>) -> Option<TermPlace> {
        let (folder, spilled) = self.spill.as_ref()?;
        let file = match &mut self.file {
            Some(file) => Ok(file),
            none => {
                TermFile::create(folder.as_deref(), spilled.clone()).map(|file| none.insert(file))
            }
        };
        match file.and_then(|file| file.push(term)) {
            Ok(place) => Some(place),
            Err(error) => {
                self.spill = None;
                self.spill_error = Some(error);
                None
            }
        }
    }
}
