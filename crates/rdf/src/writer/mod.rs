//! Writers: [`QuadView`]s in, text out, as a stream.
//!
//! N-Triples and N-Quads are written one statement per line, escaped as the canonical forms ask.
//! Turtle and TriG group consecutive quads of one graph, subject and predicate, RDF/XML and JSON-LD those of
//! one subject, so that sorted input gives readable text; nothing is held back longer than the text of the buffer.
//!
//! Invariant: reading the text again gives the same quads, blank nodes renamed at most. What a format
//! cannot say (a named graph, some predicates and characters in RDF/XML) is an error.
//!
//! Cost: text is gathered in one buffer and written when that is full, so the target needs none.

pub mod compress;

mod grouped;
mod json_ld;
mod rdf_xml;
mod terms;

use std::io::{self, Write};

use crate::reader::GraphFormat;
use crate::term_view::QuadView;

use grouped::Grouped;
use json_ld::JsonLd;
use rdf_xml::RdfXml;

/// Bytes gathered before they are written.
const BUFFER_BYTES: usize = 64 << 10;

/// Writes quads in one format; [`finish`](Self::finish) must be called at the end.
pub struct QuadWriter<W> {
    /// The target.
    target: W,
    /// Text not yet written.
    buffer: Vec<u8>,
    /// How statements are laid out.
    layout: Layout,
}

/// How statements are laid out.
enum Layout {
    /// One per line.
    Lines(GraphFormat),
    /// Grouped, as Turtle or TriG.
    Grouped(Box<Grouped>),
    /// As RDF/XML.
    RdfXml(Box<RdfXml>),
    /// As JSON-LD.
    JsonLd(Box<JsonLd>),
}

impl<W: Write> QuadWriter<W> {
    /// A writer without prefixes.
    pub fn new(target: W, format: GraphFormat) -> Self {
        let layout = match format {
            GraphFormat::NTriples | GraphFormat::NQuads => Layout::Lines(format),
            GraphFormat::Turtle | GraphFormat::TriG => {
                Layout::Grouped(Box::new(Grouped::new(format)))
            }
            GraphFormat::RdfXml => Layout::RdfXml(Box::default()),
            GraphFormat::JsonLd => Layout::JsonLd(Box::default()),
        };
        Self {
            target,
            buffer: Vec::with_capacity(BUFFER_BYTES + 4096),
            layout,
        }
    }

    /// A writer that shortens IRIs by these pairs of prefix name and namespace where the format knows
    /// prefixes (Turtle, TriG, RDF/XML); a name or namespace that could not be read again is an error.
    pub fn with_prefixes<'p>(
        target: W,
        format: GraphFormat,
        prefixes: impl IntoIterator<Item = (&'p str, &'p str)>,
    ) -> io::Result<Self> {
        let mut writer = Self::new(target, format);
        for (name, namespace) in prefixes {
            grouped::check_prefix(name, namespace)?;
            match &mut writer.layout {
                Layout::Grouped(grouped) => grouped.add_prefix(name, namespace),
                Layout::RdfXml(rdf_xml) => rdf_xml.add_prefix(name, namespace),
                Layout::Lines(_) | Layout::JsonLd(_) => {}
            }
        }
        if let Layout::Grouped(grouped) = &writer.layout {
            grouped.write_prefixes(&mut writer.buffer);
        }
        Ok(writer)
    }

    /// Writes one quad. What the format cannot say, such as a named graph in Turtle, and a literal out of
    /// its place are errors, before anything of the quad is written.
    pub fn quad(&mut self, quad: QuadView<'_>) -> io::Result<()> {
        check(quad, self.format())?;
        match &mut self.layout {
            Layout::Lines(_) => terms::push_line(&mut self.buffer, quad),
            Layout::Grouped(grouped) => grouped.push_quad(&mut self.buffer, quad),
            Layout::RdfXml(rdf_xml) => rdf_xml.push_triple(&mut self.buffer, quad)?,
            Layout::JsonLd(json_ld) => json_ld.push_quad(&mut self.buffer, quad),
        }
        if self.buffer.len() >= BUFFER_BYTES {
            self.write_buffer()?;
        }
        Ok(())
    }

    /// Ends the last statement, writes all that is left and gives back the target.
    pub fn finish(mut self) -> io::Result<W> {
        match &mut self.layout {
            Layout::Lines(_) => {}
            Layout::Grouped(grouped) => grouped.push_end(&mut self.buffer),
            Layout::RdfXml(rdf_xml) => rdf_xml.push_end(&mut self.buffer),
            Layout::JsonLd(json_ld) => json_ld.push_end(&mut self.buffer),
        }
        self.write_buffer()?;
        self.target.flush()?;
        Ok(self.target)
    }

    /// The format written.
    pub fn format(&self) -> GraphFormat {
        match &self.layout {
            Layout::Lines(format) => *format,
            Layout::Grouped(grouped) => grouped.format(),
            Layout::RdfXml(_) => GraphFormat::RdfXml,
            Layout::JsonLd(_) => GraphFormat::JsonLd,
        }
    }

    fn write_buffer(&mut self) -> io::Result<()> {
        let result = self.target.write_all(&self.buffer);
        self.buffer.clear();
        result
    }
}

/// Whether the quad can be said in the format.
fn check(quad: QuadView<'_>, format: GraphFormat) -> io::Result<()> {
    let refuse = |message: String| Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    if let (Some(graph), false) = (quad.graph, format.has_graphs()) {
        return refuse(format!("{} cannot name the graph {graph}", format.name()));
    }
    let is_legal = quad.subject.is_resource()
        && matches!(quad.predicate, crate::TermView::Iri(_))
        && quad.graph.is_none_or(|graph| graph.is_resource());
    if !is_legal {
        return refuse(format!("not a quad of RDF: '{quad}'"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
