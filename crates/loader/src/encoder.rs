//! Encoding quads into provisional ids, one encoder per thread.
//!
//! A provisional id is a [`TermId`] whose payload holds a provisional ordinal of the term tables;
//! inline ids are final already. The encoder remembers the last subject (dumps are grouped by
//! subject), the last graph, and keeps a small direct-mapped cache of predicates, so most quads cost one lookup in
//! the shared tables, that of the object.
//!
//! Lookups of subjects, graphs and objects are put off, to be done some thousand at a time ([`TermBatch`]); the quads
//! get what was found then. So an encoder is given a block of quads one after the other and then asked for all of them.
//! Predicates that are not in the cache and single terms are looked up at once.
//!
//! Memory: the quads of a block, a batch for each of the two tables.

use std::sync::{Arc, Mutex, PoisonError};

use basalt_rdf::term_id::tag;
use basalt_rdf::{
    LiteralKind, LiteralView, QuadView, QualifierCache, Qualifiers, TermId, TermView, inline,
};

use crate::error::LoadError;
use crate::load::number_bytes;
use crate::spill::LoadMemory;
use crate::term_batch::TermBatch;
use crate::term_table::{IRI, SharedTerms};
use crate::text_slabs::TextSlab;

/// Slots of the predicate cache: data sets with more predicates than this are rare.
const PREDICATE_SLOTS: usize = 1_024;
/// The largest provisional ordinal of a resource; one less than 32 bits hold, for a mark.
const RESOURCE_ORDINAL_MAX: u64 = u32::MAX as u64 - 1;
/// The largest provisional ordinal of a literal.
const LITERAL_ORDINAL_MAX: u64 = u32::MAX as u64 - 1;

/// A quad in provisional numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawQuad {
    /// Provisional ordinal of the subject.
    pub subject: u32,
    /// Provisional ordinal of the predicate.
    pub predicate: u32,
    /// 0 for the default graph, else the provisional ordinal plus 1.
    pub graph: u32,
    /// Provisional id of the object.
    pub object: TermId,
}

/// The tables that all encoders share.
pub(crate) struct Terms {
    /// IRIs and blank nodes.
    pub resources: SharedTerms,
    /// Literals of the dictionary; the kind is tag and qualifier.
    pub literals: SharedTerms,
    /// Datatypes and languages.
    pub qualifiers: Arc<Qualifiers>,
    /// Held by the one thread that makes room.
    making_room: Mutex<()>,
}

impl Terms {
    /// Empty tables over a registry.
    pub(crate) fn new(qualifiers: Arc<Qualifiers>, memory: &Arc<LoadMemory>) -> Self {
        let table = |what, ordinal_max| SharedTerms::new(what, ordinal_max, Arc::clone(memory));
        Self {
            resources: table("resources", RESOURCE_ORDINAL_MAX),
            literals: table("literals", LITERAL_ORDINAL_MAX),
            qualifiers,
            making_room: Mutex::default(),
        }
    }

    /// Lets parts of the index leave memory until the others fit in its share; the largest first, so that
    /// few runs are written, and long ones.
    fn make_room(&self) -> Result<(), LoadError> {
        let memory = self.resources.memory();
        if !memory.is_index_over() {
            return Ok(());
        }
        let only = self.making_room.lock();
        let _only = only.unwrap_or_else(PoisonError::into_inner);
        memory.begin_to_spill();
        // Termination: an empty part is never the largest unless all are empty.
        while memory.is_index_over() {
            let (resources, of_resources) = self.resources.largest_shard();
            let (literals, of_literals) = self.literals.largest_shard();
            if of_resources.max(of_literals) == 0 {
                break;
            }
            match of_resources < of_literals {
                true => self.literals.write_out(literals)?,
                false => self.resources.write_out(resources)?,
            }
        }
        let least = (self.resources.len_min(), self.literals.len_min());
        memory.check_numbers(number_bytes(self.bounds(), least))
    }

    /// Above the ordinals of resources and of literals.
    pub(crate) fn bounds(&self) -> (usize, usize) {
        let (resources, literals) = (&self.resources, &self.literals);
        (resources.ordinal_bound(), literals.ordinal_bound())
    }
}

