//! Whether a store's answers to a query are those of Basalt.
//!
//! The driver's hashes cover every answer of every run. Where they are equal, the answers are.
//! Where they are not, the answers themselves were recorded from both and held against each other
//! by `basalt bsbm qualify`: means of floats may differ in the sixth digit, rows that tie at a
//! LIMIT may be chosen differently, and what DESCRIBE describes is open.
//!
//! Invariant: a difference between two answers is never called agreement; what was not answered
//! is counted, and is no difference.
//!
//! Cost: nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::super::work_folder::cannot;
use super::figures::Figures;
use crate::error::XtaskError;

/// How the recorded answers to one query compare, as counts of answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Equal but for the last digits of means.
    pub equal: u64,
    /// Different choices among rows that tie.
    pub ties: u64,
    /// Different where the query leaves open what is right.
    pub open: u64,
    /// Wrong.
    pub different: u64,
    /// Without an answer on one side.
    pub missing: u64,
}

/// The result of `basalt bsbm qualify`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Qualification {
    /// By the number of the query.
    pub tallies: BTreeMap<u64, Tally>,
    /// The first wrong answer to each query, in words.
    pub reasons: BTreeMap<u64, String>,
}

/// What is said of a store's answers to a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// All are equal.
    Equal,
    /// They differ only where they may.
    Allowed(Tally),
    /// Not all questions were answered; the answers that there are, are right.
    Incomplete(Tally),
    /// Some are wrong; the first one in words.
    Wrong(Tally, String),
    /// They differ, and were not recorded: nothing says how.
    Unknown,
}

impl Qualification {
    /// Reads a result.
    pub fn read(path: &Path) -> Result<Self, XtaskError> {
        let text = fs::read_to_string(path).map_err(|source| cannot("read", path, source))?;
        Self::of_text(&text).ok_or_else(|| XtaskError::Answer {
            command: path.display().to_string(),
            what: "it is not a result of `qualify`".to_owned(),
        })
    }

    fn of_text(text: &str) -> Option<Self> {
        let result: Value = serde_json::from_str(text).ok()?;
        let mut found = Self::default();
        for (number, tally) in result["tallies"].as_object()? {
            let count = |name: &str| tally[name].as_u64();
            let tally = Tally {
                equal: count("equal")?,
                ties: count("ties")?,
                open: count("open")?,
                different: count("different")?,
                missing: count("missing")?,
            };
            found.tallies.insert(number.parse().ok()?, tally);
        }
        for difference in result["differences"].as_array()? {
            let reason = difference["reason"].as_str()?;
            // What has no answer is counted, and stands in the figures.
            if reason.contains("no answer") {
                continue;
            }
            let number = difference["number"].as_u64()?;
            let entry = found.reasons.entry(number);
            entry.or_insert_with(|| reason.to_owned());
        }
        Some(found)
    }
}

