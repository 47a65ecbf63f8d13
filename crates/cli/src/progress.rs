//! Progress of a load on standard error: one line that is rewritten on a terminal, else a plain
//! line every two seconds.

use crate::values::{show_bytes, show_count};
use basalt_engine::{Phase, Progress};
use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const TERMINAL_INTERVAL: Duration = Duration::from_millis(200);
const PLAIN_INTERVAL: Duration = Duration::from_secs(2);

/// Counts what a load does.
pub struct LoadProgress {
    start: Instant,
    quads: AtomicU64,
    bytes: AtomicU64,
    phase: Mutex<Option<Phase>>,
    /// Bytes of all inputs, if they are files without compression.
    bytes_total: Option<u64>,
}

impl LoadProgress {
    /// Progress that starts now.
    pub fn new(bytes_total: Option<u64>) -> Self {
        Self {
            start: Instant::now(),
            quads: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            phase: Mutex::new(None),
            bytes_total,
        }
    }

    /// Does the work, and shows the progress while it lasts.
    pub fn show_during<T>(&self, work: impl FnOnce() -> T) -> T {
        let is_terminal = stderr().is_terminal();
        let interval = if is_terminal {
            TERMINAL_INTERVAL
        } else {
            PLAIN_INTERVAL
        };
        let (done, is_done) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut is_shown = false;
                // Termination: the sender is dropped when the work is over.
                while is_done.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                    let (before, after) = if is_terminal {
                        ("\r\x1b[2K", "")
                    } else {
                        ("", "\n")
                    };
                    let mut stderr = stderr();
                    // Progress that cannot be shown must not end the load.
                    let _ = write!(stderr, "{before}{}{after}", self.line());
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

    fn line(&self) -> String {
        let seconds = self.start.elapsed().as_secs_f64().max(1e-3);
        let quads = self.quads.load(Ordering::Relaxed);
        let bytes = self.bytes.load(Ordering::Relaxed);
        let phase = *self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        let name = phase.map_or("start", Phase::name);
        let mut line = format!("{seconds:.0} s: {name}, {} quads", show_count(quads));
        if phase != Some(Phase::Parse) {
            return line;
        }
        let rate = |count: u64| (count as f64 / seconds) as u64;
        line.push_str(&format!(
            ", {} quads/s, {}/s",
            show_count(rate(quads)),
            show_bytes(rate(bytes))
        ));
        if let Some(total) = self.bytes_total.filter(|total| bytes > 0 && *total > bytes) {
            let left = seconds * (total - bytes) as f64 / bytes as f64;
            line.push_str(&format!(
                ", {} %, {left:.0} s of reading left",
                bytes * 100 / total
            ));
        }
        line
    }
}

impl Progress for LoadProgress {
    fn begin(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = Some(phase);
    }

    fn advance(&self, quads: u64, bytes: u64) {
        self.quads.fetch_add(quads, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
