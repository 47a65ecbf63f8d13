//! What a run of the driver found: figures per query and for the mix, as JSON and Markdown.
//!
//! Executions that failed are counted but not timed, those that timed out are counted and timed
//! with the whole timeout. The rate of mixes is only as good as its executions: read it together
//! with `errors` and `timeouts`.

use crate::queries::QueryForm;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// The result of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The program and version that measured.
    pub driver: String,
    /// The name of the use case.
    pub use_case: String,
    /// The endpoint queried.
    pub endpoint: String,
    /// The number of products, which is the scale factor.
    pub products: u64,
    /// The seed of the parameters.
    pub seed: u64,
    /// Concurrent clients.
    pub clients: usize,
    /// Mixes run before measuring, over all clients.
    pub warmup: u64,
    /// Mixes measured, over all clients.
    pub runs: u64,
    /// The time limit of one execution.
    pub timeout_s: f64,
    /// Wall-clock time of the measured mixes.
    pub elapsed_s: f64,
    /// Time of all measured executions together.
    pub query_time_s: f64,
    /// Query mixes per hour: of query time with one client, of wall-clock time with several.
    pub qmph: f64,
    /// Query mixes per hour of wall-clock time.
    pub qmph_wall: f64,
    /// Mean time of the executions of one mix.
    pub cqet_s: f64,
    /// Executions that ran out of time.
    pub timeouts: u64,
    /// Executions that failed otherwise.
    pub errors: u64,
    /// Figures per query; queries that were never run are left out.
    pub queries: Vec<QueryReport>,
}

/// The result of one query.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueryReport {
    /// The number of the query.
    pub number: u8,
    /// Executions, failed ones included.
    pub count: u64,
    /// Rows or triples of all executions.
    pub rows: u64,
    /// Executions with an empty answer.
    pub empty: u64,
    /// Mean time.
    pub aqet_s: f64,
    /// Geometric mean of the times.
    pub aqet_geometric_s: f64,
    /// The shortest time.
    pub min_s: f64,
    /// The time that half of the executions did not exceed.
    pub p50_s: f64,
    /// The time that 95 % of the executions did not exceed.
    pub p95_s: f64,
    /// The time that 99 % of the executions did not exceed.
    pub p99_s: f64,
    /// The longest time.
    pub max_s: f64,
    /// Executions that ran out of time.
    pub timeouts: u64,
    /// Executions that failed otherwise.
    pub errors: u64,
    /// The first failure in words.
    pub first_error: Option<String>,
    /// A hash of all answers, in hexadecimal; independent of row order and of timing.
    pub result_hash: String,
}

/// One measured execution.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    pub(crate) number: u8,
    /// Time taken; nothing if it failed.
    pub(crate) seconds: Option<f64>,
    pub(crate) rows: u64,
    /// A hash of the answer and of the place of the execution in the run.
    pub(crate) hash: u64,
    pub(crate) is_timeout: bool,
    pub(crate) error: Option<String>,
    pub(crate) form: QueryForm,
}

impl QueryReport {
    pub(crate) fn new(number: u8, executions: &[Execution]) -> Option<QueryReport> {
        let of_query: Vec<&Execution> = executions.iter().filter(|e| e.number == number).collect();
        if of_query.is_empty() {
            return None;
        }
        let mut times: Vec<f64> = of_query.iter().filter_map(|e| e.seconds).collect();
        times.sort_by(f64::total_cmp);
        let logarithms: f64 = times.iter().map(|seconds| seconds.max(1e-9).ln()).sum();
        let timed = times.len().max(1) as f64;
        let succeeded = |e: &&&Execution| e.error.is_none() && !e.is_timeout;
        let is_empty = |e: &&Execution| e.rows == 0 && e.form != QueryForm::Update;
        let hash = of_query
            .iter()
            .fold(0, |sum: u64, e| sum.wrapping_add(e.hash));
        Some(QueryReport {
            number,
            count: of_query.len() as u64,
            rows: of_query.iter().map(|e| e.rows).sum(),
            empty: of_query
                .iter()
                .filter(succeeded)
                .filter(|e| is_empty(e))
                .count() as u64,
            aqet_s: times.iter().sum::<f64>() / timed,
            aqet_geometric_s: if times.is_empty() {
                0.0
            } else {
                (logarithms / timed).exp()
            },
            min_s: times.first().copied().unwrap_or(0.0),
            p50_s: percentile(&times, 50),
            p95_s: percentile(&times, 95),
            p99_s: percentile(&times, 99),
            max_s: times.last().copied().unwrap_or(0.0),
            timeouts: of_query.iter().filter(|e| e.is_timeout).count() as u64,
            errors: of_query.iter().filter(|e| e.error.is_some()).count() as u64,
            first_error: of_query.iter().find_map(|e| e.error.clone()),
            result_hash: format!("{hash:016x}"),
        })
    }
}

/// The nearest-rank percentile of sorted numbers, 0 if there are none.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

impl Report {
    /// The report as JSON.
    pub fn to_json(&self) -> String {
        // Only maps with odd keys and failing writers make this fail; there are none here.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The report as a Markdown page.
    pub fn to_markdown(&self) -> String {
        let mut out = format!("# BSBM {}, {} products\n\n", self.use_case, self.products);
        let mut line = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "- {name}: {value}");
        };
        line("endpoint", self.endpoint.clone());
        line("query mixes per hour", format!("{:.2}", self.qmph));
        line("mean time of a mix", format!("{:.5} s", self.cqet_s));
        let mixes = format!("{} after {} for warm-up", self.runs, self.warmup);
        line("mixes", mixes);
        line("clients", self.clients.to_string());
        line("seed", self.seed.to_string());
        line("elapsed", format!("{:.3} s", self.elapsed_s));
        let failed = format!("{} timeouts, {} errors", self.timeouts, self.errors);
        line("failed executions", failed);
        out.push_str(
            "\n| query | count | rows | mean ms | p50 ms | p95 ms | p99 ms | timeouts | errors | result hash |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        );
        for query in &self.queries {
            let [mean, p50, p95, p99] = [query.aqet_s, query.p50_s, query.p95_s, query.p99_s]
                .map(|seconds| format!("{:.3}", seconds * 1_000.0));
            let _ = writeln!(
                out,
                "| {} | {} | {} | {mean} | {p50} | {p95} | {p99} | {} | {} | `{}` |",
                query.number,
                query.count,
                query.rows,
                query.timeouts,
                query.errors,
                query.result_hash
            );
        }
        out
    }
}
