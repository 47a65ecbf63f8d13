//! Asks an endpoint the queries of some mixes, one after the other, and keeps the answers whole.

use super::recording::{Content, Questions, RecordedAnswer, RecordedTerm, Recording};
use crate::answer::{ResultsFormat, RowSink, Term, XSD, check, read_rows, triples};
use crate::driver::{
    Connections, GivenUp, Phase, Question, Request, RunOptions, RunProgress, Slot, Transactions,
    Workload, Writes, inserts_per_mix,
};
use crate::error::BsbmError;
use crate::http::{Answer, Failure};
use crate::parameters::ParameterPool;
use crate::queries::{QueryForm, UseCase};
use std::time::Instant;

/// The reason of an answer that did not come in time.
const TIMED_OUT: &str = "it ran out of time";
/// The reason of an answer that was not asked for, since others had not come in time.
const NOT_TRIED: &str = "it was not tried, since such queries had run out of time";

/// Records the answers to as many mixes as `options.runs` says, from one client and without
/// warm-up.
///
/// `progress` is called on the calling thread, now and then. An answer that fails is recorded as
/// such and does not end the recording.
pub fn record_answers(
    use_case: UseCase,
    pool: &ParameterPool,
    options: &RunOptions,
    progress: &mut dyn FnMut(&RunProgress),
) -> Result<Recording, BsbmError> {
    options.check(use_case, pool)?;
    let mut connections = Connections::new(options)?;
    let mut transactions = Transactions::open(use_case, options)?.map(|(found, _)| found);
    let per_mix = inserts_per_mix(use_case, &options.ignored);
    let workload = Workload {
        use_case,
        pool,
        options,
    };
    let given_up = GivenUp::new(options.patience.as_ref());
    let started = Instant::now();
    let mut shown = started;
    let mut answers = Vec::new();
    for mix in 0..options.runs {
        if shown.elapsed() >= options.progress_interval {
            shown = Instant::now();
            progress(&look(started, mix, options.runs, &answers));
        }
        let blocks: Vec<Result<String, String>> = match &mut transactions {
            Some(transactions) => (0..per_mix).map(|_| transactions.take()).collect(),
            None => Vec::new(),
        };
        let mut blocks = blocks.into_iter();
        for slot in workload.slots(mix as i64, Writes::Sent) {
            let mut push = |step, level, text: String, content| {
                answers.push(RecordedAnswer {
                    mix,
                    position: slot.position,
                    step,
                    number: slot.number,
                    level,
                    text,
                    content,
                });
            };
            match workload.requests(mix as i64, slot, &mut blocks) {
                Ok(requests) => {
                    for request in requests {
                        let content = ask(&mut connections, &given_up, options, slot, &request);
                        let text = match slot.form {
                            QueryForm::Update => String::new(),
                            QueryForm::Select | QueryForm::Graph => request.text,
                        };
                        push(request.step, request.level, text, content);
                    }
                }
                Err(reason) => push(0, None, String::new(), Content::Failed(reason)),
            }
        }
    }
    progress(&look(started, options.runs, options.runs, &answers));
    Ok(Recording {
        questions: questions(use_case, pool, options),
        answers,
    })
}

/// Asks a question, unless it has been given up.
fn ask(
    connections: &mut Connections<'_>,
    given_up: &GivenUp,
    options: &RunOptions,
    slot: Slot,
    request: &Request,
) -> Content {
    let question = Question {
        number: slot.number,
        level: request.level,
    };
    if given_up.has(question) {
        return Content::Failed(NOT_TRIED.to_owned());
    }
    let answer = connections.send(slot.form, &request.text);
    if answer.as_ref().err() == Some(&Failure::Timeout) {
        given_up.timed_out(question);
        std::thread::sleep(options.timeout_pause);
    }
    content_of(slot.form, options.results_format, answer).unwrap_or_else(Content::Failed)
}

fn questions(use_case: UseCase, pool: &ParameterPool, options: &RunOptions) -> Questions {
    Questions {
        version: Questions::new_version(),
        endpoint: options.endpoint.clone(),
        use_case: use_case.name().to_owned(),
        products: pool.products(),
        data_seed: pool.data_seed(),
        seed: options.seed,
        mixes: options.runs,
        ignored: options.ignored.clone(),
        drill_down: options.drill_down,
    }
}

fn look(started: Instant, mixes: u64, total: u64, answers: &[RecordedAnswer]) -> RunProgress {
    let failed = |answer: &&RecordedAnswer| matches!(answer.content, Content::Failed(_));
    RunProgress {
        phase: Phase::Recording,
        elapsed: started.elapsed(),
        mixes,
        mixes_total: Some(total),
        time_total: None,
        supply: None,
        executions: answers.len() as u64,
        timeouts: 0,
        errors: answers.iter().filter(failed).count() as u64,
    }
}

fn content_of(
    form: QueryForm,
    format: ResultsFormat,
    answer: Result<Answer, Failure>,
) -> Result<Content, String> {
    let answer = answer.map_err(|failure| match failure {
        Failure::Timeout => TIMED_OUT.to_owned(),
        Failure::Other(reason) => reason,
    })?;
    check(form, format, &answer)?;
    match form {
        QueryForm::Update => Ok(Content::Done),
        QueryForm::Graph => {
            let mut lines = triples(&answer.body)?.collect::<Result<Vec<_>, _>>()?;
            lines.sort_unstable();
            Ok(Content::Triples(lines))
        }
        QueryForm::Select => {
            let mut sink = KeptRows::default();
            read_rows(format, &answer.body, &mut sink)?;
            sink.into_content()
        }
    }
}

/// Rows as they are read.
#[derive(Default)]
struct KeptRows {
    variables: Vec<String>,
    rows: Vec<Vec<(String, RecordedTerm)>>,
    row: Vec<(String, RecordedTerm)>,
}

impl RowSink for KeptRows {
    fn variables(&mut self, names: Vec<String>) {
        self.variables = names;
    }

    fn cell(&mut self, name: &str, term: &Term<'_>) {
        self.row.push((name.to_owned(), kept_term(term)));
    }

    fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }
}

impl KeptRows {
    fn into_content(self) -> Result<Content, String> {
        let mut variables = self.variables;
        variables.sort_unstable();
        variables.dedup();
        let mut rows = Vec::with_capacity(self.rows.len());
        for cells in self.rows {
            let mut row = vec![None; variables.len()];
            for (name, term) in cells {
                let column = variables.binary_search(&name);
                let column = column.map_err(|_| format!("the head does not name ?{name}"))?;
                row[column] = Some(term);
            }
            rows.push(row);
        }
        Ok(Content::Rows { variables, rows })
    }
}

fn kept_term(term: &Term<'_>) -> RecordedTerm {
    let kind = match term.kind.as_str() {
        "typed-literal" => "literal",
        kind => kind,
    };
    let value = match kind {
        "bnode" => String::new(),
        _ => term.value.as_str().to_owned(),
    };
    let datatype = term.datatype.as_ref().map(|text| text.as_str());
    let is_string = |iri: &str| iri.strip_prefix(XSD) == Some("string");
    let language = term.language.as_ref().map(|text| text.as_str());
    RecordedTerm {
        kind: kind.to_owned(),
        value,
        datatype: datatype.filter(|iri| !is_string(iri)).map(str::to_owned),
        language: language.map(str::to_ascii_lowercase),
    }
}
