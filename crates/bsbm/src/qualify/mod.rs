//! Qualification: does an endpoint give the answers that a trusted one gives?
//!
//! The answers of both are recorded ([`record`]) and compared one by one ([`rows`]). A driver run
//! says how fast a store is; this says whether it may be.

mod record;
mod recording;
mod rows;

pub use record::record_answers;
pub use recording::{Content, Questions, RecordedAnswer, RecordedTerm, Recording};

use crate::error::BsbmError;
use crate::queries::UseCase;
use rows::{Order, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Differences that the page shows in full.
const SHOWN_MAX: usize = 20;

/// How the answers of two endpoints compare.
#[derive(Clone, Debug, Serialize)]
pub struct Qualification {
    /// The questions, and the endpoint that is trusted.
    pub reference: Questions,
    /// The endpoint that is tested.
    pub tested_endpoint: String,
    /// Counts by the number of the query.
    pub tallies: BTreeMap<u8, Tally>,
    /// Answers that are wrong.
    pub differences: Vec<Difference>,
}

/// How many answers to a query compare how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Equal answers.
    pub equal: u64,
    /// Answers that differ only in which rows were chosen among ties.
    pub ties: u64,
    /// Answers that differ where the query leaves open what is right.
    pub open: u64,
    /// Answers that differ otherwise.
    pub different: u64,
    /// Questions to which one of the two has no answer.
    pub missing: u64,
}

/// An answer that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The number of the mix.
    pub mix: u64,
    /// The position in the mix.
    pub position: u32,
    /// The number of the query.
    pub number: u8,
    /// What is wrong, in words.
    pub reason: String,
    /// The text of the query; empty for updates.
    pub text: String,
}

/// Compares the answers of a tested endpoint with those of a trusted one.
///
/// Recordings of different questions are an error.
pub fn qualify(reference: &Recording, tested: &Recording) -> Result<Qualification, BsbmError> {
    check_questions(reference, tested)?;
    let use_case = UseCase::from_name(&reference.questions.use_case);
    let mut qualification = Qualification {
        reference: reference.questions.clone(),
        tested_endpoint: tested.questions.endpoint.clone(),
        tallies: BTreeMap::new(),
        differences: Vec::new(),
    };
    for (expected, found) in reference.answers.iter().zip(&tested.answers) {
        let order = use_case.map_or(Order::default(), |use_case| {
            Order::of(use_case, expected.number)
        });
        let tally = qualification.tallies.entry(expected.number).or_default();
        match compare(&order, &expected.content, &found.content) {
            Verdict::Equal => tally.equal += 1,
            Verdict::Ties => tally.ties += 1,
            Verdict::Open => tally.open += 1,
            Verdict::Differ(reason) => {
                match (&expected.content, &found.content) {
                    (Content::Failed(_), _) | (_, Content::Failed(_)) => tally.missing += 1,
                    _ => tally.different += 1,
                }
                qualification.differences.push(Difference {
                    mix: expected.mix,
                    position: expected.position,
                    number: expected.number,
                    reason,
                    text: expected.text.clone(),
                });
            }
        }
    }
    Ok(qualification)
}

