//! The questions on real data sets: read from the files beside, asked to Basalt and to Oxigraph.
//!
//! A file begins with prefixes; then come the questions, each under a line `## what it asks`, or `## union: what it
//! asks` where the default graph is to be the union of all graphs. The same questions are a test of answers
//! (`real_questions.rs`) and of times (`benches/real.rs`).

use basalt_engine::dump::{DumpGraph, dump};
use basalt_engine::{
    Answer as BasaltAnswer, Database, GraphFormat, Input, Layout, LoadOptions, NoProgress,
    QueryOptions,
};
use basalt_testkit::Answer;
use oxigraph::io::{RdfFormat, RdfParser};
use oxigraph::model::{GraphName, Quad};
use oxigraph::sparql::{CancellationToken, QueryResults, SparqlEvaluator};
use oxigraph::store::Store;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// A data set with questions.
pub struct Set {
    /// Its name.
    pub name: &'static str,
    /// The files of the data.
    files: &'static [&'static str],
    /// The file of the questions.
    questions: &'static str,
}

/// The sets.
pub const SETS: &[Set] = &[
    Set {
        name: "vocabularies",
        files: &["vocabularies.nq.gz"],
        questions: include_str!("vocabularies.rq"),
    },
    Set {
        name: "codex-m",
        files: &["codex-m.nt.gz"],
        questions: include_str!("codex-m.rq"),
    },
    Set {
        name: "qudt",
        files: &[
            "qudt-VOCAB_QUDT-CONSTANTS.ttl.gz",
            "qudt-VOCAB_QUDT-QUANTITY-KINDS-ALL.ttl.gz",
            "qudt-VOCAB_QUDT-UNITS-ALL.ttl.gz",
        ],
        questions: include_str!("qudt.rq"),
    },
];

/// A question.
pub struct Question {
    /// What it asks.
    pub asks: String,
    /// The query.
    pub text: String,
    /// Whether the default graph is the union of all graphs.
    pub is_union: bool,
}

impl Set {
    /// The questions, in the order of the file.
    pub fn questions(&self) -> Vec<Question> {
        let mut parts = self.questions.split("\n## ");
        let prefixes = parts.next().expect("a file has a beginning");
        parts
            .map(|part| {
                let (asks, query) = part.split_once('\n').expect("a query follows its title");
                let union = asks.strip_prefix("union: ");
                Question {
                    asks: union.unwrap_or(asks).to_owned(),
                    text: format!("{prefixes}\n{query}"),
                    is_union: union.is_some(),
                }
            })
            .collect()
    }

    /// The files of the data; says so if one is not there.
    pub fn files(&self) -> Option<Vec<PathBuf>> {
        let folder = match std::env::var_os("BASALT_REAL_DATA_DIR") {
            Some(folder) => PathBuf::from(folder),
            None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/real"),
        };
        let files: Vec<PathBuf> = self.files.iter().map(|name| folder.join(name)).collect();
        if let Some(missing) = files.iter().find(|file| !file.is_file()) {
            let missing = missing.display();
            eprintln!("skipped: there is no {missing} (set BASALT_REAL_DATA_DIR)");
            return None;
        }
        Some(files)
    }
}

/// A database of these files.
pub fn basalt_database(files: &[PathBuf], layout: Layout) -> Database {
    let database = Database::in_memory();
    let options = LoadOptions {
        inputs: files.iter().map(Input::path).collect(),
        layout,
        threads: 2,
        ..LoadOptions::default()
    };
    database.load(options, &NoProgress).expect("the set loads");
    database
}

/// Oxigraph's stores of the quads of a database.
pub struct Oracle {
    /// The quads as they are.
    plain: Store,
    /// With all of them in the default graph as well.
    union: Store,
}

impl Oracle {
    /// Stores of what a database holds, with its labels of blank nodes.
    pub fn of(database: &Database) -> Self {
        let mut bytes = Vec::new();
        let all = DumpGraph::All;
        dump(&database.snapshot(), &mut bytes, GraphFormat::NQuads, all).expect("a dump");
        let quads: Vec<Quad> = RdfParser::from_format(RdfFormat::NQuads)
            .for_slice(&bytes)
            .map(|quad| quad.expect("the dump is N-Quads"))
            .collect();
        let store = |quads: Vec<Quad>| {
            let store = Store::new().expect("a store in memory");
            let mut loader = store.bulk_loader();
            loader.load_quads(quads).expect("the quads load");
            loader.commit().expect("the quads are stored");
            store
        };
        let in_default = |quad: &Quad| Quad {
            graph_name: GraphName::DefaultGraph,
            ..quad.clone()
        };
        let merged = quads.iter().map(in_default).collect::<Vec<_>>();
        Self {
            union: store(merged.into_iter().chain(quads.iter().cloned()).collect()),
            plain: store(quads),
        }
    }

    /// The answer, or why there is none, such as that the time is over.
    pub fn ask(&self, question: &Question, time_max: Duration) -> Result<Answer, String> {
        let token = CancellationToken::new();
        let (done, is_done) = mpsc::channel::<()>();
        let watched = token.clone();
        let watch = std::thread::spawn(move || {
            if is_done.recv_timeout(time_max) == Err(mpsc::RecvTimeoutError::Timeout) {
                watched.cancel();
            }
        });
        let answer = self.ask_until(question, token);
        drop(done);
        watch.join().expect("the watch does not panic");
        answer
    }

    fn ask_until(&self, question: &Question, token: CancellationToken) -> Result<Answer, String> {
        let store = match question.is_union {
            true => &self.union,
            false => &self.plain,
        };
        let prepared = SparqlEvaluator::new()
            .with_cancellation_token(token)
            .parse_query(&question.text)
            .map_err(|error| error.to_string())?;
        let told = |error: oxigraph::sparql::QueryEvaluationError| error.to_string();
        Ok(match prepared.on_store(store).execute().map_err(told)? {
            QueryResults::Boolean(value) => Answer::Boolean(value),
            QueryResults::Solutions(solutions) => {
                let variables = solutions.variables().iter();
                let variables = variables.map(|v| v.as_str().to_owned()).collect();
                let rows = solutions
                    .map(|row| row.map(|row| row.values().to_vec()))
                    .collect::<Result<_, _>>()
                    .map_err(told)?;
                Answer::Solutions { variables, rows }
            }
            QueryResults::Graph(triples) => {
                Answer::Graph(triples.collect::<Result<_, _>>().map_err(told)?)
            }
        })
    }
}

/// Basalt's answer.
pub fn ask_basalt(
    database: &Database,
    question: &Question,
    time_max: Duration,
) -> Result<Answer, basalt_engine::Error> {
    let mut options = QueryOptions {
        union_default_graph: question.is_union,
        ..QueryOptions::default()
    };
    options.exec.timeout = Some(time_max);
    Ok(match database.query(&question.text, &options)? {
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
