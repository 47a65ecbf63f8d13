//! The history of a store for people and programs: when and why its versions were written, and what that did to the tables.
//!
//! Made of the records that each version has ([`VersionRecord`]).

use crate::error::Error;
use basalt_rdf::inline::dates::{SECONDS_PER_DAY, civil_from_days};
use basalt_store::{ChangeKind, ColumnChange, Snapshot, TableChange, VersionReason, VersionRecord};
use serde_json::{Value, json};
use std::fmt::Write;

/// The history of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryReport {
    /// What is remembered of each version, oldest first.
    pub versions: Vec<VersionRecord>,
}

impl HistoryReport {
    /// Reads the history of a snapshot.
    pub fn new(snapshot: &Snapshot) -> Result<Self, Error> {
        Ok(Self {
            versions: snapshot.history()?,
        })
    }

    /// The history as JSON: an array, oldest version first.
    pub fn to_json(&self) -> Value {
        self.versions.iter().map(version_json).collect()
    }

    /// The history as text, the oldest version first.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        if self.versions.is_empty() {
            out.push_str("no history: the store was written before there was one\n");
        }
        for record in &self.versions {
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "version {}, {}: {}",
                record.version,
                date_time(record.written),
                reason_text(&record.reason)
            );
            let _ = writeln!(
                out,
                "  {} quads up to commit {}, {:.2} % in cells, {} irregular; {} rows in {} tables",
                record.quads,
                record.commits,
                coverage(record) * 100.0,
                record.irregular_quads,
                record.rows,
                record.tables
            );
            for change in &record.changes {
                change_text(change, &mut out);
            }
            if record.changes_left_out > 0 {
                let _ = writeln!(out, "  and {} more tables", record.changes_left_out);
            }
        }
        out
    }
}

fn reason_text(reason: &VersionReason) -> String {
    match reason {
        VersionReason::New => "made, empty".to_owned(),
        VersionReason::Merge { added, removed } => {
            format!("merge of {added} added and {removed} removed quads")
        }
        VersionReason::Transaction { commit } => format!("the changes of commit {commit}"),
        VersionReason::Optimize { added, removed } => {
            format!("optimize, with {added} added and {removed} removed quads")
        }
        VersionReason::Load {
            inputs,
            inputs_left_out,
            quads_read,
            layer,
            rewritten,
        } => {
            let mut text = format!("load of {quads_read} quads from {}", inputs.join(", "));
            if *inputs_left_out > 0 {
                text.push_str(&format!(" and {inputs_left_out} more"));
            }
            if *layer {
                text.push_str(", as a layer");
            }
            if let Some(why) = rewritten {
                text.push_str(&format!(", with a rewrite: {why}"));
            }
            text
        }
    }
}

fn change_text(change: &TableChange, out: &mut String) {
    let (sign, rows) = match change.what {
        ChangeKind::New => ('+', format!("{} rows", change.rows)),
        ChangeKind::Gone => ('-', format!("{} rows before", change.rows_before)),
        ChangeKind::Columns => (
            '~',
            format!("{} rows, {} before", change.rows, change.rows_before),
        ),
    };
    let _ = writeln!(out, "  {sign} {}: {rows}", change.table);
    let mut column = |sign: char, column: &ColumnChange, rows: u64| {
        let percent = fill(column, rows) * 100.0;
        let (predicate, quads) = (&column.predicate, column.quads);
        let _ = match sign {
            '+' => writeln!(out, "      + {predicate:<70} {percent:.1} % filled"),
            _ => writeln!(
                out,
                "      - {predicate:<70} {percent:.1} % filled before, {quads} quads now"
            ),
        };
    };
    for added in &change.columns_added {
        column('+', added, change.rows);
    }
    for gone in &change.columns_gone {
        column('-', gone, change.rows_before);
    }
}

/// The share of the quads in cells.
fn coverage(record: &VersionRecord) -> f64 {
    match record.quads {
        0 => 0.0,
        quads => 1.0 - record.irregular_quads as f64 / quads as f64,
    }
}

/// The share of rows that have a value.
fn fill(column: &ColumnChange, rows: u64) -> f64 {
    column.rows_with_value as f64 / rows.max(1) as f64
}

fn version_json(record: &VersionRecord) -> Value {
    let mut value = json!(record);
    value["written"] = date_time(record.written).into();
    value["coverage"] = coverage(record).into();
    for (change, known) in record.changes.iter().enumerate() {
        let sides = [
            ("columns_added", &known.columns_added, known.rows),
            ("columns_gone", &known.columns_gone, known.rows_before),
        ];
        for (name, columns, rows) in sides {
            for (at, column) in columns.iter().enumerate() {
                value["changes"][change][name][at]["fill"] = fill(column, rows).into();
            }
        }
    }
    value
}

/// A moment in seconds since 1970 as a date and time of UTC.
fn date_time(seconds: u64) -> String {
    let seconds = seconds as i64;
    let (days, second) = (seconds / SECONDS_PER_DAY, seconds % SECONDS_PER_DAY);
    let (year, month, day) = civil_from_days(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_704_067_199, "2023-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date_time(seconds), expected);
        }
    }
}
