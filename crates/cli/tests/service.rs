//! The options of SERVICE, on the real binary.

mod support;

use basalt_engine::{Database, GraphFormat};
use basalt_server::{RunningServer, ServerOptions, spawn};
use std::sync::Arc;
use support::{Place, command};

fn endpoint() -> (RunningServer, String) {
    let database = Database::in_memory();
    database
        .load_text("<http://e/b> <http://e/q> \"found\" .", GraphFormat::Turtle)
        .expect("the data loads");
    let options = ServerOptions {
        bind: "127.0.0.1:0".to_owned(),
        ..ServerOptions::default()
    };
    let server = spawn(Arc::new(database), options).expect("the server starts");
    let iri = format!("http://{}/query", server.address());
    (server, iri)
}

#[test]
fn query_asks_everybody_unless_told_otherwise() {
    let (_server, iri) = endpoint();
    let place = Place::new();
    place.write("data.ttl", "<http://e/a> <http://e/p> <http://e/b> .");
    let query =
        format!("SELECT ?v {{ ?s <http://e/p> ?o SERVICE <{iri}> {{ ?o <http://e/q> ?v }} }}");
    let run = |options: &[&str]| {
        let mut arguments = vec!["query", "--data", "data.ttl", "--query", &query];
        arguments.extend(options);
        place.run_list(&arguments, b"")
    };
    let start = iri.replace("query", "*");
    let allowed: [&[&str]; 4] = [
        &[],
        &["--allow-service", &iri],
        &["--allow-service", "http://e/", "--allow-service", &start],
        &["--allow-service", "all", "--service-timeout", "20s"],
    ];
    for options in allowed {
        let outcome = run(options);
        assert_eq!(outcome.code, Some(0), "{options:?} {outcome:?}");
        assert_eq!(outcome.out, "?v\n\"found\"\n", "{options:?}");
    }
    let refused: [&[&str]; 2] = [&["--no-service"], &["--allow-service", "http://e/"]];
    for options in refused {
        let outcome = run(options);
        assert_ne!(outcome.code, Some(0), "{options:?} {outcome:?}");
        assert!(
            outcome.err.contains("may not be asked"),
            "{options:?} {outcome:?}"
        );
    }
    let wrong: [&[&str]; 4] = [
        &["--allow-service", "somebody"],
        &["--allow-service", "http://e*"],
        &["--service-timeout", "soon"],
        &["--no-service", "--allow-service", "http://e/"],
    ];
    for options in wrong {
        let outcome = run(options);
        assert_ne!(outcome.code, Some(0), "{options:?} {outcome:?}");
        assert!(outcome.out.is_empty(), "{options:?} {outcome:?}");
    }
}

#[test]
fn options_come_from_the_environment_as_well() {
    let (_server, iri) = endpoint();
    let place = Place::new();
    place.write("data.ttl", "<http://e/a> <http://e/p> <http://e/b> .");
    let query = format!("SELECT * {{ SERVICE <{iri}> {{ ?s ?p ?o }} }}");
    for (value, is_allowed) in [(iri.as_str(), true), ("http://e/", false)] {
        let output = command(&place.path(""))
            .args(["query", "--data", "data.ttl", "--query", &query])
            .env("BASALT_ALLOW_SERVICE", value)
            .output()
            .expect("the binary runs");
        assert_eq!(output.status.success(), is_allowed, "{value}: {output:?}");
    }
}

#[test]
fn serve_refuses_lists_that_make_no_sense() {
    let place = Place::new();
    let outcome = place.run("serve --bind 127.0.0.1:0 --allow-service http://e*");
    assert_ne!(outcome.code, Some(0), "{outcome:?}");
    assert!(
        outcome
            .err
            .contains("'http://e*' would allow other hosts too"),
        "{outcome:?}"
    );
}
