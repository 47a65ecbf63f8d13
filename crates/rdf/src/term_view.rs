//! Borrowed terms and quads: what readers hand out and writers take.
//!
//! A [`TermView`] points into a reader's buffers and lives as long as one callback; a [`TermBuf`]
//! owns the same data in two strings that are refilled without allocating. `xsd:string` is always
//! [`LiteralKind::Simple`]; a language tag keeps the case in which it was written.
//!
//! Cost: views are a few words and copied freely; conversions to [`oxrdf`] allocate.

use std::fmt::{self, Write as _};

/// The IRI of `xsd:string`, the datatype of simple literals.
pub const XSD_STRING: &str = "http://www.w3.org/2001/XMLSchema#string";
/// The namespace of the XML Schema datatypes.
pub const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
/// The namespace of the RDF vocabulary.
pub const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";

/// A borrowed RDF term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TermView<'a> {
    /// An absolute IRI.
    Iri(&'a str),
    /// The label of a blank node, without `_:`; it means something within its file only.
    Blank(&'a str),
    /// A literal.
    Literal(LiteralView<'a>),
}

/// A borrowed literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LiteralView<'a> {
    /// The lexical form, unescaped.
    pub lexical: &'a str,
    /// Datatype or language.
    pub kind: LiteralKind<'a>,
}

/// What a literal carries beside its lexical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LiteralKind<'a> {
    /// `xsd:string`.
    Simple,
    /// A language tag, in the case in which it was written.
    Language(&'a str),
    /// The IRI of a datatype other than `xsd:string`.
    Typed(&'a str),
}

/// A borrowed quad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QuadView<'a> {
    /// An IRI or a blank node.
    pub subject: TermView<'a>,
    /// An IRI.
    pub predicate: TermView<'a>,
    /// Any term.
    pub object: TermView<'a>,
    /// The named graph; `None` is the default graph.
    pub graph: Option<TermView<'a>>,
}

impl<'a> LiteralView<'a> {
    /// A literal of `xsd:string`.
    pub const fn simple(lexical: &'a str) -> Self {
        Self {
            lexical,
            kind: LiteralKind::Simple,
        }
    }

    /// A literal with a language tag.
    pub const fn language(lexical: &'a str, tag: &'a str) -> Self {
        Self {
            lexical,
            kind: LiteralKind::Language(tag),
        }
    }

    /// A literal with a datatype; `xsd:string` gives a simple literal.
    pub fn typed(lexical: &'a str, datatype: &'a str) -> Self {
        let kind = if datatype == XSD_STRING {
            LiteralKind::Simple
        } else {
            LiteralKind::Typed(datatype)
        };
        Self { lexical, kind }
    }

    /// The datatype IRI; `rdf:langString` for a literal with a language.
    pub const fn datatype(self) -> &'a str {
        match self.kind {
            LiteralKind::Simple => XSD_STRING,
            LiteralKind::Language(_) => "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString",
            LiteralKind::Typed(datatype) => datatype,
        }
    }

    /// An owned copy as the `oxrdf` type.
    pub fn to_oxrdf(self) -> oxrdf::Literal {
        match self.kind {
            LiteralKind::Simple => oxrdf::Literal::new_simple_literal(self.lexical),
            LiteralKind::Language(tag) => {
                oxrdf::Literal::new_language_tagged_literal_unchecked(self.lexical, tag)
            }
            LiteralKind::Typed(datatype) => oxrdf::Literal::new_typed_literal(
                self.lexical,
                oxrdf::NamedNode::new_unchecked(datatype),
            ),
        }
    }
}

impl<'a> TermView<'a> {
    /// A literal of `xsd:string`.
    pub const fn simple(lexical: &'a str) -> Self {
        Self::Literal(LiteralView::simple(lexical))
    }

    /// A literal with a language tag.
    pub const fn language(lexical: &'a str, tag: &'a str) -> Self {
        Self::Literal(LiteralView::language(lexical, tag))
    }

    /// A literal with a datatype; `xsd:string` gives a simple literal.
    pub fn typed(lexical: &'a str, datatype: &'a str) -> Self {
        Self::Literal(LiteralView::typed(lexical, datatype))
    }

    /// Whether this may stand as a subject or name a graph.
    pub const fn is_resource(self) -> bool {
        matches!(self, Self::Iri(_) | Self::Blank(_))
    }