fn check_questions(reference: &Recording, tested: &Recording) -> Result<(), BsbmError> {
    let (a, b) = (&reference.questions, &tested.questions);
    let level = |level: Option<usize>| level.map_or("none".to_owned(), |level| level.to_string());
    let facts = [
        ("use case", a.use_case.clone(), b.use_case.clone()),
        ("products", a.products.to_string(), b.products.to_string()),
        (
            "seed of the data",
            a.data_seed.to_string(),
            b.data_seed.to_string(),
        ),
        ("seed", a.seed.to_string(), b.seed.to_string()),
        ("mixes", a.mixes.to_string(), b.mixes.to_string()),
        (
            "queries left out",
            format!("{:?}", a.ignored),
            format!("{:?}", b.ignored),
        ),
        ("drill-down", level(a.drill_down), level(b.drill_down)),
        (
            "number of answers",
            reference.answers.len().to_string(),
            tested.answers.len().to_string(),
        ),
    ];
    for (what, reference, tested) in facts {
        if reference != tested {
            return Err(BsbmError::OtherQuestions {
                what,
                reference,
                tested,
            });
        }
    }
    let mut pairs = reference.answers.iter().zip(&tested.answers);
    let place = |answer: &RecordedAnswer| (answer.mix, answer.position, answer.step, answer.number);
    match pairs.find(|(a, b)| place(a) != place(b) || a.text != b.text) {
        None => Ok(()),
        Some((a, b)) => {
            let show = |answer: &RecordedAnswer| {
                let (mix, position, _, number) = place(answer);
                format!("query {number} at position {position} of mix {mix}")
            };
            Err(BsbmError::OtherQuestions {
                what: "a query",
                reference: show(a),
                tested: show(b),
            })
        }
    }
}

fn compare(order: &Order, expected: &Content, found: &Content) -> Verdict {
    match (expected, found) {
        (Content::Failed(reason), _) => {
            Verdict::Differ(format!("the reference has no answer: {reason}"))
        }
        (_, Content::Failed(reason)) => Verdict::Differ(format!("there is no answer: {reason}")),
        (Content::Done, Content::Done) => Verdict::Equal,
        (Content::Triples(a), Content::Triples(b)) => match a == b {
            true => Verdict::Equal,
            false => {
                let missing = a.iter().filter(|triple| !b.contains(triple)).count();
                let extra = b.iter().filter(|triple| !a.contains(triple)).count();
                let (all, got) = (a.len(), b.len());
                order.differ(format!(
                    "{got} triples instead of {all}: {missing} missing, {extra} too many"
                ))
            }
        },
        (
            Content::Rows {
                variables: a,
                rows: expected,
            },
            Content::Rows {
                variables: b,
                rows: found,
            },
        ) => match a == b {
            true => order.compare(a, expected, found),
            false => Verdict::Differ(format!("the variables are {b:?} instead of {a:?}")),
        },
        _ => Verdict::Differ("the answers are of different kinds".to_owned()),
    }
}

impl Qualification {
    /// Whether no answer is wrong.
    pub fn is_passed(&self) -> bool {
        self.differences.is_empty()
    }

    /// The result as JSON.
    pub fn to_json(&self) -> String {
        // Only maps with odd keys and failing writers make this fail; there are none here.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The result as a Markdown page.
    pub fn to_markdown(&self) -> String {
        let questions = &self.reference;
        let passed = if self.is_passed() { "passed" } else { "failed" };
        let mut out = format!(
            "# Qualification of BSBM {}, {} products: {passed}\n\n- reference: {}\n- tested: {}\n\
             - mixes: {}, seed {}\n\n\
             | query | equal | ties | open | different | no answer |\n| --- | --- | --- | --- | --- | --- |\n",
            questions.use_case,
            questions.products,
            questions.endpoint,
            self.tested_endpoint,
            questions.mixes,
            questions.seed
        );
        for (number, tally) in &self.tallies {
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "| {number} | {} | {} | {} | {} | {} |",
                tally.equal, tally.ties, tally.open, tally.different, tally.missing
            );
        }
        for difference in self.differences.iter().take(SHOWN_MAX) {
            let _ = writeln!(
                out,
                "\nQuery {} at position {} of mix {}: {}",
                difference.number, difference.position, difference.mix, difference.reason
            );
            if !difference.text.is_empty() {
                let _ = writeln!(out, "\n```sparql\n{}\n```", difference.text.trim_end());
            }
        }
        let left = self.differences.len().saturating_sub(SHOWN_MAX);
        if left > 0 {
            let _ = writeln!(out, "\n{left} more differences are not shown.");
        }
        out
    }
}
