//! What a run has done so far, counted by all clients and shown while it runs.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What the clients are doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Mixes that are not measured.
    WarmUp,
    /// Mixes that are not measured, until their rate settles.
    RampUp,
    /// Mixes that are measured.
    Measuring,
    /// The state of the store is compared with the updates that it confirmed.
    Verifying,
    /// Mixes whose answers are recorded.
    Recording,
}

/// A look at a running driver.
#[derive(Clone, Copy, Debug)]
pub struct RunProgress {
    /// What the clients are doing.
    pub phase: Phase,
    /// Time since the phase began.
    pub elapsed: Duration,
    /// Mixes run in this phase.
    pub mixes: u64,
    /// Mixes of this phase, if their number is known.
    pub mixes_total: Option<u64>,
    /// The time of this phase, if the clock ends it.
    pub time_total: Option<Duration>,
    /// Mixes that there are update transactions for, if the clock ends the phase.
    pub supply: Option<u64>,
    /// Executions in this phase.
    pub executions: u64,
    /// Executions in this phase that ran out of time.
    pub timeouts: u64,
    /// Executions in this phase that failed otherwise.
    pub errors: u64,
}

impl fmt::Display for RunProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed.as_secs_f64();
        let phase = match self.phase {
            Phase::WarmUp => "warm-up",
            Phase::RampUp => "ramp-up",
            Phase::Measuring => "measuring",
            Phase::Recording => "recording",
            Phase::Verifying => return f.write_str("verifying the updates"),
        };
        write!(f, "{phase}, {seconds:.0} s")?;
        if let Some(total) = self.time_total {
            write!(f, " of {} s", total.as_secs_f64())?;
        }
        write!(f, ": {} ", self.mixes)?;
        if let Some(total) = self.mixes_total {
            write!(f, "of {total} ")?;
        }
        f.write_str("mixes")?;
        if self.mixes > 0 && seconds > 0.0 {
            let rate = self.mixes as f64 / seconds;
            write!(f, ", {:.0} an hour", 3_600.0 * rate)?;
            let left = self
                .mixes_total
                .map(|total| total.saturating_sub(self.mixes));
            if let Some(left) = left {
                write!(f, ", about {:.0} s left", left as f64 / rate)?;
            }
            if let Some(supply) = self.supply {
                let left = supply.saturating_sub(self.mixes);
                let left_s = left as f64 / rate;
                write!(f, ", transactions for {left} more, about {left_s:.0} s")?;
            }
        }
        if self.timeouts + self.errors > 0 {
            write!(f, ", {} timeouts, {} errors", self.timeouts, self.errors)?;
        }
        Ok(())
    }
}

/// Counts of one phase.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) mixes: AtomicU64,
    pub(crate) executions: AtomicU64,
    pub(crate) timeouts: AtomicU64,
    pub(crate) errors: AtomicU64,
}

impl Counters {
    /// What they show.
    pub(crate) fn look(
        &self,
        phase: Phase,
        elapsed: Duration,
        mixes_total: Option<u64>,
    ) -> RunProgress {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RunProgress {
            phase,
            elapsed,
            mixes: value(&self.mixes),
            mixes_total,
            time_total: None,
            supply: None,
            executions: value(&self.executions),
            timeouts: value(&self.timeouts),
            errors: value(&self.errors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_rate_time_left_and_failures() {
        let counters = Counters::default();
        counters.mixes.store(20, Ordering::Relaxed);
        let line = |phase, total| {
            counters
                .look(phase, Duration::from_secs(10), total)
                .to_string()
        };
        assert_eq!(
            line(Phase::Measuring, Some(50)),
            "measuring, 10 s: 20 of 50 mixes, 7200 an hour, about 15 s left"
        );
        counters.errors.store(2, Ordering::Relaxed);
        assert_eq!(
            line(Phase::RampUp, None),
            "ramp-up, 10 s: 20 mixes, 7200 an hour, 0 timeouts, 2 errors"
        );
        let by_the_clock = RunProgress {
            time_total: Some(Duration::from_secs(90)),
            supply: Some(26),
            errors: 0,
            ..counters.look(Phase::Measuring, Duration::from_secs(10), None)
        };
        assert_eq!(
            by_the_clock.to_string(),
            "measuring, 10 s of 90 s: 20 mixes, 7200 an hour, transactions for 6 more, about 3 s"
        );
    }
}
