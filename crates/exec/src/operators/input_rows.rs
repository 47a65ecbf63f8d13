//! `InputRows`: rows of many batches by number, which threads take in pieces.
//!
//! ```text
//! batches   [ 0 .. ] [ 2048 .. ] [ 4000 .. ] ..
//! pieces    [ 0 ..                       ] [ 32768 .. ] ..     of as many rows each, wherever batches end
//! ```
//!
//! Cost: 8 bytes a batch, and a handle of it.

use crate::batch::Batch;
use std::ops::Range;

/// Rows of a piece, some tenths of a millisecond of work: with a word for each they lie in the second-level cache.
pub const PIECE_ROWS: usize = if cfg!(test) { 64 } else { 1 << 15 };

/// The rows; see the [module documentation](self).
pub struct InputRows {
    batches: Vec<Batch>,
    /// The first row of each batch, and the number of rows.
    starts: Vec<usize>,
}

impl InputRows {
    /// The rows of these batches, one after the other.
    pub fn new(batches: &[Batch]) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        starts.extend(batches.iter().map(|batch| {
            end += batch.rows();
            end
        }));
        Self {
            batches: batches.to_vec(),
            starts,
        }
    }

    /// All batches.
    pub fn all(&self) -> &[Batch] {
        &self.batches
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.starts.last().copied().unwrap_or_default()
    }

    /// How many pieces there are.
    pub fn pieces(&self) -> usize {
        self.count().div_ceil(PIECE_ROWS)
    }

    /// The rows of a piece.
    pub fn piece(&self, piece: usize) -> Range<usize> {
        let first = piece * PIECE_ROWS;
        first..self.count().min(first + PIECE_ROWS)
    }

    /// The batches that have these rows, and which of each are of them.
    pub fn batches(&self, rows: Range<usize>) -> impl Iterator<Item = (&Batch, Range<usize>)> {
        let after = self.starts.partition_point(|&start| start <= rows.start);
        let first = after.saturating_sub(1);
        let starts = self.starts[first..].iter().copied();
        starts
            .zip(&self.batches[first..])
            .take_while(move |(start, _)| *start < rows.end)
            .map(move |(start, batch)| {
                let end = rows.end.min(start + batch.rows());
                (batch, rows.start.max(start) - start..end - start)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_all_rows_in_order() {
        let batches = [0, 1, 200, 0, 0, 63, 64, 0].map(Batch::of_rows);
        let rows = InputRows::new(&batches);
        assert_eq!((rows.count(), rows.pieces()), (328, 6));
        let starts = [0, 0, 1, 201, 201, 201, 264, 328];
        let mut next = 0;
        for piece in 0..rows.pieces() {
            assert_eq!(rows.piece(piece).start, next);
            for (batch, within) in rows.batches(rows.piece(piece)) {
                let mut same = rows.batches.iter();
                let number = same.position(|other| std::ptr::eq(other, batch));
                let start = starts[number.expect("one of them")];
                if !within.is_empty() {
                    assert_eq!(start + within.start, next);
                    next = start + within.end;
                }
            }
            assert_eq!(rows.piece(piece).end, next);
        }
        assert_eq!(next, 328);
        assert_eq!(InputRows::new(&[]).pieces(), 0);
    }
}
