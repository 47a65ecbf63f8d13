//! An attempt: a query that runs where others wait for the thread, and gives up after a short time.
//!
//! What counts is the time that the thread worked, since on a busy machine the system takes the thread away for longer than
//! a quick query takes. The clock on the wall counts too, `WALL_FACTOR` times as much, for what waits for a disk.
//!
//! Cost: a look at the clock in each check; one call of the system at the start, and in the checks after the time on the wall
//! is over.

use std::time::{Duration, Instant};

/// How much more time an attempt may take on the wall than on the processor: some slices of the scheduler for an
/// attempt of a millisecond.
const WALL_FACTOR: u32 = 8;

/// An attempt under way.
#[derive(Debug)]
pub struct Attempt {
    limit: Duration,
    wall_start: Instant,
    /// Time of the thread at the start; `None` where the system does not tell.
    thread_start: Option<Duration>,
}

impl Attempt {
    /// An attempt of this thread that begins now.
    pub fn begin(limit: Duration) -> Self {
        Self {
            limit,
            wall_start: Instant::now(),
            thread_start: thread_time(),
        }
    }

    /// Whether it has taken too long, asked by the thread that began it.
    pub fn is_over(&self, now: Instant) -> bool {
        let wall = now.saturating_duration_since(self.wall_start);
        if wall < self.limit {
            return false;
        }
        match (self.thread_start, thread_time()) {
            (Some(start), Some(time)) => {
                time.saturating_sub(start) >= self.limit || wall >= self.limit * WALL_FACTOR
            }
            _ => true,
        }
    }
}

/// The time that this thread has worked; `None` where the system does not tell.
#[cfg(target_os = "linux")]
pub fn thread_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).ok()?;
    Some(Duration::new(seconds, u32::try_from(time.tv_nsec).ok()?))
}

/// The time that this thread has worked; `None` where the system does not tell.
#[cfg(not(target_os = "linux"))]
pub fn thread_time() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_ends_by_work_or_by_long_waiting() {
        let attempt = Attempt::begin(Duration::from_millis(2));
        let start = attempt.wall_start;
        assert!(!attempt.is_over(start));
        // Nothing was worked yet, so only waiting for long ends it, unless the system tells no time of threads.
        let waited = start + Duration::from_millis(3);
        assert_eq!(attempt.is_over(waited), thread_time().is_none());
        assert!(attempt.is_over(start + Duration::from_millis(16)));
        let mut rounds = 0_u64;
        while !attempt.is_over(Instant::now()) {
            rounds = std::hint::black_box(rounds + 1);
        }
        assert!(start.elapsed() >= Duration::from_millis(2), "{rounds}");
    }
}
