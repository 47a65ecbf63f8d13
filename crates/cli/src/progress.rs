//! Progress of a load on standard error: one line that is rewritten on a terminal, else a plain line every
//! few seconds, less often after a minute.
//!
//! The share that is done, and from it the time left, is that of the phase: of parsing the bytes read from
//! files before decompression, of the others what the loader tells.

use crate::memory;
use crate::values::{show_bytes, show_count};
use basalt_engine::{LoadCounters, Phase, Progress};
use std::io::{IsTerminal, Write, stderr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const TERMINAL_INTERVAL: Duration = Duration::from_millis(200);
const PLAIN_INTERVAL: Duration = Duration::from_secs(2);
/// Between plain lines of a load that takes long.
const LATE_PLAIN_INTERVAL: Duration = Duration::from_secs(10);
/// From when on a load takes long.
const LATE: Duration = Duration::from_secs(60);
/// Seconds of a phase before which an estimate of its end would jump about.
const ESTIMATE_SECONDS_MIN: f64 = 1.0;

/// Counts what a load does.
pub struct LoadProgress {
    start: Instant,
    counters: LoadCounters,
    /// Bytes read from files.
    file_bytes: Arc<AtomicU64>,
    /// Bytes of all inputs, if they are files.
    file_bytes_total: Option<u64>,
}

/// What there is to say at one moment.
#[derive(Clone, Copy, Debug)]
struct Moment {
    seconds: f64,
    phase: Option<Phase>,
    phase_seconds: f64,
    quads: u64,
    bytes: u64,
    done: u64,
    total: u64,
    memory: Option<u64>,
}

impl LoadProgress {
    /// Progress of loading these files that starts now.
    pub fn new(files: &[PathBuf]) -> Self {
        let sizes = files.iter().map(|path| {
            let known = path.metadata().ok()?;
            known.is_file().then_some(known.len())
        });
        Self {
            start: Instant::now(),
            counters: LoadCounters::default(),
            file_bytes: Arc::default(),
            file_bytes_total: sizes.sum(),
        }
    }

    /// Does the work, and shows the progress while it lasts.
    pub fn show_during<T>(&self, work: impl FnOnce() -> T) -> T {
        let is_terminal = stderr().is_terminal();
        let interval = || match is_terminal {
            true => TERMINAL_INTERVAL,
            false if self.start.elapsed() < LATE => PLAIN_INTERVAL,
            false => LATE_PLAIN_INTERVAL,
        };
        let (done, is_done) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut is_shown = false;
                // Termination: the sender is dropped when the work is over.
                while is_done.recv_timeout(interval()) == Err(RecvTimeoutError::Timeout) {
                    let (before, after) = if is_terminal {
                        ("\r\x1b[2K", "")
                    } else {
                        ("", "\n")
                    };
                    let mut stderr = stderr();
                    // Progress that cannot be shown must not end the load.
                    let _ = write!(stderr, "{before}{}{after}", self.now().line());
                    let _ = stderr.flush();
                    is_shown = true;
                }
                if is_terminal && is_shown {
                    let _ = write!(stderr(), "\r\x1b[2K");
                }
            });
            let result = work();
            drop(done);
            result
        })
    }

    fn now(&self) -> Moment {
        let state = self.counters.now();
        let file_bytes = self.file_bytes.load(Ordering::Relaxed);
        let (phase, begin) = state.phase.unzip();
        let (done, total) = match phase {
            Some(Phase::Parse) => (file_bytes, self.file_bytes_total.unwrap_or(0)),
            _ => (state.done, state.total),
        };
        Moment {
            seconds: self.start.elapsed().as_secs_f64(),
            phase,
            phase_seconds: begin.unwrap_or(self.start).elapsed().as_secs_f64(),
            quads: state.quads,
            // Documents tell their text at the end only.
            bytes: state.bytes.max(file_bytes),
            done,
            total,
            memory: memory::resident_bytes(),
        }
    }
}

