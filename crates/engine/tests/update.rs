//! Updates through the façade: what each operation does at its edges, limits, LOAD and who may be asked, reports.
//!
//! What they do to any data is held to an oracle in `random_updates.rs`.

mod support;
mod updates;

use basalt_engine::dump::{DumpGraph, dump};
use basalt_engine::{Database, Error, GraphFormat, ServicePolicy, UpdateOptions, UpdateReport};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;
use updates::data_of;

fn database(trig: &str) -> Database {
    let database = Database::in_memory();
    let end = if trig.is_empty() || trig.trim_end().ends_with(['.', '}']) {
        ""
    } else {
        " ."
    };
    let text = format!("@prefix e: <http://e/> . {trig}{end}");
    database
        .load_text(&text, GraphFormat::TriG)
        .expect("the data loads");
    database
}

fn run_with(
    database: &Database,
    text: &str,
    options: &UpdateOptions,
) -> Result<UpdateReport, Error> {
    let text = format!("PREFIX e: <http://e/> {text}");
    database.update(&text, options)
}

fn run(database: &Database, text: &str) -> Result<UpdateReport, Error> {
    run_with(database, text, &UpdateOptions::default())
}

/// The quads in short, sorted.
fn lines(database: &Database) -> Vec<String> {
    let short = |quad: &oxigraph::model::Quad| {
        quad.to_string()
            .replace("<http://e/", "e:")
            .replace("^^<http://www.w3.org/2001/XMLSchema#integer>", "")
            .replace('>', "")
    };
    let mut lines: Vec<String> = data_of(database).quads().iter().map(short).collect();
    lines.sort();
    lines
}

/// The data after an update.
fn after(trig: &str, update: &str) -> Vec<String> {
    let database = database(trig);
    run(&database, update).expect("the update runs");
    lines(&database)
}

fn message(database: &Database, update: &str) -> String {
    let before = lines(database);
    let error = run(database, update).expect_err("the update fails");
    assert_eq!(lines(database), before, "nothing is changed by {update}");
    error.to_string()
}

#[test]
fn removals_come_first_and_see_the_data_before() {
    assert_eq!(
        after(
            "e:a e:p 1 . e:b e:p 2",
            "DELETE { ?s e:p ?o } INSERT { ?s e:p ?o . ?s e:q ?o } WHERE { ?s e:p ?o }"
        ),
        [
            "e:a e:p \"1\"",
            "e:a e:q \"1\"",
            "e:b e:p \"2\"",
            "e:b e:q \"2\""
        ]
    );
    assert_eq!(
        after(
            "e:a e:p 1",
            "INSERT { ?s e:p 2 } WHERE { ?s e:p 1 } ; DELETE WHERE { ?s e:p 1 }"
        ),
        ["e:a e:p \"2\""]
    );
}

#[test]
fn what_cannot_be_a_quad_is_left_out() {
    // A literal as subject, graph and predicate, a blank predicate, unbound variables.
    assert_eq!(
        after(
            "e:a e:p \"x\" , _:b",
            "INSERT { ?o e:r 1 . e:s ?o 2 . GRAPH ?o { e:t e:u 3 } . e:v e:w ?none . e:x e:y 4 } \
             WHERE { e:a e:p ?o FILTER(isLiteral(?o)) OPTIONAL { ?o e:none ?none } }"
        )
        .len(),
        3
    );
    assert_eq!(
        after(
            "e:a e:p _:b",
            "DELETE { ?s ?o ?s . GRAPH ?o { ?s e:p ?o } } INSERT { e:c ?o 1 } WHERE { ?s e:p ?o }"
        )
        .len(),
        1
    );
}

