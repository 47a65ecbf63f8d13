//! Questions of the kind people ask on real data sets: Basalt and Oxigraph must give the same answers.
//!
//! The data is found in `BASALT_REAL_DATA_DIR` (default `../shared/data/real` beside the workspace); a set that is
//! not there is said to be skipped. The questions are in the folder `real_questions`, a file for each set.
//! Answers are compared as bags, and in order where a question sorts its rows.

#[path = "real_questions/mod.rs"]
mod questions;
mod real_sets;

use basalt_engine::Layout;
use basalt_testkit::bag::{self, Numbers};
use questions::{Oracle, SETS};
use real_sets::{ask_basalt, loaded};
use std::time::Duration;

/// Either engine may take so long.
const TIME_MAX: Duration = Duration::from_secs(60);

fn check_set(name: &str, layouts: &[Layout]) {
    let set = SETS.iter().find(|set| set.name == name).expect("a set");
    let questions = set.questions();
    assert!(questions.len() >= 10, "{name} has ten questions and more");
    let Some(files) = set.files() else { return };
    let databases: Vec<_> = layouts
        .iter()
        .map(|&layout| (layout, loaded(&files, layout)))
        .collect();
    let oracle = Oracle::of(&databases.first().expect("a layout is asked for").1);
    let mut differences = Vec::new();
    let mut empty = Vec::new();
    for question in &questions {
        let expected = oracle
            .ask(question, TIME_MAX)
            .unwrap_or_else(|error| unreachable!("the oracle fails on {}: {error}", question.asks));
        if expected.is_empty() {
            empty.push(question.asks.as_str());
        }
        let expected = expected.with_lower_tags();
        let compare = match question.text.contains("ORDER BY") {
            true => bag::compare_ordered,
            false => bag::compare,
        };
        for (layout, database) in &databases {
            let verdict = match ask_basalt(database, &question.text, question.is_union, TIME_MAX) {
                Ok(actual) => compare(&expected, &actual.with_lower_tags(), Numbers::ByValue)
                    .map_err(|difference| difference.to_string()),
                Err(error) => Err(error.to_string()),
            };
            if let Err(what) = verdict {
                differences.push(format!("{} ({layout:?}): {what}", question.asks));
            }
        }
    }
    let (asked, different) = (questions.len(), differences.len());
    eprintln!("{name}: {asked} questions, {different} differences");
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    assert!(
        empty.is_empty(),
        "questions without answers test little: {empty:?}"
    );
}

#[test]
fn questions_on_vocabularies_are_answered_as_by_the_oracle() {
    check_set("vocabularies", &[Layout::Discover, Layout::HalfDirty]);
}

#[test]
fn questions_on_codex_are_answered_as_by_the_oracle() {
    check_set("codex-m", &[Layout::Discover, Layout::HalfDirty]);
}

#[test]
fn questions_on_units_are_answered_as_by_the_oracle() {
    let layouts = [Layout::Discover, Layout::HalfDirty, Layout::AllIrregular];
    check_set("qudt", &layouts);
}
