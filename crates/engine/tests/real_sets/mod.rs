//! Real data sets for tests and benches: their files, a database of them, its quads as another engine takes
//! them, and answers under a time limit.
//!
//! The files are found in `BASALT_REAL_DATA_DIR` (default `../shared/data/real` beside the workspace); a set that is
//! not there is said to be skipped.

// Each program uses a part of this.
#![allow(dead_code)]

use basalt_engine::dump::{DumpGraph, dump};
use basalt_engine::{
    Answer as BasaltAnswer, Database, GraphFormat, Input, Layout, LoadOptions, NoProgress,
    QueryOptions,
};
use basalt_testkit::Answer;
use oxigraph::io::{RdfFormat, RdfParser};
use oxigraph::model::Quad;
use oxigraph::sparql::CancellationToken;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// The three files of QUDT.
pub const QUDT: &[&str] = &[
    "qudt-VOCAB_QUDT-CONSTANTS.ttl.gz",
    "qudt-VOCAB_QUDT-QUANTITY-KINDS-ALL.ttl.gz",
    "qudt-VOCAB_QUDT-UNITS-ALL.ttl.gz",
];

/// The files of a set, if all are there.
pub fn files_of(names: &[&str]) -> Option<Vec<PathBuf>> {
    let folder = match std::env::var_os("BASALT_REAL_DATA_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/real"),
    };
    let files: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
    if let Some(missing) = files.iter().find(|file| !file.is_file()) {
        let missing = missing.display();
        eprintln!("skipped: there is no {missing} (set BASALT_REAL_DATA_DIR)");
        return None;
    }
    Some(files)
}

/// How these files are loaded in a layout.
pub fn load_options(files: &[PathBuf], layout: Layout) -> LoadOptions {
    LoadOptions {
        inputs: files.iter().map(Input::path).collect(),
        layout,
        threads: 2,
        ..LoadOptions::default()
    }
}

/// A database of these files.
pub fn loaded(files: &[PathBuf], layout: Layout) -> Database {
    let database = Database::in_memory();
    let options = load_options(files, layout);
    database.load(options, &NoProgress).expect("the set loads");
    database
}

/// What a database holds, with its labels of blank nodes.
pub fn quads_of(database: &Database) -> Vec<Quad> {
    let mut bytes = Vec::new();
    let all = DumpGraph::All;
    dump(&database.snapshot(), &mut bytes, GraphFormat::NQuads, all).expect("the store is dumped");
    RdfParser::from_format(RdfFormat::NQuads)
        .for_slice(&bytes)
        .map(|quad| quad.expect("the dump is N-Quads"))
        .collect()
}

/// Basalt's answer; the default graph may be the union of all.
pub fn ask_basalt(
    database: &Database,
    text: &str,
    is_union: bool,
    time_max: Duration,
) -> Result<Answer, basalt_engine::Error> {
    let mut options = QueryOptions {
        union_default_graph: is_union,
        ..QueryOptions::default()
    };
    options.exec.timeout = Some(time_max);
    Ok(match database.query(text, &options)? {
        BasaltAnswer::Boolean(value) => Answer::Boolean(value),
        BasaltAnswer::Solutions(solutions) => Answer::Solutions {
            variables: solutions.variables().to_vec(),
            rows: solutions.into_rows()?,
        },
        BasaltAnswer::Graph(mut graph) => {
            let mut triples = Vec::new();
            while let Some(more) = graph.next_triples()? {
                triples.extend(more);
            }
            Answer::Graph(triples)
        }
    })
}

/// Runs what can be cancelled by a token, which is set when the time is over.
pub fn with_time_limit<T>(time_max: Duration, run: impl FnOnce(&CancellationToken) -> T) -> T {
    let token = CancellationToken::new();
    let (done, is_done) = mpsc::channel::<()>();
    let watched = token.clone();
    let watch = std::thread::spawn(move || {
        if is_done.recv_timeout(time_max) == Err(mpsc::RecvTimeoutError::Timeout) {
            watched.cancel();
        }
    });
    let result = run(&token);
    drop(done);
    watch.join().expect("the watch does not panic");
    result
}
