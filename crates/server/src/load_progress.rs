//! How far a load has come, noted by its threads and told to the client.

use basalt_engine::{Phase, Progress};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What is known of a load that runs.
#[derive(Debug, Default)]
pub struct LoadProgress {
    phase: Mutex<Option<Phase>>,
    quads: AtomicU64,
    bytes: AtomicU64,
    done: AtomicU64,
    total: AtomicU64,
}

impl LoadProgress {
    /// As a JSON object: the phase (null while the load waits for its turn), quads and bytes read, and how much of the
    /// phase is done.
    pub fn to_json(&self) -> Value {
        let phase = *self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        json!({
            "phase": phase.map(Phase::name),
            "quads": load(&self.quads),
            "bytes": load(&self.bytes),
            "done": load(&self.done),
            "total": load(&self.total),
        })
    }
}

impl Progress for LoadProgress {
    fn begin(&self, phase: Phase) {
        let mut current = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        self.done.store(0, Ordering::Relaxed);
        self.total.store(0, Ordering::Relaxed);
        *current = Some(phase);
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
