//! The real binary: load, query, dump, check and the other commands on good input.

#![allow(dead_code)]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use support::{Place, command};

const PEOPLE: &str = "\
<http://e/a> <http://e/name> \"Ann\" .
<http://e/a> <http://e/age> \"042\"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://e/a> <http://e/knows> <http://e/b> .
<http://e/b> <http://e/name> \"Bob \\\"B\\\" \\u00E9\"@en-GB .
<http://e/b> <http://e/age> \"7.50\"^^<http://www.w3.org/2001/XMLSchema#decimal> .
";

const GRAPHS: &str = "\
<http://e/c> <http://e/name> \"Cy\" <http://e/g1> .
<http://e/c> <http://e/name> \"Cy\" .
<http://e/a> <http://e/name> \"Ann\" <http://e/g2> .
";

fn with_people() -> Place {
    let place = Place::new();
    place.write("people.nt", PEOPLE);
    place.ok("load --location store people.nt");
    place
}

#[test]
fn what_is_loaded_is_dumped_checked_and_queried() {
    let place = with_people();
    let mut expected: Vec<String> = PEOPLE
        .replace("\\u00E9", "é")
        .lines()
        .map(str::to_owned)
        .collect();
    expected.sort();
    assert_eq!(place.dump("store"), expected);
    assert!(
        place
            .ok("check --location store --deep")
            .starts_with("no problem found")
    );
    let rows = place.run_list(
        &[
            "query",
            "--location",
            "store",
            "--query",
            "SELECT ?n { ?s <http://e/age> ?a ; <http://e/name> ?n FILTER(?a > 40) }",
        ],
        b"",
    );
    assert_eq!(
        (rows.code, rows.out.as_str()),
        (Some(0), "?n\n\"Ann\"\n"),
        "{rows:?}"
    );
    // A second load adds; quads that are there already are no news.
    place.write("graphs.nq", GRAPHS);
    let json = place.ok("load --location store --json graphs.nq people.nt");
    let report: serde_json::Value = serde_json::from_str(&json).expect("the summary is JSON");
    assert_eq!(report["quads"], 8);
    assert_eq!(report["quads_before"], 5);
    expected.extend(GRAPHS.lines().map(str::to_owned));
    expected.sort();
    assert_eq!(place.dump("store"), expected);
    place.ok("check --location store --deep");
    // The dump is a data set that makes the same store again.
    place.ok("dump --location store --output all.trig");
    place.ok("load --location again all.trig");
    assert_eq!(place.dump("again"), expected);
}

#[test]
fn one_graph_is_dumped_as_triples() {
    let place = Place::new();
    place.write("graphs.nq", GRAPHS);
    place.ok("load --location store graphs.nq");
    let cy = "<http://e/c> <http://e/name> \"Cy\" .\n";
    assert_eq!(place.ok("dump --location store --graph default"), cy);
    assert_eq!(place.ok("dump --location store --graph http://e/g1"), cy);
    assert_eq!(place.ok("dump --location store --graph http://e/none"), "");
    let refused = place.run("dump --location store --format nt");
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("2 named graphs"), "{refused:?}");
}

#[test]
fn queries_come_from_everywhere_in_every_format() {
    let place = with_people();
    place.write("q.rq", "SELECT ?s { ?s <http://e/knows> ?o }");
    let formats = [
        ("tsv", "?s\n<http://e/a>\n"),
        ("csv", "s\r\nhttp://e/a\r\n"),
    ];
    for (format, expected) in formats {
        let out = place.ok(&format!(
            "query --data people.nt --query-file q.rq --results-format {format}"
        ));
        assert_eq!(out, expected);
    }
    let json = place.ok("query --location store --query-file q.rq --results-format json");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON results");
    assert_eq!(json["results"]["bindings"][0]["s"]["value"], "http://e/a");
    assert!(
        place
            .ok("query --location store --query-file q.rq --results-format xml")
            .contains("<uri>http://e/a</uri>")
    );
    let graph = place.run_list(
        &["query", "--location", "store"],
        b"CONSTRUCT { ?o <http://e/known> ?s } { ?s <http://e/knows> ?o }",
    );
    assert_eq!(
        graph.out, "<http://e/b> <http://e/known> <http://e/a> .\n",
        "{graph:?}"
    );
    let ask = place.run_list(
        &["query", "--location", "store", "--results-format", "csv"],
        b"ASK { ?s <http://e/nothing> ?o }",
    );
    assert!(ask.out.contains("false"), "{ask:?}");
    // The last line has times.
    let plan = |command: &str| {
        let text = place.ok(&format!("{command} --location store --query-file q.rq"));
        let (plan, times) = text
            .trim_end()
            .rsplit_once('\n')
            .map(|(plan, times)| (plan.to_owned(), times.to_owned()))
            .expect("two lines");
        assert!(times.starts_with("parse "), "{text}");
        plan
    };
    assert_eq!(plan("explain"), plan("query --explain"));
    let profile = place.run("query --profile --location store --query-file q.rq");
    assert!(profile.err.starts_with("1 rows in "), "{profile:?}");
    for (command, is_run) in [
        ("explain --format json", false),
        ("query --explain json", false),
        ("query --profile json", true),
    ] {
        let text = place.ok(&format!("{command} --location store --query-file q.rq"));
        let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert!(report["plan"]["operator"].is_string(), "{text}");
        assert_eq!(report["run"]["rows"].is_u64(), is_run, "{text}");
    }
    let wrong = place.run("query --explain svg --location store --query-file q.rq");
    assert!(wrong.err.contains("expected text or json"), "{wrong:?}");
}

