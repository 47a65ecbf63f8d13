//! The line of those who wait for the writer's turn. Who stands in it can leave: an update that is cancelled, or whose client has hung up, is over
//! at once, and neither its thread nor its text waits for the writers before it.
//!
//! ```text
//! line     one of those who wait is at its head; the others sleep, and look now and then whether they should go on
//! head     waits while a merge is [behind](super::merge_policy), then for the turn itself, which loads and merges take without the line
//! turn     held with the place at the head, until the transaction ends
//! ```
//!
//! Cost: a lock and, if others wait, a wake-up for each transaction; looking is some microseconds for each who waits, fifty times a second.

use crate::error::Error;
use crate::transactions::Core;
use crate::transactions::turn::TurnGuard;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often those in line look whether they should go on.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long the head waits at first before it tries again to get the turn from a load or a merge, and how long at most.
const RETRY_FIRST: Duration = Duration::from_micros(100);
/// See [`RETRY_FIRST`].
const RETRY_LAST: Duration = Duration::from_millis(5);

/// See the [module documentation](self).
#[derive(Debug, Default)]
pub(crate) struct Line {
    has_head: Mutex<bool>,
    left: Condvar,
}

/// The place at the head, until it is dropped.
#[derive(Debug)]
pub(crate) struct Head<'l>(&'l Line);

impl Line {
    fn has_head(&self) -> MutexGuard<'_, bool> {
        // It is one flag.
        self.has_head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the head, unless `go_on` fails meanwhile.
    pub(crate) fn enter(&self, go_on: &dyn Fn() -> Result<(), Error>) -> Result<Head<'_>, Error> {
        go_on()?;
        let mut has_head = self.has_head();
        // Termination: who has the head leaves it, or makes `go_on` fail.
        while *has_head {
            let waited = self.left.wait_timeout(has_head, LOOK_EVERY);
            has_head = waited.unwrap_or_else(PoisonError::into_inner).0;
            // Who was woken because the head is free takes it, and so can wake the next.
            if *has_head {
                go_on()?;
            }
        }
        *has_head = true;
        Ok(Head(self))
    }
}

impl Drop for Head<'_> {
    fn drop(&mut self) {
        *self.0.has_head() = false;
        self.0.left.notify_one();
    }
}

impl Core {
    /// Takes the turn for a transaction that is at the head of the line, unless `go_on` fails meanwhile.
    pub(crate) fn begin_turn(
        &self,
        _head: &Head<'_>,
        go_on: &dyn Fn() -> Result<(), Error>,
    ) -> Result<TurnGuard<'_>, Error> {
        let mut pause = RETRY_FIRST;
        let mut wait = || {
            go_on()?;
            std::thread::sleep(pause);
            pause = RETRY_LAST.min(pause * 2);
            Ok::<_, Error>(())
        };
        while self.is_merge_behind() {
            wait()?;
        }
        let turn = loop {
            self.merges.let_pass();
            match self.try_turn() {
                Some(turn) => break turn,
                None => wait()?,
            }
        };
        let mut turn = self.prepare_turn(turn)?;
        turn.keep_lock();
        self.make_store(&mut turn)?;
        Ok(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    #[test]
    fn who_leaves_the_line_lets_others_pass() {
        let line = Line::default();
        let gives_up = AtomicBool::new(false);
        let (passed, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let head = line.enter(&|| Ok(())).expect("nobody is there");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (line, gives_up, passed, left) = (&line, &gives_up, &passed, &left);
                scope.spawn(move || {
                    let go_on = || match number % 2 == 0 && gives_up.load(Ordering::Relaxed) {
                        true => Err(Error::Cancelled),
                        false => Ok(()),
                    };
                    let counted = match line.enter(&go_on) {
                        Ok(_head) => passed,
                        Err(_) => left,
                    };
                    counted.fetch_add(1, Ordering::Relaxed);
                });
            }
            gives_up.store(true, Ordering::Relaxed);
            // They leave although the head does not.
            while left.load(Ordering::Relaxed) < 4 {
                std::thread::yield_now();
            }
            assert_eq!(passed.load(Ordering::Relaxed), 0);
            drop(head);
        });
        assert_eq!(passed.into_inner(), 4);
        assert!(!*line.has_head());
    }
}
