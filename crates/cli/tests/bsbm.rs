//! The benchmark from end to end with the real binary: data, a served store, a run with every kind
//! of report, a comparison, and a qualification.

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use support::{Place, command};

/// A server of a store, which ends with the test.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(place: &Place, store: &str) -> Self {
        let mut child = command(&place.path(""))
            .args(["serve", "--location", store, "--bind", "127.0.0.1:0"])
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
        let url = format!("http://{address}/query");
        Self { child, url }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself, which the test has seen then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A served store of so many products with forward chaining; parameters are in `td`.
fn served(place: &Place, products: u64) -> Server {
    place.ok(&format!(
        "bsbm generate --products {products} --forward-chaining --output data.nt --data-dir td"
    ));
    place.ok("load --location store data.nt");
    Server::start(place, "store")
}

fn read(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path(name)).expect("the file was written")
}

#[test]
fn a_run_writes_every_kind_of_report() {
    let place = Place::new();
    let server = served(&place, 50);
    let url = &server.url;
    let outcome = place.run_list(
        &[
            "bsbm",
            "run",
            "--endpoint",
            url,
            "--data-dir",
            "td",
            "--warmup",
            "1",
            "--runs",
            "3",
            "--clients",
            "2",
            "--label",
            "store=a small one",
            "--report",
            "a.json,a.html,a.md,a.xml",
        ],
        b"",
    );
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.err.contains("of 3 mixes"), "{outcome:?}");
    let json: serde_json::Value = serde_json::from_str(&read(&place, "a.json")).expect("JSON");
    assert_eq!(json["clients"], 2);
    assert_eq!(json["errors"], 0);
    assert_eq!(json["labels"]["store"], "a small one");
    for field in [
        "count", "rows", "aqet_s", "p50_s", "p95_s", "p99_s", "timeouts", "errors",
    ] {
        assert!(json["queries"][0][field].is_number(), "{field}");
    }
    let page = read(&place, "a.html");
    assert!(page.contains("<svg") && page.contains("a small one"));
    assert!(read(&place, "a.md").contains("| 11 | 3 |"));
    assert!(
        read(&place, "a.xml").contains("<query nr=\"12\">\n      <executecount>3</executecount>")
    );
    // The same questions from one client, drilled down and permuted for the analytic ones.
    let run =
        format!("bsbm run --endpoint {url} --data-dir td --warmup 0 --runs 3 --report b.json");
    place.ok(&run);
    let compared = place.ok("bsbm compare a.json b.json --html both.html");
    assert_eq!(compared.matches("| equal |").count(), 11, "{compared}");
    assert!(read(&place, "both.html").contains("<polyline class=\"run1\""));
    let drilled = place.ok(&format!(
        "bsbm run --use-case bi --endpoint {url} --data-dir td --warmup 0 --runs 1 --drill-down --shuffle"
    ));
    assert!(
        drilled.contains("- drill-down: from level 0 to the leaves"),
        "{drilled}"
    );
    assert!(drilled.contains("\n| 8 | 2 | 1 | "), "{drilled}");
    let ramped = place.run(&format!(
        "bsbm run --endpoint {url} --data-dir td --runs 1 --ramp-up --ramp-up-period 1"
    ));
    assert_eq!(ramped.code, Some(0), "{ramped:?}");
    assert!(ramped.out.contains("of ramp-up"), "{ramped:?}");
}

#[test]
fn rows_in_xml_and_queries_that_are_given_up_change_no_answer() {
    let place = Place::new();
    let server = served(&place, 50);
    let run = format!(
        "bsbm run --endpoint {} --data-dir td --warmup 0 --runs 3",
        server.url
    );
    place.ok(&format!("{run} --report json.json"));
    place.ok(&format!(
        "{run} --results-format xml --given-up 5 --report xml.json"
    ));
    let report = |name| -> serde_json::Value {
        serde_json::from_str(&read(&place, name)).expect("the report is JSON")
    };
    let (json, xml) = (report("json.json"), report("xml.json"));
    assert_eq!(
        (&xml["not_tried"], &xml["results_format"]),
        (&6.into(), &"xml".into())
    );
    for (json, xml) in json["queries"]
        .as_array()
        .into_iter()
        .flatten()
        .zip(xml["queries"].as_array().into_iter().flatten())
    {
        assert_eq!(json["number"], xml["number"]);
        if json["number"] != 5 {
            assert_eq!(json["result_hash"], xml["result_hash"], "{xml}");
        }
    }
}