#[test]
fn options_come_from_the_environment_too() {
    let place = with_people();
    let run = |flag: &str| {
        command(&place.path(""))
            .args(["query", "--query", "SELECT ?s { ?s <http://e/knows> ?o }"])
            .env("BASALT_LOCATION", "store")
            .env("BASALT_RESULTS_FORMAT", "csv")
            .env("BASALT_EXPLAIN", flag)
            .output()
            .expect("the binary runs")
    };
    assert_eq!(
        String::from_utf8_lossy(&run("false").stdout),
        "s\r\nhttp://e/a\r\n"
    );
    let plan = run("true");
    assert!(
        plan.status.success() && !plan.stdout.starts_with(b"s\r\n"),
        "{plan:?}"
    );
}

#[test]
fn the_schema_has_three_forms() {
    let place = Place::new();
    let mut data = String::new();
    for i in 0..50 {
        data.push_str(&format!("<http://e/p{i}> <http://e/name> \"n{i}\" .\n<http://e/p{i}> <http://e/age> \"{i}\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n"));
    }
    place.write("data.nt", data);
    place.ok("load --location store data.nt");
    let json: serde_json::Value =
        serde_json::from_str(&place.ok("schema --location store --format json")).expect("JSON");
    assert_eq!(json["quads"], 100);
    assert_eq!(json["tables"][0]["rows"], 50, "{json}");
    assert!(place.ok("schema --location store").contains("http://e/age"));
    assert!(
        place
            .ok("schema --location store --format html")
            .starts_with("<!doctype html>")
    );
}

#[test]
fn formats_are_converted() {
    let place = Place::new();
    place.write(
        "a.ttl",
        "@prefix e: <http://e/> . e:a e:p 1, \"x\"@en ; e:q <rel> .",
    );
    let out = place.ok("convert a.ttl --to-format nt --base http://b/");
    let mut lines: Vec<&str> = out.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "<http://e/a> <http://e/p> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> .",
            "<http://e/a> <http://e/p> \"x\"@en .",
            "<http://e/a> <http://e/q> <http://b/rel> .",
        ]
    );
    let piped = place.run_list(
        &["convert", "-", "--from-format", "nt", "--to-format", "nq"],
        PEOPLE.as_bytes(),
    );
    assert_eq!(piped.out.lines().count(), 5, "{piped:?}");
}

#[test]
fn lenient_loads_skip_and_report() {
    let place = Place::new();
    place.write("bad.nt", format!("{PEOPLE}this is no triple\n"));
    let outcome = place.run("load --location store --lenient bad.nt");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(
        outcome.err.contains("bad.nt:6:") && outcome.err.contains("this is no triple"),
        "{outcome:?}"
    );
    assert_eq!(place.dump("store").len(), 5);
    place.write("worse.nt", "no\n".repeat(10));
    let outcome = place.run("load --location store --lenient --max-errors 3 worse.nt");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert_eq!(place.dump("store").len(), 5);
}