/// The kind of a literal in the literal table.
pub(crate) fn literal_kind(tag: u8, qualifier: u16) -> u32 {
    u32::from(tag) << 16 | u32::from(qualifier)
}

/// The provisional or final id of a literal of this kind and ordinal.
pub(crate) fn literal_id(kind: u32, ordinal: u64) -> TermId {
    let qualifier = u64::from(kind & 0xFFFF);
    TermId::new(
        (kind >> 16) as u8,
        qualifier << basalt_rdf::term_id::LITERAL_ORDINAL_BITS | ordinal,
    )
}

/// The number of a remembered resource.
#[derive(Clone, Copy)]
enum Number {
    /// The provisional ordinal.
    Known(u32),
    /// It is still to be looked up: the place in the batch.
    Awaited(u32),
}

/// A remembered resource.
#[derive(Default)]
struct Remembered {
    hash: u128,
    text: String,
    /// Kind and number.
    term: Option<(u32, Number)>,
}

impl Remembered {
    /// The number, if it is this resource that is remembered.
    #[inline]
    fn number(&self, (kind, text): (u32, &str)) -> Option<Number> {
        let (known, number) = self.term?;
        (known == kind && self.text == text).then_some(number)
    }

    fn remember(&mut self, hash: u128, (kind, text): (u32, &str), number: Number) {
        self.hash = hash;
        self.term = Some((kind, number));
        self.text.clear();
        self.text.push_str(text);
    }

    /// Replaces the place in a batch by what was found.
    fn settle(&mut self, batch: &TermBatch) {
        if let Some((_, number)) = &mut self.term
            && let Number::Awaited(place) = *number
        {
            *number = Number::Known(batch.found[place as usize].ordinal);
        }
    }

    /// Forgets a resource that was to be looked up.
    fn forget_awaited(&mut self) {
        if let Some((_, Number::Awaited(_))) = self.term {
            self.term = None;
        }
    }
}

/// A place for a term that is to be looked up.
struct Awaiting {
    /// The quad.
    quad: u32,
    /// The place of the term in its batch.
    term: u32,
}

/// One thread's encoder.
pub(crate) struct Encoder<'a> {
    terms: &'a Terms,
    qualifiers: QualifierCache,
    last_subject: Remembered,
    last_graph: Remembered,
    predicates: Vec<Remembered>,
    /// The quads of the block at hand, those of the last batches with holes for what is to be looked up.
    quads: Vec<RawQuad>,
    /// Resources to be looked up.
    resources: TermBatch,
    /// Literals to be looked up.
    literals: TermBatch,
    /// New subjects, each from this quad to the next of them.
    subjects: Vec<Awaiting>,
    /// Graphs, for each quad.
    graphs: Vec<Awaiting>,
    /// Resources that are objects.
    resource_objects: Vec<Awaiting>,
    /// The quad of each literal to be looked up.
    literal_objects: Vec<u32>,
    /// Texts of the resources that this encoder is first to see.
    resource_slab: TextSlab,
    /// Texts of the literals that this encoder is first to see.
    literal_slab: TextSlab,
    /// The scope of blank nodes, one for each input.
    scope: u32,
    /// The graph of quads that name none, as in [`RawQuad::graph`].
    default_graph: u32,
}

impl<'a> Encoder<'a> {
    /// An encoder for one input.
    pub(crate) fn new(
        terms: &'a Terms,
        scope: u32,
        graph: Option<&str>,
    ) -> Result<Self, LoadError> {
        let mut encoder = Self {
            terms,
            qualifiers: QualifierCache::new(Arc::clone(&terms.qualifiers)),
            last_subject: Remembered::default(),
            last_graph: Remembered::default(),
            predicates: std::iter::repeat_with(Remembered::default)
                .take(PREDICATE_SLOTS)
                .collect(),
            quads: Vec::new(),
            resources: TermBatch::default(),
            literals: TermBatch::default(),
            subjects: Vec::new(),
            graphs: Vec::new(),
            resource_objects: Vec::new(),
            literal_objects: Vec::new(),
            resource_slab: terms.resources.take_slab(),
            literal_slab: terms.literals.take_slab(),
            scope,
            default_graph: 0,
        };
        if let Some(iri) = graph {
            encoder.default_graph = encoder.intern_resource(IRI, iri)? + 1;
        }
        Ok(encoder)
    }

