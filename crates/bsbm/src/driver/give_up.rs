//! Which questions an endpoint has shown not to answer in time, so that they are not asked again.
//!
//! A query whose product type can be of any level is one question for each level: a store may
//! answer for the leaves what it cannot for the root. Timeouts of warm-up mixes count. Clients
//! share one list, so a question may run out of time once more than the limit for each client.
//! Cost: a lock and a look into a small map for each execution, only if there is a limit.

use crate::error::BsbmError;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// A query, with the level of its product type if it can be of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    /// The number of the query.
    pub number: u8,
    /// The level of the product type; the root is 0.
    pub level: Option<usize>,
}

impl Question {
    /// The question that is written as `3` or, with a level, as `4@1`.
    pub fn parse(text: &str) -> Option<Question> {
        let (number, level) = match text.split_once('@') {
            Some((number, level)) => (number, Some(level.parse().ok()?)),
            None => (text, None),
        };
        let number = number.parse().ok()?;
        Some(Question { number, level })
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            Some(level) => write!(f, "{}@{level}", self.number),
            None => write!(f, "{}", self.number),
        }
    }
}

/// When to stop asking a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Timeouts of a question after which it is not asked again.
    pub timeouts_max: u64,
    /// Questions that are not asked at all.
    pub given_up: Vec<Question>,
}

impl Patience {
    /// Refuses a patience that asks nothing.
    pub(crate) fn check(&self) -> Result<(), BsbmError> {
        match self.timeouts_max {
            0 => Err(BsbmError::NoPatience),
            _ => Ok(()),
        }
    }
}

/// The timeouts so far.
pub(crate) struct GivenUp {
    /// The limit; without one every question is always asked.
    timeouts_max: Option<u64>,
    timeouts: Mutex<BTreeMap<Question, u64>>,
}

impl GivenUp {
    /// The list that a run begins with.
    pub(crate) fn new(patience: Option<&Patience>) -> GivenUp {
        let given_up = patience.map_or(&[][..], |patience| &patience.given_up);
        GivenUp {
            timeouts_max: patience.map(|patience| patience.timeouts_max),
            timeouts: Mutex::new(given_up.iter().map(|q| (*q, u64::MAX)).collect()),
        }
    }

    /// Whether a question is not to be asked.
    pub(crate) fn has(&self, question: Question) -> bool {
        let Some(timeouts_max) = self.timeouts_max else {
            return false;
        };
        let timeouts = self.timeouts.lock().unwrap_or_else(PoisonError::into_inner);
        let found = timeouts.get(&question);
        found.is_some_and(|timeouts| *timeouts >= timeouts_max)
    }

    /// A question ran out of time.
    pub(crate) fn timed_out(&self, question: Question) {
        // The map is whole between any two statements.
        let mut timeouts = self.timeouts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = timeouts.entry(question).or_insert(0);
        *count = count.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_written_with_their_level() {
        for text in ["3", "4@0", "12@11"] {
            let question = Question::parse(text).expect("it is one");
            assert_eq!(question.to_string(), text);
        }
        for text in ["", "x", "4@", "@1", "4@1@2", "300"] {
            assert_eq!(Question::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_level_is_a_question_of_its_own() {
        let question = |level| Question { number: 4, level };
        let patience = Patience {
            timeouts_max: 2,
            given_up: vec![question(Some(0))],
        };
        let given_up = GivenUp::new(Some(&patience));
        assert!(given_up.has(question(Some(0))));
        given_up.timed_out(question(Some(1)));
        assert!(!given_up.has(question(Some(1))));
        given_up.timed_out(question(Some(1)));
        assert!(given_up.has(question(Some(1))) && !given_up.has(question(Some(2))));
        let always = GivenUp::new(None);
        always.timed_out(question(None));
        assert!(!always.has(question(None)));
    }
}
