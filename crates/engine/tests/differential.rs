//! Random queries over random data: Basalt against the naive oracle, and that one against Oxigraph.
//!
//! `BASALT_DIFFERENTIAL_QUERIES` sets how many, `BASALT_DIFFERENTIAL_SEED` where the seeds begin, and
//! `BASALT_DIFFERENTIAL_SECONDS` stops earlier. Each difference is shrunk and printed as a golden script. `cargo xtask fuzz` runs the test
//! `fresh_queries_agree` in a release build until a difference.

mod duel;
mod support;

use basalt_testkit::Dataset;
use basalt_testkit::choices::Choices;
use basalt_testkit::expectation::Expectation;
use basalt_testkit::folding::Question;
use basalt_testkit::query_tree::Tree;
use basalt_testkit::random_data::{DataOptions, dataset_of, random_dataset};
use basalt_testkit::random_query::{QueryOptions as Grammar, query_of, random_query};
use basalt_testkit::second_opinion::{Opinion, second_opinion};
use basalt_testkit::shrink::Case;
use duel::{Fault, Outcome, duel, duel_of_case, expected, has_rows, parsed, report};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use support::{Configuration, load, matrix, number_from_env};

/// Queries asked of one dataset.
const QUERIES_PER_DATASET: u64 = 10;

/// So many differences are shrunk and told before a run ends.
const FAILURES_MAX: usize = 3;

/// Every other dataset has literals at the edges of their types.
fn data_options(seed: u64) -> DataOptions {
    DataOptions {
        odd_literals: seed % 2 == 1,
        quads_max: [200, 120, 40, 200][seed as usize / 2 % 4],
        ..DataOptions::default()
    }
}

/// What became of the queries of a run.
#[derive(Default)]
struct Tally {
    asked: u64,
    /// Queries without rows that were not asked.
    passed_over: u64,
    right: u64,
    with_rows: u64,
    open: u64,
    too_large: u64,
    /// Messages of refusals and how often each came.
    refused: BTreeMap<String, u64>,
    /// How often Oxigraph agreed, and how often it did not for each known reason.
    second_agrees: u64,
    second_known: BTreeMap<&'static str, u64>,
    /// Seeds and queries of which Oxigraph has another answer for no known reason.
    second_unknown: Vec<String>,
    /// Shrunk differences.
    failures: Vec<String>,
}

impl Tally {
    fn print(&self) {
        eprintln!(
            "{} queries asked, {} without rows passed over: {} right ({} with rows), {} open by the standard, {} too large, {} refused, {} wrong",
            self.asked,
            self.passed_over,
            self.right,
            self.with_rows,
            self.open,
            self.too_large,
            self.refused.values().sum::<u64>(),
            self.failures.len()
        );
        eprintln!("refused: {:?}", self.refused);
        eprintln!(
            "Oxigraph: {} the same, deviations known {:?}, unknown {}",
            self.second_agrees,
            self.second_known,
            self.second_unknown.len()
        );
    }

    fn assert_good(&self) {
        self.print();
        assert!(
            self.failures.is_empty(),
            "{} differences\n{}",
            self.failures.len(),
            self.failures.join("\n")
        );
        assert!(
            (self.open + self.too_large) * 100 <= 2 + self.asked * 12,
            "too many queries were left out"
        );
        assert!(
            self.with_rows * 100 >= self.right * 45,
            "too many answers are empty"
        );
        assert!(
            self.second_unknown.is_empty(),
            "the oracles differ on\n{}",
            self.second_unknown.join("\n")
        );
    }

    /// Notes what became of a query, and whether it was wrong.
    fn count(&mut self, outcome: Outcome) -> Option<Fault> {
        match outcome {
            Outcome::Right { has_rows } => {
                self.right += 1;
                self.with_rows += u64::from(has_rows);
            }
            Outcome::Open => self.open += 1,
            Outcome::TooLarge => self.too_large += 1,
            Outcome::Refused(message) => {
                let message = message.chars().take(60).collect();
                *self.refused.entry(message).or_default() += 1;
            }
            Outcome::NoQuery => return Some(Fault::Error("the query does not parse".into())),
            Outcome::Wrong(fault) => return Some(fault),
        }
        None
    }

