//! Where clients wait until all of them are warm, and the clock that starts then.
//!
//! Unlike a plain barrier it lets the calling thread look in now and then, and a client that ends
//! early does not keep the others waiting.
//! Termination: every client holds a [`Place`], and dropping it counts as arriving.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The line.
pub(crate) struct StartLine {
    state: Mutex<State>,
    all_there: Condvar,
}

struct State {
    missing: usize,
    started: Option<Instant>,
}

/// The place of one client on the line.
pub(crate) struct Place<'a> {
    line: &'a StartLine,
    has_arrived: bool,
}

impl StartLine {
    /// A line for so many clients.
    pub(crate) fn new(clients: usize) -> StartLine {
        StartLine {
            state: Mutex::new(State {
                missing: clients,
                started: None,
            }),
            all_there: Condvar::new(),
        }
    }

    /// A place for one of the clients; each takes one.
    pub(crate) fn place(&self) -> Place<'_> {
        Place {
            line: self,
            has_arrived: false,
        }
    }

    /// When the clock started, if it did.
    pub(crate) fn started(&self) -> Option<Instant> {
        self.lock().started
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arrive(&self) {
        let mut state = self.lock();
        state.missing = state.missing.saturating_sub(1);
        if state.missing == 0 {
            state.started.get_or_insert_with(Instant::now);
            self.all_there.notify_all();
        }
    }
}

impl Place<'_> {
    /// Arrives, and waits for the others; returns when the clock started.
    pub(crate) fn wait(&mut self) -> Instant {
        if !self.has_arrived {
            self.has_arrived = true;
            self.line.arrive();
        }
        let mut state = self.line.lock();
        loop {
            if let Some(started) = state.started {
                return started;
            }
            let waited = self
                .line
                .all_there
                .wait_timeout(state, Duration::from_secs(1));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.has_arrived {
            self.line.arrive();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_starts_with_the_last_client() {
        let line = StartLine::new(3);
        let mut first = line.place();
        drop(line.place());
        assert_eq!(line.started(), None);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| first.wait());
            let started = line.place().wait();
            assert_eq!(waiting.join().ok(), Some(started));
            assert_eq!(line.started(), Some(started));
        });
    }
}
