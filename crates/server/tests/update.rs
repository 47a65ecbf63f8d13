//! Updates over a real socket: forms and bodies, graphs beside them, who may write, errors, counters.

mod support;

use basalt_engine::Database;
use basalt_server::{RunningServer, ServerOptions, spawn};
use std::io::Read;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use support::{Answer, check_refusals, escape, exchange, get, parse, quads, send, start};

const DATA: &str = "@prefix e: <http://e/> . e:a e:p 1 . e:g { e:a e:q 2 }";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";
const UPDATE: &str = "Content-Type: application/sparql-update; charset=utf-8\r\n";
const INSERT: &str = "INSERT DATA { <http://e/a> <http://e/p> 7 }";

fn small() -> RunningServer {
    start(DATA, ServerOptions::default())
}

fn update(server: &RunningServer, text: &str) -> Answer {
    exchange(server, "POST /update", UPDATE, text)
}

#[test]
fn updates_come_by_form_and_by_body() {
    let form = format!("update={}", escape(INSERT));
    for path in ["/update", "/sparql"] {
        for (headers, body) in [(FORM, form.as_str()), (UPDATE, INSERT)] {
            let server = small();
            let answer = exchange(&server, &format!("POST {path}"), headers, body);
            assert_eq!(answer.status, 200, "{answer:?}");
            let told: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
            assert_eq!((&told["added"], &told["removed"]), (&1.into(), &0.into()));
            assert_eq!(told["operations"][0]["operation"], "INSERT DATA");
            assert_eq!(quads(&server), 3);
        }
    }
}

#[test]
fn graphs_beside_an_update_are_those_of_using() {
    let server = small();
    let text = "INSERT { ?s <http://e/new> ?o } WHERE { ?s ?p ?o }";
    let path = "/update?using-graph-uri=http%3A%2F%2Fe%2Fg";
    let answer = exchange(&server, &format!("POST {path}"), UPDATE, text);
    assert_eq!(answer.status, 200, "{answer:?}");
    let form = format!(
        "update={}&using-named-graph-uri=http%3A%2F%2Fe%2Fnone",
        escape(text)
    );
    assert_eq!(exchange(&server, "POST /sparql", FORM, &form).status, 200);
    assert_eq!(quads(&server), 3);
    let with = "WITH <http://e/g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }";
    assert_eq!(
        exchange(&server, &format!("POST {path}"), UPDATE, with).status,
        400
    );
    assert_eq!(quads(&server), 3);
}

#[test]
fn what_makes_no_sense_is_told_why_and_changes_nothing() {
    let server = small();
    let two = format!("update={0}&update={0}", escape(INSERT));
    let both = format!("update={}&query={}", escape(INSERT), escape("ASK {}"));
    let cases = [
        (update(&server, "INSERT DATA { ?x ?y ?z }"), 400),
        (
            update(
                &server,
                "DROP ALL ; CREATE GRAPH <http://e/h> ; COPY <http://e/h> TO DEFAULT",
            ),
            409,
        ),
        (
            update(&server, "DROP ALL ; LOAD <http://127.0.0.1:9/x>"),
            403,
        ),
        (update(&server, "DROP ALL ; LOAD <file:///etc/passwd>"), 403),
        (update(&server, "DROP ALL ; LOAD <nothing://e/x>"), 502),
        (exchange(&server, "POST /update", FORM, &two), 400),
        (exchange(&server, "POST /sparql", FORM, &both), 400),
        (
            exchange(&server, "POST /update", FORM, "query=ASK+%7B%7D"),
            400,
        ),
        (
            exchange(
                &server,
                "POST /update",
                "Content-Type: text/plain\r\n",
                INSERT,
            ),
            415,
        ),
        (exchange(&server, "POST /update", "", INSERT), 415),
        (exchange(&server, "POST /query", UPDATE, INSERT), 415),
        (
            get(&server, &format!("/sparql?update={}", escape(INSERT))),
            400,
        ),
        (
            get(&server, &format!("/update?update={}", escape(INSERT))),
            405,
        ),
    ];
    check_refusals(cases);
    assert_eq!(quads(&server), 2);
}

#[test]
fn a_server_can_be_read_only() {
    let server = start(
        DATA,
        ServerOptions {
            read_only: true,
            ..ServerOptions::default()
        },
    );
    assert_eq!(update(&server, INSERT).status, 403);
    assert_eq!(
        exchange(&server, "POST /sparql", UPDATE, INSERT).status,
        403
    );
    assert_eq!(quads(&server), 2);
    assert!(!get(&server, "/sparql").body.contains("SPARQL11Update"));
    assert!(get(&small(), "/sparql").body.contains("SPARQL11Update"));
}

#[test]
fn a_token_is_asked_for_where_there_is_one() {
    let server = start(
        DATA,
        ServerOptions {
            token: Some("secret".to_owned()),
            ..ServerOptions::default()
        },
    );
    let with = |header: &str| {
        exchange(
            &server,
            "POST /update",
            &format!("{UPDATE}{header}"),
            INSERT,
        )
    };
    for (header, told) in [
        ("", "bearer realm=\"basalt\""),
        (
            "Authorization: Basic c2VjcmV0\r\n",
            "bearer realm=\"basalt\"",
        ),
        ("Authorization: Bearer secre\r\n", "error=\"invalid_token\""),
        (
            "Authorization: Bearer secret2\r\n",
            "error=\"invalid_token\"",
        ),
    ] {
        let answer = with(header);
        assert_eq!(answer.status, 401, "{answer:?}");
        let challenge = answer.header("www-authenticate");
        assert!(
            challenge.is_some_and(|text| text.contains(told)),
            "{answer:?}"
        );
    }
    assert_eq!(quads(&server), 2);
    assert_eq!(with("Authorization: bearer secret\r\n").status, 200);
    assert_eq!(quads(&server), 3);
}

