//! `ScatteredRows`: many rows in an order that jumps between segments, put together by segment.
//!
//! ```text
//! rows    [ 70001 3 70000 16390 ... ]     in the order asked for
//! places  [ 1 | 3 | 0 2 | ... ]           their places in that order, segment after segment
//! local   [ 3 | 6 | 4465 4464 | ... ]     the rows, counted from their segment's first
//! ```
//!
//! Joins through an inverse ask like this: the offers of each of some thousand products, one product after the other.
//! Row by row each would open a segment anew. Cost: one pass that looks, and two passes that count and place.

use super::column::{first_row, segment_of};

/// Rows are scattered if one in so many lies in another segment than the row before: opening a segment takes what placing some dozen rows does.
const JUMP_SHARE: usize = 64;

/// Rows by segment; see the [module documentation](self).
pub(super) struct ScatteredRows {
    places: Vec<u32>,
    local: Vec<u32>,
    /// The end of each segment's rows.
    ends: Vec<u32>,
}

impl ScatteredRows {
    /// The rows of a table with this many segments, if they are scattered: in order there are no more segments to open than there
    /// are, and those must be fewer than the row by row way opens.
    pub(super) fn of(rows: &[u32], segments: usize) -> Option<Self> {
        if segments < 2 || rows.len() <= segments || u32::try_from(rows.len()).is_err() {
            return None;
        }
        let jumps = rows
            .windows(2)
            .filter(|pair| segment_of(pair[0]) != segment_of(pair[1]));
        if jumps.count() < segments.max(rows.len() / JUMP_SHARE) {
            return None;
        }
        let mut next = vec![0_u32; segments + 1];
        for &row in rows {
            next[segment_of(row) + 1] += 1;
        }
        for segment_idx in 1..next.len() {
            next[segment_idx] += next[segment_idx - 1];
        }
        let (mut places, mut local) = (vec![0; rows.len()], vec![0; rows.len()]);
        for (place, &row) in (0_u32..).zip(rows) {
            let segment_idx = segment_of(row);
            let at = next[segment_idx] as usize;
            places[at] = place;
            local[at] = row - first_row(segment_idx);
            next[segment_idx] += 1;
        }
        next.truncate(segments);
        Some(Self {
            places,
            local,
            ends: next,
        })
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The segments that have rows: index, places of the rows, rows counted from the segment's first.
    pub(super) fn segments(&self) -> impl Iterator<Item = (usize, &[u32], &[u32])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let parts = starts.zip(self.ends.iter().copied()).enumerate();
        parts
            .filter(|(_, (start, end))| start < end)
            .map(|(segment_idx, (start, end))| {
                let part = start as usize..end as usize;
                (segment_idx, &self.places[part.clone()], &self.local[part])
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_in_order_or_fewer_than_segments_are_not_scattered() {
        let rows: Vec<u32> = (0..40_000).collect();
        assert!(ScatteredRows::of(&rows, 3).is_none());
        let jumping: Vec<u32> = (0..100).map(|i| i * 39_119 % 40_000).collect();
        assert!(ScatteredRows::of(&jumping, 3).is_some());
        assert!(ScatteredRows::of(&jumping, 100).is_none());
        assert!(ScatteredRows::of(&[], 3).is_none());
    }

    #[test]
    fn every_row_has_its_place() {
        let rows: Vec<u32> = (0..5_000).map(|i| i * 39_119 % 100_000).collect();
        let scattered = ScatteredRows::of(&rows, 7).expect("they jump");
        assert_eq!(scattered.len(), rows.len());
        let mut found = vec![u32::MAX; rows.len()];
        for (segment_idx, places, local) in scattered.segments() {
            for (&place, &row) in places.iter().zip(local) {
                found[place as usize] = first_row(segment_idx) + row;
            }
        }
        assert_eq!(found, rows);
    }
}
