//! Bulk loads over a real socket: one document or several inputs, answers at the end or in lines, bodies that are cut.

mod support;

use basalt_server::{RunningServer, ServerOptions};
use serde_json::Value;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use support::{Answer, exchange, get, parse, post, quads, read_answer, send, start};

const DATA: &str = "<http://e/a> <http://e/p> 1 .";
const TRIPLES: &str = "Content-Type: application/n-triples\r\n";
const INPUTS: &str = "Content-Type: application/vnd.basalt.inputs\r\n";
const GOOD: &str = "<http://e/s> <http://e/p> <http://e/o> .\n";
const UPDATE: &str = "Content-Type: application/sparql-update\r\n";
/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Less than the server waits for a client that has stopped sending.
const SOON: Duration = Duration::from_secs(5);

fn small() -> RunningServer {
    start(DATA, ServerOptions::default())
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn lines(answer: &Answer) -> Vec<Value> {
    assert!(answer.is_whole, "{answer:?}");
    answer.body.lines().map(json).collect()
}

/// Several inputs in pieces of this size.
fn inputs(list: &str, contents: &[&str], piece: usize) -> String {
    let mut body = format!("{{\"inputs\":{list}}}\n");
    for content in contents {
        for piece in content.as_bytes().chunks(piece) {
            let text = std::str::from_utf8(piece).expect("ASCII");
            body.push_str(&format!("{}\n{text}\n", piece.len()));
        }
        body.push_str("0\n");
    }
    body
}

#[test]
fn a_document_is_loaded_and_told_at_the_end() {
    let server = small();
    let target = "POST /load?graph=http%3A%2F%2Fe%2Fg";
    let answer = exchange(&server, target, TRIPLES, GOOD);
    assert_eq!(answer.status, 200, "{answer:?}");
    let summary = json(&answer.body);
    assert_eq!(
        (&summary["quads_read"], &summary["quads"]),
        (&1.into(), &2.into())
    );
    assert_eq!(quads(&server), 2);
    let named = "ASK { GRAPH <http://e/g> { <http://e/s> ?p ?o } }";
    let answer = post(&server, "/query", "text/csv", named);
    assert!(answer.body.contains("true"), "{answer:?}");
    assert!(
        get(&server, "/metrics")
            .body
            .contains("basalt_quads_added_total 1\n")
    );
    assert!(!get(&server, "/metrics").body.contains("basalt_durability"));
}

#[test]
fn several_inputs_are_one_load_however_they_are_cut() {
    let list = r#"[{"name":"a.nt"},{"name":"b","format":"ttl"},{"name":"empty.nq"}]"#;
    let contents = [
        "_:b <http://e/p> 'x' .\n",
        "_:b <http://e/p> 'y', 'z' .",
        "",
    ];
    // The strings of N-Triples have other quotes.
    let contents = contents.map(|content| content.replace('\'', "\""));
    let contents: Vec<&str> = contents.iter().map(String::as_str).collect();
    for piece in [1, 7, 1000] {
        let server = small();
        let headers = format!("{INPUTS}Accept: application/x-ndjson\r\n");
        let body = inputs(list, &contents, piece);
        let answer = exchange(&server, "POST /load", &headers, &body);
        assert_eq!(answer.status, 200, "{answer:?}");
        let told = lines(&answer);
        let last = told.last().expect("a last line");
        assert_eq!(last["loaded"]["quads_read"], 3, "{answer:?}");
        assert!(told.iter().any(|line| line["progress"]["quads"] == 3));
        assert_eq!(quads(&server), 4);
        let subjects = "SELECT (COUNT(DISTINCT ?s) AS ?n) { ?s <http://e/p> ?o }";
        let answer = post(&server, "/query", "text/csv", subjects);
        assert!(answer.body.contains('3'), "{answer:?}");
    }
}

#[test]
fn what_cannot_be_loaded_is_told_and_changes_nothing() {
    let server = small();
    let cases = [
        ("POST /load", TRIPLES, "bad\n", 400, "the body:1:1"),
        ("POST /load?grph=x", TRIPLES, GOOD, 400, "'grph'"),
        (
            "POST /load?graph=relative",
            TRIPLES,
            GOOD,
            400,
            "'relative'",
        ),
        ("POST /load?memory=1", TRIPLES, GOOD, 507, "memory budget"),
        ("POST /load?lock=other", TRIPLES, GOOD, 409, "lock"),
        ("POST /load", "", GOOD, 415, "expected"),
        (
            "POST /load",
            "Content-Type: text/css\r\n",
            GOOD,
            415,
            "'text/css'",
        ),
        ("POST /load", INPUTS, "{}\n", 400, "'inputs'"),
        (
            "POST /load",
            INPUTS,
            "{\"inputs\":[{\"name\":\"a.doc\"}]}\n0\n",
            400,
            "a.doc",
        ),
        ("PUT /load", TRIPLES, GOOD, 405, "PUT"),
        ("GET /load", "", "", 405, "GET"),
    ];
    for (line, headers, body, status, told) in cases {
        let answer = exchange(&server, line, headers, body);
        assert_eq!(answer.status, status, "{line} {body}: {answer:?}");
        let detail = json(&answer.body)["detail"].to_string();
        assert!(detail.contains(told), "{line} {body}: {detail}");
        assert_eq!(quads(&server), 1, "{line} {body}");
    }
    let headers = format!("{TRIPLES}Accept: application/x-ndjson\r\n");
    let answer = exchange(&server, "POST /load", &headers, "bad\n");
    let told = lines(&answer);
    assert_eq!(told.last().expect("a last line")["failed"]["status"], 400);
}

#[test]
fn bad_lines_are_skipped_and_sent_back() {
    let server = small();
    let headers = format!("{TRIPLES}Accept: application/x-ndjson\r\n");
    let body = format!("bad\n{GOOD}worse\n");
    let answer = exchange(
        &server,
        "POST /load?lenient=true&errors=true",
        &headers,
        &body,
    );
    let told = lines(&answer);
    let bad: String = told
        .iter()
        .filter_map(|line| line["bad_lines"].as_str())
        .collect();
    let kept: Vec<&str> = bad.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(kept, ["bad", "worse"], "{answer:?}");
    let last = told.last().expect("a last line");
    assert_eq!(last["loaded"]["skipped_lines"], 2);
    assert_eq!(last["skipped"].as_array().map(Vec::len), Some(2));
    let answer = exchange(&server, "POST /load?lenient", TRIPLES, "bad\n");
    assert_eq!(
        json(&answer.body)["skipped"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(quads(&server), 2);
}

#[test]
fn a_body_that_is_cut_loads_nothing() {
    let server = small();
    let whole = inputs(r#"[{"name":"a.nt"},{"name":"b.nt"}]"#, &[GOOD, GOOD], 10);
    for (headers, body) in [(TRIPLES, GOOD), (INPUTS, whole.as_str())] {
        for cut in [1, body.len() / 2, body.len()] {
            // The head promises one byte more than ever comes.
            let request = format!(
                "POST /load HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n{}",
                body.len() + 1,
                &body[..cut]
            );
            let stream = send(&server, &request);
            stream
                .shutdown(std::net::Shutdown::Write)
                .expect("it is open");
            let mut bytes = Vec::new();
            // A server that drops the connection has given no answer.
            let _ = std::io::Read::read_to_end(&mut &stream, &mut bytes);
            let answer = parse(&bytes);
            // All inputs are whole before the last byte is missed.
            let may_load = headers == INPUTS && cut == body.len();
            assert!(may_load || answer.status != 200, "{cut}: {answer:?}");
        }
    }
    assert!(quads(&server) <= 2);
}

/// Begins a load of two inputs, of which only so many lines of the first come, and waits until it is listed: the
/// connection, and the number of the load.
fn begin_load(server: &RunningServer, headers: &str, lines: usize) -> (TcpStream, u64) {
    let list = r#"[{"name":"a.nt"},{"name":"b.nt"}]"#;
    let part = inputs(list, &[GOOD.repeat(lines).as_str()], 1000);
    let part = part.strip_suffix("0\n").expect("the end of the input");
    let request = format!(
        "POST /load HTTP/1.1\r\nHost: x\r\n{INPUTS}{headers}Content-Length: 9000000\r\n\r\n{part}"
    );
    let stream = send(server, &request);
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a time limit");
    let start = Instant::now();
    loop {
        let list = json(&get(server, "/queries").body);
        let loads = list.as_array().expect("a list");
        let load = loads.iter().find(|entry| entry["query"] == "POST /load");
        if let Some(load) = load {
            return (stream, load["id"].as_u64().expect("a number"));
        }
        assert!(start.elapsed() < PATIENCE, "the load is not listed");
        std::thread::yield_now();
    }
}

#[test]
fn a_cancelled_load_is_told_so_and_gives_its_turn_back() {
    // Few lines are still being looked at to tell the packing, many are being read.
    for lines in [1, 1000] {
        let options = ServerOptions {
            threads: 2,
            ..ServerOptions::default()
        };
        let server = start(DATA, options);
        let (mut stream, id) = begin_load(&server, "", lines);
        let start = Instant::now();
        let cancelled = exchange(&server, &format!("DELETE /queries/{id}"), "", "");
        assert_eq!(cancelled.status, 204, "{cancelled:?}");
        let answer = read_answer(&mut stream).expect("an answer");
        let answer = parse(answer.as_bytes());
        assert_eq!(answer.status, 503, "{lines}: {answer:?}");
        assert!(answer.body.contains("cancelled"), "{lines}: {answer:?}");
        assert!(
            start.elapsed() < SOON,
            "{lines}: it took {:?}",
            start.elapsed()
        );
        assert_eq!(quads(&server), 1, "{lines}");
        let insert = "INSERT DATA { <http://e/a> <http://e/p> 7 }";
        let update = exchange(&server, "POST /update", UPDATE, insert);
        assert_eq!(update.status, 200, "{lines}: {update:?}");
        assert_eq!(quads(&server), 2, "{lines}");
    }
}

#[test]
fn who_may_not_write_may_not_cancel_a_load() {
    let options = ServerOptions {
        token: Some("secret".to_owned()),
        ..ServerOptions::default()
    };
    let server = start(DATA, options);
    let token = "Authorization: Bearer secret\r\n";
    let (mut stream, id) = begin_load(&server, token, 1);
    let cancel = |headers: &str| {
        let line = format!("DELETE /queries/{id}");
        exchange(&server, &line, headers, "").status
    };
    assert_eq!(cancel(""), 401);
    assert_eq!(cancel("Authorization: Bearer guess\r\n"), 401);
    let of_another_page = format!("{token}Origin: http://elsewhere\r\n");
    assert_eq!(cancel(&of_another_page), 403);
    assert_eq!(cancel(token), 204);
    let answer = read_answer(&mut stream).expect("an answer");
    assert_eq!(parse(answer.as_bytes()).status, 503, "{answer}");
}

#[test]
fn a_read_only_server_takes_no_load() {
    let options = ServerOptions {
        read_only: true,
        ..ServerOptions::default()
    };
    let server = start(DATA, options);
    assert_eq!(exchange(&server, "POST /load", TRIPLES, GOOD).status, 403);
    assert_eq!(quads(&server), 1);
}