    /// Begins a block of an input, and forgets what is left of one that was not finished.
    pub(crate) fn begin(&mut self, scope: u32) {
        self.scope = scope;
        self.quads.clear();
        self.forget_batches();
        self.last_subject.forget_awaited();
        self.last_graph.forget_awaited();
    }

    /// Encodes the next quad of the block.
    #[inline]
    pub(crate) fn encode(&mut self, quad: QuadView<'_>) -> Result<(), LoadError> {
        // A block is far smaller than 32 bits can count.
        let at = self.quads.len() as u32;
        let quad = RawQuad {
            subject: self.subject(at, quad.subject),
            predicate: self.predicate(quad.predicate)?,
            graph: match quad.graph {
                None => self.default_graph,
                Some(graph) => self.graph(at, graph),
            },
            object: match quad.object {
                TermView::Literal(literal) => self.literal(at, literal)?,
                resource => self.resource_object(at, resource),
            },
        };
        self.quads.push(quad);
        if self.resources.is_full() || self.literals.is_full() {
            self.settle()?;
        }
        Ok(())
    }

    /// Quads of the block so far.
    pub(crate) fn quad_count(&self) -> usize {
        self.quads.len()
    }

    /// All quads of the block, which ends.
    pub(crate) fn finish(&mut self) -> Result<&[RawQuad], LoadError> {
        self.settle()?;
        Ok(&self.quads)
    }

