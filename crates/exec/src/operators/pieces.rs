//! Pieces of one work, which threads take by a counter.

use super::pipeline::on_threads;
use crate::context::Context;
use crate::error::ExecError;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does so many pieces of a work on up to so many threads, this one among them; gives what each piece gave, in order.
pub fn in_pieces<T: Send + 'static>(
    pieces: usize,
    threads: usize,
    work: impl Fn(usize, &Context) -> Result<T, ExecError> + Send + Sync + 'static,
    cx: &Context,
) -> Result<Vec<T>, ExecError> {
    let taking = Arc::new(Taking {
        next: AtomicUsize::new(0),
        pieces,
        work,
    });
    let others = (1..threads.min(pieces)).map(|_| {
        let (taking, cx) = (Arc::clone(&taking), cx.shared());
        move || taking.take(&cx)
    });
    let taken = on_threads(|| taking.take(cx), others.collect(), cx)?;
    let mut taken: Vec<(usize, T)> = taken.into_iter().flatten().collect();
    taken.sort_unstable_by_key(|(piece, _)| *piece);
    Ok(taken.into_iter().map(|(_, given)| given).collect())
}

/// The same of so many rows, in consecutive pieces of a length.
pub fn in_ranges<T: Send + 'static>(
    rows: usize,
    piece_rows: usize,
    threads: usize,
    work: impl Fn(Range<usize>, &Context) -> Result<T, ExecError> + Send + Sync + 'static,
    cx: &Context,
) -> Result<Vec<T>, ExecError> {
    let work = move |piece: usize, cx: &Context| {
        let start = piece * piece_rows;
        work(start..rows.min(start + piece_rows), cx)
    };
    in_pieces(rows.div_ceil(piece_rows), threads, work, cx)
}

struct Taking<F> {
    /// The next piece.
    next: AtomicUsize,
    pieces: usize,
    work: F,
}

impl<F> Taking<F> {
    /// Takes pieces while there are any: which, and what they gave.
    fn take<T>(&self, cx: &Context) -> Result<Vec<(usize, T)>, ExecError>
    where
        F: Fn(usize, &Context) -> Result<T, ExecError>,
    {
        let mut taken = Vec::new();
        loop {
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            if piece >= self.pieces {
                return Ok(taken);
            }
            cx.check()?;
            taken.push((piece, (self.work)(piece, cx)?));
        }
    }
}
