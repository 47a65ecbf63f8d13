//! `KeyShares`: how often keys repeat in a batch where some values are far more frequent than others.
//!
//! `n` rows have `Σ (1 - (1 - p)^n)` distinct values on average, over all values with their shares `p` of the rows. A row that is drawn
//! has a value with the probability `p`, so the mean of `(1 - (1 - p)^n) / p` over drawn rows is an estimate of the same sum without bias: what
//! Horvitz and Thompson's estimator ("A generalization of sampling without replacement from a finite universe", JASA 47, 1952) says of
//! the values that the batch meets. The share of a value is counted, in inverses and POSG.
//!
//! Cost: the sample of a star ([`JoinSample`]), and a count in each of its tables for each value.

use super::costs::batch_rows;
use super::join_sample::{JoinSample, KnownStar};
use crate::physical::{Slot, Star, StarPattern};
use crate::planner::Planner;
use crate::slot_set::SlotSet;
use basalt_rdf::TermId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The values that drawn rows have; never empty.
#[derive(Clone, Debug)]
pub(crate) struct KeyShares(Vec<DrawnValue>);

/// A value of some drawn rows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct DrawnValue {
    /// The share of the value in all rows, from 0 to 1.
    share: f64,
    /// For how many rows those that were drawn stand.
    weight: f64,
}

impl KeyShares {
    /// Those of an object of a star, worked out once for each query; `None` where its rows cannot be looked at, or how many have a value
    /// cannot be counted cheaply.
    pub(super) fn of(planner: &Planner<'_>, known: KnownStar<'_>, slot: Slot) -> Option<Arc<Self>> {
        let star = known.star;
        planner.key_shares.get_kept(
            planner.kept([star]).map(|known| &known.key_shares),
            |(other, of)| other == star && *of == slot,
            || (star.clone(), slot),
            || Self::counted(planner, known, slot).map(Arc::new),
        )
    }

    fn counted(planner: &Planner<'_>, known: KnownStar<'_>, slot: Slot) -> Option<Self> {
        let star = known.star;
        let is_of_slot = |p: &&StarPattern| !p.optional && p.object.slot() == Some(slot);
        let predicate = star.patterns.iter().find(is_of_slot)?.predicate;
        let sample = JoinSample::of_star(planner, known, &SlotSet::of(&[slot]), slot.0.into())?;
        // Each is counted once: for a popular one that may take reading.
        let mut drawn: BTreeMap<TermId, f64> = BTreeMap::new();
        for (value, weight) in sample.weighted_values(slot)? {
            *drawn.entry(value).or_insert(0.0) += weight;
        }
        let values: Vec<TermId> = drawn.keys().copied().collect();
        let counts = planner
            .statistics
            .quads_with_objects(&star.tables, predicate, &values)?;
        let all = quads(planner, star, predicate);
        let known = drawn.into_values().zip(counts).map(|(weight, count)| {
            let share = count / all.max(count);
            DrawnValue { share, weight }
        });
        let is_met = |value: &DrawnValue| value.share > 0.0 && value.weight > 0.0;
        let known: Vec<DrawnValue> = known.filter(is_met).collect();
        (!known.is_empty()).then_some(Self(known))
    }

    /// The distinct keys of a batch for each of its rows.
    pub(super) fn keys_per_row(&self, rows: f64) -> f64 {
        let rows = batch_rows(rows);
        let of_share = |share: f64| (1.0 - (1.0 - share).powf(rows)) / (share * rows);
        let sum: f64 = self.0.iter().map(|v| v.weight * of_share(v.share)).sum();
        let weight: f64 = self.0.iter().map(|v| v.weight).sum();
        (sum / weight).max(1.0 / rows).min(1.0)
    }
}

/// Quads of a predicate in cells of a star's tables, or irregular.
fn quads(planner: &Planner<'_>, star: &Star, predicate: TermId) -> f64 {
    let columns = planner.columns(predicate);
    let of_star = columns.iter().filter(|(table, _)| star.has_table(*table));
    let in_cells: u64 = of_star.map(|(_, column)| column.values).sum();
    (in_cells + planner.statistics.irregular(predicate).quads) as f64
}

#[cfg(test)]
mod tests {
    use super::super::costs::keys_per_row;
    use super::*;
    use crate::cost_constants::BATCH_ROWS;

    /// The distinct values of a batch for each of its rows, from all shares.
    fn exact(shares: &[f64]) -> f64 {
        let met = shares.iter().map(|p| 1.0 - (1.0 - p).powf(BATCH_ROWS));
        met.sum::<f64>() / BATCH_ROWS
    }

    /// The shares of the values of so many rows, spread evenly over all rows.
    fn of_rows(shares: &[f64], rows: usize) -> KeyShares {
        let mut drawn = Vec::new();
        let mut before = 0.0;
        for share in shares {
            before += share;
            while drawn.len() < rows && (drawn.len() as f64 + 0.5) / (rows as f64) < before {
                drawn.push(*share);
            }
        }
        alike(&drawn)
    }

    /// Rows with values of these shares, each drawn as often.
    fn alike(shares: &[f64]) -> KeyShares {
        let value = |share: &f64| DrawnValue {
            share: *share,
            weight: 2.0,
        };
        KeyShares(shares.iter().map(value).collect())
    }

    #[test]
    fn even_values_repeat_as_the_formula_says() {
        for values in [10, 300, 3_000, 1_000_000] {
            let shares = alike(&[1.0 / f64::from(values); 64]);
            for rows in [1.0, 100.0, 1e6] {
                let (ours, even) = (
                    shares.keys_per_row(rows),
                    keys_per_row(rows, f64::from(values)),
                );
                assert!(
                    (ours / even - 1.0).abs() < 0.06,
                    "{values} {rows}: {ours} {even}"
                );
            }
        }
    }

    #[test]
    fn few_popular_values_make_keys_repeat() {
        // The k-th most frequent of 3,443 values is 1/k as frequent as the first.
        let sum: f64 = (1..=3_443).map(|k| 1.0 / f64::from(k)).sum();
        let shares: Vec<f64> = (1..=3_443).map(|k| 1.0 / (f64::from(k) * sum)).collect();
        let (exact, even) = (exact(&shares), keys_per_row(BATCH_ROWS, 3_443.0));
        let ours = of_rows(&shares, 64).keys_per_row(1e6);
        assert!(even > 0.7 && exact < 0.45, "{even} {exact}");
        assert!((ours / exact - 1.0).abs() < 0.15, "{ours} {exact}");
    }

    #[test]
    fn a_single_value_is_one_key_a_batch() {
        let shares = alike(&[1.0; 3]);
        assert_eq!(shares.keys_per_row(1e9), 1.0 / BATCH_ROWS);
        assert_eq!(shares.keys_per_row(0.0), 1.0);
    }

    #[test]
    fn values_count_for_the_rows_that_they_stand_for() {
        // A few rows of small tables have values of their own; nearly all have one value.
        let of = |share, weight| DrawnValue { share, weight };
        let mut values = vec![of(0.99, 1e6)];
        values.extend([of(1e-6, 5.0); 30]);
        assert!(KeyShares(values).keys_per_row(1e6) < 0.01);
    }
}
