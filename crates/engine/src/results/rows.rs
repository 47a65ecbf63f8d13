//! Solutions as text, row by row: what the formats of text differ in, and the loop that they share.
//!
//! A format writes a value without regard to its row and its column, so that one that comes again can be
//! [copied](super::written_values). Memory: one output buffer of [`BUFFER_BYTES`] and the last row.

use super::written_values::WrittenValues;
use crate::answer::Solutions;
use crate::error::Error;
use basalt_exec::Batch;
use basalt_exec::expr::Numbers;
use basalt_rdf::{TermBuf, TermId, TermView};
use std::io::Write;

/// Bytes gathered before they are written on.
const BUFFER_BYTES: usize = 64 * 1024;

/// What the formats of text differ in.
pub trait RowFormat {
    /// Before the first row.
    fn head(&self, out: &mut Vec<u8>, variables: &[String]);
    /// Before a row; `first` is true for the first one.
    fn begin_row(&self, out: &mut Vec<u8>, first: bool);
    /// Before a value, and before its opening; `position` is its column and `bound_before` the number of values before it in
    /// the row.
    fn begin_value(&self, out: &mut Vec<u8>, position: usize, bound_before: usize);
    /// What stands before each value of a variable.
    fn opening(&self, variable: &str) -> Vec<u8>;
    /// A value, to its end.
    fn value(&self, out: &mut Vec<u8>, term: TermView<'_>);
    /// A column without value.
    fn unbound(&self, out: &mut Vec<u8>, position: usize);
    /// After a row.
    fn end_row(&self, out: &mut Vec<u8>);
    /// After the last row.
    fn tail(&self, out: &mut Vec<u8>);
    /// A boolean answer, whole.
    fn boolean(&self, out: &mut Vec<u8>, value: bool);
}

/// Writes all solutions and returns how many there were.
pub fn write_rows<F: RowFormat>(
    format: &F,
    solutions: &mut Solutions,
    target: &mut dyn Write,
) -> Result<u64, Error> {
    let variables = solutions.variables();
    let mut rows = Rows {
        format,
        openings: variables.iter().map(|name| format.opening(name)).collect(),
        written: WrittenValues::new(),
        term: TermBuf::new(),
        out: Vec::with_capacity(BUFFER_BYTES + BUFFER_BYTES / 4),
    };
    format.head(&mut rows.out, variables);
    let mut count = 0;
    while let Some(batch) = solutions.next_batch()? {
        for row in 0..batch.rows() {
            format.begin_row(&mut rows.out, count == 0);
            rows.push(solutions, &batch, row)?;
            format.end_row(&mut rows.out);
            count += 1;
            if rows.out.len() >= BUFFER_BYTES {
                target.write_all(&rows.out)?;
                rows.written.leave(&rows.out);
                rows.out.clear();
            }
        }
    }
    format.tail(&mut rows.out);
    target.write_all(&rows.out)?;
    target.flush()?;
    Ok(count)
}

/// What a row has in a column.
enum Cell<'b> {
    Unbound,
    Id(TermId),
    /// A computed number that no id holds; it need not become a term of the query.
    Number(&'b Numbers),
}

impl<'b> Cell<'b> {
    fn of(batch: &'b Batch, position: usize, row: usize) -> Self {
        let numbers = batch.numbers_to_write(position);
        let id = match numbers {
            Some(numbers) => numbers.inline_id(row),
            None => Some(batch.ids(position)[row]),
        };
        match (id.map(TermId), numbers) {
            (Some(TermId::UNBOUND), _) | (None, None) => Self::Unbound,
            (Some(id), _) => Self::Id(id),
            (None, Some(numbers)) => Self::Number(numbers),
        }
    }
}

struct Rows<'a, F> {
    format: &'a F,
    /// By column.
    openings: Vec<Vec<u8>>,
    written: WrittenValues,
    term: TermBuf,
    out: Vec<u8>,
}

impl<F: RowFormat> Rows<'_, F> {
    /// The values of a row.
    fn push(&mut self, solutions: &Solutions, batch: &Batch, row: usize) -> Result<(), Error> {
        let out = &mut self.out;
        let mut bound_before = 0;
        for (position, opening) in self.openings.iter().enumerate() {
            let cell = Cell::of(batch, position, row);
            if let Cell::Unbound = cell {
                self.format.unbound(out, position);
                continue;
            }
            self.format.begin_value(out, position, bound_before);
            out.extend_from_slice(opening);
            match cell {
                Cell::Unbound => {}
                Cell::Id(id) => {
                    if !self.written.copy(id, out) {
                        let start = out.len();
                        solutions.terms().decode(id, &mut self.term)?;
                        self.format.value(out, self.term.view());
                        self.written.note(id, start, out);
                    }
                }
                Cell::Number(numbers) => {
                    numbers.term_into(row, &mut self.term);
                    self.format.value(out, self.term.view());
                }
            }
            bound_before += 1;
        }
        Ok(())
    }
}
