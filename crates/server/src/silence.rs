//! How long a connection waits for its client: one that asks nothing is closed, or it would hold a file for ever.
//!
//! The time runs from the last byte that was written (or from the beginning) to the end of the next request's head, so one that
//! is sent a byte at a time does not stay either; it does not run while the server works on a request. What comes of a body is waited for by
//! [`messages`](crate::messages), what a client takes of an answer by [`sink`](crate::sink).
//!
//! Cost: a comparison whenever there is nothing to read. The alarm is set once, and again when it has rung too early.

use crate::marks::Marks;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// The silence of a client. Times are those since the lane began.
#[derive(Debug)]
pub struct Silence {
    limit: Duration,
    /// When it began, if it has.
    since: Option<Duration>,
    /// When the alarm rings.
    rings_at: Duration,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Silence {
    /// One that may last so long, or for ever if that is no time.
    pub fn new(limit: Duration) -> Self {
        Self {
            limit: match limit.is_zero() {
                true => Duration::MAX,
                false => limit,
            },
            since: None,
            rings_at: Duration::ZERO,
            alarm: None,
        }
    }

    /// Something was written, so it begins anew.
    pub fn note_write(&mut self) {
        self.since = None;
    }

    /// Whether it has lasted too long, where there is nothing to read now. All contexts are those of one task, which the alarm wakes.
    pub fn is_over(&mut self, marks: &Marks, now: Duration, context: &mut Context<'_>) -> bool {
        let end = self.end(marks.is_at_work(), now);
        if end <= now {
            return true;
        }
        if self.rings_at <= now {
            self.rings_at = end;
            self.set_alarm(end - now, context);
        }
        false
    }

    /// When it has lasted too long, as far as is known now.
    fn end(&mut self, is_at_work: bool, now: Duration) -> Duration {
        match is_at_work {
            true => self.since = None,
            false => drop(self.since.get_or_insert(now)),
        }
        self.since.unwrap_or(now).saturating_add(self.limit)
    }

    fn set_alarm(&mut self, wait: Duration, context: &mut Context<'_>) {
        // Longer than anybody waits, where the limit is beyond what a clock can tell.
        const LONG: Duration = Duration::from_secs(1 << 30);
        let at = Instant::now() + wait.min(LONG);
        let alarm = self
            .alarm
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        alarm.as_mut().reset(at);
        // It was set for later, so this only says whom to wake.
        let _ = alarm.as_mut().poll(context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs_between_an_answer_and_the_next_request() {
        let second = Duration::from_secs;
        let mut silence = Silence::new(second(10));
        assert_eq!(silence.end(false, second(1)), second(11));
        // A part of a head came.
        assert_eq!(silence.end(false, second(5)), second(11));
        assert_eq!(silence.end(true, second(7)), second(17));
        assert_eq!(silence.end(true, second(70)), second(80));
        silence.note_write();
        assert_eq!(silence.end(false, second(71)), second(81));
        // Asked and answered in one go.
        silence.note_write();
        assert_eq!(silence.end(false, second(75)), second(85));
    }
}
