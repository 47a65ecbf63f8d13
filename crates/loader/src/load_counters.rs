//! `LoadCounters`: how far a load has come, counted by its threads for whoever looks.

use crate::progress::{Phase, Progress};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What a load has done so far.
#[derive(Debug, Default)]
pub struct LoadCounters {
    /// The phase and its begin.
    phase: Mutex<Option<(Phase, Instant)>>,
    quads: AtomicU64,
    bytes: AtomicU64,
    done: AtomicU64,
    total: AtomicU64,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadState {
    /// The phase and its begin; `None` before the first.
    pub phase: Option<(Phase, Instant)>,
    /// Quads read.
    pub quads: u64,
    /// Bytes of text read, after decompression.
    pub bytes: u64,
    /// Work of the phase that is done.
    pub done: u64,
    /// Work of the phase in all, 0 where it is not known.
    pub total: u64,
}

impl LoadCounters {
    /// The counters now.
    pub fn now(&self) -> LoadState {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LoadState {
            phase: *self.phase.lock().unwrap_or_else(PoisonError::into_inner),
            quads: load(&self.quads),
            bytes: load(&self.bytes),
            done: load(&self.done),
            total: load(&self.total),
        }
    }
}

impl Progress for LoadCounters {
    fn begin(&self, phase: Phase) {
        let mut current = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        self.done.store(0, Ordering::Relaxed);
        self.total.store(0, Ordering::Relaxed);
        *current = Some((phase, Instant::now()));
    }

    fn advance(&self, quads: u64, bytes: u64) {
        self.quads.fetch_add(quads, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn work(&self, done: u64, total: u64) {
        self.done.fetch_max(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }
}
