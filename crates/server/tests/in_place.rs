//! Queries that are answered on the thread of their connection: whoever is taken for quick and is not holds up
//! nobody, and is answered all the same.

#![allow(
    dead_code,
    reason = "each test program uses its own part of the support"
)]

mod support;

use basalt_server::{RunningServer, ServerOptions};
use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use support::{escape, exchange, get, post, send, start};

/// Time in which something comes about that is sure to, on any machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a quick query may take beside slow ones: a matter of milliseconds on a machine that has nothing else to
/// do, while a query that was not given up would take hours.
const QUICK_MAX: Duration = Duration::from_secs(5);

fn server() -> RunningServer {
    let data: String = (0..60)
        .map(|i| {
            format!(
                "<http://e/s{i}> <http://e/p> {i} ; <http://e/q> {i} ; <http://e/r> \"{i}\" .\n"
            )
        })
        .collect();
    let options = ServerOptions {
        timeout: None,
        ..ServerOptions::default()
    };
    start(&data, options)
}

/// Stars of a slow query.
const STARS: usize = 5;

/// A query of a shape of its own, by the predicates of its stars, that looks at 800 million combinations in vain. The planner
/// takes the conditions, which are always true, for rarely true, so it expects hardly a row.
fn combinations(shape: usize) -> String {
    let predicate = |star| if star < shape { "p" } else { "q" };
    let stars = (0..STARS).map(|i| {
        let predicate = predicate(i);
        format!(
            "?x{i} <http://e/{predicate}> ?y{i} FILTER(?y{i} * 0 = 0) FILTER(?y{i} * 0 + 1 = 1) "
        )
    });
    let sum: Vec<String> = (0..STARS).map(|i| format!("?y{i}")).collect();
    format!(
        "SELECT ?y0 {{ {} FILTER({} < -1) }} LIMIT 1",
        stars.collect::<String>(),
        sum.join(" + ")
    )
}

/// A sample of `/metrics`.
fn metric(server: &RunningServer, name: &str) -> u64 {
    let metrics = get(server, "/metrics").body;
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    let value = line.and_then(|value| value.trim().parse::<f64>().ok());
    value.expect("the metric is there") as u64
}

fn in_place(server: &RunningServer, outcome: &str) -> u64 {
    let name = format!("basalt_queries_in_place_total{{outcome=\"{outcome}\"}}");
    metric(server, &name)
}

fn until_running(server: &RunningServer, count: u64) {
    until(|| metric(server, "basalt_queries_running ") == count);
}

/// Waits for what is sure to come about.
fn until(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
}

fn ask(server: &RunningServer, query: &str) -> TcpStream {
    let target = format!("/query?format=csv&query={}", escape(query));
    send(server, &format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"))
}

#[test]
fn queries_taken_for_quick_by_mistake_hold_up_nobody() {
    let server = server();
    // More than threads of connections, as far as there are shapes.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let shapes = 0..(2 * threads).min(STARS + 1);
    let slow: Vec<TcpStream> = shapes
        .map(|shape| ask(&server, &combinations(shape)))
        .collect();
    until_running(&server, slow.len() as u64);
    for _ in 0..20 {
        let start = Instant::now();
        let query = "SELECT ?s { ?s <http://e/p> 7 }";
        let answer = post(&server, "/query", "text/csv", query);
        let time = start.elapsed();
        assert_eq!(answer.body, "s\r\nhttp://e/s7\r\n");
        assert!(time < QUICK_MAX, "a quick query took {time:?}");
    }
    // On a busy machine the last of them may be in its attempt still.
    until(|| in_place(&server, "given_up") >= slow.len() as u64);
    assert_eq!(in_place(&server, "given_up"), slow.len() as u64);
    // Each can be told to stop where it runs now, by its client or by number.
    let mut slow = slow.into_iter();
    drop(slow.next());
    until_running(&server, slow.len() as u64);
    let listed = get(&server, "/queries").body;
    let id = listed.split("\"id\":").nth(1).expect("a query is listed");
    let id: String = id.chars().take_while(char::is_ascii_digit).collect();
    let stopped = exchange(&server, &format!("DELETE /queries/{id}"), "", "");
    assert_eq!(stopped.status, 204);
    until_running(&server, slow.len() as u64 - 1);
    drop(slow);
    until_running(&server, 0);
}

#[test]
fn an_answer_too_long_for_its_place_is_whole() {
    let server = server();
    let query = "SELECT ?s ?t ?u { ?s <http://e/p> ?o . ?t <http://e/q> ?u }";
    for _ in 0..3 {
        let answer = post(&server, "/query", "text/csv", query);
        assert!(answer.is_whole);
        assert_eq!(answer.body.lines().count(), 1 + 60 * 60);
        assert!(answer.body.len() > 64 << 10);
    }
    assert_eq!(in_place(&server, "given_up"), 1);
}

#[test]
fn quick_answers_are_the_same_in_place_and_elsewhere() {
    let server = server();
    let queries = [
        "SELECT ?s ?o { ?s <http://e/p> ?o } ORDER BY ?o",
        "ASK { ?s <http://e/p> 3 }",
        "CONSTRUCT { ?s <http://e/t> ?o } { ?s <http://e/p> ?o FILTER(?o < 3) }",
        "DESCRIBE <http://e/s5>",
        "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
        "SELECT * { ?s <http://e/p> }",
    ];
    for query in queries {
        // A comment makes the text too long to be looked at in place.
        let elsewhere = format!("{query} # {}", "x".repeat(5000));
        let before = in_place(&server, "answered");
        let there = post(&server, "/query", "*/*", &elsewhere);
        assert_eq!(in_place(&server, "answered"), before);
        let here = post(&server, "/query", "*/*", query);
        assert_eq!(here.status, there.status);
        assert_eq!(here.header("content-type"), there.header("content-type"));
        if here.status == 200 {
            assert_eq!(here.body, there.body);
            let length = here.body.len().to_string();
            assert_eq!(here.header("content-length"), Some(length.as_str()));
        }
        let head = exchange(
            &server,
            &format!("HEAD /query?query={}", escape(query)),
            "",
            "",
        );
        assert_eq!((head.status, head.body.as_str()), (here.status, ""));
    }
    // All of them as a rule; a machine that does much else may take the thread away for long.
    assert!(in_place(&server, "answered") > 3);
}

#[test]
fn connections_are_kept_and_take_any_number_of_requests() {
    let server = server();
    let request = format!(
        "GET /query?format=csv&query={} HTTP/1.1\r\nHost: x\r\n\r\n",
        escape("SELECT ?s { ?s <http://e/p> 1 }")
    );
    let mut streams: Vec<TcpStream> = (0..8).map(|_| send(&server, &request)).collect();
    for round in 0..20 {
        for stream in &mut streams {
            let mut answer = Vec::new();
            let mut bytes = [0; 4096];
            while !answer.ends_with(b"http://e/s1\r\n") {
                let count = stream.read(&mut bytes).expect("the answer comes");
                assert!(count > 0, "the connection stays open in round {round}");
                answer.extend_from_slice(&bytes[..count]);
            }
            std::io::Write::write_all(stream, request.as_bytes()).expect("the request is sent");
        }
    }
}
