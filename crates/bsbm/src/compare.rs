//! Reports side by side, as Markdown.
//!
//! Times are given for every report and as a ratio to the first one. Answers are compared by
//! their hashes, which means something only if the same questions were asked of the same data:
//! use case, products, seed and number of mixes have to agree, and no execution
//! of the query may have failed.

use crate::report::{QueryReport, Report};
use std::fmt::Write;

/// Compares reports under the given names; the first one is the measure of the others.
pub fn compare_reports(reports: &[(&str, &Report)]) -> String {
    let Some(((base_name, base), others)) = reports.split_first() else {
        return String::new();
    };
    let mut header = String::from("| query |");
    for (name, _) in reports {
        header.push_str(&format!(" {name} p50 ms |"));
    }
    for (name, _) in others {
        header.push_str(&format!(" {name} / {base_name} |"));
    }
    header.push_str(" answers |");
    let columns = header.matches('|').count() - 1;
    let mut out = format!("# BSBM {}\n\n", base.use_case);
    for (name, report) in reports {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "- {name}: {}, {} products, {} mixes, {} clients, {} timeouts, {} errors",
            report.endpoint,
            report.products,
            report.runs,
            report.clients,
            report.timeouts,
            report.errors
        );
    }
    let _ = writeln!(out, "\n{header}\n|{}", " --- |".repeat(columns));
    for query in &base.queries {
        let found: Vec<Option<&QueryReport>> = reports
            .iter()
            .map(|(_, report)| report.queries.iter().find(|q| q.number == query.number))
            .collect();
        let times: Vec<Option<f64>> = found.iter().map(|q| q.map(|q| q.p50_s)).collect();
        let verdict = answers(reports, &found);
        push_row(&mut out, &query.number.to_string(), 1e3, &times, verdict);
    }
    let rates: Vec<Option<f64>> = reports.iter().map(|(_, r)| Some(r.qmph)).collect();
    push_row(&mut out, "mixes per hour", 1.0, &rates, "");
    out
}

fn push_row(out: &mut String, name: &str, factor: f64, values: &[Option<f64>], verdict: &str) {
    let _ = write!(out, "| {name} |");
    for value in values {
        let _ = match value {
            Some(value) => write!(out, " {:.3} |", value * factor),
            None => write!(out, " - |"),
        };
    }
    let base = values.first().copied().flatten();
    for value in values.iter().skip(1) {
        let _ = match (value, base) {
            (Some(value), Some(base)) if base > 0.0 => write!(out, " {:.2} |", value / base),
            _ => write!(out, " - |"),
        };
    }
    let _ = writeln!(out, " {verdict} |");
}

fn answers(reports: &[(&str, &Report)], found: &[Option<&QueryReport>]) -> &'static str {
    let asked = |report: &Report| {
        (
            report.use_case.clone(),
            report.products,
            report.seed,
            report.runs,
        )
    };
    let is_same_run = reports
        .windows(2)
        .all(|pair| asked(pair[0].1) == asked(pair[1].1));
    let is_complete = found
        .iter()
        .all(|query| query.is_some_and(|q| q.errors == 0 && q.timeouts == 0));
    let is_equal = |pair: &[Option<&QueryReport>]| match (pair[0], pair[1]) {
        (Some(a), Some(b)) => a.result_hash == b.result_hash,
        _ => false,
    };
    match is_same_run && is_complete {
        false => "not comparable",
        true if found.windows(2).all(is_equal) => "equal",
        true => "differ",
    }
}
