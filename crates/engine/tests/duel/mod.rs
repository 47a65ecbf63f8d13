//! One query, one dataset, one configuration: what Basalt says against what the standard says, and the
//! golden script of a case that failed, after it has been made as small as it gets.

#![allow(dead_code, reason = "each test program uses its own part")]

use crate::support::{Configuration, Loaded, ask, load, query_options};
use basalt_engine::{Layout, QueryOptions};
use basalt_testkit::expectation::{Expectation, expectation};
use basalt_testkit::golden::script;
use basalt_testkit::naive::NaiveError;
use basalt_testkit::shrink::{Case, shrink};
use basalt_testkit::{Answer, Dataset};
use spargebra::{Query, SparqlParser};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// A query on these few quads that takes longer is taken for one that never ends.
const TIME_MAX: Duration = Duration::from_secs(20);

/// After so long what has been reached is small enough.
const SHRINK_TIME_MAX: Duration = Duration::from_secs(60);

/// What came of a query.
#[derive(Debug)]
pub enum Outcome {
    /// The answer is right.
    Right {
        /// Whether the right answer has rows, triples, or is true.
        has_rows: bool,
    },
    /// The standard leaves the answer open, so nothing can be compared.
    Open,
    /// The oracle's nested loops would make too many rows.
    TooLarge,
    /// Basalt refuses the query as documented, with this message.
    Refused(String),
    /// The text is not SPARQL; generated texts are.
    NoQuery,
    /// The answer is wrong.
    Wrong(Fault),
}

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It says something else.
    Differs(String),
    /// There is none, but an error.
    Error(String),
    /// There is none, since something panicked.
    Panic,
}

impl Fault {
    /// Whether two faults are likely to have one cause.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Error(a), Self::Error(b)) => a.chars().take(20).eq(b.chars().take(20)),
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }
}

/// The parsed query.
pub fn parsed(text: &str) -> Option<Query> {
    SparqlParser::new().parse_query(text).ok()
}

/// What the answer is held to, or why there is nothing to hold it to.
pub fn expected(dataset: &Dataset, query: &Query) -> Result<Expectation, Outcome> {
    expectation(dataset, query).map_err(|error| match error {
        NaiveError::Ambiguous(_) => Outcome::Open,
        NaiveError::TooLarge(_) => Outcome::TooLarge,
        NaiveError::Unsupported(what) => {
            unreachable!("the oracle evaluates what the generator makes: {what}")
        }
    })
}

/// Whether an answer says anything.
pub fn has_rows(answer: &Answer) -> bool {
    match answer {
        Answer::Boolean(value) => *value,
        other => !other.is_empty(),
    }
}

fn timed_options(configuration: &Configuration) -> QueryOptions {
    let mut options = query_options(configuration);
    options.exec.timeout = Some(TIME_MAX);
    options
}

/// Basalt's answer, or what it did instead.
pub fn answer(
    loaded: &Loaded,
    configuration: &Configuration,
    text: &str,
) -> Result<Answer, Outcome> {
    let options = timed_options(configuration);
    let asked = catch_unwind(AssertUnwindSafe(|| ask(&loaded.database, text, &options)));
    match asked {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) if error.starts_with("not supported") => Err(Outcome::Refused(error)),
        Ok(Err(error)) => Err(Outcome::Wrong(Fault::Error(error))),
        Err(_) => Err(Outcome::Wrong(Fault::Panic)),
    }
}

/// Holds Basalt's answer to what the standard says.
pub fn duel(
    loaded: &Loaded,
    configuration: &Configuration,
    text: &str,
    expected: &Expectation,
) -> Outcome {
    match answer(loaded, configuration, text) {
        Err(outcome) => outcome,
        Ok(actual) => match expected.check(&actual) {
            Ok(()) => Outcome::Right {
                has_rows: has_rows(expected.answer()),
            },
            Err(mismatch) => Outcome::Wrong(Fault::Differs(mismatch.to_string())),
        },
    }
}

/// Everything anew: loads the data and asks.
pub fn duel_of_case(case: &Case, configuration: &Configuration) -> Outcome {
    let text = case.query.to_string();
    let Some(query) = parsed(&text) else {
        return Outcome::NoQuery;
    };
    match expected(&case.dataset, &query) {
        Err(outcome) => outcome,
        Ok(expected) => {
            let loaded = load(&case.dataset, configuration);
            duel(&loaded, configuration, &text, &expected)
        }
    }
}

/// A failing case made small, and told so that it can be pasted into a golden script.
pub fn report(seed: u64, case: Case, configuration: &Configuration, fault: &Fault) -> String {
    let fails = |case: &Case, configuration: &Configuration| match duel_of_case(case, configuration)
    {
        Outcome::Wrong(found) => found.is_like(fault),
        _ => false,
    };
    let original = case.query.to_string();
    let until = Instant::now() + SHRINK_TIME_MAX;
    let small = shrink(case, &mut |case| {
        Instant::now() < until && fails(case, configuration)
    });
    let mut simplest = *configuration;
    for step in simpler_configurations(configuration) {
        if fails(&small, &step) {
            simplest = step;
            break;
        }
    }
    let text = small.query.to_string();
    let right = parsed(&text)
        .and_then(|query| expected(&small.dataset, &query).ok())
        .map(|expected| expected.answer().clone());
    let what = match duel_of_case(&small, &simplest) {
        Outcome::Wrong(fault) => format!("{fault:?}"),
        other => format!("{other:?}"),
    };
    let loaded = load(&small.dataset, &simplest);
    let plan = catch_unwind(AssertUnwindSafe(|| {
        loaded
            .database
            .prepare(&text, &query_options(&simplest))
            .map(|prepared| prepared.explain().to_text())
            .unwrap_or_else(|error| error.to_string())
    }));
    format!(
        "=== seed {seed}, {simplest:?}\n{}\n--- plan\n{}\n--- script\n{}\n--- before shrinking\n{original}\n",
        what.replace("\\n", "\n"),
        plan.unwrap_or_else(|_| "planning panics".to_owned()),
        script(&small.dataset, &text, right.as_ref())
    )
}

/// Configurations to try a small case under, the simplest first.
fn simpler_configurations(configuration: &Configuration) -> Vec<Configuration> {
    let plain = Configuration {
        threads: 1,
        ..Configuration::default()
    };
    let mut found = Vec::new();
    for layout in [Layout::AllIrregular, Layout::Discover, configuration.layout] {
        found.push(Configuration { layout, ..plain });
        found.push(Configuration {
            layout,
            force_join: configuration.force_join,
            order_draw: configuration.order_draw,
            reduce_always: configuration.reduce_always,
            rule_off: configuration.rule_off,
            ..plain
        });
    }
    found.push(Configuration {
        threads: 1,
        is_reopened: false,
        ..*configuration
    });
    found
}
