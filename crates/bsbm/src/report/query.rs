//! The figures of one query.

use super::histogram::{Bucket, histogram};
use super::samples::{LevelSamples, QuerySamples};
use serde::{Deserialize, Serialize};

/// The result of one query.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueryReport {
    /// The number of the query.
    pub number: u8,
    /// Executions, failed ones included.
    pub count: u64,
    /// Rows or triples of all executions.
    pub rows: u64,
    /// The fewest rows of an answer.
    #[serde(default)]
    pub rows_min: u64,
    /// The most rows of an answer.
    #[serde(default)]
    pub rows_max: u64,
    /// Executions with an empty answer.
    pub empty: u64,
    /// Mean time.
    pub aqet_s: f64,
    /// Geometric mean of the times.
    pub aqet_geometric_s: f64,
    /// Standard deviation of the times.
    #[serde(default)]
    pub deviation_s: f64,
    /// Executions per second: the inverse of the mean time, times the clients that were busy on
    /// average.
    #[serde(default)]
    pub qps: f64,
    /// The shortest time.
    pub min_s: f64,
    /// The time that half of the executions did not exceed.
    pub p50_s: f64,
    /// The time that 95 % of the executions did not exceed.
    pub p95_s: f64,
    /// The time that 99 % of the executions did not exceed.
    pub p99_s: f64,
    /// The longest time.
    pub max_s: f64,
    /// Executions that ran out of time.
    pub timeouts: u64,
    /// Executions that were left out, since the query had run out of time before; they are timed
    /// with the limit.
    #[serde(default)]
    pub not_tried: u64,
    /// Executions that failed otherwise.
    pub errors: u64,
    /// The first failure in words.
    pub first_error: Option<String>,
    /// A hash of all answers, in hexadecimal; independent of row order and of timing.
    pub result_hash: String,
    /// How the times are distributed.
    #[serde(default)]
    pub histogram: Vec<Bucket>,
    /// Figures per level of the product type, if it was drawn from several.
    #[serde(default)]
    pub levels: Vec<LevelReport>,
}

/// The result of one query with product types of one level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelReport {
    /// The level in the tree of types; the root is 0.
    pub level: usize,
    /// Executions that were timed.
    pub count: u64,
    /// Those that ran out of time or were not tried, and are timed with the limit.
    #[serde(default)]
    pub unanswered: u64,
    /// Their mean time.
    pub aqet_s: f64,
    /// The time that half of them did not exceed.
    pub p50_s: f64,
    /// The longest time.
    pub max_s: f64,
}

impl QueryReport {
    /// The figures of the executions of a query. `busy_clients` is the average number of clients
    /// that were waiting for an answer.
    pub(crate) fn new(number: u8, samples: &QuerySamples, busy_clients: f64) -> QueryReport {
        let times = sorted(&samples.seconds);
        let mean = mean(&times);
        let (rows_min, rows_max) = samples.rows_range.unwrap_or_default();
        QueryReport {
            number,
            count: samples.count,
            rows: samples.rows,
            rows_min,
            rows_max,
            empty: samples.empty,
            aqet_s: mean,
            aqet_geometric_s: geometric_mean(&times),
            deviation_s: deviation(&times, mean),
            qps: if mean > 0.0 { busy_clients / mean } else { 0.0 },
            min_s: times.first().copied().unwrap_or(0.0),
            p50_s: percentile(&times, 50),
            p95_s: percentile(&times, 95),
            p99_s: percentile(&times, 99),
            max_s: times.last().copied().unwrap_or(0.0),
            timeouts: samples.timeouts,
            not_tried: samples.not_tried,
            errors: samples.errors,
            first_error: samples.first_error.clone(),
            result_hash: format!("{:016x}", samples.hash),
            histogram: histogram(&times),
            levels: samples.levels.iter().map(level_report).collect(),
        }
    }
}

fn level_report((level, samples): (&usize, &LevelSamples)) -> LevelReport {
    let times = sorted(&samples.seconds);
    LevelReport {
        level: *level,
        count: times.len() as u64,
        unanswered: samples.unanswered,
        aqet_s: mean(&times),
        p50_s: percentile(&times, 50),
        max_s: times.last().copied().unwrap_or(0.0),
    }
}

fn sorted(times: &[f64]) -> Vec<f64> {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times
}

/// The mean, 0 if there is nothing.
pub(crate) fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len().max(1) as f64
}

/// The geometric mean, 0 if there is nothing. Times of 0 count as a nanosecond.
pub(crate) fn geometric_mean(times: &[f64]) -> f64 {
    if times.is_empty() {
        return 0.0;
    }
    let logarithms: f64 = times.iter().map(|seconds| seconds.max(1e-9).ln()).sum();
    (logarithms / times.len() as f64).exp()
}

fn deviation(times: &[f64], mean: f64) -> f64 {
    if times.len() < 2 {
        return 0.0;
    }
    let squares: f64 = times.iter().map(|seconds| (seconds - mean).powi(2)).sum();
    (squares / (times.len() - 1) as f64).sqrt()
}

/// The nearest-rank percentile of sorted numbers, 0 if there are none.
pub(crate) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let times: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(percentile(&times, 50), 100.0);
        assert_eq!(percentile(&times, 99), 198.0);
        assert_eq!(percentile(&[7.0], 50), 7.0);
        assert_eq!(percentile(&[], 50), 0.0);
    }

    #[test]
    fn means_and_deviation() {
        let times = [1.0, 4.0, 16.0];
        assert_eq!(mean(&times), 7.0);
        assert!((geometric_mean(&times) - 4.0).abs() < 1e-12);
        assert!((deviation(&times, 7.0) - 63f64.sqrt()).abs() < 1e-12);
        assert_eq!(
            (mean(&[]), geometric_mean(&[]), deviation(&[1.0], 1.0)),
            (0.0, 0.0, 0.0)
        );
    }
}
