//! What the tests of whole queries share: the matrix of configurations, and a database of a dataset.

#![allow(dead_code, reason = "each test program uses its own part")]

use basalt_engine::{
    Answer, Database, ForceJoin, GraphFormat, Input, Layout, LoadOptions, NoProgress, QueryOptions,
};
use basalt_testkit::{Answer as OracleAnswer, Dataset};
use std::io::Cursor;
use tempfile::TempDir;

/// One way to store data and to run queries. Answers must not depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Configuration {
    /// Where quads are put.
    pub layout: Layout,
    /// Rows in a batch.
    pub batch_rows: usize,
    /// Worker threads.
    pub threads: usize,
    /// Join algorithm to prefer.
    pub force_join: Option<ForceJoin>,
    /// Whether the store is on disk and opened anew.
    pub is_reopened: bool,
    /// A planner rule that is off.
    pub rule_off: Option<&'static str>,
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            layout: Layout::Discover,
            batch_rows: 2048,
            threads: 2,
            force_join: None,
            is_reopened: false,
            rule_off: None,
        }
    }
}

/// The configurations that every test of the matrix runs under: each value of each dimension, with
/// the values of the others rotated so that pairs of them meet.
pub fn matrix() -> Vec<Configuration> {
    let layouts = [
        Layout::Discover,
        Layout::AllIrregular,
        Layout::OneTable,
        Layout::HalfDirty,
    ];
    let joins = [
        None,
        Some(ForceJoin::Hash),
        Some(ForceJoin::Index),
        Some(ForceJoin::Merge),
    ];
    let batches = [2048, 1, 7];
    let mut all = Vec::new();
    for (layout_idx, &layout) in layouts.iter().enumerate() {
        for (join_idx, &force_join) in joins.iter().enumerate() {
            let number = layout_idx * joins.len() + join_idx;
            all.push(Configuration {
                layout,
                force_join,
                batch_rows: batches[number % batches.len()],
                threads: 1 + number % 2,
                is_reopened: number % 5 == 4,
                rule_off: None,
            });
        }
    }
    all.extend(basalt_engine::RULES.iter().map(|&rule| Configuration {
        rule_off: Some(rule),
        ..Configuration::default()
    }));
    all
}

/// A database and the folder that it lives in, if any.
pub struct Loaded {
    pub database: Database,
    _folder: Option<TempDir>,
}

/// Loads a dataset the way a configuration wants it.
pub fn load(dataset: &Dataset, configuration: &Configuration) -> Loaded {
    load_nquads(dataset.to_nquads(), configuration)
}

/// Loads N-Quads text the way a configuration wants it.
pub fn load_nquads(text: String, configuration: &Configuration) -> Loaded {
    let options = LoadOptions {
        inputs: vec![Input::reader(
            "data.nq",
            Cursor::new(text.into_bytes()),
            GraphFormat::NQuads,
        )],
        layout: configuration.layout,
        threads: configuration.threads,
        ..LoadOptions::default()
    };
    if !configuration.is_reopened {
        let database = Database::in_memory();
        database.load(options, &NoProgress).expect("the data loads");
        return Loaded {
            database,
            _folder: None,
        };
    }
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let database = Database::open_or_empty(&path).expect("a new store opens");
    database.load(options, &NoProgress).expect("the data loads");
    drop(database);
    let database = Database::open(&path).expect("the store opens again");
    Loaded {
        database,
        _folder: Some(folder),
    }
}

/// Query options of a configuration.
pub fn query_options(configuration: &Configuration) -> QueryOptions {
    let mut options = QueryOptions {
        force_join: configuration.force_join,
        disabled_rules: configuration
            .rule_off
            .iter()
            .map(|&rule| rule.to_owned())
            .collect(),
        ..QueryOptions::default()
    };
    options.exec.batch_rows = configuration.batch_rows;
    options.exec.threads = configuration.threads;
    options
}

/// Runs a query and collects its answer in the form of the oracles.
pub fn ask(
    database: &Database,
    text: &str,
    options: &QueryOptions,
) -> Result<OracleAnswer, String> {
    let answer = database
        .query(text, options)
        .map_err(|error| error.to_string())?;
    collect(answer).map_err(|error| error.to_string())
}

fn collect(answer: Answer) -> Result<OracleAnswer, basalt_engine::Error> {
    Ok(match answer {
        Answer::Boolean(value) => OracleAnswer::Boolean(value),
        Answer::Solutions(solutions) => {
            let variables = solutions.variables().to_vec();
            OracleAnswer::Solutions {
                variables,
                rows: solutions.into_rows()?,
            }
        }
        Answer::Graph(mut graph) => {
            let mut triples = Vec::new();
            while let Some(more) = graph.next_triples()? {
                triples.extend(more);
            }
            OracleAnswer::Graph(triples)
        }
    })
}
