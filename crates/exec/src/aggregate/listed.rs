//! `Listed`: the groups of an aggregator by partition of their keys.

use super::CHECK_GROUPS;
use crate::context::Context;
use crate::error::ExecError;
use crate::partitioning::{partition_of, positions_by};
use crate::row_numbers::{RowNumbers, hash_row};

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
