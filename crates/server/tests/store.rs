//! The Graph Store Protocol beyond its W3C suite: syntaxes, packing, large bodies, errors, who may write.

mod support;

use basalt_engine::Compression;
use basalt_engine::Compressor;
use basalt_server::{RunningServer, ServerOptions};
use std::io::{Read, Write};
use support::{Answer, check_refusals, exchange, get, parse, send_bytes, start};

const DATA: &str = "@prefix e: <http://e/> . e:a e:p 1 . e:g { e:a e:q 2 }";
const G: &str = "/store?graph=http%3A%2F%2Fe%2Fg";
const TURTLE: &str = "Content-Type: text/turtle\r\n";

fn small() -> RunningServer {
    start(DATA, ServerOptions::default())
}

fn bytes(server: &RunningServer, line: &str, headers: &str, body: &[u8]) -> Answer {
    let length = body.len();
    let head = format!(
        "{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n"
    );
    let mut answer = Vec::new();
    send_bytes(server, &[head.as_bytes(), body].concat())
        .read_to_end(&mut answer)
        .expect("an answer");
    parse(&answer)
}

#[test]
fn every_syntax_goes_in_and_comes_out() {
    let triple = "<http://e/s> <http://e/p> \"x\"@en .";
    let bodies = [
        ("application/n-triples", triple.to_owned()),
        ("application/n-quads", triple.to_owned()),
        ("text/turtle", "@prefix e: <http://e/> . e:s e:p \"x\"@en .".to_owned()),
        ("application/trig", "@prefix e: <http://e/> . { e:s e:p \"x\"@en }".to_owned()),
        (
            "application/rdf+xml",
            "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:e=\"http://e/\">\
             <rdf:Description rdf:about=\"http://e/s\"><e:p xml:lang=\"en\">x</e:p></rdf:Description></rdf:RDF>"
                .to_owned(),
        ),
        (
            "application/ld+json",
            "{\"@id\":\"http://e/s\",\"http://e/p\":{\"@value\":\"x\",\"@language\":\"en\"}}".to_owned(),
        ),
    ];
    let server = small();
    for (media_type, body) in bodies {
        let headers = format!("Content-Type: {media_type}\r\n");
        let put = exchange(&server, &format!("PUT {G}"), &headers, &body);
        assert_eq!(put.status, 204, "{media_type}: {put:?}");
        let plain = exchange(
            &server,
            &format!("GET {G}"),
            "Accept: application/n-triples\r\n",
            "",
        );
        assert_eq!(plain.body.trim(), triple, "{media_type}");
        let same = exchange(
            &server,
            &format!("GET {G}"),
            &format!("Accept: {media_type}\r\n"),
            "",
        );
        // Text says that it is UTF-8.
        let sent_as = match media_type {
            "text/turtle" => "text/turtle; charset=utf-8",
            other => other,
        };
        assert_eq!(
            (same.status, same.header("content-type")),
            (200, Some(sent_as))
        );
    }
    assert_eq!(get(&server, "/store?default").body.lines().count(), 1);
    let all = get(&server, "/data");
    assert_eq!(all.header("content-type"), Some("application/n-quads"));
    assert_eq!(all.body.lines().count(), 2);
}

#[test]
fn bodies_may_be_packed_and_large() {
    let text: String = (0..150_000)
        .map(|i| format!("<http://e/s{i}> <http://e/p> \"a text of some length, number {i}\" .\n"))
        .collect();
    let headers = "Content-Type: application/n-triples\r\n";
    let server = start("", ServerOptions::default());
    let put = bytes(&server, "PUT /store?default", headers, text.as_bytes());
    assert_eq!(put.status, 201, "{put:?}");
    let mut packer = Compressor::new(Vec::new(), Some(Compression::Gzip)).expect("a packer");
    packer.write_all(text.as_bytes()).expect("it packs");
    let packed = packer.finish().expect("it packs");
    // Codings are told by names in any case.
    let headers = format!("{headers}Content-Encoding: GZIP\r\n");
    let post = bytes(&server, &format!("POST {G}"), &headers, &packed);
    assert_eq!(post.status, 201, "{post:?}");
    let metrics = get(&server, "/metrics").body;
    assert!(metrics.contains("basalt_quads 300000"), "{metrics}");
    let whole = get(&server, G);
    assert!(whole.is_whole);
    assert_eq!(whole.body.lines().count(), 150_000);
    let tight = start(
        "",
        ServerOptions {
            query_memory_bytes: 20_000,
            ..ServerOptions::default()
        },
    );
    // What has no room in memory goes to files.
    let put = bytes(&tight, &format!("PUT {G}"), &headers, &packed);
    assert_eq!(put.status, 201, "{put:?}");
    let metrics = get(&tight, "/metrics").body;
    assert!(metrics.contains("basalt_quads 150000"), "{metrics}");
}

