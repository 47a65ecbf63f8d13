//! How far the planner's row estimates are from what came out, over many queries.
//!
//! Every query is planned and run with a profile; each scan and join of its plan gives one *q-error*, the larger of
//! estimated / actual and actual / estimated with both at least 1 (Moerkotte, Neumann, Steidl, "Preventing bad plans by
//! bounding the impact of cardinality estimation errors", VLDB 2009). Left out are operators that were not run to their
//! end, because a limit was reached or a partner was empty, and those that run anew for each row of another, whose
//! estimates are of one evaluation.

// Each program uses a part of this.
#![allow(dead_code)]

use basalt_bsbm::{Draw, GenerateOptions, ParameterPool, UseCase, generate_to, query_text};
use basalt_engine::dump::{DumpGraph, dump};
use basalt_engine::{Database, ExplainedNode, GraphFormat, QueryOptions};
use basalt_testkit::walked_query::{WalkedTriples, walked_query};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Queries that take longer are left out, since their operators do not come to an end.
const TIME_MAX: Duration = Duration::from_secs(5);

/// The operators that are looked at: all scans and joins.
const OPERATORS: [&str; 11] = [
    "StarScan",
    "StarJoin",
    "PatternScan",
    "PatternJoin",
    "PathJoin",
    "HashJoin",
    "MergeJoin",
    "LateralJoin",
    "Minus",
    "CountScan",
    "CountJoin",
];

/// The estimate of one operator of one query.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The name of the operator.
    pub operator: String,
    /// Its line in the plan.
    pub line: String,
    /// Rows expected.
    pub estimated: f64,
    /// Rows that came.
    pub actual: u64,
    /// The query, an index into [`Estimates::queries`].
    pub query_idx: usize,
}

impl Estimate {
    /// How far off it is, at least 1.
    pub fn error(&self) -> f64 {
        let (estimated, actual) = (self.estimated.max(1.0), (self.actual as f64).max(1.0));
        (estimated / actual).max(actual / estimated)
    }
}

/// The estimates of a data set's queries.
#[derive(Default)]
pub struct Estimates {
    /// The texts of the queries that were run to their end.
    pub queries: Vec<String>,
    /// The estimates of their operators.
    pub all: Vec<Estimate>,
    /// Queries that had no rows.
    pub without_rows: usize,
    /// Queries that took too long or ended with an error.
    pub left_out: usize,
    /// How long each query took from its text to its plan.
    pub planning: Vec<Duration>,
}

/// Errors in short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many.
    pub count: usize,
    /// Half are no larger.
    pub median: f64,
    /// Nine of ten are no larger.
    pub p90: f64,
    /// 19 of 20 are no larger.
    pub p95: f64,
    /// The largest.
    pub max: f64,
}

impl Estimates {
    /// Plans and runs a query, and takes the estimates of its operators.
    pub fn ask(&mut self, database: &Database, text: &str) {
        let mut options = QueryOptions::default();
        options.exec.timeout = Some(TIME_MAX);
        let start = Instant::now();
        let prepared = database.prepare(text, &options);
        self.planning.push(start.elapsed());
        let report = prepared.and_then(|prepared| prepared.profile(&options));
        let Ok(report) = report else {
            self.left_out += 1;
            return;
        };
        if report.run.is_some_and(|run| run.rows == 0) {
            self.without_rows += 1;
        }
        self.collect(&report.root);
        self.queries.push(text.to_owned());
    }

    fn collect(&mut self, node: &ExplainedNode) {
        if let Some(actual) = node.actual
            && actual.is_complete
            && OPERATORS.contains(&node.operator())
        {
            self.all.push(Estimate {
                operator: node.operator().to_owned(),
                line: node.text.clone(),
                estimated: node.estimated_rows,
                actual: actual.rows,
                query_idx: self.queries.len(),
            });
        }
        // The right side of a lateral join runs for each row of the left one.
        let once = match node.operator() {
            "LateralJoin" => &node.inputs[..1],
            _ => &node.inputs[..],
        };
        once.iter().for_each(|input| self.collect(input));
    }

