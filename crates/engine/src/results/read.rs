//! Results in: SPARQL results in any of the four formats, from bytes to rows of terms.
//!
//! JSON and TSV by the crate `sparesults`, XML and CSV here. CSV does not say what a value is: every value
//! of it is a plain literal, and an empty one is unbound. Rows are read as they are asked for.
//! Language tags come in lower case, in which they are the same tags.
//!
//! Invariant: after an error there are no more rows. Memory: one row, for JSON whose head comes last
//! all of them.

use super::ResultsFormat;
use super::read_csv::CsvRows;
use super::read_xml::{self, XmlResults};
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
        ResultsFormat::Json => parse(QueryResultsFormat::Json, "JSON", reader),
        ResultsFormat::Tsv => parse(QueryResultsFormat::Tsv, "TSV", reader),
        ResultsFormat::Xml => {
            let wrong = |message: String| Error::Results {
                format: "XML",
                message,
            };
            Ok(match read_xml::read(reader).map_err(wrong)? {
                XmlResults::Boolean(value) => ReadResults::Boolean(value),
                XmlResults::Rows(rows) => {
                    let names = rows.variables().to_vec();
                    solutions(names, rows.map(move |row| row.map_err(wrong)))
                }
            })
        }
        ResultsFormat::Arrow => Err(Error::Unsupported(
            "reading results in Arrow IPC, which any Arrow library does".to_owned(),
        )),
        ResultsFormat::Csv => {
            let wrong = |message: String| Error::Results {
                format: "CSV",
                message,
            };
            let rows = CsvRows::new(reader).map_err(wrong)?;
            let names = rows.variables().to_vec();
            Ok(solutions(names, rows.map(move |row| row.map_err(wrong))))
        }
    }
}

fn solutions<'a>(
    variables: Vec<String>,
    rows: impl Iterator<Item = Result<Row, Error>> + 'a,
) -> ReadResults<'a> {
    ReadResults::Solutions(ReadSolutions {
        variables,
        rows: Box::new(rows),
        has_failed: false,
    })
}

/// Reads a format that the crate knows.
fn parse<'a>(
    known: QueryResultsFormat,
    name: &'static str,
    reader: impl Read + 'a,
) -> Result<ReadResults<'a>, Error> {
    let wrong = move |error: QueryResultsParseError| Error::Results {
        format: name,
        message: error.to_string(),
    };
    let parser = QueryResultsParser::from_format(known);
    Ok(match parser.for_reader(reader).map_err(wrong)? {
        ReaderQueryResultsParserOutput::Boolean(value) => ReadResults::Boolean(value),
        ReaderQueryResultsParserOutput::Solutions(rows) => {
            let names = rows.variables().iter();
            let names = names.map(|name| name.as_str().to_owned()).collect();
            let row = move |row: Result<sparesults::QuerySolution, _>| {
                row.map(|row| row.values().to_vec()).map_err(wrong)
            };
            solutions(names, rows.map(row))
        }
    })
}
