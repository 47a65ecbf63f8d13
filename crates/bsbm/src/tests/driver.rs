//! The driver against a server that answers as told.

use crate::http::{Client, Endpoint, Failure};
use crate::{BsbmError, Draw, ParameterPool, RunOptions, UseCase, query_text, run};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

const ROWS: &str = r#"{"head":{"vars":["a"]},"results":{"bindings":[
    {"a":{"type":"literal","value":"1.50","datatype":"http://www.w3.org/2001/XMLSchema#decimal"}},
    {"a":{"type":"uri","value":"http://x/"}}]}}"#;
const ROWS_TURNED: &str = r#"{"head":{"vars":["a"]},"results":{"bindings":[
    {"a":{"type":"uri","value":"http://x/"}},
    {"a":{"type":"literal","value":"1.5E0","datatype":"http://www.w3.org/2001/XMLSchema#decimal"}}]}}"#;
const TRIPLES: &str = "<http://x/> <http://y/> \"z\" .\n";

/// A request as the server saw it.
struct Request {
    accept: String,
    body: String,
}

type Respond = fn(&Request) -> Vec<u8>;

/// Serves on a free port until the process ends; answers with what `respond` returns.
fn serve(respond: Respond) -> (String, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("the listener is bound");
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || serve_connection(stream, respond, &sender));
        }
    });
    (format!("http://{address}/sparql"), receiver)
}

fn serve_connection(stream: TcpStream, respond: Respond, sender: &Sender<Request>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut writer = stream;
    loop {
        let mut length = 0;
        let mut accept = String::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.trim().parse().ok()?;
            }
            if let Some(value) = line.strip_prefix("Accept: ") {
                accept = value.trim().to_owned();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body = String::from_utf8(body).ok()?;
        let request = Request { accept, body };
        let answer = respond(&request);
        // The test may have stopped listening.
        let _ = sender.send(request);
        writer.write_all(&answer).ok()?;
        if answer.is_empty() {
            return None;
        }
    }
}

fn answer(media_type: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {media_type};charset=utf-8\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

fn good(request: &Request) -> Vec<u8> {
    match request.accept.as_str() {
        "application/n-triples" => answer("application/n-triples", TRIPLES),
        "*/*" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        media_type => answer(media_type, ROWS),
    }
}

/// The same answers in another order, in another spelling and in chunks.
fn good_turned(request: &Request) -> Vec<u8> {
    let (media_type, body) = match request.accept.as_str() {
        "application/n-triples" => ("text/plain", TRIPLES),
        media_type => (media_type, ROWS_TURNED),
    };
    let (first, second) = body.split_at(10);
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\nTransfer-Encoding: chunked\r\n\r\n\
         {:x}\r\n{first}\r\n{:X};note\r\n{second}\r\n0\r\n\r\n",
        first.len(),
        second.len()
    )
    .into_bytes()
}

fn pool() -> ParameterPool {
    ParameterPool::from_options(100, 1).expect("valid options")
}

fn options(endpoint: &str) -> RunOptions {
    RunOptions {
        warmup: 1,
        runs: 2,
        timeout: Duration::from_secs(20),
        ..RunOptions::new(endpoint)
    }
}

#[test]
fn a_run_asks_every_query_of_every_mix_and_counts_rows() {
    let (url, requests) = serve(good);
    let options = RunOptions {
        default_graph: Some("http://g/".to_owned()),
        ..options(&url)
    };
    let report = run(UseCase::Explore, &pool(), &options, &mut |_| ()).expect("a good endpoint");
    assert_eq!((report.errors, report.timeouts), (0, 0));
    assert!(report.qmph > 0.0 && report.cqet_s > 0.0);
    let counts: Vec<_> = report
        .queries
        .iter()
        .map(|q| (q.number, q.count, q.rows))
        .collect();
    assert_eq!(counts[0], (1, 2, 4));
    assert_eq!(counts[1], (2, 12, 24));
    assert_eq!(counts.iter().find(|c| c.0 == 9), Some(&(9, 8, 8)));
    assert_eq!(counts.iter().find(|c| c.0 == 6), None);
    let bodies: Vec<String> = requests.try_iter().map(|request| request.body).collect();
    assert_eq!(bodies.len(), 75);
    assert!(
        bodies
            .iter()
            .all(|b| b.ends_with("&default-graph-uri=http%3A%2F%2Fg%2F"))
    );
    assert!(bodies.iter().all(|b| b.starts_with("query=%23%20")));
    let json: crate::Report = serde_json::from_str(&report.to_json()).expect("valid json");
    assert_eq!(json.queries.len(), 11);
    assert!(report.to_markdown().contains("\n| 12 | 2 | 2 |"));
}

#[test]
fn hashes_do_not_depend_on_order_spelling_or_clients() {
    let (url, _requests) = serve(good);
    let (url_turned, _requests_turned) = serve(good_turned);
    let hashes = |endpoint: &str, clients| {
        let options = RunOptions {
            clients,
            ..options(endpoint)
        };
        let report = run(UseCase::Explore, &pool(), &options, &mut |_| ());
        let report = report.expect("a good endpoint");
        assert_eq!(report.errors, 0, "{:?}", report.queries);
        let hashes = report.queries.into_iter().map(|query| query.result_hash);
        hashes.collect::<Vec<_>>()
    };
    let expected = hashes(&url, 1);
    assert_eq!(expected, hashes(&url_turned, 1));
    assert_eq!(expected, hashes(&url, 3));
}

