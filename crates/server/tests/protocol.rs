//! The SPARQL Protocol over a real socket: forms, formats, errors, limits, hang-ups.

#![allow(dead_code)]

mod support;

use basalt_engine::{Compression, Compressor};
use basalt_server::{RunningServer, ServerOptions};
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use support::{escape, exchange, get, parse, post, send, send_bytes, start};

const DATA: &str = "@prefix e: <http://e/> . e:a e:p 1 . e:b e:p 2 . e:g { e:a e:q \"in g\" }";
const SELECT: &str = "SELECT ?o { <http://e/a> <http://e/p> ?o }";
const CONSTRUCT: &str = "CONSTRUCT { ?s <http://e/r> ?o } { ?s <http://e/p> ?o }";
const TRIPLE: &str =
    "<http://e/a> <http://e/r> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> .";
/// Runs for hours: every join multiplies by 40 and nothing is answered before the end.
const ENDLESS: &str = "SELECT (COUNT(*) AS ?n) { ?a ?p1 ?b . ?c ?p2 ?d . ?e ?p3 ?f . ?g ?p4 ?h . ?i ?p5 ?j . ?k ?p6 ?l \
    FILTER(?b + ?d + ?f + ?h + ?j + ?l < 0) }";

fn small() -> RunningServer {
    start(DATA, ServerOptions::default())
}

/// So many subjects with one integer each.
fn many(subjects: u32) -> String {
    (0..subjects)
        .map(|i| format!("<http://e/s{i}> <http://e/p> {i} .\n"))
        .collect()
}

#[test]
fn queries_come_by_get_post_form_and_body() {
    let server = small();
    let query = escape(SELECT);
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let sparql = "Content-Type: application/sparql-query; charset=utf-8\r\n";
    for path in ["/query", "/sparql"] {
        let answers = [
            get(
                &server,
                &format!("{path}?query={query}&output=json&results=x"),
            ),
            exchange(
                &server,
                &format!("POST {path}"),
                form,
                &format!("query={query}"),
            ),
            exchange(&server, &format!("POST {path}"), sparql, SELECT),
            exchange(&server, &format!("QUERY {path}"), sparql, SELECT),
        ];
        for answer in answers {
            assert_eq!(answer.status, 200, "{answer:?}");
            assert_eq!(
                answer.header("content-type"),
                Some("application/sparql-results+json")
            );
            let json: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
            assert_eq!(json["results"]["bindings"][0]["o"]["value"], "1");
        }
    }
}

#[test]
fn every_format_of_solutions_is_there() {
    let server = small();
    let solutions = [
        (
            "application/sparql-results+json",
            "application/sparql-results+json",
            "\"value\":\"1\"",
        ),
        ("application/json", "application/json", "\"value\":\"1\""),
        (
            "application/sparql-results+xml",
            "application/sparql-results+xml",
            ">1</literal>",
        ),
        ("text/csv", "text/csv; charset=utf-8", "o\r\n1\r\n"),
        (
            "text/tab-separated-values",
            "text/tab-separated-values; charset=utf-8",
            "?o\n\"1\"^^<",
        ),
        (
            "text/html, text/csv;q=0.2",
            "text/csv; charset=utf-8",
            "o\r\n1",
        ),
    ];
    for (accept, media_type, body) in solutions {
        let answer = post(&server, "/query", accept, SELECT);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some(media_type)),
            "{answer:?}"
        );
        assert!(answer.body.contains(body), "{accept}: {answer:?}");
    }
}

#[test]
fn every_format_of_graphs_and_booleans_is_there() {
    let server = small();
    let graphs = [
        ("*/*", "application/n-triples", TRIPLE),
        ("application/n-triples", "application/n-triples", TRIPLE),
        ("text/turtle", "text/turtle; charset=utf-8", "<http://e/r>"),
        ("text/plain", "text/plain; charset=utf-8", TRIPLE),
        (
            "application/rdf+xml, */*;q=0.1",
            "application/rdf+xml",
            "<rdf:Description rdf:about=\"http://e/a\">",
        ),
        (
            "application/ld+json, text/turtle;q=0.9",
            "application/ld+json",
            "{\"@id\":\"http://e/a\",\"http://e/r\":[",
        ),
    ];
    for (accept, media_type, body) in graphs {
        let answer = post(&server, "/query", accept, CONSTRUCT);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some(media_type)),
            "{answer:?}"
        );
        assert!(answer.body.contains(body), "{accept}: {answer:?}");
    }
    let ask = post(
        &server,
        "/query",
        "application/json",
        "ASK { ?s <http://e/p> 2 }",
    );
    assert!(ask.body.contains("\"boolean\":true"), "{ask:?}");
    let described = post(&server, "/query", "*/*", "DESCRIBE <http://e/b>");
    assert!(
        described.body.starts_with("<http://e/b> <http://e/p>"),
        "{described:?}"
    );
    let named = post(&server, "/query?format=tsv", "application/json", SELECT);
    assert!(named.body.starts_with("?o\n\"1\"^^<"), "{named:?}");
}