#[test]
fn forms_with_files_are_read() {
    let server = small();
    let headers = "Content-Type: multipart/form-data; boundary=bb\r\n";
    let form = "--bb\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.nt\"\r\n\r\n\
        _:b <http://e/p> <http://e/o> .\r\n\r\n--bb\r\nContent-Type: text/turtle\r\n\r\n_:b <http://e/p> <> .\r\n--bb--\r\n";
    let post = exchange(&server, &format!("POST {G}"), headers, form);
    assert_eq!(post.status, 204, "{post:?}");
    assert_eq!(get(&server, G).body.lines().count(), 3);
    let quoted = "--bb\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a;b.ttl\"\r\n\
        Content-Type: application/octet-stream\r\n\r\n_:b <http://e/p> 3 .\r\n--bb--\r\n";
    let post = exchange(&server, &format!("POST {G}"), headers, quoted);
    assert_eq!(post.status, 204, "{post:?}");
    assert_eq!(get(&server, G).body.lines().count(), 4);
    for (form, status) in [
        ("--bb\r\n\r\nx", 400),
        ("--bb\r\nContent-Type: image/png\r\n\r\nx\r\n--bb--", 415),
        (
            "--bb\r\nContent-Type: text/turtle\r\n\r\noops\r\n--bb--",
            400,
        ),
    ] {
        let post = exchange(&server, &format!("POST {G}"), headers, form);
        assert_eq!(post.status, status, "{form}: {post:?}");
    }
    assert_eq!(get(&server, G).body.lines().count(), 4);
}

#[test]
fn relative_iris_are_about_the_graph() {
    let server = small();
    let put = exchange(&server, "PUT /store/a/b.ttl", TURTLE, "<> <#p> <c> .");
    assert_eq!(put.status, 201, "{put:?}");
    assert_eq!(
        get(&server, "/store/a/b.ttl").body.trim(),
        "<http://x/store/a/b.ttl> <http://x/store/a/b.ttl#p> <http://x/store/a/c> ."
    );
    let by_name = get(&server, "/store?graph=http%3A%2F%2Fx%2Fstore%2Fa%2Fb.ttl");
    assert_eq!(by_name.status, 200);
    let new = exchange(
        &server,
        "POST /store",
        TURTLE,
        "<http://e/s> <http://e/p> 1 .",
    );
    assert_eq!(new.status, 201, "{new:?}");
    let place = new.header("location").expect("a place").to_owned();
    let path = place.strip_prefix("http://x").expect("a place here");
    assert_eq!(get(&server, path).status, 200);
    let head = exchange(&server, &format!("HEAD {path}"), "", "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(head.header("content-type"), Some("application/n-triples"));
    assert_eq!(
        exchange(&server, &format!("DELETE {path}"), "", "").status,
        204
    );
    assert_eq!(
        exchange(&server, &format!("DELETE {path}"), "", "").status,
        404
    );
    assert_eq!(get(&server, path).status, 404);
}

#[test]
fn parameters_and_headers_that_mean_another_request_are_refused() {
    let server = small();
    let triple = "<http://e/s> <http://e/p> 1 .";
    check_refusals([
        (
            exchange(&server, "DELETE /store?default=http://e/g", "", ""),
            400,
        ),
        (
            exchange(&server, "DELETE /store?grph=http://e/g", "", ""),
            400,
        ),
        (get(&server, "/store?grph=http://e/g"), 400),
        (
            exchange(&server, "POST /store?grph=http://e/g", TURTLE, triple),
            400,
        ),
        (
            exchange(
                &server,
                &format!("PUT {G}"),
                &format!("{TURTLE}Content-Range: bytes 0-9/100\r\n"),
                triple,
            ),
            400,
        ),
    ]);
    assert!(get(&server, "/metrics").body.contains("basalt_quads 2"));
}

#[test]
fn what_makes_no_sense_is_told_why_and_changes_nothing() {
    let server = small();
    let triple = "<http://e/s> <http://e/p> 1 .";
    let named = "<http://e/s> <http://e/p> <http://e/o> <http://e/h> .";
    let quads = "Content-Type: application/n-quads\r\n";
    let cases = [
        (get(&server, "/store?graph=relative"), 400),
        (get(&server, &format!("{G}&default")), 400),
        (exchange(&server, "PUT /store", TURTLE, triple), 400),
        (exchange(&server, "DELETE /store", "", ""), 400),
        (
            exchange(&server, &format!("PUT {G}"), TURTLE, "<http://e/s> oops"),
            400,
        ),
        (exchange(&server, &format!("POST {G}"), quads, named), 400),
        (
            exchange(
                &server,
                &format!("POST {G}"),
                "Content-Type: text/html\r\n",
                triple,
            ),
            415,
        ),
        (exchange(&server, &format!("POST {G}"), "", triple), 415),
        (
            exchange(
                &server,
                &format!("POST {G}"),
                &format!("{TURTLE}Content-Encoding: br\r\n"),
                triple,
            ),
            415,
        ),
        (
            exchange(&server, &format!("GET {G}"), "Accept: image/png\r\n", ""),
            406,
        ),
        (
            exchange(&server, "GET /store", "Accept: text/turtle\r\n", ""),
            406,
        ),
        (
            exchange(&server, &format!("PATCH {G}"), TURTLE, triple),
            405,
        ),
        (get(&server, "/store?graph=http://e/none"), 404),
    ];
    check_refusals(cases);
    assert!(get(&server, "/metrics").body.contains("basalt_quads 2"));
}

#[test]
fn a_graph_without_a_name_is_no_fault_of_an_update() {
    let server = small();
    for target in ["/store?graph=", "/store?graph=relative"] {
        let answer = get(&server, target);
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.body.contains("not an absolute IRI"), "{answer:?}");
        assert!(!answer.body.contains("update"), "{answer:?}");
    }
}

