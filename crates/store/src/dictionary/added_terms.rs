//! Terms that were added since the version was written: the dictionary of the delta.
//!
//! Shared by all snapshots over one version and append-only: resources and literals get the ordinals after those
//! of the version's files, so ids never change and a snapshot that is older than a term is not disturbed
//! by it. Datatypes and languages go to the version's registry, which grows the same way.
//!
//! ```text
//! id -> text:  ordinal -> chunk -> text       chunks double in size and never move
//! text -> id:  hash map behind a lock
//! ```
//!
//! Invariant: a term is here only if no layer of the dictionary has it, and once.
//! Cost: id to text takes no lock; text to id a read lock. A term takes its text and some 60 bytes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::text_index::ORDINALS_MAX;
use crate::error::StoreError;

/// Slots of the first chunk; each further one has twice as many.
const FIRST_CHUNK: u64 = 256;
/// Chunks of a list: enough for all ordinals.
const CHUNKS: usize = 40;
/// Bytes of a term beside its text: its slot, its place in the map, both of which grow by doubling, its counters, and what allocation rounds up to.
/// 960,000 terms took 127 MB where 60 bytes for each and their texts were 83.
const TERM_BYTES: u64 = 105;

type Chunk<T> = Box<[OnceLock<T>]>;

/// An append-only list whose entries never move; reading takes no lock.
#[derive(Debug)]
struct AppendList<T> {
    chunks: Box<[OnceLock<Chunk<T>>]>,
    len: AtomicU64,
}

impl<T> AppendList<T> {
    fn new() -> Self {
        Self {
            chunks: (0..CHUNKS).map(|_| OnceLock::new()).collect(),
            len: AtomicU64::new(0),
        }
    }

    /// The chunk of a position, the slot there, and the size of the chunk.
    fn place(position: u64) -> (usize, usize, u64) {
        let chunk = (position / FIRST_CHUNK + 1).ilog2();
        let first = FIRST_CHUNK * ((1 << chunk) - 1);
        let size = FIRST_CHUNK << chunk;
        (chunk as usize, (position - first) as usize, size)
    }

    fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    fn get(&self, position: u64) -> Option<&T> {
        let (chunk, slot, _) = Self::place(position);
        self.chunks.get(chunk)?.get()?.get(slot)?.get()
    }

    /// Appends an entry and returns its position; one thread at a time.
    fn push(&self, entry: T) -> u64 {
        let position = self.len();
        let (chunk, slot, size) = Self::place(position);
        let chunk = self.chunks[chunk].get_or_init(|| (0..size).map(|_| OnceLock::new()).collect());
        let is_fresh = chunk[slot].set(entry).is_ok();
        assert!(is_fresh, "positions are handed out under the write lock");
        self.len.store(position + 1, Ordering::Release);
        position
    }
}

/// A literal that was added.
#[derive(Debug)]
pub(super) struct AddedLiteral {
    /// Tag and code of datatype or language.
    pub(super) id_tag: u8,
    /// Code of datatype or language.
    pub(super) qualifier: u16,
    /// The lexical form.
    pub(super) lexical: Arc<str>,
}

/// Positions by lexical form, by tag and qualifier.
type LiteralPositions = HashMap<(u8, u16), HashMap<Arc<str>, u64>>;

/// The terms; ordinals here count from 0.
#[derive(Debug)]
pub(super) struct AddedTerms {
    /// An IRI, or `None` for a blank node.
    resources: AppendList<Option<Arc<str>>>,
    literals: AppendList<AddedLiteral>,
    iri_positions: RwLock<HashMap<Arc<str>, u64>>,
    literal_positions: RwLock<LiteralPositions>,
    bytes: AtomicU64,
}

impl Default for AddedTerms {
    fn default() -> Self {
        Self {
            resources: AppendList::new(),
            literals: AppendList::new(),
            iri_positions: RwLock::default(),
            literal_positions: RwLock::default(),
            bytes: AtomicU64::new(0),
        }
    }
}

impl AddedTerms {
    pub(super) fn resource_count(&self) -> u64 {
        self.resources.len()
    }

    pub(super) fn literal_count(&self) -> u64 {
        self.literals.len()
    }

    /// Bytes of memory, about.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The IRI at a position, `None` within for a blank node.
    pub(super) fn resource(&self, position: u64) -> Option<Option<&str>> {
        self.resources.get(position).map(Option::as_deref)
    }

    pub(super) fn is_blank(&self, position: u64) -> bool {
        matches!(self.resources.get(position), Some(None))
    }

    pub(super) fn literal(&self, position: u64) -> Option<&AddedLiteral> {
        self.literals.get(position)
    }

    pub(super) fn find_iri(&self, iri: &str) -> Option<u64> {
        self.read_iris().get(iri).copied()
    }

    pub(super) fn find_literal(&self, id_tag: u8, qualifier: u16, lexical: &str) -> Option<u64> {
        let positions = self.literal_positions.read();
        let positions = positions.unwrap_or_else(PoisonError::into_inner);
        positions.get(&(id_tag, qualifier))?.get(lexical).copied()
    }

