//! The two oracles on thousands of random datasets and queries: whatever they disagree on is a mistake
//! of one of them or of the generator.
//!
//! `ORACLE_PAIRS` sets the number of pairs, `ORACLE_SEED` the first seed.

use basalt_testkit::bag::{self, Numbers};
use basalt_testkit::naive::{self, NaiveError};
use basalt_testkit::oxigraph_oracle;
use basalt_testkit::random_data::{DataOptions, random_dataset};
use basalt_testkit::random_query::{Check, GeneratedQuery, QueryOptions, random_query};
use basalt_testkit::{Answer, Dataset};
use spargebra::SparqlParser;

/// Answers of both oracles agree, or how they do not; nothing if the pair is too large.
fn disagreement(data: &Dataset, query: &GeneratedQuery) -> Option<Result<(), String>> {
    let naive = |text: &str| -> Result<Answer, NaiveError> {
        let parsed = SparqlParser::new().parse_query(text).expect("it parses");
        naive::evaluate(data, &parsed)
    };
    let expected = match &query.check {
        Check::Sliced { unlimited, .. } => naive(unlimited),
        _ => naive(&query.text),
    };
    let expected = match expected {
        Ok(answer) => answer,
        Err(NaiveError::TooLarge(_)) => return None,
        Err(error) => return Some(Err(error.to_string())),
    };
    let actual = match oxigraph_oracle::evaluate(data, &query.text) {
        Ok(answer) => answer,
        Err(error) => return Some(Err(error.to_string())),
    };
    let numbers = Numbers::ByValue;
    let result = match &query.check {
        Check::Bag => bag::compare(&expected, &actual, numbers),
        Check::Ordered => bag::compare_ordered(&expected, &actual, numbers),
        Check::Sliced { offset, limit, .. } => {
            bag::compare_sliced(&expected, &actual, *offset, Some(*limit), numbers)
        }
    };
    Some(result.map_err(|mismatch| mismatch.to_string()))
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[test]
fn naive_and_oxigraph_give_equal_answers() {
    let first = number("ORACLE_SEED", 0);
    let pairs = number("ORACLE_PAIRS", 3000);
    let mut compared = 0;
    let mut nonempty = 0;
    let mut failures = Vec::new();
    for seed in first..first + pairs {
        let data = random_dataset(seed, DataOptions::default());
        let query = random_query(seed, QueryOptions::default());
        match disagreement(&data, &query) {
            None => {}
            Some(Ok(())) => compared += 1,
            Some(Err(what)) => failures.push(format!("seed {seed}: {}\n{what}", query.text)),
        }
        if let Ok(answer) = oxigraph_oracle::evaluate(&data, &query.text) {
            nonempty += u64::from(!answer.is_empty());
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {pairs} differ:\n{}",
        failures.len(),
        failures.join("\n\n").chars().take(6000).collect::<String>()
    );
    assert!(
        compared * 100 >= pairs * 97,
        "only {compared} of {pairs} compared"
    );
    assert!(
        nonempty * 2 > pairs,
        "only {nonempty} of {pairs} answers have rows"
    );
}