#[test]
fn what_cannot_be_accepted_is_406() {
    let server = small();
    for (accept, query) in [
        ("image/png", SELECT),
        ("text/turtle", SELECT),
        ("application/rdf+xml", SELECT),
        ("application/vnd.apache.arrow.stream", CONSTRUCT),
        ("text/csv", CONSTRUCT),
    ] {
        let answer = post(&server, "/query", accept, query);
        assert_eq!(answer.status, 406, "{accept}: {answer:?}");
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json")
        );
    }
}

#[test]
fn requests_that_make_no_sense_are_told_why() {
    let server = small();
    let bad = post(&server, "/query", "*/*", "SELECT ?x WHERE { ?x foo:bar }");
    assert_eq!(bad.status, 400);
    let problem: serde_json::Value = serde_json::from_str(&bad.body).expect("a problem document");
    assert_eq!(problem["status"], 400);
    assert!(
        problem["detail"]
            .as_str()
            .is_some_and(|text| text.contains("foo:bar")),
        "{problem}"
    );
    let service = post(
        &server,
        "/query",
        "*/*",
        "SELECT * { SERVICE <http://e/> { ?s ?p ?o } }",
    );
    assert_eq!(service.status, 403, "{service:?}");
}

#[test]
fn wrong_parameters_are_400_and_wrong_bodies_415() {
    let server = small();
    let select = escape(SELECT);
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let cases = [
        (
            get(&server, &format!("/query?query={select}&query={select}")),
            400,
        ),
        (get(&server, "/query?query=%zz"), 400),
        (
            get(&server, &format!("/query?query={select}&timeout=soon")),
            400,
        ),
        (
            get(&server, &format!("/query?query={select}&explain=maybe")),
            400,
        ),
        (
            get(
                &server,
                &format!("/query?query={select}&default-graph-uri=relative"),
            ),
            400,
        ),
        (
            get(&server, &format!("/query?query={select}&format=html")),
            400,
        ),
        (
            get(&server, &format!("/query?query={select}&format=text")),
            400,
        ),
        (get(&server, "/query?update=CLEAR+ALL"), 400),
        (exchange(&server, "POST /query", form, "x=y"), 400),
        (exchange(&server, "POST /query", "", ""), 400),
        (
            exchange(
                &server,
                "POST /query",
                "Content-Type: text/plain\r\n",
                SELECT,
            ),
            415,
        ),
        (
            exchange(
                &server,
                "POST /query",
                "Content-Type: application/sparql-update\r\n",
                "CLEAR ALL",
            ),
            415,
        ),
    ];
    check_refusals(cases);
}

#[test]
fn a_format_that_nobody_knows_is_told_the_known_ones() {
    let server = small();
    let answer = post(&server, "/query?format=jsn", "*/*", SELECT);
    assert_eq!(answer.status, 400, "{answer:?}");
    assert!(
        answer.body.contains("'jsn' is none of json, xml, csv"),
        "{answer:?}"
    );
    // One for the other kind of answer leaves the choice to `Accept`.
    for format in ["ttl", "application/n-triples", "N3"] {
        let answer = post(
            &server,
            &format!("/query?format={format}"),
            "text/csv",
            SELECT,
        );
        assert!(answer.body.starts_with("o\r\n1"), "{format}: {answer:?}");
    }
    let plan = post(&server, "/query?explain=true&format=text", "*/*", SELECT);
    assert_eq!(plan.status, 200, "{plan:?}");
}

