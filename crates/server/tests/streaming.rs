//! Answers that are larger than the memory they may take: complete, in every format, also for a client that
//! dawdles; and never complete in looks only.
//!
//! The memory is that of this process, so the tests run one after the other. `BASALT_TESTS_FULL=1` asks for more than two million rows.

#![allow(
    dead_code,
    reason = "each test program uses its own part of the support"
)]

mod support;

use basalt_server::{RunningServer, ServerOptions};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use support::{escape, send, start};

/// Memory that an answer with solutions may take beyond what was taken before it, for two clients: chunks on their
/// way and batches. Each answer that is asked for here is larger.
const SOLUTIONS_BYTES_MAX: u64 = 14 << 20;
/// The same for graphs, with the triples that each CONSTRUCT remembers. All its triples as terms would be more.
const GRAPH_BYTES_MAX: u64 = 40 << 20;

/// Held by the test that runs: the memory measured is that of the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// A body as it comes over the socket, without its chunks.
struct Body {
    stream: BufReader<TcpStream>,
    /// Bytes of the current chunk that were not read yet.
    chunk_bytes: usize,
    /// Whether the last chunk, the empty one, was seen.
    is_whole: bool,
}

impl Body {
    /// Sends a query and reads the head of the answer.
    fn ask(server: &RunningServer, query: &str, format: &str) -> Self {
        let query = escape(query);
        let request = format!(
            "GET /query?format={format}&query={query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        );
        let mut stream = BufReader::new(send(server, &request));
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = stream.read_line(&mut head).expect("a head comes");
            assert!(read > 0, "the head has an end: {head}");
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(
            head.to_ascii_lowercase()
                .contains("transfer-encoding: chunked"),
            "{head}"
        );
        Self {
            stream,
            chunk_bytes: 0,
            is_whole: false,
        }
    }

    /// Reads to the end, calling `seen` for each piece.
    fn drain(&mut self, mut seen: impl FnMut(&[u8])) {
        let mut buffer = vec![0; 64 << 10];
        while let Some(bytes) = self.piece(&mut buffer) {
            seen(&buffer[..bytes]);
        }
    }

    /// Some bytes; `None` at the end, also at one that came too early.
    fn piece(&mut self, buffer: &mut [u8]) -> Option<usize> {
        if self.chunk_bytes == 0 {
            let mut line = String::new();
            // The line end after a chunk, then the line with the size of the next.
            while line.trim().is_empty() {
                line.clear();
                match self.stream.read_line(&mut line) {
                    Ok(0) | Err(_) => return None,
                    Ok(_) => {}
                }
            }
            self.chunk_bytes = usize::from_str_radix(line.trim(), 16).ok()?;
            if self.chunk_bytes == 0 {
                self.is_whole = true;
                return None;
            }
        }
        let wanted = self.chunk_bytes.min(buffer.len());
        match self.stream.read(&mut buffer[..wanted]) {
            Ok(0) | Err(_) => None,
            Ok(bytes) => {
                self.chunk_bytes -= bytes;
                Some(bytes)
            }
        }
    }
}

/// Memory of this process that is no file; 0 where the system does not tell.
fn memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

/// So many subjects with one integer each.
fn many(subjects: usize) -> String {
    (0..subjects)
        .map(|i| format!("<http://example.org/subject/{i}> <http://e/p> {i} .\n"))
        .collect()
}

/// Fetches an answer twice at once: one client takes the head, waits till the other has everything, and
/// then reads on.
fn check(
    server: &RunningServer,
    query: &str,
    (format, mark): (&str, u8),
    marks_min: usize,
    growth_max: u64,
) {
    let before = memory_bytes();
    let mut slow = Body::ask(server, query, format);
    let mut fast = Body::ask(server, query, format);
    let (mut most, mut bytes, mut marks) = (before, 0, 0);
    let count = |piece: &[u8]| piece.iter().filter(|&&byte| byte == mark).count();
    fast.drain(|piece| {
        if (bytes + piece.len()) >> 20 > bytes >> 20 {
            most = most.max(memory_bytes());
        }
        bytes += piece.len();
        marks += count(piece);
    });
    let (mut slow_bytes, mut slow_marks) = (0, 0);
    slow.drain(|piece| {
        slow_bytes += piece.len();
        slow_marks += count(piece);
    });
    most = most.max(memory_bytes());
    let growth = most - before;
    eprintln!(
        "{format}: {bytes} bytes, memory grew by {} KB",
        growth >> 10
    );
    assert!(fast.is_whole && slow.is_whole, "{format} came to its end");
    assert!(marks >= marks_min, "{format}: {marks} of {marks_min}");
    assert_eq!(marks, slow_marks, "{format}");
    assert!(growth < growth_max, "{format}: {} MB", growth >> 20);
}

#[test]
fn answers_of_any_size_stream_whole_in_constant_memory() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let subjects = match std::env::var("BASALT_TESTS_FULL").as_deref() {
        Ok("1") => 1500,
        _ => 500,
    };
    let options = ServerOptions {
        timeout: None,
        ..ServerOptions::default()
    };
    let server = start(&many(subjects), options);
    let rows = subjects * subjects;
    let select = "SELECT ?a ?x ?b ?y { ?a <http://e/p> ?x . ?b <http://e/p> ?y }";
    let construct = "CONSTRUCT { ?a <http://e/r> ?b } { ?a <http://e/p> ?x . ?b <http://e/p> ?y }";
    // The allocator keeps what the first answer needed.
    check(&server, select, ("csv", b'\n'), rows + 1, GRAPH_BYTES_MAX);
    for format in ["json", "xml", "csv", "tsv"] {
        check(&server, select, (format, b'\n'), rows, SOLUTIONS_BYTES_MAX);
    }
    for format in [("nt", b'\n'), ("nq", b'\n'), ("ttl", b'<'), ("trig", b'<')] {
        check(&server, construct, format, rows, GRAPH_BYTES_MAX);
    }
}

#[test]
fn a_time_limit_within_an_answer_leaves_it_without_end() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let options = ServerOptions {
        timeout: Some(Duration::from_secs(2)),
        ..ServerOptions::default()
    };
    let server = start(&many(40), options);
    let endless = "SELECT * { ?a ?p1 ?b . ?c ?p2 ?d . ?e ?p3 ?f . ?g ?p4 ?h . ?i ?p5 ?j }";
    for format in ["json", "tsv"] {
        let mut body = Body::ask(&server, endless, format);
        let mut bytes = 0;
        body.drain(|piece| bytes += piece.len());
        assert!(bytes > 0, "rows came before the limit");
        assert!(
            !body.is_whole,
            "{format}: an answer that was cut off looks complete"
        );
    }
    let mut body = Body::ask(
        &server,
        "CONSTRUCT { ?a ?b ?c . ?c ?d ?e . ?e ?b ?g } WHERE { { ?a ?p ?x . ?c ?q ?y . ?e ?r ?z . ?f ?s ?w . ?g ?t ?v } BIND(<http://e/b> AS ?b) BIND(IRI(CONCAT(STR(?f), STR(?e))) AS ?d) }",
        "nt",
    );
    body.drain(|_| ());
    assert!(!body.is_whole, "a graph that was cut off looks complete");
}