#[test]
fn usage_errors_are_told_from_failures() {
    let place = Place::new();
    let cases = [
        "frobnicate",
        "load",
        "load x.nt",
        "query --location s --data x.nt",
        "load --location s --format pdf x.nt",
        "serve --timeout soon",
        "serve --query-memory much",
        "bsbm generate",
        "schema --location s --format pdf",
    ];
    for case in cases {
        assert_eq!(place.run(case).code, Some(2), "{case}");
    }
    for case in [
        "query --location nowhere --query ASK{}",
        "check --location nowhere",
        "dump --location nowhere",
    ] {
        let outcome = place.run(case);
        assert_eq!(outcome.code, Some(1), "{case}");
        assert!(
            outcome.err.starts_with("error: ") && outcome.err.contains("nowhere"),
            "{outcome:?}"
        );
        assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
    }
    for case in [
        "load",
        "serve",
        "query",
        "explain",
        "schema",
        "dump",
        "check",
        "convert",
        "demo",
        "bsbm generate",
        "bsbm run",
        "bsbm compare",
        "bsbm qualify",
    ] {
        let help = place.ok(&format!("{case} --help"));
        assert!(
            help.contains("Example") && help.contains(&format!("basalt {case}")),
            "{case}: {help}"
        );
    }
}

#[test]
fn the_history_tells_of_loads_updates_and_rewrites() {
    let place = Place::new();
    let line = |i: u32| format!("<http://e/s{i}> <http://e/p> \"{i}\" .\n");
    place.write("data.nt", (0..500).map(line).collect::<String>());
    place.write("more.nt", line(1000));
    place.ok("load --location store data.nt");
    place.ok("load --location store more.nt");
    place.write("insert.ru", "INSERT DATA { <http://e/x> <http://e/y> 1 }");
    place.ok("update --location store --update-file insert.ru");
    place.ok("optimize --location store");
    let text = place.ok("schema --location store --history");
    let told: Vec<&str> = text.lines().filter(|l| l.starts_with("version ")).collect();
    assert_eq!(told.len(), 3, "{text}");
    for (line, what) in told.iter().zip([
        "load of 500 quads from data.nt",
        "load of 1 quads from more.nt, as a layer",
        "optimize, with 1 added and 0 removed quads",
    ]) {
        assert!(line.ends_with(what), "{line}");
    }
    assert!(text.contains("http://e/p"), "{text}");
    let json = place.ok("schema --location store --history --format json");
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(json[0]["reason"]["quads_read"], 500);
    assert_eq!(json[2]["quads"], 502);
    let refused = place.run("schema --location store --history --format html");
    assert_eq!(refused.code, Some(1), "{refused:?}");
}

#[test]
fn a_closed_pipe_is_a_clean_end() {
    let place = Place::new();
    let line = |i: u32| format!("<http://e/s{i}> <http://e/p> \"{}\" .\n", "x".repeat(50));
    place.write("data.nt", (0..20_000).map(line).collect::<String>());
    place.ok("load --location store data.nt");
    let mut child = command(&place.path(""))
        .args(["dump", "--location", "store"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut first = String::new();
    let stdout = child.stdout.take().expect("standard output is a pipe");
    BufReader::new(stdout)
        .read_line(&mut first)
        .expect("a line comes");
    let ended = child.wait_with_output().expect("the binary ends");
    assert!(first.starts_with("<http://e/s"), "{first}");
    assert_eq!(
        (ended.status.code(), ended.stderr.as_slice()),
        (Some(0), b"".as_slice())
    );
}

#[test]
fn serve_answers_and_stops_when_told() {
    let place = with_people();
    let mut child = command(&place.path(""))
        .args(["serve", "--location", "store", "--bind", "127.0.0.1:0"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut messages = BufReader::new(child.stderr.take().expect("standard error is a pipe"));
    let mut line = String::new();
    messages.read_line(&mut line).expect("a line comes");
    let address = line
        .split("http://")
        .nth(1)
        .and_then(|rest| rest.split('/').next())
        .expect("an address");
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let request = "GET /query?query=ASK%7B%7D HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    stream
        .write_all(request.as_bytes())
        .expect("a request is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer comes");
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("true"),
        "{answer}"
    );
    let told = std::process::Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(told.is_ok_and(|status| status.success()));
    assert_eq!(child.wait().expect("the server ends").code(), Some(0));
}

#[test]
fn a_small_demo_runs_every_query() {
    let place = Place::new();
    let outcome = place.run("demo --products 50 --no-serve --location store");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(
        outcome.out.contains("explore") && outcome.out.contains("bi"),
        "{outcome:?}"
    );
    place.ok("check --location store --deep");
}