    /// Asks Oxigraph, whose answer must be right too but for what it is known to do otherwise.
    fn ask_second(&mut self, seed: u64, question: &Question, text: &str, expected: &Expectation) {
        match second_opinion(question, expected) {
            Opinion::Agrees => self.second_agrees += 1,
            Opinion::Differs(reason) => *self.second_known.entry(reason).or_default() += 1,
            Opinion::Contradicts(what) => {
                let line = format!("seed {seed}: {text}\n    {what}");
                eprintln!("Oxigraph differs, {line}");
                self.second_unknown.push(line);
            }
        }
    }
}

/// When a run ends, at the latest.
struct Budget {
    first_seed: u64,
    queries: u64,
    until: Option<Instant>,
}

impl Budget {
    fn from_env(queries: u64, seed: u64) -> Self {
        let seconds = number_from_env("BASALT_DIFFERENTIAL_SECONDS", 0);
        Self {
            first_seed: number_from_env("BASALT_DIFFERENTIAL_SEED", seed),
            queries: number_from_env("BASALT_DIFFERENTIAL_QUERIES", queries),
            until: (seconds > 0).then(|| Instant::now() + Duration::from_secs(seconds)),
        }
    }

    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() > until)
    }
}

/// Runs random queries; `oxigraph_every` says which datasets Oxigraph is asked about, 0 is none.
fn run(budget: &Budget, grammar: Grammar, oxigraph_every: u64) -> Tally {
    let configurations = matrix();
    let mut tally = Tally::default();
    let datasets = budget.queries.div_ceil(QUERIES_PER_DATASET);
    for data_seed in budget.first_seed..budget.first_seed + datasets {
        if budget.is_over() || tally.failures.len() >= FAILURES_MAX {
            break;
        }
        let dataset = random_dataset(data_seed, data_options(data_seed));
        let configuration = &configurations[data_seed as usize % configurations.len()];
        let loaded = load(&dataset, configuration);
        for number in 0..QUERIES_PER_DATASET {
            let seed = data_seed * QUERIES_PER_DATASET + number;
            let tree = random_query(seed, grammar);
            let text = tree.to_string();
            let query = parsed(&text).expect("generated queries parse");
            let expected = expected(&dataset, &query);
            // Of the queries without rows a third is enough.
            if !seed.is_multiple_of(3)
                && matches!(&expected, Ok(expected) if !has_rows(expected.answer()))
            {
                tally.passed_over += 1;
                continue;
            }
            tally.asked += 1;
            let outcome = match &expected {
                Ok(expected) => duel(&loaded, configuration, &text, expected),
                Err(Outcome::TooLarge) => Outcome::TooLarge,
                Err(_) => Outcome::Open,
            };
            if let Some(fault) = tally.count(outcome) {
                tally
                    .failures
                    .push(told(seed, &dataset, tree, configuration, &fault));
            }
            if let Ok(expected) = &expected
                && oxigraph_every > 0
                && data_seed % oxigraph_every == 0
            {
                let question = Question {
                    dataset: dataset.clone(),
                    query,
                };
                tally.ask_second(seed, &question, &text, expected);
            }
        }
    }
    tally
}

/// The report of a difference, on standard error at once too, since a long run may be cut off.
fn told(
    seed: u64,
    dataset: &Dataset,
    query: Tree,
    configuration: &Configuration,
    fault: &Fault,
) -> String {
    let case = Case {
        dataset: dataset.clone(),
        query,
    };
    let text = report(seed, case, configuration, fault);
    eprintln!("{text}");
    text
}

#[test]
fn random_queries_agree_with_both_oracles() {
    let budget = Budget::from_env(600, 1);
    run(&budget, Grammar::default(), 1).assert_good();
}

/// What a long run calls: other seeds, and Oxigraph for a part of the data only, since it takes most of the time.
#[test]
fn fresh_queries_agree() {
    let budget = Budget::from_env(600, 1_000_000);
    run(&budget, Grammar::default(), 10).assert_good();
}

