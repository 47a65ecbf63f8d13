//! `RowFile`: rows of ids in a temporary file, written once and then read, by several readers if need be.
//!
//! Rows follow each other, 8 bytes for each id, little-endian. Invariants: all rows have one width; the space of the file is given
//! back when it is dropped, even by a kill.

use super::{PURPOSE, buffer_bytes};
use crate::context::{Context, SpillCount};
use crate::error::ExecError;
use basalt_store::TemporaryFile;
use std::sync::Arc;

/// Bytes of an id.
const ID_BYTES: usize = size_of::<u64>();

/// A file that rows are appended to.
#[derive(Debug)]
pub struct RowWriter {
    to: TemporaryFile,
    width: usize,
    rows: u64,
    buffer: Vec<u8>,
    /// Length of the buffer at which it is written.
    full: usize,
    /// Who wants to know of bytes written.
    spilled: SpillCount,
}

impl RowWriter {
    /// An empty file for rows of `width` ids; one of `files` that are open at the same time.
    pub fn create(width: usize, files: usize, cx: &Context) -> Result<Self, ExecError> {
        Ok(Self {
            to: TemporaryFile::create(cx.options().temp.as_deref(), PURPOSE)?,
            width,
            rows: 0,
            buffer: Vec::new(),
            full: buffer_bytes(files, cx),
            spilled: cx.spill_count(),
        })
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, row: impl IntoIterator<Item = u64>) -> Result<(), ExecError> {
        let before = self.buffer.len();
        for id in row {
            self.buffer.extend_from_slice(&id.to_le_bytes());
        }
        debug_assert_eq!(self.buffer.len() - before, self.width * ID_BYTES);
        self.rows += 1;
        if self.buffer.len() >= self.full {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ExecError> {
        self.to.append(&self.buffer)?;
        self.spilled.add(self.buffer.len() as u64);
        self.buffer.clear();
        Ok(())
    }

    /// The rows, to be read.
    pub fn finish(mut self) -> Result<RowFile, ExecError> {
        self.flush()?;
        Ok(RowFile {
            file: Arc::new(self.to),
            width: self.width,
            rows: self.rows,
        })
    }
}

/// Rows in a file; clones share the file.
#[derive(Clone, Debug)]
pub struct RowFile {
    file: Arc<TemporaryFile>,
    width: usize,
    rows: u64,
}

impl RowFile {
    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Ids in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Reads from the first row on; one of `files` that are open at the same time.
    pub fn reader(self, files: usize, cx: &Context) -> RowReader {
        let row_bytes = (self.width * ID_BYTES).max(1);
        let block_rows = (buffer_bytes(files, cx) / row_bytes).max(1);
        RowReader {
            file: self,
            offset: 0,
            block_rows,
            ids: Vec::new(),
            next: 0,
            bytes: Vec::new(),
            block_left: 0,
        }
    }
}

/// Reads the rows of a file in order.
#[derive(Debug)]
pub struct RowReader {
    /// The file; its number of rows is what is left after the block.
    file: RowFile,
    /// Where the next block begins.
    offset: u64,
    block_rows: usize,
    /// The rows of the block at hand.
    ids: Vec<u64>,
    /// Where the next row begins in `ids`.
    next: usize,
    bytes: Vec<u8>,
    /// Rows of the block that were not handed out.
    block_left: usize,
}

impl RowReader {
    /// The next row.
    #[inline]
    pub fn next_row(&mut self) -> Result<Option<&[u64]>, ExecError> {
        if self.block_left == 0 && !self.read_block()? {
            return Ok(None);
        }
        let start = self.next;
        self.next += self.file.width;
        self.block_left -= 1;
        Ok(Some(&self.ids[start..self.next]))
    }

    fn read_block(&mut self) -> Result<bool, ExecError> {
        let rows = self.file.rows.min(self.block_rows as u64) as usize;
        if rows == 0 {
            return Ok(false);
        }
        self.bytes.resize(rows * self.file.width * ID_BYTES, 0);
        self.file.file.read_at(self.offset, &mut self.bytes)?;
        self.offset += self.bytes.len() as u64;
        self.ids.clear();
        let ids = self.bytes.chunks_exact(ID_BYTES);
        self.ids.extend(ids.map(|bytes| {
            let bytes = bytes.try_into().expect("chunks have the length of an id");
            u64::from_le_bytes(bytes)
        }));
        self.file.rows -= rows as u64;
        self.block_left = rows;
        self.next = 0;
        Ok(true)
    }

    /// The next rows as columns, at most `rows_max`; no rows at the end.
    pub fn next_columns(&mut self, rows_max: usize) -> Result<(Vec<Vec<u64>>, usize), ExecError> {
        let mut columns = vec![Vec::new(); self.file.width];
        let mut rows = 0;
        while rows < rows_max
            && let Some(row) = self.next_row()?
        {
            for (column, &id) in columns.iter_mut().zip(row) {
                column.push(id);
            }
            rows += 1;
        }
        Ok((columns, rows))
    }
}
