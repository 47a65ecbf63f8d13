//! RDF/XML: one `rdf:Description` for consecutive triples of a subject, one element per triple.
//!
//! ```text
//! <rdf:Description rdf:about="subject">
//!   <local xmlns="namespace" rdf:datatype="datatype">lexical form</local>
//! </rdf:Description>
//! ```
//! Written here and not by a library because of what XML cannot say, where a wrong document or a changed literal
//! would be worse than an error: a predicate must end in an XML name, and control characters do not exist. Carriage
//! returns are written as references, since readers change plain ones. Blank node labels that are no XML
//! names are encoded, different ones differently.
//!
//! Only the last subject is remembered, so memory does not grow.

use std::io;

use crate::escaped::push_escaped;
use crate::term_view::{LiteralKind, QuadView, RDF, TermBuf, TermView};

/// Names of the RDF namespace that are syntax and no predicates.
const RESERVED: [&str; 12] = [
    "RDF",
    "Description",
    "ID",
    "about",
    "parseType",
    "resource",
    "nodeID",
    "datatype",
    "li",
    "aboutEach",
    "aboutEachPrefix",
    "bagID",
];
/// Namespaces that may not be declared.
const UNDECLARABLE: [&str; 2] = [
    "http://www.w3.org/2000/xmlns/",
    "http://www.w3.org/XML/1998/namespace",
];

/// The state between two triples.
#[derive(Default)]
pub(super) struct RdfXml {
    /// Prefix names and namespaces, the longest namespace first; that of RDF is not among them.
    prefixes: Vec<(String, String)>,
    /// Whether the document has begun.
    has_begun: bool,
    /// Whether the element of `subject` is open.
    is_open: bool,
    /// The subject of the open element.
    subject: TermBuf,
}

impl RdfXml {
    /// Adds a prefix unless XML or RDF/XML keeps its name for itself.
    pub(super) fn add_prefix(&mut self, name: &str, namespace: &str) {
        let is_kept = name == "rdf" || name.to_ascii_lowercase().starts_with("xml");
        if !is_kept && !UNDECLARABLE.contains(&namespace) {
            self.prefixes.retain(|(other, _)| other != name);
            self.prefixes.push((name.to_owned(), namespace.to_owned()));
            self.prefixes
                .sort_by_key(|(_, namespace)| std::cmp::Reverse(namespace.len()));
        }
    }

    /// Appends a triple; an error leaves the text as it was.
    pub(super) fn push_triple(&mut self, text: &mut Vec<u8>, quad: QuadView<'_>) -> io::Result<()> {
        let TermView::Iri(predicate) = quad.predicate else {
            return refuse(format!("not a predicate: {}", quad.predicate));
        };
        let (prefix, split) = self.split(predicate)?;
        for term in [quad.subject, quad.predicate, quad.object] {
            check_characters(term)?;
        }
        if !(self.is_open && self.subject.view() == quad.subject) {
            self.push_subject_end(text);
            self.push_begin(text);
            text.extend_from_slice(b"<rdf:Description");
            push_node(text, quad.subject, b" rdf:about=\"");
            text.extend_from_slice(b">\n");
            self.subject.fill(quad.subject);
            self.is_open = true;
        }
        text.extend_from_slice(b"  <");
        let is_declared_here = matches!(prefix, Prefix::Here);
        let name_start = text.len();
        let prefix = match prefix {
            Prefix::Rdf => "rdf",
            Prefix::Declared(idx) => &self.prefixes[idx].0,
            Prefix::Here => "",
        };
        if !prefix.is_empty() {
            text.extend_from_slice(prefix.as_bytes());
            text.push(b':');
        }
        text.extend_from_slice(&predicate.as_bytes()[split..]);
        let name = name_start..text.len();
        if is_declared_here {
            push_attribute(text, b" xmlns=\"", &predicate[..split]);
        }
        let TermView::Literal(literal) = quad.object else {
            push_node(text, quad.object, b" rdf:resource=\"");
            text.extend_from_slice(b"/>\n");
            return Ok(());
        };
        match literal.kind {
            LiteralKind::Simple => {}
            LiteralKind::Language(tag) => push_attribute(text, b" xml:lang=\"", tag),
            LiteralKind::Typed(datatype) => push_attribute(text, b" rdf:datatype=\"", datatype),
        }
        text.push(b'>');
        push_text(text, literal.lexical);
        text.extend_from_slice(b"</");
        text.extend_from_within(name);
        text.extend_from_slice(b">\n");
        Ok(())
    }

    /// Ends the document.
    pub(super) fn push_end(&mut self, text: &mut Vec<u8>) {
        self.push_subject_end(text);
        self.push_begin(text);
        text.extend_from_slice(b"</rdf:RDF>\n");
    }

    fn push_subject_end(&mut self, text: &mut Vec<u8>) {
        if std::mem::take(&mut self.is_open) {
            text.extend_from_slice(b"</rdf:Description>\n");
        }
    }

