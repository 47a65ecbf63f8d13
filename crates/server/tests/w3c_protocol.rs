//! The W3C suites of the SPARQL 1.1 Protocol, queries and updates, and of the Graph Store Protocol, over a real socket.
//!
//! Found by `RDF_TESTS_DIR` or beside the workspace; without it the test says that it was skipped. The manifest is
//! read by the engine: it is loaded, and asked by SPARQL for its requests. Each entry has a server of its own.

mod support;

use basalt_engine::dump::{DumpGraph, dump};
use basalt_engine::{
    Answer as Rows, Database, GraphFormat, Input, LoadOptions, NoProgress, QueryOptions,
};
use basalt_server::{RunningServer, ServerOptions, spawn};
use basalt_testkit::Dataset;
use basalt_testkit::bag::{self, Numbers};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::{parse, send_bytes};

const PREFIXES: &str = "PREFIX mf: <http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#> \
    PREFIX ut: <http://www.w3.org/2009/sparql/tests/test-update#> \
    PREFIX ht: <http://www.w3.org/2011/http#> PREFIX cnt: <http://www.w3.org/2011/content#> \
    PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> ";

/// Entries that are not held against us, with the reason.
const IGNORED: &[(&str, &str)] = &[];

fn suite(folder_name: &str) -> Option<PathBuf> {
    let folder = match std::env::var_os("RDF_TESTS_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/w3c"),
    };
    let found = folder
        .join("sparql/sparql11")
        .join(folder_name)
        .canonicalize()
        .ok();
    if found.is_none() {
        eprintln!("skipped: there are no W3C suites (set RDF_TESTS_DIR)");
    }
    found
}

fn load(database: &Database, file: &Path, graph: Option<String>) {
    let format = GraphFormat::from_path(file).expect("a known syntax");
    let reader = File::open(file).expect("a file of the suite");
    let options = LoadOptions {
        inputs: vec![Input::reader("suite", reader, format)],
        graph,
        base: Some(format!("file://{}", file.display())),
        ..LoadOptions::default()
    };
    database
        .load(options, &NoProgress)
        .expect("a file of the suite loads");
}

/// The rows of a query, as texts; unbound is empty.
fn rows(database: &Database, query: &str) -> Vec<Vec<String>> {
    let answer = database.query(&format!("{PREFIXES}{query}"), &QueryOptions::default());
    let Ok(Rows::Solutions(solutions)) = answer else {
        unreachable!("no solutions of {query}");
    };
    let text = |term: &oxrdf::Term| match term {
        oxrdf::Term::Literal(literal) => literal.value().to_owned(),
        oxrdf::Term::NamedNode(node) => node.as_str().to_owned(),
        oxrdf::Term::BlankNode(node) => node.as_str().to_owned(),
    };
    let rows = solutions.into_rows().expect("the rows can be read");
    let texts = rows.iter().map(|row| {
        let terms = row.iter();
        terms
            .map(|term| term.as_ref().map_or_else(String::new, text))
            .collect()
    });
    texts.collect()
}

/// A request of an entry and what its answer must be.
struct Request {
    method: String,
    path: String,
    headers: String,
    body: Vec<u8>,
    statuses: Vec<String>,
    boolean: String,
    format: String,
    /// A graph in Turtle.
    graph: String,
}

fn requests(manifest: &Database, test: &str) -> Vec<Request> {
    let found = rows(
        manifest,
        &format!(
            "SELECT ?path ?method ?chars ?encoding ?boolean ?format (GROUP_CONCAT(?status) AS ?statuses) ?fields ?graph \
             {{ <{test}> mf:action/ht:requests ?list . ?list rdf:rest* ?at . ?at rdf:first ?request . \
             {{ SELECT ?list ?at (COUNT(?before) AS ?place) {{ ?list rdf:rest* ?before . ?before rdf:rest* ?at }} \
                GROUP BY ?list ?at }} \
             ?request ht:absolutePath ?path ; ht:methodName ?method ; ht:resp ?answer . \
             OPTIONAL {{ ?request ht:body ?body . ?body cnt:chars ?chars ; cnt:characterEncoding ?encoding }} \
             OPTIONAL {{ SELECT ?request (GROUP_CONCAT(?field; separator=\"\\n\") AS ?fields) \
                {{ ?request ht:headers/rdf:rest*/rdf:first ?header . ?header ht:fieldName ?name ; ht:fieldValue ?value \
                   BIND(CONCAT(?name, \": \", ?value) AS ?field) }} GROUP BY ?request }} \
             OPTIONAL {{ ?answer mf:expectedBoolean ?boolean }} OPTIONAL {{ ?answer mf:expectedFormat ?format }} \
             OPTIONAL {{ ?answer ht:body/cnt:chars ?graph }} \
             ?answer mf:expectedStatus ?status }} \
             GROUP BY ?path ?method ?chars ?encoding ?boolean ?format ?fields ?graph ?place ORDER BY ?place"
        ),
    );
    let made = found.into_iter().map(|row| {
        let [
            path,
            method,
            chars,
            encoding,
            boolean,
            format,
            statuses,
            fields,
            graph,
        ] = <[String; 9]>::try_from(row).expect("nine columns");
        let body = match encoding.as_str() {
            "UTF-16" => chars.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            _ => chars.into_bytes(),
        };
        Request {
            method,
            path: path
                .replacen("/sparql/", "/sparql", 1)
                .replacen("/gsp", "/store", 1),
            headers: fields.lines().map(|field| format!("{field}\r\n")).collect(),
            body,
            statuses: statuses.split(' ').map(str::to_owned).collect(),
            boolean,
            format,
            graph,
        }
    });
    made.collect()
}