    /// An owned copy as the `oxrdf` type.
    pub fn to_oxrdf(self) -> oxrdf::Term {
        match self {
            Self::Iri(iri) => oxrdf::NamedNode::new_unchecked(iri).into(),
            Self::Blank(label) => oxrdf::BlankNode::new_unchecked(label).into(),
            Self::Literal(literal) => literal.to_oxrdf().into(),
        }
    }
}

impl QuadView<'_> {
    /// An owned copy as the `oxrdf` type; `None` if a literal stands where none may.
    pub fn to_oxrdf(self) -> Option<oxrdf::Quad> {
        let subject: oxrdf::NamedOrBlankNode = match self.subject {
            TermView::Iri(iri) => oxrdf::NamedNode::new_unchecked(iri).into(),
            TermView::Blank(label) => oxrdf::BlankNode::new_unchecked(label).into(),
            TermView::Literal(_) => return None,
        };
        let TermView::Iri(predicate) = self.predicate else {
            return None;
        };
        let graph = match self.graph {
            None => oxrdf::GraphName::DefaultGraph,
            Some(TermView::Iri(iri)) => oxrdf::NamedNode::new_unchecked(iri).into(),
            Some(TermView::Blank(label)) => oxrdf::BlankNode::new_unchecked(label).into(),
            Some(TermView::Literal(_)) => return None,
        };
        let predicate = oxrdf::NamedNode::new_unchecked(predicate);
        Some(oxrdf::Quad::new(
            subject,
            predicate,
            self.object.to_oxrdf(),
            graph,
        ))
    }
}

impl<'a> From<LiteralView<'a>> for TermView<'a> {
    fn from(literal: LiteralView<'a>) -> Self {
        Self::Literal(literal)
    }
}

impl<'a> From<oxrdf::LiteralRef<'a>> for LiteralView<'a> {
    fn from(literal: oxrdf::LiteralRef<'a>) -> Self {
        match literal.language() {
            Some(tag) => Self::language(literal.value(), tag),
            None => Self::typed(literal.value(), literal.datatype().as_str()),
        }
    }
}

impl<'a> From<oxrdf::NamedNodeRef<'a>> for TermView<'a> {
    fn from(node: oxrdf::NamedNodeRef<'a>) -> Self {
        Self::Iri(node.as_str())
    }
}

impl<'a> From<oxrdf::BlankNodeRef<'a>> for TermView<'a> {
    fn from(node: oxrdf::BlankNodeRef<'a>) -> Self {
        Self::Blank(node.as_str())
    }
}

impl<'a> From<oxrdf::NamedOrBlankNodeRef<'a>> for TermView<'a> {
    fn from(node: oxrdf::NamedOrBlankNodeRef<'a>) -> Self {
        match node {
            oxrdf::NamedOrBlankNodeRef::NamedNode(node) => node.into(),
            oxrdf::NamedOrBlankNodeRef::BlankNode(node) => node.into(),
        }
    }
}

impl<'a> From<oxrdf::LiteralRef<'a>> for TermView<'a> {
    fn from(literal: oxrdf::LiteralRef<'a>) -> Self {
        Self::Literal(literal.into())
    }
}

impl<'a> From<oxrdf::TermRef<'a>> for TermView<'a> {
    fn from(term: oxrdf::TermRef<'a>) -> Self {
        match term {
            oxrdf::TermRef::NamedNode(node) => node.into(),
            oxrdf::TermRef::BlankNode(node) => node.into(),
            oxrdf::TermRef::Literal(literal) => literal.into(),
        }
    }
}

impl<'a> From<oxrdf::QuadRef<'a>> for QuadView<'a> {
    fn from(quad: oxrdf::QuadRef<'a>) -> Self {
        Self {
            subject: quad.subject.into(),
            predicate: quad.predicate.into(),
            object: quad.object.into(),
            graph: match quad.graph_name {
                oxrdf::GraphNameRef::DefaultGraph => None,
                oxrdf::GraphNameRef::NamedNode(node) => Some(node.into()),
                oxrdf::GraphNameRef::BlankNode(node) => Some(node.into()),
            },
        }
    }
}

