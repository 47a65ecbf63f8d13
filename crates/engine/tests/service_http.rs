//! SERVICE over real HTTP on loopback: formats, failures, limits, and who may be asked.

mod services;
mod support;

use basalt_engine::results::write_solutions;
use basalt_engine::{
    Answer, Database, Error, GraphFormat, QueryOptions, ResultsFormat, ServicePolicy,
};
use services::{Behaviour, TinyServer};
use std::fmt::Write;
use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const REMOTE: &str =
    "@prefix : <http://e/> . :a :q \"x\"@en-GB , \"y\\n\\t\\\"\" , 1.50 , :b , _:n . _:n :r :a .";

fn local() -> Database {
    let database = Database::in_memory();
    let data = "@prefix : <http://e/> . :a :p :a . :b :p :b . :a :q \"x\"@en-GB .";
    database
        .load_text(data, GraphFormat::Turtle)
        .expect("the data loads");
    database
}

fn open() -> QueryOptions {
    QueryOptions {
        services: ServicePolicy::All,
        ..QueryOptions::default()
    }
}

/// All rows, as TSV lines, sorted.
fn lines(database: &Database, query: &str, options: &QueryOptions) -> Result<Vec<String>, Error> {
    let text = format!("PREFIX : <http://e/> {query}");
    let Answer::Solutions(mut solutions) = database.query(&text, options)? else {
        unreachable!("the queries of this test are SELECT");
    };
    let mut bytes = Vec::new();
    write_solutions(&mut solutions, ResultsFormat::Tsv, &mut bytes)?;
    let text = String::from_utf8(bytes).expect("UTF-8");
    let mut lines: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
    lines.sort();
    Ok(lines)
}

fn error_of(query: &str, options: &QueryOptions) -> Error {
    match lines(&local(), query, options) {
        Err(error) => error,
        Ok(rows) => unreachable!("{query} gave {rows:?}"),
    }
}

#[test]
fn all_formats_that_keep_terms_are_read() {
    for format in [ResultsFormat::Json, ResultsFormat::Xml, ResultsFormat::Tsv] {
        let server = TinyServer::with_data(REMOTE, format);
        let query = format!(
            "SELECT ?v {{ ?s :p ?s SERVICE <{}> {{ ?s :q ?v }} }}",
            server.iri()
        );
        let rows = lines(&local(), &query, &open()).expect("an answer");
        assert_eq!(rows.len(), 5, "{format:?}: {rows:?}");
        for part in ["\"y\\n\\t\\\"\"", "1.50", "<http://e/b>", "_:r0-0"] {
            assert!(
                rows.iter().any(|row| row.contains(part)),
                "{part}: {rows:?}"
            );
        }
        assert_eq!(server.queries().len(), 1);
        // The same literal here and there, and the same blank node in one answer.
        let both = format!(
            "SELECT * {{ ?s :q ?v SERVICE <{}> {{ ?s :q ?v }} }}",
            server.iri()
        );
        assert_eq!(
            lines(&local(), &both, &open()).expect("an answer").len(),
            1,
            "{format:?}"
        );
        let knot = format!(
            "SELECT * {{ SERVICE <{}> {{ :a :q ?n . ?n :r ?a }} }}",
            server.iri()
        );
        assert_eq!(
            lines(&local(), &knot, &open()).expect("an answer").len(),
            1,
            "{format:?}"
        );
    }
}

#[test]
fn csv_is_refused_because_it_loses_terms() {
    let server = TinyServer::with_data(REMOTE, ResultsFormat::Csv);
    let query = format!("SELECT * {{ SERVICE <{}> {{ ?s :q ?v }} }}", server.iri());
    let error = error_of(&query, &open()).to_string();
    assert!(
        error.contains("'text/csv' is not one of its results"),
        "{error}"
    );
}

#[test]
fn failures_name_endpoint_status_and_words() {
    let closed = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = closed.local_addr().expect("an address");
    drop(closed);
    let refused = format!("http://{address}/sparql");
    let broken = TinyServer::with_body("500 Oops", "text/plain", "the  disk\nis full");
    let page = TinyServer::with_body("200 OK", "text/html", "<html>hello</html>");
    let cut = "{\"head\":{\"vars\":[\"s\"]},\"results\":{\"bindings\":[{\"s\":{\"type\":\"uri\",";
    let json = "application/sparql-results+json";
    let cut = TinyServer::with_body("200 OK", json, cut);
    let boolean = TinyServer::with_body("200 OK", json, "{\"head\":{},\"boolean\":true}");
    let lacking = "{\"head\":{\"vars\":[\"s\"]},\"results\":{\"bindings\":[{}]}}";
    let lacking = TinyServer::with_body("200 OK", json, lacking);
    for (endpoint, what) in [
        (refused, "efused"),
        (
            broken.iri(),
            "HTTP status 500 Internal Server Error: «the disk is full»",
        ),
        (
            page.iri(),
            "'text/html' is not one of its results: «<html>hello</html>»",
        ),
        (cut.iri(), "cannot read JSON results"),
        (boolean.iri(), "a boolean"),
        (lacking.iri(), "lacks ?s"),
    ] {
        let group = format!("<{endpoint}> {{ ?s :q ?v }}");
        let error = error_of(&format!("SELECT ?s {{ SERVICE {group} }}"), &open());
        assert!(matches!(error, Error::Service { .. }), "{error:?}");
        let text = error.to_string();
        assert!(
            text.contains(what) && text.contains(&endpoint),
            "{what}: {text}"
        );
        let silent = format!("SELECT * {{ ?s :p ?x SERVICE SILENT {group} }}");
        let rows = lines(&local(), &silent, &open()).expect("SILENT hides failures");
        assert_eq!(rows.len(), 2, "{endpoint}: {rows:?}");
    }
}

