//! The rows of SPARQL results in CSV (RFC 4180): fields, quotes, line ends.
//!
//! Invariant: every row has as many fields as the head; an empty line is a row only where there is one
//! variable (or none). Cost: linear, byte by byte from a buffer.

use oxrdf::{Literal, Term, Variable};
use std::io::{BufReader, Bytes, Read};
use std::iter::Peekable;

/// A row, or what is wrong with the text.
type CsvRow = Result<Vec<Option<Term>>, String>;

/// The rows after the head.
pub(super) struct CsvRows<R: Read> {
    bytes: Peekable<Bytes<BufReader<R>>>,
    variables: Vec<String>,
    /// The line being read, from 1.
    line: usize,
}

impl<R: Read> CsvRows<R> {
    /// Reads the head.
    pub(super) fn new(reader: R) -> Result<Self, String> {
        let mut rows = Self {
            bytes: BufReader::new(reader).bytes().peekable(),
            variables: Vec::new(),
            line: 1,
        };
        let mut names = rows.record()?.ok_or("there is no head")?;
        if names.len() == 1 && names[0].is_empty() {
            names.clear();
        }
        for name in &names {
            if Variable::new(name.as_str()).is_err() {
                return Err(format!("'{name}' is not the name of a variable"));
            }
            if names.iter().filter(|other| *other == name).count() > 1 {
                return Err(format!("the variable '{name}' stands twice in the head"));
            }
        }
        rows.variables = names;
        Ok(rows)
    }

    pub(super) fn variables(&self) -> &[String] {
        &self.variables
    }

    fn byte(&mut self) -> Result<Option<u8>, String> {
        match self.bytes.next() {
            None => Ok(None),
            Some(Ok(byte)) => Ok(Some(byte)),
            Some(Err(error)) => Err(error.to_string()),
        }
    }

    fn next_is(&mut self, wanted: u8) -> bool {
        matches!(self.bytes.peek(), Some(Ok(byte)) if *byte == wanted)
    }

    /// The fields up to the end of a line; `None` at the end of the text.
    fn record(&mut self) -> Result<Option<Vec<String>>, String> {
        if self.bytes.peek().is_none() {
            return Ok(None);
        }
        let line = self.line;
        let mut fields = Vec::new();
        loop {
            let (field, is_last) = self.field()?;
            let field = String::from_utf8(field)
                .map_err(|_| format!("line {line} is not text in UTF-8"))?;
            fields.push(field);
            if is_last {
                self.line += 1;
                return Ok(Some(fields));
            }
        }
    }

    /// One field, and whether the line ends with it.
    fn field(&mut self) -> Result<(Vec<u8>, bool), String> {
        let mut field = Vec::new();
        if self.next_is(b'"') {
            self.byte()?;
            self.quoted(&mut field)?;
            return match self.byte()? {
                Some(b',') => Ok((field, false)),
                Some(b'\r') if self.next_is(b'\n') => {
                    self.byte()?;
                    Ok((field, true))
                }
                None | Some(b'\n') => Ok((field, true)),
                Some(_) => Err(format!("text after a closing quote in line {}", self.line)),
            };
        }
        loop {
            match self.byte()? {
                Some(b',') => return Ok((field, false)),
                None | Some(b'\n') => return Ok((field, true)),
                Some(b'\r') if self.next_is(b'\n') => {
                    self.byte()?;
                    return Ok((field, true));
                }
                Some(b'"') => return Err(format!("a quote inside a field in line {}", self.line)),
                Some(byte) => field.push(byte),
            }
        }
    }

    /// The inside of a quoted field, up to and with the closing quote.
    fn quoted(&mut self, field: &mut Vec<u8>) -> Result<(), String> {
        let line = self.line;
        loop {
            match self.byte()? {
                Some(b'"') if self.next_is(b'"') => {
                    self.byte()?;
                    field.push(b'"');
                }
                Some(b'"') => return Ok(()),
                Some(byte) => {
                    self.line += usize::from(byte == b'\n');
                    field.push(byte);
                }
                None => return Err(format!("the quoted field of line {line} does not end")),
            }
        }
    }

    fn row(&mut self, fields: Vec<String>) -> CsvRow {
        let width = self.variables.len();
        if width == 0 && fields.len() == 1 && fields[0].is_empty() {
            return Ok(Vec::new());
        }
        if fields.len() != width {
            let (line, found) = (self.line - 1, fields.len());
            return Err(format!(
                "the row that ends in line {line} has {found} values for {width} variables"
            ));
        }
        let value =
            |field: String| (!field.is_empty()).then(|| Literal::new_simple_literal(field).into());
        Ok(fields.into_iter().map(value).collect())
    }
}

impl<R: Read> Iterator for CsvRows<R> {
    type Item = CsvRow;

    fn next(&mut self) -> Option<CsvRow> {
        match self.record() {
            Ok(None) => None,
            Ok(Some(fields)) => Some(self.row(fields)),
            Err(error) => Some(Err(error)),
        }
    }
}
