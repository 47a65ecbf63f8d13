//! Whole documents of any format, as a stream: Turtle and TriG by rio_turtle, RDF/XML and JSON-LD by
//! oxrdfio (in a module of its own), the line formats by blocks on this thread.
//!
//! This is one thread's way through a document; many threads read lines by [`blocks`](super::blocks) and
//! [`lines`](super::lines), Turtle and TriG by [`turtle_blocks`](super::turtle_blocks). The first syntax error of all
//! but the line formats ends the document, also when reading leniently. Blank nodes without a label get labels from the
//! parser that differ from all labels of the document.
//!
//! Cost: memory for a chunk and for the longest statement; a fraction of the speed of the line formats.

use std::io::Read;
use std::ops::ControlFlow;

use oxrdf::NamedNodeRef;

use super::blocks::BlockReader;
use super::lines::{LineScratch, parse_block};
use super::oxrdfio_documents::{read_json_ld, read_rdf_xml};
use super::turtle_text::{TurtleText, read_turtle_text};
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

fn read_turtle<S: QuadSink>(
    reader: impl Read,
    is_trig: bool,
    base: Option<&str>,
    sink: &mut S,
) -> Result<u64, ReadError<S::Error>> {
    let text = TurtleText {
        is_trig,
        prologue: &base_prologue(base)?,
        epilogue: "",
        line: 1,
        line_start: &[],
        part: None,
    };
    let end = read_turtle_text(&text, reader, sink);
    end.result.map(|()| end.count)
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
