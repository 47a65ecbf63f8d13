//! Encoding quads into provisional ids, one encoder per thread.
//!
//! A provisional id is a [`TermId`] whose payload holds a provisional ordinal of the term tables;
//! inline ids are final already. The encoder remembers the last subject (dumps are grouped by
//! subject) and keeps a small direct-mapped cache of predicates, so most quads cost one lookup in
//! the shared tables, that of the object.

use std::sync::Arc;

use basalt_rdf::term_id::tag;
use basalt_rdf::{
    LiteralKind, LiteralView, QuadView, QualifierCache, Qualifiers, TermId, TermView, inline,
};

use crate::error::LoadError;
use crate::spill::LoadMemory;
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
}

impl Terms {
    /// Empty tables over a registry.
    pub(crate) fn new(qualifiers: Arc<Qualifiers>, memory: &Arc<LoadMemory>) -> Self {
        let table = |what, ordinal_max| SharedTerms::new(what, ordinal_max, Arc::clone(memory));
        Self {
            resources: table("resources", RESOURCE_ORDINAL_MAX),
            literals: table("literals", LITERAL_ORDINAL_MAX),
            qualifiers,
        }
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

/// A remembered resource.
#[derive(Default)]
struct Remembered {
    hash: u128,
    text: String,
    /// Kind and provisional ordinal.
    term: Option<(u32, u32)>,
}

/// One thread's encoder.
pub(crate) struct Encoder<'a> {
    terms: &'a Terms,
    qualifiers: QualifierCache,
    last_subject: Remembered,
    last_graph: Remembered,
    predicates: Vec<Remembered>,
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

    /// Goes on with another input.
    pub(crate) fn enter(&mut self, scope: u32) {
        self.scope = scope;
    }

    /// Encodes one quad.
    #[inline]
    pub(crate) fn encode(&mut self, quad: QuadView<'_>) -> Result<RawQuad, LoadError> {
        let (kind, text) = self.resource_key(quad.subject);
        let subject = match self.last_subject.term {
            Some((k, ordinal)) if k == kind && self.last_subject.text == text => ordinal,
            _ => {
                let ordinal = self.intern_resource(kind, text)?;
                remember(&mut self.last_subject, 0, (kind, ordinal), text);
                ordinal
            }
        };
        let predicate = self.predicate(quad.predicate)?;
        let graph = match quad.graph {
            None => self.default_graph,
            Some(graph) => self.graph(graph)?,
        };
        let object = match quad.object {
            TermView::Literal(literal) => self.literal(literal)?,
            resource => {
                let (kind, text) = self.resource_key(resource);
                TermId::resource(u64::from(self.intern_resource(kind, text)?))
            }
        };
        Ok(RawQuad {
            subject,
            predicate,
            graph,
            object,
        })
    }

    /// Kind and text of a resource; literals stand only where the reader lets them, as objects.
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
        Ok(resources.intern(hash, kind, text, &mut self.resource_slab)? as u32)
    }

    fn predicate(&mut self, term: TermView<'_>) -> Result<u32, LoadError> {
        let (kind, text) = self.resource_key(term);
        let resources = &self.terms.resources;
        let hash = resources.hash(kind, text);
        let slot = &mut self.predicates[hash as usize % PREDICATE_SLOTS];
        match slot.term {
            Some((k, ordinal)) if slot.hash == hash && k == kind && slot.text == text => {
                Ok(ordinal)
            }
            _ => {
                let ordinal = resources.intern(hash, kind, text, &mut self.resource_slab)? as u32;
                remember(slot, hash, (kind, ordinal), text);
                Ok(ordinal)
            }
        }
    }

    fn graph(&mut self, term: TermView<'_>) -> Result<u32, LoadError> {
        let (kind, text) = self.resource_key(term);
        match self.last_graph.term {
            Some((k, ordinal)) if k == kind && self.last_graph.text == text => Ok(ordinal + 1),
            _ => {
                let ordinal = self.intern_resource(kind, text)?;
                remember(&mut self.last_graph, 0, (kind, ordinal), text);
                Ok(ordinal + 1)
            }
        }
    }

    fn literal(&mut self, literal: LiteralView<'_>) -> Result<TermId, LoadError> {
        let (tag, qualifier) = match literal.kind {
            LiteralKind::Simple => (tag::STRING, 0),
            LiteralKind::Language(language) => (tag::LANGUAGE, self.qualifiers.language(language)?),
            LiteralKind::Typed(datatype) => {
                if let Some(id) = inline::encode(literal, &mut self.qualifiers) {
                    return Ok(id);
                }
                (tag::TYPED, self.qualifiers.datatype(datatype)?)
            }
        };
        let kind = literal_kind(tag, qualifier);
        let (literals, text) = (&self.terms.literals, literal.lexical);
        let hash = literals.hash(kind, text);
        let ordinal = literals.intern(hash, kind, text, &mut self.literal_slab)?;
        Ok(literal_id(kind, ordinal))
    }

    /// Encodes a single term of the old version, in the scope of this encoder.
    pub(crate) fn term(&mut self, term: TermView<'_>) -> Result<TermId, LoadError> {
        match term {
            TermView::Literal(literal) => self.literal(literal),
            resource => {
                let (kind, text) = self.resource_key(resource);
                Ok(TermId::resource(u64::from(
                    self.intern_resource(kind, text)?,
                )))
            }
        }
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

fn remember(slot: &mut Remembered, hash: u128, term: (u32, u32), text: &str) {
    slot.hash = hash;
    slot.term = Some(term);
    slot.text.clear();
    slot.text.push_str(text);
}
