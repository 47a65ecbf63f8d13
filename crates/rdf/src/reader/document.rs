//! Whole documents of any format, as a stream: Turtle and TriG by rio_turtle, RDF/XML and JSON-LD by
//! oxrdfio (in a module of its own), the line formats by blocks on this thread.
//!
//! All but the line formats cannot be cut into independent pieces, so they are read by one thread and the first
//! syntax error ends the document, also when reading leniently. Blank nodes without a label get labels from the
//! parser that differ from all labels of the document.
//!
//! Cost: memory for a chunk and for the longest statement; a fraction of the speed of the line formats.

use std::cell::RefCell;
use std::io::Read;
use std::ops::ControlFlow;
use std::rc::Rc;

use oxrdf::NamedNodeRef;
use rio_api::model::{GraphName, Literal, Subject, Term};
use rio_api::parser::{ParseError, QuadsParser, TriplesParser};
use rio_turtle::{TriGParser, TurtleError, TurtleParser};

use super::blocks::BlockReader;
use super::lines::{LineScratch, parse_block};
use super::oxrdfio_documents::{read_json_ld, read_rdf_xml};
use super::single_line::{QUOTED_TRIPLE, quad_view, rio_message};
use super::turtle_source::{SourceLog, TurtleSource};
use super::{GraphFormat, LineFormat, QuadSink, ReadError, SyntaxError};

/// Reads a document to its end and returns the number of quads.
///
/// `base` resolves relative IRIs; without it they are errors, but for JSON-LD, whose rules drop statements
/// with relative IRIs. Bad lines of the line formats go to `on_error`, which says whether to go on; the first error
/// of any other format is final.
pub fn read_document<S: QuadSink>(
    reader: impl Read,
    format: GraphFormat,
    base: Option<&str>,
    sink: &mut S,
    on_error: &mut impl FnMut(SyntaxError) -> ControlFlow<SyntaxError>,
) -> Result<u64, ReadError<S::Error>> {
    match format {
        GraphFormat::NTriples => read_lines(reader, LineFormat::NTriples, sink, on_error),
        GraphFormat::NQuads => read_lines(reader, LineFormat::NQuads, sink, on_error),
        GraphFormat::Turtle | GraphFormat::TriG => {
            read_turtle(reader, format == GraphFormat::TriG, base, sink)
        }
        GraphFormat::RdfXml => read_rdf_xml(reader, base, sink),
        GraphFormat::JsonLd => read_json_ld(reader, base, sink),
    }
}

/// Reads N-Triples or N-Quads block by block.
fn read_lines<S: QuadSink>(
    reader: impl Read,
    format: LineFormat,
    sink: &mut S,
    on_error: &mut impl FnMut(SyntaxError) -> ControlFlow<SyntaxError>,
) -> Result<u64, ReadError<S::Error>> {
    let mut blocks = BlockReader::new(reader);
    let mut scratch = LineScratch::new();
    let mut memory = Vec::new();
    let mut count = 0;
    loop {
        let next = blocks.next_block(memory).map_err(ReadError::io)?;
        let Some(block) = next else {
            return Ok(count);
        };
        count += parse_block(
            &block.bytes,
            format,
            block.first_line,
            &mut scratch,
            sink,
            on_error,
        )?;
        memory = block.bytes;
    }
}

/// Why rio stopped.
enum Stop<E> {
    /// Rio found an error.
    Rio(TurtleError),
    /// A quoted triple.
    Star,
    /// The sink refused the quad.
    Sink(E),
}

impl<E> From<TurtleError> for Stop<E> {
    fn from(error: TurtleError) -> Self {
        Self::Rio(error)
    }
}

/// Hands rio's terms to the sink.
struct Handover<'s, S> {
    /// Notes about the text: language tags as written.
    log: Rc<RefCell<SourceLog>>,
    /// Where the quads go.
    sink: &'s mut S,
    /// Quads handed over.
    count: u64,
}

impl<S: QuadSink> Handover<'_, S> {
    fn take(
        &mut self,
        subject: Subject<'_>,
        predicate: &str,
        object: Term<'_>,
        graph: Option<GraphName<'_>>,
    ) -> Result<(), Stop<S::Error>> {
        let tag = match object {
            Term::Literal(Literal::LanguageTaggedString { .. }) => self.log.borrow_mut().next_tag(),
            _ => None,
        };
        let quad = quad_view(subject, predicate, object, graph, || tag.as_deref());
        self.sink
            .quad(quad.ok_or(Stop::Star)?)
            .map_err(Stop::Sink)?;
        self.count += 1;
        Ok(())
    }
}

fn read_turtle<S: QuadSink>(
    reader: impl Read,
    is_trig: bool,
    base: Option<&str>,
    sink: &mut S,
) -> Result<u64, ReadError<S::Error>> {
    let log = Rc::new(RefCell::new(SourceLog::default()));
    let mut handover = Handover {
        log: Rc::clone(&log),
        sink,
        count: 0,
    };
    let prologue = base_prologue(base)?;
    let source = TurtleSource::new(reader, Rc::clone(&log));
    let source = prologue.as_bytes().chain(source);
    let result = if is_trig {
        TriGParser::new(source, None)
            .parse_all(&mut |q| handover.take(q.subject, q.predicate.iri, q.object, q.graph_name))
    } else {
        TurtleParser::new(source, None)
            .parse_all(&mut |t| handover.take(t.subject, t.predicate.iri, t.object, None))
    };
    // Rio hides some read errors as an early end, so these come before its own verdict.
    let mut log = log.borrow_mut();
    if let Some(error) = log.text.utf8_error.take() {
        return Err(error.into());
    }
    if let Some(error) = log.text.io_error.take() {
        return Err(ReadError::io(error));
    }
    match result {
        Ok(()) => Ok(handover.count),
        Err(Stop::Sink(error)) => Err(ReadError::Sink(error)),
        Err(Stop::Star) => Err(SyntaxError::unplaced(QUOTED_TRIPLE).into()),
        Err(Stop::Rio(error)) => match error.textual_position() {
            Some(place) => {
                // The prologue stands on the first line in front of the text.
                let (line, mut byte) = (place.line_number(), place.byte_number());
                if line == 1 {
                    byte = byte.saturating_sub(prologue.len() as u64);
                }
                Err(log
                    .text
                    .syntax_error(line, byte, rio_message(&error))
                    .into())
            }
            None => Err(ReadError::io(error.into())),
        },
    }
}

/// A directive that gives rio the base IRI: rio takes one only as a type of a crate that is not ours to
/// name.
fn base_prologue(base: Option<&str>) -> Result<String, SyntaxError> {
    check_base(base)?;
    Ok(base.map_or_else(String::new, |base| format!("@base <{base}> . ")))
}

/// Whether the base, if there is one, can resolve IRIs.
pub(super) fn check_base(base: Option<&str>) -> Result<(), SyntaxError> {
    match base.map(|base| (base, NamedNodeRef::new(base))) {
        Some((base, Err(error))) => {
            let message = format!("the base '{base}' is not an absolute IRI: {error}");
            Err(SyntaxError::unplaced(&message))
        }
        _ => Ok(()),
    }
}