#[test]
fn queries_and_updates_may_be_packed() {
    let server = small();
    let exchange = |target: &str, kind: &str, coding: &str, body: &[u8]| {
        let length = body.len();
        let head = format!(
            "POST {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/{kind}\r\n\
             Content-Encoding: {coding}\r\nContent-Length: {length}\r\n\r\n"
        );
        let mut bytes = Vec::new();
        let mut stream = send_bytes(&server, &[head.as_bytes(), body].concat());
        stream.read_to_end(&mut bytes).expect("an answer");
        parse(&bytes)
    };
    let insert = "INSERT DATA { <http://e/new> <http://e/p> 3 }";
    for (compression, coding) in [
        (Compression::Gzip, "gzip"),
        (Compression::Gzip, "X-GZIP"),
        (Compression::Zstd, "zstd"),
    ] {
        let query = exchange(
            "/query",
            "sparql-query",
            coding,
            &packed(SELECT, compression),
        );
        assert!(
            query.body.contains("\"value\":\"1\""),
            "{coding}: {query:?}"
        );
        let form = format!("query={}", escape(SELECT));
        let form = packed(&form, compression);
        let query = exchange("/sparql", "x-www-form-urlencoded", coding, &form);
        assert_eq!(query.status, 200, "{coding}: {query:?}");
        let insert = packed(insert, compression);
        let update = exchange("/update", "sparql-update", coding, &insert);
        assert_eq!(update.status, 200, "{coding}: {update:?}");
    }
    let plain = exchange("/query", "sparql-query", "identity", SELECT.as_bytes());
    assert_eq!(plain.status, 200, "{plain:?}");
    let mut cut = packed(SELECT, Compression::Gzip);
    cut.truncate(30);
    // Some kilobytes that become more than a query may have.
    let long = "#".repeat((16 << 20) + 1);
    check_refusals([
        (exchange("/query", "sparql-query", "br", b"x"), 415),
        (
            exchange("/update", "sparql-update", "gzip, zstd", b"x"),
            415,
        ),
        (exchange("/query", "sparql-query", "gzip", &cut), 400),
        (
            exchange(
                "/query",
                "sparql-query",
                "gzip",
                &packed(&long, Compression::Gzip),
            ),
            413,
        ),
    ]);
}

fn packed(text: &str, compression: Compression) -> Vec<u8> {
    let mut packer = Compressor::new(Vec::new(), Some(compression)).expect("a packer");
    packer.write_all(text.as_bytes()).expect("it packs");
    packer.finish().expect("it packs")
}

#[test]
fn wrong_methods_are_405_and_wrong_paths_404() {
    let server = small();
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let cases = [
        (exchange(&server, "PUT /query", "", ""), 405),
        (exchange(&server, "DELETE /sparql", "", ""), 405),
        (exchange(&server, "OPTIONS /query", "", ""), 405),
        (exchange(&server, "POST /health", "", ""), 405),
        (get(&server, "/nothing"), 404),
        (get(&server, "/update?update=CLEAR+ALL"), 405),
        (exchange(&server, "PUT /update", form, "x"), 405),
        (exchange(&server, "DELETE /queries/77", "", ""), 404),
    ];
    check_refusals(cases);
}

#[test]
fn a_body_that_cannot_be_read_is_400() {
    let server = small();
    let sparql = "Content-Type: application/sparql-query\r\n";
    let request = format!(
        "POST /query HTTP/1.1\r\nHost: x\r\n{sparql}Transfer-Encoding: chunked\r\n\r\nzz\r\n"
    );
    let mut bytes = Vec::new();
    let mut stream = send(&server, &request);
    stream.read_to_end(&mut bytes).expect("an answer");
    let answer = parse(&bytes);
    assert!(answer.body.contains("chunk size"), "{answer:?}");
    check_refusals([(answer, 400)]);
}

/// Every answer has its status and is a problem document.
fn check_refusals(cases: impl IntoIterator<Item = (support::Answer, u16)>) {
    for (number, (answer, status)) in cases.into_iter().enumerate() {
        assert_eq!(answer.status, status, "case {number}: {answer:?}");
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json"),
            "case {number}"
        );
        assert_eq!(
            answer.header("allow").is_some(),
            status == 405,
            "case {number}: {answer:?}"
        );
    }
}

#[test]
fn graphs_given_beside_the_query_count() {
    let server = small();
    let query = escape("SELECT ?o { ?s <http://e/q> ?o }");
    let rows = |target: &str| get(&server, target).body;
    assert_eq!(rows(&format!("/query?format=csv&query={query}")), "o\r\n");
    let given = format!("/query?format=csv&query={query}&default-graph-uri=http%3A%2F%2Fe%2Fg");
    assert_eq!(rows(&given), "o\r\nin g\r\n");
    let named = escape("SELECT ?g { GRAPH ?g { ?s ?p ?o } }");
    let given = format!("/query?format=csv&query={named}&named-graph-uri=http%3A%2F%2Fe%2Fnone");
    assert_eq!(rows(&given), "g\r\n");
    let union = start(
        DATA,
        ServerOptions {
            union_default_graph: true,
            ..ServerOptions::default()
        },
    );
    assert_eq!(
        get(&union, &format!("/query?format=csv&query={query}")).body,
        "o\r\nin g\r\n"
    );
}

