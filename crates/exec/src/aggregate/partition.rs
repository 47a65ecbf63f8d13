//! Partitions of groups by their keys.

use super::CHECK_GROUPS;
use crate::context::Context;
use crate::error::ExecError;
use crate::row_numbers::{RowNumbers, hash_row};

/// Partitions, as a power of two: some for each thread, so that the last ones end about together, and each of a million groups in the nearer
/// caches.
const PARTITION_BITS: u32 = 5;
/// How many partitions there are.
pub const PARTITIONS: usize = 1 << PARTITION_BITS;

/// The partition of a key with this hash.
#[inline]
pub fn partition_of(hash: u64) -> usize {
    (hash >> (u64::BITS - PARTITION_BITS)) as usize
}

/// The groups of an aggregator by partition.
pub struct Listed {
    /// The numbers of all groups, partition by partition, ascending in each.
    numbers: Vec<u32>,
    /// Where each partition begins, and the last one ends.
    starts: Vec<usize>,
}

impl Listed {
    /// Deals groups out by the hashes of their keys, but for so many of the lowest bits of each id.
    pub fn of(groups: &RowNumbers, near_bits: &[u32], cx: &Context) -> Result<Self, ExecError> {
        let mut key = vec![0; near_bits.len()];
        let partition_of = |row: &[u64]| {
            for ((key, id), bits) in key.iter_mut().zip(row).zip(near_bits) {
                *key = id >> bits;
            }
            partition_of(hash_row(&key)) as u8
        };
        let mut partitions: Vec<u8> = Vec::with_capacity(groups.count());
        let mut rows = groups.iter().map(partition_of);
        while partitions.len() < groups.count() {
            cx.check()?;
            partitions.extend(rows.by_ref().take(CHECK_GROUPS));
        }
        let (starts, numbers) = positions_by(&partitions);
        Ok(Self { numbers, starts })
    }

    /// The numbers of the groups in a partition, ascending.
    pub fn partition(&self, partition: usize) -> &[u32] {
        &self.numbers[self.starts[partition]..self.starts[partition + 1]]
    }
}

/// Where the positions of each partition begin, and the last ones end; and the positions, ascending in each.
pub fn positions_by(partitions: &[u8]) -> (Vec<usize>, Vec<u32>) {
    let mut starts = vec![0; PARTITIONS + 1];
    for &partition in partitions {
        starts[usize::from(partition) + 1] += 1;
    }
    for partition in 0..PARTITIONS {
        starts[partition + 1] += starts[partition];
    }
    let mut ends = starts.clone();
    let mut positions = vec![0; partitions.len()];
    for (position, &partition) in (0..).zip(partitions) {
        let end = &mut ends[usize::from(partition)];
        positions[*end] = position;
        *end += 1;
    }
    (starts, positions)
}
