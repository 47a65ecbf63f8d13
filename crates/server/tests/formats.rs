//! RDF/XML, JSON-LD, Arrow and packed answers over a real socket.

#![allow(dead_code)]

mod support;

use basalt_engine::TextInput;
use basalt_server::{RunningServer, ServerOptions};
use std::io::{Cursor, Read};
use support::{escape, send, start};

const DATA: &str = "@prefix e: <http://e/> . e:a e:p 1 . e:b e:p \"x\"@de-AT .";
const SELECT: &str = "SELECT ?o { <http://e/a> <http://e/p> ?o }";
const CONSTRUCT: &str = "CONSTRUCT WHERE { ?s <http://e/p> ?o }";
const ALL: &str = "SELECT ?s ?o { ?s <http://e/p> ?o } ORDER BY ?o";

/// An answer of any bytes.
#[derive(Debug)]
struct Bytes {
    /// The head, in lower case.
    head: String,
    /// The body, with chunks joined.
    body: Vec<u8>,
    /// Whether the body came to its end.
    is_whole: bool,
}

impl Bytes {
    fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The body unpacked as far as it goes.
    fn text(&self) -> String {
        unpacked(&self.body)
    }
}

fn unpacked(body: &[u8]) -> String {
    let input = TextInput::from_reader("body", None, Cursor::new(body.to_vec()));
    let mut reader = input.expect("it begins well").into_reader();
    let mut text = Vec::new();
    let mut piece = [0; 4096];
    // Termination: the body ends, or is cut off, which is an error.
    while let Ok(count @ 1..) = reader.read(&mut piece) {
        text.extend_from_slice(&piece[..count]);
    }
    String::from_utf8(text).expect("UTF-8")
}

/// A request for a query; `method` is GET or HEAD.
fn ask(
    server: &RunningServer,
    method: &str,
    parameters: &str,
    headers: &str,
    query: &str,
) -> Bytes {
    let query = escape(query);
    let request = format!(
        "{method} /query?query={query}{parameters} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n"
    );
    let mut bytes = Vec::new();
    // A connection that is reset ends the answer like one that is closed.
    let _ = send(server, &request).read_to_end(&mut bytes);
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> Bytes {
    let end = bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .expect("a head");
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let mut rest = &bytes[end + 4..];
    if !head.contains("transfer-encoding: chunked") {
        let (body, is_whole) = (rest.to_vec(), true);
        return Bytes {
            head,
            body,
            is_whole,
        };
    }
    let mut body = Vec::new();
    let mut is_whole = false;
    // Termination: every round takes a chunk from the rest.
    while let Some(line) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(&String::from_utf8_lossy(&rest[..line]), 16);
        let size = size.expect("the size of a chunk");
        is_whole = size == 0;
        let Some(chunk) = rest.get(line + 2..line + 2 + size).filter(|_| size > 0) else {
            break;
        };
        body.extend_from_slice(chunk);
        rest = rest.get(line + 4 + size..).unwrap_or_default();
    }
    Bytes {
        head,
        body,
        is_whole,
    }
}

fn small() -> RunningServer {
    start(DATA, ServerOptions::default())
}

fn many(subjects: u32) -> RunningServer {
    let data: String = (0..subjects)
        .map(|i| format!("<http://e/s{i}> <http://e/p> {i} .\n"))
        .collect();
    start(&data, ServerOptions::default())
}

#[test]
fn graphs_come_as_rdf_xml_and_json_ld() {
    let server = small();
    let cases = [
        (
            "",
            "Accept: application/rdf+xml\r\n",
            "application/rdf+xml",
            "xml:lang=\"de-AT\">x<",
        ),
        (
            "",
            "Accept: text/xml\r\n",
            "text/xml; charset=utf-8",
            "xml:lang=\"de-AT\">x<",
        ),
        ("&format=rdfxml", "", "application/rdf+xml", "<rdf:RDF "),
        ("&format=xml", "", "application/rdf+xml", "</rdf:RDF>"),
        (
            "",
            "Accept: application/ld+json, */*;q=0.1\r\n",
            "application/ld+json",
            "\"@language\":\"de-AT\"",
        ),
        (
            "&format=jsonld",
            "Accept: text/turtle\r\n",
            "application/ld+json",
            "[\n{\"@id\":",
        ),
    ];
    for (parameters, headers, media_type, part) in cases {
        let answer = ask(&server, "GET", parameters, headers, CONSTRUCT);
        assert_eq!(
            answer.header("content-type"),
            Some(media_type),
            "{answer:?}"
        );
        assert!(answer.text().contains(part), "{}", answer.text());
    }
}