    /// All errors in short; `None` if there are none.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(self.all.iter().map(Estimate::error).collect())
    }

    /// The errors of each operator in short.
    pub fn by_operator(&self) -> Vec<(String, Summary)> {
        let mut errors: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for estimate in &self.all {
            let of = errors.entry(&estimate.operator).or_default();
            of.push(estimate.error());
        }
        errors
            .into_iter()
            .filter_map(|(name, errors)| Some((name.to_owned(), Summary::of(errors)?)))
            .collect()
    }

    /// The time from text to plan that a share of the queries does not exceed.
    pub fn planned_within(&self, share: f64) -> Duration {
        let mut times = self.planning.clone();
        times.sort_unstable();
        let place = (times.len().saturating_sub(1) as f64 * share).round() as usize;
        times.get(place).copied().unwrap_or_default()
    }

    /// The worst estimates, one for each query and each operator but for its constants, with the query.
    pub fn worst(&self, count: usize) -> Vec<(&Estimate, &str)> {
        let mut sorted: Vec<&Estimate> = self.all.iter().collect();
        sorted.sort_by(|a, b| b.error().total_cmp(&a.error()));
        let mut found: Vec<&Estimate> = Vec::new();
        for estimate in sorted {
            if found.len() == count {
                break;
            }
            let is_other = |f: &&Estimate| {
                f.query_idx != estimate.query_idx
                    && without_constants(&f.line) != without_constants(&estimate.line)
            };
            if found.iter().all(is_other) {
                found.push(estimate);
            }
        }
        let texts = found.iter().map(|e| self.queries[e.query_idx].as_str());
        found.iter().copied().zip(texts).collect()
    }
}

/// A line without what stands in quotes and without digits.
fn without_constants(line: &str) -> String {
    let outside = line.split('"').step_by(2).collect::<String>();
    outside.replace(|c: char| c.is_ascii_digit(), "")
}

impl Summary {
    /// Of some errors; `None` if there are none.
    pub fn of(mut errors: Vec<f64>) -> Option<Self> {
        errors.sort_by(f64::total_cmp);
        let at = |share: f64| errors[((errors.len() - 1) as f64 * share).round() as usize];
        (!errors.is_empty()).then(|| Self {
            count: errors.len(),
            median: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            max: at(1.0),
        })
    }
}

/// A database of the benchmark's data.
pub fn bsbm(products: u64) -> Database {
    let mut bytes = Vec::new();
    generate_to(&mut bytes, &GenerateOptions::new(products)).expect("the data is generated");
    let text = String::from_utf8(bytes).expect("N-Triples is UTF-8");
    let database = Database::in_memory();
    database
        .load_text(&text, GraphFormat::NTriples)
        .expect("the data loads");
    database
}

/// The benchmark's queries, with parameters drawn as often as this.
pub fn bsbm_queries(products: u64, draws: i64) -> Vec<String> {
    let seed = GenerateOptions::new(products).seed;
    let pool = ParameterPool::from_options(products, seed).expect("there are products");
    let mut texts = Vec::new();
    for use_case in [UseCase::Explore, UseCase::Bi] {
        for number in 1..=use_case.queries() {
            for mix in 0..draws {
                let draw = Draw {
                    seed: 7,
                    mix,
                    position: u32::from(number),
                };
                let parameters = pool.draw(use_case, number, draw).expect("the query exists");
                let text = query_text(use_case, number, &parameters);
                texts.push(text.expect("the parameters are complete"));
            }
        }
    }
    texts
}

/// The default graph of a database as N-Triples.
pub fn triples_of(database: &Database) -> String {
    let mut bytes = Vec::new();
    dump(
        &database.snapshot(),
        &mut bytes,
        GraphFormat::NTriples,
        DumpGraph::Default,
    )
    .expect("the store is dumped");
    String::from_utf8(bytes).expect("N-Triples is UTF-8")
}

/// Queries that walk through the default graph of a database, one for each seed that leads anywhere.
pub fn walked_queries(database: &Database, seeds: std::ops::Range<u64>) -> Vec<String> {
    let triples = WalkedTriples::of_lines(&triples_of(database));
    seeds
        .filter_map(|seed| walked_query(&triples, seed))
        .collect()
}