#[test]
fn computed_terms_are_stored_and_are_the_same_terms_everywhere() {
    assert_eq!(
        after(
            "e:a e:p 1 . e:b e:p 2 . e:c e:q \"n3\"",
            "INSERT { ?iri e:v ?n , ?text } WHERE { ?s e:p ?o BIND(?o + 1 AS ?n) BIND(CONCAT(\"n\", STR(?n)) AS ?text) \
             BIND(IRI(CONCAT(\"http://e/i\", STR(?n))) AS ?iri) } ; \
             DELETE { ?s e:q ?t } INSERT { ?s e:found ?i } WHERE { ?s e:q ?t . ?i e:v ?t }"
        ),
        [
            "e:a e:p \"1\"",
            "e:b e:p \"2\"",
            "e:c e:found e:i3",
            "e:i2 e:v \"2\"",
            "e:i2 e:v \"n2\"",
            "e:i3 e:v \"3\"",
            "e:i3 e:v \"n3\"",
        ]
    );
}

#[test]
fn blank_nodes_are_new_ones_for_each_solution_and_one_for_each_request() {
    let database = database("e:a e:p 1 , 2");
    run(
        &database,
        "INSERT { _:x e:of ?o . _:x e:mark e:m } WHERE { ?s e:p ?o } ; \
         INSERT DATA { _:y e:is e:new . GRAPH e:g { _:y e:is e:new . _:z e:is e:new } } ; \
         INSERT { ?s e:made ?b } WHERE { ?s e:p ?o BIND(BNODE() AS ?b) }",
    )
    .expect("it runs");
    let ask = |query: &str| {
        let text = format!("PREFIX e: <http://e/> ASK {{ {query} }}");
        support::ask(&database, &text, &Default::default()).expect("it is answered")
            == basalt_testkit::Answer::Boolean(true)
    };
    assert!(ask(
        "?x e:of 1 . ?y e:of 2 . FILTER(?x != ?y && isBlank(?x))"
    ));
    assert!(ask("?x e:of 1 ; e:mark e:m . ?y e:of 2 ; e:mark e:m"));
    assert!(ask(
        "?x e:is e:new . GRAPH e:g { ?x e:is e:new . ?y e:is e:new } FILTER(?x != ?y)"
    ));
    assert!(ask("e:a e:made ?x , ?y FILTER(?x != ?y)"));
}

#[test]
fn graphs_are_there_as_long_as_they_have_quads() {
    let data = "e:a e:p 1 . e:g { e:a e:p 2 } e:h { e:a e:p 3 }";
    let cases: &[(&str, &[&str])] = &[
        (
            "CREATE GRAPH e:new",
            &["e:a e:p \"1\"", "e:a e:p \"2\" e:g", "e:a e:p \"3\" e:h"],
        ),
        (
            "CLEAR GRAPH e:none ; DROP GRAPH e:g",
            &["e:a e:p \"1\"", "e:a e:p \"3\" e:h"],
        ),
        ("CLEAR NAMED", &["e:a e:p \"1\""]),
        ("DROP DEFAULT", &["e:a e:p \"2\" e:g", "e:a e:p \"3\" e:h"]),
        ("DROP ALL", &[]),
        (
            "COPY e:g TO e:h",
            &["e:a e:p \"1\"", "e:a e:p \"2\" e:g", "e:a e:p \"2\" e:h"],
        ),
        (
            "MOVE e:g TO DEFAULT",
            &["e:a e:p \"2\"", "e:a e:p \"3\" e:h"],
        ),
        (
            "ADD DEFAULT TO e:g",
            &[
                "e:a e:p \"1\"",
                "e:a e:p \"1\" e:g",
                "e:a e:p \"2\" e:g",
                "e:a e:p \"3\" e:h",
            ],
        ),
        (
            "COPY SILENT e:none TO e:g ; MOVE e:h TO e:h ; CREATE SILENT GRAPH e:g ; DROP NAMED",
            &["e:a e:p \"1\""],
        ),
    ];
    for (update, expected) in cases {
        assert_eq!(after(data, update), *expected, "{update}");
    }
    let database = database(data);
    assert_eq!(
        message(&database, "CREATE GRAPH e:g"),
        "the graph <http://e/g> is there already"
    );
    assert_eq!(
        message(&database, "DROP ALL ; MOVE e:none  TO e:g"),
        "operation 2 of the update, «MOVE e:none TO e:g»: the graph <http://e/none> is not there"
    );
}

