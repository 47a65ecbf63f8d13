//! Clients that hang up: whatever the query is doing, it ends soon.

#![allow(
    dead_code,
    reason = "each test program uses its own part of the support"
)]

mod support;

use basalt_server::{RunningServer, ServerOptions};
use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use support::{escape, get, send, start};

/// A query without anybody who waits for it has ended by then. It is a matter of milliseconds; machines that
/// do much else are given some more.
const GONE_MAX: Duration = Duration::from_secs(3);

/// Forty subjects with an integer each, and a chain of links.
fn data() -> String {
    let numbers = (0..40).map(|i| format!("<http://e/s{i}> <http://e/p> {i} .\n"));
    let links = (0..3000).map(|i| {
        let next = (i * 7 + 1) % 3000;
        format!(
            "<http://e/n{i}> <http://e/l> <http://e/n{next}>, <http://e/n{}> .\n",
            (i + 1) % 3000
        )
    });
    numbers.chain(links).collect()
}

/// Six times forty subjects, so four thousand million combinations.
const COMBINATIONS: &str = "?a <http://e/p> ?b . ?c <http://e/p> ?d . ?e <http://e/p> ?f . ?g <http://e/p> ?h . \
    ?i <http://e/p> ?j . ?k <http://e/p> ?l";

fn server() -> RunningServer {
    let options = ServerOptions {
        timeout: None,
        query_memory_bytes: 1 << 30,
        ..ServerOptions::default()
    };
    start(&data(), options)
}

fn ask(server: &RunningServer, query: &str) -> TcpStream {
    let query = escape(query);
    let request = format!("GET /query?format=json&query={query} HTTP/1.1\r\nHost: x\r\n\r\n");
    send(server, &request)
}

/// How many queries `/metrics` says are running.
fn running(server: &RunningServer) -> usize {
    let metrics = get(server, "/metrics").body;
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("basalt_queries_running "));
    line.and_then(|count| count.parse().ok()).expect("a gauge")
}

/// Waits until so many queries run; how long it took.
fn until_running(server: &RunningServer, count: usize) -> Duration {
    let start = Instant::now();
    while running(server) != count {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "it never became so"
        );
        std::thread::yield_now();
    }
    start.elapsed()
}

/// Hangs up and sees the query end.
fn check_end(server: &RunningServer, stream: TcpStream, what: &str) {
    drop(stream);
    let time = until_running(server, 0);
    eprintln!("{what}: ended after {time:?}");
    assert!(time < GONE_MAX, "{what}: ended after {time:?}");
}

#[test]
fn a_query_that_has_sent_nothing_ends_with_its_client() {
    let server = server();
    // Conditions are on all six subjects, and so is what is distinct: on fewer they would leave nothing to be combined, and the query would
    // end by itself.
    let queries = [
        (
            "counting",
            format!("SELECT (COUNT(*) AS ?n) {{ {COMBINATIONS} }}"),
        ),
        (
            "groups",
            format!("SELECT ?a (SUM(?d) AS ?n) {{ {COMBINATIONS} }} GROUP BY ?a"),
        ),
        (
            "filter",
            format!("SELECT * {{ {COMBINATIONS} FILTER(?b + ?d + ?f + ?h + ?j + ?l < 0) }}"),
        ),
        (
            "top of an order",
            format!("SELECT * {{ {COMBINATIONS} }} ORDER BY DESC(?b * ?d) LIMIT 5"),
        ),
        (
            "distinct",
            format!("SELECT DISTINCT (?b + ?d + ?f + ?h + ?j + ?l AS ?n) {{ {COMBINATIONS} }}"),
        ),
        (
            "minus",
            format!("SELECT * {{ {COMBINATIONS} MINUS {{ ?a <http://e/p> ?b }} }}"),
        ),
        (
            "not exists",
            format!(
                "SELECT * {{ {COMBINATIONS} FILTER NOT EXISTS {{ \
                    ?s <http://e/p> ?b FILTER(?d < 40 && ?f < 40 && ?h < 40 && ?j < 40 && ?l < 40) }} }}"
            ),
        ),
        (
            "path",
            "SELECT (COUNT(*) AS ?n) { ?x <http://e/l>+ ?y . ?y <http://e/l>+ ?z }".to_owned(),
        ),
        (
            "regex",
            format!(
                "SELECT * {{ {COMBINATIONS} \
                    FILTER(REGEX(CONCAT(STR(?a), STR(?c), STR(?e), STR(?g), STR(?i), STR(?k)), \"x+y\")) }}"
            ),
        ),
        (
            "construct",
            format!("CONSTRUCT {{ <http://e/x> <http://e/y> 1 }} {{ {COMBINATIONS} }}"),
        ),
        (
            "ask",
            format!("ASK {{ {COMBINATIONS} FILTER(?b + ?d + ?f + ?h + ?j + ?l < 0) }}"),
        ),
    ];
    for (what, query) in &queries {
        let stream = ask(&server, query);
        until_running(&server, 1);
        check_end(&server, stream, what);
    }
}