/// Writes the lexical form between quotes, escaped as canonical N-Triples wants it.
fn write_quoted(lexical: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    let mut rest = lexical;
    while let Some(at) = rest.find(['"', '\\', '\n', '\r']) {
        f.write_str(&rest[..at])?;
        f.write_str(match rest.as_bytes()[at] {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            _ => "\\r",
        })?;
        rest = &rest[at + 1..];
    }
    f.write_str(rest)?;
    f.write_char('"')
}

impl fmt::Display for LiteralView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(self.lexical, f)?;
        match self.kind {
            LiteralKind::Simple => Ok(()),
            LiteralKind::Language(tag) => write!(f, "@{tag}"),
            LiteralKind::Typed(datatype) => write!(f, "^^<{datatype}>"),
        }
    }
}

/// The N-Triples form.
impl fmt::Display for TermView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Iri(iri) => write!(f, "<{iri}>"),
            Self::Blank(label) => write!(f, "_:{label}"),
            Self::Literal(literal) => literal.fmt(f),
        }
    }
}

/// The N-Quads form, without a line end.
impl fmt::Display for QuadView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} ", self.subject, self.predicate, self.object)?;
        if let Some(graph) = self.graph {
            write!(f, "{graph} ")?;
        }
        f.write_char('.')
    }
}

/// Which kind of term a [`TermBuf`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BufKind {
    /// An IRI in `text`.
    Iri,
    /// A blank node label in `text`.
    Blank,
    /// A simple literal in `text`.
    #[default]
    Simple,
    /// A literal in `text` with the language tag in `extra`.
    Language,
    /// A literal in `text` with the datatype in `extra`.
    Typed,
}

/// An owned term that is refilled without giving back its memory.
///
/// A new one holds the empty simple literal.
#[derive(Clone, Debug, Default)]
pub struct TermBuf {
    /// Which term the strings make.
    kind: BufKind,
    /// The IRI, label or lexical form.
    text: String,
    /// The language tag or datatype; meaningless for other kinds.
    extra: String,
}

impl TermBuf {
    /// A buffer that holds the empty simple literal.
    pub fn new() -> Self {
        Self::default()
    }

    /// The term held now.
    pub fn view(&self) -> TermView<'_> {
        match self.kind {
            BufKind::Iri => TermView::Iri(&self.text),
            BufKind::Blank => TermView::Blank(&self.text),
            BufKind::Simple => TermView::simple(&self.text),
            BufKind::Language => TermView::language(&self.text, &self.extra),
            BufKind::Typed => TermView::typed(&self.text, &self.extra),
        }
    }

    /// Makes this a copy of `term`.
    pub fn fill(&mut self, term: TermView<'_>) {
        match term {
            TermView::Iri(iri) => self.fill_iri(iri),
            TermView::Blank(label) => self.fill_blank(label),
            TermView::Literal(literal) => self.fill_literal(literal),
        }
    }

    /// Makes this an IRI.
    pub fn fill_iri(&mut self, iri: &str) {
        self.clear_as(BufKind::Iri).0.push_str(iri);
    }

    /// Makes this a blank node.
    pub fn fill_blank(&mut self, label: &str) {
        self.clear_as(BufKind::Blank).0.push_str(label);
    }

    /// Makes this a literal.
    pub fn fill_literal(&mut self, literal: LiteralView<'_>) {
        let (kind, extra_text) = match literal.kind {
            LiteralKind::Simple => (BufKind::Simple, ""),
            LiteralKind::Language(tag) => (BufKind::Language, tag),
            LiteralKind::Typed(datatype) => (BufKind::Typed, datatype),
        };
        let (text, extra) = self.clear_as(kind);
        text.push_str(literal.lexical);
        extra.push_str(extra_text);
    }

    /// Empties both strings for a term of this kind and lends them: the text, and the tag or datatype.
    pub(crate) fn clear_as(&mut self, kind: BufKind) -> (&mut String, &mut String) {
        self.kind = kind;
        self.text.clear();
        self.extra.clear();
        (&mut self.text, &mut self.extra)
    }
}

impl From<TermView<'_>> for TermBuf {
    fn from(term: TermView<'_>) -> Self {
        let mut buf = Self::new();
        buf.fill(term);
        buf
    }
}

impl PartialEq for TermBuf {
    fn eq(&self, other: &Self) -> bool {
        self.view() == other.view()
    }
}

impl Eq for TermBuf {}

impl std::hash::Hash for TermBuf {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.view().hash(state);
    }
}

#[cfg(test)]
mod tests;