#[test]
fn transfers_beside_codepoint_escapes_are_transfers() {
    let data = "e:a e:p 1 . e:g { e:a e:p 2 } e:h { e:a e:p 3 }";
    let in_g = "e:a e:p \"2\" e:g".to_owned();
    for literal in ["\"\\u0041\"", "\"C:\\\\Users\\\\me\""] {
        let insert = format!("INSERT DATA {{ e:s e:q {literal} }}");
        for kind in ["MOVE", "COPY", "ADD"] {
            let database = database(data);
            assert_eq!(
                message(&database, &format!("{kind} e:none TO e:g ; {insert}")),
                format!(
                    "operation 1 of the update, «{kind} e:none TO e:g»: the graph <http://e/none> is not there"
                )
            );
            run(
                &database,
                &format!("{kind} SILENT e:none TO e:g ; {insert}"),
            )
            .expect("it runs");
            assert!(lines(&database).contains(&in_g), "{kind} {literal}");
        }
    }
    let insert = "INSERT DATA { e:s e:q \"\\u0041\" }";
    let mut options = UpdateOptions::default();
    options.query.default_graphs.push("http://e/h".into());
    let given = database(data);
    run_with(&given, &format!("MOVE e:g TO e:h ; {insert}"), &options).expect("it runs");
    assert_eq!(
        lines(&given),
        ["e:a e:p \"1\"", "e:a e:p \"2\" e:h", "e:s e:q \"A\""]
    );
    let mut options = UpdateOptions::default();
    options.query.union_default_graph = true;
    let union = database(data);
    run_with(&union, &format!("COPY DEFAULT TO e:h ; {insert}"), &options).expect("it runs");
    assert_eq!(
        lines(&union),
        [
            "e:a e:p \"1\"",
            "e:a e:p \"1\" e:h",
            "e:a e:p \"2\" e:g",
            "e:s e:q \"A\""
        ]
    );
}

#[test]
fn graphs_given_beside_the_request_stand_for_using() {
    let mut options = UpdateOptions::default();
    options.query.default_graphs.push("http://e/g".into());
    let database = database("e:a e:p 1 . e:g { e:a e:p 2 } e:h { e:a e:p 3 }");
    run_with(
        &database,
        "INSERT { ?s e:q ?o } WHERE { ?s e:p ?o } ; INSERT { ?s e:r ?o } WHERE { GRAPH ?g { ?s e:p ?o } } ; \
         COPY DEFAULT TO e:h",
        &options,
    )
    .expect("it runs");
    let expected = [
        "e:a e:p \"1\"",
        "e:a e:p \"1\" e:h",
        "e:a e:p \"2\" e:g",
        "e:a e:q \"2\"",
        "e:a e:q \"2\" e:h",
    ];
    assert_eq!(lines(&database), expected);
}

#[test]
fn language_tags_match_in_any_case_and_are_kept_as_written() {
    assert_eq!(
        after(
            "e:a e:p \"x\"@en-GB , \"y\"@EN",
            "DELETE DATA { e:a e:p \"x\"@EN-gb }"
        ),
        // The reader of the tests writes tags in lower case.
        ["e:a e:p \"y\"@en"]
    );
    let inserted = database("e:a e:p 1");
    run(
        &inserted,
        "INSERT DATA { e:a e:q \"x\"@en-GB } ; INSERT { ?s e:r \"y\"@EN } WHERE { ?s e:p 1 }",
    )
    .expect("it runs");
    let mut bytes = Vec::new();
    dump(
        &inserted.snapshot(),
        &mut bytes,
        GraphFormat::NTriples,
        DumpGraph::All,
    )
    .expect("a dump");
    let text = String::from_utf8(bytes).expect("UTF-8");
    assert!(
        text.contains("\"x\"@en-GB") && text.contains("\"y\"@EN"),
        "{text}"
    );
    let update = "DELETE { ?s e:p \"y\"@en } WHERE { ?s e:p \"y\"@En }";
    assert!(after("e:a e:p \"y\"@EN", update).is_empty());
}

