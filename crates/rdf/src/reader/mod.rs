//! Readers: bytes in, [`QuadView`]s out.
//!
//! The line formats go through [`blocks`] (whole-line blocks, so that many threads can parse) and
//! [`lines`] (a fast path for plain lines, rio_turtle for the rest), Turtle and TriG through [`turtle_blocks`] (blocks of
//! whole statements); [`document`] reads whole documents of any format on one thread, the only way for
//! RDF/XML and JSON-LD. [`input`] opens files and undoes compression.
//!
//! **Blank nodes**: a reader reports labels as they are written (or as the parser makes them up for
//! `[]` and collections). They mean something within one file only; keeping files apart is the
//! business of whoever loads several.

pub mod blocks;
pub mod counted_reader;
pub mod document;
pub mod input;
pub mod lines;
pub mod turtle_blocks;

mod json_source;
mod oxrdfio_documents;
mod read_ahead;
mod single_line;
mod syntax_error;
mod turtle_scan;
mod turtle_source;
mod turtle_state;
mod turtle_text;
mod utf8_chunks;
mod xml_source;

use std::io;
use std::path::Path;

use crate::term_view::QuadView;

pub use syntax_error::SyntaxError;

/// The syntaxes that this crate reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GraphFormat {
    /// One triple per line.
    NTriples,
    /// One quad per line.
    NQuads,
    /// Turtle.
    Turtle,
    /// Turtle with named graphs.
    TriG,
    /// RDF/XML.
    RdfXml,
    /// JSON-LD 1.1, without remote contexts.
    JsonLd,
}

/// The syntaxes of one statement per line, which can be cut anywhere between lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineFormat {
    /// One triple per line.
    NTriples,
    /// One quad per line.
    NQuads,
}

impl GraphFormat {
    /// All formats.
    pub const ALL: [Self; 6] = [
        Self::NTriples,
        Self::NQuads,
        Self::Turtle,
        Self::TriG,
        Self::RdfXml,
        Self::JsonLd,
    ];

    /// The format of a short name or a media type.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::from_extension(name).or_else(|| Self::from_media_type(name))
    }

    /// The format of a file name extension, in any case and without the point.
    pub fn from_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "nt" | "ntriples" => Some(Self::NTriples),
            "nq" | "nquads" => Some(Self::NQuads),
            "ttl" | "turtle" | "n3" => Some(Self::Turtle),
            "trig" => Some(Self::TriG),
            "rdf" | "rdfxml" | "owl" | "xml" => Some(Self::RdfXml),
            "jsonld" | "json-ld" => Some(Self::JsonLd),
            _ => None,
        }
    }

    /// The format of a path, looking behind the extension of a compression.
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        if input::Compression::from_extension(extension).is_some() {
            let inner = Path::new(path.file_stem()?).extension()?.to_str()?;
            return Self::from_extension(inner);
        }
        Self::from_extension(extension)
    }

    /// The format of a media type; parameters such as `charset` are ignored.
    pub fn from_media_type(media_type: &str) -> Option<Self> {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        match essence.to_ascii_lowercase().as_str() {
            "application/n-triples" | "text/plain" => Some(Self::NTriples),
            "application/n-quads" | "text/x-nquads" | "text/nquads" => Some(Self::NQuads),
            "text/turtle" | "application/turtle" | "application/x-turtle" => Some(Self::Turtle),
            "application/trig" | "application/x-trig" => Some(Self::TriG),
            "application/rdf+xml" | "application/xml" | "text/xml" => Some(Self::RdfXml),
            "application/ld+json" => Some(Self::JsonLd),
            _ => None,
        }
    }

    /// The usual file name extension.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::NTriples => "nt",
            Self::NQuads => "nq",
            Self::Turtle => "ttl",
            Self::TriG => "trig",
            Self::RdfXml => "rdf",
            Self::JsonLd => "jsonld",
        }
    }

    /// The registered media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::NTriples => "application/n-triples",
            Self::NQuads => "application/n-quads",
            Self::Turtle => "text/turtle",
            Self::TriG => "application/trig",
            Self::RdfXml => "application/rdf+xml",
            Self::JsonLd => "application/ld+json",
        }
    }

    /// The name to show to people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NTriples => "N-Triples",
            Self::NQuads => "N-Quads",
            Self::Turtle => "Turtle",
            Self::TriG => "TriG",
            Self::RdfXml => "RDF/XML",
            Self::JsonLd => "JSON-LD",
        }
    }

    /// Whether the format can name graphs.
    pub const fn has_graphs(self) -> bool {
        matches!(self, Self::NQuads | Self::TriG | Self::JsonLd)
    }

    /// The line format, if this is one.
    pub const fn line_format(self) -> Option<LineFormat> {
        match self {
            Self::NTriples => Some(LineFormat::NTriples),
            Self::NQuads => Some(LineFormat::NQuads),
            Self::Turtle | Self::TriG | Self::RdfXml | Self::JsonLd => None,
        }
    }
}

impl From<LineFormat> for GraphFormat {
    fn from(format: LineFormat) -> Self {
        match format {
            LineFormat::NTriples => Self::NTriples,
            LineFormat::NQuads => Self::NQuads,
        }
    }
}

/// Takes the quads that a reader finds.
pub trait QuadSink {
    /// Why a quad could not be taken.
    type Error;

    /// Takes one quad; an error stops the reader.
    fn quad(&mut self, quad: QuadView<'_>) -> Result<(), Self::Error>;
}

impl<F, E> QuadSink for F
where
    F: FnMut(QuadView<'_>) -> Result<(), E>,
{
    type Error = E;

    fn quad(&mut self, quad: QuadView<'_>) -> Result<(), E> {
        self(quad)
    }
}

/// Why reading stopped.
#[derive(Debug, thiserror::Error)]
pub enum ReadError<E> {
    /// The text is not what its format asks for.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The bytes could not be read or decompressed.
    #[error("cannot read {file}: {source}")]
    Io {
        /// The file as the user named it; `the input` if the reader was not told.
        file: String,
        /// What went wrong.
        source: io::Error,
    },
    /// The sink refused a quad.
    #[error("{0}")]
    Sink(E),
}

impl<E> ReadError<E> {
    /// A failed read of a file without a name.
    pub(crate) fn io(source: io::Error) -> Self {
        Self::Io {
            file: "the input".to_owned(),
            source,
        }
    }

    /// The same error with the name of its file.
    #[must_use]
    pub fn in_file(self, file: &str) -> Self {
        match self {
            Self::Syntax(error) => Self::Syntax(error.in_file(file)),
            Self::Io { source, .. } => Self::Io {
                file: file.to_owned(),
                source,
            },
            Self::Sink(error) => Self::Sink(error),
        }
    }
}

#[cfg(test)]
mod tests;