#[test]
fn one_address_serves_graphs_too() {
    let server = small();
    let default = get(&server, "/sparql?default");
    assert_eq!(default.status, 200, "{default:?}");
    assert_eq!(default.body, get(&server, "/store?default").body);
    let target = "/sparql?graph=http%3A%2F%2Fe%2Fnew";
    let triple = "<http://e/s> <http://e/p> <http://e/o> .";
    let expected = [
        ("GET", "", "", 404),
        ("PUT", TURTLE, triple, 201),
        ("POST", TURTLE, triple, 204),
        ("HEAD", "", "", 200),
        ("GET", "", "", 200),
        ("DELETE", "", "", 204),
        ("DELETE", "", "", 404),
    ];
    for (method, headers, body, status) in expected {
        let answer = exchange(&server, &format!("{method} {target}"), headers, body);
        assert_eq!(answer.status, status, "{method}: {answer:?}");
        if method == "GET" && status == 200 {
            assert_eq!(answer.body.trim(), triple);
        }
    }
    // A query or an update is one whatever stands beside it.
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let asked = [
        get(&server, "/sparql?default&query=ASK%7B%7D"),
        exchange(&server, "POST /sparql?default", form, "query=ASK%7B%7D"),
    ];
    for answer in asked {
        assert!(answer.body.contains("\"boolean\":true"), "{answer:?}");
    }
    // The address of queries alone gives no graph, and does not describe itself in place of one.
    for target in ["/query?default", "/query?graph=http://e/g"] {
        assert_eq!(get(&server, target).status, 400, "{target}");
    }
    let closed = start(
        DATA,
        ServerOptions {
            read_only: true,
            ..ServerOptions::default()
        },
    );
    let put = exchange(&closed, &format!("PUT {target}"), TURTLE, triple);
    assert_eq!(put.status, 403, "{put:?}");
}

#[test]
fn writes_may_depend_on_the_graph_being_there() {
    let server = small();
    let new = "/store?graph=http%3A%2F%2Fe%2Fnew";
    let triple = "<http://e/s> <http://e/p> <http://e/o> .";
    let expected = [
        ("PUT", G, "If-None-Match: *", 412),
        ("POST", G, "If-None-Match: *", 412),
        ("DELETE", G, "If-None-Match: *", 412),
        ("PUT", new, "If-Match: *", 412),
        ("POST", new, "If-Match: *", 412),
        ("DELETE", new, "If-Match: *", 412),
        ("PUT", G, "If-Match: \"abc\"", 412),
        ("DELETE", G, "If-Match: \"abc\"", 412),
        ("POST", "/store", "If-Match: *", 412),
        ("PUT", new, "If-None-Match: *", 201),
        ("PUT", new, "If-None-Match: *", 412),
        ("PUT", new, "If-Match: *", 204),
        ("PUT", new, "If-None-Match: \"abc\"", 204),
        ("DELETE", new, "If-Match: *", 204),
        ("PUT", "/store?default", "If-None-Match: *", 412),
    ];
    for (number, (method, target, condition, status)) in expected.into_iter().enumerate() {
        let headers = format!("{TURTLE}{condition}\r\n");
        let body = if method == "DELETE" { "" } else { triple };
        let answer = exchange(&server, &format!("{method} {target}"), &headers, body);
        assert_eq!(answer.status, status, "case {number}: {answer:?}");
    }
    assert!(get(&server, "/metrics").body.contains("basalt_quads 2"));
}

#[test]
fn writers_of_graphs_are_asked_who_they_are() {
    let options = ServerOptions {
        token: Some("secret".to_owned()),
        ..ServerOptions::default()
    };
    let server = start(DATA, options);
    for line in ["PUT", "POST", "DELETE"] {
        let answer = exchange(&server, &format!("{line} {G}"), TURTLE, "");
        assert_eq!(answer.status, 401, "{line}: {answer:?}");
    }
    assert_eq!(get(&server, G).status, 200);
    let headers = format!("{TURTLE}Authorization: Bearer secret\r\n");
    let answer = exchange(&server, &format!("DELETE {G}"), &headers, "");
    assert_eq!(answer.status, 204);
    let closed = start(
        DATA,
        ServerOptions {
            read_only: true,
            ..ServerOptions::default()
        },
    );
    assert_eq!(
        exchange(&closed, &format!("PUT {G}"), TURTLE, "").status,
        403
    );
}
