//! RDF/XML and JSON-LD, by oxrdfio's parsers; the only module that knows them.
//!
//! RDF/XML is read as a stream. JSON-LD lets a context or an `@id` stand anywhere in an object, so each
//! top-level object is held in memory until it ends: a document that is one array of node objects (as the
//! writer here makes it) streams, one with a single object around everything does not. Contexts behind an address
//! are not fetched: that is an error that names the address.
//!
//! Two things are done around the parsers. They write language tags in lower case: [`XmlSource`] knows how
//! a tag was written; the JSON-LD parser keeps tags in its lenient mode, which does not check IRIs and
//! labels, so these are checked here. And a place is found for errors of RDF/XML.
//!
//! Invariant: the terms handed out are as well-formed as those of the other readers.

use std::cell::RefCell;
use std::io::Read;
use std::rc::Rc;

use oxrdf::{BlankNodeRef, GraphNameRef, Literal, NamedNodeRef, NamedOrBlankNodeRef, QuadRef};
use oxrdfio::{JsonLdProfileSet, RdfFormat, RdfParseError, RdfParser, RdfSyntaxError};

use super::document::check_base;
use super::json_source::{JsonLog, JsonSource};
use super::utf8_chunks::TextLog;
use super::xml_source::{XmlLog, XmlSource};
use super::{QuadSink, ReadError, SyntaxError};
use crate::term_view::{QuadView, TermView};

/// Reads an RDF/XML document to its end and returns the number of triples.
pub(super) fn read_rdf_xml<S: QuadSink>(
    reader: impl Read,
    base: Option<&str>,
    sink: &mut S,
) -> Result<u64, ReadError<S::Error>> {
    let log = Rc::new(RefCell::new(XmlLog::default()));
    let source = XmlSource::new(reader, Rc::clone(&log));
    let mut count = 0;
    for quad in parser(RdfFormat::RdfXml, base)?.for_reader(source) {
        let quad = match quad {
            Ok(quad) => quad,
            Err(error) => {
                let mut log = log.borrow_mut();
                source_failure(&mut *log)?;
                return Err(match error {
                    RdfParseError::Io(error) => ReadError::io(error),
                    RdfParseError::Syntax(error) => log.syntax_error(xml_message(&error)).into(),
                });
            }
        };
        let mut view = QuadView::from(quad.as_ref());
        let written = match &quad.object {
            oxrdf::Term::Literal(literal) => literal
                .language()
                .and_then(|tag| log.borrow().written_tag(tag))
                .map(|tag| (literal.value(), tag)),
            _ => None,
        };
        if let Some((value, tag)) = &written {
            view.object = TermView::language(value, tag);
        }
        sink.quad(view).map_err(ReadError::Sink)?;
        count += 1;
    }
    // The parser takes some failed reads for the end.
    source_failure(&mut *log.borrow_mut())?;
    match log.borrow().missing_end() {
        Some(error) => Err(error.into()),
        None => Ok(count),
    }
}

/// Reads a JSON-LD document to its end and returns the number of quads.
pub(super) fn read_json_ld<S: QuadSink>(
    reader: impl Read,
    base: Option<&str>,
    sink: &mut S,
) -> Result<u64, ReadError<S::Error>> {
    let log = Rc::new(RefCell::new(JsonLog::default()));
    let mut source = JsonSource::new(reader, Rc::clone(&log));
    let format = RdfFormat::JsonLd {
        profile: JsonLdProfileSet::empty(),
    };
    let quads = parser(format, base)?
        .lenient()
        .for_reader(&mut source)
        .with_document_loader(|_| {
            Err("contexts are not fetched, put it into the document instead".into())
        });
    let mut count = 0;
    for quad in quads {
        let quad = match quad {
            Ok(quad) => quad,
            Err(error) => {
                let mut log = log.borrow_mut();
                source_failure(&mut *log)?;
                if !log.has_content {
                    // An empty file is one without quads in every format.
                    return Ok(count);
                }
                return Err(match error {
                    RdfParseError::Io(error) => ReadError::io(error),
                    RdfParseError::Syntax(error) => json_error(&log.text, &error).into(),
                });
            }
        };
        if is_well_formed(quad.as_ref())? {
            let view = QuadView::from(quad.as_ref());
            sink.quad(view).map_err(ReadError::Sink)?;
            count += 1;
        }
    }
    // The parser stops at the end of the document; the source looks at what comes behind it.
    let rest = std::io::copy(&mut source, &mut std::io::sink());
    source_failure(&mut *log.borrow_mut())?;
    rest.map_err(ReadError::io)?;
    Ok(count)
}

