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
//! unknown, a short read or write lock on the local table. Strings of many rows are interned together, and those that the query has made
//! before ask no dictionary. A term in the file is read from there each time.

mod local_terms;
pub mod record;

use crate::context::SpillCount;
use crate::error::ExecError;
use crate::value::Number;
use basalt_rdf::term_id::tag;
use basalt_rdf::{InlineForms, LiteralView, TermBuf, TermId, TermView};
use basalt_store::Snapshot;
use local_terms::LocalTerms;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

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

/// See [`TermSpace::made`].
pub struct MadeTerms<'a>(RwLockReadGuard<'a, LocalTerms>);

impl MadeTerms<'_> {
    /// The text of an `xsd:string` in memory that the query has made; `None` of all else.
    #[inline]
    pub fn simple(&self, id: u64) -> Option<&[u8]> {
        let id = TermId(id);
        match id.tag() {
            tag::LOCAL => self.0.simple(id.payload()),
            _ => None,
        }
    }
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

impl TermSpace {
    /// The terms of a snapshot, none of its own yet.
    pub fn new(snapshot: Snapshot, spill: TermSpill) -> Self {
        Self {
            snapshot,
            locals: RwLock::new(LocalTerms::new(spill.folder, spill.spilled)),
            local_bytes: AtomicUsize::new(0),
            bytes_max: spill.bytes_max,
            is_broken: AtomicBool::new(false),
            failure: Mutex::default(),
        }
    }

    /// Whether doubles by their bits are inline.
    pub fn has_binary_doubles(&self) -> bool {
        self.snapshot.dictionary().qualifiers().forms() >= InlineForms::Doubles
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
        let locals = self.read();
        let hash = locals.hash(term);
        let known = self.find(&locals, hash, term);
        drop(locals);
        let ordinal = known.unwrap_or_else(|| self.add(&mut self.write(), hash, term));
        TermId(local_id(ordinal))
    }

    /// Appends the ids of strings, as [`Self::intern`] gives them. Their waits for memory overlap, so some dozens at a time are best.
    pub fn intern_strings(&self, strings: &[LiteralView<'_>], ids: &mut Vec<u64>) {
        let term = |at: usize| TermView::Literal(strings[at]);
        let locals = self.read();
        let of = |at| locals.hash(term(at));
        let hashes: Vec<u64> = (0..strings.len()).map(of).collect();
        locals.prefetch(&hashes);
        let first = ids.len();
        let mut unknown = Vec::new();
        for (at, &hash) in hashes.iter().enumerate() {
            let known = self.find(&locals, hash, term(at));
            ids.push(known.map_or(0, local_id));
            if known.is_none() {
                unknown.push(at);
            }
        }
        drop(locals);
        if unknown.is_empty() {
            return;
        }
        let asked: Vec<LiteralView<'_>> = unknown.iter().map(|&at| strings[at]).collect();
        let stored = self.snapshot.dictionary().find_strings(&asked);
        let mut locals = None;
        for (at, stored) in unknown.into_iter().zip(stored) {
            ids[first + at] = match stored {
                Some(id) => id.0,
                None => {
                    let locals = locals.get_or_insert_with(|| self.write());
                    local_id(self.add(locals, hashes[at], term(at)))
                }
            };
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, LocalTerms> {
        self.locals.read().expect("no holder panics")
    }

    fn write(&self) -> RwLockWriteGuard<'_, LocalTerms> {
        self.locals.write().expect("no holder panics")
    }

    /// The ordinal of a local term.
    #[inline]
    fn find(&self, locals: &LocalTerms, hash: u64, term: TermView<'_>) -> Option<u64> {
        locals.find(hash, term, |error| {
            let failure = self.failure.lock();
            *failure.unwrap_or_else(PoisonError::into_inner) = Some(error);
            self.is_broken.store(true, Ordering::Relaxed);
        })
    }

    /// The ordinal of a term that was unknown: it may have been added since.
    fn add(&self, locals: &mut LocalTerms, hash: u64, term: TermView<'_>) -> u64 {
        if let Some(ordinal) = self.find(locals, hash, term) {
            return ordinal;
        }
        let has_room = self.local_bytes() < self.bytes_max;
        let (ordinal, bytes) = locals.add(hash, term, has_room);
        self.local_bytes.fetch_add(bytes, Ordering::Relaxed);
        ordinal
    }

    /// The terms that the query has made, to look at many. Nobody makes one meanwhile, so who looks must not either.
    pub fn made(&self) -> MadeTerms<'_> {
        MadeTerms(self.read())
    }

    /// The id of a term of the `oxrdf` crate.
    pub fn intern_term(&self, term: &oxrdf::Term) -> TermId {
        self.intern(TermView::from(term.as_ref()))
    }

    /// The term of an id, into a buffer that is used again and again.
    pub fn decode(&self, id: TermId, out: &mut TermBuf) -> Result<(), ExecError> {
        if id.tag() == tag::LOCAL {
            return self.read().with(id.payload(), |term| out.fill(term));
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
            tag::LOCAL => self.read().is_blank(id.payload()),
            _ => false,
        }
    }

    /// The number that a local term is, if its record says so.
    #[inline]
    pub fn local_number(&self, id: TermId) -> Option<Number> {
        match id.tag() {
            tag::LOCAL => self.read().number(id.payload()),
            _ => None,
        }
    }

    /// Bytes that local terms take in memory.
    pub fn local_bytes(&self) -> usize {
        self.local_bytes.load(Ordering::Relaxed)
    }

    /// Why terms that found no room could not be written, if that failed; once.
    pub fn spill_error(&self) -> Option<ExecError> {
        self.write().take_spill_error()
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

/// The id of the local term with an ordinal.
fn local_id(ordinal: u64) -> u64 {
    TermId::new(tag::LOCAL, ordinal).0
}
