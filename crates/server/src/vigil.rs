//! A lane keeps its thread awake for a moment where the next request is likely to come soon.
//!
//! To wake a thread on a core that sleeps takes some 50 µs, as long as a lookup. Who asks one question after another is back before a lane
//! has waited [`VIGIL`], so a lane that has nothing to do looks for requests so long before it sleeps. It does so only where half of its last
//! requests came that soon, so a client that thinks for longer, or none, costs nothing; not while queries or
//! writes run on other threads, which have a better use for the core; and where another thread keeps wanting the core, it is left to that one. Decision 0023 has the figures.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long a lane looks for the next request.
const VIGIL: Duration = Duration::from_micros(200);
/// Of the last 64 requests as many must have come soon.
const SOON_MIN: u32 = 32;
/// A request before which another thread wanted the core counts as so many that came late: now and then one does on any machine,
/// and on a busy one most times.
const WANTED_COUNTS: u32 = 8;
/// To offer the core to others takes this long at most where nobody wants it.
const UNWANTED_MAX: Duration = Duration::from_micros(10);

/// What a lane knows of when its requests come. All its connections tell it, on the thread of the lane.
#[derive(Debug)]
pub struct Vigil {
    start: Instant,
    /// When the lane began to wait, in nanoseconds since the start.
    waits_since: AtomicU64,
    /// How often something came.
    arrivals: AtomicU64,
    /// A bit for each of the last arrivals, the last one lowest: whether it came soon.
    soon: AtomicU64,
    waits: Notify,
}

impl Default for Vigil {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            waits_since: AtomicU64::new(0),
            arrivals: AtomicU64::new(0),
            soon: AtomicU64::new(0),
            waits: Notify::new(),
        }
    }
}

impl Vigil {
    /// Notes that a connection has nothing to read now; gives the time since the lane began.
    pub fn note_wait(&self) -> Duration {
        let now = self.start.elapsed();
        self.wait_from(now);
        if self.is_worth_it() {
            self.waits.notify_one();
        }
        now
    }

    /// Notes that a connection has something to read.
    pub fn note_arrival(&self) {
        self.arrive_at(self.start.elapsed());
    }

    /// Looks for requests whenever that is worth it, for ever; `has_other_work` says whether something runs on other threads.
    pub async fn run(self: Arc<Self>, has_other_work: impl Fn() -> bool) {
        loop {
            self.waits.notified().await;
            let (start, seen) = (Instant::now(), self.arrivals.load(Ordering::Relaxed));
            let goes_on = || {
                self.arrivals.load(Ordering::Relaxed) == seen
                    && start.elapsed() < VIGIL
                    && !has_other_work()
            };
            while goes_on() {
                let offered = Instant::now();
                std::thread::yield_now();
                if offered.elapsed() > UNWANTED_MAX {
                    self.note_wanted();
                    break;
                }
                // Lets the lane look at what has come.
                tokio::task::yield_now().await;
            }
        }
    }

    fn wait_from(&self, time: Duration) {
        let nanos = time.as_nanos() as u64;
        self.waits_since.store(nanos, Ordering::Relaxed);
    }

    fn arrive_at(&self, time: Duration) {
        let since = Duration::from_nanos(self.waits_since.load(Ordering::Relaxed));
        let is_soon = time.saturating_sub(since) <= VIGIL;
        let soon = self.soon.load(Ordering::Relaxed) << 1 | u64::from(is_soon);
        self.soon.store(soon, Ordering::Relaxed);
        self.arrivals.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that another thread wanted the core.
    fn note_wanted(&self) {
        let soon = self.soon.load(Ordering::Relaxed) << WANTED_COUNTS;
        self.soon.store(soon, Ordering::Relaxed);
    }

    fn is_worth_it(&self) -> bool {
        self.soon.load(Ordering::Relaxed).count_ones() >= SOON_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use tokio::runtime::Builder;

    /// Requests that come so long after the lane began to wait.
    fn arrive(vigil: &Vigil, count: u32, gap: Duration) {
        for i in 1..=count {
            let time = Duration::from_secs(i.into());
            vigil.wait_from(time);
            vigil.arrive_at(time + gap);
        }
    }

    #[test]
    fn a_lane_keeps_vigil_once_half_of_the_last_requests_came_soon() {
        let vigil = Vigil::default();
        assert!(!vigil.is_worth_it());
        arrive(&vigil, SOON_MIN - 1, VIGIL);
        assert!(!vigil.is_worth_it());
        arrive(&vigil, 1, VIGIL);
        assert!(vigil.is_worth_it());
        arrive(&vigil, u64::BITS, Duration::ZERO);
        let late = VIGIL + Duration::from_nanos(1);
        arrive(&vigil, SOON_MIN, late);
        assert!(vigil.is_worth_it());
        arrive(&vigil, 1, late);
        assert!(!vigil.is_worth_it());
    }

    #[test]
    fn a_core_that_others_want_often_is_left_to_them() {
        let vigil = Vigil::default();
        arrive(&vigil, u64::BITS, Duration::ZERO);
        for _ in 0..100 {
            vigil.note_wanted();
            arrive(&vigil, 2 * WANTED_COUNTS, Duration::ZERO);
            assert!(vigil.is_worth_it());
        }
        for _ in 0..=SOON_MIN / WANTED_COUNTS {
            vigil.note_wanted();
        }
        assert!(!vigil.is_worth_it());
    }

    /// How often a lane looks that waits for as long as its worth, with `has_other_work` at the look of a number.
    fn looks(vigil: &Arc<Vigil>, has_other_work: impl Fn(u32) -> bool) -> u32 {
        let runtime = Builder::new_current_thread().enable_time().build();
        let looks = Cell::new(0);
        let count = || {
            looks.set(looks.get() + 1);
            has_other_work(looks.get())
        };
        runtime.expect("a runtime").block_on(async {
            vigil.note_wait();
            let run = Arc::clone(vigil).run(count);
            // The vigil is polled before the time is looked at.
            let _ = tokio::time::timeout(Duration::from_millis(1), run).await;
        });
        looks.get()
    }

    #[test]
    fn it_looks_only_where_that_is_worth_it_and_until_something_else_runs() {
        let vigil = Arc::new(Vigil::default());
        assert_eq!(looks(&vigil, |_| false), 0);
        arrive(&vigil, u64::BITS, Duration::ZERO);
        assert!(looks(&vigil, |_| false) > 0);
        assert_eq!(looks(&vigil, |look| look == 1), 1);
    }
}
