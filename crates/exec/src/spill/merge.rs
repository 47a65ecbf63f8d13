//! `Merge`: sorted files of rows to one sequence, by a heap of their first rows.
//!
//! Of equal rows that of the earlier file comes first. Comparisons may fail, since they may decode terms. Cost:
//! about `log2 files` comparisons a row; one buffer for each file.

use super::RUNS_MAX;
use super::row_file::{RowFile, RowReader, RowWriter};
use crate::batch::{Batch, columns_with_room};
use crate::context::Context;
use crate::error::ExecError;
use std::cmp::Ordering;

/// Rows between two looks at the query's flag and clock.
const CHECK_ROWS: usize = 1024;

/// By what rows are in order.
pub trait RowOrder {
    /// What is made of a row once, for many comparisons.
    type Key;

    /// Makes the key of a row.
    fn key(&self, row: &[u64], cx: &Context) -> Result<Self::Key, ExecError>;

    /// Compares two rows.
    fn compare(
        &self,
        a: (&[u64], &Self::Key),
        b: (&[u64], &Self::Key),
        cx: &Context,
    ) -> Result<Ordering, ExecError>;
}

/// Rows by their first id, as a number.
pub struct ByNumber;

impl RowOrder for ByNumber {
    type Key = ();

    fn key(&self, _: &[u64], _: &Context) -> Result<(), ExecError> {
        Ok(())
    }

    fn compare(
        &self,
        a: (&[u64], &()),
        b: (&[u64], &()),
        _: &Context,
    ) -> Result<Ordering, ExecError> {
        Ok(a.0.first().cmp(&b.0.first()))
    }
}

/// The first row of a file that is not handed out yet.
struct Head<K> {
    reader: RowReader,
    row: Vec<u64>,
    key: K,
}

/// The merged sequence.
pub struct Merge<O: RowOrder> {
    order: O,
    /// By file; a file that is at its end is not in the heap.
    heads: Vec<Head<O::Key>>,
    /// Indices of heads; each is before its children `2i + 1` and `2i + 2`.
    heap: Vec<usize>,
    /// Rows until the next look at the limits.
    until_check: usize,
}

impl<O: RowOrder> Merge<O> {
    /// Merges files, the earlier ones first among equals.
    pub fn new(files: Vec<RowFile>, order: O, cx: &Context) -> Result<Self, ExecError> {
        let files = in_rounds(files, &order, cx)?;
        Self::of_few(files, order, cx)
    }

    fn of_few(files: Vec<RowFile>, order: O, cx: &Context) -> Result<Self, ExecError> {
        let count = files.len();
        let mut heads = Vec::with_capacity(count);
        for file in files {
            let mut reader = file.reader(count, cx);
            let Some(row) = reader.next_row()?.map(<[u64]>::to_vec) else {
                continue;
            };
            let key = order.key(&row, cx)?;
            heads.push(Head { reader, row, key });
        }
        let mut merge = Self {
            order,
            heap: (0..heads.len()).collect(),
            heads,
            until_check: CHECK_ROWS,
        };
        for place in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(place, cx)?;
        }
        Ok(merge)
    }

    /// Puts the next row into `out`; false at the end.
    pub fn next_row(&mut self, out: &mut Vec<u64>, cx: &Context) -> Result<bool, ExecError> {
        let Some(&first) = self.heap.first() else {
            return Ok(false);
        };
        self.until_check -= 1;
        if self.until_check == 0 {
            cx.check()?;
            self.until_check = CHECK_ROWS;
        }
        let head = &mut self.heads[first];
        std::mem::swap(out, &mut head.row);
        head.row.clear();
        match head.reader.next_row()? {
            Some(row) => {
                head.row.extend_from_slice(row);
                head.key = self.order.key(row, cx)?;
            }
            None => {
                self.heap.swap_remove(0);
            }
        }
        self.sift_down(0, cx)?;
        Ok(true)
    }

    /// The next rows, at most `rows_max`, without their first `skipped` ids; `None` at the end.
    pub fn next_batch(
        &mut self,
        skipped: usize,
        width: usize,
        rows_max: usize,
        cx: &Context,
    ) -> Result<Option<Batch>, ExecError> {
        let mut columns = columns_with_room(width, rows_max);
        let mut rows = 0;
        let mut row = Vec::new();
        while rows < rows_max && self.next_row(&mut row, cx)? {
            for (column, &id) in columns.iter_mut().zip(&row[skipped..]) {
                column.push(id);
            }
            rows += 1;
        }
        Ok((rows > 0).then(|| Batch::from_vectors(columns, rows)))
    }

    fn is_before(&self, a: usize, b: usize, cx: &Context) -> Result<bool, ExecError> {
        let (x, y) = (&self.heads[a], &self.heads[b]);
        let order = self.order.compare((&x.row, &x.key), (&y.row, &y.key), cx)?;
        Ok(order.then(a.cmp(&b)) == Ordering::Less)
    }

    /// Moves a head down to its place.
    fn sift_down(&mut self, mut place: usize, cx: &Context) -> Result<(), ExecError> {
        loop {
            let mut least = place;
            for child in [2 * place + 1, 2 * place + 2] {
                if child < self.heap.len()
                    && self.is_before(self.heap[child], self.heap[least], cx)?
                {
                    least = child;
                }
            }
            if least == place {
                return Ok(());
            }
            self.heap.swap(place, least);
            place = least;
        }
    }
}

