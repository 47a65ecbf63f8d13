//! What the executions of a run leave behind: counts and sums by query, and the times.
//!
//! A run by the clock may have millions of executions on the machine that the store runs on too, so
//! an execution is not kept. Of each that was timed its time stays and when it ended, twelve
//! bytes, since percentiles are exact and the length of a slice of the run is known at its end.
//! Clients collect apart and are put together afterwards; the sums do not depend on the order.
//!
//! Invariant: a query has as many times as ends.

use super::{Execution, Outcome};
use crate::queries::QueryForm;
use std::collections::BTreeMap;

/// All executions of a run, or of one client.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    queries: BTreeMap<u8, QuerySamples>,
}

/// All executions of one query.
#[derive(Debug, Default)]
pub(crate) struct QuerySamples {
    /// Whether it is an update.
    pub(crate) is_update: bool,
    /// Executions, failed ones included.
    pub(crate) count: u64,
    /// Rows or triples of all answers.
    pub(crate) rows: u64,
    /// The fewest and the most rows of an answer, if there was one.
    pub(crate) rows_range: Option<(u64, u64)>,
    /// Answers without rows.
    pub(crate) empty: u64,
    /// Executions that ran out of time.
    pub(crate) timeouts: u64,
    /// Executions that were given up before.
    pub(crate) not_tried: u64,
    /// Executions that failed otherwise.
    pub(crate) errors: u64,
    /// The first failure in words.
    pub(crate) first_error: Option<String>,
    /// The sum of the hashes of all answers.
    pub(crate) hash: u64,
    /// Times: the whole timeout of what ran out of time or was not tried, none of what failed.
    pub(crate) seconds: Vec<f64>,
    /// When each of these ended, from the start of measuring: to the millisecond in hours.
    pub(crate) ended_s: Vec<f32>,
    /// When those ended that have no time.
    pub(crate) failed_s: Vec<f32>,
    /// Times by level of the product type, if it can be of several.
    pub(crate) levels: BTreeMap<usize, LevelSamples>,
}

/// The executions of a query with product types of one level.
#[derive(Debug, Default)]
pub(crate) struct LevelSamples {
    /// Those that ran out of time or were not tried.
    pub(crate) unanswered: u64,
    /// Times.
    pub(crate) seconds: Vec<f64>,
}

impl Samples {
    /// Takes what is needed of an execution.
    pub(crate) fn add(&mut self, execution: Execution) {
        let entry = self.queries.entry(execution.number).or_default();
        entry.add(execution);
    }

    /// Takes all that another client has collected.
    pub(crate) fn merge(&mut self, other: Samples) {
        for (number, samples) in other.queries {
            self.queries.entry(number).or_default().merge(samples);
        }
    }

    /// What there is of a query.
    pub(crate) fn query(&self, number: u8) -> Option<&QuerySamples> {
        self.queries.get(&number)
    }

    /// All queries that were asked, in the order of their numbers.
    pub(crate) fn queries(&self) -> impl Iterator<Item = &QuerySamples> {
        self.queries.values()
    }

    /// All times.
    pub(crate) fn seconds(&self) -> impl Iterator<Item = f64> + '_ {
        self.queries().flat_map(|query| &query.seconds).copied()
    }

    /// The sum of a count over all queries.
    pub(crate) fn sum(&self, count: impl Fn(&QuerySamples) -> u64) -> u64 {
        self.queries().map(count).sum()
    }
}

impl QuerySamples {
    fn add(&mut self, execution: Execution) {
        self.is_update = execution.form == QueryForm::Update;
        self.count += 1;
        self.hash = self.hash.wrapping_add(execution.hash);
        let ended_s = execution.ended_s as f32;
        match execution.seconds {
            Some(seconds) => {
                self.seconds.push(seconds);
                self.ended_s.push(ended_s);
            }
            None => self.failed_s.push(ended_s),
        }
        if let (Some(level), Some(seconds)) = (execution.level, execution.seconds) {
            let level = self.levels.entry(level).or_default();
            level.unanswered += u64::from(execution.outcome != Outcome::Answered);
            level.seconds.push(seconds);
        }
        let rows = execution.rows;
        match execution.outcome {
            Outcome::Answered => {
                self.rows += rows;
                let (least, most) = self.rows_range.unwrap_or((rows, rows));
                self.rows_range = Some((least.min(rows), most.max(rows)));
                self.empty += u64::from(rows == 0 && !self.is_update);
            }
            Outcome::TimedOut => self.timeouts += 1,
            Outcome::NotTried => self.not_tried += 1,
            Outcome::Failed(reason) => {
                self.errors += 1;
                self.first_error.get_or_insert(reason);
            }
        }
        debug_assert_eq!(self.seconds.len(), self.ended_s.len());
    }

