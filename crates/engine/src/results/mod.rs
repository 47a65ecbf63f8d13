//! Result formats: SPARQL JSON, XML, CSV and TSV, and Arrow IPC, streamed.
//!
//! `arrow` has typed columns and a module of its own; the others are texts written row by row: a writer gets the head, then batches, then the end; it decodes a term straight from the
//! dictionary into its output. The rules are those of the W3C recommendations (SPARQL 1.1 Query
//! Results JSON Format; XML Format; CSV and TSV Formats). Memory: one output buffer.

mod arrow;
mod csv;
mod json;
pub mod read;
mod read_csv;
mod read_xml;
mod tsv;
mod xml;
mod xml_text;

use crate::answer::{GraphAnswer, Solutions};
use crate::error::Error;
use basalt_exec::Batch;
use basalt_rdf::writer::QuadWriter;
use basalt_rdf::{GraphFormat, QuadView, TermBuf, TermId, TermView};
use std::io::Write;

/// Bytes gathered before they are written on.
const BUFFER_BYTES: usize = 64 * 1024;

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

/// What the formats of text differ in.
trait RowFormat {
    /// Before the first row.
    fn head(&self, out: &mut Vec<u8>, variables: &[String]);
    /// Before a row; `first` is true for the first one.
    fn begin_row(&self, out: &mut Vec<u8>, first: bool);
    /// One value; `position` is its column and `bound_before` the number of values before it in the row.
    fn value(
        &self,
        out: &mut Vec<u8>,
        position: usize,
        bound_before: usize,
        variable: &str,
        term: TermView<'_>,
    );
    /// A column without value.
    fn unbound(&self, out: &mut Vec<u8>, position: usize);
    /// After a row.
    fn end_row(&self, out: &mut Vec<u8>);
    /// After the last row.
    fn tail(&self, out: &mut Vec<u8>);
    /// A boolean answer, whole.
    fn boolean(&self, out: &mut Vec<u8>, value: bool);
}

/// The writer of a format of text; Arrow is none.
fn row_format(format: ResultsFormat) -> Option<&'static dyn RowFormat> {
    match format {
        ResultsFormat::Json => Some(&json::Json),
        ResultsFormat::Xml => Some(&xml::Xml),
        ResultsFormat::Csv => Some(&csv::Csv),
        ResultsFormat::Tsv => Some(&tsv::Tsv),
        ResultsFormat::Arrow => None,
    }
}

/// Writes all solutions and returns how many there were.
pub fn write_solutions(
    solutions: &mut Solutions,
    format: ResultsFormat,
    target: &mut dyn Write,
) -> Result<u64, Error> {
    let Some(rows) = row_format(format) else {
        return arrow::write_solutions(solutions, target);
    };
    let variables = solutions.variables().to_vec();
    let mut out = Vec::with_capacity(BUFFER_BYTES + BUFFER_BYTES / 4);
    let mut count = 0;
    let mut buffer = TermBuf::new();
    rows.head(&mut out, &variables);
    while let Some(batch) = solutions.next_batch()? {
        for row in 0..batch.rows() {
            rows.begin_row(&mut out, count == 0);
            write_row(
                rows,
                solutions,
                &batch,
                row,
                &variables,
                &mut buffer,
                &mut out,
            )?;
            rows.end_row(&mut out);
            count += 1;
            if out.len() >= BUFFER_BYTES {
                target.write_all(&out)?;
                out.clear();
            }
        }
    }
    rows.tail(&mut out);
    target.write_all(&out)?;
    target.flush()?;
    Ok(count)
}

fn write_row(
    rows: &dyn RowFormat,
    solutions: &Solutions,
    batch: &Batch,
    row: usize,
    variables: &[String],
    buffer: &mut TermBuf,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut bound = 0;
    for (position, variable) in variables.iter().enumerate() {
        match TermId(batch.ids(position)[row]) {
            TermId::UNBOUND => rows.unbound(out, position),
            id => {
                solutions.terms().decode(id, buffer)?;
                rows.value(out, position, bound, variable, buffer.view());
                bound += 1;
            }
        }
    }
    Ok(())
}

/// Writes a boolean answer.
pub fn write_boolean(
    value: bool,
    format: ResultsFormat,
    target: &mut dyn Write,
) -> Result<(), Error> {
    let Some(rows) = row_format(format) else {
        return arrow::write_boolean(value, target);
    };
    let mut out = Vec::new();
    rows.boolean(&mut out, value);
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
    while let Some(triples) = answer.next_triples()? {
        for triple in &triples {
            let subject = oxrdf::Term::from(triple.subject.clone());
            let quad = QuadView {
                subject: TermView::from(subject.as_ref()),
                predicate: TermView::Iri(triple.predicate.as_str()),
                object: TermView::from(triple.object.as_ref()),
                graph: None,
            };
            writer.quad(quad).map_err(Error::of_writer)?;
            count += 1;
        }
    }
    writer.finish()?.flush()?;
    Ok(count)
}
