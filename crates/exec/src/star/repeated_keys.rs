//! `RepeatedKeys`: the values of a join's entry in one batch, each once, where they repeat.
//!
//! Rows with the same value there have the same solutions if the star reads no other column of the input
//! ([`CompiledStar::input_columns`](super::compiled::CompiledStar::input_columns)). Then these are looked for once, and given to each of
//! the rows ([`SharedSolutions`](super::shared_solutions::SharedSolutions)).
//!
//! Cost: a step in a small hash table for each row. A batch in which values hardly repeat is given up when there are too many, and the batches
//! after it are not tried for some time. Memory: 12 bytes for each row of a batch and 20 for each value.

use crate::row_numbers::hash_row;

/// When rows with the same key share their solutions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedKeys {
    /// Whenever that can be.
    Always,
    /// If a batch has few enough distinct keys for its rows.
    WhereItPays,
    /// Every row is looked up, and its cells are read: nor are subjects tested by bits.
    Never,
}

impl SharedKeys {
    /// The most distinct keys of so many rows that are numbered; `by_object`: the rows of each are found in an inverse.
    ///
    /// Numbering the keys of some rows costs about as much as looking one cell of each up; a search in an inverse costs some times that.
    pub fn values_max(self, rows: usize, by_object: bool) -> usize {
        match self {
            Self::Always => rows,
            Self::WhereItPays if by_object => rows * 3 / 4,
            Self::WhereItPays => rows / 2,
            Self::Never => 0,
        }
    }
}

/// For each row of a batch whose values hardly repeat, so many rows of later batches are not tried: what is in vain is some percent then.
const ROWS_PASSED: usize = 15;

/// Marks a place of the hash table that is free.
const FREE: u32 = u32::MAX;

/// Values and their numbers; see the [module documentation](self).
#[derive(Default)]
pub struct RepeatedKeys {
    /// Open addressing: numbers of values, at most half of the places taken.
    places: Vec<u32>,
    /// The distinct values, in the order in which they come first.
    values: Vec<u64>,
    /// The row in which each comes first; they ascend.
    first_rows: Vec<u32>,
    /// The number of the value of each row.
    numbers: Vec<u32>,
    /// Rows still to be passed over.
    passing: usize,
}

impl RepeatedKeys {
    /// Numbers the values of a batch if there are at most `values_max`; else returns false, and what it holds is of no use.
    pub fn find(&mut self, ids: &[u64], values_max: usize) -> bool {
        if self.passing > 0 {
            self.passing = self.passing.saturating_sub(ids.len());
            return false;
        }
        if values_max == 0 {
            return false;
        }
        let is_found = self.number(ids, values_max);
        if !is_found {
            self.passing = ids.len() * ROWS_PASSED;
        }
        is_found
    }

    /// Numbers all values; false if there are more than `values_max`.
    fn number(&mut self, ids: &[u64], values_max: usize) -> bool {
        let places = (values_max * 2).next_power_of_two();
        self.places.clear();
        self.places.resize(places, FREE);
        self.values.clear();
        self.first_rows.clear();
        self.numbers.clear();
        self.values.reserve(values_max);
        self.first_rows.reserve(values_max);
        self.numbers.reserve(ids.len());
        for (row, &id) in ids.iter().enumerate() {
            let mut place = hash_row(&[id]) as usize & (places - 1);
            // Termination: half of the places at least are free.
            let number = loop {
                match self.places[place] {
                    FREE if self.values.len() == values_max => return false,
                    FREE => {
                        let number = self.values.len() as u32;
                        self.places[place] = number;
                        self.values.push(id);
                        self.first_rows.push(row as u32);
                        break number;
                    }
                    number if self.values[number as usize] == id => break number,
                    _ => place = (place + 1) & (places - 1),
                }
            };
            self.numbers.push(number);
        }
        true
    }

    /// The distinct values.
    pub fn values(&self) -> &[u64] {
        &self.values
    }

    /// The first row with each of the values, ascending.
    pub fn first_rows(&self) -> &[u32] {
        &self.first_rows
    }

    /// The number of the value of each row.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_the_number_of_its_value() {
        let mut keys = RepeatedKeys::default();
        for (rows, distinct) in [(1, 1), (10, 3), (500, 40), (4096, 1000)] {
            let ids: Vec<u64> = (0..rows).map(|row| (row * row % distinct) << 40).collect();
            assert!(keys.find(&ids, ids.len()));
            let told: Vec<u64> = keys
                .numbers()
                .iter()
                .map(|&n| keys.values()[n as usize])
                .collect();
            assert_eq!(told, ids);
            let first = |value| ids.iter().position(|id| id == value);
            let first_rows: Vec<u32> = keys
                .values()
                .iter()
                .filter_map(first)
                .map(|row| row as u32)
                .collect();
            assert_eq!(keys.first_rows(), first_rows);
            assert!(
                first_rows.is_sorted_by(|a, b| a < b),
                "in the order of appearance"
            );
        }
    }

    #[test]
    fn keys_of_objects_are_numbered_earlier() {
        let most = |shared: SharedKeys| [false, true].map(|by| shared.values_max(100, by));
        assert_eq!(most(SharedKeys::Always), [100, 100]);
        assert_eq!(most(SharedKeys::WhereItPays), [50, 75]);
        assert_eq!(most(SharedKeys::Never), [0, 0], "never asked for");
        for rows in 0..20 {
            let [subjects, objects] =
                [false, true].map(|by| SharedKeys::WhereItPays.values_max(rows, by));
            assert!(subjects <= objects && objects <= rows, "{rows}");
        }
    }

    #[test]
    fn values_that_hardly_repeat_are_given_up_for_some_time() {
        let mut keys = RepeatedKeys::default();
        let distinct: Vec<u64> = (0..100).collect();
        let repeated: Vec<u64> = (0..100).map(|row| row / 2).collect();
        assert!(keys.find(&repeated, 50), "each occurs twice");
        assert!(!keys.find(&distinct, 50));
        let tried = (0..40).position(|_| keys.find(&repeated, 50));
        assert_eq!(tried, Some(ROWS_PASSED), "so many batches are passed over");
        assert!(!keys.find(&[7], 0), "one row repeats nothing");
        assert!(keys.find(&repeated, 50), "and tells nothing of later ones");
    }
}
