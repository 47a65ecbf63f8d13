//! Queries over real data sets: Basalt and Oxigraph must give the same answers.
//!
//! Random tiny data never has long lists, skewed values, dozens of tables or thousands of dirty rows;
//! real data has. Each set (found in `BASALT_REAL_DATA_DIR`, default `../shared/data/real` beside the
//! workspace; skipped plainly where absent) is loaded, and its dump goes to Oxigraph's evaluator, so that
//! blank nodes have the same labels in both. Queries are made from the set's own quads by the
//! generator in [`made_queries`], seeded. Queries on which Oxigraph takes too long, or whose answer is large, are left out.
//! `BASALT_REAL_QUERIES` is the number of queries of each set, `BASALT_REAL_SEED` the first seed.

mod made_queries;
mod real_sets;

use basalt_engine::{Database, Layout};
use basalt_testkit::Answer;
use basalt_testkit::bag::{self, Numbers};
use made_queries::{Maker, Query, World};
use oxigraph::model::{Dataset, GraphNameRef, Quad, QuadRef};
use oxigraph::sparql::{CancellationToken, QueryResults, SparqlEvaluator};
use real_sets::{QUDT, ask_basalt, files_of, loaded, quads_of, with_time_limit};
use std::time::{Duration, Instant};

/// Oxigraph may take so long for a query; others are left out.
const ORACLE_TIME_MAX: Duration = Duration::from_millis(300);
/// An answer may have so many rows; others are left out.
const ROWS_MAX: usize = 3_000;
/// Basalt may take so long before the query counts as wrong.
const TIME_MAX: Duration = Duration::from_secs(10);

/// What became of the queries of a set.
#[derive(Default)]
struct Tally {
    compared: usize,
    left_out: usize,
    with_rows: usize,
    differences: Vec<String>,
    basalt: Duration,
    oracle: Duration,
}

/// The quads as Oxigraph takes them.
struct OracleData {
    /// As they are.
    plain: Dataset,
    /// With all of them in the default graph as well.
    union: Dataset,
}

impl OracleData {
    fn new(quads: &[Quad]) -> Self {
        let plain: Dataset = quads.iter().cloned().collect();
        let named = quads
            .iter()
            .filter(|quad| !quad.graph_name.is_default_graph());
        let mut union = Dataset::new();
        if named.clone().next().is_some() {
            union = plain.clone();
            for quad in named {
                let quad = quad.as_ref();
                let default = GraphNameRef::DefaultGraph;
                union.insert(QuadRef::new(
                    quad.subject,
                    quad.predicate,
                    quad.object,
                    default,
                ));
            }
        }
        Self { plain, union }
    }

    fn of(&self, query: &Query) -> &Dataset {
        if query.is_union {
            &self.union
        } else {
            &self.plain
        }
    }
}

