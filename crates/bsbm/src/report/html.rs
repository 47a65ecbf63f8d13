//! One or several reports as a page: a single file without scripts or anything from elsewhere.
//!
//! Figures of several runs stand side by side with ratios to the first one; histograms and curves
//! are laid over one another. Texts of the reports are escaped.

use super::html_charts::{TimeAxis, histograms, latencies, timelines};
use super::markdown::milliseconds;
use super::{QueryReport, Report};
use crate::compare::{geometric_ratio, verdict};
use std::fmt::Write;

/// Colours of runs on a light and on a dark page; more runs than colours start again.
const COLOURS: [(&str, &str); 6] = [
    ("#0b62a8", "#6db3f2"),
    ("#c2550a", "#f0975a"),
    ("#1f7a3d", "#6fcf8f"),
    ("#8a2f8f", "#d68adb"),
    ("#8a6d00", "#e0c24a"),
    ("#a1232b", "#f08a90"),
];

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1b1b;--paper:#fff;--line:#d5d5d5;--soft:#f3f3f1;--bad:#a1232b}
@media(prefers-color-scheme:dark){:root{--ink:#e8e8e6;--paper:#17181a;--line:#3a3c40;--soft:#222427;--bad:#f08a90}}
body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:76rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .6rem;border-bottom:1px solid var(--line);text-align:right}
th:first-child,td:first-child,td.text{text-align:left}
th{background:var(--soft)}
code{font-size:.85em}
.bad{color:var(--bad);font-weight:600}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(22rem,1fr));gap:1rem}
figure{margin:0}figcaption{font-weight:600}
svg{width:100%;background:var(--soft)}
svg text{font:10px system-ui,sans-serif;fill:var(--ink);opacity:.75}
svg .grid{stroke:var(--line)}
svg rect{opacity:.6}
svg polyline{fill:none;stroke-width:1.5}
";

/// Makes a page of reports under the given names; the first one is the measure of the others.
pub fn html_page(reports: &[(&str, &Report)]) -> String {
    let title = match reports.first() {
        Some((_, first)) => format!("BSBM {}, {} products", first.use_case, first.products),
        None => "BSBM".to_owned(),
    };
    let title = escape(&title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\n\
         <style>\n{STYLE}{}</style></head>\n<body>\n<h1>{title}</h1>\n",
        colours(reports.len())
    );
    push_warnings(&mut out, reports);
    push_facts(&mut out, reports);
    push_quantiles(&mut out, reports);
    push_levels(&mut out, reports);
    out.push_str("<h2>Executions per second</h2>\n");
    push_legend(&mut out, reports);
    out.push_str(&timelines(reports));
    push_latencies(&mut out, reports);
    out.push_str("<h2>Times of each query</h2>\n");
    push_legend(&mut out, reports);
    push_histograms(&mut out, reports);
    out.push_str("</body></html>\n");
    out
}

fn colours(runs: usize) -> String {
    let mut out = String::new();
    for run in 0..runs {
        let (light, dark) = COLOURS[run % COLOURS.len()];
        let class = format!(".run{run}");
        let rule = |colour: &str| {
            format!(
                "rect{class}{{fill:{colour}}}polyline{class}{{stroke:{colour}}}b{class}{{color:{colour}}}"
            )
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{}@media(prefers-color-scheme:dark){{{}}}",
            rule(light),
            rule(dark)
        );
    }
    out
}

fn push_warnings(out: &mut String, reports: &[(&str, &Report)]) {
    for (name, report) in reports {
        for warning in &report.warnings {
            let (name, warning) = (escape(name), escape(warning));
            let _ = writeln!(out, "<p class=\"bad\">{name}: {warning}</p>");
        }
        let failures = report
            .queries
            .iter()
            .filter_map(|query| Some((query.number, query.first_error.as_deref()?)));
        for (number, error) in failures {
            let (name, error) = (escape(name), escape(error));
            let _ = writeln!(
                out,
                "<p class=\"bad\">{name}, query {number}: <code>{error}</code></p>"
            );
        }
    }
}