    /// The position of an IRI that no layer has, given now if it had none; `first` resources are in
    /// layers.
    pub(super) fn intern_iri(&self, iri: &str, first: u64) -> Result<u64, StoreError> {
        if let Some(known) = self.find_iri(iri) {
            return Ok(known);
        }
        let mut positions = self.write_iris();
        if let Some(&known) = positions.get(iri) {
            return Ok(known);
        }
        check_room("IRIs and blank nodes", first + self.resources.len())?;
        let text: Arc<str> = iri.into();
        let position = self.resources.push(Some(Arc::clone(&text)));
        positions.insert(text, position);
        self.account(iri.len());
        Ok(position)
    }

    /// The position of a new blank node; `first` resources are in layers.
    pub(super) fn push_blank(&self, first: u64) -> Result<u64, StoreError> {
        let _one_at_a_time = self.write_iris();
        check_room("IRIs and blank nodes", first + self.resources.len())?;
        self.account(0);
        Ok(self.resources.push(None))
    }

    /// The position of a literal that no layer has, given now if it had none; `first` literals are in
    /// layers.
    pub(super) fn intern_literal(
        &self,
        id_tag: u8,
        qualifier: u16,
        lexical: &str,
        first: u64,
    ) -> Result<u64, StoreError> {
        if let Some(known) = self.find_literal(id_tag, qualifier, lexical) {
            return Ok(known);
        }
        let positions = self.literal_positions.write();
        let mut positions = positions.unwrap_or_else(PoisonError::into_inner);
        let of_kind = positions.entry((id_tag, qualifier)).or_default();
        if let Some(&known) = of_kind.get(lexical) {
            return Ok(known);
        }
        check_room("literals", first + self.literals.len())?;
        let text: Arc<str> = lexical.into();
        let position = self.literals.push(AddedLiteral {
            id_tag,
            qualifier,
            lexical: Arc::clone(&text),
        });
        of_kind.insert(text, position);
        self.account(lexical.len());
        Ok(position)
    }

    fn account(&self, text_bytes: usize) {
        let bytes = TERM_BYTES + text_bytes as u64;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn read_iris(&self) -> RwLockReadGuard<'_, HashMap<Arc<str>, u64>> {
        let positions = self.iri_positions.read();
        positions.unwrap_or_else(PoisonError::into_inner)
    }

    fn write_iris(&self) -> RwLockWriteGuard<'_, HashMap<Arc<str>, u64>> {
        let positions = self.iri_positions.write();
        positions.unwrap_or_else(PoisonError::into_inner)
    }
}

fn check_room(what: &'static str, ordinal: u64) -> Result<(), StoreError> {
    if ordinal > ORDINALS_MAX {
        let limit = ORDINALS_MAX;
        return Err(StoreError::Limit { what, limit });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_have_places_in_chunks() {
        let mut expected = (0, 0);
        for position in 0..10_000 {
            let (chunk, slot, size) = AppendList::<u8>::place(position);
            assert_eq!((chunk, slot), expected);
            expected = if slot as u64 + 1 == size {
                (chunk + 1, 0)
            } else {
                (chunk, slot + 1)
            };
        }
        let last = AppendList::<u8>::place(ORDINALS_MAX).0;
        assert!(last < CHUNKS, "{last}");
    }

    #[test]
    fn threads_give_a_term_one_position() {
        let terms = AddedTerms::default();
        let intern = || -> Vec<u64> {
            let iris = (0..2000).map(|i| format!("http://example.org/{i}"));
            iris.map(|iri| terms.intern_iri(&iri, 5).expect("there is room"))
                .collect()
        };
        let both: Vec<Vec<u64>> = std::thread::scope(|scope| {
            let started: Vec<_> = (0..2).map(|_| scope.spawn(intern)).collect();
            let joined = started.into_iter().map(|thread| thread.join());
            joined.map(|ids| ids.expect("no panic")).collect()
        });
        assert_eq!(both[0], both[1]);
        assert_eq!(terms.resource_count(), 2000);
        for (i, &position) in both[0].iter().enumerate() {
            let expected = format!("http://example.org/{i}");
            assert_eq!(terms.resource(position), Some(Some(expected.as_str())));
        }
        let blank = terms.push_blank(5).expect("there is room");
        assert!(terms.is_blank(blank) && !terms.is_blank(0));
        assert_eq!(
            (terms.resource(2001), terms.literal(0).is_none()),
            (None, true)
        );
    }

    #[test]
    fn there_is_a_limit() {
        let terms = AddedTerms::default();
        let full = terms.intern_iri("http://example.org/", ORDINALS_MAX + 1);
        assert!(matches!(full, Err(StoreError::Limit { .. })));
        assert!(terms.push_blank(ORDINALS_MAX + 1).is_err());
        let full = terms.intern_literal(0x10, 0, "x", ORDINALS_MAX + 1);
        assert!(full.is_err() && terms.literal_count() == 0);
    }
}
