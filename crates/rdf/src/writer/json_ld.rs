//! JSON-LD in flat, expanded form: one array of node objects, without a context.
//!
//! ```text
//! [
//! {"@id":"subject","@type":["class"],"predicate":[{"@id":"object"},{"@value":"text"}]},
//! {"@id":"graph","@graph":[{"@id":"subject", ...}]}
//! ]
//! ```
//! Consecutive quads of one graph and subject share a node object, unless a predicate comes a second time
//! after another one, which would repeat a key: then a new object with the same `@id` begins. Each node object of a
//! named graph has a graph object of its own, so that readers never hold more than one node either.
//!
//! Literals are always strings with their datatype, so lexical forms stay exact. Memory: one subject and the
//! hashes of [`KEYS_MAX`] predicates.

use xxhash_rust::xxh3::xxh3_64;

use crate::escaped::push_json_string;
use crate::term_view::{LiteralKind, QuadView, TermBuf, TermView};

const RDF_TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
/// Keys of one node object; a subject with more predicates gets several objects.
const KEYS_MAX: usize = 64;

/// The state between two quads.
#[derive(Default)]
pub(super) struct JsonLd {
    /// Whether the array has an element.
    has_begun: bool,
    /// Whether a node object and in it the array of `predicate` are open.
    is_open: bool,
    /// The graph of the open node object.
    graph: Option<TermBuf>,
    /// The subject of the open node object.
    subject: TermBuf,
    /// The predicate of the open array, and whether that is written as `@type`.
    predicate: (TermBuf, bool),
    /// Hashes of the keys of the open node object; equal ones may be different keys, which does no harm.
    keys: Vec<u64>,
}

impl JsonLd {
    /// Appends a quad, ending or continuing the open node object.
    pub(super) fn push_quad(&mut self, text: &mut Vec<u8>, quad: QuadView<'_>) {
        let class = match (quad.predicate, quad.object) {
            (TermView::Iri(RDF_TYPE), TermView::Iri(class)) => Some(class),
            _ => None,
        };
        let same_node = self.is_open
            && self.subject.view() == quad.subject
            && self.graph.as_ref().map(TermBuf::view) == quad.graph;
        let (last, last_is_type) = &self.predicate;
        if same_node && last.view() == quad.predicate && *last_is_type == class.is_some() {
            text.push(b',');
        } else {
            let key = match (quad.predicate, class) {
                (_, Some(_)) => "@type",
                (TermView::Iri(iri), None) => iri,
                _ => unreachable!("predicates are checked"),
            };
            let hash = xxh3_64(key.as_bytes());
            if same_node && self.keys.len() < KEYS_MAX && !self.keys.contains(&hash) {
                text.push(b']');
            } else {
                self.push_node_end(text);
                self.push_node_begin(text, quad);
            }
            text.push(b',');
            push_json_string(text, key);
            text.extend_from_slice(b":[");
            self.keys.push(hash);
            self.predicate.0.fill(quad.predicate);
            self.predicate.1 = class.is_some();
        }
        match class {
            Some(class) => push_json_string(text, class),
            None => push_object(text, quad.object),
        }
    }

    /// Ends the document.
    pub(super) fn push_end(&mut self, text: &mut Vec<u8>) {
        self.push_node_end(text);
        let end: &[u8] = if self.has_begun { b"\n]\n" } else { b"[]\n" };
        text.extend_from_slice(end);
    }

    fn push_node_begin(&mut self, text: &mut Vec<u8>, quad: QuadView<'_>) {
        let first = !std::mem::replace(&mut self.has_begun, true);
        text.extend_from_slice(if first { b"[\n" } else { b",\n" });
        self.graph = quad.graph.map(TermBuf::from);
        if let Some(graph) = quad.graph {
            push_id(text, graph);
            text.extend_from_slice(b",\"@graph\":[");
        }
        push_id(text, quad.subject);
        self.subject.fill(quad.subject);
        self.is_open = true;
        self.keys.clear();
    }

    fn push_node_end(&mut self, text: &mut Vec<u8>) {
        if std::mem::take(&mut self.is_open) {
            text.extend_from_slice(b"]}");
            if self.graph.take().is_some() {
                text.extend_from_slice(b"]}");
            }
        }
    }
}

/// Appends the beginning of an object with this `@id`.
fn push_id(text: &mut Vec<u8>, node: TermView<'_>) {
    text.extend_from_slice(b"{\"@id\":");
    match node {
        TermView::Blank(label) => push_json_string(text, &format!("_:{label}")),
        TermView::Iri(iri) => push_json_string(text, iri),
        TermView::Literal(_) => unreachable!("subjects and graphs are checked"),
    }
}

fn push_object(text: &mut Vec<u8>, object: TermView<'_>) {
    let TermView::Literal(literal) = object else {
        push_id(text, object);
        return text.push(b'}');
    };
    text.push(b'{');
    match literal.kind {
        LiteralKind::Simple => {}
        LiteralKind::Language(tag) => {
            text.extend_from_slice(b"\"@language\":");
            push_json_string(text, tag);
            text.push(b',');
        }
        LiteralKind::Typed(datatype) => {
            text.extend_from_slice(b"\"@type\":");
            push_json_string(text, datatype);
            text.push(b',');
        }
    }
    text.extend_from_slice(b"\"@value\":");
    push_json_string(text, literal.lexical);
    text.push(b'}');
}