/// Sends the head of a request whose body never comes.
fn announce(server: &RunningServer, line: &str, headers: &str) -> TcpStream {
    let request =
        format!("{line} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: 9000000000\r\n\r\n");
    let stream = send(server, &request);
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).expect("a time limit");
    stream
}

#[test]
fn who_may_not_write_is_told_before_the_body_is_read() {
    let token = ServerOptions {
        token: Some("secret".to_owned()),
        ..ServerOptions::default()
    };
    let read_only = ServerOptions {
        read_only: true,
        ..ServerOptions::default()
    };
    let turtle = "Content-Type: text/turtle\r\n";
    for (options, status) in [(token, 401), (read_only, 403)] {
        let server = start(DATA, options);
        let announced = [
            ("POST /update", UPDATE),
            ("POST /update", FORM),
            ("POST /sparql", UPDATE),
            ("PUT /store?default", turtle),
            ("POST /store", turtle),
            ("POST /load", turtle),
        ]
        .map(|(line, headers)| (line, announce(&server, line, headers)));
        for (line, mut stream) in announced {
            let mut bytes = Vec::new();
            let read = stream.read_to_end(&mut bytes);
            read.map_err(|error| format!("{line}: {error}"))
                .expect("an answer, and the end of the connection");
            let answer = parse(&bytes);
            assert_eq!(answer.status, status, "{line}: {answer:?}");
            assert_eq!(answer.header("connection"), Some("close"), "{line}");
        }
        // What was sent by then is passed over, so that the answer is not lost.
        let long = "#".repeat(900_000);
        assert_eq!(update(&server, &long).status, status);
        // A form may be a query, for which nobody needs to be let in.
        let form = format!("query={}", escape("ASK {}"));
        assert_eq!(exchange(&server, "POST /sparql", FORM, &form).status, 200);
        assert_eq!(quads(&server), 2);
    }
}

#[test]
fn pages_of_other_origins_may_not_write() {
    let server = small();
    let with = |server: &RunningServer, origin: &str| {
        let headers = format!("{FORM}Origin: {origin}\r\n");
        let form = format!("update={}", escape(INSERT));
        exchange(server, "POST /update", &headers, &form).status
    };
    assert_eq!(with(&server, "http://evil.example"), 403);
    assert_eq!(with(&server, "null"), 403);
    assert_eq!(quads(&server), 2);
    // The host of the test's requests.
    assert_eq!(with(&server, "http://x"), 200);
    let open = start(
        DATA,
        ServerOptions {
            cors: true,
            ..ServerOptions::default()
        },
    );
    assert_eq!(with(&open, "http://other.example"), 200);
}

#[test]
fn limits_hold_and_updates_are_counted() {
    let many: String = (0..3000)
        .map(|i| format!("<http://e/s{i}> <http://e/p> {i} .\n"))
        .collect();
    let server = start(
        &many,
        ServerOptions {
            query_memory_bytes: 20_000,
            ..ServerOptions::default()
        },
    );
    let joined = "INSERT { <http://e/x> <http://e/all> ?all } WHERE { SELECT (GROUP_CONCAT(?o; separator='----------') AS ?all) { ?s ?p ?o } }";
    assert_eq!(update(&server, joined).status, 507);
    let large = start(&many, ServerOptions::default());
    let endless = "INSERT { ?a <http://e/q> 1 } WHERE { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f FILTER(?b + ?d + ?f < 0) }";
    let late = exchange(&large, "POST /update?timeout=100", UPDATE, endless);
    assert_eq!(late.status, 503, "{late:?}");
    assert!(
        late.body
            .contains("the update ran longer than its time limit of 100 ms"),
        "{late:?}"
    );
    assert_eq!(update(&server, INSERT).status, 200);
    let metrics = get(&server, "/metrics").body;
    for line in [
        "basalt_updates_total{status=\"200\"} 1",
        "basalt_updates_total{status=\"507\"} 1",
        "basalt_quads_added_total 1",
        "basalt_commit_number 1",
        "basalt_delta_quads 1",
        "basalt_quads 3001",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
}

#[test]
fn the_store_is_made_by_the_first_write_and_keeps_it() {
    let folder = std::env::temp_dir().join(format!("basalt-server-update-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let options = || ServerOptions {
        bind: "127.0.0.1:0".to_owned(),
        ..ServerOptions::default()
    };
    let database = Database::open_or_empty(&folder).expect("a new store");
    let server = spawn(Arc::new(database), options()).expect("the server starts");
    assert_eq!(quads(&server), 0);
    assert!(!folder.join("MANIFEST").exists());
    assert_eq!(update(&server, INSERT).status, 200);
    assert!(folder.join("MANIFEST").exists());
    server.shutdown().expect("the server stops");
    let database = Database::open(&folder).expect("the store is there");
    assert_eq!(database.snapshot().quad_count(), 1);
    drop(database);
    std::fs::remove_dir_all(&folder).expect("the folder can be removed");
}
