//! Counters for Prometheus, in its text format.

use basalt_engine::{PlanCacheStatus, WriteStatus};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How a query or an update ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// With this status and nothing of the body missing.
    Status(u16),
    /// After some of the answer was sent.
    Aborted,
}

/// What became of a query in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempted {
    /// It was answered.
    Answered,
    /// It was not tried.
    Not,
    /// It was tried and took too long.
    GivenUp,
}

/// The counters.
#[derive(Debug, Default)]
pub struct Metrics {
    answered_in_place: AtomicU64,
    not_in_place: AtomicU64,
    given_up_in_place: AtomicU64,
    parse_nanos: AtomicU64,
    plan_nanos: AtomicU64,
    outcomes: Mutex<BTreeMap<Outcome, u64>>,
    rows: AtomicU64,
    micros: AtomicU64,
    updates: Mutex<BTreeMap<Outcome, u64>>,
    update_micros: AtomicU64,
    removed: AtomicU64,
    added: AtomicU64,
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

    /// Counts a query that was looked at on the thread of its connection.
    pub fn attempted(&self, attempted: Attempted) {
        let counter = match attempted {
            Attempted::Answered => &self.answered_in_place,
            Attempted::Not => &self.not_in_place,
            Attempted::GivenUp => &self.given_up_in_place,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the time to parse and plan a query.
    pub fn query_prepared(&self, parse: Duration, plan: Duration) {
        let add = |counter: &AtomicU64, time: Duration| {
            counter.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
        };
        add(&self.parse_nanos, parse);
        add(&self.plan_nanos, plan);
    }

    /// Counts an update that has ended.
    pub fn update_ended(&self, outcome: Outcome, elapsed: Duration) {
        let mut updates = self.updates.lock().unwrap_or_else(PoisonError::into_inner);
        *updates.entry(outcome).or_default() += 1;
        self.update_micros
            .fetch_add(elapsed.as_micros() as u64, Ordering::Relaxed);
    }

    /// Counts quads that an update has changed.
    pub fn quads_changed(&self, removed: u64, added: u64) {
        self.removed.fetch_add(removed, Ordering::Relaxed);
        self.added.fetch_add(added, Ordering::Relaxed);
    }

    /// The text that Prometheus reads.
    pub fn to_text(
        &self,
        running: usize,
        quads: u64,
        plans: &PlanCacheStatus,
        writing: &WriteStatus,
    ) -> String {
        let mut out = self.queries_text(running, quads);
        self.preparing_text(plans, &mut out);
        self.updates_text(&mut out);
        writing_text(writing, &mut out);
        durability_text(writing, &mut out);
        merge_failure_text(writing.merge_failure.as_deref(), &mut out);
        out
    }

    fn updates_text(&self, out: &mut String) {
        let updates = self.updates.lock().unwrap_or_else(PoisonError::into_inner);
        family(
            out,
            "basalt_updates_total",
            "counter",
            "Updates that have ended.",
            &by_outcome(&updates),
        );
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        let plain = [
            (
                "basalt_update_seconds_total",
                "counter",
                "Time of ended updates.",
                load(&self.update_micros) / 1e6,
            ),
            (
                "basalt_quads_removed_total",
                "counter",
                "Quads that updates removed.",
                load(&self.removed),
            ),
            (
                "basalt_quads_added_total",
                "counter",
                "Quads that updates added.",
                load(&self.added),
            ),
        ];
        all_plain(&plain, out);
    }

    /// Where queries run, and how they come to their plans.
    fn preparing_text(&self, plans: &PlanCacheStatus, out: &mut String) {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        let by = |name: &str, value: &str, count: f64| (format!("{{{name}=\"{value}\"}}"), count);
        let attempts = [
            by("outcome", "answered", load(&self.answered_in_place)),
            by("outcome", "not_tried", load(&self.not_in_place)),
            by("outcome", "given_up", load(&self.given_up_in_place)),
        ];
        let lookups = [
            by("found", "plan", plans.hits as f64),
            by("found", "algebra", plans.replanned as f64),
            by("found", "template", plans.by_template as f64),
            by("found", "nothing", found_nothing(plans)),
        ];
        let one = |value: f64| vec![(String::new(), value)];
        let families = [
            (
                "basalt_queries_in_place_total",
                "counter",
                "Short query texts, by what became of them on the thread of their connection.",
                attempts.to_vec(),
            ),
            (
                "basalt_query_parse_seconds_total",
                "counter",
                "Time to parse queries, or to find their plans.",
                one(load(&self.parse_nanos) / 1e9),
            ),
            (
                "basalt_query_plan_seconds_total",
                "counter",
                "Time to plan queries.",
                one(load(&self.plan_nanos) / 1e9),
            ),
            (
                "basalt_plan_cache_lookups_total",
                "counter",
                "Queries, by what the cache of plans had of them.",
                lookups.to_vec(),
            ),
            (
                "basalt_plan_known_orders_total",
                "counter",
                "Joins that were ordered as those of earlier queries, with other constants, were.",
                one(plans.known_orders as f64),
            ),
            (
                "basalt_plan_known_plans_total",
                "counter",
                "Queries that took the plan of earlier ones, which differ from them in constants only.",
                one(plans.known_plans as f64),
            ),
            (
                "basalt_plan_cache_texts",
                "gauge",
                "Query texts in the cache of plans.",
                one(plans.texts as f64),
            ),
            (
                "basalt_plan_cache_bytes",
                "gauge",
                "Bytes of the cache of plans.",
                one(plans.bytes as f64),
            ),
        ];
        for (name, kind, help, samples) in families {
            family(out, name, kind, help, &samples);
        }
    }

    fn queries_text(&self, running: usize, quads: u64) -> String {
        let mut out = String::new();
        let mut family = |name: &str, kind: &str, help: &str, samples: &[(String, f64)]| {
            family(&mut out, name, kind, help, samples);
        };
        let plain = |value: f64| [(String::new(), value)];
        let outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        family(
            "basalt_queries_total",
            "counter",
            "Queries that have ended.",
            &by_outcome(&outcomes),
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

/// Figures that have one value each: name, type, what it is, value.
fn all_plain(figures: &[(&str, &str, &str, f64)], out: &mut String) {
    for (name, kind, help, value) in figures {
        family(out, name, kind, help, &[(String::new(), *value)]);
    }
}

/// What is known of the writing.
fn writing_text(writing: &WriteStatus, out: &mut String) {
    let figures = [
        (
            "basalt_commit_number",
            "gauge",
            "Number of the last commit.",
            writing.commit_number as f64,
        ),
        (
            "basalt_delta_quads",
            "gauge",
            "Quads changed since the last merge.",
            (writing.delta.added + writing.delta.removed) as f64,
        ),
        (
            "basalt_log_bytes",
            "gauge",
            "Bytes of the log.",
            writing.log_bytes as f64,
        ),
        (
            "basalt_log_syncs_total",
            "counter",
            "Syncs of the log.",
            writing.syncs as f64,
        ),
        (
            "basalt_delta_bytes",
            "gauge",
            "Bytes of memory of the changes since the last merge.",
            writing.delta.bytes as f64,
        ),
        (
            "basalt_merging",
            "gauge",
            "1 while a merge runs.",
            f64::from(u8::from(writing.is_merging)),
        ),
        (
            "basalt_merges_total",
            "counter",
            "Merges of changes into a new version.",
            writing.merges as f64,
        ),
    ];
    all_plain(&figures, out);
}

/// When commits are acknowledged, if they reach a disk.
fn durability_text(writing: &WriteStatus, out: &mut String) {
    if let Some(durability) = writing.durability {
        let mode = [(format!("{{mode=\"{durability}\"}}"), 1.0)];
        let help = "When commits are acknowledged.";
        family(out, "basalt_durability", "gauge", help, &mode);
    }
}

/// Whether the last merge failed, and why.
fn merge_failure_text(failure: Option<&str>, out: &mut String) {
    let sample = match failure {
        None => (String::new(), 0.0),
        Some(why) => (format!("{{reason=\"{}\"}}", label_value(why)), 1.0),
    };
    let help = "1 if the last merge failed.";
    family(out, "basalt_merge_failed", "gauge", help, &[sample]);
}

/// A text as the value of a label.
fn label_value(text: &str) -> String {
    let text = text.replace('\\', r"\\").replace('"', r#"\""#);
    text.replace('\n', r"\n")
}

/// One family of samples.
fn family(out: &mut String, name: &str, kind: &str, help: &str, samples: &[(String, f64)]) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for (labels, value) in samples {
        let _ = writeln!(out, "{name}{labels} {value}");
    }
}

/// Queries that were parsed and planned.
fn found_nothing(plans: &PlanCacheStatus) -> f64 {
    plans.misses.saturating_sub(plans.by_template) as f64
}

fn by_outcome(counts: &BTreeMap<Outcome, u64>) -> Vec<(String, f64)> {
    let counts = counts.iter();
    counts
        .map(|(outcome, count)| match outcome {
            Outcome::Status(status) => (format!("{{status=\"{status}\"}}"), *count as f64),
            Outcome::Aborted => ("{status=\"aborted\"}".to_owned(), *count as f64),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::merge_failure_text;

    #[test]
    fn a_merge_that_failed_says_why() {
        let told = |failure| {
            let mut out = String::new();
            merge_failure_text(failure, &mut out);
            out
        };
        assert!(told(None).ends_with("\nbasalt_merge_failed 0\n"));
        let why = told(Some("cannot write 'a\\b\"c':\nno space"));
        let sample = r#"basalt_merge_failed{reason="cannot write 'a\\b\"c':\nno space"} 1"#;
        assert!(why.ends_with(&format!("\n{sample}\n")), "{why}");
    }
}
