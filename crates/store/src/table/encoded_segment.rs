//! Encoding the values of one column for one segment's rows; pure, so any thread can do it.

use super::distinct::DistinctSketch;
use basalt_columns::segment::{Zone, encode_lists, encode_single};
use std::borrow::Cow;

/// The values of a column for consecutive rows: a full segment, or the last rows of the table.
#[derive(Clone, Copy, Debug)]
pub enum SegmentValues<'a> {
    /// One value for each row, 0 where there is none.
    Single(&'a [u64]),
    /// Any number of values for each row: those of row `i` are
    /// `values[offsets[i]..offsets[i + 1]]`, without repeats, in any order.
    Lists {
        /// One more than rows.
        offsets: &'a [u32],
        /// The values, none of them 0.
        values: &'a [u64],
    },
}

/// An encoded segment, ready for [`TableWriter::push`](super::TableWriter::push).
#[derive(Clone, Debug)]
pub struct EncodedSegment {
    pub(super) bytes: Vec<u8>,
    pub(super) zone: Zone,
    pub(super) rows: u32,
    pub(super) holds_lists: bool,
    pub(super) distinct: DistinctSketch,
}

impl EncodedSegment {
    /// Number of rows.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Bytes of the encoded form.
    pub fn encoded_bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// Encodes a segment in the cheapest way. The values of each list are put in order; lists of at most one value are stored as single values.
pub fn encode_segment(values: &SegmentValues<'_>) -> EncodedSegment {
    let mut bytes = Vec::new();
    let mut distinct = DistinctSketch::default();
    let (zone, rows, holds_lists) = match *values {
        SegmentValues::Single(values) => {
            distinct.add_all(values);
            (encode_single(values, &mut bytes), values.len(), false)
        }
        SegmentValues::Lists { offsets, values } => {
            distinct.add_all(values);
            let rows = offsets.len().saturating_sub(1);
            if offsets.windows(2).all(|w| w[1] - w[0] < 2) {
                let single: Vec<u64> = offsets
                    .windows(2)
                    .map(|w| values[w[0] as usize..w[1] as usize].first().copied())
                    .map(Option::unwrap_or_default)
                    .collect();
                (encode_single(&single, &mut bytes), rows, false)
            } else {
                let values = in_order(offsets, values);
                (encode_lists(offsets, &values, &mut bytes), rows, true)
            }
        }
    };
    EncodedSegment {
        bytes,
        zone,
        rows: rows as u32,
        holds_lists,
        distinct,
    }
}

/// The values with each list in ascending order, so that one is found among many in halves.
fn in_order<'a>(offsets: &[u32], values: &'a [u64]) -> Cow<'a, [u64]> {
    let mut values = Cow::Borrowed(values);
    for ends in offsets.windows(2) {
        let list = ends[0] as usize..ends[1] as usize;
        if !values[list.clone()].is_sorted() {
            values.to_mut()[list].sort_unstable();
        }
    }
    values
}
