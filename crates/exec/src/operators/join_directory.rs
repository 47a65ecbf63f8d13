//! `JoinDirectory`: where the rows of a key lie in a [`JoinTable`](super::join_table::JoinTable).
//!
//! ```text
//! hashed:  one u64 per bucket and one more   [ tags: 16 bits, one set per key | first row of the bucket ]
//! by id:   one u32 per id from the least key to the greatest and one more, the first row of the id
//! ```
//!
//! Keys of one column that lie close together, as rows of one table do, go by id: a look-up is one load, and what it finds has the
//! key. All others are hashed: rows of keys whose hashes agree lie together, and a probe that finds its tag bit unset ends after one
//! cache line.
//!
//! Invariant: rows of one key lie side by side in input order.
//! Memory: 16 to 32 bytes per row hashed; by id 4 for each id, at most 16 per row or a few KiB.

use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::row_numbers::{hash_row, hash_rows};
use basalt_columns::prefetch;
use std::ops::Range;

/// Bits of an entry that hold the first row.
pub const START_BITS: u32 = 48;
/// Those bits.
pub const START_MASK: u64 = (1 << START_BITS) - 1;
/// Ids from the least key to the greatest for each row, at most, that keys go by id: as many bytes as a hashed row takes at least.
const IDS_FOR_ROW: usize = 4;
/// The same whatever the number of rows: a share of the first-level cache.
const FREE_IDS: usize = 1 << 11;
/// Keys that are looked up together.
pub const KEYS_TOGETHER: usize = 64;

/// The directory; see the [module documentation](self).
pub enum JoinDirectory {
    /// Tags and first row by bucket, and the number of rows at the end.
    Hashed(Vec<u64>),
    /// The first row of each id, and the number of rows at the end.
    ById {
        /// The least key.
        min: u64,
        /// By id, less the least.
        starts: Vec<u32>,
    },
}

/// What a directory will be.
#[derive(Clone, Copy, Debug)]
pub enum DirectoryShape {
    /// So many buckets.
    Hashed(usize),
    /// So many ids of a column, from the least key on.
    ById { column: usize, min: u64, ids: usize },
}

impl DirectoryShape {
    /// The shape for the keys of these rows.
    pub fn of(batches: &[Batch], key_columns: &[usize]) -> Self {
        let rows: usize = batches.iter().map(Batch::rows).sum();
        let hashed = Self::Hashed((rows * 2).next_power_of_two());
        let &[column] = key_columns else {
            return hashed;
        };
        let (mut min, mut max) = (u64::MAX, 0);
        for &id in batches.iter().flat_map(|batch| batch.ids(column)) {
            min = min.min(id);
            max = max.max(id);
        }
        let most = rows.saturating_mul(IDS_FOR_ROW).max(FREE_IDS);
        let most = most.min(u32::MAX as usize) as u64;
        match max.checked_sub(min) {
            Some(span) if span < most => Self::ById {
                column,
                min,
                ids: span as usize + 1,
            },
            _ => hashed,
        }
    }

    /// Bytes that the directory takes.
    pub fn bytes(self) -> usize {
        match self {
            Self::Hashed(buckets) => buckets * size_of::<u64>(),
            Self::ById { ids, .. } => ids * size_of::<u32>(),
        }
    }
}

impl JoinDirectory {
    /// The directory of no rows.
    pub fn empty() -> Self {
        Self::Hashed(vec![0; 2])
    }

    /// The directory of this shape of all rows, and for each row in input order where it goes.
    pub fn build(
        shape: DirectoryShape,
        batches: &[Batch],
        key_columns: &[usize],
        cx: &Context,
    ) -> Result<(Self, Vec<u32>), ExecError> {
        match shape {
            DirectoryShape::ById { column, min, ids } => {
                let mut starts = vec![0; ids + 1];
                let places = places_by_id(batches, (column, min), &mut starts, cx)?;
                Ok((Self::ById { min, starts }, places))
            }
            DirectoryShape::Hashed(buckets) => {
                let mut directory = vec![0; buckets + 1];
                let places = places_hashed(batches, key_columns, &mut directory, cx)?;
                Ok((Self::Hashed(directory), places))
            }
        }
    }

    /// Whether rows that are found have the key that was looked for.
    pub fn is_exact(&self) -> bool {
        matches!(self, Self::ById { .. })
    }

    /// Asks for the line that [`Self::stretch`] of this key looks at first.
    #[inline]
    pub fn expect(&self, key: &[u64]) {
        match self {
            Self::Hashed(directory) => {
                prefetch(directory, bucket_of(hash_row(key), directory.len() - 1));
            }
            Self::ById { min, starts } => prefetch(starts, key[0].wrapping_sub(*min) as usize),
        }
    }

    /// Where the rows with this key lie, with others if hashes agree.
    #[inline]
    pub fn stretch(&self, key: &[u64]) -> Range<usize> {
        match self {
            Self::Hashed(directory) => stretch_hashed(directory, hash_row(key)),
            Self::ById { min, starts } => stretch_by_id(starts, key[0].wrapping_sub(*min)),
        }
    }

