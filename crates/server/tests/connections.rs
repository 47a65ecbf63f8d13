//! How connections go on and end: requests whose body nobody reads, answers that break off, requests that are none.

#![allow(
    dead_code,
    reason = "each test program uses its own part of the support"
)]

mod support;

use basalt_server::{RunningServer, ServerOptions};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use support::{Answer, escape, parse, read_answer, send, start};

const DATA: &str = "@prefix e: <http://e/> . e:a e:p 1 .";
const TURTLE: &str = "Content-Type: text/turtle\r\n";

fn small() -> RunningServer {
    start(DATA, ServerOptions::default())
}

/// Sends a request, and reads to the end of the connection, which must be in order.
fn to_the_end(server: &RunningServer, request: &str) -> Answer {
    let mut stream = send(server, request);
    end_of(&mut stream)
}

fn end_of(stream: &mut TcpStream) -> Answer {
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).expect("a time limit");
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    read.expect("an answer, and the end of the connection");
    parse(&bytes)
}

#[test]
fn an_answer_that_breaks_off_ends_in_a_reset() {
    let options = ServerOptions {
        timeout: Some(Duration::from_millis(700)),
        ..ServerOptions::default()
    };
    let many: String = (0..40)
        .map(|i| format!("<http://e/s{i}> <http://e/p> {i} .\n"))
        .collect();
    let server = start(&many, options);
    let endless = "SELECT * { ?a ?p1 ?b . ?c ?p2 ?d . ?e ?p3 ?f . ?g ?p4 ?h . ?i ?p5 ?j }";
    let target = format!("/query?format=csv&query={}", escape(endless));
    for version in ["1.0", "1.1"] {
        let request = format!("GET {target} HTTP/{version}\r\nHost: x\r\n\r\n");
        let mut stream = send(&server, &request);
        let mut bytes = Vec::new();
        let read = stream.read_to_end(&mut bytes);
        let kind = read.map_err(|error| error.kind()).err();
        assert_eq!(kind, Some(ErrorKind::ConnectionReset), "{version}");
        assert!(bytes.starts_with(b"HTTP/1."), "rows came before the limit");
    }
    // One that comes to its end is closed in order.
    let whole = escape("SELECT * { ?a ?p ?b . ?c ?q ?d }");
    let request = format!("GET /query?format=csv&query={whole} HTTP/1.0\r\n\r\n");
    let answer = to_the_end(&server, &request);
    assert_eq!(answer.header("transfer-encoding"), None);
    assert_eq!(answer.body.lines().count(), 1601);
}

#[test]
fn a_small_body_that_nobody_reads_keeps_the_connection() {
    let server = small();
    let mut stream = send(&server, "");
    let cases = [
        ("POST /nothing", TURTLE, 404),
        ("POST /health", TURTLE, 405),
        ("PATCH /store?default", TURTLE, 405),
        ("PUT /store?graph=relative", TURTLE, 400),
        ("PUT /store?default", "Content-Type: text/html\r\n", 415),
        ("POST /load?x=y", TURTLE, 400),
        ("POST /load", "Content-Type: text/html\r\n", 415),
        ("GET /health", TURTLE, 200),
    ];
    for (line, headers, status) in cases {
        let body = "# a body\n".repeat(1000);
        let length = body.len();
        for body in [
            format!("Content-Length: {length}\r\n\r\n{body}"),
            format!("Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"),
        ] {
            let request = format!("{line} HTTP/1.1\r\nHost: x\r\n{headers}{body}");
            stream.write_all(request.as_bytes()).expect("it stays open");
            let answer = read_answer(&mut stream).expect("an answer");
            let start = format!("http/1.1 {status} ");
            assert!(answer.starts_with(&start), "{line}: {answer}");
            assert!(!answer.contains("connection: close"), "{line}: {answer}");
        }
    }
}

#[test]
fn a_large_body_that_nobody_reads_ends_the_connection_after_the_answer() {
    let server = small();
    let body = "# a body\n".repeat(60_000);
    let length = body.len();
    for (line, status) in [
        ("POST /nothing", 404),
        ("PATCH /store?default", 405),
        ("PUT /store?graph=relative", 400),
        ("POST /load?x=y", 400),
    ] {
        for head in [
            format!("Content-Length: {length}\r\n\r\n"),
            format!("Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n"),
        ] {
            let head = format!("{line} HTTP/1.1\r\nHost: x\r\n{TURTLE}{head}");
            // All of it is sent before the answer is looked at.
            let answer = to_the_end(&server, &format!("{head}{body}"));
            assert_eq!(answer.status, status, "{line}: {answer:?}");
            assert_eq!(answer.header("connection"), Some("close"), "{line}");
        }
    }
    // A body that waits to be asked for is not asked for.
    let answer = to_the_end(
        &server,
        "POST /nothing HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n",
    );
    assert_eq!(answer.status, 404, "{answer:?}");
    assert_eq!(answer.header("connection"), Some("close"), "{answer:?}");
}

