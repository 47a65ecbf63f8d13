//! How much the driver itself costs: queries per second against a server that answers at once.
//!
//! The server holds its answers ready and shares the machine, so the figure is a lower bound of
//! what the driver can ask for. `cargo bench -p basalt-bsbm --bench driver` prints it for one
//! client and for several; without `--bench`, as in a test run, a few mixes are enough.

use basalt_bsbm::{ParameterPool, RunOptions, UseCase, run};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

/// Rows of an answer, about as many as an explore query has on average.
const ROWS: usize = 8;

fn main() -> std::io::Result<()> {
    let runs = if std::env::args().any(|argument| argument == "--bench") {
        2_000
    } else {
        2
    };
    let url = serve()?;
    let pool = ParameterPool::from_options(1_000, 1).map_err(std::io::Error::other)?;
    for clients in [1, 2, 4] {
        let options = RunOptions {
            clients,
            runs,
            warmup: runs / 10,
            ..RunOptions::new(&url)
        };
        let report = run(UseCase::Explore, &pool, &options, &mut |_| ());
        let report = report.map_err(std::io::Error::other)?;
        assert_eq!((report.errors, report.timeouts), (0, 0));
        let queries = report.queries.iter().map(|query| query.count).sum::<u64>();
        writeln!(
            std::io::stdout(),
            "{clients} clients: {:.0} queries/s in {:.2} s, {:.1} µs of {:.1} µs a query on the wire",
            queries as f64 / report.elapsed_s,
            report.elapsed_s,
            1e6 * report.query_time_s / queries as f64,
            1e6 * report.elapsed_s * clients as f64 / queries as f64
        )?;
    }
    Ok(())
}

/// Serves on a free port until the process ends.
fn serve() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/query", listener.local_addr()?);
    let row = r#"{"product":{"type":"uri","value":"http://example.org/instances/dataFromProducer7/Product345"},"label":{"type":"literal","value":"some words of a label"},"price":{"type":"literal","value":"1234.5","datatype":"http://www.w3.org/2001/XMLSchema#decimal"}}"#;
    let rows = format!(
        r#"{{"head":{{"vars":["product","label","price"]}},"results":{{"bindings":[{}]}}}}"#,
        [row; ROWS].join(",")
    );
    let triples = "<http://example.org/a> <http://example.org/b> \"c d e\" .\n".repeat(ROWS);
    let rows = answer("application/sparql-results+json", &rows);
    let triples = answer("application/n-triples", &triples);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (rows, triples) = (rows.clone(), triples.clone());
            std::thread::spawn(move || serve_connection(stream, &rows, &triples));
        }
    });
    Ok(url)
}

fn answer(media_type: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Answers requests, of which a read brings one in whole or in part.
fn serve_connection(mut stream: TcpStream, rows: &[u8], triples: &[u8]) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut buffer = vec![0; 64 << 10];
    let mut held = 0;
    loop {
        let bytes = stream.read(&mut buffer[held..]).ok()?;
        if bytes == 0 {
            return None;
        }
        held += bytes;
        let request = std::str::from_utf8(&buffer[..held]).ok()?;
        let Some(head_end) = request.find("\r\n\r\n") else {
            continue;
        };
        let head = &request[..head_end];
        let (_, length) = head.split_once("Content-Length: ")?;
        let length: usize = length.lines().next()?.parse().ok()?;
        if held < head_end + 4 + length {
            continue;
        }
        let wants_triples = head.contains("Accept: application/n-triples");
        held = 0;
        let answer = if wants_triples { triples } else { rows };
        stream.write_all(answer).ok()?;
    }
}
