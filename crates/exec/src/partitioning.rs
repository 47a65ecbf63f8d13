//! Putting rows into partitions, which threads take one after the other.
//!
//! Cost: two passes over a byte for each row.

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

/// Of three rows so many have a key of their own where hardly one has that of another.
const NEW_OF_THREE: usize = 2;

/// Whether hardly one of these rows has the key of another, so many of which are new.
pub fn are_mostly_new(new: usize, rows: usize) -> bool {
    3 * new >= NEW_OF_THREE * rows
}
