//! What was finished when, and how long it took, in slices of equal length.
//!
//! A store that writes in the background between two questions, a merge or a checkpoint, shows in
//! the slices where it does: fewer executions, or a long tail. The slice that stands out most is
//! named, so that nobody has to look for it.

use super::MixTime;
use super::query::percentile;
use super::samples::{QuerySamples, Samples};
use serde::{Deserialize, Serialize};

/// Enough for a curve, few enough for a page.
const SLICES: usize = 60;

/// Executions and mixes over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// The length of a slice.
    pub slice_s: f64,
    /// Executions that ended in each slice.
    pub executions: Vec<u64>,
    /// Mixes that ended in each slice.
    pub mixes: Vec<u64>,
    /// Times of the queries that ended in each slice.
    #[serde(default)]
    pub queries: Vec<SliceTimes>,
    /// Times of the updates that ended in each slice; nothing if there were none at all.
    #[serde(default)]
    pub updates: Vec<SliceTimes>,
    /// The slices that stand out.
    #[serde(default)]
    pub worst: Option<WorstSlices>,
}

/// Times of what ended in one slice; all are 0 if nothing did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SliceTimes {
    /// Executions that were timed.
    pub count: u64,
    /// The time that half of them did not exceed.
    pub p50_s: f64,
    /// The time that 99 % of them did not exceed.
    pub p99_s: f64,
    /// The longest time.
    pub max_s: f64,
}

/// The slices that stand out, by their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorstSlices {
    /// The one with the fewest executions.
    pub executions: usize,
    /// The one with the highest 99th percentile of the times of queries.
    pub queries: Option<usize>,
    /// The one with the highest 99th percentile of the times of updates.
    pub updates: Option<usize>,
}

impl Timeline {
    pub(crate) fn new(elapsed_s: f64, samples: &Samples, mixes: &[MixTime]) -> Timeline {
        if elapsed_s <= 0.0 {
            return Timeline::default();
        }
        let slice_s = elapsed_s / SLICES as f64;
        let slice_of = |end_s: f64| ((end_s / slice_s) as usize).min(SLICES - 1);
        let count = |ends: &mut dyn Iterator<Item = f64>| {
            let mut counts = vec![0; SLICES];
            for end in ends {
                counts[slice_of(end)] += 1;
            }
            counts
        };
        let times = |is_of: &dyn Fn(&QuerySamples) -> bool| {
            let mut slices = vec![Vec::new(); SLICES];
            for query in samples.queries().filter(|query| is_of(query)) {
                for (seconds, ended_s) in query.seconds.iter().zip(&query.ended_s) {
                    slices[slice_of(f64::from(*ended_s))].push(*seconds);
                }
            }
            let is_empty = slices.iter().all(Vec::is_empty);
            let slices = slices.into_iter().map(SliceTimes::new);
            if is_empty {
                Vec::new()
            } else {
                slices.collect()
            }
        };
        let mut ends = samples.queries().flat_map(|query| {
            let all = query.ended_s.iter().chain(&query.failed_s);
            all.map(|end| f64::from(*end))
        });
        let executions = count(&mut ends);
        let queries = times(&|query: &QuerySamples| !query.is_update);
        let updates = times(&|query: &QuerySamples| query.is_update);
        let least = executions
            .iter()
            .enumerate()
            .min_by_key(|(_, count)| **count);
        let worst = least.map(|(slice, _)| WorstSlices {
            executions: slice,
            queries: highest(&queries),
            updates: highest(&updates),
        });
        Timeline {
            slice_s,
            executions,
            mixes: count(&mut mixes.iter().map(|mix| mix.ended_s)),
            queries,
            updates,
            worst,
        }
    }

    /// Executions per second in the median slice and in the worst one.
    pub(crate) fn rates(&self) -> Option<(f64, f64)> {
        let worst = self.worst.filter(|_| self.slice_s > 0.0)?;
        let mut counts = self.executions.clone();
        counts.sort_unstable();
        let median = counts.get(counts.len() / 2)?;
        let least = self.executions.get(worst.executions)?;
        Some((*median as f64 / self.slice_s, *least as f64 / self.slice_s))
    }

    /// Digits that tell the beginnings of slices apart.
    pub(crate) fn digits(&self) -> usize {
        if self.slice_s < 1.0 { 3 } else { 1 }
    }