#[test]
fn solutions_and_booleans_come_as_arrow() {
    let server = small();
    let arrow = "application/vnd.apache.arrow.stream";
    for query in [SELECT, "ASK {}"] {
        for (parameters, headers) in [
            ("", format!("Accept: {arrow}\r\n")),
            ("&format=arrow", String::new()),
        ] {
            let answer = ask(&server, "GET", parameters, &headers, query);
            assert_eq!(answer.header("content-type"), Some(arrow), "{answer:?}");
            assert!(answer.body.starts_with(&[0xFF; 4]), "the mark of a message");
            assert!(
                answer.body.ends_with(b"\xFF\xFF\xFF\xFF\0\0\0\0"),
                "the mark of the end"
            );
        }
    }
    let preferred = "Accept: application/vnd.apache.arrow.stream;q=0.5, text/csv;q=0.4\r\n";
    let answer = ask(&server, "GET", "", preferred, SELECT);
    assert_eq!(answer.header("content-type"), Some(arrow));
    let anything = ask(&server, "GET", "", "Accept: application/*\r\n", SELECT);
    assert_eq!(
        anything.header("content-type"),
        Some("application/sparql-results+json")
    );
}

#[test]
fn answers_are_packed_when_asked_for() {
    let server = many(30_000);
    let plain = ask(&server, "GET", "&format=csv", "", ALL);
    assert_eq!(
        (plain.header("content-encoding"), plain.is_whole),
        (None, true)
    );
    assert_eq!(plain.header("vary"), Some("accept, accept-encoding"));
    for coding in ["gzip", "zstd"] {
        let headers = format!("Accept-Encoding: br, {coding};q=0.5\r\n");
        let packed = ask(&server, "GET", "&format=csv", &headers, ALL);
        assert_eq!(
            packed.header("content-encoding"),
            Some(coding),
            "{}",
            packed.head
        );
        assert!(packed.is_whole && packed.body.len() < plain.body.len() / 2);
        assert!(packed.text() == plain.text(), "{coding}");
        let graph = ask(&server, "GET", "&format=ttl", &headers, CONSTRUCT);
        assert_eq!(graph.header("content-encoding"), Some(coding));
        assert_eq!(graph.text().lines().count(), 30_000);
        // Large enough to be packed, small enough to go out whole, with its length.
        let some = ask(
            &server,
            "GET",
            "&format=csv",
            &headers,
            &format!("{ALL} LIMIT 200"),
        );
        assert_eq!(some.header("content-encoding"), Some(coding));
        assert_eq!(
            some.header("content-length"),
            Some(some.body.len().to_string().as_str())
        );
        assert_eq!(some.text().lines().count(), 201);
    }
}

#[test]
fn small_answers_and_problems_stay_plain() {
    let server = small();
    let headers = "Accept-Encoding: gzip, zstd\r\n";
    let small = ask(&server, "GET", "&format=csv", headers, SELECT);
    assert_eq!(small.header("content-encoding"), None);
    assert_eq!(small.body, b"o\r\n1\r\n");
    let problem = ask(&server, "GET", "", headers, "nonsense");
    assert_eq!(problem.header("content-encoding"), None);
    assert_eq!(
        problem.header("content-type"),
        Some("application/problem+json")
    );
    let refused = ask(
        &server,
        "GET",
        "",
        "Accept-Encoding: identity;q=0\r\n",
        SELECT,
    );
    assert!(refused.head.starts_with("http/1.1 406"), "{refused:?}");
}

#[test]
fn head_has_the_headers_of_get() {
    let server = many(1000);
    let headers = "Accept-Encoding: gzip\r\n";
    let query = format!("{ALL} LIMIT 300");
    let get = ask(&server, "GET", "&format=arrow", headers, &query);
    let head = ask(&server, "HEAD", "&format=arrow", headers, &query);
    for name in ["content-type", "content-encoding", "content-length", "vary"] {
        assert_eq!(head.header(name), get.header(name), "{name}");
        assert!(get.header(name).is_some(), "{name}");
    }
    assert!(head.body.is_empty());
}

/// What stands in the chunks of a body, as far as they go.
fn payload(mut body: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    // Termination: each turn takes at least the line with a size.
    while let Some(end) = body.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&body[..end]).expect("a size is text");
        let size = usize::from_str_radix(size, 16).expect("a size");
        let rest = &body[end + 2..];
        payload.extend_from_slice(&rest[..size.min(rest.len())]);
        body = rest.get(size + 2..).unwrap_or_default();
    }
    payload
}

#[test]
fn the_first_rows_of_a_packed_answer_come_early() {
    let server = many(60);
    // Sixty to the sixth power rows: nobody waits for the last one.
    let query = "SELECT ?b ?d ?f ?h ?j ?l { ?a ?p1 ?b . ?c ?p2 ?d . ?e ?p3 ?f . ?g ?p4 ?h . ?i ?p5 ?j . ?k ?p6 ?l }";
    for coding in ["gzip", "zstd"] {
        let request = format!(
            "GET /query?format=csv&query={} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: {coding}\r\n\r\n",
            escape(query)
        );
        let mut stream = send(&server, &request);
        let mut bytes = vec![0; 4096];
        stream.read_exact(&mut bytes).expect("the answer begins");
        drop(stream);
        let answer = parse(&bytes);
        assert_eq!(answer.header("content-encoding"), Some(coding));
        let body = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .expect("a head")
            + 4;
        let text = unpacked(&payload(&bytes[body..]));
        assert!(text.starts_with("b,d,f,h,j,l\r\n"), "{text}");
        assert!(text.lines().count() > 20, "{text}");
    }
}