/// The headline and the setting: a row for each fact, a column for each run.
fn push_facts(out: &mut String, reports: &[(&str, &Report)]) {
    let facts: Vec<_> = reports.iter().map(|(_, report)| report.facts()).collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in facts.iter().flatten() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    out.push_str("<div class=\"wide\"><table>\n<tr><th></th>");
    for (run, (name, _)) in reports.iter().enumerate() {
        let _ = write!(out, "<th><b class=\"run{run}\">{}</b></th>", escape(name));
    }
    out.push_str("</tr>\n");
    for name in names {
        let _ = write!(out, "<tr><td>{}</td>", escape(name));
        for facts in &facts {
            let value = facts.iter().find(|(known, _)| known == name);
            let value = value.map_or("", |(_, value)| value);
            let _ = write!(out, "<td class=\"text\">{}</td>", escape(value));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n");
}

/// A row for each query and run; ratios and the verdict on answers where there are several runs.
fn push_quantiles(out: &mut String, reports: &[(&str, &Report)]) {
    let is_comparison = reports.len() > 1;
    out.push_str(
        "<h2>Queries</h2>\n<div class=\"wide\"><table>\n<tr><th>query</th><th>run</th><th>count</th>\
         <th>rows</th><th>empty</th><th>mean ms</th><th>± ms</th><th>min ms</th><th>p50 ms</th>\
         <th>p95 ms</th><th>p99 ms</th><th>max ms</th><th>timeouts</th><th>errors</th>",
    );
    out.push_str(if is_comparison {
        "<th>p50 ratio</th><th>answers</th></tr>\n"
    } else {
        "<th>result hash</th></tr>\n"
    });
    for number in numbers(reports) {
        let found = of_number(reports, number);
        let base = found.first().copied().flatten();
        for (run, query) in found.iter().enumerate() {
            let Some(query) = query else { continue };
            push_query_row(out, number, run, reports[run].0, query);
            if is_comparison {
                let ratio = base.filter(|base| base.p50_s > 0.0);
                let ratio = ratio.map_or("-".to_owned(), |base| {
                    format!("{:.2}", query.p50_s / base.p50_s)
                });
                let verdict = verdict(reports, number);
                let class = if verdict == "differ" { "bad" } else { "text" };
                let _ = writeln!(
                    out,
                    "<td>{ratio}</td><td class=\"{class}\">{verdict}</td></tr>"
                );
            } else {
                let hash = escape(&query.result_hash);
                let _ = writeln!(out, "<td><code>{hash}</code></td></tr>");
            }
        }
    }
    out.push_str("</table></div>\n");
    let base_name = reports.first().map_or("", |(name, _)| name);
    for (run, (name, _)) in reports.iter().enumerate().skip(1) {
        if let Some(ratio) = geometric_ratio(reports, run) {
            let (name, base) = (escape(name), escape(base_name));
            let _ = writeln!(
                out,
                "<p>{name} / {base}, geometric mean of the ratios of p50: {ratio:.2}</p>"
            );
        }
    }
}

fn push_query_row(out: &mut String, number: u8, run: usize, name: &str, query: &QueryReport) {
    let _ = write!(
        out,
        "<tr><td>{number}</td><td class=\"text\"><b class=\"run{run}\">{}</b></td>\
         <td>{}</td><td>{}</td><td>{}</td>",
        escape(name),
        query.count,
        query.rows,
        query.empty
    );
    for seconds in [
        query.aqet_s,
        query.deviation_s,
        query.min_s,
        query.p50_s,
        query.p95_s,
        query.p99_s,
        query.max_s,
    ] {
        let _ = write!(out, "<td>{}</td>", milliseconds(seconds));
    }
    for failures in [query.timeouts, query.errors] {
        let class = if failures > 0 { " class=\"bad\"" } else { "" };
        let _ = write!(out, "<td{class}>{failures}</td>");
    }
}

fn push_levels(out: &mut String, reports: &[(&str, &Report)]) {
    let has_levels =
        |(_, report): &(&str, &Report)| report.queries.iter().any(|query| !query.levels.is_empty());
    if !reports.iter().any(has_levels) {
        return;
    }
    out.push_str(
        "<h2>By level of the product type</h2>\n<p>The root is level 0.</p>\n<div class=\"wide\"><table>\n\
         <tr><th>query</th><th>level</th><th>run</th><th>count</th><th>mean ms</th><th>p50 ms</th><th>max ms</th></tr>\n",
    );
    for number in numbers(reports) {
        let found = of_number(reports, number);
        let levels = found.iter().flatten().flat_map(|query| &query.levels);
        let mut levels: Vec<usize> = levels.map(|level| level.level).collect();
        levels.sort_unstable();
        levels.dedup();
        for level in levels {
            for (run, query) in found.iter().enumerate() {
                let Some(entry) = query.and_then(|q| q.levels.iter().find(|l| l.level == level))
                else {
                    continue;
                };
                let times = [entry.aqet_s, entry.p50_s, entry.max_s];
                let [mean, p50, max] = times.map(milliseconds);
                let name = escape(reports[run].0);
                let _ = writeln!(
                    out,
                    "<tr><td>{number}</td><td>{level}</td><td class=\"text\"><b class=\"run{run}\">{name}</b></td>\
                     <td>{}</td><td>{mean}</td><td>{p50}</td><td>{max}</td></tr>",
                    entry.count
                );
            }
        }
    }
    out.push_str("</table></div>\n");
}

/// The tails of times over time, where reports have them.
fn push_latencies(out: &mut String, reports: &[(&str, &Report)]) {
    let of_queries = latencies(reports, "p99 of queries over time", |timeline| {
        timeline.queries.as_slice()
    });
    let of_updates = latencies(reports, "p99 of updates over time", |timeline| {
        timeline.updates.as_slice()
    });
    for (kind, chart) in [("Queries", of_queries), ("Updates", of_updates)] {
        let Some(chart) = chart else { continue };
        let _ = writeln!(
            out,
            "<h2>{kind} over time, 99th percentile of each period</h2>"
        );
        push_legend(out, reports);
        out.push_str(&chart);
    }
}

fn push_histograms(out: &mut String, reports: &[(&str, &Report)]) {
    let axis = TimeAxis::of(reports);
    out.push_str("<div class=\"charts\">\n");
    for number in numbers(reports) {
        let found = of_number(reports, number);
        let buckets: Vec<_> = found
            .iter()
            .map(|query| query.map(|query| query.histogram.as_slice()))
            .collect();
        let _ = writeln!(
            out,
            "<figure><figcaption>query {number}</figcaption>{}</figure>",
            histograms(axis, &buckets)
        );
    }
    out.push_str("</div>\n");
}

fn push_legend(out: &mut String, reports: &[(&str, &Report)]) {
    if reports.len() < 2 {
        return;
    }
    out.push_str("<p>");
    for (run, (name, _)) in reports.iter().enumerate() {
        let _ = write!(out, "<b class=\"run{run}\">■ {}</b> ", escape(name));
    }
    out.push_str("</p>\n");
}

/// The numbers of the queries that any run has, in order.
fn numbers(reports: &[(&str, &Report)]) -> Vec<u8> {
    let queries = reports.iter().flat_map(|(_, report)| &report.queries);
    let mut numbers: Vec<u8> = queries.map(|query| query.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn of_number<'a>(reports: &[(&str, &'a Report)], number: u8) -> Vec<Option<&'a QueryReport>> {
    let find = |report: &'a Report| report.queries.iter().find(|query| query.number == number);
    reports.iter().map(|(_, report)| find(report)).collect()
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}
