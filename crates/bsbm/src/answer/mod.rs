//! Checks the answer to a query and condenses it to a number of rows and a hash.
//!
//! The hash does not depend on the order of rows or triples and hardly on the engine: numbers are
//! compared by value to six digits, blank nodes are all alike. Equal answers hash equally;
//! different ones collide about once in 2^64. An answer that cannot be read in full is an error.
//! Cost: one pass over the body; no memory per row.

mod format;
mod rows;
mod xml_rows;

pub use format::ResultsFormat;
pub(crate) use rows::{RowSink, Term};

use crate::http::Answer;
use crate::queries::QueryForm;
use crate::random::scramble;
use std::fmt::Write;
use xxhash_rust::xxh3::xxh3_64;

pub(crate) const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
/// How much of an error's body a message quotes.
const QUOTED_BYTES_MAX: usize = 200;

/// The formats asked for.
pub(crate) fn accepted(form: QueryForm, format: ResultsFormat) -> &'static str {
    match form {
        QueryForm::Select => format.media_type(),
        QueryForm::Graph => "application/n-triples",
        QueryForm::Update => "*/*",
    }
}

/// What an answer holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest {
    /// Rows or triples.
    pub(crate) rows: u64,
    pub(crate) hash: u64,
}

impl Digest {
    /// Adds a row or triple, wherever it stands.
    fn add(&mut self, hash: u64) {
        self.rows += 1;
        self.hash = self.hash.wrapping_add(scramble(hash));
    }
}

/// Reads an answer; returns in words what is wrong with it.
pub(crate) fn digest(
    form: QueryForm,
    format: ResultsFormat,
    answer: &Answer,
) -> Result<Digest, String> {
    check(form, format, answer)?;
    match form {
        QueryForm::Select => digest_rows(format, &answer.body),
        QueryForm::Graph => digest_triples(&answer.body),
        QueryForm::Update => Ok(Digest::default()),
    }
}

/// Checks that an answer is a success of the type that was asked for.
pub(crate) fn check(form: QueryForm, format: ResultsFormat, answer: &Answer) -> Result<(), String> {
    if !(200..300).contains(&answer.status) {
        let start = &answer.body[..answer.body.len().min(QUOTED_BYTES_MAX)];
        let text = String::from_utf8_lossy(start);
        return Err(format!("status {}: {}", answer.status, text.trim()));
    }
    let expected = accepted(form, format);
    let media_type = answer.media_type.as_str();
    let is_plain_text = form == QueryForm::Graph && media_type == "text/plain";
    match form == QueryForm::Update || media_type == expected || is_plain_text {
        true => Ok(()),
        false => Err(format!("the answer is {media_type:?}, not {expected:?}")),
    }
}

/// Reads rows in a format; returns in words what is wrong with them.
pub(crate) fn read_rows(
    format: ResultsFormat,
    body: &[u8],
    sink: &mut dyn RowSink,
) -> Result<(), String> {
    match format {
        ResultsFormat::Json => rows::read_json_rows(body, sink),
        ResultsFormat::Xml => xml_rows::read_xml_rows(body, sink),
    }
}

fn digest_rows(format: ResultsFormat, body: &[u8]) -> Result<Digest, String> {
    let mut sink = DigestSink::default();
    read_rows(format, body, &mut sink)?;
    Ok(sink.digest)
}

/// Sums up the hashes of cells to one of the row, and those of rows to one of the answer.
#[derive(Default)]
struct DigestSink {
    digest: Digest,
    row: u64,
    /// The bytes of a cell that are hashed.
    cell: String,
}

impl RowSink for DigestSink {
    fn cell(&mut self, name: &str, term: &Term<'_>) {
        self.cell.clear();
        self.cell.push_str(name);
        self.cell.push('\0');
        push_canonical(term, &mut self.cell);
        self.row = self
            .row
            .wrapping_add(scramble(xxh3_64(self.cell.as_bytes())));
    }

    fn end_row(&mut self) {
        self.digest.add(std::mem::take(&mut self.row));
    }
}

/// Appends a spelling that is the same for terms that count as the same.
fn push_canonical(term: &Term<'_>, out: &mut String) {
    // Old engines write typed literals as a kind of their own.
    out.push_str(match term.kind.as_str() {
        "typed-literal" => "literal",
        kind => kind,
    });
    out.push('\0');
    if term.kind.as_str() == "bnode" {
        return;
    }
    let datatype = term.datatype.as_ref().map_or("", |text| text.as_str());
    let local = datatype.strip_prefix(XSD).unwrap_or_default();
    let number = is_numeric(local).then(|| term.value.as_str().trim().parse::<f64>());
    match number {
        Some(Ok(value)) => {
            // Zero has one spelling; writing to a string cannot fail.
            let _ = write!(out, "{:.5e}", value + 0.0);
        }
        _ => {
            out.push_str(term.value.as_str());
            out.push('\0');
            out.push_str(if local == "string" { "" } else { datatype });
        }
    }
    if let Some(language) = &term.language {
        out.push('\0');
        out.extend(language.as_str().chars().map(|c| c.to_ascii_lowercase()));
    }
}

/// Whether numbers of this datatype, named without its namespace, are compared by value.
pub(crate) fn is_numeric(local: &str) -> bool {
    matches!(local, "integer" | "decimal" | "float" | "double")
}

fn digest_triples(body: &[u8]) -> Result<Digest, String> {
    let mut digest = Digest::default();
    for triple in triples(body)? {
        digest.add(xxh3_64(triple?.as_bytes()));
    }
    Ok(digest)
}

/// The triples of an N-Triples document, spelled with single spaces and nameless blank nodes.
pub(crate) fn triples(
    body: &[u8],
) -> Result<impl Iterator<Item = Result<String, String>> + '_, String> {
    let text = std::str::from_utf8(body).map_err(|_| "the triples are not text".to_owned())?;
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(|line| {
        if !line.ends_with('.') || !(line.starts_with('<') || line.starts_with("_:")) {
            return Err(format!("{line:?} is not a triple"));
        }
        let mut triple = String::with_capacity(line.len());
        for word in line.trim_end_matches('.').split_whitespace() {
            triple.push_str(if word.starts_with("_:") { "_:" } else { word });
            triple.push(' ');
        }
        Ok(triple)
    }))
}