    /// Visits all stretches that have rows, from the first to the last.
    pub fn each_stretch(
        &self,
        visit: &mut dyn FnMut(Range<usize>) -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        let mut start = 0;
        let mut visit_to = |end: usize| match std::mem::replace(&mut start, end) {
            start if start < end => visit(start..end),
            _ => Ok(()),
        };
        match self {
            Self::Hashed(directory) => {
                let mut ends = directory.iter().map(|entry| entry & START_MASK);
                ends.try_for_each(|end| visit_to(end as usize))
            }
            Self::ById { starts, .. } => starts.iter().try_for_each(|&end| visit_to(end as usize)),
        }
    }

    /// The same of several keys from row `first` of their columns on, one for each place in `out`, which is at most [`KEYS_TOGETHER`].
    #[inline]
    pub fn stretches(&self, keys: &[&[u64]], first: usize, out: &mut [Range<usize>]) {
        match self {
            Self::Hashed(directory) => {
                let mut hashes = [0; KEYS_TOGETHER];
                let hashes = &mut hashes[..out.len()];
                hash_rows(keys, first, hashes);
                for &hash in hashes.iter() {
                    prefetch(directory, bucket_of(hash, directory.len() - 1));
                }
                for (out, &hash) in out.iter_mut().zip(&*hashes) {
                    *out = stretch_hashed(directory, hash);
                }
            }
            Self::ById { min, starts } => {
                let ids = keys.first().map_or(&[][..], |ids| &ids[first..]);
                for (out, id) in out.iter_mut().zip(ids) {
                    *out = stretch_by_id(starts, id.wrapping_sub(*min));
                }
            }
        }
    }
}

#[inline]
fn stretch_hashed(directory: &[u64], hash: u64) -> Range<usize> {
    let bucket = bucket_of(hash, directory.len() - 1);
    let entry = directory[bucket];
    if entry & tag_bit(hash) == 0 {
        return 0..0;
    }
    (entry & START_MASK) as usize..(directory[bucket + 1] & START_MASK) as usize
}

/// The rows of an id, less the least one; what is less than that is beyond the last.
#[inline]
fn stretch_by_id(starts: &[u32], at: u64) -> Range<usize> {
    let at = at.min(starts.len() as u64) as usize;
    match starts.get(at..) {
        Some([start, end, ..]) => *start as usize..*end as usize,
        _ => 0..0,
    }
}

/// Fills the first rows by id; says for each row in input order where it goes.
fn places_by_id(
    batches: &[Batch],
    (column, min): (usize, u64),
    starts: &mut [u32],
    cx: &Context,
) -> Result<Vec<u32>, ExecError> {
    let mut places = Vec::with_capacity(batches.iter().map(Batch::rows).sum());
    for batch in batches {
        cx.check()?;
        for id in batch.ids(column) {
            let at = (id - min) as u32;
            starts[at as usize] += 1;
            places.push(at);
        }
    }
    let mut end = 0;
    for start in starts.iter_mut() {
        end += *start;
        *start = end;
    }
    for place in places.iter_mut().rev() {
        let start = &mut starts[*place as usize];
        *start -= 1;
        *place = *start;
    }
    Ok(places)
}

/// Fills the directory, and says for each row in input order where it goes.
fn places_hashed(
    batches: &[Batch],
    key_columns: &[usize],
    directory: &mut [u64],
    cx: &Context,
) -> Result<Vec<u32>, ExecError> {
    let buckets = directory.len() - 1;
    let mut places = Vec::with_capacity(batches.iter().map(Batch::rows).sum());
    let mut hashes = [0; KEYS_TOGETHER];
    for batch in batches {
        cx.check()?;
        let keys = key_columns.iter().map(|&column| batch.ids(column));
        let keys: Vec<&[u64]> = keys.collect();
        for first in (0..batch.rows()).step_by(KEYS_TOGETHER) {
            let hashes = &mut hashes[..KEYS_TOGETHER.min(batch.rows() - first)];
            hash_rows(&keys, first, hashes);
            for &hash in hashes.iter() {
                prefetch(directory, bucket_of(hash, buckets));
            }
            for &hash in hashes.iter() {
                let bucket = bucket_of(hash, buckets);
                directory[bucket] = (directory[bucket] | tag_bit(hash)) + 1;
                places.push(bucket as u32);
            }
        }
    }
    // From the number of rows in each bucket to its end, then back to its start row by row.
    let mut end = 0;
    for entry in directory.iter_mut() {
        end += *entry & START_MASK;
        *entry = *entry & !START_MASK | end;
    }
    for place in places.iter_mut().rev() {
        let entry = &mut directory[*place as usize];
        *entry -= 1;
        *place = (*entry & START_MASK) as u32;
    }
    Ok(places)
}

/// The bucket of a hash; of a power of two.
#[inline]
pub fn bucket_of(hash: u64, buckets: usize) -> usize {
    debug_assert!(buckets.is_power_of_two());
    hash as usize & (buckets - 1)
}

/// One of sixteen tags, chosen by hash bits that do not choose the bucket.
#[inline]
pub fn tag_of(hash: u64) -> u32 {
    (hash >> 60) as u32
}

/// The bit of the hash's tag.
fn tag_bit(hash: u64) -> u64 {
    1 << (START_BITS + tag_of(hash))
}
