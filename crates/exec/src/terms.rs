//! `TermSpace`: ids to terms and back for one running query.
//!
//! Terms that an expression computes and the snapshot does not know get ids of their own (tag
//! `LOCAL`), so that equal terms have equal ids also among computed ones: interning tries the inline
//! kinds, then the dictionary, then the local table. A local id never leaves the query.
//!
//! Cost: an inline term is encoded without a lock; others take one dictionary probe and, when
//! unknown, a short read or write lock on the local table.

use crate::error::ExecError;
use basalt_rdf::term_id::tag;
use basalt_rdf::{TermBuf, TermId, TermView};
use basalt_store::Snapshot;
use hashbrown::HashMap;
use std::sync::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Terms of the snapshot and of one running query.
pub struct TermSpace {
    snapshot: Snapshot,
    locals: RwLock<LocalTerms>,
    /// Bytes that the local terms take, for the memory account.
    local_bytes: AtomicUsize,
}

/// Terms made by the query: by ordinal, and back.
#[derive(Default)]
struct LocalTerms {
    by_ordinal: Vec<oxrdf::Term>,
    ordinals: HashMap<oxrdf::Term, u64, std::hash::RandomState>,
}

impl TermSpace {
    /// The terms of a snapshot, none of its own yet.
    pub fn new(snapshot: Snapshot) -> Self {
        Self {
            snapshot,
            locals: RwLock::default(),
            local_bytes: AtomicUsize::new(0),
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
        let term = term.to_oxrdf();
        let known = self
            .locals
            .read()
            .expect("no holder panics")
            .ordinals
            .get(&term)
            .copied();
        if let Some(ordinal) = known {
            return TermId::new(tag::LOCAL, ordinal);
        }
        let mut locals = self.locals.write().expect("no holder panics");
        if let Some(&ordinal) = locals.ordinals.get(&term) {
            return TermId::new(tag::LOCAL, ordinal);
        }
        let ordinal = locals.by_ordinal.len() as u64;
        let bytes = 2 * (term_text_bytes(&term) + size_of::<oxrdf::Term>()) + size_of::<u64>();
        self.local_bytes.fetch_add(bytes, Ordering::Relaxed);
        locals.by_ordinal.push(term.clone());
        locals.ordinals.insert(term, ordinal);
        TermId::new(tag::LOCAL, ordinal)
    }

    /// The id of a term of the `oxrdf` crate.
    pub fn intern_term(&self, term: &oxrdf::Term) -> TermId {
        self.intern(TermView::from(term.as_ref()))
    }

    /// The term of an id, into a buffer that is used again and again.
    pub fn decode(&self, id: TermId, out: &mut TermBuf) -> Result<(), ExecError> {
        if id.tag() == tag::LOCAL {
            let locals = self.locals.read().expect("no holder panics");
            out.fill(TermView::from(
                locals.by_ordinal[id.payload() as usize].as_ref(),
            ));
            return Ok(());
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
                locals.by_ordinal[id.payload() as usize].is_blank_node()
            }
            _ => false,
        }
    }

    /// Bytes that local terms take.
    pub fn local_bytes(&self) -> usize {
        self.local_bytes.load(Ordering::Relaxed)
    }
}

fn term_text_bytes(term: &oxrdf::Term) -> usize {
    match term {
        oxrdf::Term::NamedNode(node) => node.as_str().len(),
        oxrdf::Term::BlankNode(node) => node.as_str().len(),
        oxrdf::Term::Literal(literal) => literal.value().len() + literal.datatype().as_str().len(),
    }
}
