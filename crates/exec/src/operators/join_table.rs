//! `JoinTable`: the build side of a hash join.
//!
//! ```text
//! directory: one u64 per bucket and one more   [ tags: 16 bits, one set per key | first row of the bucket ]
//! columns:   the build rows, column by column, bucket after bucket
//! ```
//!
//! The rows of a bucket lie side by side in input order, so that a key with many partners reads them in
//! one stretch; a probe that finds its tag bit unset ends after one cache line. Built once, read by all
//! threads, counted against the query's memory as long as it lives.
//! Memory: 8 bytes per cell, 16 to 32 per row for the directory; while it is built 4 more per row.

use super::distinct::hash_row;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use basalt_columns::prefetch;
use std::ops::Range;

/// Bits of a directory entry that hold the first row.
const START_BITS: u32 = 48;
const START_MASK: u64 = (1 << START_BITS) - 1;
/// Rows that a table can have: twice as many buckets still have 32-bit numbers.
const ROWS_MAX: usize = 1 << 31;

/// The build side; see the [module documentation](self).
pub struct JoinTable {
    /// The rows, in the order of their buckets.
    columns: Vec<Vec<u64>>,
    rows: usize,
    key_columns: Vec<usize>,
    /// Tags and first row by bucket, and the number of rows at the end.
    directory: Vec<u64>,
    _held: HeldMemory,
}

impl JoinTable {
    /// A table without rows.
    pub fn empty() -> Self {
        Self {
            columns: Vec::new(),
            rows: 0,
            key_columns: Vec::new(),
            directory: vec![0; 2],
            _held: HeldMemory::default(),
        }
    }

    /// Builds the table of all rows of `batches`, which have `width` columns, by these key columns.
    pub fn build(
        batches: &[Batch],
        width: usize,
        key_columns: Vec<usize>,
        cx: &Context,
    ) -> Result<Self, ExecError> {
        let rows: usize = batches.iter().map(Batch::rows).sum();
        if rows > ROWS_MAX {
            return Err(ExecError::MemoryLimit {
                limit_bytes: cx.options().memory_bytes_max,
                operator: "HashJoin",
            });
        }
        let buckets = (rows * 2).next_power_of_two();
        let cells = rows * width;
        let mut held = HeldMemory::default();
        held.grow_to((cells + buckets) * size_of::<u64>(), "HashJoin", cx)?;
        let mut directory = vec![0; buckets + 1];
        let places = places(batches, &key_columns, &mut directory, cx)?;
        let columns = (0..width)
            .map(|column| {
                let mut values = vec![0; rows];
                let mut places = places.iter();
                for batch in batches {
                    cx.check()?;
                    for (&id, &place) in batch.ids(column).iter().zip(&mut places) {
                        values[place as usize] = id;
                    }
                }
                Ok(values)
            })
            .collect::<Result<_, ExecError>>()?;
        Ok(Self {
            columns,
            rows,
            key_columns,
            directory,
            _held: held,
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns by whose values rows are found.
    pub fn key_columns(&self) -> &[usize] {
        &self.key_columns
    }

    /// The values of one column.
    pub fn column(&self, column: usize) -> &[u64] {
        &self.columns[column]
    }

    /// Asks for the line of the directory that [`Self::stretch`] of this key looks at first.
    #[inline]
    pub fn expect(&self, key: &[u64]) {
        let bucket = bucket_of(hash_row(key), self.directory.len() - 1);
        prefetch(&self.directory, bucket);
    }

    /// Where the rows with this key lie, with others if hashes agree.
    #[inline]
    pub fn stretch(&self, key: &[u64]) -> Range<usize> {
        let hash = hash_row(key);
        let bucket = bucket_of(hash, self.directory.len() - 1);
        let entry = self.directory[bucket];
        if entry & tag_bit(hash) == 0 {
            return 0..0;
        }
        (entry & START_MASK) as usize..(self.directory[bucket + 1] & START_MASK) as usize
    }

    /// Appends those of these rows whose key equals `key`, in input order.
    #[inline]
    pub fn matching(&self, rows: Range<usize>, key: &[u64], out: &mut Vec<u32>) {
        if let [column] = self.key_columns.as_slice() {
            let keys = &self.columns[*column][rows.clone()];
            let equal = rows.zip(keys).filter(|(_, id)| **id == key[0]);
            out.extend(equal.map(|(row, _)| row as u32));
        } else {
            let is_equal = |row: &usize| {
                let mut cells = self.key_columns.iter().zip(key);
                cells.all(|(&column, &id)| self.columns[column][*row] == id)
            };
            out.extend(rows.filter(is_equal).map(|row| row as u32));
        }
    }
}

/// Fills the directory, and says for each row in input order where it goes.
fn places(
    batches: &[Batch],
    key_columns: &[usize],
    directory: &mut [u64],
    cx: &Context,
) -> Result<Vec<u32>, ExecError> {
    let buckets = directory.len() - 1;
    let mut places = Vec::with_capacity(batches.iter().map(Batch::rows).sum());
    let mut key = Vec::with_capacity(key_columns.len());
    for batch in batches {
        cx.check()?;
        for row in 0..batch.rows() {
            key.clear();
            key.extend(key_columns.iter().map(|&column| batch.ids(column)[row]));
            let hash = hash_row(&key);
            let bucket = bucket_of(hash, buckets);
            directory[bucket] = (directory[bucket] | tag_bit(hash)) + 1;
            places.push(bucket as u32);
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

fn bucket_of(hash: u64, buckets: usize) -> usize {
    debug_assert!(buckets.is_power_of_two());
    hash as usize & (buckets - 1)
}

/// One of sixteen bits, chosen by hash bits that do not choose the bucket.
fn tag_bit(hash: u64) -> u64 {
    1 << (u64::from(START_BITS) + (hash >> 60))
}
