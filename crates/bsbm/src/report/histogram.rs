//! Latency histograms with buckets that grow by a constant factor.
//!
//! Ten buckets to a power of ten keep every time within 13 % of its bucket's middle, so the
//! histograms of two runs can be laid over one another without their raw samples.

use serde::{Deserialize, Serialize};

const BUCKETS_PER_DECADE: f64 = 10.0;
/// The lower end of the first bucket, in seconds; what is faster is counted there.
const SHORTEST_S: f64 = 1e-6;
/// The last bucket begins some eleven days later.
const BUCKET_IDX_MAX: usize = 120;

/// The executions whose time was between two limits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    /// The lower limit, included.
    pub from_s: f64,
    /// The upper limit.
    pub to_s: f64,
    /// The executions.
    pub count: u64,
}

/// The buckets that hold these times, in ascending order, without empty ones.
pub(crate) fn histogram(seconds: &[f64]) -> Vec<Bucket> {
    let mut counts = [0u64; BUCKET_IDX_MAX + 1];
    for time in seconds {
        counts[bucket_idx(*time)] += 1;
    }
    let held = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    held.map(|(idx, count)| Bucket {
        from_s: limit(idx),
        to_s: limit(idx + 1),
        count: *count,
    })
    .collect()
}

/// The bucket of a time. Powers of ten are limits to within rounding.
pub(crate) fn bucket_idx(seconds: f64) -> usize {
    let decades = (seconds / SHORTEST_S).max(1.0).log10();
    let idx = (decades * BUCKETS_PER_DECADE + 1e-9).floor();
    (idx as usize).min(BUCKET_IDX_MAX)
}

/// The lower limit of a bucket.
pub(crate) fn limit(idx: usize) -> f64 {
    SHORTEST_S * 10f64.powf(idx as f64 / BUCKETS_PER_DECADE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_its_bucket() {
        let times = [0.0, 1e-6, 0.000_99, 0.001, 0.001_3, 0.5, 0.5, 60.0, 1e9];
        let buckets = histogram(&times);
        assert_eq!(buckets.iter().map(|b| b.count).sum::<u64>(), 9);
        assert_eq!(buckets[0].count, 2);
        for time in &times[1..8] {
            let holds = |b: &&Bucket| b.from_s <= time * 1.000_001 && *time < b.to_s;
            assert_eq!(buckets.iter().filter(holds).count(), 1, "{time}");
        }
        let halves = buckets.iter().find(|b| b.count == 2 && b.from_s > 0.1);
        assert!(halves.is_some_and(|b| b.to_s / b.from_s < 1.26));
        assert!(histogram(&[]).is_empty());
    }

    #[test]
    fn limits_are_their_own_buckets() {
        for idx in 0..BUCKET_IDX_MAX {
            assert_eq!(bucket_idx(limit(idx)), idx);
        }
    }
}
