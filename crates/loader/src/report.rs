//! What a load did.

use std::sync::Arc;
use std::time::{Duration, Instant};

use basalt_rdf::SyntaxError;

use crate::append::RewriteReason;
use crate::error::LoadError;
use crate::progress::{Phase, Progress};
use crate::spill::LoadMemory;

/// Bad lines that a report quotes; more are only counted.
pub(crate) const QUOTED_ERRORS_MAX: usize = 100;

/// What a load did.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// Quads in the inputs.
    pub quads_read: u64,
    /// Quads of the version that was added to.
    pub quads_before: u64,
    /// Quads that were there already or came more than once.
    pub duplicates: u64,
    /// Distinct quads in the new version.
    pub quads_stored: u64,
    /// Of these, quads in table cells.
    pub quads_in_cells: u64,
    /// Of these, irregular quads.
    pub irregular_quads: u64,
    /// The tables.
    pub tables: Vec<TableReport>,
    /// The similarity threshold of discovery.
    pub threshold: f64,
    /// The trials that led to it.
    pub trials: Vec<basalt_shapes::Trial>,
    /// Time by phase, in order.
    pub phases: Vec<(Phase, Duration)>,
    /// Bytes of text read, after decompression.
    pub bytes_read: u64,
    /// Bytes written to temporary files because memory did not suffice; 0 if it did.
    pub spilled_bytes: u64,
    /// Bad lines skipped.
    pub skipped_lines: u64,
    /// The first of them.
    pub skipped: Vec<SyntaxError>,
    /// Why the data that was there was rewritten; `None` if it was not, or there was none.
    pub rewritten: Option<RewriteReason>,
}

/// One table of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableReport {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Its columns.
    pub columns: usize,
}

impl LoadReport {
    /// Share of the quads in table cells, 0 to 1.
    pub fn coverage(&self) -> f64 {
        self.quads_in_cells as f64 / self.quads_stored.max(1) as f64
    }

    /// Wall-clock time of all phases.
    pub fn elapsed(&self) -> Duration {
        self.phases.iter().map(|p| p.1).sum()
    }
}

/// Measures the phases, and ends a load that was cancelled when the next one would begin.
pub(crate) struct Stopwatch<'p> {
    progress: &'p dyn Progress,
    /// Knows whether the load was cancelled.
    memory: Arc<LoadMemory>,
    current: Option<(Phase, Instant)>,
    done: Vec<(Phase, Duration)>,
}

impl<'p> Stopwatch<'p> {
    /// A stopwatch that has not started.
    pub(crate) fn new(progress: &'p dyn Progress, memory: Arc<LoadMemory>) -> Self {
        Self {
            progress,
            memory,
            current: None,
            done: Vec::new(),
        }
    }

    /// Who hears of the phases.
    pub(crate) fn progress(&self) -> &'p dyn Progress {
        self.progress
    }

    /// Ends the running phase and begins the next.
    pub(crate) fn begin(&mut self, phase: Phase) -> Result<(), LoadError> {
        self.end();
        self.memory.go_on()?;
        self.progress.begin(phase);
        self.current = Some((phase, Instant::now()));
        Ok(())
    }

    /// Ends the running phase.
    pub(crate) fn end(&mut self) {
        if let Some((phase, start)) = self.current.take() {
            self.done.push((phase, start.elapsed()));
        }
    }

    /// The times.
    pub(crate) fn finish(mut self) -> Vec<(Phase, Duration)> {
        self.end();
        self.done
    }
}
