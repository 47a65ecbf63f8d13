//! Inverses made in memory for columns that are searched often but have none on disk.
//!
//! Searching a column without inverse looks at the encoded cells of all segments whose zone
//! allows the value. Sorting a column costs about as much as [`SEARCHES_BEFORE_BUILD`] such
//! searches, so after that many the sorted copy is made: whatever comes, the work is at most
//! twice the best possible. Text gets none: its ids are arbitrary and long texts are rarely
//! searched by equality. Memory: 12 bytes for each value.

use crate::table::{Column, TypeClass};
use basalt_columns::SEGMENT_ROWS;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Sorting takes some 60 ns a value, searching encoded cells about 1 ns.
const SEARCHES_BEFORE_BUILD: u32 = 64;

/// An inverse that may come to be.
#[derive(Debug, Default)]
pub(crate) struct LazyInverse {
    searches: AtomicU32,
    sorted: OnceLock<SortedPairs>,
}

/// The (value, row) pairs of a column sorted, as two arrays.
#[derive(Debug)]
pub(crate) struct SortedPairs {
    values: Vec<u64>,
    rows: Vec<u32>,
}

impl LazyInverse {
    /// The inverse if it exists or has become worth making; else counts so many more searches.
    pub(crate) fn get_or_count(&self, column: &Column, searches: u32) -> Option<&SortedPairs> {
        if let Some(sorted) = self.get() {
            return Some(sorted);
        }
        let text = TypeClass::STRING | TypeClass::LANGUAGE | TypeClass::TYPED;
        let is_text = column.definition.type_class.overlaps(text) && !column.is_of_graphs();
        if is_text || column.rows <= SEGMENT_ROWS as u32 {
            return None;
        }
        self.is_due(searches, 0)
            .then(|| self.get_or_make(|| SortedPairs::of(column)))
    }

    /// The inverse if it exists.
    pub(crate) fn get(&self) -> Option<&SortedPairs> {
        self.sorted.get()
    }

    /// Whether it has become worth making, by the searches so far or because so many are for now; counts so many more.
    pub(crate) fn is_due(&self, searches: u32, together: usize) -> bool {
        let before = self.searches.fetch_add(searches, Ordering::Relaxed) as usize;
        before.max(together) >= SEARCHES_BEFORE_BUILD as usize
    }

    /// The inverse, made now if it does not exist.
    pub(crate) fn get_or_make(&self, make: impl FnOnce() -> SortedPairs) -> &SortedPairs {
        self.sorted.get_or_init(make)
    }
}

impl SortedPairs {
    fn of(column: &Column) -> Self {
        let (mut counts, mut values) = (Vec::new(), Vec::new());
        column.scan_lists(0..column.rows, &mut counts, &mut values);
        let mut values = values.into_iter();
        let mut pairs = Vec::with_capacity(values.len());
        for (row, count) in counts.into_iter().enumerate() {
            let of_row = values.by_ref().take(count as usize);
            pairs.extend(of_row.map(|value| (value, row as u32)));
        }
        Self::of_pairs(pairs)
    }

    /// Pairs of a value and a row (or a place, of what has no rows), in any order.
    pub(crate) fn of_pairs(mut pairs: Vec<(u64, u32)>) -> Self {
        pairs.sort_unstable();
        Self {
            values: pairs.iter().map(|p| p.0).collect(),
            rows: pairs.iter().map(|p| p.1).collect(),
        }
    }

    /// The rows of a value, ascending.
    pub(crate) fn of_value(&self, value: u64) -> &[u32] {
        let start = self.values.partition_point(|&v| v < value);
        let end = start + self.values[start..].partition_point(|&v| v == value);
        &self.rows[start..end]
    }

    /// Appends the rows of a value, ascending.
    pub(crate) fn find(&self, value: u64, out: &mut Vec<u32>) {
        out.extend_from_slice(self.of_value(value));
    }
}