    /// Kind and text of a resource; literals stand only where the reader lets them, as objects.
    #[inline]
    fn resource_key<'t>(&self, term: TermView<'t>) -> (u32, &'t str) {
        match term {
            TermView::Iri(iri) => (IRI, iri),
            TermView::Blank(label) => (1 + self.scope, label),
            TermView::Literal(literal) => (IRI, literal.lexical),
        }
    }

    fn intern_resource(&mut self, kind: u32, text: &str) -> Result<u32, LoadError> {
        let resources = &self.terms.resources;
        let hash = resources.hash(kind, text);
        let ordinal = resources.intern(hash, kind, text, &mut self.resource_slab)?;
        self.terms.make_room()?;
        Ok(ordinal)
    }

    /// Lets a resource be looked up with the others of the batch.
    #[inline]
    fn await_resource(&mut self, (kind, text): (u32, &str)) -> u32 {
        let hash = self.terms.resources.hash(kind, text);
        self.resources.push(hash, kind, text)
    }

    /// The ordinal of a subject, or anything if it is to be looked up.
    #[inline]
    fn subject(&mut self, quad: u32, term: TermView<'_>) -> u32 {
        let key = self.resource_key(term);
        match self.last_subject.number(key) {
            Some(Number::Known(ordinal)) => ordinal,
            Some(Number::Awaited(_)) => 0,
            None => {
                let term = self.await_resource(key);
                self.last_subject.remember(0, key, Number::Awaited(term));
                self.subjects.push(Awaiting { quad, term });
                0
            }
        }
    }

    #[inline]
    fn predicate(&mut self, term: TermView<'_>) -> Result<u32, LoadError> {
        let key = self.resource_key(term);
        let (kind, text) = key;
        let resources = &self.terms.resources;
        let hash = resources.hash(kind, text);
        let slot = &mut self.predicates[hash as usize % PREDICATE_SLOTS];
        if slot.hash == hash
            && let Some(Number::Known(ordinal)) = slot.number(key)
        {
            return Ok(ordinal);
        }
        let ordinal = resources.intern(hash, kind, text, &mut self.resource_slab)?;
        slot.remember(hash, key, Number::Known(ordinal));
        self.terms.make_room()?;
        Ok(ordinal)
    }

    /// The graph of a quad, or anything if it is to be looked up.
    fn graph(&mut self, quad: u32, term: TermView<'_>) -> u32 {
        let key = self.resource_key(term);
        let term = match self.last_graph.number(key) {
            Some(Number::Known(ordinal)) => return ordinal + 1,
            Some(Number::Awaited(term)) => term,
            None => {
                let term = self.await_resource(key);
                self.last_graph.remember(0, key, Number::Awaited(term));
                term
            }
        };
        self.graphs.push(Awaiting { quad, term });
        0
    }

    /// The id of an object, without the ordinal that is to be looked up.
    #[inline]
    fn resource_object(&mut self, quad: u32, term: TermView<'_>) -> TermId {
        let key = self.resource_key(term);
        let term = self.await_resource(key);
        self.resource_objects.push(Awaiting { quad, term });
        TermId::resource(0)
    }

    /// The id of a literal, without its ordinal if that is to be looked up.
    #[inline]
    fn literal(&mut self, quad: u32, literal: LiteralView<'_>) -> Result<TermId, LoadError> {
        let kind = match self.literal_key(literal)? {
            Ok(id) => return Ok(id),
            Err(kind) => kind,
        };
        let text = literal.lexical;
        let hash = self.terms.literals.hash(kind, text);
        self.literals.push(hash, kind, text);
        self.literal_objects.push(quad);
        Ok(literal_id(kind, 0))
    }

    /// The id of a literal if it has one by itself, else its kind.
    #[inline]
    fn literal_key(&mut self, literal: LiteralView<'_>) -> Result<Result<TermId, u32>, LoadError> {
        let (tag, qualifier) = match literal.kind {
            LiteralKind::Simple => (tag::STRING, 0),
            LiteralKind::Language(language) => (tag::LANGUAGE, self.qualifiers.language(language)?),
            LiteralKind::Typed(datatype) => {
                if let Some(id) = inline::encode(literal, &mut self.qualifiers) {
                    return Ok(Ok(id));
                }
                (tag::TYPED, self.qualifiers.datatype(datatype)?)
            }
        };
        Ok(Err(literal_kind(tag, qualifier)))
    }

    /// Looks up what is awaited and completes the quads.
    fn settle(&mut self) -> Result<(), LoadError> {
        let Terms {
            resources,
            literals,
            ..
        } = self.terms;
        resources.intern_batch(&mut self.resources, &mut self.resource_slab)?;
        literals.intern_batch(&mut self.literals, &mut self.literal_slab)?;
        let quads = &mut self.quads;
        let ordinal = |term: u32| self.resources.found[term as usize].ordinal;
        let mut end = quads.len();
        for subject in self.subjects.iter().rev() {
            let start = subject.quad as usize;
            let found = ordinal(subject.term);
            quads[start..end].iter_mut().for_each(|q| q.subject = found);
            end = start;
        }
        for graph in &self.graphs {
            quads[graph.quad as usize].graph = ordinal(graph.term) + 1;
        }
        for object in &self.resource_objects {
            let found = ordinal(object.term);
            quads[object.quad as usize].object = TermId::resource(u64::from(found));
        }
        for (&quad, found) in self.literal_objects.iter().zip(&self.literals.found) {
            quads[quad as usize].object.0 |= u64::from(found.ordinal);
        }
        self.last_subject.settle(&self.resources);
        self.last_graph.settle(&self.resources);
        self.forget_batches();
        self.terms.make_room()
    }

    fn forget_batches(&mut self) {
        self.resources.clear();
        self.literals.clear();
        self.subjects.clear();
        self.graphs.clear();
        self.resource_objects.clear();
        self.literal_objects.clear();
    }

    /// Encodes a single term of the old version, in the scope of this encoder.
    pub(crate) fn term(&mut self, term: TermView<'_>) -> Result<TermId, LoadError> {
        let TermView::Literal(literal) = term else {
            let (kind, text) = self.resource_key(term);
            let ordinal = self.intern_resource(kind, text)?;
            return Ok(TermId::resource(u64::from(ordinal)));
        };
        let kind = match self.literal_key(literal)? {
            Ok(id) => return Ok(id),
            Err(kind) => kind,
        };
        let (literals, text) = (&self.terms.literals, literal.lexical);
        let hash = literals.hash(kind, text);
        let ordinal = literals.intern(hash, kind, text, &mut self.literal_slab)?;
        self.terms.make_room()?;
        Ok(literal_id(kind, u64::from(ordinal)))
    }
}

impl Drop for Encoder<'_> {
    fn drop(&mut self) {
        let terms = self.terms;
        terms
            .resources
            .give_back(std::mem::take(&mut self.resource_slab));
        terms
            .literals
            .give_back(std::mem::take(&mut self.literal_slab));
    }
}

#[cfg(test)]
mod tests;
