//! `Turns`: a query that takes long gives way to short ones where cores are scarce.
//!
//! The system lets a thread work for milliseconds before it looks who else waits, many times what a lookup takes, and
//! deals out time in equal shares. A query that has run for `LONG_AFTER` asks it each `TURN`, on each of its threads, whether somebody
//! waits. If somebody did, and other queries have begun meanwhile, the thread rests as long as it worked. So lookups, however many,
//! leave it half of the time, long queries beside one another do not rest but once, and short ones do nothing of it.
//!
//! Cost: a look at the clock in each check, a call of the system each `TURN` (less than a microsecond where nobody waits).

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a query runs before it counts as long.
const LONG_AFTER: Duration = Duration::from_millis(50);
/// How long a thread of a long query works between two questions.
const TURN: Duration = Duration::from_micros(500);
/// How long a thread is away, at least, if somebody else took its turn; where nobody waits it is back in less than a microsecond.
const OTHERS_WORKED: Duration = Duration::from_micros(10);

/// Queries that have begun in this process.
static BEGUN: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// When this thread began its turn, and how many queries had begun.
    static TURN_BEGAN: Cell<Option<(Instant, u64)>> = const { Cell::new(None) };
}

/// What a thread did when it was asked to give way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GaveWay {
    /// It went on: the query is short, or its turn is not over.
    No,
    /// It let the system choose who works.
    Turn,
    /// It rested as well.
    Rested,
}

/// The turns of one query; see the [module documentation](self).
#[derive(Debug)]
pub struct Turns {
    start: Instant,
}

impl Turns {
    /// Those of a query that begins now.
    pub fn begin() -> Self {
        BEGUN.fetch_add(1, Ordering::Relaxed);
        Self {
            start: Instant::now(),
        }
    }

    /// Gives way to others if it is time to.
    pub fn give_way(&self, now: Instant) -> GaveWay {
        if now.saturating_duration_since(self.start) < LONG_AFTER {
            return GaveWay::No;
        }
        TURN_BEGAN.with(|turn| {
            let begun = BEGUN.load(Ordering::Relaxed);
            let (since, begun_before) = turn.get().unwrap_or((self.start, begun));
            if now.saturating_duration_since(since) < TURN {
                return GaveWay::No;
            }
            std::thread::yield_now();
            let rests = now.elapsed() >= OTHERS_WORKED && begun != begun_before;
            if rests {
                std::thread::sleep(TURN);
            }
            turn.set(Some((Instant::now(), begun)));
            match rests {
                true => GaveWay::Rested,
                false => GaveWay::Turn,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_query_gives_way_now_and_then() {
        let now = Instant::now();
        assert_eq!(Turns::begin().give_way(now), GaveWay::No, "it is short");
        let start = now.checked_sub(LONG_AFTER);
        let turns = Turns {
            start: start.expect("the clock has run so long"),
        };
        assert_eq!(turns.give_way(now + TURN), GaveWay::Turn);
        let again = turns.give_way(now + TURN);
        assert_eq!(again, GaveWay::No, "its turn has just begun");
        std::thread::sleep(TURN);
        let asked = Instant::now();
        // As if another query had worked since it asked.
        Turns::begin();
        std::thread::sleep(OTHERS_WORKED);
        assert_eq!(turns.give_way(asked), GaveWay::Rested);
        assert!(asked.elapsed() >= TURN);
    }
}
