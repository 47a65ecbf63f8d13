//! What an update did.

use serde_json::{Value, json};
use std::time::Duration;

/// What an update request did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateReport {
    /// The operations, in the order of the text.
    pub operations: Vec<OperationReport>,
    /// Quads that were there before the request and are not after it.
    pub removed: u64,
    /// Quads that are there after the request and were not before it.
    pub added: u64,
    /// The number of the commit.
    pub commit: u64,
    /// Time to parse the text.
    pub parse_time: Duration,
    /// Time until the request's turn came, as there is one writer at a time.
    pub wait_time: Duration,
    /// Time until the changes were durable.
    pub commit_time: Duration,
}

/// What one operation of a request did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationReport {
    /// Its words, such as `INSERT DATA`.
    pub name: &'static str,
    /// Quads that it removed.
    pub removed: u64,
    /// Quads that it added.
    pub added: u64,
    /// Time that it took.
    pub time: Duration,
}

impl UpdateReport {
    /// Time that all operations took.
    pub fn run_time(&self) -> Duration {
        self.operations.iter().map(|operation| operation.time).sum()
    }

    /// The operations, the totals, the commit and the time until the turn came as one JSON object: what every summary has.
    pub fn to_json(&self) -> Value {
        let operations = self.operations.iter().map(|operation| {
            json!({
                "operation": operation.name,
                "removed": operation.removed,
                "added": operation.added,
                "seconds": operation.time.as_secs_f64(),
            })
        });
        json!({
            "operations": operations.collect::<Vec<Value>>(),
            "removed": self.removed,
            "added": self.added,
            "commit": self.commit,
            "wait_seconds": self.wait_time.as_secs_f64(),
        })
    }
}