    /// When a slice begins and ends.
    pub(crate) fn range_s(&self, slice: usize) -> (f64, f64) {
        (
            slice as f64 * self.slice_s,
            (slice + 1) as f64 * self.slice_s,
        )
    }
}

impl SliceTimes {
    fn new(mut seconds: Vec<f64>) -> SliceTimes {
        seconds.sort_by(f64::total_cmp);
        SliceTimes {
            count: seconds.len() as u64,
            p50_s: percentile(&seconds, 50),
            p99_s: percentile(&seconds, 99),
            max_s: seconds.last().copied().unwrap_or(0.0),
        }
    }
}

/// The 99th percentile of the median slice that has any times.
pub(crate) fn median_p99(slices: &[SliceTimes]) -> f64 {
    let held = slices.iter().filter(|slice| slice.count > 0);
    let mut p99s: Vec<f64> = held.map(|slice| slice.p99_s).collect();
    p99s.sort_by(f64::total_cmp);
    percentile(&p99s, 50)
}

/// The slice with the highest 99th percentile, the first if there are several.
fn highest(slices: &[SliceTimes]) -> Option<usize> {
    let numbered = slices.iter().enumerate();
    let best = numbered.reduce(|best, next| match next.1.p99_s > best.1.p99_s {
        true => next,
        false => best,
    });
    best.map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::super::samples::tests::answered;
    use super::super::{Execution, Outcome};
    use super::*;
    use crate::queries::QueryForm;

    /// A minute with a query each half second, but for a gap from 30 to 32 s; every second an update,
    /// of which the one at 40.25 s takes long.
    fn a_minute() -> Samples {
        let mut samples = Samples::default();
        for half in 0..120 {
            let ended_s = f64::from(half) / 2.0 + 0.25;
            if !(30.0..32.0).contains(&ended_s) {
                samples.add(answered(3, 0.01, ended_s, 1));
            }
            if half % 2 == 0 {
                let seconds = if half == 80 { 0.9 } else { 0.02 };
                samples.add(Execution {
                    form: QueryForm::Update,
                    ..answered(1, seconds, ended_s, 0)
                });
            }
        }
        samples
    }

    #[test]
    fn slices_show_gaps_and_tails_where_they_are() {
        let mut samples = a_minute();
        samples.add(answered(4, 0.5, 12.5, 1));
        samples.add(Execution {
            outcome: Outcome::Failed("no".to_owned()),
            seconds: None,
            ..answered(4, 0.0, 12.5, 0)
        });
        let mixes = [10.5, 60.0].map(|ended_s| MixTime {
            seconds: 1.0,
            ended_s,
        });
        let timeline = Timeline::new(60.0, &samples, &mixes);
        assert_eq!(timeline.slice_s, 1.0);
        assert_eq!((timeline.mixes[10], timeline.mixes[59]), (1, 1));
        assert_eq!(timeline.executions[11..14], [3, 5, 3]);
        assert_eq!(timeline.executions[29..33], [3, 1, 1, 3]);
        let query = timeline.queries[12];
        assert_eq!((query.count, query.p50_s, query.max_s), (3, 0.01, 0.5));
        assert_eq!(timeline.queries[30], SliceTimes::default());
        let update = timeline.updates[40];
        assert_eq!((update.count, update.p99_s), (1, 0.9));
        let worst = timeline.worst.expect("there are slices");
        assert_eq!((worst.executions, worst.queries), (30, Some(12)));
        assert_eq!(worst.updates, Some(40));
        assert_eq!(timeline.rates(), Some((3.0, 1.0)));
        assert_eq!((timeline.range_s(40), timeline.digits()), ((40.0, 41.0), 1));
        assert_eq!(median_p99(&timeline.updates), 0.02);
    }

    #[test]
    fn nothing_has_no_slices() {
        let none = Timeline::new(0.0, &Samples::default(), &[]);
        assert_eq!(none, Timeline::default());
        assert_eq!((none.rates(), median_p99(&[])), (None, 0.0));
        let idle = Timeline::new(6.0, &Samples::default(), &[]);
        assert_eq!((idle.rates(), idle.digits()), (Some((0.0, 0.0)), 3));
        assert!(idle.queries.is_empty() && idle.updates.is_empty());
        let worst = idle.worst.expect("there are slices");
        assert_eq!((worst.queries, worst.updates), (None, None));
    }
}