#[test]
fn a_store_qualifies_against_itself_and_not_against_another_one() {
    let place = Place::new();
    let server = served(&place, 50);
    let url = &server.url;
    let ask = format!("bsbm qualify --endpoint {url} --data-dir td --mixes 2");
    place.ok(&format!("{ask} --record good.jsonl"));
    let same = place.ok(&format!("{ask} --reference good.jsonl"));
    assert!(
        same.contains(": passed") && same.contains("| 12 | 2 | 0 | 0 | 0 |"),
        "{same}"
    );
    place.ok(&format!("{ask} --use-case bi --reference-endpoint {url}"));
    // Half of the data gives other answers.
    let data = read(&place, "data.nt");
    let lines = data.lines().filter(|line| !line.contains("/Offer"));
    place.write(
        "less.nt",
        lines.map(|line| format!("{line}\n")).collect::<String>(),
    );
    place.ok("load --location less less.nt");
    let other = Server::start(&place, "less");
    let url = &other.url;
    let ask = format!("bsbm qualify --endpoint {url} --data-dir td --mixes 2");
    let failed = place.run(&format!("{ask} --record less.jsonl --reference good.jsonl"));
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(
        failed.out.contains(": failed") && failed.out.contains("Query 11"),
        "{failed:?}"
    );
    assert!(failed.err.contains("answers are wrong"), "{failed:?}");
    place.run("bsbm qualify --recorded less.jsonl --reference good.jsonl --report less.json");
    let told: serde_json::Value = serde_json::from_str(&read(&place, "less.json")).expect("JSON");
    assert!(
        told["tallies"]["11"]["different"].as_u64() > Some(0),
        "{told}"
    );
    let again = place.run("bsbm qualify --recorded less.jsonl --reference good.jsonl");
    assert_eq!((again.code, again.out), (Some(1), failed.out));
}

#[test]
fn a_run_by_the_clock_shows_its_periods_and_says_when_updates_are_used_up() {
    let place = Place::new();
    place.ok(
        "bsbm generate --products 60 --forward-chaining --output data.nt --data-dir td \
         --update-transactions 6 --update-output update.nt",
    );
    place.ok("load --location store data.nt");
    let server = Server::start(&place, "store");
    let url = &server.url;
    let update_url = url.replace("/query", "/update");
    let read_json = |name| -> serde_json::Value {
        serde_json::from_str(&read(&place, name)).expect("the report is JSON")
    };
    let timed = place.run(&format!(
        "bsbm run --endpoint {url} --data-dir td --warmup 1 --clients 2 --duration 300ms --report a.json,a.md,a.html"
    ));
    assert_eq!(timed.code, Some(0), "{timed:?}");
    assert!(timed.err.contains(" of 0.3 s: "), "{timed:?}");
    let a = read_json("a.json");
    assert_eq!((&a["duration_s"], &a["errors"]), (&0.3.into(), &0.into()));
    assert!(a["elapsed_s"].as_f64() >= Some(0.3) && a["runs"].as_u64() > Some(0));
    let slices = a["timeline"]["queries"]
        .as_array()
        .expect("there are slices");
    let counted = slices.iter().filter_map(|slice| slice["count"].as_u64());
    assert_eq!(
        Some(counted.sum::<u64>()),
        a["runs"].as_u64().map(|runs| runs * 25)
    );
    assert!(read(&place, "a.md").contains("\nOver time; "));
    assert!(read(&place, "a.html").contains("Queries over time"));
    // Six transactions are three mixes; the store has them when the run ends.
    let used_up = place.run(&format!(
        "bsbm run --use-case explore-and-update --endpoint {url} --update-endpoint {update_url} \
         --update-file update.nt --data-dir td --warmup 1 --duration 1h --durability synced --report b.json,b.md"
    ));
    assert_eq!(used_up.code, Some(1), "{used_up:?}");
    assert!(
        used_up
            .err
            .contains("the update transactions were used up after "),
        "{used_up:?}"
    );
    assert!(used_up.err.contains("of 3600 s, by 3 mixes"), "{used_up:?}");
    let b = read_json("b.json");
    assert_eq!(
        (&b["runs"], &b["transactions_used_up"]),
        (&3.into(), &true.into())
    );
    assert_eq!(
        (&b["updates"]["inserted_blocks"], &b["updates"]["wrong"]),
        (&6.into(), &0.into())
    );
    assert!(read(&place, "b.md").contains("- updates over time: "));
    let compared = place.ok("bsbm compare a.json b.json");
    assert!(
        compared.contains("| executions/s, worst period |"),
        "{compared}"
    );
}

#[test]
fn wrong_options_of_the_benchmark_are_usage_errors() {
    let place = Place::new();
    for case in [
        "bsbm run",
        "bsbm run --data-dir td --updates-at never",
        "bsbm run --data-dir td --label x",
        "bsbm run --data-dir td --given-up 4@",
        "bsbm run --data-dir td --results-format csv",
        "bsbm run --data-dir td --wording plain",
        "bsbm run --data-dir td --duration 0s",
        "bsbm run --data-dir td --duration soon",
        "bsbm run --data-dir td --duration 5s --runs 3",
        "bsbm run --data-dir td --update-parameter x",
        "bsbm qualify --data-dir td",
        "bsbm qualify --record x.jsonl",
        "bsbm qualify --recorded x.jsonl",
        "bsbm compare a.json",
    ] {
        assert_eq!(place.run(case).code, Some(2), "{case}");
    }
    let outcome = place.run("bsbm run --data-dir td --report x.pdf");
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.err.contains("use .json, .html, .md or .xml"),
        "{outcome:?}"
    );
}