#[test]
fn head_describes_and_an_empty_get_describes_the_service() {
    let server = small();
    let head = exchange(
        &server,
        &format!("HEAD /query?query={}", escape(SELECT)),
        "",
        "",
    );
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(
        head.header("content-type"),
        Some("application/sparql-results+json")
    );
    let description = get(&server, "/query");
    assert_eq!(
        description.header("content-type"),
        Some("text/turtle; charset=utf-8")
    );
    assert!(
        description.body.contains("sd:SPARQL11Query"),
        "{description:?}"
    );
}

#[test]
fn plans_are_shown() {
    let server = small();
    let answer = post(&server, "/query?explain=true", "*/*", SELECT);
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("text/plain; charset=utf-8"))
    );
    assert!(
        !answer.body.is_empty() && !answer.body.contains("bindings"),
        "{answer:?}"
    );
    assert_eq!(
        post(&server, "/query?explain=profile", "*/*", SELECT).status,
        200
    );
    for (target, accept, has_run) in [
        ("/query?explain=json", "*/*", false),
        ("/query?explain=true", "application/json", false),
        ("/query?explain=true&format=json", "text/plain", false),
        (
            "/query?explain=profile",
            "text/plain;q=0.5, application/json",
            true,
        ),
        ("/query?explain=profile-json", "text/plain", true),
    ] {
        let answer = post(&server, target, accept, SELECT);
        let kind = answer.header("content-type");
        assert_eq!(kind, Some("application/json"), "{target} {answer:?}");
        let report: serde_json::Value =
            serde_json::from_str(&answer.body).expect("the plan is JSON");
        assert!(report["plan"]["operator"].is_string(), "{answer:?}");
        assert_eq!(report["run"].is_object(), has_run, "{answer:?}");
    }
    let page = "application/sparql-results+json, text/turtle;q=0.9, text/plain;q=0.8";
    let answer = post(&server, "/query?explain=true", page, SELECT);
    let kind = answer.header("content-type");
    assert_eq!(
        kind,
        Some("text/plain; charset=utf-8"),
        "the web page's own request"
    );
}

#[test]
fn the_other_pages_are_there() {
    let server = start(&many(100), ServerOptions::default());
    for path in ["/health", "/ping", "/$/ping"] {
        assert_eq!(get(&server, path).body, "ok\n");
    }
    assert!(get(&server, "/").body.starts_with("<!doctype html>"));
    let schema: serde_json::Value =
        serde_json::from_str(&get(&server, "/schema").body).expect("JSON");
    assert_eq!(schema["quads"], 100);
    let page = exchange(
        &server,
        "GET /schema",
        "Accept: text/html,*/*;q=0.8\r\n",
        "",
    );
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(get(&server, "/queries").body, "[]\n");
    assert_eq!(post(&server, "/query", "*/*", SELECT).status, 200);
    assert_eq!(post(&server, "/query", "*/*", "nonsense").status, 400);
    // A query counts after its answer was sent, so its count may come a moment later.
    let expected = [
        "basalt_quads 100",
        "basalt_queries_total{status=\"200\"} 1",
        "basalt_queries_total{status=\"400\"} 1",
    ];
    eventually(|| {
        let metrics = get(&server, "/metrics").body;
        expected.iter().all(|line| metrics.contains(line))
    });
}

#[test]
fn cors_is_on_when_asked_for() {
    let origin = "Origin: http://page\r\n";
    let preflight = format!(
        "{origin}Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n"
    );
    let open = start(
        DATA,
        ServerOptions {
            cors: true,
            ..ServerOptions::default()
        },
    );
    let answer = exchange(&open, "OPTIONS /query", &preflight, "");
    assert_eq!(answer.status, 204, "{answer:?}");
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert_eq!(
        answer.header("access-control-allow-headers"),
        Some("content-type")
    );
    let answer = exchange(&open, "GET /query?query=broken", origin, "");
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (400, Some("*"))
    );
    let closed = exchange(&small(), "GET /health", origin, "");
    assert_eq!(closed.header("access-control-allow-origin"), None);
}