#[test]
fn the_report_counts_what_changed() {
    let database = database("e:a e:p 1 , 2");
    let report = run(
        &database,
        "INSERT DATA { e:a e:p 1 , 3 } ; DELETE { ?s ?p 3 } INSERT { ?s ?p 4 } WHERE { ?s ?p 1 } ; CLEAR GRAPH e:g",
    )
    .expect("it runs");
    let counts: Vec<_> = report
        .operations
        .iter()
        .map(|operation| (operation.name, operation.removed, operation.added))
        .collect();
    assert_eq!(
        counts,
        [
            ("INSERT DATA", 0, 1),
            ("DELETE/INSERT WHERE", 1, 1),
            ("CLEAR", 0, 0)
        ]
    );
    assert_eq!((report.removed, report.added), (0, 1));
    let next = run(&database, "INSERT DATA { e:a e:p 5 }").expect("it runs");
    assert_eq!(next.commit, report.commit + 1);
    let same = run(&database, "INSERT DATA { e:a e:p 5 }").expect("it runs");
    assert_eq!((same.commit, same.added), (next.commit, 0));
}

/// A text that is parsed in parts holds what it holds in pieces, and errors have their place in the whole.
#[test]
fn a_long_text_is_taken_in_parts() {
    let filler = "long text ".repeat(8);
    let statement = |i: usize| match i % 5 {
        0 => format!(
            "e:s{i} e:p '{filler}{i} . }}'@EN-gb , {i}.5 ; e:q e:s{} .\n",
            i / 2
        ),
        1 => format!(
            "GRAPH e:g{} {{ e:s{i} e:p TRUE , \"{filler}{i}\" . e:s{i} e:q _:b{} }} .\n",
            i % 3,
            i % 7
        ),
        2 => format!("_:b{} e:p \"\"\"{filler}\n{i} .\"\"\" # }} .\n. ", i % 7),
        3 => format!("e:s{i} e:q [ e:p '{filler}{i}' ] , ( {i} ) . "),
        _ => format!("<http://e/s{i}> a e:C , <http://e/{i}.> . "),
    };
    let count = 50_000;
    let text: String = (0..count).map(statement).collect();
    assert!(text.len() > 4 << 20);
    let whole = Database::in_memory();
    let report = run(&whole, &format!("INSERT DATA {{ {text} }} ;")).expect("it runs");
    assert_eq!(report.operations.len(), 1);
    assert_eq!(report.operations[0].name, "INSERT DATA");
    // An operation more, and the text is parsed at once.
    let other = Database::in_memory();
    let request = format!("INSERT DATA {{ {text} }} ; CLEAR GRAPH e:none");
    let expected = run(&other, &request).expect("it runs");
    assert_eq!((report.added, report.removed), (expected.added, 0));
    let same = updates::compare_data(&data_of(&other), &whole);
    same.unwrap_or_else(|difference| unreachable!("{difference}"));
    let wrong = format!("INSERT DATA {{ {text} \n e:x e:y ?z . {text} }}");
    let message = message(&Database::in_memory(), &wrong);
    assert!(message.contains("ariables are not allowed"), "{message}");
}

