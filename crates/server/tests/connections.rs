//! How connections go on and end: requests whose body nobody reads, answers that break off, requests that are none.

#![allow(
    dead_code,
    reason = "each test program uses its own part of the support"
)]

mod support;

use basalt_server::{RunningServer, ServerOptions};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;
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
    let answer = to_the_end(&server, &format!("GET / HTTP/1.1\r\nHost: x\r\n{long}\r\n"));
    assert_eq!(answer.status, 431, "{answer:?}");
    assert!(answer.body.contains("417792 bytes"), "{answer:?}");
}