fn parser(format: RdfFormat, base: Option<&str>) -> Result<RdfParser, SyntaxError> {
    check_base(base)?;
    let parser = RdfParser::from_format(format);
    match base {
        None => Ok(parser),
        Some(base) => parser
            .with_base_iri(base)
            .map_err(|error| SyntaxError::unplaced(&error.to_string())),
    }
}

/// What the notes of a source have in common.
trait SourceNotes {
    fn text(&mut self) -> &mut TextLog;
    fn refused(&mut self) -> Option<SyntaxError>;
}

impl SourceNotes for XmlLog {
    fn text(&mut self) -> &mut TextLog {
        &mut self.text
    }

    fn refused(&mut self) -> Option<SyntaxError> {
        self.refused.take()
    }
}

impl SourceNotes for JsonLog {
    fn text(&mut self) -> &mut TextLog {
        &mut self.text
    }

    fn refused(&mut self) -> Option<SyntaxError> {
        self.refused.take()
    }
}

/// The failure of a source, which comes before what the parser made of it.
fn source_failure<E>(notes: &mut impl SourceNotes) -> Result<(), ReadError<E>> {
    if let Some(error) = notes.refused() {
        return Err(error.into());
    }
    if let Some(error) = notes.text().utf8_error.take() {
        return Err(error.into());
    }
    match notes.text().io_error.take() {
        Some(error) => Err(ReadError::io(error)),
        None => Ok(()),
    }
}

/// The parser's message, with the reason that it keeps apart.
fn xml_message(error: &RdfSyntaxError) -> String {
    let mut message = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !message.contains(&cause_text) {
            message = format!("{message}: {cause_text}");
        }
        next = cause.source();
    }
    message
}

/// An error of the JSON-LD parser: bad JSON has a place, a bad use of JSON-LD is known only when its
/// object ends and has none.
fn json_error(text: &TextLog, error: &RdfSyntaxError) -> SyntaxError {
    let message = error.to_string();
    let Some(location) = error.location() else {
        return SyntaxError::unplaced(&message);
    };
    // The parser's own place stands in front of its message.
    let reason = match message.split_once(": ") {
        Some((place, reason)) if place.starts_with("Parser error ") => reason,
        _ => &message,
    };
    // Its columns count bytes, from 0.
    let (line, byte) = (location.start.line + 1, location.start.column + 1);
    text.syntax_error(line, byte, reason.to_owned())
}

/// Whether all terms are well-formed. JSON-LD drops statements with relative IRIs (they come from keys
/// and values without a context); an absolute IRI or a tag that breaks the rules is an error.
fn is_well_formed(quad: QuadRef<'_>) -> Result<bool, SyntaxError> {
    let is_object_good = match quad.object {
        oxrdf::TermRef::NamedNode(iri) => is_absolute(iri)?,
        oxrdf::TermRef::BlankNode(label) => is_label(label)?,
        oxrdf::TermRef::Literal(literal) => match literal.language() {
            None => is_absolute(literal.datatype())?,
            Some(tag) => match Literal::new_language_tagged_literal("", tag) {
                Ok(_) => true,
                Err(error) => {
                    let message = format!("'{tag}' is not a language tag: {error}");
                    return Err(SyntaxError::unplaced(&message));
                }
            },
        },
    };
    let is_subject_good = match quad.subject {
        NamedOrBlankNodeRef::NamedNode(iri) => is_absolute(iri)?,
        NamedOrBlankNodeRef::BlankNode(label) => is_label(label)?,
    };
    let is_graph_good = match quad.graph_name {
        GraphNameRef::NamedNode(iri) => is_absolute(iri)?,
        GraphNameRef::BlankNode(label) => is_label(label)?,
        GraphNameRef::DefaultGraph => true,
    };
    Ok(is_object_good && is_subject_good && is_graph_good && is_absolute(quad.predicate)?)
}

/// False for a relative IRI.
fn is_absolute(iri: NamedNodeRef<'_>) -> Result<bool, SyntaxError> {
    let text = iri.as_str();
    let Err(error) = NamedNodeRef::new(text) else {
        return Ok(true);
    };
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let has_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    if has_scheme {
        let message = format!("'{text}' is not an IRI: {error}");
        return Err(SyntaxError::unplaced(&message));
    }
    Ok(false)
}

fn is_label(node: BlankNodeRef<'_>) -> Result<bool, SyntaxError> {
    match BlankNodeRef::new(node.as_str()) {
        Ok(_) => Ok(true),
        Err(_) => {
            let message = format!("'_:{}' is not a blank node", node.as_str());
            Err(SyntaxError::unplaced(&message))
        }
    }
}