fn number_from_env(name: &str, default: usize) -> usize {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// The answer of Oxigraph unless it takes too long or is too large.
fn oracle(data: &Dataset, query: &Query) -> Result<Option<Answer>, String> {
    with_time_limit(ORACLE_TIME_MAX, |token| {
        let answer = oracle_until(data, query, token);
        if token.is_cancelled() {
            Ok(None)
        } else {
            answer
        }
    })
}

fn oracle_until(
    data: &Dataset,
    query: &Query,
    token: &CancellationToken,
) -> Result<Option<Answer>, String> {
    let prepared = SparqlEvaluator::new()
        .with_cancellation_token(token.clone())
        .parse_query(&query.text)
        .map_err(|error| error.to_string())?;
    let results = prepared.on_queryable_dataset(data).execute();
    Ok(Some(match results.map_err(|error| error.to_string())? {
        QueryResults::Boolean(value) => Answer::Boolean(value),
        QueryResults::Solutions(solutions) => {
            let variables = solutions.variables().iter();
            let variables = variables.map(|v| v.as_str().to_owned()).collect();
            let mut rows = Vec::new();
            for solution in solutions {
                if rows.len() == ROWS_MAX {
                    return Ok(None);
                }
                let solution = solution.map_err(|error| error.to_string())?;
                rows.push(solution.values().to_vec());
            }
            Answer::Solutions { variables, rows }
        }
        QueryResults::Graph(triples) => {
            let mut all = Vec::new();
            for triple in triples {
                if all.len() == ROWS_MAX {
                    return Ok(None);
                }
                all.push(triple.map_err(|error| error.to_string())?);
            }
            Answer::Graph(all)
        }
    }))
}

/// Asks both and compares; a difference is kept with its query.
fn compare(databases: &[(Layout, Database)], data: &OracleData, query: &Query, tally: &mut Tally) {
    let start = Instant::now();
    let expected = match oracle(data.of(query), query) {
        Ok(Some(answer)) => answer,
        Ok(None) => {
            tally.left_out += 1;
            return;
        }
        Err(error) => {
            let text = format!("the oracle fails: {error}\n{}", query.text);
            tally.differences.push(text);
            return;
        }
    };
    let oracle_time = start.elapsed();
    tally.compared += 1;
    tally.oracle += oracle_time;
    tally.with_rows += usize::from(!expected.is_empty());
    for (layout, database) in databases {
        let start = Instant::now();
        let actual = ask_basalt(database, &query.text, query.is_union, TIME_MAX)
            .map(Answer::with_lower_tags);
        let time = start.elapsed();
        tally.basalt += time;
        if time > Duration::from_millis(300) && time > 10 * oracle_time {
            eprintln!(
                "slow ({layout:?}): {time:?} against {oracle_time:?}\n{}",
                query.text
            );
        }
        let verdict = match actual {
            Err(error) => Err(error.to_string()),
            Ok(actual) => if query.is_ordered {
                bag::compare_ordered(&expected, &actual, Numbers::ByValue)
            } else {
                bag::compare(&expected, &actual, Numbers::ByValue)
            }
            .map_err(|mismatch| mismatch.to_string()),
        };
        if let Err(difference) = verdict {
            let union = if query.is_union { " (union)" } else { "" };
            let text = format!("{layout:?}{union}: {difference}\n{}", query.text);
            tally.differences.push(text);
        }
    }
}

/// Runs made queries over a set stored in each of some layouts.
fn check_set(name: &str, names: &[&str], layouts: &[Layout], default_count: usize) {
    let Some(files) = files_of(names) else { return };
    let databases: Vec<(Layout, Database)> = layouts
        .iter()
        .map(|&layout| (layout, loaded(&files, layout)))
        .collect();
    let (_, first) = databases.first().expect("a layout is asked for");
    let quads = quads_of(first);
    let data = OracleData::new(&quads);
    let world = World::new(&quads);
    let count = number_from_env("BASALT_REAL_QUERIES", default_count);
    let first_seed = number_from_env("BASALT_REAL_SEED", 1);
    let mut tally = Tally::default();
    for seed in first_seed..first_seed + count {
        let query = Maker::new(&world, seed as u64).query();
        compare(&databases, &data, &query, &mut tally);
    }
    eprintln!(
        "{name}: {} queries compared ({} with rows, {} left out), {} differences, Basalt {:.2?} in {} layouts, Oxigraph {:.2?}",
        tally.compared,
        tally.with_rows,
        tally.left_out,
        tally.differences.len(),
        tally.basalt,
        layouts.len(),
        tally.oracle,
    );
    assert!(
        tally.differences.is_empty(),
        "{}",
        tally.differences.join("\n\n")
    );
    assert!(
        2 * tally.with_rows > tally.compared,
        "most queries must have rows, or they test little"
    );
}

#[test]
fn codex_is_queried_as_by_the_oracle() {
    check_set("codex-m", &["codex-m.nt.gz"], &[Layout::Discover], 60);
}

#[test]
fn vocabularies_are_queried_as_by_the_oracle() {
    let files = ["vocabularies.nq.gz"];
    check_set("vocabularies", &files, &[Layout::Discover], 60);
}

#[test]
fn music_is_queried_as_by_the_oracle_in_every_layout() {
    let layouts = [
        Layout::Discover,
        Layout::HalfDirty,
        Layout::AllIrregular,
        Layout::OneTable,
    ];
    check_set("music", &["music.ttl.gz"], &layouts, 60);
}

#[test]
fn units_are_queried_as_by_the_oracle() {
    check_set("qudt", QUDT, &[Layout::Discover, Layout::HalfDirty], 60);
}
