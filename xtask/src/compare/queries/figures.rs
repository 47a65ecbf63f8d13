//! The figures of a run, as the driver's report has them.
//!
//! Invariant: a report that lacks a figure is an error, never a zero; a hash may be missing, since
//! DuckDB's script has none.
//!
//! Cost: one small file.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::super::work_folder::cannot;
use crate::error::XtaskError;

/// A run.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// Mixes an hour.
    pub qmph: f64,
    /// Mean time of a mix.
    pub mix_seconds: f64,
    /// Executions that failed otherwise than by time.
    pub errors: u64,
    /// What the driver says a reader should know.
    pub warnings: Vec<String>,
    /// Figures of each query.
    pub queries: Vec<QueryFigures>,
}

/// A query in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryFigures {
    /// Its number.
    pub number: u64,
    /// Executions.
    pub count: u64,
    /// Rows of all answers.
    pub rows: u64,
    /// Mean time.
    pub mean_s: f64,
    /// Median time.
    pub p50_s: f64,
    /// The time that 95 of 100 did not exceed.
    pub p95_s: f64,
    /// The time that 99 of 100 did not exceed.
    pub p99_s: f64,
    /// The longest time.
    pub max_s: f64,
    /// Executions that ran out of time.
    pub timeouts: u64,
    /// Executions that were left out since others had run out of time.
    pub not_tried: u64,
    /// Executions that failed otherwise.
    pub errors: u64,
    /// The first failure.
    pub first_error: Option<String>,
    /// A hash of all answers.
    pub hash: Option<String>,
    /// Figures by level of the product type.
    pub levels: Vec<LevelFigures>,
}

/// A query with product types of one level.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelFigures {
    /// The level; the root is 0.
    pub level: u64,
    /// Executions.
    pub count: u64,
    /// Those that ran out of time or were left out.
    pub unanswered: u64,
    /// Median time.
    pub p50_s: f64,
    /// The longest time.
    pub max_s: f64,
}

impl QueryFigures {
    /// Executions without an answer.
    pub fn unanswered(&self) -> u64 {
        self.timeouts + self.not_tried + self.errors
    }
}

impl Figures {
    /// Reads the report of a run.
    pub fn read(path: &Path) -> Result<Self, XtaskError> {
        let text = fs::read_to_string(path).map_err(|source| cannot("read", path, source))?;
        Self::of_text(&text).map_err(|what| XtaskError::Answer {
            command: path.display().to_string(),
            what,
        })
    }

    /// The figures in the text of a report, or what is wrong with it.
    fn of_text(text: &str) -> Result<Self, String> {
        let report: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let queries = list(&report, "queries")?;
        let warnings = list(&report, "warnings")?.iter();
        Ok(Self {
            qmph: real(&report, "qmph")?,
            mix_seconds: real(&report, "cqet_s")?,
            errors: whole(&report, "errors")?,
            warnings: warnings
                .filter_map(|warning| warning.as_str().map(str::to_owned))
                .collect(),
            queries: queries.iter().map(query).collect::<Result<_, _>>()?,
        })
    }

    /// The figures of a query.
    pub fn query(&self, number: u64) -> Option<&QueryFigures> {
        self.queries.iter().find(|query| query.number == number)
    }
}

fn query(value: &Value) -> Result<QueryFigures, String> {
    let levels = list(value, "levels")?.iter().map(|level| {
        Ok(LevelFigures {
            level: whole(level, "level")?,
            count: whole(level, "count")?,
            unanswered: whole(level, "unanswered")?,
            p50_s: real(level, "p50_s")?,
            max_s: real(level, "max_s")?,
        })
    });
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    Ok(QueryFigures {
        number: whole(value, "number")?,
        count: whole(value, "count")?,
        rows: whole(value, "rows")?,
        mean_s: real(value, "aqet_s")?,
        p50_s: real(value, "p50_s")?,
        p95_s: real(value, "p95_s")?,
        p99_s: real(value, "p99_s")?,
        max_s: real(value, "max_s")?,
        timeouts: whole(value, "timeouts")?,
        not_tried: whole(value, "not_tried")?,
        errors: whole(value, "errors")?,
        first_error: text("first_error"),
        hash: text("result_hash"),
        levels: levels.collect::<Result<_, String>>()?,
    })
}

fn real(value: &Value, name: &str) -> Result<f64, String> {
    value[name].as_f64().ok_or_else(|| missing(name))
}

fn whole(value: &Value, name: &str) -> Result<u64, String> {
    value[name].as_u64().ok_or_else(|| missing(name))
}

fn list<'a>(value: &'a Value, name: &str) -> Result<&'a Vec<Value>, String> {
    value[name].as_array().ok_or_else(|| missing(name))
}

fn missing(name: &str) -> String {
    format!("`{name}` is missing")
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A run with a query for each number, time in milliseconds and hash.
    pub fn run(queries: &[(u64, f64, &str)]) -> Figures {
        let query = |&(number, milliseconds, hash): &(u64, f64, &str)| QueryFigures {
            number,
            count: 10,
            rows: 100,
            mean_s: milliseconds / 1e3,
            p50_s: milliseconds / 1e3,
            p95_s: milliseconds / 500.0,
            p99_s: milliseconds / 500.0,
            max_s: milliseconds / 500.0,
            timeouts: 0,
            not_tried: 0,
            errors: 0,
            first_error: None,
            hash: Some(hash.to_owned()),
            levels: Vec::new(),
        };
        Figures {
            qmph: 3_600.0,
            mix_seconds: 1.0,
            errors: 0,
            warnings: Vec::new(),
            queries: queries.iter().map(query).collect(),
        }
    }

    #[test]
    fn a_report_is_read_whole_or_not_at_all() {
        let text = r#"{"qmph": 7200.5, "cqet_s": 0.5, "errors": 0, "warnings": ["w"], "queries": [
            {"number": 4, "count": 2, "rows": 20, "aqet_s": 0.25, "p50_s": 0.2, "p95_s": 0.3,
             "p99_s": 0.3, "max_s": 0.3, "timeouts": 1, "not_tried": 2, "errors": 0,
             "result_hash": "ab", "first_error": null,
             "levels": [{"level": 1, "count": 2, "unanswered": 1, "p50_s": 0.2, "max_s": 0.3}]}]}"#;
        let figures = Figures::of_text(text).expect("it is whole");
        assert_eq!((figures.qmph, figures.mix_seconds), (7_200.5, 0.5));
        let query = figures.query(4).expect("it is there");
        assert_eq!((query.unanswered(), query.hash.as_deref()), (3, Some("ab")));
        assert_eq!(query.levels[0].unanswered, 1);
        assert_eq!(figures.query(5), None);
        for name in ["qmph", "not_tried", "p95_s", "unanswered", "levels"] {
            let broken = text.replace(&format!("\"{name}\""), "\"other\"");
            let error = Figures::of_text(&broken).expect_err("something is missing");
            assert!(error.contains(name), "{error}");
        }
    }
}
