//! Turtle and TriG: consecutive quads of one graph, subject and predicate share these.
//!
//! ```text
//! graph {              opened when the graph changes, never for the default graph
//! subject predicate object ,
//!         object ;     the same predicate
//!     predicate object .
//! }
//! ```
//!
//! Only the last graph, subject and predicate are remembered, so memory does not grow.

use std::io;

use super::terms::{push_string, push_term};
use crate::reader::GraphFormat;
use crate::term_view::{LiteralKind, LiteralView, QuadView, TermBuf, TermView};

const RDF_TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
const XSD_INTEGER: &str = "http://www.w3.org/2001/XMLSchema#integer";
const XSD_DECIMAL: &str = "http://www.w3.org/2001/XMLSchema#decimal";
const XSD_BOOLEAN: &str = "http://www.w3.org/2001/XMLSchema#boolean";

/// The state between two quads.
pub(super) struct Grouped {
    /// Turtle or TriG.
    format: GraphFormat,
    /// Prefix names and namespaces, the longest namespace first.
    prefixes: Vec<(String, String)>,
    /// Whether a statement is open, and with it `subject` and `predicate` hold.
    is_open: bool,
    /// The graph whose brace is open.
    graph: Option<TermBuf>,
    /// The subject of the open statement.
    subject: TermBuf,
    /// The predicate of the open statement.
    predicate: TermBuf,
}

impl Grouped {
    pub(super) fn new(format: GraphFormat) -> Self {
        Self {
            format,
            prefixes: Vec::new(),
            is_open: false,
            graph: None,
            subject: TermBuf::new(),
            predicate: TermBuf::new(),
        }
    }

    pub(super) fn format(&self) -> GraphFormat {
        self.format
    }

    /// Adds a prefix; the last of equal names counts, as it would in the text.
    pub(super) fn add_prefix(&mut self, name: &str, namespace: &str) {
        self.prefixes.retain(|(other, _)| other != name);
        self.prefixes.push((name.to_owned(), namespace.to_owned()));
        self.prefixes
            .sort_by_key(|(_, namespace)| std::cmp::Reverse(namespace.len()));
    }

    /// Appends the declarations of the prefixes.
    pub(super) fn write_prefixes(&self, text: &mut Vec<u8>) {
        for (name, namespace) in &self.prefixes {
            text.extend_from_slice(format!("@prefix {name}: <{namespace}> .\n").as_bytes());
        }
    }

    /// Appends a quad, ending or continuing the open statement.
    pub(super) fn push_quad(&mut self, text: &mut Vec<u8>, quad: QuadView<'_>) {
        if self.graph.as_ref().map(TermBuf::view) != quad.graph {
            self.push_end(text);
            if let Some(graph) = quad.graph {
                self.push(text, graph);
                text.extend_from_slice(b" {\n");
                self.graph = Some(graph.into());
            }
        }
        let same_subject = self.is_open && self.subject.view() == quad.subject;
        if same_subject && self.predicate.view() == quad.predicate {
            text.extend_from_slice(b" ,\n        ");
        } else {
            if same_subject {
                text.extend_from_slice(b" ;\n    ");
            } else {
                self.push_statement_end(text);
                self.push(text, quad.subject);
                text.push(b' ');
                self.subject.fill(quad.subject);
                self.is_open = true;
            }
            match quad.predicate {
                TermView::Iri(RDF_TYPE) => text.push(b'a'),
                predicate => self.push(text, predicate),
            }
            text.push(b' ');
            self.predicate.fill(quad.predicate);
        }
        self.push(text, quad.object);
    }

    /// Ends the open statement and closes the open graph.
    pub(super) fn push_end(&mut self, text: &mut Vec<u8>) {
        self.push_statement_end(text);
        if self.graph.take().is_some() {
            text.extend_from_slice(b"}\n");
        }
    }

    fn push_statement_end(&mut self, text: &mut Vec<u8>) {
        if self.is_open {
            text.extend_from_slice(b" .\n");
            self.is_open = false;
        }
    }

    /// Appends a term in its shortest form.
    fn push(&self, text: &mut Vec<u8>, term: TermView<'_>) {
        match term {
            TermView::Iri(iri) if self.push_prefixed(text, iri) => {}
            TermView::Literal(literal) => self.push_literal(text, literal),
            _ => push_term(text, term),
        }
    }

    fn push_literal(&self, text: &mut Vec<u8>, literal: LiteralView<'_>) {
        let LiteralKind::Typed(datatype) = literal.kind else {
            return push_term(text, literal.into());
        };
        if has_short_form(literal.lexical, datatype) {
            return text.extend_from_slice(literal.lexical.as_bytes());
        }
        push_string(text, literal.lexical);
        text.extend_from_slice(b"^^");
        self.push(text, TermView::Iri(datatype));
    }

    /// Appends an IRI as a prefixed name, if a prefix fits and the rest needs no escapes.
    fn push_prefixed(&self, text: &mut Vec<u8>, iri: &str) -> bool {
        for (name, namespace) in &self.prefixes {
            let Some(local) = iri.strip_prefix(namespace.as_str()) else {
                continue;
            };
            let is_plain = !local.starts_with('-')
                && local
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
            if is_plain {
                text.extend_from_slice(name.as_bytes());
                text.push(b':');
                text.extend_from_slice(local.as_bytes());
                return true;
            }
        }
        false
    }
}

/// Refuses a prefix that could not be read again.
pub(super) fn check_prefix(name: &str, namespace: &str) -> io::Result<()> {
    let is_name = name.is_empty()
        || (name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')));
    if is_name && oxrdf::NamedNodeRef::new(namespace).is_ok() {
        return Ok(());
    }
    let message = format!("not a usable prefix: '{name}: <{namespace}>'");
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Whether the lexical form alone is read as a literal of this datatype.
fn has_short_form(lexical: &str, datatype: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let unsigned = lexical.strip_prefix('-').unwrap_or(lexical);
    match datatype {
        XSD_BOOLEAN => matches!(lexical, "true" | "false"),
        XSD_INTEGER => is_digits(unsigned),
        XSD_DECIMAL => unsigned
            .split_once('.')
            .is_some_and(|(a, b)| is_digits(a) && is_digits(b)),
        _ => false,
    }
}
