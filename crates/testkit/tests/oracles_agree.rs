//! The two oracles on random datasets and queries: whatever they disagree on is a mistake of one of them or
//! of the generator, unless [`second_opinion`] knows why.
//!
//! `ORACLE_PAIRS` sets the number of pairs, `ORACLE_SEED` the first seed.

use basalt_testkit::expectation::expectation;
use basalt_testkit::folding::Question;
use basalt_testkit::naive::NaiveError;
use basalt_testkit::random_data::{DataOptions, random_dataset};
use basalt_testkit::random_query::{QueryOptions, random_query};
use basalt_testkit::second_opinion::{Opinion, second_opinion};
use spargebra::SparqlParser;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[test]
fn naive_and_oxigraph_give_equal_answers() {
    let first = number("ORACLE_SEED", 0);
    let pairs = number("ORACLE_PAIRS", 1500);
    let mut compared = 0;
    let mut failures = Vec::new();
    for seed in first..first + pairs {
        let data = random_dataset(seed, DataOptions::default());
        let text = random_query(seed, QueryOptions::default()).to_string();
        let query = SparqlParser::new().parse_query(&text).expect("it parses");
        let expected = match expectation(&data, &query) {
            Ok(expected) => expected,
            Err(NaiveError::Unsupported(what)) => unreachable!("{what}: {text}"),
            Err(NaiveError::Ambiguous(_) | NaiveError::TooLarge(_)) => continue,
        };
        let question = Question {
            dataset: data,
            query,
        };
        match second_opinion(&question, &expected) {
            Opinion::Agrees => compared += 1,
            Opinion::Differs(_) => {}
            Opinion::Contradicts(what) => failures.push(format!("seed {seed}: {text}\n{what}")),
        }
    }
    eprintln!("{compared} of {pairs} compared, {} differ", failures.len());
    assert!(
        failures.is_empty(),
        "{} of {compared} differ:\n{}",
        failures.len(),
        failures.join("\n\n").chars().take(6000).collect::<String>()
    );
    assert!(compared * 100 >= pairs * 45, "only {compared} compared");
}
