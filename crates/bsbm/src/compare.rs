//! Reports side by side, as Markdown; the HTML page is made of the same comparisons.
//!
//! Times are given for every report and as a ratio to the first one. Answers are compared by
//! their hashes, which means something only if the same questions were asked of the same data:
//! use case, products, seed, number of mixes and drill-down have to agree, and no execution of
//! the query may have failed. Beside updates that also takes a single client and updates at the
//! same places, since answers depend on what was inserted before. Runs by the clock rarely have the
//! same number of mixes; of these the worst periods are told.

use crate::queries::UseCase;
use crate::report::{QueryReport, Report, SliceTimes, Timeline};
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
            "- {name}: {}, {} products, {} mixes{}, {} clients, {} timeouts, {} errors",
            report.endpoint,
            report.products,
            report.runs,
            in_time(report),
            report.clients,
            report.timeouts,
            report.errors
        );
        for warning in &report.warnings {
            let _ = writeln!(out, "- **warning**, {name}: {warning}");
        }
    }
    let _ = writeln!(out, "\n{header}\n|{}", " --- |".repeat(columns));
    for query in &base.queries {
        let of_run =
            |(_, report): &(&str, &Report)| find(report, query.number).map(|query| query.p50_s);
        let times: Vec<Option<f64>> = reports.iter().map(of_run).collect();
        let verdict = verdict(reports, query.number);
        push_row(&mut out, &query.number.to_string(), 1e3, &times, verdict);
    }
    let rates: Vec<Option<f64>> = reports.iter().map(|(_, r)| Some(r.qmph)).collect();
    push_row(&mut out, "mixes per hour", 1.0, &rates, "");
    push_geometric_ratios(&mut out, reports);
    push_worst_periods(&mut out, reports);
    out
}

/// How long a run by the clock was.
fn in_time(report: &Report) -> String {
    match (report.duration_s, report.transactions_used_up) {
        (None, _) => String::new(),
        (Some(duration_s), false) => format!(" in {duration_s} s"),
        (Some(duration_s), true) => format!(
            " in {:.1} of {duration_s} s (no transactions left)",
            report.elapsed_s
        ),
    }
}

/// What the worst period of each run was like, if any of them went by the clock.
fn push_worst_periods(out: &mut String, reports: &[(&str, &Report)]) {
    if reports
        .iter()
        .all(|(_, report)| report.duration_s.is_none())
    {
        return;
    }
    let row = |figure: &dyn Fn(&Timeline) -> Option<f64>| -> Vec<Option<f64>> {
        let figures = reports.iter().map(|(_, report)| figure(&report.timeline));
        figures.collect()
    };
    let p99 = |times: &[SliceTimes], worst: Option<usize>| Some(times.get(worst?)?.p99_s);
    let rates = row(&|timeline| Some(timeline.rates()?.1));
    push_row(out, "executions/s, worst period", 1.0, &rates, "");
    let queries = row(&|timeline| p99(&timeline.queries, timeline.worst?.queries));
    push_row(out, "p99 ms of queries, worst period", 1e3, &queries, "");
    let updates = row(&|timeline| p99(&timeline.updates, timeline.worst?.updates));
    if updates.iter().any(Option::is_some) {
        push_row(out, "p99 ms of updates, worst period", 1e3, &updates, "");
    }
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

/// One line of ratios below the columns of ratios.
fn push_geometric_ratios(out: &mut String, reports: &[(&str, &Report)]) {
    out.push_str("| geometric mean of p50 ratios |");
    out.push_str(&" |".repeat(reports.len()));
    for run in 1..reports.len() {
        let _ = match geometric_ratio(reports, run) {
            Some(ratio) => write!(out, " {ratio:.2} |"),
            None => write!(out, " - |"),
        };
    }
    out.push_str(" |\n");
}

/// The geometric mean, over the queries that both have, of a run's p50 to that of the first one.
pub(crate) fn geometric_ratio(reports: &[(&str, &Report)], run: usize) -> Option<f64> {
    let (_, base) = reports.first()?;
    let (_, report) = reports.get(run)?;
    let logarithms: Vec<f64> = base
        .queries
        .iter()
        .filter_map(|query| Some((query.p50_s, find(report, query.number)?.p50_s)))
        .filter(|(base, other)| *base > 0.0 && *other > 0.0)
        .map(|(base, other)| (other / base).ln())
        .collect();
    let sum: f64 = logarithms.iter().sum();
    (!logarithms.is_empty()).then(|| (sum / logarithms.len() as f64).exp())
}

/// Whether all runs gave the same answers to a query, in words.
pub(crate) fn verdict(reports: &[(&str, &Report)], number: u8) -> &'static str {
    let is_same_run = reports
        .windows(2)
        .all(|pair| asks_the_same(pair[0].1, pair[1].1));
    let found: Vec<Option<&QueryReport>> = reports
        .iter()
        .map(|(_, report)| find(report, number))
        .collect();
    let is_complete = found
        .iter()
        .all(|query| query.is_some_and(|q| q.errors == 0 && q.timeouts == 0 && q.not_tried == 0));
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

fn asks_the_same(one: &Report, other: &Report) -> bool {
    let asked = |report: &Report| {
        (
            report.use_case.clone(),
            report.products,
            report.seed,
            report.runs,
            report.drill_down,
        )
    };
    let has_updates = one.use_case == UseCase::ExploreAndUpdate.name();
    let is_ordered = one.clients == 1
        && other.clients == 1
        && one.updates_at == other.updates_at
        && one.mix_order == other.mix_order;
    asked(one) == asked(other) && (is_ordered || !has_updates)
}

fn find(report: &Report, number: u8) -> Option<&QueryReport> {
    report.queries.iter().find(|query| query.number == number)
}
