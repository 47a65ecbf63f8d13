//! `SharedIds`: ids of a column, all or some that lie side by side, for threads that look at parts of them.

use super::pieces::in_ranges;
use crate::context::Context;
use crate::error::ExecError;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Ids of a piece: some tenths of a millisecond of work, whatever is done for each.
const PIECE_IDS: usize = if cfg!(test) { 8 } else { 1 << 15 };

/// The ids; cheap to clone.
#[derive(Clone)]
pub struct SharedIds {
    column: Arc<Vec<u64>>,
    range: Range<usize>,
}

impl SharedIds {
    /// Ids of a column.
    pub fn new(column: &Arc<Vec<u64>>, range: Range<usize>) -> Self {
        let column = Arc::clone(column);
        Self { column, range }
    }

    /// What `work` makes of consecutive pieces of the ids, with the index of the first one, on all threads where there are several; in order.
    pub fn in_pieces<T: Send + 'static>(
        &self,
        work: impl Fn(usize, &[u64], &Context) -> Result<T, ExecError> + Send + Sync + 'static,
        cx: &Context,
    ) -> Result<Vec<T>, ExecError> {
        let ids = self.clone();
        let work = move |range: Range<usize>, cx: &Context| work(range.start, &ids[range], cx);
        in_ranges(self.len(), PIECE_IDS, cx.options().threads, work, cx)
    }
}

impl Deref for SharedIds {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.column[self.range.clone()]
    }
}

impl From<Vec<u64>> for SharedIds {
    fn from(ids: Vec<u64>) -> Self {
        let range = 0..ids.len();
        Self::new(&Arc::new(ids), range)
    }
}
