//! Arrow IPC streams: a typed column for each variable, and one for the terms that do not fit it.
//!
//! `docs/arrow-results.md` describes the form. [`column`] chooses types and fills columns, [`lexical`]
//! goes from lexical forms to values and back.
//!
//! Invariant: a term is either given back by its value and the field, or stands in the column of terms.
//!
//! Memory: the ids of the first [`SAMPLE_ROWS`] rows, and one batch of at most [`BATCH_ROWS`] rows or some
//! [`BATCH_TEXT_BYTES`] of text.

mod column;
mod lexical;

use crate::answer::Solutions;
use crate::error::Error;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use basalt_exec::Batch;
use basalt_rdf::{TermBuf, TermId};
use column::{ColumnBuilder, TypeSample};
use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

/// Rows that decide the types.
const SAMPLE_ROWS: usize = 8192;
/// Rows of a batch.
const BATCH_ROWS: usize = 8192;
/// Bytes of text at which a batch ends early; far below what offsets of 32 bits can count.
const BATCH_TEXT_BYTES: usize = 16 << 20;

/// Writes all solutions and returns how many there were.
pub(super) fn write_solutions(
    solutions: &mut Solutions,
    target: &mut dyn Write,
) -> Result<u64, Error> {
    let mut held = Vec::new();
    let mut held_rows = 0;
    while held_rows < SAMPLE_ROWS {
        let Some(batch) = solutions.next_batch()? else {
            break;
        };
        held_rows += batch.rows();
        held.push(batch);
    }
    let mut rows = RowsWriter::new(solutions, &held, target)?;
    for batch in held {
        rows.write(solutions, &batch)?;
    }
    while let Some(batch) = solutions.next_batch()? {
        rows.write(solutions, &batch)?;
    }
    rows.finish()
}

/// Writes a boolean answer.
pub(super) fn write_boolean(value: bool, target: &mut dyn Write) -> Result<(), Error> {
    let fields = vec![Field::new("boolean", DataType::Boolean, false)];
    let schema = Arc::new(Schema::new(fields).with_metadata(answer_kind("boolean")));
    let column: ArrayRef = Arc::new(BooleanArray::from(vec![value]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![column]).map_err(arrow_error)?;
    let mut writer = StreamWriter::try_new(target, &schema).map_err(arrow_error)?;
    writer.write(&batch).map_err(arrow_error)?;
    writer.finish().map_err(arrow_error)
}

fn answer_kind(kind: &str) -> HashMap<String, String> {
    HashMap::from([("sparql.answer".to_owned(), kind.to_owned())])
}

fn arrow_error(error: ArrowError) -> Error {
    Error::Output(match error {
        ArrowError::IoError(_, source) => source,
        other => std::io::Error::other(other),
    })
}

/// Gathers rows into batches of Arrow.
struct RowsWriter<'t> {
    writer: StreamWriter<&'t mut dyn Write>,
    schema: Arc<Schema>,
    columns: Vec<ColumnBuilder>,
    /// Rows gathered.
    pending_rows: usize,
    /// Bytes of text gathered.
    pending_bytes: usize,
    /// Rows in all.
    count: u64,
    term: TermBuf,
}

impl<'t> RowsWriter<'t> {
    /// Chooses the types from the first batches and writes the schema.
    fn new(
        solutions: &Solutions,
        sample: &[Batch],
        target: &'t mut dyn Write,
    ) -> Result<Self, Error> {
        let mut term = TermBuf::new();
        let mut columns = Vec::new();
        let mut fields = Vec::new();
        for (position, variable) in solutions.variables().iter().enumerate() {
            let mut types = TypeSample::default();
            let ids = sample.iter().flat_map(|batch| batch.ids(position));
            for id in ids.take(SAMPLE_ROWS).map(|id| TermId(*id)) {
                if id != TermId::UNBOUND {
                    solutions.terms().decode(id, &mut term)?;
                    types.add(term.view());
                }
            }
            let column_type = types.choose();
            fields.extend(column_type.fields(variable));
            columns.push(ColumnBuilder::new(column_type));
        }
        let schema = Arc::new(Schema::new(fields).with_metadata(answer_kind("solutions")));
        Ok(Self {
            writer: StreamWriter::try_new(target, &schema).map_err(arrow_error)?,
            schema,
            columns,
            pending_rows: 0,
            pending_bytes: 0,
            count: 0,
            term,
        })
    }

    fn write(&mut self, solutions: &Solutions, batch: &Batch) -> Result<(), Error> {
        for row in 0..batch.rows() {
            for (position, column) in self.columns.iter_mut().enumerate() {
                match TermId(batch.ids(position)[row]) {
                    TermId::UNBOUND => column.push_unbound(),
                    id => {
                        solutions.terms().decode(id, &mut self.term)?;
                        self.pending_bytes += column.push(self.term.view());
                    }
                }
            }
            self.pending_rows += 1;
            if self.pending_rows == BATCH_ROWS || self.pending_bytes >= BATCH_TEXT_BYTES {
                self.write_pending()?;
            }
        }
        Ok(())
    }

    fn write_pending(&mut self) -> Result<(), Error> {
        if self.pending_rows == 0 {
            return Ok(());
        }
        let arrays = self.columns.iter_mut().flat_map(ColumnBuilder::finish);
        let options = RecordBatchOptions::new().with_row_count(Some(self.pending_rows));
        let schema = Arc::clone(&self.schema);
        let batch = RecordBatch::try_new_with_options(schema, arrays.collect(), &options);
        let batch = batch.map_err(arrow_error)?;
        self.writer.write(&batch).map_err(arrow_error)?;
        self.count += self.pending_rows as u64;
        (self.pending_rows, self.pending_bytes) = (0, 0);
        Ok(())
    }

    fn finish(mut self) -> Result<u64, Error> {
        self.write_pending()?;
        self.writer.finish().map_err(arrow_error)?;
        self.writer.flush().map_err(arrow_error)?;
        Ok(self.count)
    }
}
