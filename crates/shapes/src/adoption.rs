//! Adoption: sets without a table join the most similar one that takes most of their quads.
//!
//! Score of a table for a set: the share of the set's quads that the table has columns for, times the cosine of their predicates. Cost: for
//! each set, the tables that may take enough of it ([`Holders`]).

use crate::charsets::Charset;
use crate::holders::{Holders, Scratch};
use crate::settings::Settings;
use crate::similarity::Weights;

/// Which tables have columns for which predicates: a bit for each of both, but for predicates that no table has.
struct ColumnBits {
    /// Where the bits of each predicate begin; `usize::MAX` if no table has it.
    starts: Vec<usize>,
    bits: Vec<u64>,
}

impl ColumnBits {
    fn new(columns: &[&[u32]]) -> Self {
        let words = columns.len().div_ceil(64);
        let predicates = columns.iter().flat_map(|predicates| predicates.iter());
        let end = predicates.clone().max().map_or(0, |p| *p as usize + 1);
        let mut starts = vec![usize::MAX; end];
        let mut bits = Vec::new();
        for &predicate in predicates {
            let start = &mut starts[predicate as usize];
            if *start == usize::MAX {
                *start = bits.len();
                bits.resize(bits.len() + words, 0);
            }
        }
        for (at, predicates) in columns.iter().enumerate() {
            for &predicate in *predicates {
                bits[starts[predicate as usize] + at / 64] |= 1 << (at % 64);
            }
        }
        Self { starts, bits }
    }

    /// The bits of a predicate, one for each table; none if no table has it.
    fn of(&self, predicate: u32) -> &[u64] {
        let start = self.starts.get(predicate as usize).copied();
        let bits = start.and_then(|start| self.bits.get(start..));
        bits.unwrap_or(&[])
    }
}

/// A predicate of a set.
struct Wanted<'a> {
    /// The tables that have a column for it, as bits.
    tables: &'a [u64],
    /// How many values the set has, whatever their class.
    values: u64,
    /// The squared weight.
    square: f64,
}

/// Tables that take sets in.
pub(crate) struct Adopters<'a> {
    weights: &'a Weights,
    settings: &'a Settings,
    columns: ColumnBits,
    /// The squared length of each table's predicates.
    norms: Vec<f64>,
    /// Predicate to the tables that have a column for it.
    holders: Holders,
    scratch: Scratch,
}

impl<'a> Adopters<'a> {
    /// Tables with columns for these predicates.
    pub(crate) fn new(
        columns: impl Iterator<Item = &'a [u32]>,
        weights: &'a Weights,
        settings: &'a Settings,
    ) -> Self {
        let columns: Vec<&[u32]> = columns.collect();
        let mut holders = Holders::default();
        for (at, predicates) in (0..).zip(&columns) {
            predicates.iter().for_each(|&p| holders.add(p, at));
        }
        let norm = |predicates: &&[u32]| weights.norm(predicates.iter().copied());
        Self {
            weights,
            settings,
            norms: columns.iter().map(norm).collect(),
            columns: ColumnBits::new(&columns),
            holders,
            scratch: Scratch::default(),
        }
    }

    /// The table with the highest score that takes enough of a set, the first among equals.
    pub(crate) fn table_of(&mut self, set: &Charset) -> Option<usize> {
        let values = values_of(set);
        let quads = set.quads() as f64;
        let share_min = self.settings.adoption_share_min;
        let weights = values.iter().map(|(p, values)| (*p, *values as f64));
        self.holders
            .find(weights, share_min * quads, &mut self.scratch);
        let norm = self.weights.norm(set.predicates());
        let wanted = self.wanted(&values);
        let mut best: Option<(f64, usize)> = None;
        for &(at, _) in &self.scratch.candidates {
            let at = at as usize;
            let (share, score) = score(&wanted, (quads, norm), (at, self.norms[at]));
            let better = best.is_none_or(|(s, b)| score > s || score == s && at < b);
            if share >= share_min && better {
                best = Some((score, at));
            }
        }
        best.map(|(_, at)| at)
    }

    /// The predicates of a set that any table has a column for.
    fn wanted(&self, values: &[(u32, u64)]) -> Vec<Wanted<'_>> {
        let wanted = values.iter().map(|&(predicate, values)| Wanted {
            tables: self.columns.of(predicate),
            values,
            square: self.weights.square(predicate),
        });
        wanted.filter(|w| !w.tables.is_empty()).collect()
    }
}

/// The share of a set's quads that a table takes, and its score; of the set its quads and squared length, of the table its number and squared
/// length.
fn score(
    wanted: &[Wanted<'_>],
    (quads, norm): (f64, f64),
    (at, length): (usize, f64),
) -> (f64, f64) {
    let (mut taken, mut dot) = (0, 0.0);
    for predicate in wanted {
        let has = predicate.tables[at / 64] >> (at % 64) & 1;
        taken += predicate.values * has;
        dot += predicate.square * has as f64;
    }
    let share = taken as f64 / quads.max(1.0);
    (share, share * dot / (norm * length).sqrt())
}

/// How many values a set has of each predicate, whatever their class.
fn values_of(set: &Charset) -> Vec<(u32, u64)> {
    let of_predicate = set.counts.chunk_by(|a, b| a.predicate == b.predicate);
    of_predicate
        .map(|counts| (counts[0].predicate, counts.iter().map(|c| c.values).sum()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charsets::PredicateCounts;
    use crate::type_class::TypeClass;
    use proptest::prelude::*;

    fn any_set() -> impl Strategy<Value = Charset> {
        let counts = proptest::collection::btree_map((0u32..15, 0usize..2), 1u64..30, 1..8);
        counts.prop_map(|counts| Charset {
            subjects: 1,
            counts: counts
                .into_iter()
                .map(|((predicate, class), values)| PredicateCounts {
                    predicate,
                    class: [TypeClass::Resource, TypeClass::Number][class],
                    values,
                    rows: 1,
                })
                .collect(),
            class: None,
        })
    }

    proptest! {
        #[test]
        fn the_best_of_all_tables_adopts(
            sets in proptest::collection::vec(any_set(), 1..30),
            tables in proptest::collection::vec(proptest::collection::btree_set(0u32..15, 1..8), 1..25),
            share in 0.1f64..1.0,
        ) {
            let settings = Settings { adoption_share_min: share, ..Settings::default() };
            let weights = Weights::of(&sets);
            let tables: Vec<Vec<u32>> = tables.into_iter().map(|table| table.into_iter().collect()).collect();
            let mut adopters = Adopters::new(tables.iter().map(Vec::as_slice), &weights, &settings);
            for set in &sets {
                let mut best: Option<(f64, usize)> = None;
                for (at, table) in tables.iter().enumerate() {
                    let in_table = |p: &u32| table.contains(p);
                    let taken: u64 = set.counts.iter().filter(|c| in_table(&c.predicate)).map(|c| c.values).sum();
                    let taken = taken as f64 / set.quads() as f64;
                    let dot: f64 = set.predicates().filter(in_table).map(|p| weights.square(p)).sum();
                    let lengths = weights.norm(set.predicates()) * weights.norm(table.iter().copied());
                    let score = taken * dot / lengths.sqrt();
                    if taken >= share && best.is_none_or(|(s, _)| score > s) {
                        best = Some((score, at));
                    }
                }
                prop_assert_eq!(adopters.table_of(set), best.map(|(_, at)| at));
            }
        }
    }
}
