//! The forms of a report, and reports side by side.

use super::endpoint::*;
use crate::{MixOrder, Report, RunOptions, UpdateReport, UseCase, html_page, run};

fn report() -> Report {
    let (url, _requests) = serve(good);
    run(UseCase::Bi, &pool(), &options(&url), &mut |_| ()).expect("a run")
}

/// A report with figures that do not depend on time.
fn fixed_report() -> Report {
    let mut report = report();
    (report.query_time_s, report.elapsed_s) = (2.0, 3.0);
    (report.qmph, report.cqet_s, report.cqet_geometric_s) = (3_600.0, 1.0, 0.9);
    (report.mix_min_s, report.mix_max_s) = (0.75, 1.25);
    let first = &mut report.queries[0];
    (first.aqet_s, first.aqet_geometric_s, first.qps) = (0.25, 0.24, 4.0);
    (first.min_s, first.max_s) = (0.125, 0.375);
    report.queries.remove(3);
    report
}

#[test]
fn xml_has_the_elements_and_digits_that_scripts_read() {
    let mut report = fixed_report();
    let text = report.to_xml();
    let start = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<bsbm>
  <querymix>
    <scalefactor>100</scalefactor>
    <warmups>1</warmups>
    <seed>808080</seed>
    <querymixruns>2</querymixruns>
    <minquerymixruntime>0.7500</minquerymixruntime>
    <maxquerymixruntime>1.2500</maxquerymixruntime>
    <totalruntime>2.000</totalruntime>
    <qmph>3600.00</qmph>
    <cqet>1.00000</cqet>
    <cqetg>0.90000</cqetg>
    <errorcount>0</errorcount>
  </querymix>
  <queries>
    <query nr=\"1\">
      <executecount>2</executecount>
      <aqet>0.250000</aqet>
      <aqetg>0.240000</aqetg>
      <qps>4.00</qps>
      <minqet>0.12500000</minqet>
      <maxqet>0.37500000</maxqet>
      <avgresults>2.00</avgresults>
      <minresults>2</minresults>
      <maxresults>2</maxresults>
      <timeoutcount>0</timeoutcount>
      <errorcount>0</errorcount>
    </query>
";
    assert!(text.starts_with(start), "{text}");
    let absent = "    <query nr=\"4\">\n      <executecount>0</executecount>\n      <aqet>0.0</aqet>\n    </query>\n";
    assert!(text.contains(absent), "{text}");
    assert_eq!(text.matches("<query nr=").count(), 8);
    assert!(text.ends_with("    </query>\n  </queries>\n</bsbm>\n"));
    assert!(!text.contains("nrthreads"));
    report.clients = 4;
    let text = report.to_xml();
    assert!(text.contains("<nrthreads>4</nrthreads>\n    <seed>"));
    assert!(text.contains("<actualtotalruntime>3.000</actualtotalruntime>\n    <qmph>"));
}

#[test]
fn figures_of_a_run_agree_with_one_another() {
    let report = report();
    let executions: u64 = report.queries.iter().map(|query| query.count).sum();
    assert_eq!(executions, 30);
    assert_eq!(report.timeline.executions.iter().sum::<u64>(), 30);
    assert_eq!(report.timeline.mixes.iter().sum::<u64>(), 2);
    for query in &report.queries {
        let held: u64 = query.histogram.iter().map(|bucket| bucket.count).sum();
        assert_eq!(held, query.count);
        let times = [
            query.min_s,
            query.p50_s,
            query.p95_s,
            query.p99_s,
            query.max_s,
        ];
        assert!(times.is_sorted() && query.min_s > 0.0);
        assert!((query.qps * query.aqet_s - 1.0).abs() < 1e-9);
        assert_eq!((query.rows_min, query.rows_max), (2, 2));
    }
    assert!(report.mix_min_s <= report.cqet_geometric_s && report.cqet_s <= report.mix_max_s);
    assert!((report.cqet_s * report.qmph - 3_600.0).abs() < 1e-6);
    let mean = report.query_time_s / 30.0;
    let scale = 100.0 / 284_826.0;
    assert!((report.throughput - scale * 3_600.0 / mean).abs() < 1e-6 * report.throughput);
    assert!(report.power >= report.throughput);
    assert!(report.floor_s.is_some_and(|seconds| seconds > 0.0));
    assert!(report.query_time_s <= report.elapsed_s);
}

/// The text of a value, with numbers to nine digits.
fn rounded(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Array(items) => items.iter().map(rounded).collect::<Vec<_>>().join(","),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, v)| format!("{name}:{}", rounded(v)));
            fields.collect::<Vec<_>>().join(",")
        }
        Value::Number(number) => format!("{:.8e}", number.as_f64().unwrap_or(0.0)),
        other => other.to_string(),
    }
}

