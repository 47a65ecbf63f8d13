//! `Partitions`: rows dealt out to files by the hash of their keys.
//!
//! Rows of one key are in one partition, in the order in which they came. Each level looks at other bits of
//! the hash, so a partition that is still too large can be dealt out again.

use super::PARTITIONS;
use super::row_file::{RowFile, RowWriter};
use crate::context::Context;
use crate::error::ExecError;

/// Bits of the hash below those that the first level looks at: hash tables of a million entries use those.
const FIRST_BIT: u32 = 20;
/// Levels that find bits of their own, below the seven highest, which hash tables use too.
pub const LEVELS: u32 = (u64::BITS - 7 - FIRST_BIT) / PARTITIONS.ilog2();

/// Rows whose keys have the same bits in their hashes.
#[derive(Clone)]
pub struct Partition {
    /// The rows.
    pub rows: RowFile,
    /// How often they were dealt out.
    pub level: u32,
    /// The bits that the hashes share.
    pub number: u64,
}

/// Files by hash.
pub struct Partitions {
    width: usize,
    /// How often the rows were dealt out before, and the bits of the hash by which.
    before: (u32, u64),
    /// The files that have rows.
    writers: Vec<Option<RowWriter>>,
}

impl Partitions {
    /// No rows, of `width` ids, that were dealt out so often before and had these bits then.
    pub fn new(width: usize, before: (u32, u64)) -> Self {
        Self {
            width,
            before,
            writers: (0..PARTITIONS).map(|_| None).collect(),
        }
    }

    /// Adds a row whose key has this hash.
    pub fn push(
        &mut self,
        hash: u64,
        row: impl IntoIterator<Item = u64>,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let shift = FIRST_BIT + self.before.0 * PARTITIONS.ilog2();
        let writer = &mut self.writers[(hash >> shift) as usize % PARTITIONS];
        match writer {
            Some(writer) => writer.push(row),
            None => {
                let new = RowWriter::create(self.width, PARTITIONS, cx)?;
                writer.insert(new).push(row)
            }
        }
    }

    /// The partitions that have rows.
    pub fn finish(self) -> Result<Vec<Partition>, ExecError> {
        let (level, bits) = self.before;
        let writers = self.writers.into_iter().zip(0..);
        writers
            .filter_map(|(writer, place)| Some((writer?, place)))
            .map(|(writer, place): (RowWriter, u64)| {
                Ok(Partition {
                    rows: writer.finish()?,
                    level: level + 1,
                    number: bits * PARTITIONS as u64 + place,
                })
            })
            .collect()
    }
}