#[test]
fn every_configuration_gives_the_same_answers() {
    let mut tally = Tally::default();
    for data_seed in 5_000..5_004 {
        let dataset = random_dataset(data_seed, data_options(data_seed));
        let queries: Vec<_> = (0..QUERIES_PER_DATASET)
            .map(|n| random_query(data_seed * QUERIES_PER_DATASET + n, Grammar::default()))
            .collect();
        for configuration in matrix() {
            let loaded = load(&dataset, &configuration);
            for query in &queries {
                let text = query.to_string();
                let parsed = parsed(&text).expect("generated queries parse");
                let Ok(expected) = expected(&dataset, &parsed) else {
                    continue;
                };
                let outcome = duel(&loaded, &configuration, &text, &expected);
                if let Some(fault) = tally.count(outcome) {
                    let query = query.clone();
                    let report = told(data_seed, &dataset, query, &configuration, &fault);
                    tally.failures.push(report);
                }
            }
            assert!(tally.failures.is_empty(), "{}", tally.failures[0]);
        }
    }
    assert!(tally.right > 500, "only {} were compared", tally.right);
}

/// The way in for a fuzzer that makes bytes: the first byte is the configuration, then follow the decisions
/// of the data, as many as the second byte says times eight, and those of the query.
fn duel_of_bytes(bytes: &[u8]) -> Outcome {
    let (Some(&[configuration, data_length]), rest) = (bytes.first_chunk(), bytes) else {
        return Outcome::NoQuery;
    };
    let configurations = matrix();
    let configuration = &configurations[usize::from(configuration) % configurations.len()];
    let rest = &rest[2..];
    let (data, query) = rest.split_at(rest.len().min(usize::from(data_length) * 8));
    let case = Case {
        dataset: dataset_of(Choices::from_bytes(data), DataOptions::default()),
        query: query_of(Choices::from_bytes(query), Grammar::default()),
    };
    duel_of_case(&case, configuration)
}

#[test]
fn any_bytes_are_a_case_whose_answer_is_right() {
    let mut random = Choices::from_seed(99);
    let mut right = 0;
    for _ in 0..60 {
        let length = 2 + random.below(900);
        let bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        match duel_of_bytes(&bytes) {
            Outcome::Right { .. } => right += 1,
            Outcome::Wrong(fault) => unreachable!("{fault:?}: {bytes:?}"),
            _ => {}
        }
    }
    assert!(right > 30, "only {right} were compared");
}

/// Texts that are no queries, or queries nobody meant, are answered or refused, and nothing panics.
#[test]
fn no_text_is_a_panic() {
    let dataset = random_dataset(
        3,
        DataOptions {
            quads_max: 12,
            ..DataOptions::default()
        },
    );
    let configuration = Configuration::default();
    let loaded = load(&dataset, &configuration);
    let mut random = Choices::from_seed(number_from_env("BASALT_DIFFERENTIAL_SEED", 1));
    let (mut answered, mut refused) = (0, 0);
    for seed in 0..number_from_env("BASALT_DIFFERENTIAL_QUERIES", 2_000) {
        let text = random_query(seed, Grammar::default()).to_string();
        let text = mutated(&text, &mut random);
        match duel::answer(&loaded, &configuration, &text) {
            Ok(answer) => answered += usize::from(has_rows(&answer)),
            Err(Outcome::Wrong(Fault::Panic)) => unreachable!("a panic on {text:?}"),
            Err(_) => refused += 1,
        }
    }
    assert!(
        answered > 0 && refused > 0,
        "{answered} answered, {refused} refused"
    );
}

/// A text with a few pieces lost, doubled or exchanged for others.
fn mutated(text: &str, random: &mut Choices) -> String {
    const PIECES: [&str; 24] = [
        "{",
        "}",
        "(",
        ")",
        "\"",
        "'''",
        "<",
        ">",
        "?",
        "^",
        "\\",
        "\u{1F30B}",
        "\0",
        "UNION",
        "SELECT *",
        "GROUP BY ?x",
        "1e999",
        "\"\"^^<x:y>",
        "OPTIONAL",
        "[]",
        "(1 2)",
        "@en--",
        "-99999999999999999999",
        "{{{{",
    ];
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..1 + random.below(4) {
        let start = random.below(characters.len() + 1);
        let end = (start + random.below(12)).min(characters.len());
        match random.below(4) {
            0 => drop(characters.drain(start..end)),
            1 => {
                let copy: Vec<char> = characters[start..end].to_vec();
                let place = random.below(characters.len() + 1);
                characters.splice(place..place, copy);
            }
            _ => {
                let piece = PIECES[random.below(PIECES.len())];
                characters.splice(start..end, piece.chars());
            }
        }
    }
    characters.into_iter().collect()
}
