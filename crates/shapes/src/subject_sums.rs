//! `SubjectSums`: some subjects, and how many of them have each predicate.

use crate::fast_map::FastMap;
use crate::settings::Settings;

/// Subjects, and how many of them have each predicate.
#[derive(Default)]
pub(crate) struct SubjectSums {
    /// The subjects.
    pub subjects: u64,
    /// Those that have a predicate.
    pub by_predicate: FastMap<u32, u64>,
}

impl SubjectSums {
    /// Adds so many subjects, with how many of them have each predicate.
    pub fn add(&mut self, predicates: impl Iterator<Item = (u32, u64)>, subjects: u64) {
        self.subjects += subjects;
        for (predicate, rows) in predicates {
            *self.by_predicate.entry(predicate).or_insert(0) += rows;
        }
    }

    /// The predicates that at least half of the subjects have, ascending.
    pub fn usual(&self) -> Vec<u32> {
        let of_half = |(_, rows): &(&u32, &u64)| **rows * 2 >= self.subjects;
        let mut usual: Vec<u32> = self
            .by_predicate
            .iter()
            .filter(of_half)
            .map(|(p, _)| *p)
            .collect();
        usual.sort_unstable();
        usual
    }

    /// The share of what these subjects have that would be columns among others.
    pub fn share_in(&self, all: &Self, settings: &Settings) -> f64 {
        let rows_min = settings.column_fill_min * all.subjects as f64;
        let is_column = |p: &u32| {
            all.by_predicate
                .get(p)
                .is_some_and(|rows| *rows as f64 >= rows_min)
        };
        let of_columns = self.by_predicate.iter().filter(|(p, _)| is_column(p));
        let held: u64 = of_columns.map(|(_, rows)| rows).sum();
        held as f64 / self.by_predicate.values().sum::<u64>().max(1) as f64
    }
}