#[test]
fn json_is_read_again_and_old_reports_too() {
    let report = report();
    let mut json: serde_json::Value =
        serde_json::from_str(&report.to_json()).expect("a report is JSON");
    let again: Report = serde_json::from_value(json.clone()).expect("the same report");
    // Reading may change the last digit of a number.
    let again = serde_json::to_value(&again).expect("a report is JSON");
    assert_eq!(rounded(&again), rounded(&json));
    let old = [
        "driver",
        "use_case",
        "endpoint",
        "products",
        "seed",
        "clients",
        "warmup",
        "runs",
        "timeout_s",
        "elapsed_s",
        "query_time_s",
        "qmph",
        "qmph_wall",
        "cqet_s",
        "timeouts",
        "errors",
        "queries",
    ];
    let object = json.as_object_mut().expect("an object");
    object.retain(|name, _| old.contains(&name.as_str()));
    let again: Report = serde_json::from_value(json).expect("an old report");
    assert_eq!(again.mix_order, MixOrder::Classic);
    assert!(crate::compare_reports(&[("old", &again), ("new", &report)]).contains("| equal |"));
    html_page(&[("old", &again), ("new", &report)]);
}

#[test]
fn a_page_stands_alone_and_escapes_what_it_shows() {
    let mut report = report();
    report.queries[0].first_error = Some("<oops & \"more\">".to_owned());
    report.labels.insert("store".to_owned(), "<b>".to_owned());
    let page = html_page(&[("<one>", &report)]);
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.contains("&lt;one&gt;") && !page.contains("<one>"));
    assert!(page.contains("&lt;oops &amp; &quot;more&quot;&gt;"));
    assert!(page.contains("&lt;b&gt;"));
    for foreign in ["<script", "<link", "<img", "src=", "href=", "url("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    // A histogram for each query, a curve of the throughput and one of the tails of queries.
    assert_eq!(page.matches("<svg ").count(), 10);
    assert_eq!(page.matches("<polyline class=\"run0\"").count(), 2);
    assert!(page.matches("<rect class=\"run0\"").count() >= 8);
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    assert!(page.contains(&report.queries[7].result_hash));
    assert!(!page.contains("NaN") && !page.contains("inf\""));
}

#[test]
fn a_page_of_several_runs_lays_them_over_one_another() {
    let report = report();
    let mut other = report.clone();
    other.queries[7].result_hash = "0".to_owned();
    other.queries.remove(1);
    for query in &mut other.queries {
        query.p50_s = 2.0 * report.queries[usize::from(query.number) - 1].p50_s;
    }
    let page = html_page(&[("one", &report), ("two", &other)]);
    assert_eq!(page.matches("<svg ").count(), 10);
    assert_eq!(page.matches("<polyline class=\"run1\"").count(), 2);
    assert!(page.contains("two / one, geometric mean of the ratios of p50: 2.00"));
    assert_eq!(
        page.matches("<td>2.00</td><td class=\"text\">equal</td>")
            .count(),
        6
    );
    assert_eq!(
        page.matches("<td>2.00</td><td class=\"bad\">differ</td>")
            .count(),
        1
    );
    assert!(html_page(&[]).ends_with("</html>\n"));
}

#[test]
fn failures_and_missing_updates_void_a_report() {
    let mut report = report();
    assert!(report.is_sound());
    report.updates = Some(UpdateReport {
        wrong: 1,
        ..UpdateReport::default()
    });
    assert!(!report.is_sound());
    let (url, _requests) = serve(|r| answer(&r.accept, "{}"));
    let options = RunOptions {
        warmup: 0,
        runs: 1,
        ignored: vec![2, 3, 4, 5, 6, 7],
        ..options(&url)
    };
    let report = run(UseCase::Bi, &pool(), &options, &mut |_| ()).expect("a run");
    assert!(!report.is_sound() && report.floor_s.is_none());
    assert!(report.warnings[0].contains("the rate of mixes is void"));
    let page = report.to_markdown();
    assert!(page.contains("(void: see the warnings)") && page.contains("**warning**"));
}

#[test]
fn reports_are_compared_side_by_side() {
    let (url, _requests) = serve(good);
    let report = run(UseCase::Bi, &pool(), &options(&url), &mut |_| ()).expect("a run");
    let mut other = report.clone();
    other.qmph = report.qmph * 3.0;
    for query in &mut other.queries {
        query.p50_s = report.queries[usize::from(query.number) - 1].p50_s / 2.0;
    }
    other.queries[7].result_hash = "0".to_owned();
    let text = crate::compare_reports(&[("one", &report), ("two", &other)]);
    assert!(text.contains("| query | one p50 ms | two p50 ms | two / one | answers |"));
    assert!(text.contains("| 3.00 |"), "{text}");
    assert_eq!(text.matches("| 0.50 | equal |").count(), 7, "{text}");
    assert_eq!(text.matches("| 0.50 | differ |").count(), 1, "{text}");
    other.seed += 1;
    let text = crate::compare_reports(&[("one", &report), ("two", &other)]);
    assert_eq!(text.matches("| not comparable |").count(), 8, "{text}");
}