    fn push_begin(&mut self, text: &mut Vec<u8>) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        text.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rdf:RDF");
        push_attribute(text, b" xmlns:rdf=\"", RDF);
        for (name, namespace) in &self.prefixes {
            let colon = if name.is_empty() { "" } else { ":" };
            let opening = format!("\n    xmlns{colon}{name}=\"");
            push_attribute(text, opening.as_bytes(), namespace);
        }
        text.extend_from_slice(b">\n");
    }

    /// Where the namespace of a predicate comes from, and where the name in it begins.
    fn split(&self, iri: &str) -> io::Result<(Prefix, usize)> {
        if let Some(local) = iri.strip_prefix(RDF) {
            if RESERVED.contains(&local) || !is_xml_name(local) {
                return refuse(format!("RDF/XML has no way to write the predicate <{iri}>"));
            }
            return Ok((Prefix::Rdf, RDF.len()));
        }
        for (idx, (_, namespace)) in self.prefixes.iter().enumerate() {
            if iri
                .strip_prefix(namespace.as_str())
                .is_some_and(is_xml_name)
            {
                return Ok((Prefix::Declared(idx), namespace.len()));
            }
        }
        let not_name = iri.char_indices().rev().find(|(_, c)| !is_name_char(*c));
        let tail = not_name.map_or(0, |(at, c)| at + c.len_utf8());
        match iri[tail..].find(is_name_start).map(|at| tail + at) {
            Some(at) if at > 0 && !UNDECLARABLE.contains(&&iri[..at]) => Ok((Prefix::Here, at)),
            _ => refuse(format!(
                "RDF/XML has no way to write the predicate <{iri}>, which does not end in an XML name"
            )),
        }
    }
}

/// Where the namespace of an element comes from.
enum Prefix {
    /// It is that of RDF.
    Rdf,
    /// One of the prefixes.
    Declared(usize),
    /// Its own element declares it.
    Here,
}

fn refuse<T>(message: String) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Refuses characters that XML 1.0 does not have.
fn check_characters(term: TermView<'_>) -> io::Result<()> {
    let is_bad = |c: char| {
        (c < ' ' && !matches!(c, '\t' | '\n' | '\r')) || matches!(c, '\u{FFFE}' | '\u{FFFF}')
    };
    let text = match term {
        TermView::Iri(text) | TermView::Blank(text) => text,
        TermView::Literal(literal) => literal.lexical,
    };
    match text.chars().find(|c| is_bad(*c)) {
        Some(c) => refuse(format!(
            "RDF/XML cannot hold the character U+{:04X} of {term}",
            u32::from(c)
        )),
        None => Ok(()),
    }
}

/// Appends the attribute that names a resource; `iri_attribute` is the one for IRIs.
fn push_node(text: &mut Vec<u8>, node: TermView<'_>, iri_attribute: &[u8]) {
    match node {
        TermView::Iri(iri) => push_attribute(text, iri_attribute, iri),
        TermView::Blank(label) => push_attribute(text, b" rdf:nodeID=\"", &xml_label(label)),
        TermView::Literal(_) => unreachable!("subjects are checked, literals written as text"),
    }
}

/// Appends an attribute, given with its opening quote.
fn push_attribute(text: &mut Vec<u8>, opening: &[u8], value: &str) {
    text.extend_from_slice(opening);
    push_text(text, value);
    text.push(b'"');
}

/// Appends text with the characters replaced that XML reserves or its readers change.
fn push_text(text: &mut Vec<u8>, value: &str) {
    let is_special = |byte: u8| matches!(byte, b'<' | b'>' | b'&' | b'"' | b'\r');
    push_escaped(text, value.as_bytes(), is_special, |text, rest| {
        text.extend_from_slice(match rest[0] {
            b'<' => b"&lt;",
            b'>' => b"&gt;",
            b'&' => b"&amp;",
            b'"' => b"&quot;",
            _ => b"&#xD;",
        });
        1
    });
}

/// A label as an XML name: as it is, or encoded behind `x_` if it is no name or could be such a code.
fn xml_label(label: &str) -> std::borrow::Cow<'_, str> {
    if is_xml_name(label) && !label.starts_with("x_") {
        return label.into();
    }
    let mut name = "x_".to_owned();
    for c in label.chars() {
        match c.is_ascii_alphanumeric() {
            true => name.push(c),
            false => name.push_str(&format!("_{:x}_", u32::from(c))),
        }
    }
    name.into()
}

/// Whether this is a name without colons, as namespaces ask.
fn is_xml_name(text: &str) -> bool {
    text.starts_with(is_name_start) && text.chars().all(is_name_char)
}

/// `NameStartChar` of XML without the colon.
fn is_name_start(c: char) -> bool {
    matches!(c, 'A'..='Z' | 'a'..='z' | '_'
        | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{2FF}'
        | '\u{370}'..='\u{37D}' | '\u{37F}'..='\u{1FFF}' | '\u{200C}'..='\u{200D}'
        | '\u{2070}'..='\u{218F}' | '\u{2C00}'..='\u{2FEF}' | '\u{3001}'..='\u{D7FF}'
        | '\u{F900}'..='\u{FDCF}' | '\u{FDF0}'..='\u{FFFD}' | '\u{10000}'..='\u{EFFFF}')
}

/// `NameChar` of XML without the colon.
fn is_name_char(c: char) -> bool {
    is_name_start(c)
        || matches!(c, '-' | '.' | '0'..='9' | '\u{B7}'
            | '\u{300}'..='\u{36F}' | '\u{203F}'..='\u{2040}')
}
