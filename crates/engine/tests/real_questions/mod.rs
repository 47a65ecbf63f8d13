//! The questions on real data sets: read from the files beside, asked to Basalt and to Oxigraph.
//!
//! A file begins with prefixes; then come the questions, each under a line `## what it asks`, or `## union: what it
//! asks` where the default graph is to be the union of all graphs. The same questions are a test of answers
//! (`real_questions.rs`) and of times (`benches/real.rs`).

use super::real_sets::{QUDT, files_of, quads_of, with_time_limit};
use basalt_engine::Database;
use basalt_testkit::Answer;
use oxigraph::model::{GraphName, Quad};
use oxigraph::sparql::{CancellationToken, QueryEvaluationError, QueryResults, SparqlEvaluator};
use oxigraph::store::Store;
use std::path::PathBuf;
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
        files: QUDT,
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
        files_of(self.files)
    }
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
        let quads = quads_of(database);
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
        with_time_limit(time_max, |token| self.ask_until(question, token.clone()))
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
        let told = |error: QueryEvaluationError| error.to_string();
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
