//! Rows of a table as one bit for each: to ask for a row takes a nanosecond, where a search in a Roaring bitmap takes ten.
//!
//! Memory: a bit for each row of the table, 125 KB for a million.

/// Rows whose bits are tested with one branch.
const TESTED_TOGETHER: usize = 16;

/// A set of rows of a table.
#[derive(Debug)]
pub struct RowBits(Vec<u64>);

impl RowBits {
    /// Some rows of a table of so many.
    pub fn of(rows: impl IntoIterator<Item = u32>, count: u32) -> Self {
        let mut words = vec![0; (count as usize).div_ceil(64)];
        for row in rows {
            words[row as usize / 64] |= 1 << (row % 64);
        }
        Self(words)
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        self.0.len() * size_of::<u64>()
    }

    /// Appends those of some rows that are not among them to `others`, and visits each that is.
    pub fn take_out(&self, rows: &[u32], others: &mut Vec<u32>, mut on_row: impl FnMut(u32)) {
        others.reserve(rows.len());
        let mut chunks = rows.chunks_exact(TESTED_TOGETHER);
        for chunk in &mut chunks {
            // Several are tested with one branch, since most are none.
            let bits = chunk
                .iter()
                .map(|row| self.0[*row as usize / 64] >> (row % 64) & 1);
            let mut mask = bits
                .zip(0..)
                .fold(0u32, |mask, (bit, at)| mask | (bit as u32) << at);
            let mut start = 0;
            while mask != 0 {
                let at = mask.trailing_zeros() as usize;
                others.extend_from_slice(&chunk[start..at]);
                on_row(chunk[at]);
                start = at + 1;
                mask &= mask - 1;
            }
            others.extend_from_slice(&chunk[start..]);
        }
        for &row in chunks.remainder() {
            match self.contains(row) {
                true => on_row(row),
                false => others.push(row),
            }
        }
    }

    /// Whether a row is among them.
    #[inline]
    pub fn contains(&self, row: u32) -> bool {
        self.0[row as usize / 64] >> (row % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_the_rows() {
        let rows = [0, 1, 63, 64, 129];
        let bits = RowBits::of(rows, 130);
        let found: Vec<u32> = (0..130).filter(|&row| bits.contains(row)).collect();
        assert_eq!(found, rows);
        assert!(!RowBits::of([], 1).contains(0));
        for start in 0..130 {
            let asked: Vec<u32> = (start..130).chain(0..start).collect();
            let (mut others, mut taken) = (Vec::new(), Vec::new());
            bits.take_out(&asked, &mut others, |row| taken.push(row));
            let (expected, left): (Vec<u32>, Vec<u32>) =
                asked.iter().partition(|&&row| bits.contains(row));
            assert_eq!((taken, others), (expected, left));
        }
        let bits = RowBits::of([129, 1, 64, 1], 130);
        let found: Vec<u32> = (0..130).filter(|&row| bits.contains(row)).collect();
        assert_eq!(found, [1, 64, 129]);
    }
}