impl Moment {
    /// One line for people.
    fn line(&self) -> String {
        let name = self.phase.map_or("start", Phase::name);
        let mut line = format!("{:.0} s: {name}", self.seconds);
        if self.done > 0 && self.total > 0 {
            let percent = self.done.min(self.total) * 100 / self.total;
            line.push_str(&format!(" {percent} %"));
        }
        line.push_str(&format!(", {} quads", show_count(self.quads)));
        if self.phase == Some(Phase::Parse) {
            let seconds = self.phase_seconds.max(1e-3);
            let quads = show_count((self.quads as f64 / seconds) as u64);
            let megabytes = self.bytes as f64 / 1e6 / seconds;
            line.push_str(&format!(", {quads} quads/s, {megabytes:.0} MB/s"));
        }
        if let Some(memory) = self.memory {
            line.push_str(&format!(", {} of memory", show_bytes(memory)));
        }
        if let Some(left) = self.seconds_left() {
            line.push_str(&format!(", {} left in this phase", show_seconds(left)));
        }
        line
    }

    /// How long the phase goes on, were it to go on as it did.
    fn seconds_left(&self) -> Option<f64> {
        let is_known = self.done > 0 && self.phase_seconds >= ESTIMATE_SECONDS_MIN;
        let left = self.total.checked_sub(self.done).filter(|left| *left > 0)?;
        is_known.then(|| self.phase_seconds * left as f64 / self.done as f64)
    }
}

/// A time for people, as exact as an estimate deserves.
fn show_seconds(seconds: f64) -> String {
    match seconds.round() as u64 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

impl Progress for LoadProgress {
    fn begin(&self, phase: Phase) {
        self.counters.begin(phase);
    }

    fn advance(&self, quads: u64, bytes: u64) {
        self.counters.advance(quads, bytes);
    }

    fn work(&self, done: u64, total: u64) {
        self.counters.work(done, total);
    }

    fn file_bytes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.file_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARSING: Moment = Moment {
        seconds: 12.4,
        phase: Some(Phase::Parse),
        phase_seconds: 10.0,
        quads: 20_000_000,
        bytes: 5_000_000_000,
        done: 250,
        total: 1000,
        memory: Some(3 << 29),
    };

    #[test]
    fn a_line_tells_phase_rates_memory_and_time_left() {
        assert_eq!(
            PARSING.line(),
            "12 s: parse 25 %, 20,000,000 quads, 2,000,000 quads/s, 500 MB/s, 1.5 GiB of memory, \
             30 s left in this phase"
        );
        let writing = Moment {
            phase: Some(Phase::WriteTables),
            done: 1,
            memory: None,
            ..PARSING
        };
        assert_eq!(
            writing.line(),
            "12 s: write tables 0 %, 20,000,000 quads, 2 h 46 min left in this phase"
        );
    }

    #[test]
    fn what_is_not_known_is_not_told() {
        let unknown = Moment {
            total: 0,
            memory: None,
            ..PARSING
        };
        assert_eq!(
            unknown.line(),
            "12 s: parse, 20,000,000 quads, 2,000,000 quads/s, 500 MB/s"
        );
        let early = Moment {
            phase_seconds: 0.5,
            ..PARSING
        };
        assert_eq!(early.seconds_left(), None);
        let grown = Moment {
            done: 2000,
            ..PARSING
        };
        assert!(grown.line().contains(" 100 %") && grown.seconds_left().is_none());
    }

    #[test]
    fn the_share_is_that_of_the_phase() {
        let progress = LoadProgress::new(&[]);
        progress.begin(Phase::Parse);
        progress.file_bytes().fetch_add(7, Ordering::Relaxed);
        progress.advance(3, 9);
        let now = progress.now();
        assert_eq!((now.done, now.quads, now.bytes), (7, 3, 9));
        progress.begin(Phase::WriteTables);
        progress.work(5, 10);
        progress.work(4, 10);
        let now = progress.now();
        assert_eq!((now.done, now.total), (5, 10));
        progress.begin(Phase::WriteTerms);
        assert_eq!(progress.now().done, 0);
    }
}