#[test]
fn a_slow_server_ends_with_its_time_limit() {
    let server = TinyServer::start(Behaviour::Silence);
    let group = format!("<{}> {{ ?s :q ?v }}", server.iri());
    let mut options = open();
    options.service_timeout = Some(Duration::from_millis(200));
    let start = Instant::now();
    let error = error_of(&format!("SELECT * {{ SERVICE {group} }}"), &options).to_string();
    assert!(error.contains("within its time limit"), "{error}");
    let silent = format!("SELECT * {{ SERVICE SILENT {group} }}");
    assert_eq!(
        lines(&local(), &silent, &options)
            .map(|rows| rows.len())
            .ok(),
        Some(1)
    );
    // The end of the query itself is no failure of the service, also not a silent one.
    options.service_timeout = None;
    options.exec.timeout = Some(Duration::from_millis(200));
    let error = error_of(&silent, &options);
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_cancelled_query_asks_nobody() {
    let server = TinyServer::with_data(REMOTE, ResultsFormat::Json);
    let options = open();
    options.exec.cancel.store(true, Ordering::Relaxed);
    let query = format!(
        "SELECT * {{ SERVICE SILENT <{}> {{ ?s :q ?v }} }}",
        server.iri()
    );
    assert!(matches!(error_of(&query, &options), Error::Cancelled));
    assert!(server.queries().is_empty());
}

#[test]
fn answers_count_against_the_memory_of_the_query() {
    let mut data = String::new();
    for n in 0..4000 {
        let _ = writeln!(
            data,
            "<http://e/s{n}> <http://e/q> \"a value that is long enough {n}\" ."
        );
    }
    let server = TinyServer::with_data(&data, ResultsFormat::Json);
    let query = format!("SELECT * {{ SERVICE <{}> {{ ?s :q ?v }} }}", server.iri());
    assert_eq!(
        lines(&local(), &query, &open()).map(|rows| rows.len()).ok(),
        Some(4000)
    );
    let mut options = open();
    options.exec.memory_bytes_max = 400 << 10;
    let error = error_of(&query, &options);
    let text = error.to_string();
    assert!(text.contains("memory"), "{text}");
    options.exec.memory_bytes_max = 20 << 10;
    let text = error_of(&query, &options).to_string();
    assert!(text.contains("memory"), "{text}");
}

fn redirect(to: &str, status: &str) -> TinyServer {
    TinyServer::start(Behaviour::Raw(format!(
        "HTTP/1.1 {status}\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )))
}

#[test]
fn redirects_are_followed_to_allowed_places_only() {
    let server = TinyServer::with_data(REMOTE, ResultsFormat::Json);
    let moved = redirect(&server.iri(), "301 Moved");
    let query = format!("SELECT * {{ SERVICE <{}> {{ ?s :q ?v }} }}", moved.iri());
    assert_eq!(
        lines(&local(), &query, &open()).map(|rows| rows.len()).ok(),
        Some(5)
    );
    let mut options = open();
    options.services = ServicePolicy::List(vec![moved.iri()]);
    let before = server.queries().len();
    let error = error_of(&query, &options);
    assert!(matches!(error, Error::ServiceRefused(_)), "{error:?}");
    assert!(error.to_string().contains(&server.iri()), "{error}");
    assert_eq!(server.queries().len(), before);
    let circle = redirect("/sparql", "307 Again");
    let query = format!("SELECT * {{ SERVICE <{}> {{ ?s :q ?v }} }}", circle.iri());
    let error = error_of(&query, &open()).to_string();
    assert!(error.contains("more than 4 redirects"), "{error}");
    let nowhere = redirect("../up", "302 Found");
    let query = format!("SELECT * {{ SERVICE <{}> {{ ?s :q ?v }} }}", nowhere.iri());
    let error = error_of(&query, &open()).to_string();
    assert!(error.contains("'../up'"), "{error}");
}

#[test]
fn the_policy_is_kept_also_with_silent() {
    let server = TinyServer::with_data(REMOTE, ResultsFormat::Json);
    let mut options = open();
    let list = |entries: &[String]| ServicePolicy::from_entries(entries).expect("good entries");
    for (policy, is_allowed) in [
        (ServicePolicy::None, false),
        (ServicePolicy::All, true),
        (list(&["http://other.example/".to_owned()]), false),
        (list(&[server.iri()]), true),
        (list(&[server.iri().replace("sparql", "*")]), true),
        (list(&[server.iri().replace("sparql", "x*")]), false),
    ] {
        options.services = policy;
        for silent in ["", "SILENT "] {
            let query = format!(
                "SELECT * {{ SERVICE {silent}<{}> {{ ?s :q ?v }} }}",
                server.iri()
            );
            match lines(&local(), &query, &options) {
                Ok(rows) => assert!(is_allowed && rows.len() == 5, "{:?}", options.services),
                Err(Error::ServiceRefused(_)) => assert!(!is_allowed, "{:?}", options.services),
                Err(other) => unreachable!("{other}"),
            }
        }
    }
    for iri in ["file:///etc/passwd", "ftp://e/x"] {
        let error = error_of(
            &format!("SELECT * {{ SERVICE SILENT <{iri}> {{ ?s ?p ?o }} }}"),
            &open(),
        );
        assert!(matches!(error, Error::ServiceRefused(_)), "{error:?}");
    }
}