#[test]
fn a_sort_ends_with_its_client() {
    let server = server();
    // Nearly ten million rows, to be sorted by text; whether they are being collected or sorted when the client goes
    // depends on the machine.
    let stream = ask(
        &server,
        "SELECT ?x ?y { ?x <http://e/l> ?a . ?y <http://e/p> ?b . ?z <http://e/p> ?c } ORDER BY ?x ?y",
    );
    until_running(&server, 1);
    check_end(&server, stream, "sort");
}

#[test]
fn a_query_whose_client_does_not_read_on_ends_with_it() {
    let server = server();
    let mut stream = ask(&server, &format!("SELECT * {{ {COMBINATIONS} }}"));
    stream.read_exact(&mut [0; 1000]).expect("rows come");
    assert_eq!(running(&server), 1);
    check_end(&server, stream, "rows that nobody reads");
}

#[test]
fn a_query_that_pauses_after_its_first_rows_ends_with_its_client() {
    let server = server();
    let mut stream = ask(
        &server,
        &format!(
            "SELECT * {{ {{ ?a <http://e/p> ?b . ?c <http://e/p> ?d }} \
             UNION {{ SELECT (COUNT(*) AS ?n) {{ {COMBINATIONS} }} }} }}"
        ),
    );
    stream
        .read_exact(&mut [0; 60_000])
        .expect("the first rows come");
    assert_eq!(running(&server), 1);
    check_end(&server, stream, "a pause");
}

/// Sends an update and does not wait for its answer.
fn ask_update(server: &RunningServer, update: &str) -> TcpStream {
    let head = "POST /update HTTP/1.1\r\nHost: x\r\nContent-Type: application/sparql-update";
    send(
        server,
        &format!("{head}\r\nContent-Length: {}\r\n\r\n{update}", update.len()),
    )
}

/// The numbers of what runs or waits and has this text.
fn entries(server: &RunningServer, text: &str) -> Vec<u64> {
    let list = get(server, "/queries").body;
    let list: serde_json::Value = serde_json::from_str(&list).expect("a list");
    let has_text = |entry: &&serde_json::Value| {
        let query = entry["query"].as_str();
        query.is_some_and(|query| query.contains(text))
    };
    let with_text = list.as_array().into_iter().flatten().filter(has_text);
    with_text.filter_map(|entry| entry["id"].as_u64()).collect()
}

/// The same, once there are so many.
fn listed(server: &RunningServer, text: &str, count: usize) -> Vec<u64> {
    let start = Instant::now();
    // Termination: the assertion.
    loop {
        let ids = entries(server, text);
        if ids.len() == count {
            return ids;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{text}: {ids:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until somebody has the writer's turn, and keeps it.
fn until_turn_is_taken(server: &RunningServer) {
    let start = Instant::now();
    // Termination: the assertion.
    loop {
        let probe = ask_update(server, "INSERT DATA { <http://e/probe> <http://e/p> 1 }");
        std::thread::sleep(Duration::from_millis(50));
        let waits = !entries(server, "probe").is_empty();
        drop(probe);
        listed(server, "probe", 0);
        if waits {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}

#[test]
fn an_update_that_waits_for_its_turn_can_be_ended() {
    let server = server();
    let endless = format!(
        "INSERT {{ ?a <http://e/never> ?b }} WHERE {{ {COMBINATIONS} FILTER(?b + ?d + ?f + ?h + ?j + ?l < 0) }}"
    );
    let before = ask_update(&server, &endless);
    listed(&server, "never", 1);
    until_turn_is_taken(&server);
    // More than there are threads for.
    let waiting: Vec<TcpStream> = (0..20)
        .map(|i| {
            ask_update(
                &server,
                &format!("INSERT DATA {{ <http://e/w{i}> <http://e/waits> 1 }}"),
            )
        })
        .collect();
    let ids = listed(&server, "waits", 20);
    for id in &ids[..2] {
        let start = Instant::now();
        assert_eq!(
            support::exchange(&server, &format!("DELETE /queries/{id}"), "", "").status,
            204
        );
        assert!(start.elapsed() < GONE_MAX);
    }
    listed(&server, "waits", 18);
    let start = Instant::now();
    drop(waiting);
    listed(&server, "waits", 0);
    assert!(start.elapsed() < GONE_MAX, "{:?}", start.elapsed());
    drop(before);
    listed(&server, "never", 0);
    // Nothing of them was done, and the turn is free.
    let last = support::exchange(
        &server,
        "POST /update",
        "Content-Type: application/sparql-update\r\n",
        "INSERT DATA { <http://e/last> <http://e/p> 1 }",
    );
    assert_eq!(last.status, 200, "{}", last.body);
    let left = "ASK { VALUES ?p { <http://e/waits> <http://e/never> } ?x ?p ?y }";
    assert!(
        support::post(&server, "/query", "application/sparql-results+json", left)
            .body
            .contains("false")
    );
}