#[test]
fn a_request_names_one_host() {
    let server = small();
    let ask = |head: &str| to_the_end(&server, &format!("GET /health {head}\r\n\r\n"));
    let without = ask("HTTP/1.1\r\nConnection: close");
    assert_eq!(without.status, 400, "{without:?}");
    assert!(without.body.contains("'Host'"), "{without:?}");
    let two = ask("HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close");
    assert_eq!(two.status, 400, "{two:?}");
    assert_eq!(ask("HTTP/1.0").status, 200);
}

#[test]
fn what_is_too_long_before_the_body_is_told_the_limit() {
    let server = small();
    let address = format!("GET /query?query={} HTTP/1.1\r\n", "x".repeat(70_000));
    let lines = "A: b\r\n".repeat(101);
    let long = format!("A: {}\r\n", "x".repeat(500_000));
    for (start, lines, status, limit) in [
        (address.as_str(), "", 414, "65534 bytes"),
        ("GET / HTTP/1.1\r\n", lines.as_str(), 431, "100 headers"),
    ] {
        let request = format!("{start}Host: x\r\n{lines}\r\n");
        let answer = to_the_end(&server, &request);
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.header("connection"), Some("close"));
        let media_type = answer.header("content-type");
        assert_eq!(media_type, Some("application/problem+json"));
        let length = answer.header("content-length").and_then(|l| l.parse().ok());
        assert_eq!(length, Some(answer.body.len()));
        assert!(answer.body.contains(limit), "{answer:?}");
    }
    // One that comes to its end in what the library reads beyond the limit is served, so this one does not.
    let answer = to_the_end(&server, &format!("GET / HTTP/1.1\r\nHost: x\r\n{long}"));
    assert_eq!(answer.status, 431, "{answer:?}");
    assert!(answer.body.contains("417792 bytes"), "{answer:?}");
}

#[test]
fn a_connection_on_which_nothing_is_asked_is_closed() {
    let idle_timeout = Duration::from_millis(600);
    let options = ServerOptions {
        idle_timeout,
        ..ServerOptions::default()
    };
    let server = start(DATA, options);
    let head = "GET /health HTTP/1.1\r\nHost: x\r\n";
    for (asked, sent_later) in [("", ""), (head, ""), (head, "A: b\r\n")] {
        let begin = Instant::now();
        let mut stream = send(&server, asked);
        // What comes bit by bit must be whole in time, too.
        std::thread::sleep(idle_timeout * 2 / 3);
        let sent = stream.write_all(sent_later.as_bytes());
        sent.expect("it is still open");
        let mut bytes = Vec::new();
        let read = stream.read_to_end(&mut bytes);
        read.expect("it ends in order");
        assert_eq!((bytes, sent_later), (Vec::new(), sent_later));
        let time = begin.elapsed();
        assert!(idle_timeout <= time, "{asked:?}: {time:?}");
        assert!(time < idle_timeout * 10, "{asked:?}: {time:?}");
    }
}

#[test]
fn a_connection_on_which_something_is_asked_now_and_then_stays() {
    let idle_timeout = Duration::from_millis(600);
    let many: String = (0..40)
        .map(|i| format!("<http://e/s{i}> <http://e/p> {i} .\n"))
        .collect();
    let options = ServerOptions {
        idle_timeout,
        ..ServerOptions::default()
    };
    let server = start(&many, options);
    let mut stream = send(&server, "");
    for _ in 0..5 {
        std::thread::sleep(idle_timeout / 3);
        let request = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
        stream.write_all(request.as_bytes()).expect("it is open");
        let answer = read_answer(&mut stream).expect("an answer");
        assert!(answer.starts_with("http/1.1 200 "), "{answer}");
    }
    // A query that takes longer than that.
    let count = "SELECT (COUNT(*) AS ?n) { ?a ?p1 ?b . ?c ?p2 ?d . ?e ?p3 ?f . ?g ?p4 ?h . ?i ?p5 ?j . ?k ?p6 ?l . ?m ?p7 ?n2 FILTER(?b + ?d + ?f + ?h + ?j + ?l + ?n2 < 0) }";
    let target = format!("/query?timeout=1500ms&query={}", escape(count));
    let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it is open");
    let answer = read_answer(&mut stream).expect("an answer");
    assert!(answer.starts_with("http/1.1 503 "), "{answer}");
    // An answer in pieces that the client takes slowly, and a body that it sends slowly.
    let pairs = escape("SELECT * { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f }");
    let target = format!("/query?format=csv&query={pairs}");
    let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let mut slow = send(&server, &request);
    std::thread::sleep(idle_timeout * 3 / 2);
    let answer = end_of(&mut slow);
    assert_eq!(answer.body.lines().count(), 64_001);
    let body = "<http://e/a> <http://e/b> <http://e/c> .";
    let length = body.len();
    let request = format!(
        "POST /store?default HTTP/1.1\r\nHost: x\r\n{TURTLE}Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("it is open");
    std::thread::sleep(idle_timeout * 3 / 2);
    stream.write_all(body.as_bytes()).expect("it is open");
    let head = read_head(&mut stream);
    assert!(head.starts_with("HTTP/1.1 204 "), "{head}");
}

/// The head of an answer without a body.
fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        head.extend_from_slice(&byte);
    }
    String::from_utf8(head).expect("it is text")
}
