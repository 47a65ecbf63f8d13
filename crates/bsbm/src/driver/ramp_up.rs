//! Finds the end of a warm-up: the time of a period of mixes no longer changes.
//!
//! The state is steady when the last five periods differ by less than the tolerance and the last
//! one is not the fastest of them: a rate that still creeps upwards is not steady. A store that
//! never settles is measured after a bounded number of periods, and the report says so.

use super::options::RampUp;
use crate::report::RampUpReport;
use std::time::{Duration, Instant};

/// Periods that have to be alike.
const PERIODS_ALIKE: usize = 5;

/// The periods of a run so far.
pub(crate) struct Periods {
    options: RampUp,
    started: Option<Instant>,
    mixes: u64,
    seconds: Vec<f64>,
    outcome: Option<Outcome>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Settled,
    GivenUp,
}

impl Periods {
    pub(crate) fn new(options: RampUp) -> Periods {
        Periods {
            options,
            started: None,
            mixes: 0,
            seconds: Vec::new(),
            outcome: None,
        }
    }

    /// The first mix begins.
    pub(crate) fn start(&mut self, now: Instant) {
        self.started.get_or_insert(now);
    }

    /// A mix has been run.
    pub(crate) fn finish_mix(&mut self, now: Instant) {
        if self.is_over() {
            return;
        }
        self.mixes += 1;
        if self.mixes < self.options.period_mixes.max(1) {
            return;
        }
        let started = self.started.replace(now).unwrap_or(now);
        let period: Duration = now.saturating_duration_since(started);
        self.seconds.push(period.as_secs_f64());
        self.mixes = 0;
        if is_steady(&self.seconds, self.options.tolerance) {
            self.outcome = Some(Outcome::Settled);
        } else if self.seconds.len() >= self.options.periods_max {
            self.outcome = Some(Outcome::GivenUp);
        }
    }

    /// Whether measuring may begin.
    pub(crate) fn is_over(&self) -> bool {
        self.outcome.is_some()
    }

    pub(crate) fn report(&self) -> RampUpReport {
        RampUpReport {
            period_mixes: self.options.period_mixes.max(1),
            tolerance: self.options.tolerance,
            periods_s: self.seconds.clone(),
            is_settled: self.outcome == Some(Outcome::Settled),
        }
    }
}

fn is_steady(seconds: &[f64], tolerance: f64) -> bool {
    let Some(start) = seconds.len().checked_sub(PERIODS_ALIKE) else {
        return false;
    };
    let last = &seconds[start..];
    let fastest = last.iter().copied().fold(f64::INFINITY, f64::min);
    let slowest = last.iter().copied().fold(0.0, f64::max);
    let is_alike = slowest - fastest < tolerance * fastest;
    is_alike && last.last().is_some_and(|seconds| fastest < *seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_is_alike_and_no_longer_faster() {
        assert!(!is_steady(&[1.0, 1.01, 1.0, 1.01], 0.05), "too few");
        assert!(is_steady(&[9.0, 1.0, 1.01, 1.0, 1.02, 1.01], 0.05));
        assert!(!is_steady(&[1.0, 1.2, 1.0, 1.01, 1.0], 0.05), "too unlike");
        let creeping = [1.04, 1.03, 1.02, 1.01, 1.0];
        assert!(!is_steady(&creeping, 0.05), "still faster");
        assert!(!is_steady(&[0.0; 5], 0.05), "no time is no rate");
    }

    #[test]
    fn periods_end_when_settled_or_after_so_many() {
        let start = Instant::now();
        let run = |period_ms: &dyn Fn(u64) -> u64| {
            let mut periods = Periods::new(RampUp {
                period_mixes: 2,
                tolerance: 0.05,
                periods_max: 8,
            });
            periods.start(start);
            let mut now = start;
            for mix in 0..100 {
                now += Duration::from_millis(period_ms(mix / 2) / 2);
                periods.finish_mix(now);
            }
            periods.report()
        };
        let settled = run(&|period| {
            if period < 2 {
                1_000
            } else {
                100 + 2 * (period % 2)
            }
        });
        assert!(settled.is_settled);
        // Two slow periods; then five alike, of which the last is not the fastest.
        assert_eq!(settled.periods_s.len(), 8);
        let given_up = run(&|period| 1_000 >> period);
        assert!(!given_up.is_settled);
        assert_eq!(given_up.periods_s.len(), 8);
    }
}