    fn merge(&mut self, other: QuerySamples) {
        self.is_update |= other.is_update;
        self.count += other.count;
        self.rows += other.rows;
        let ranges = [self.rows_range, other.rows_range].into_iter().flatten();
        self.rows_range = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        self.empty += other.empty;
        self.timeouts += other.timeouts;
        self.not_tried += other.not_tried;
        self.errors += other.errors;
        self.first_error = self.first_error.take().or(other.first_error);
        self.hash = self.hash.wrapping_add(other.hash);
        self.seconds.extend(other.seconds);
        self.ended_s.extend(other.ended_s);
        self.failed_s.extend(other.failed_s);
        for (number, level) in other.levels {
            let known = self.levels.entry(number).or_default();
            known.unanswered += level.unanswered;
            known.seconds.extend(level.seconds);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An execution that was answered with so many rows after so long, at such a time of the run.
    pub(crate) fn answered(number: u8, seconds: f64, ended_s: f64, rows: u64) -> Execution {
        Execution {
            number,
            form: QueryForm::Select,
            level: None,
            outcome: Outcome::Answered,
            seconds: Some(seconds),
            ended_s,
            rows,
            hash: (u64::from(number) << 32) | rows,
        }
    }

    fn failed(number: u8, reason: &str) -> Execution {
        Execution {
            outcome: Outcome::Failed(reason.to_owned()),
            seconds: None,
            ..answered(number, 0.0, 1.0, 0)
        }
    }

    #[test]
    fn clients_together_have_what_one_would_have() {
        let executions = || {
            let leveled = Execution {
                level: Some(2),
                outcome: Outcome::TimedOut,
                ..answered(1, 9.0, 9.0, 0)
            };
            let not_tried = Execution {
                outcome: Outcome::NotTried,
                ..answered(1, 9.0, 9.5, 0)
            };
            let update = Execution {
                form: QueryForm::Update,
                ..answered(2, 0.5, 3.0, 0)
            };
            [
                answered(1, 0.25, 1.0, 7),
                failed(1, "first"),
                answered(1, 0.125, 2.0, 0),
                leveled,
                update,
                failed(1, "second"),
                not_tried,
            ]
        };
        let mut one = Samples::default();
        let mut clients = [Samples::default(), Samples::default()];
        for (place, execution) in executions().into_iter().enumerate() {
            clients[place % 2].add(execution);
        }
        for execution in executions() {
            one.add(execution);
        }
        let mut both = Samples::default();
        for client in clients {
            both.merge(client);
        }
        let shown = |samples: &Samples| {
            let query = samples.query(1).expect("it was asked");
            let mut seconds = query.seconds.clone();
            seconds.sort_by(f64::total_cmp);
            let counts = [query.count, query.rows, query.empty, query.timeouts];
            let failures = [query.not_tried, query.errors, query.hash];
            let level = &query.levels[&2];
            let parts = (level.unanswered, level.seconds.clone(), query.rows_range);
            (counts, failures, seconds, query.failed_s.clone(), parts)
        };
        assert_eq!(shown(&both), shown(&one));
        let query = one.query(1).expect("it was asked");
        assert_eq!(query.first_error.as_deref(), Some("first"));
        assert_eq!(query.rows_range, Some((0, 7)));
        assert_eq!((query.seconds.len(), query.ended_s.len()), (4, 4));
        assert!(both.query(2).is_some_and(|query| query.is_update));
        assert_eq!(one.query(2).map(|query| query.empty), Some(0));
        assert_eq!(one.sum(|query| query.errors), 2);
        assert_eq!(one.seconds().count(), 5);
        assert!(one.query(3).is_none());
    }
}
