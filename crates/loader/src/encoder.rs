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
use crate::term_table::{self, IRI, SharedTerms};

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
    pub(crate) fn new(qualifiers: Arc<Qualifiers>) -> Self {
        Self {
            resources: SharedTerms::new("resources", RESOURCE_ORDINAL_MAX),
            literals: SharedTerms::new("literals", LITERAL_ORDINAL_MAX),
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
    hash: u64,
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

    fn intern_resource(&self, kind: u32, text: &str) -> Result<u32, LoadError> {
        let hash = term_table::hash(kind, text.as_bytes());
        Ok(self.terms.resources.intern(hash, kind, text.as_bytes())? as u32)
    }

    fn predicate(&mut self, term: TermView<'_>) -> Result<u32, LoadError> {
        let (kind, text) = self.resource_key(term);
        let hash = term_table::hash(kind, text.as_bytes());
        let slot = &mut self.predicates[hash as usize % PREDICATE_SLOTS];
        match slot.term {
            Some((k, ordinal)) if slot.hash == hash && k == kind && slot.text == text => {
                Ok(ordinal)
            }
            _ => {
                let ordinal = self.terms.resources.intern(hash, kind, text.as_bytes())? as u32;
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
        let text = literal.lexical.as_bytes();
        let ordinal = self
            .terms
            .literals
            .intern(term_table::hash(kind, text), kind, text)?;
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

fn remember(slot: &mut Remembered, hash: u64, term: (u32, u32), text: &str) {
    slot.hash = hash;
    slot.term = Some(term);
    slot.text.clear();
    slot.text.push_str(text);
}
