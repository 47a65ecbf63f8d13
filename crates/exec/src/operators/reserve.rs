//! `Reserve`: threads that join in a pipeline when its own thread has worked alone for a while.
//!
//! To wake a thread that sleeps takes some ten microseconds on both sides, and what it finds is put together with what the own thread
//! found: for a pipeline of some tenths of a millisecond that is more than it saves. How long one takes is known late, so the
//! own thread begins, and calls the others when it has worked for as long as they cost: the time is never much more than twice that of
//! the better choice.
//!
//! ```text
//! wait ──► due, when the own thread takes its next share of the work ──► call, once
//!    └───► the work ends before ──► dismiss
//! ```
//!
//! Invariant: called once at most, under the lock, so that nobody is being called when [`Reserve::dismiss`] returns. Cost: a look at the clock for each share of the work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Threads that wait to be called; see the [module documentation](self).
#[derive(Default)]
pub struct Reserve {
    /// Whether somebody waits; looked at without a lock.
    wait: AtomicBool,
    waiting: Mutex<Option<Waiting>>,
}

struct Waiting {
    due: Instant,
    call: Box<dyn FnOnce() + Send>,
}

impl Reserve {
    /// Lets them wait for so long from now on; `call` brings them.
    pub fn wait(&self, time: Duration, call: impl FnOnce() + Send + 'static) {
        let call = Box::new(call);
        let due = Instant::now() + time;
        *self.lock() = Some(Waiting { due, call });
        self.wait.store(true, Ordering::Release);
    }

    /// Calls them if their time has come; whoever takes a share of the work asks this before.
    #[inline]
    pub fn call_if_due(&self) {
        if self.wait.load(Ordering::Acquire) {
            self.call_if_due_now();
        }
    }

    fn call_if_due_now(&self) {
        let mut waiting = self.lock();
        if waiting.as_ref().is_some_and(|w| w.due <= Instant::now())
            && let Some(due) = waiting.take()
        {
            self.wait.store(false, Ordering::Release);
            (due.call)();
        }
    }

    /// Sends home those that were not called.
    pub fn dismiss(&self) {
        self.wait.store(false, Ordering::Release);
        let waiting = self.lock().take();
        drop(waiting);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Waiting>> {
        // It is there as a whole or not at all.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    fn counted(reserve: &Reserve, time: Duration) -> Arc<AtomicUsize> {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        reserve.wait(time, move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        calls
    }

    #[test]
    fn they_are_called_once_when_they_are_due() {
        let reserve = Reserve::default();
        reserve.call_if_due();
        let calls = counted(&reserve, Duration::ZERO);
        assert_eq!(calls.load(Ordering::Relaxed), 0, "nobody took any work");
        reserve.call_if_due();
        reserve.call_if_due();
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn before_they_are_due_and_once_dismissed_nobody_is_called() {
        let reserve = Reserve::default();
        let calls = counted(&reserve, Duration::from_secs(3600));
        reserve.call_if_due();
        reserve.dismiss();
        assert_eq!(Arc::strong_count(&calls), 1, "nothing is kept");
        let calls = counted(&reserve, Duration::ZERO);
        reserve.dismiss();
        reserve.call_if_due();
        assert_eq!(calls.load(Ordering::Relaxed), 0);
    }
}
