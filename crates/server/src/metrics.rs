//! Counters for Prometheus, in its text format.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How a query ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// With this status and nothing of the body missing.
    Status(u16),
    /// After some of the answer was sent.
    Aborted,
}

/// The counters.
#[derive(Debug, Default)]
pub struct Metrics {
    outcomes: Mutex<BTreeMap<Outcome, u64>>,
    rows: AtomicU64,
    micros: AtomicU64,
}

impl Metrics {
    /// Counts a query that has ended.
    pub fn query_ended(&self, outcome: Outcome, rows: u64, elapsed: Duration) {
        let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        *outcomes.entry(outcome).or_default() += 1;
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.micros
            .fetch_add(elapsed.as_micros() as u64, Ordering::Relaxed);
    }

    /// The text that Prometheus reads.
    pub fn to_text(&self, running: usize, quads: u64) -> String {
        let mut out = String::new();
        let mut family = |name: &str, kind: &str, help: &str, samples: &[(String, f64)]| {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in samples {
                let _ = writeln!(out, "{name}{labels} {value}");
            }
        };
        let plain = |value: f64| [(String::new(), value)];
        let outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        let by_outcome: Vec<(String, f64)> = outcomes
            .iter()
            .map(|(outcome, count)| match outcome {
                Outcome::Status(status) => (format!("{{status=\"{status}\"}}"), *count as f64),
                Outcome::Aborted => ("{status=\"aborted\"}".to_owned(), *count as f64),
            })
            .collect();
        family(
            "basalt_queries_total",
            "counter",
            "Queries that have ended.",
            &by_outcome,
        );
        let seconds = self.micros.load(Ordering::Relaxed) as f64 / 1e6;
        family(
            "basalt_query_seconds_total",
            "counter",
            "Time of ended queries.",
            &plain(seconds),
        );
        let rows = self.rows.load(Ordering::Relaxed) as f64;
        family(
            "basalt_query_rows_total",
            "counter",
            "Rows and triples answered.",
            &plain(rows),
        );
        family(
            "basalt_queries_running",
            "gauge",
            "Queries now running.",
            &plain(running as f64),
        );
        family(
            "basalt_quads",
            "gauge",
            "Quads in the store.",
            &plain(quads as f64),
        );
        out
    }
}
