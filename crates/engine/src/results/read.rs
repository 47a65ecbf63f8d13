//! Results in: SPARQL results in any of the four formats, from bytes to rows of terms.
//!
//! JSON, XML and TSV by the crate `sparesults`; CSV here, because it does not say what a value is: every
//! value of it is a plain literal, and an empty one is unbound. Rows are read as they are asked for.
//! Language tags come in lower case, in which they are the same tags.
//!
//! Invariant: after an error there are no more rows. Memory: one row, for JSON whose head comes last
//! all of them.

use super::ResultsFormat;
use super::read_csv::CsvRows;
use super::xml_end::XmlEnd;
use crate::error::Error;
use oxrdf::Term;
use sparesults::{
    QueryResultsFormat, QueryResultsParseError, QueryResultsParser, ReaderQueryResultsParserOutput,
};
use std::fmt;
use std::io::Read;

/// One row: a value or none for each variable.
pub type Row = Vec<Option<Term>>;

/// Results as they were read.
#[derive(Debug)]
pub enum ReadResults<'a> {
    /// The answer of an ASK.
    Boolean(bool),
    /// The answer of a SELECT.
    Solutions(ReadSolutions<'a>),
}

/// Solutions, row by row.
pub struct ReadSolutions<'a> {
    variables: Vec<String>,
    rows: Box<dyn Iterator<Item = Result<Row, Error>> + 'a>,
    has_failed: bool,
}

impl ReadSolutions<'_> {
    /// The names of the variables, without question marks.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }
}

impl fmt::Debug for ReadSolutions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadSolutions")
            .field("variables", &self.variables)
            .finish_non_exhaustive()
    }
}

impl Iterator for ReadSolutions<'_> {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let row = self.rows.next()?;
        self.has_failed = row.is_err();
        Some(row)
    }
}

/// Reads results: the head at once, the rows as they are asked for.
pub fn read<'a>(format: ResultsFormat, reader: impl Read + 'a) -> Result<ReadResults<'a>, Error> {
    match format {
        ResultsFormat::Json => parse(QueryResultsFormat::Json, "JSON", reader, || Ok(())),
        ResultsFormat::Tsv => parse(QueryResultsFormat::Tsv, "TSV", reader, || Ok(())),
        ResultsFormat::Csv => read_csv(reader),
        ResultsFormat::Xml => {
            let reader = XmlEnd::new(reader);
            let mut rest = reader.share();
            let is_whole = move || match rest.is_complete() {
                Ok(true) => Ok(()),
                Ok(false) => Err("the text ends before its root element does".to_owned()),
                Err(error) => Err(error.to_string()),
            };
            parse(QueryResultsFormat::Xml, "XML", reader, is_whole)
        }
    }
}

/// Reads one of the formats that keep terms; `at_end` says whether the end of the rows is the end of
/// the text.
fn parse<'a>(
    known: QueryResultsFormat,
    name: &'static str,
    reader: impl Read + 'a,
    mut at_end: impl FnMut() -> Result<(), String> + 'a,
) -> Result<ReadResults<'a>, Error> {
    let wrong = move |message: String| Error::Results {
        format: name,
        message,
    };
    let failed = move |error: QueryResultsParseError| wrong(error.to_string());
    let parser = QueryResultsParser::from_format(known);
    Ok(match parser.for_reader(reader).map_err(failed)? {
        ReaderQueryResultsParserOutput::Boolean(value) => {
            at_end().map_err(wrong)?;
            ReadResults::Boolean(value)
        }
        ReaderQueryResultsParserOutput::Solutions(mut solutions) => {
            let names = solutions.variables().iter();
            let variables = names.map(|name| name.as_str().to_owned()).collect();
            let mut has_ended = false;
            let rows = std::iter::from_fn(move || match solutions.next() {
                Some(row) => Some(row.map(|row| row.values().to_vec()).map_err(failed)),
                None if has_ended => None,
                None => {
                    has_ended = true;
                    at_end().err().map(|message| Err(wrong(message)))
                }
            });
            ReadResults::Solutions(ReadSolutions {
                variables,
                rows: Box::new(rows),
                has_failed: false,
            })
        }
    })
}

fn read_csv<'a>(reader: impl Read + 'a) -> Result<ReadResults<'a>, Error> {
    let failed = |message: String| Error::Results {
        format: "CSV",
        message,
    };
    let rows = CsvRows::new(reader).map_err(failed)?;
    Ok(ReadResults::Solutions(ReadSolutions {
        variables: rows.variables().to_vec(),
        rows: Box::new(rows.map(move |row| row.map_err(failed))),
        has_failed: false,
    }))
}