#[test]
fn a_request_is_all_or_nothing_within_its_limits() {
    let rows: String = (0..3000).map(|i| format!("e:s{i} e:p {i} . ")).collect();
    let database = database(&rows);
    let mut small = UpdateOptions::default();
    // The sets go to files; one text of the query does not.
    small.query.exec.memory_bytes_max = 20_000;
    let joined = "SELECT (GROUP_CONCAT(?o; separator='----------') AS ?all) { ?s e:p ?o }";
    for update in [
        format!("INSERT DATA {{ e:x e:y 1 }} ; INSERT {{ e:x e:all ?all }} WHERE {{ {joined} }}"),
        format!("DELETE {{ ?s ?p ?all }} WHERE {{ ?s ?p ?o {{ {joined} }} }}"),
    ] {
        let update = update.as_str();
        let error = run_with(&database, update, &small).expect_err("it is too large");
        let limit = match error {
            Error::InOperation { error, .. } => *error,
            other => other,
        };
        assert!(matches!(limit, Error::Limit(_)), "{update}: {limit}");
        assert_eq!(database.snapshot().quad_count(), 3000, "{update}");
    }
    let mut late = UpdateOptions::default();
    late.query.exec.timeout = Some(Duration::from_millis(1));
    let endless =
        "INSERT { ?a e:q ?f } WHERE { ?a e:p ?b . ?c e:p ?d . ?e e:p ?f FILTER(?b + ?d + ?f < 0) }";
    let error = run_with(&database, endless, &late).expect_err("it takes too long");
    assert!(matches!(error, Error::Timeout { limit_ms: 1 }), "{error}");
    late.query.exec.timeout = Some(Duration::MAX);
    run_with(&database, "INSERT DATA {} ; DELETE DATA {}", &late).expect("there is time");
    let mut cancelled = UpdateOptions::default();
    cancelled.query.exec.cancel = Arc::new(AtomicBool::new(true));
    let error = run_with(&database, "CLEAR ALL", &cancelled).expect_err("it is cancelled");
    assert!(matches!(error, Error::Cancelled), "{error}");
    assert_eq!(database.snapshot().quad_count(), 3000);
}

#[test]
fn what_a_silent_load_read_in_vain_takes_no_memory() {
    let folder = TempDir::new().expect("a temporary folder");
    let bad = folder.path().join("bad.nt");
    let line = |i: u32| format!("<http://e/s{i}> <http://e/p> \"{i}\" .\n");
    let lines: String = (0..20_000).map(line).collect();
    fs::write(&bad, lines + "oops\n").expect("a file");
    let rows: String = (0..3000).map(|i| format!("e:s{i} e:p {i} . ")).collect();
    let database = database(&rows);
    let mut options = UpdateOptions {
        load_folders: vec![folder.path().to_owned()],
        ..UpdateOptions::default()
    };
    options.query.exec.memory_bytes_max = 4 << 20;
    let load = format!("LOAD SILENT <file://{}> ;\n", bad.display());
    let update = load.repeat(12) + "INSERT { ?s e:q ?o } WHERE { ?s e:p ?o }";
    run_with(&database, &update, &options).expect("the loads do nothing");
    assert_eq!(database.snapshot().quad_count(), 6000);
}

#[test]
fn a_store_on_disk_keeps_its_updates() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let database = Database::open_or_empty(&path).expect("a new store");
    run(
        &database,
        "INSERT DATA { e:a e:p 1 . GRAPH e:g { _:b e:p \"x\"@en } }",
    )
    .expect("it runs");
    run(
        &database,
        "DELETE WHERE { e:a e:p ?o } ; INSERT DATA { e:a e:q 2.5 }",
    )
    .expect("it runs");
    let before = data_of(&database);
    drop(database);
    let database = Database::open(&path).expect("the store opens");
    updates::compare_data(&before, &database).expect("the same data");
    assert_eq!(before.quads().len(), 2);
}