/// Runs that may wait to be merged; each is an open file.
const RUNS_WAITING_MAX: usize = 4 * RUNS_MAX;

/// Adds a run to those that wait; once there are too many of them, they are merged to few.
pub fn add_run<O: RowOrder>(
    runs: &mut Vec<RowFile>,
    run: RowFile,
    order: &O,
    cx: &Context,
) -> Result<(), ExecError> {
    runs.push(run);
    if runs.len() >= RUNS_WAITING_MAX {
        *runs = in_rounds(std::mem::take(runs), order, cx)?;
    }
    Ok(())
}

/// Merges neighbours until few enough files are left to be read at once.
fn in_rounds<O: RowOrder>(
    mut files: Vec<RowFile>,
    order: &O,
    cx: &Context,
) -> Result<Vec<RowFile>, ExecError> {
    while files.len() > RUNS_MAX {
        let mut fewer = Vec::with_capacity(files.len().div_ceil(RUNS_MAX));
        let mut rest = files.into_iter().peekable();
        while rest.peek().is_some() {
            let some: Vec<RowFile> = rest.by_ref().take(RUNS_MAX).collect();
            fewer.push(to_one(some, order, cx)?);
        }
        files = fewer;
    }
    Ok(files)
}

fn to_one<O: RowOrder>(files: Vec<RowFile>, order: &O, cx: &Context) -> Result<RowFile, ExecError> {
    let width = files.first().map_or(0, RowFile::width);
    let mut writer = RowWriter::create(width, RUNS_MAX, cx)?;
    let mut merge = Merge::of_few(files, Borrowed(order), cx)?;
    let mut row = Vec::new();
    while merge.next_row(&mut row, cx)? {
        writer.push(row.iter().copied())?;
    }
    writer.finish()
}

/// An order that somebody else has.
struct Borrowed<'a, O>(&'a O);

impl<O: RowOrder> RowOrder for Borrowed<'_, O> {
    type Key = O::Key;

    fn key(&self, row: &[u64], cx: &Context) -> Result<O::Key, ExecError> {
        self.0.key(row, cx)
    }

    fn compare(
        &self,
        a: (&[u64], &O::Key),
        b: (&[u64], &O::Key),
        cx: &Context,
    ) -> Result<Ordering, ExecError> {
        self.0.compare(a, b, cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_store::Snapshot;

    #[test]
    fn more_files_than_are_read_at_once_merge_in_rounds() {
        let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
        let count = RUNS_MAX as u64 * 2 + 3;
        // Row k of file f has the number k * count + f, and every third file is empty.
        let file = |number: u64| {
            let mut writer = RowWriter::create(2, 1, &cx).expect("a temporary file");
            for row in 0..40 * u64::from(!number.is_multiple_of(3)) {
                writer.push([row * count + number, number]).expect("room");
            }
            writer.finish().expect("room")
        };
        let mut merge = Merge::new((0..count).map(file).collect(), ByNumber, &cx).expect("files");
        let mut merged = Vec::new();
        let mut row = Vec::new();
        while merge.next_row(&mut row, &cx).expect("files") {
            merged.push(row[0]);
            assert_eq!(row[0] % count, row[1]);
        }
        let wanted = (0..40 * count).filter(|number| !(number % count).is_multiple_of(3));
        assert!(merged.iter().copied().eq(wanted));
    }
}
