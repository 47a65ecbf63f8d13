//! `TermSpace`: ids to terms and back for one running query.
//!
//! Terms that an expression computes and the snapshot does not know get ids of their own (tag
//! `LOCAL`), so that equal terms have equal ids also among computed ones: interning tries the inline
//! kinds, then the dictionary, then the local table. A local id never leaves the query.
//!
//! Computed terms beyond a share of the query's memory are in a temporary file (`spill/term_file.rs`); what is left of them in memory
//! is where they are. Blank nodes stay in memory, and all terms do once the file cannot be written.
//!
//! Cost: an inline term is encoded without a lock; others take one dictionary probe and, when
//! unknown, a short read or write lock on the local table. A term in the file is read from there each time.

use crate::context::SpillCount;
use crate::error::ExecError;
use crate::spill::term_file::{TermFile, TermPlace};
use basalt_rdf::term_id::tag;
use basalt_rdf::{TermBuf, TermId, TermView};
use basalt_store::Snapshot;
use hashbrown::HashTable;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

/// Terms of the snapshot and of one running query.
pub struct TermSpace {
    snapshot: Snapshot,
    locals: RwLock<LocalTerms>,
    /// Bytes that the local terms take, for the memory account.
    local_bytes: AtomicUsize,
    /// Bytes of them from which on further ones go to a file.
    bytes_max: usize,
    /// Whether reading the file failed when terms were compared, so that equal ones may have two ids.
    is_broken: AtomicBool,
    /// Why.
    failure: Mutex<Option<ExecError>>,
}

/// Where terms go that find no room.
pub struct TermSpill {
    /// The folder; `None` is the system's.
    pub folder: Option<PathBuf>,
    /// Bytes of terms in memory from which on further ones go to a file.
    pub bytes_max: usize,
    /// Counts the bytes written.
    pub spilled: SpillCount,
}

/// Terms made by the query: by ordinal, and back.
struct LocalTerms {
    by_ordinal: Vec<LocalTerm>,
    /// Ordinals by the hash of the term.
    ordinals: HashTable<u64>,
    hasher: RandomState,
    file: Option<TermFile>,
    /// Where the file is to be made; `None` once that or writing it failed.
    spill: Option<(Option<PathBuf>, SpillCount)>,
    /// Why it failed.
    spill_error: Option<ExecError>,
}

/// A term made by the query.
struct LocalTerm {
    hash: u64,
    at: TermAt,
}

/// Where such a term is.
enum TermAt {
    Memory(Box<oxrdf::Term>),
    File(TermPlace),
}

impl TermSpace {
    /// The terms of a snapshot, none of its own yet.
    pub fn new(snapshot: Snapshot, spill: TermSpill) -> Self {
        let locals = LocalTerms {
            by_ordinal: Vec::new(),
            ordinals: HashTable::new(),
            hasher: RandomState::new(),
            file: None,
            spill: Some((spill.folder, spill.spilled)),
            spill_error: None,
        };
        Self {
            snapshot,
            locals: RwLock::new(locals),
            local_bytes: AtomicUsize::new(0),
            bytes_max: spill.bytes_max,
            is_broken: AtomicBool::new(false),
            failure: Mutex::default(),
        }
    }

    /// The snapshot behind it.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The id of a term, a new local one if nobody knows the term.
    pub fn intern(&self, term: TermView<'_>) -> TermId {
        // A computed blank node is never a stored one, whatever its label.
        if !matches!(term, TermView::Blank(_))
            && let Some(id) = self.snapshot.dictionary().find(term)
        {
            return id;
        }
        let locals = self.locals.read().expect("no holder panics");
        let hash = locals.hasher.hash_one(term);
        let known = self.find(&locals, hash, term);
        drop(locals);
        if let Some(ordinal) = known {
            return TermId::new(tag::LOCAL, ordinal);
        }
        let mut locals = self.locals.write().expect("no holder panics");
        if let Some(ordinal) = self.find(&locals, hash, term) {
            return TermId::new(tag::LOCAL, ordinal);
        }
        let has_room = self.local_bytes() < self.bytes_max;
        let (ordinal, bytes) = locals.add(hash, term, has_room);
        self.local_bytes.fetch_add(bytes, Ordering::Relaxed);
        TermId::new(tag::LOCAL, ordinal)
    }

