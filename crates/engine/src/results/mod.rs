//! Result formats: SPARQL JSON, XML, CSV and TSV, and Arrow IPC, streamed.
//!
//! `arrow` has typed columns and a module of its own; the others are texts written row by row, as `rows` says. The rules are those of the W3C recommendations (SPARQL 1.1 Query
//! Results JSON Format; XML Format; CSV and TSV Formats). Memory: one output buffer.

mod arrow;
mod csv;
mod json;
pub mod read;
mod read_csv;
mod read_xml;
mod rows;
mod tsv;
mod written_values;
mod xml;
mod xml_text;

use crate::answer::{GraphAnswer, Solutions};
use crate::error::Error;
use basalt_rdf::GraphFormat;
use basalt_rdf::writer::QuadWriter;
use rows::{RowFormat, write_rows};
use std::io::Write;

/// A format for solutions and booleans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResultsFormat {
    /// SPARQL 1.1 Query Results JSON.
    Json,
    /// SPARQL Query Results XML.
    Xml,
    /// SPARQL 1.1 Query Results CSV.
    Csv,
    /// SPARQL 1.1 Query Results TSV.
    Tsv,
    /// Arrow IPC stream, as `docs/arrow-results.md` says.
    Arrow,
}

impl ResultsFormat {
    /// Every format, the preferred one first.
    pub const ALL: [Self; 5] = [Self::Json, Self::Xml, Self::Csv, Self::Tsv, Self::Arrow];

    /// The format of a short name or file extension.
    pub fn from_name(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "json" | "srj" => Some(Self::Json),
            "xml" | "srx" => Some(Self::Xml),
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            "arrow" | "arrows" => Some(Self::Arrow),
            _ => None,
        }
    }

    /// The format of a media type without parameters.
    pub fn from_media_type(media_type: &str) -> Option<Self> {
        match media_type.to_ascii_lowercase().as_str() {
            "application/sparql-results+json" | "application/json" => Some(Self::Json),
            "application/sparql-results+xml" | "application/xml" | "text/xml" => Some(Self::Xml),
            "text/csv" => Some(Self::Csv),
            "text/tab-separated-values" => Some(Self::Tsv),
            "application/vnd.apache.arrow.stream" => Some(Self::Arrow),
            _ => None,
        }
    }

    /// The media type to answer with.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/sparql-results+json",
            Self::Xml => "application/sparql-results+xml",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Tsv => "text/tab-separated-values; charset=utf-8",
            Self::Arrow => "application/vnd.apache.arrow.stream",
        }
    }
}

/// Writes all solutions and returns how many there were.
pub fn write_solutions(
    solutions: &mut Solutions,
    format: ResultsFormat,
    target: &mut dyn Write,
) -> Result<u64, Error> {
    match format {
        ResultsFormat::Json => write_rows(&json::Json, solutions, target),
        ResultsFormat::Xml => write_rows(&xml::Xml, solutions, target),
        ResultsFormat::Csv => write_rows(&csv::Csv, solutions, target),
        ResultsFormat::Tsv => write_rows(&tsv::Tsv, solutions, target),
        ResultsFormat::Arrow => arrow::write_solutions(solutions, target),
    }
}

/// Writes a boolean answer.
pub fn write_boolean(
    value: bool,
    format: ResultsFormat,
    target: &mut dyn Write,
) -> Result<(), Error> {
    let mut out = Vec::new();
    match format {
        ResultsFormat::Json => json::Json.boolean(&mut out, value),
        ResultsFormat::Xml => xml::Xml.boolean(&mut out, value),
        ResultsFormat::Csv => csv::Csv.boolean(&mut out, value),
        ResultsFormat::Tsv => tsv::Tsv.boolean(&mut out, value),
        ResultsFormat::Arrow => return arrow::write_boolean(value, target),
    }
    target.write_all(&out)?;
    target.flush()?;
    Ok(())
}

/// Writes the triples of a CONSTRUCT or DESCRIBE and returns how many there were.
pub fn write_graph(
    answer: &mut GraphAnswer,
    format: GraphFormat,
    target: &mut dyn Write,
) -> Result<u64, Error> {
    let mut writer = QuadWriter::new(target, format);
    let mut count = 0;
    while answer.visit_next(&mut |triple| {
        count += 1;
        writer.quad(triple).map_err(Error::of_writer)
    })? {}
    writer.finish()?.flush()?;
    Ok(count)
}
