//! `RowKeys`: the values of some rows that enter a dependent plan, one row after the other.
//!
//! Invariant: all keys have one width, which may be 0. Memory: 8 bytes for each value.

use super::digit_sort::order_by_ranks;
use crate::context::Context;
use crate::error::ExecError;
use std::cmp::Ordering;
use std::ops::Range;

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
        if let [ids] = columns {
            return Self {
                width: 1,
                rows,
                ids: ids.as_ref().to_vec(),
            };
        }
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
        match self.width {
            1 => self.ids.clone(),
            width => self.ids.chunks(width).map(|key| key[idx]).collect(),
        }
    }

    /// The values of the keys by column, as many as a key has.
    pub fn columns(&self) -> Vec<Vec<u64>> {
        (0..self.width).map(|idx| self.column(idx)).collect()
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
    pub fn distinct(&self, rows: Vec<u32>, cx: &Context) -> Result<DistinctKeys, ExecError> {
        let rows = self.ascending(rows, cx)?;
        let mut keys = Self::with_room(self.width, rows.len());
        let numbered = rows.into_iter().map(|row| {
            let key = self.key(row as usize);
            if keys.rows == 0 || keys.key(keys.rows - 1) != key {
                keys.push(key.iter().copied());
            }
            (row, keys.rows as u32 - 1)
        });
        let numbers = numbered.collect();
        Ok(DistinctKeys { keys, numbers })
    }

    /// These rows by their keys.
    fn ascending(&self, rows: Vec<u32>, cx: &Context) -> Result<Vec<u32>, ExecError> {
        let key = |row: &u32| self.key(*row as usize);
        if rows.is_sorted_by_key(key) {
            return Ok(rows);
        }
        let column = |idx| rows.iter().map(|row| key(row)[idx]).collect();
        let columns: Vec<Vec<u64>> = (0..self.width).map(column).collect();
        let order = order_by_ranks(&columns, rows.len(), cx)?;
        Ok(order.into_iter().map(|at| rows[at as usize]).collect())
    }

    /// The place of a key among keys that ascend, which is likely at `near` or soon after it.
    #[inline]
    pub fn find(&self, key: impl Iterator<Item = u64> + Clone, near: usize) -> Option<usize> {
        let compared = |place: usize| self.key(place).iter().copied().cmp(key.clone());
        if near < self.rows && compared(near) == Ordering::Equal {
            return Some(near);
        }
        self.find_far(compared, near)
    }

    /// The same of keys of one value.
    #[inline]
    pub fn find_one(&self, id: u64, near: usize) -> Option<usize> {
        debug_assert_eq!(self.width, 1);
        if self.ids.get(near) == Some(&id) {
            return Some(near);
        }
        self.find_far(|place| self.ids[place].cmp(&id), near)
    }

    /// A place by how its key compares with the one that is looked for: in steps that double from `near` on, and then between the last two; from the first
    /// if it lies before.
    fn find_far(&self, compared: impl Fn(usize) -> Ordering, near: usize) -> Option<usize> {
        let is_before = |place: usize| compared(place) == Ordering::Less;
        let (mut low, mut high) = (0, self.rows.min(near));
        if near < self.rows && is_before(near) {
            let mut step = 1;
            low = near + 1;
            // Invariant: all below `low` are before. Termination: `low` grows by `step`.
            while low + step < self.rows && is_before(low + step) {
                low += step + 1;
                step *= 2;
            }
            high = self.rows.min(low + step);
        }
        while low < high {
            let middle = low.midpoint(high);
            match is_before(middle) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Some(low).filter(|place| *place < self.rows && compared(*place) == Ordering::Equal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_store::Snapshot;

    fn distinct(keys: &RowKeys, rows: Vec<u32>) -> DistinctKeys {
        let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
        keys.distinct(rows, &cx).expect("nothing ends it")
    }

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
            let DistinctKeys { keys, numbers } = distinct(&all, asked.clone());
            assert!(keys.iter().collect::<Vec<_>>().is_sorted_by(|a, b| a < b));
            let mut rows: Vec<u32> = numbers.iter().map(|(row, _)| *row).collect();
            rows.sort_unstable();
            assert_eq!(rows, asked);
            for (row, number) in numbers {
                let key = all.key(row as usize);
                assert_eq!(keys.key(number as usize), key);
                for near in 0..keys.len() + 2 {
                    let place = keys.find(key.iter().copied(), near);
                    assert_eq!(place, Some(number as usize));
                    if let [id] = *key {
                        assert_eq!(keys.find_one(id, near), place);
                    }
                }
            }
            assert_eq!(keys.find(std::iter::repeat_n(99, width as usize), 0), None);
        }
    }

    #[test]
    fn keys_that_are_not_there_have_no_place() {
        let some = keys(1, &(0..50).map(|n| n * n + 1).collect::<Vec<u64>>());
        for id in 0..2_600 {
            let expected = some.iter().position(|key| *key == [id]);
            for near in 0..some.len() + 1 {
                assert_eq!(some.find_one(id, near), expected, "{id} from {near}");
            }
        }
    }

    #[test]
    fn keys_far_apart_are_distinct_too() {
        let ids: Vec<u64> = (0..40).map(|n| ((n * 13 % 20) << 58) | (n % 4)).collect();
        for width in [1, 2] {
            let all = keys(width, &ids);
            let rows = (0..all.len() as u32).rev().collect();
            let DistinctKeys { keys, numbers } = distinct(&all, rows);
            assert!(keys.iter().is_sorted_by(|a, b| a < b));
            assert_eq!(numbers.len(), all.len());
            for (row, number) in numbers {
                assert_eq!(keys.key(number as usize), all.key(row as usize));
            }
        }
    }

    #[test]
    fn keys_may_have_no_values() {
        let keys = RowKeys::of_columns(&[[0_u64; 0]; 0], 3);
        let DistinctKeys { keys, numbers } = distinct(&keys, vec![0, 2]);
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