#[test]
fn files_are_loaded_from_allowed_folders_only() {
    let folder = TempDir::new().expect("a temporary folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    write("a.ttl", "<#x> <http://e/p> _:b , 1 . _:b <http://e/p> 2 .");
    write(
        "b.nq",
        "<http://e/a> <http://e/p> <http://e/b> <http://e/g> .\n",
    );
    write("bad.ttl", "<http://e/a> <http://e/p> oops");
    write("noname", "");
    let load = |name: &str| format!("LOAD <file://{}/{name}>", folder.path().display());
    let database = database("");
    let refused = message(&database, &load("a.ttl"));
    assert!(refused.contains("no folder is allowed"), "{refused}");
    let options = UpdateOptions {
        load_folders: vec![folder.path().to_owned()],
        ..UpdateOptions::default()
    };
    run_with(
        &database,
        &format!("{} INTO GRAPH e:t ; {}", load("a.ttl"), load("b.nq")),
        &options,
    )
    .expect("both load");
    let data = lines(&database);
    assert_eq!(data.len(), 4);
    assert!(
        data.iter()
            .any(|line| line.contains("a.ttl#x e:p \"1\" e:t")),
        "{data:?}"
    );
    assert!(data.contains(&"e:a e:p e:b e:g".to_owned()), "{data:?}");
    for (update, quoted) in [
        (format!("{} INTO GRAPH e:t", load("b.nq")), "names graphs"),
        (load("bad.ttl"), "bad.ttl"),
        (load("missing.ttl"), "does not exist"),
        (load("noname"), "no RDF syntax"),
        (load("../x.ttl"), "may not be loaded"),
        ("LOAD <ftp://e/x>".to_owned(), "only http:"),
    ] {
        let error = run_with(&database, &update, &options).expect_err("it fails");
        assert!(error.to_string().contains(quoted), "{update}: {error}");
    }
    let silent = load("bad.ttl").replace("LOAD", "LOAD SILENT");
    run_with(&database, &silent, &options).expect("nothing is loaded, silently");
    let refused = load("../x.ttl").replace("LOAD", "LOAD SILENT");
    run_with(&database, &refused, &options).expect_err("a refusal is never silent");
    assert_eq!(lines(&database).len(), 4);
}

/// Answers one request after the other with these heads and bodies; gives the place.
fn answers(parts: Vec<(String, String)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let place = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for (head, body) in parts {
            let (mut stream, _) = listener.accept().expect("a request");
            let mut request = Vec::new();
            let mut buffer = [0; 1024];
            while !request.windows(4).any(|w| w == b"\r\n\r\n") {
                let count = stream.read(&mut buffer).expect("a request");
                request.extend_from_slice(&buffer[..count]);
            }
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            stream.write_all(answer.as_bytes()).expect("an answer");
        }
    });
    place
}

#[test]
fn documents_come_over_http_where_that_is_allowed() {
    let turtle = "200 OK\r\nContent-Type: text/turtle".to_owned();
    let place = answers(vec![
        ("302 Found\r\nLocation: /there".into(), String::new()),
        (turtle, "<x> <http://e/p> 1 .".into()),
        ("404 Not Found".into(), "no such thing".into()),
        ("200 OK\r\nContent-Type: text/html".into(), "<html>".into()),
        (
            "302 Found\r\nLocation: http://other.example/".into(),
            String::new(),
        ),
    ]);
    let load = format!("LOAD <{place}/doc>");
    let database = database("");
    let refused = message(&database, &load);
    assert!(refused.contains("may not be loaded"), "{refused}");
    let mut options = UpdateOptions::default();
    options.query.services =
        ServicePolicy::from_entries(&[format!("{place}/*")]).expect("a good entry");
    run_with(&database, &load, &options).expect("it loads");
    assert_eq!(lines(&database), [format!("<{place}/x e:p \"1\"")]);
    for quoted in ["«no such thing»", "'text/html'", "other.example"] {
        let error = run_with(&database, &load, &options).expect_err("it fails");
        assert!(error.to_string().contains(quoted), "{error}");
    }
}

#[test]
fn writers_wait_for_each_other_and_lose_nothing() {
    let database = database("e:n e:count 0");
    let count = "DELETE { e:n e:count ?n } INSERT { e:n e:count ?m } WHERE { e:n e:count ?n BIND(?n + 1 AS ?m) }";
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..10).for_each(|_| drop(run(&database, count).expect("it runs"))));
        }
    });
    assert_eq!(lines(&database), ["e:n e:count \"40\""]);
}
