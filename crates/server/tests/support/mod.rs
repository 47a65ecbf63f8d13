//! A server on loopback and a client of plain sockets.

#![allow(dead_code, reason = "each test program uses its own part")]

use basalt_engine::{Database, GraphFormat};
use basalt_server::{RunningServer, ServerOptions, spawn};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The head, in lower case.
    pub head: String,
    /// The body, with chunks joined.
    pub body: String,
    /// Whether the body came to its end mark.
    pub is_whole: bool,
}

impl Answer {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// Starts a server on a free port.
pub fn start(data: &str, options: ServerOptions) -> RunningServer {
    let database = Database::in_memory();
    database
        .load_text(data, GraphFormat::TriG)
        .expect("the data can be loaded");
    let options = ServerOptions {
        bind: "127.0.0.1:0".to_owned(),
        ..options
    };
    spawn(Arc::new(database), options).expect("the server starts")
}

/// Opens a connection and sends a request.
pub fn send(server: &RunningServer, request: &str) -> TcpStream {
    send_bytes(server, request.as_bytes())
}

/// As [`send`], of a request that is not all text.
pub fn send_bytes(server: &RunningServer, request: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).expect("the server listens");
    stream.write_all(request).expect("the request is sent");
    stream
}

/// Sends a request with these header lines and this body, and reads the answer.
pub fn exchange(server: &RunningServer, line: &str, headers: &str, body: &str) -> Answer {
    let length = match body.is_empty() {
        true => String::new(),
        false => format!("Content-Length: {}\r\n", body.len()),
    };
    let request =
        format!("{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}{length}\r\n{body}");
    let mut bytes = Vec::new();
    // A connection that is reset ends the answer like one that is closed.
    let _ = send(server, &request).read_to_end(&mut bytes);
    parse(&bytes)
}

/// Reads one answer off a connection that stays, in lower case.
pub fn read_answer(stream: &mut TcpStream) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer)?;
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && is_whole(head, body)
        {
            return Ok(text);
        }
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Whether all of an answer is there.
fn is_whole(head: &str, body: &str) -> bool {
    if head.contains("transfer-encoding: chunked") {
        return body.ends_with("0\r\n\r\n");
    }
    let mut lines = head.lines();
    let length = lines.find_map(|line| line.strip_prefix("content-length: "));
    let length: Option<usize> = length.and_then(|length| length.parse().ok());
    length.is_some_and(|length| length <= body.len())
}

/// GET without headers.
pub fn get(server: &RunningServer, target: &str) -> Answer {
    exchange(server, &format!("GET {target}"), "", "")
}

/// POST of a query with an `Accept` header.
pub fn post(server: &RunningServer, target: &str, accept: &str, query: &str) -> Answer {
    let headers = format!("Content-Type: application/sparql-query\r\nAccept: {accept}\r\n");
    exchange(server, &format!("POST {target}"), &headers, query)
}

/// The number of quads.
pub fn quads(server: &RunningServer) -> u64 {
    let query = "SELECT (COUNT(*) AS ?n) { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }";
    let answer = post(server, "/query", "text/csv", query);
    let number = answer.body.lines().nth(1).expect("a row");
    number.parse().expect("a number")
}

/// Escapes a value of a form.
pub fn escape(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Takes an answer apart.
pub fn parse(bytes: &[u8]) -> Answer {
    let text = String::from_utf8(bytes.to_vec()).expect("the answer is UTF-8");
    let (head, rest) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let head = head.to_ascii_lowercase();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .unwrap_or(0);
    let (body, is_whole) = match head.contains("transfer-encoding: chunked") {
        true => join_chunks(rest),
        false => (rest.to_owned(), true),
    };
    Answer {
        status,
        head,
        body,
        is_whole,
    }
}

fn join_chunks(mut rest: &str) -> (String, bool) {
    let mut body = String::new();
    // Termination: every round takes a chunk from the rest.
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("the size of a chunk");
        if size == 0 {
            return (body, true);
        }
        match after.get(..size) {
            Some(chunk) => body.push_str(chunk),
            None => return (body, false),
        }
        rest = after.get(size + 2..).unwrap_or_default();
    }
    (body, false)
}

/// Every answer has its status and is a problem document.
pub fn check_refusals(cases: impl IntoIterator<Item = (Answer, u16)>) {
    for (number, (answer, status)) in cases.into_iter().enumerate() {
        assert_eq!(answer.status, status, "case {number}: {answer:?}");
        let media_type = answer.header("content-type");
        assert_eq!(
            media_type,
            Some("application/problem+json"),
            "case {number}"
        );
    }
}