    /// The ordinal of a local term.
    fn find(&self, locals: &LocalTerms, hash: u64, term: TermView<'_>) -> Option<u64> {
        let is_it = |&ordinal: &u64| {
            let known = &locals.by_ordinal[ordinal as usize];
            let same = |known: TermView<'_>| known == term;
            known.hash == hash
                && locals.look(known, same).unwrap_or_else(|error| {
                    let failure = self.failure.lock();
                    *failure.unwrap_or_else(PoisonError::into_inner) = Some(error);
                    self.is_broken.store(true, Ordering::Relaxed);
                    false
                })
        };
        locals.ordinals.find(hash, is_it).copied()
    }

    /// The id of a term of the `oxrdf` crate.
    pub fn intern_term(&self, term: &oxrdf::Term) -> TermId {
        self.intern(TermView::from(term.as_ref()))
    }

    /// The term of an id, into a buffer that is used again and again.
    pub fn decode(&self, id: TermId, out: &mut TermBuf) -> Result<(), ExecError> {
        if id.tag() == tag::LOCAL {
            let locals = self.locals.read().expect("no holder panics");
            let term = &locals.by_ordinal[id.payload() as usize];
            return locals.look(term, |term| out.fill(term));
        }
        Ok(self.snapshot.dictionary().decode(id, out)?)
    }

    /// The term of an id.
    pub fn term(&self, id: TermId) -> Result<oxrdf::Term, ExecError> {
        let mut buffer = TermBuf::new();
        self.decode(id, &mut buffer)?;
        Ok(buffer.view().to_oxrdf())
    }

    /// Whether an id is a blank node, stored or local.
    pub fn is_blank(&self, id: TermId) -> bool {
        match id.tag() {
            tag::RESOURCE => self.snapshot.dictionary().is_blank(id),
            tag::LOCAL => {
                let locals = self.locals.read().expect("no holder panics");
                // No blank node is in the file.
                matches!(&locals.by_ordinal[id.payload() as usize].at,
                    TermAt::Memory(term) if term.is_blank_node())
            }
            _ => false,
        }
    }

    /// Bytes that local terms take in memory.
    pub fn local_bytes(&self) -> usize {
        self.local_bytes.load(Ordering::Relaxed)
    }

    /// Why terms that found no room could not be written, if that failed; once.
    pub fn spill_error(&self) -> Option<ExecError> {
        let mut locals = self.locals.write().expect("no holder panics");
        locals.spill_error.take()
    }

    /// Errors if equal terms may have got two ids, since the file could not be read; once.
    pub fn check(&self) -> Result<(), ExecError> {
        if !self.is_broken.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take().map_or(Ok(()), Err)
    }
}

impl LocalTerms {
    /// Looks at a term.
    fn look<R>(
        &self,
        term: &LocalTerm,
        look: impl FnOnce(TermView<'_>) -> R,
    ) -> Result<R, ExecError> {
        match (&term.at, &self.file) {
            (TermAt::Memory(term), _) => {
                let term: &oxrdf::Term = term;
                Ok(look(TermView::from(term.as_ref())))
            }
            (TermAt::File(place), Some(file)) => file.read(*place, look),
            (TermAt::File(_), None) => Err(ExecError::Internal("terms have no file".to_owned())),
        }
    }

    /// Adds a term that is not there; gives its ordinal and the bytes that it takes in memory.
    fn add(&mut self, hash: u64, term: TermView<'_>, has_room: bool) -> (u64, usize) {
        let place = match has_room || matches!(term, TermView::Blank(_)) {
            true => None,
            false => self.write(term),
        };
        let (at, bytes) = match place {
            Some(place) => (TermAt::File(place), 0),
            None => {
                let term = term.to_oxrdf();
                let bytes = term_text_bytes(&term) + size_of::<oxrdf::Term>();
                (TermAt::Memory(Box::new(term)), bytes)
            }
        };
        let ordinal = self.by_ordinal.len() as u64;
        self.by_ordinal.push(LocalTerm { hash, at });
        let terms = &self.by_ordinal;
        let hash_of = |&ordinal: &u64| terms[ordinal as usize].hash;
        self.ordinals.insert_unique(hash, ordinal, hash_of);
        // Vector and table have up to twice the places that they need.
        (
            ordinal,
            bytes + 2 * (size_of::<LocalTerm>() + size_of::<u64>()),
        )
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

fn term_text_bytes(term: &oxrdf::Term) -> usize {
    match term {
        oxrdf::Term::NamedNode(node) => node.as_str().len(),
        oxrdf::Term::BlankNode(node) => node.as_str().len(),
        oxrdf::Term::Literal(literal) => literal.value().len() + literal.datatype().as_str().len(),
    }
}
