//! Statistics of one store for plans on another machine.

mod support;

use support::{Outcome, Place};

/// A store of people, and two queries.
fn with_people() -> Place {
    let place = Place::new();
    let mut text = String::new();
    for i in 0..300 {
        text += &format!("<http://d/p{i}> <http://v/name> \"person {i}\" .\n");
        text += &format!("<http://d/p{i}> <http://v/knows> <http://d/p{}> .\n", i / 3);
        text += &format!("<http://d/p{i}> <http://v/city> <http://d/c{}> .\n", i % 7);
        text += &format!("<http://d/c{}> <http://v/zip> \"{}\" .\n", i % 7, i % 7);
    }
    place.write("data.nt", text);
    place.write(
        "q.rq",
        "SELECT * { ?a <http://v/knows> ?b . ?b <http://v/city> ?c . ?c <http://v/zip> \"3\" }",
    );
    place.write(
        "other.rq",
        "SELECT * { ?a <http://v/city> ?c . ?a <http://v/name> ?n }",
    );
    place.ok("load --location store data.nt");
    place
}

/// The plan without the line of times.
fn plan(place: &Place, arguments: &str) -> String {
    let text = place.ok(arguments);
    let lines = text.lines().filter(|line| !line.starts_with("parse "));
    lines.collect::<Vec<_>>().join("\n")
}

fn refused(place: &Place, arguments: &str) -> String {
    let Outcome { code, out, err } = place.run(arguments);
    assert!(
        code != Some(0) && out.is_empty(),
        "{arguments}: {out} {err}"
    );
    err
}

#[test]
fn a_plan_is_looked_into_without_the_data() {
    let place = with_people();
    place.ok("stats export s.json --location store --query-file q.rq");
    place.ok("stats export s.json.gz --location store --query-file q.rq");
    let wanted = plan(&place, "explain --location store --query-file q.rq");
    assert!(wanted.contains("Star"), "{wanted}");
    for arguments in [
        "explain --stats s.json --query-file q.rq",
        "explain --stats s.json.gz --query-file q.rq",
        "query --explain --stats s.json --query-file q.rq",
    ] {
        assert_eq!(plan(&place, arguments), wanted, "{arguments}");
    }
    let other = plan(&place, "explain --stats s.json --query-file other.rq");
    assert!(other.contains("Star"), "{other}");
    let printed = place.ok("stats export - --location store");
    let printed: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(printed["format"], "basalt-planner-statistics");
    assert_eq!(printed["queries"], serde_json::json!([]));
    assert!(
        printed["tables"]
            .as_array()
            .is_some_and(|tables| !tables.is_empty())
    );
}

#[test]
fn an_empty_store_plans_by_what_it_imported_until_it_has_data() {
    let place = with_people();
    place.ok("stats export s.json --location store --query-file q.rq");
    let wanted = plan(&place, "explain --location store --query-file q.rq");
    place.ok("stats import s.json --location empty");
    let explained = place.run("explain --location empty --query-file q.rq");
    assert!(
        explained.err.contains("imported statistics"),
        "{explained:?}"
    );
    let imported = plan(&place, "explain --location empty --query-file q.rq");
    assert_eq!(imported, wanted);
    // Answers are those of the store.
    let rows = place.ok("query --location empty --query-file q.rq");
    assert_eq!(rows.lines().count(), 1, "{rows}");
    let err = refused(&place, "stats import s.json --location store");
    assert!(err.contains("only an empty one"), "{err}");
    place.ok("check --location empty --deep");
    place.ok("load --location empty data.nt");
    let loaded = place.run("explain --location empty --query-file q.rq");
    assert!(!loaded.err.contains("imported"), "{loaded:?}");
    let rows = place.ok("query --location empty --query-file q.rq");
    assert_eq!(rows, place.ok("query --location store --query-file q.rq"));
    let removed = place.run("stats import --none --location empty");
    assert!(removed.err.contains("by the data again"), "{removed:?}");
    let removed = place.run("stats import --none --location empty");
    assert!(
        removed.err.contains("no imported statistics"),
        "{removed:?}"
    );
}

#[test]
fn what_cannot_be_used_is_told() {
    let place = with_people();
    place.ok("stats export s.json --location store");
    let text = std::fs::read_to_string(place.path("s.json")).expect("it was written");
    place.write("half.json", &text[..text.len() / 2]);
    for arguments in [
        "explain --stats half.json --query-file q.rq",
        "stats import half.json --location empty",
    ] {
        let err = refused(&place, arguments);
        assert!(err.contains("half.json") && err.contains("line"), "{err}");
    }
    assert!(!place.path("empty").exists());
    let err = refused(&place, "explain --stats none.json --query-file q.rq");
    assert!(err.contains("none.json"), "{err}");
    let err = refused(&place, "query --stats s.json --query-file q.rq");
    assert!(err.contains("--explain"), "{err}");
    let err = refused(
        &place,
        "query --explain off --stats s.json --query-file q.rq",
    );
    assert!(err.contains("--stats is for --explain"), "{err}");
    let err = refused(&place, "stats import --location empty");
    assert!(err.contains("FILE"), "{err}");
}
