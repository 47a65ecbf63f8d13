//! The line of those who wait for the writer's turn. Who stands in it can leave: an update that is cancelled, or whose client has hung up, is over
//! at once, and neither its thread nor its text waits for the writers before it.
//!
//! ```text
//! line     in the order in which they came; all but the first sleep, and look now and then whether they should go on
//! head     waits while a merge is [behind](super::merge_policy), then for the turn itself, which loads and merges take without the line
//! turn     held with the place at the head, until the transaction ends
//! ```
//!
//! Cost: two uncontended locks for each transaction and, if others wait, the wake-up of the next; looking is some microseconds for each who waits, fifty
//! times a second.

use crate::error::Error;
use crate::transactions::Core;
use crate::transactions::turn::TurnGuard;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
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
    places: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Places {
    /// The number of who came last.
    last: u64,
    /// Who is in line, with their threads, in the order of their numbers.
    taken: VecDeque<(u64, Thread)>,
}

/// A place in the line, which is left when this is dropped.
#[derive(Debug)]
pub(crate) struct Place<'l> {
    line: &'l Line,
    number: u64,
}

impl Line {
    fn places(&self) -> MutexGuard<'_, Places> {
        // Each change is one call of the queue.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the place at the head, unless `go_on` fails meanwhile.
    pub(crate) fn enter(&self, go_on: &dyn Fn() -> Result<(), Error>) -> Result<Place<'_>, Error> {
        go_on()?;
        let place = self.take_place();
        // Termination: those before leave the line, or make `go_on` fail.
        while !place.is_first() {
            thread::park_timeout(LOOK_EVERY);
            go_on()?;
        }
        Ok(place)
    }

    fn take_place(&self) -> Place<'_> {
        let mut places = self.places();
        places.last += 1;
        let number = places.last;
        places.taken.push_back((number, thread::current()));
        Place { line: self, number }
    }
}

impl Place<'_> {
    fn is_first(&self) -> bool {
        let places = self.line.places();
        let first = places.taken.front();
        first.is_some_and(|(number, _)| *number == self.number)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut places = self.line.places();
        let Ok(at) = places
            .taken
            .binary_search_by_key(&self.number, |(number, _)| *number)
        else {
            return;
        };
        places.taken.remove(at);
        if at == 0
            && let Some((_, next)) = places.taken.front()
        {
            next.unpark();
        }
    }
}

impl Core {
    /// Takes the turn for a transaction that is at the head of the line, unless `go_on` fails meanwhile.
    pub(crate) fn begin_turn(
        &self,
        _head: &Place<'_>,
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
    fn who_leaves_the_line_lets_others_pass_in_order() {
        let line = Line::default();
        let gives_up = AtomicBool::new(false);
        let (passed, left) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        let head = line.enter(&|| Ok(())).expect("nobody is there");
        thread::scope(|scope| {
            for number in 0..8 {
                let (line, gives_up, passed, left) = (&line, &gives_up, &passed, &left);
                scope.spawn(move || {
                    let go_on = || match number % 2 == 0 && gives_up.load(Ordering::Relaxed) {
                        true => Err(Error::Cancelled),
                        false => Ok(()),
                    };
                    match line.enter(&go_on) {
                        Ok(_head) => passed.lock().expect("nobody panics").push(number),
                        Err(_) => drop(left.fetch_add(1, Ordering::Relaxed)),
                    }
                });
                // One after the other.
                while line.places().taken.len() < number + 2 {
                    thread::yield_now();
                }
            }
            gives_up.store(true, Ordering::Relaxed);
            // They leave although the head does not.
            while left.load(Ordering::Relaxed) < 4 {
                thread::yield_now();
            }
            assert!(passed.lock().expect("nobody panics").is_empty());
            drop(head);
        });
        assert_eq!(passed.into_inner().expect("nobody panics"), [1, 3, 5, 7]);
        assert!(line.places().taken.is_empty());
    }
}