#[test]
fn large_answers_stream_whole() {
    let server = start(&many(30_000), ServerOptions::default());
    let answer = post(
        &server,
        "/query",
        "text/csv",
        "SELECT ?s ?o { ?s <http://e/p> ?o }",
    );
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    assert!(answer.is_whole);
    let mut sum = 0u64;
    for line in answer.body.lines().skip(1) {
        sum += line
            .split(',')
            .nth(1)
            .and_then(|n| n.parse::<u64>().ok())
            .expect("a number");
    }
    assert_eq!(
        (answer.body.lines().count(), sum),
        (30_001, 30_000 * 29_999 / 2)
    );
}

#[test]
fn time_is_limited_before_and_within_an_answer() {
    let options = ServerOptions {
        timeout: Some(Duration::from_secs(30)),
        ..ServerOptions::default()
    };
    let server = start(&many(40), options);
    let start_time = Instant::now();
    let answer = post(&server, "/query?timeout=200", "*/*", ENDLESS);
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(answer.body.contains("200 ms"), "{answer:?}");
    assert!(start_time.elapsed() < Duration::from_secs(20));
    // Rows come at once and never end in time: the body must not look complete.
    let endless_rows = "SELECT * { ?a ?p1 ?b . ?c ?p2 ?d . ?e ?p3 ?f . ?g ?p4 ?h . ?i ?p5 ?j }";
    let answer = post(&server, "/query?timeout=700ms", "text/csv", endless_rows);
    assert!(
        answer.status == 503 || (answer.status == 200 && !answer.is_whole),
        "{}",
        answer.status
    );
}

#[test]
fn memory_is_limited() {
    let options = ServerOptions {
        query_memory_bytes: 1 << 16,
        ..ServerOptions::default()
    };
    let server = start(&many(30_000), options);
    // A sort goes on in files; pairs of everything with everything do not.
    let sorted = "SELECT ?s ?o { ?s <http://e/p> ?o } ORDER BY DESC(?o) ?s";
    let answer = post(&server, "/query", "text/csv", sorted);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.body.lines().count(), 30_001);
    let pairs = "SELECT * { ?s <http://e/p> ?o . ?t <http://e/p> ?u FILTER(STR(?o) < STR(?u)) }";
    let answer = post(&server, "/query", "*/*", pairs);
    assert_eq!(answer.status, 507, "{}", answer.body.len());
    assert!(answer.body.contains("HashJoin"), "{}", answer.body);
    assert_eq!(post(&server, "/query", "*/*", SELECT).status, 200);
}

#[test]
fn a_client_that_hangs_up_ends_its_query() {
    let server = start(&many(40), ServerOptions::default());
    let request = format!(
        "GET /query?query={} HTTP/1.1\r\nHost: x\r\n\r\n",
        escape(ENDLESS)
    );
    let stream = send(&server, &request);
    eventually(|| get(&server, "/queries").body.contains("SELECT"));
    drop(stream);
    eventually(|| get(&server, "/queries").body == "[]\n");
}

#[test]
fn a_running_query_can_be_listed_and_cancelled() {
    let server = start(&many(40), ServerOptions::default());
    let request = format!(
        "GET /query?query={} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        escape(ENDLESS)
    );
    let mut stream = send(&server, &request);
    eventually(|| get(&server, "/queries").body.contains("SELECT"));
    let list: serde_json::Value =
        serde_json::from_str(&get(&server, "/queries").body).expect("JSON");
    let id = list[0]["id"].as_u64().expect("a number");
    assert_eq!(
        exchange(&server, &format!("DELETE /queries/{id}"), "", "").status,
        204
    );
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer comes");
    assert!(
        answer.starts_with("HTTP/1.1 503") && answer.contains("cancelled"),
        "{answer}"
    );
}

#[test]
fn many_clients_are_served_at_once_and_the_server_stops() {
    let server = start(&many(1000), ServerOptions::default());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for i in 0..10 {
                    let query = format!("SELECT ?s {{ ?s <http://e/p> {i} }}");
                    let answer = post(&server, "/query", "text/csv", &query);
                    assert_eq!(answer.body, format!("s\r\nhttp://e/s{i}\r\n"));
                }
            });
        }
    });
    let address = server.address();
    server.shutdown().expect("the server stops");
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn an_address_in_use_is_an_error() {
    let server = small();
    let bind = server.address().to_string();
    let database = std::sync::Arc::new(basalt_engine::Database::in_memory());
    let options = ServerOptions {
        bind: bind.clone(),
        ..ServerOptions::default()
    };
    let error = basalt_server::spawn(database, options)
        .err()
        .expect("the address is taken");
    assert!(error.to_string().contains(&bind), "{error}");
}

/// Asks again until the answer is yes; fails after half a minute.
fn eventually(mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "it never became so"
        );
        std::thread::yield_now();
    }
}