/// Numbers of queries whose answers in some run are not known to be equal by their hashes. A pair
/// is the same run of Basalt and of another store.
pub fn unequal(pairs: &[(&Figures, &Figures)]) -> Vec<u64> {
    let numbers = pairs.iter().flat_map(|(reference, _)| &reference.queries);
    let mut numbers: Vec<u64> = numbers.map(|query| query.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.retain(|&number| {
        let is_equal = |(reference, tested): &(&Figures, &Figures)| {
            // Every run of a use case has the same queries, but those that were left out.
            let Some(a) = reference.query(number) else {
                return true;
            };
            let Some(b) = tested.query(number) else {
                return false;
            };
            a.hash.is_some() && a.hash == b.hash && a.rows == b.rows && b.unanswered() == 0
        };
        !pairs.iter().all(is_equal)
    });
    numbers
}

/// The verdict on the answers to a query: `unequal` are the numbers whose hashes differ.
pub fn verdict(number: u64, unequal: &[u64], recorded: Option<&Qualification>) -> Verdict {
    if !unequal.contains(&number) {
        return Verdict::Equal;
    }
    let tally = recorded.and_then(|recorded| Some((recorded, *recorded.tallies.get(&number)?)));
    let Some((recorded, tally)) = tally else {
        return Verdict::Unknown;
    };
    if tally.different > 0 {
        let reason = recorded.reasons.get(&number).cloned();
        Verdict::Wrong(tally, reason.unwrap_or_default())
    } else if tally.missing > 0 {
        Verdict::Incomplete(tally)
    } else {
        Verdict::Allowed(tally)
    }
}

impl Verdict {
    /// Whether all answers are equal: by their hashes, or one by one.
    pub fn is_equal(&self) -> bool {
        match self {
            Self::Equal => true,
            Self::Allowed(tally) => tally.ties + tally.open == 0,
            Self::Incomplete(_) | Self::Wrong(..) | Self::Unknown => false,
        }
    }

    /// A few words for a cell of a table.
    pub fn words(&self) -> String {
        match self {
            Self::Equal => "equal".to_owned(),
            Self::Allowed(_) if self.is_equal() => "equal".to_owned(),
            Self::Allowed(tally) => {
                let mut parts = Vec::new();
                for (count, what) in [(tally.ties, "ties"), (tally.open, "open")] {
                    if count > 0 {
                        parts.push(format!("{count} {what}"));
                    }
                }
                format!("equal but {}", parts.join(", "))
            }
            Self::Incomplete(tally) => format!("equal, {} without answer", tally.missing),
            Self::Wrong(tally, _) => format!("**{} differ**", tally.different),
            Self::Unknown => "**not compared**".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::tests::run;
    use super::*;

    #[test]
    fn hashes_of_all_runs_decide_first() {
        let basalt = [run(&[(1, 1.0, "a"), (2, 1.0, "b")]), run(&[(1, 1.0, "a")])];
        let same = [run(&[(1, 9.0, "a"), (2, 9.0, "b")]), run(&[(1, 9.0, "a")])];
        let compare =
            |tested: &[Figures]| unequal(&[(&basalt[0], &tested[0]), (&basalt[1], &tested[1])]);
        assert_eq!(compare(&same), [0u64; 0]);
        let mut other = same.clone();
        other[1].queries[0].hash = Some("c".to_owned());
        assert_eq!(compare(&other), [1]);
        let mut fewer = same.clone();
        fewer[0].queries[1].not_tried = 1;
        assert_eq!(compare(&fewer), [2]);
        let mut shorter = same.clone();
        shorter[0].queries[0].rows = 99;
        shorter[0].queries[1].hash = None;
        assert_eq!(compare(&shorter), [1, 2]);
    }

    #[test]
    fn recorded_answers_decide_where_hashes_differ() {
        let text = r#"{"tallies": {
                "1": {"equal": 9, "ties": 1, "open": 0, "different": 0, "missing": 0},
                "2": {"equal": 9, "ties": 0, "open": 0, "different": 1, "missing": 2},
                "3": {"equal": 9, "ties": 0, "open": 0, "different": 0, "missing": 4},
                "4": {"equal": 9, "ties": 0, "open": 0, "different": 0, "missing": 0}},
            "differences": [
                {"number": 2, "reason": "there is no answer: it ran out of time"},
                {"number": 2, "reason": "3 rows instead of 4"},
                {"number": 2, "reason": "another"}]}"#;
        let recorded = Qualification::of_text(text).expect("it is a result");
        let words = |number| verdict(number, &[1, 2, 3, 4, 5], Some(&recorded)).words();
        assert_eq!(words(1), "equal but 1 ties");
        assert_eq!(words(2), "**1 differ**");
        assert_eq!(words(3), "equal, 4 without answer");
        assert_eq!(words(4), "equal");
        assert_eq!(words(5), "**not compared**");
        assert_eq!(words(6), "equal");
        assert_eq!(recorded.reasons[&2], "3 rows instead of 4");
        assert_eq!(verdict(1, &[1], None), Verdict::Unknown);
        assert_eq!(Qualification::of_text("{}"), None);
    }
}
