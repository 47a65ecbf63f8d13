//! `PlanReport`: the plan of a query as text or JSON, with what running it took if it was run.
//!
//! Both renderings come from one tree ([`ExplainedNode`]). The keys of the JSON are told in `docs/operators.md`;
//! times are milliseconds, memory is bytes, and estimates that are no finite number are null.

use basalt_plan::{ExplainedNode, NodeProfile};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The plan of a query.
#[derive(Clone, Debug)]
pub struct PlanReport {
    /// The operators.
    pub root: ExplainedNode,
    /// Time to parse the text.
    pub parse_time: Duration,
    /// Time to plan.
    pub plan_time: Duration,
    /// Whether the plan was that of an earlier query with the same text.
    pub is_cached: bool,
    /// Whether the plan was that of earlier queries which differ from this one in constants only: its estimates are those of one of them.
    pub is_of_template: bool,
    /// What running it took, if it was run.
    pub run: Option<RunReport>,
}

/// What running a query took.
#[derive(Clone, Copy, Debug)]
pub struct RunReport {
    /// Rows of the answer; of a graph the solutions that it is made from.
    pub rows: u64,
    /// From the start to the last row.
    pub time: Duration,
    /// The most bytes of the query's memory that operators held together.
    pub memory_bytes: u64,
    /// Bytes written to temporary files.
    pub spilled_bytes: u64,
}

impl PlanReport {
    /// The operators as an indented text.
    pub fn to_text(&self) -> String {
        self.root.to_text()
    }

    /// How long the plan took to make, on a line.
    pub fn times_text(&self) -> String {
        let (parse, plan) = (ms(self.parse_time), ms(self.plan_time));
        let cached = match (self.is_cached, self.is_of_template) {
            (true, _) => "yes",
            (false, true) => "of its template",
            (false, false) => "no",
        };
        format!("parse {parse:.3} ms, plan {plan:.3} ms, cached: {cached}\n")
    }

    /// Everything as JSON.
    pub fn to_json(&self) -> Value {
        let mut out = json!({
            "parse_ms": ms(self.parse_time),
            "plan_ms": ms(self.plan_time),
            "cached": self.is_cached,
            "of_template": self.is_of_template,
            "plan": node(&self.root),
        });
        if let Some(run) = &self.run {
            out["run"] = json!({
                "rows": run.rows,
                "read_rows": self.root.total_read_rows(),
                "time_ms": ms(run.time),
                "memory_bytes": run.memory_bytes,
                "spilled_bytes": run.spilled_bytes,
            });
        }
        out
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn node(shown: &ExplainedNode) -> Value {
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| out.insert(name.to_owned(), value);
    put("id", json!(shown.id));
    put("operator", json!(shown.operator()));
    put("text", json!(shown.text));
    put("columns", json!(shown.columns));
    if let Some(tables) = &shown.tables {
        put("tables", json!(tables));
    }
    if let Some(access) = &shown.access {
        put("access", json!(access));
    }
    if !shown.reduced_by.is_empty() {
        put("reduced_by", json!(shown.reduced_by));
    }
    put("estimated_rows", json!(shown.estimated_rows));
    put("estimated_cost_ms", json!(shown.estimated_cost / 1e6));
    if let Some((way, cost)) = &shown.alternative {
        put(
            "alternative",
            json!({ "way": way, "estimated_cost_ms": cost / 1e6 }),
        );
    }
    if let Some(actual) = &shown.actual {
        put("actual", measured(actual, shown.total_nanos()));
    }
    for (name, nodes) in [("exists", &shown.exists), ("inputs", &shown.inputs)] {
        if !nodes.is_empty() {
            put(name, Value::Array(nodes.iter().map(node).collect()));
        }
    }
    Value::Object(out)
}

fn measured(actual: &NodeProfile, total_nanos: u64) -> Value {
    json!({
        "is_started": actual.is_started,
        "is_complete": actual.is_complete,
        "rows": actual.rows,
        "read_rows": actual.read_rows,
        "read_one_by_one": actual.read_one_by_one,
        "compared_rows": actual.compared_rows,
        "turned_away": actual.turned_away,
        "time_ms": total_nanos as f64 / 1e6,
        "own_time_ms": actual.own_nanos as f64 / 1e6,
        "memory_bytes": actual.memory_bytes,
        "spilled_bytes": actual.spilled_bytes,
    })
}
