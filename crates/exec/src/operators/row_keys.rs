//! `RowKeys`: the values of some rows that enter a dependent plan, one row after the other.
//!
//! Invariant: all keys have one width, which may be 0. Memory: 8 bytes for each value.

use std::ops::Range;

/// Keys looked at one by one before all are searched.
const NEAR_KEYS: usize = 4;

/// The keys; see the [module documentation](self).
pub struct RowKeys {
    width: usize,
    rows: usize,
    ids: Vec<u64>,
}

/// Some keys, each once.
pub struct DistinctKeys {
    /// They ascend.
    pub keys: RowKeys,
    /// The rows asked for, with the number of the key of each.
    pub numbers: Vec<(u32, u32)>,
}

impl RowKeys {
    /// The keys of so many rows, whose values are in these columns.
    pub fn of_columns(columns: &[impl AsRef<[u64]>], rows: usize) -> Self {
        let mut keys = Self::with_room(columns.len(), rows);
        for row in 0..rows {
            keys.push(columns.iter().map(|ids| ids.as_ref()[row]));
        }
        keys
    }

    /// No keys, of this width, with room for some.
    fn with_room(width: usize, rows: usize) -> Self {
        Self {
            width,
            rows: 0,
            ids: Vec::with_capacity(width * rows),
        }
    }

    /// Adds a key.
    fn push(&mut self, key: impl IntoIterator<Item = u64>) {
        self.ids.extend(key);
        self.rows += 1;
        debug_assert_eq!(self.ids.len(), self.width * self.rows);
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// The key of a row.
    pub fn key(&self, row: usize) -> &[u64] {
        &self.ids[row * self.width..(row + 1) * self.width]
    }

    /// The keys, row by row.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u64]> {
        (0..self.rows).map(|row| self.key(row))
    }

    /// One value of each key.
    pub fn column(&self, idx: usize) -> Vec<u64> {
        self.ids
            .iter()
            .skip(idx)
            .step_by(self.width)
            .copied()
            .collect()
    }

    /// The keys of some rows.
    pub fn part(&self, rows: Range<usize>) -> Self {
        Self {
            width: self.width,
            rows: rows.len(),
            ids: self.ids[rows.start * self.width..rows.end * self.width].to_vec(),
        }
    }

    /// The distinct keys of these rows.
    pub fn distinct(&self, mut rows: Vec<u32>) -> DistinctKeys {
        match self.width {
            1 => rows.sort_unstable_by_key(|&row| self.ids[row as usize]),
            _ => rows.sort_unstable_by_key(|&row| self.key(row as usize)),
        }
        let mut keys = Self::with_room(self.width, rows.len());
        let numbered = rows.into_iter().map(|row| {
            let key = self.key(row as usize);
            if keys.rows == 0 || keys.key(keys.rows - 1) != key {
                keys.push(key.iter().copied());
            }
            (row, keys.rows as u32 - 1)
        });
        let numbers = numbered.collect();
        DistinctKeys { keys, numbers }
    }

    /// The place of a key among keys that ascend, which is likely at `near` or soon after it.
    #[inline]
    pub fn find(&self, key: impl Iterator<Item = u64> + Clone, near: usize) -> Option<usize> {
        let is_it = |place: usize| self.key(place).iter().copied().eq(key.clone());
        let mut close = near..self.rows.min(near + NEAR_KEYS);
        close.find(|place| is_it(*place)).or_else(|| {
            let (mut low, mut high) = (0, self.rows);
            while low < high {
                let middle = low.midpoint(high);
                match self.key(middle).iter().copied().lt(key.clone()) {
                    true => low = middle + 1,
                    false => high = middle,
                }
            }
            Some(low).filter(|place| *place < self.rows && is_it(*place))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(width: usize, ids: &[u64]) -> RowKeys {
        let mut keys = RowKeys::with_room(width, 0);
        ids.chunks(width)
            .for_each(|key| keys.push(key.iter().copied()));
        keys
    }

    #[test]
    fn each_key_is_there_once_and_found_from_anywhere() {
        for width in [1, 2] {
            let ids: Vec<u64> = (0..60).map(|n| n * 7 % 10 / width).collect();
            let all = keys(width as usize, &ids);
            let asked: Vec<u32> = (0..all.len() as u32).filter(|row| row % 5 != 1).collect();
            let DistinctKeys { keys, numbers } = all.distinct(asked.clone());
            assert!(keys.iter().collect::<Vec<_>>().is_sorted_by(|a, b| a < b));
            let mut rows: Vec<u32> = numbers.iter().map(|(row, _)| *row).collect();
            rows.sort_unstable();
            assert_eq!(rows, asked);
            for (row, number) in numbers {
                let key = all.key(row as usize);
                assert_eq!(keys.key(number as usize), key);
                for near in 0..keys.len() {
                    let place = keys.find(key.iter().copied(), near);
                    assert_eq!(place, Some(number as usize));
                }
            }
            assert_eq!(keys.find(std::iter::repeat_n(99, width as usize), 0), None);
        }
    }

    #[test]
    fn keys_may_have_no_values() {
        let keys = RowKeys::of_columns(&[[0_u64; 0]; 0], 3);
        let DistinctKeys { keys, numbers } = keys.distinct(vec![0, 2]);
        assert_eq!((keys.len(), numbers), (1, vec![(0, 0), (2, 0)]));
        assert_eq!(keys.find(std::iter::empty(), 0), Some(0));
    }

    #[test]
    fn a_part_has_the_keys_of_its_rows() {
        let all = keys(2, &[1, 2, 3, 4, 5, 6]);
        assert_eq!(all.part(1..3).iter().collect::<Vec<_>>(), [[3, 4], [5, 6]]);
        assert_eq!(all.column(1), [2, 4, 6]);
    }
}