#[test]
fn bad_answers_are_errors_and_do_not_end_the_run() {
    let bad: [(Respond, &str); 5] = [
        (|r| answer(&r.accept, "{\"results\":"), "unreadable results"),
        (|_| answer("text/html", "<p>"), "\"text/html\""),
        (
            |_| b"HTTP/1.1 500 X\r\nContent-Length: 4\r\n\r\noops".to_vec(),
            "status 500: oops",
        ),
        (|_| b"hello\r\n\r\n".to_vec(), "no status"),
        (|_| Vec::new(), "closed early"),
    ];
    for (respond, expected) in bad {
        let (url, _requests) = serve(respond);
        let options = RunOptions {
            warmup: 0,
            runs: 1,
            ignored: vec![2, 3, 4, 5, 7, 8, 9, 10, 12],
            ..options(&url)
        };
        let report = run(UseCase::Explore, &pool(), &options, &mut |_| ()).expect("a run");
        assert_eq!((report.errors, report.queries.len()), (2, 2), "{expected}");
        let error = report.queries[0].first_error.clone().unwrap_or_default();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn the_deadline_covers_the_whole_request() {
    // The answer promises more than it sends, and the connection stays open.
    let (url, _requests) = serve(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx".to_vec());
    let endpoint = Endpoint::parse(&url).expect("a valid address");
    let mut client = Client::new(endpoint, Duration::from_millis(50));
    let outcome = client.post(&[("query", "ASK {}")], "*/*").map(|a| a.status);
    assert_eq!(outcome, Err(Failure::Timeout));
    let options = RunOptions {
        warmup: 0,
        runs: 1,
        timeout: Duration::from_millis(50),
        ignored: vec![2, 3, 4, 5, 7, 8, 9, 10, 12],
        ..options(&url)
    };
    let report = run(UseCase::Explore, &pool(), &options, &mut |_| ()).expect("a run");
    assert_eq!((report.timeouts, report.errors), (2, 0));
    assert_eq!(report.queries[0].max_s, 0.05);
}

#[test]
fn updates_send_the_blocks_in_order_and_report_when_they_run_out() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("update.nt");
    let blocks = "<a:1> <a:b> <a:c> .\n\n#__SEP__\n<a:2> <a:b> <a:c> .\n\n#__SEP__\n\
                  <a:3> <a:b> <a:c> .\n\n#__SEP__\n";
    std::fs::write(&path, blocks).expect("the folder can be written");
    let (url, requests) = serve(good);
    let options = RunOptions {
        update_file: Some(path),
        ..options(&url)
    };
    let report = run(UseCase::ExploreAndUpdate, &pool(), &options, &mut |_| ()).expect("a run");
    let inserts = &report.queries[0];
    // Two mixes need four blocks, and there are three.
    assert_eq!((inserts.number, inserts.count, inserts.errors), (1, 4, 1));
    assert_eq!(report.queries[1].count, 6);
    let bodies: Vec<String> = requests.try_iter().map(|request| request.body).collect();
    let sent = bodies
        .iter()
        .filter(|b| b.starts_with("update=") && b.contains("INSERT"));
    let order: Vec<bool> = (1..=3)
        .zip(sent)
        .map(|(n, body)| body.contains(&format!("%3Ca%3A{n}%3E")))
        .collect();
    assert_eq!(order, [true, true, true]);
}

#[test]
fn impossible_runs_are_refused() {
    for url in [
        "https://x/",
        "x",
        "http://",
        "http:///q",
        "http://x:y/",
        "http://x/a b",
    ] {
        let error = run(UseCase::Bi, &pool(), &options(url), &mut |_| ());
        assert!(matches!(error, Err(BsbmError::BadEndpoint { .. })), "{url}");
    }
    let error = run(
        UseCase::ExploreAndUpdate,
        &pool(),
        &options("http://x/"),
        &mut |_| (),
    );
    assert!(matches!(error, Err(BsbmError::NoUpdateInput)));
}

#[test]
fn queries_arrive_as_they_were_written() {
    let (url, requests) = serve(good);
    let options = RunOptions {
        warmup: 0,
        runs: 1,
        ..options(&url)
    };
    run(UseCase::Bi, &pool(), &options, &mut |_| ()).expect("a good endpoint");
    let draw = Draw {
        seed: options.seed,
        mix: 0,
        position: 0,
    };
    let parameters = pool().draw(UseCase::Bi, 1, draw).expect("a valid number");
    let text = query_text(UseCase::Bi, 1, &parameters).expect("complete");
    let body = requests.recv().expect("a request came").body;
    let mut bytes = Vec::new();
    let mut rest = body.strip_prefix("query=").expect("a query").bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next(), rest.next()].map(|d| char::from(d.expect("two digits")));
        let value = digits
            .iter()
            .fold(0, |sum, d| sum * 16 + d.to_digit(16).expect("hex"));
        bytes.push(value as u8);
    }
    assert_eq!(String::from_utf8(bytes), Ok(text));
}

#[test]
fn reports_are_compared_side_by_side() {
    let (url, _requests) = serve(good);
    let report = run(UseCase::Bi, &pool(), &options(&url), &mut |_| ()).expect("a run");
    let mut other = report.clone();
    other.qmph = report.qmph * 3.0;
    for query in &mut other.queries {
        query.p50_s = report.queries[usize::from(query.number) - 1].p50_s / 2.0;
    }
    other.queries[7].result_hash = "0".to_owned();
    let text = crate::compare_reports(&[("one", &report), ("two", &other)]);
    assert!(text.contains("| query | one p50 ms | two p50 ms | two / one | answers |"));
    assert!(text.contains("| 3.00 |"), "{text}");
    assert_eq!(text.matches("| 0.50 | equal |").count(), 7, "{text}");
    assert_eq!(text.matches("| 0.50 | differ |").count(), 1, "{text}");
    other.seed += 1;
    let text = crate::compare_reports(&[("one", &report), ("two", &other)]);
    assert_eq!(text.matches("| not comparable |").count(), 8, "{text}");
}