/// Sends a request; `$LOCATION$` in its path is where the answer before said that a graph is.
fn exchange(server: &RunningServer, request: &Request, location: &str) -> support::Answer {
    let path = request.path.replace("$LOCATION$", location);
    let head = format!(
        "{} {} HTTP/1.1\r\nHost: www.example\r\nConnection: close\r\n{}Content-Length: {}\r\n\r\n",
        request.method,
        path,
        request.headers,
        request.body.len()
    );
    let mut bytes = Vec::new();
    let mut stream = send_bytes(server, &[head.as_bytes(), &request.body].concat());
    stream.read_to_end(&mut bytes).expect("an answer");
    parse(&bytes)
}

fn check(request: &Request, answer: &support::Answer) -> Result<(), String> {
    let class = format!("StatusCode{}xx", answer.status / 100);
    let exact = match answer.status {
        200 => "#OK",
        201 => "#Created",
        204 => "#NoContent",
        404 => "#NotFound",
        _ => "#none of those in the suites",
    };
    let is_expected = |status: &String| status.ends_with(&class) || status.ends_with(exact);
    if !request.statuses.iter().any(is_expected) {
        return Err(format!("expected {:?}, found {answer:?}", request.statuses));
    }
    let media_type = answer.header("content-type").unwrap_or_default();
    let is_of_format = match request.format.as_str() {
        "tabular" | "boolean" => {
            media_type.starts_with("application/sparql-results+") || media_type.starts_with("text/")
        }
        "RDF" => GraphFormat::from_media_type(media_type).is_some(),
        _ => true,
    };
    let wanted = format!("\"boolean\":{}", request.boolean);
    let has_boolean = request.boolean.is_empty() || answer.body.contains(&wanted);
    if !request.graph.is_empty() && request.method != "HEAD" {
        return bag::compare(&graph(&request.graph), &graph(&answer.body), Numbers::Exact)
            .map_err(|difference| difference.to_string());
    }
    match is_of_format && has_boolean {
        true => Ok(()),
        false => Err(format!(
            "expected {} {}, found {answer:?}",
            request.format, request.boolean
        )),
    }
}

/// The triples of a text in Turtle.
fn graph(text: &str) -> basalt_testkit::Answer {
    let database = Database::in_memory();
    database
        .load_text(text, GraphFormat::Turtle)
        .expect("Turtle can be read");
    let mut bytes = Vec::new();
    let snapshot = database.snapshot();
    dump(&snapshot, &mut bytes, GraphFormat::NQuads, DumpGraph::All).expect("it can be written");
    let text = String::from_utf8(bytes).expect("N-Quads are UTF-8");
    let data = Dataset::from_nquads(&text).expect("N-Quads can be read");
    data.to_solutions()
}

fn run(manifest: &Database, test: &str) -> Result<(), String> {
    let database = Database::in_memory();
    let data = rows(
        manifest,
        &format!(
            "SELECT ?file ?name {{ <{test}> ut:graphData [ ut:graph ?file ; rdfs:label ?name ] }}"
        ),
    );
    for row in data {
        let file = row[0].strip_prefix("file://").expect("a file");
        load(&database, Path::new(file), Some(row[1].clone()));
    }
    let options = ServerOptions {
        bind: "127.0.0.1:0".to_owned(),
        ..ServerOptions::default()
    };
    let server = spawn(Arc::new(database), options).expect("the server starts");
    let requests = requests(manifest, test);
    if requests.is_empty() {
        return Err("it has no requests".to_owned());
    }
    let mut location = String::new();
    requests.iter().try_for_each(|request| {
        let answer = exchange(&server, request, &location);
        if let Some(place) = answer.header("location") {
            location = place.to_owned();
        }
        check(request, &answer)
            .map_err(|what| format!("{} {}: {what}", request.method, request.path))
    })
}

/// Runs the entries of one manifest, and prints their counts.
fn run_manifest(folder_name: &str, file: &str, kind: &str, tests_min: usize) {
    let Some(folder) = suite(folder_name) else {
        return;
    };
    let manifest = Database::in_memory();
    load(&manifest, &folder.join(file), None);
    let tests = rows(
        &manifest,
        &format!(
            "SELECT ?test {{ [] mf:entries/rdf:rest*/rdf:first ?test . ?test a mf:{kind} }} ORDER BY ?test"
        ),
    );
    let (mut passed, mut failures, mut skipped) = (0, Vec::new(), Vec::new());
    for test in tests.into_iter().flatten() {
        let name = test.rsplit('#').next().unwrap_or(&test);
        if let Some((_, reason)) = IGNORED.iter().find(|(ignored, _)| *ignored == name) {
            skipped.push(format!("; {name}: {reason}"));
            continue;
        }
        match run(&manifest, &test) {
            Ok(()) => passed += 1,
            Err(what) => failures.push(format!("{name}: {what}")),
        }
    }
    eprintln!(
        "sparql11/{folder_name}/{file}: {passed} passed, {} failed, {} skipped{}",
        failures.len(),
        skipped.len(),
        skipped.concat()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(passed >= tests_min, "the manifest has more entries");
}

#[test]
fn sparql_protocol() {
    run_manifest("protocol", "manifest.ttl", "ProtocolTest", 30);
}

#[test]
fn graph_store_protocol() {
    let kind = "GraphStoreProtocolTest";
    run_manifest("graph-store-protocol", "manifest-indirect.ttl", kind, 9);
    run_manifest("graph-store-protocol", "manifest-direct.ttl", kind, 4);
}
