//! Stores of which fewer literals are inline (no time with a fraction of a second, no double with an exponent, no time of a day, no duration) keep that through loads,
//! changes and merges, and answer as those of which all are.

mod support;

use basalt_engine::{
    Addition, CheckDepth, Database, GraphFormat, InlineForms, Input, InputSource, LoadOptions,
    NoProgress, QueryOptions, UpdateOptions,
};
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use support::triples::{NS, Triples, iri, number};
use support::{ask, same_answers};
use tempfile::TempDir;

const EVENTS: usize = 900;

/// Events `from..to`, with times of all forms and equal values among them.
fn events(from: usize, to: usize) -> String {
    let mut triples = Triples::default();
    let xsd = "http://www.w3.org/2001/XMLSchema#";
    for event in from..to {
        let name = format!("e{event}");
        triples.add(&name, "kind", &iri("k", event % 7));
        triples.add(&name, "number", &number(event, "integer"));
        let fraction = [
            "", ".000", ".500", ".250", ".250000", ".000001", ".5", ".1234567",
        ][event * 31 % 8];
        let zone = ["Z", "", "+00:00", "+02:00", "+05:20"][event / 3 % 5];
        let (day, hour) = (1 + event % 28, event * 7 % 24);
        let time = format!(
            "2024-03-{day:02}T{hour:02}:00:{:02}{fraction}{zone}",
            event % 3
        );
        triples.add(&name, "at", &format!("\"{time}\"^^<{xsd}dateTime>"));
        let value = (event * 17 % 40) as f64 / 8.0 - 1.0;
        let level = match event % 6 {
            0 => format!("{value:E}"),
            1 => format!("{value:e}"),
            2 => format!("{value:.2E}"),
            3 => (value / 3.0).to_string(),
            4 => format!("{value}e0"),
            _ => value.to_string(),
        };
        triples.add(&name, "level", &format!("\"{level}\"^^<{xsd}double>"));
        let zone = ["", "", "Z", "+00:00", "-05:30"][event * 7 % 5];
        let fraction = ["", "", "", ".0", ".5"][event * 3 % 5];
        let time = format!("{hour:02}:{:02}:00{fraction}{zone}", event % 4 * 15);
        triples.add(&name, "due", &format!("\"{time}\"^^<{xsd}time>"));
        let (minutes, seconds) = (event * 13 % 200, event * 29 % 90);
        let took = match event % 7 {
            0 => format!("PT{minutes}M"),
            1 => format!("PT{seconds}S"),
            2 => format!("PT{}H{}M", minutes / 60, minutes % 60),
            3 => format!("-PT{minutes}M0.5S"),
            4 => format!("PT{seconds}.250S"),
            5 => format!("P{}DT1H", event % 3),
            _ => format!("PT0{seconds}S"),
        };
        let of_type = ["dayTimeDuration", "duration"][usize::from(event % 11 == 0)];
        triples.add(&name, "took", &format!("\"{took}\"^^<{xsd}{of_type}>"));
    }
    triples.0
}

const UPDATES: [&str; 9] = [
    "INSERT DATA { :e3 :at \"2024-03-09T01:02:03.456Z\"^^xsd:dateTime . :new :at \"2024-03-09T01:02:03.456789\"^^xsd:dateTime ; :kind :k1 }",
    "DELETE { ?e :at ?t } INSERT { ?e :at ?later } WHERE { ?e :at ?t ; :kind :k2 BIND(?t + \"PT0.750S\"^^xsd:dayTimeDuration AS ?later) }",
    "DELETE { ?e :at ?t } WHERE { ?e :kind :k4 ; :at ?t FILTER(SECONDS(?t) = 0.25) }",
    "INSERT DATA { :e5 :level 1.25E0, 1.250e0, \"0.30000000000000004\"^^xsd:double . :new :level 1.0E0 }",
    "DELETE { ?e :level ?l } INSERT { ?e :level ?third } WHERE { ?e :level ?l ; :kind :k3 BIND(?l / 3 AS ?third) }",
    "INSERT DATA { :e7 :due \"24:00:00\"^^xsd:time, \"00:00:00\"^^xsd:time . :new :due \"07:00:00Z\"^^xsd:time ; :kind :k5 }",
    "DELETE { ?e :due ?t } INSERT { ?e :due ?later } WHERE { ?e :due ?t ; :kind :k1 BIND(?t + \"PT10H\"^^xsd:dayTimeDuration AS ?later) }",
    "INSERT DATA { :e9 :took \"PT60M\"^^xsd:dayTimeDuration, \"PT1H\"^^xsd:dayTimeDuration . :new :took \"P1Y\"^^xsd:duration ; :kind :k2 }",
    "DELETE { ?e :took ?d } INSERT { ?e :took ?twice } WHERE { ?e :took ?d ; :kind :k1 BIND(?d + ?d AS ?twice) }",
];

const QUERIES: [&str; 38] = [
    "SELECT ?e ?t { ?e :at ?t }",
    "SELECT ?e { ?e :at \"2024-03-09T01:02:03.456Z\"^^xsd:dateTime }",
    "SELECT ?e { ?e :at ?t FILTER(?t = \"2024-03-01T00:00:00.250Z\"^^xsd:dateTime) }",
    "SELECT ?e ?t { ?e :at ?t FILTER(?t > \"2024-03-10T00:00:00.500Z\"^^xsd:dateTime && ?t <= \"2024-03-12T00:00:00Z\"^^xsd:dateTime) }",
    "SELECT ?e ?t { ?e :at ?t ; :kind ?k } ORDER BY ?t ?e LIMIT 50",
    "SELECT ?k (MIN(?t) AS ?first) (MAX(?t) AS ?last) (COUNT(DISTINCT ?t) AS ?n) { ?e :at ?t ; :kind ?k } GROUP BY ?k",
    "SELECT ?t (COUNT(*) AS ?n) { ?e :at ?t } GROUP BY ?t",
    "SELECT ?e ?y ?s { ?e :at ?t BIND(YEAR(?t) * 10000 + HOURS(?t) AS ?y) BIND(SECONDS(?t) AS ?s) }",
    "SELECT ?e ?d ?z { ?e :at ?t BIND(xsd:date(?t) AS ?d) BIND(TZ(?t) AS ?z) }",
    "SELECT ?a ?b { ?a :at ?t ; :kind :k1 . ?b :at ?t ; :kind :k3 }",
    "SELECT ?a ?b { ?a :at ?s ; :kind :k1 . ?b :at ?t ; :kind :k3 FILTER(?s = ?t) }",
    "SELECT ?a ?b { ?a :at ?s ; :kind :k5 . ?b :at ?t ; :kind :k6 FILTER(?s - ?t < \"PT0.5S\"^^xsd:dayTimeDuration) }",
    "SELECT ?e ?l { ?e :level ?l }",
    "SELECT ?e { ?e :level 1.25E0 }",
    "SELECT ?e ?l { ?e :level ?l FILTER(?l = 0.5) }",
    "SELECT ?e ?l { ?e :level ?l FILTER(?l > -0.25e0 && ?l <= 1.25) }",
    "SELECT ?e ?l { ?e :level ?l FILTER(?l IN (1.0E0, 0.5, 7)) }",
    "SELECT ?k (SUM(?l) AS ?sum) (MIN(?l) + 0 AS ?least) (COUNT(DISTINCT ?l) AS ?n) { ?e :level ?l ; :kind ?k } GROUP BY ?k",
    "SELECT ?l (COUNT(*) AS ?n) { ?e :level ?l } GROUP BY ?l",
    "SELECT ?third (COUNT(*) AS ?n) { ?e :level ?l BIND(?l / 3 AS ?third) } GROUP BY ?third ORDER BY ?third",
    "SELECT ?a ?b { ?a :level ?s ; :kind :k1 . ?b :level ?t ; :kind :k5 FILTER(?s = ?t || ?s * 3 < ?t) }",
    "SELECT ?e ?t { ?e :due ?t }",
    "SELECT ?e { ?e :due \"07:15:00\"^^xsd:time }",
    "SELECT ?e ?t { ?e :due ?t FILTER(?t >= \"08:15:00\"^^xsd:time && ?t < \"17:00:00Z\"^^xsd:time) }",
    "SELECT ?e ?t { ?e :due ?t FILTER(?t IN (\"08:15:00\"^^xsd:time, \"14:00:00.0\"^^xsd:time, \"00:00:00\"^^xsd:time)) }",
    "SELECT ?e ?t { ?e :due ?t } ORDER BY ?t ?e",
    "SELECT ?k (MIN(?t) AS ?first) (MAX(?t) AS ?last) (COUNT(DISTINCT ?t) AS ?n) { ?e :due ?t ; :kind ?k FILTER(!CONTAINS(STR(?t), '.')) } GROUP BY ?k",
    "SELECT ?e ?h ?s ?z ?c { ?e :due ?t ; :at ?at BIND(HOURS(?t) * 60 + MINUTES(?t) AS ?h) BIND(SECONDS(?t) AS ?s) BIND(TZ(?t) AS ?z) BIND(xsd:time(?at) AS ?c) BIND(xsd:date(?t) AS ?none) }",
    "SELECT ?a ?b ?d { ?a :due ?s ; :kind :k1 . ?b :due ?t ; :kind :k3 FILTER(?s = ?t || ?s - ?t < \"-PT20H\"^^xsd:dayTimeDuration) BIND(?s - ?t AS ?d) }",
    "SELECT ?e ?d { ?e :took ?d }",
    "SELECT ?e { ?e :took \"PT1H\"^^xsd:dayTimeDuration }",
    "SELECT ?e ?d { ?e :took ?d FILTER(?d > \"PT30M0.25S\"^^xsd:dayTimeDuration || ?d = \"-PT60.5S\"^^xsd:duration) }",
    "SELECT ?e ?d { ?e :took ?d FILTER(?d IN (\"PT60M\"^^xsd:dayTimeDuration, \"PT0.25S\"^^xsd:dayTimeDuration, \"P1Y\"^^xsd:duration)) }",
    "SELECT ?e ?d { ?e :took ?d FILTER(STRLEN(STR(?d)) < 7) } ORDER BY ?d ?e",
    "SELECT ?k (MIN(?d) + \"PT0S\"^^xsd:dayTimeDuration AS ?first) (MAX(?d) + \"PT0S\"^^xsd:dayTimeDuration AS ?last) (COUNT(DISTINCT ?d) AS ?n) { ?e :took ?d ; :kind ?k } GROUP BY ?k",
    "SELECT ?e ?d ?end ?none { ?e :took ?d ; :at ?at BIND(?at + ?d AS ?end) BIND(HOURS(?d) AS ?none) BIND(TZ(?d) AS ?none2) BIND(xsd:dayTimeDuration(STR(?d)) AS ?same) FILTER(?same = ?d) }",
    "SELECT ?a ?b { ?a :took ?s ; :kind :k1 . ?b :took ?t ; :kind :k3 FILTER(?s = ?t || ?s < ?t - \"PT2H\"^^xsd:dayTimeDuration) }",
    "SELECT ?a ?b ?d { ?a :at ?s ; :kind :k1 . ?b :at ?t ; :kind :k3 ; :took ?d FILTER(?t - ?s < ?d) }",
];

fn prefixed(text: &str) -> String {
    format!("PREFIX : <{NS}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> {text}")
}

fn load(database: &Database, text: String, forms: InlineForms, addition: Addition) {
    let options = LoadOptions {
        inputs: vec![Input {
            source: InputSource::Reader {
                name: "events".to_owned(),
                reader: Box::new(Cursor::new(text)),
            },
            format: Some(GraphFormat::NTriples),
        }],
        inline_forms: forms,
        addition,
        ..LoadOptions::default()
    };
    database.load(options, &NoProgress).expect("it loads");
}

/// The first line of the manifest.
fn format_of(location: &Path) -> String {
    let manifest = fs::read_to_string(location.join("MANIFEST")).expect("there is one");
    manifest.lines().next().unwrap_or_default().to_owned()
}

/// Old stores and a new one.
const FORMS: [(InlineForms, &str); 5] = [
    (InlineForms::WholeSeconds, "basalt-manifest 3"),
    (InlineForms::Fractions, "basalt-manifest 4"),
    (InlineForms::Doubles, "basalt-manifest 5"),
    (InlineForms::Times, "basalt-manifest 6"),
    (InlineForms::Durations, "basalt-manifest 7"),
];

/// That all are whole, have the forms that they began with, and answer alike.
fn check(databases: &[Database; 5], locations: &[PathBuf; 5], when: &str) {
    for (database, (location, (forms, format))) in databases.iter().zip(locations.iter().zip(FORMS))
    {
        database.check(CheckDepth::Deep).expect("it is whole");
        let snapshot = database.snapshot();
        assert_eq!(snapshot.dictionary().qualifiers().forms(), forms, "{when}");
        assert_eq!(format_of(location), format, "{when}");
    }
    for query in QUERIES {
        let [old @ .., now] = databases.each_ref().map(|database| {
            ask(database, &prefixed(query), &QueryOptions::default()).expect("it runs")
        });
        for old in old {
            same_answers(&old, &now, &format!("{when}: {query}"));
        }
    }
}

#[test]
fn a_store_keeps_its_forms_and_answers_alike() {
    let folder = TempDir::new().expect("a temporary folder");
    let locations =
        ["first", "second", "third", "fourth", "now"].map(|name| folder.path().join(name));
    let open = || {
        let open = |at: &PathBuf| Database::open_or_empty(at).expect("it opens");
        locations.each_ref().map(open)
    };
    // What a store has tells its forms, not the options of a later load.
    let each_adds = |databases: &[Database; 5], (from, to), addition| {
        for database in databases {
            load(database, events(from, to), InlineForms::default(), addition);
        }
    };
    let databases = locations.each_ref().map(|at| {
        fs::create_dir(at).expect("room");
        Database::open_to_load(at).expect("it opens")
    });
    for (database, (forms, _)) in databases.iter().zip(FORMS) {
        load(database, events(0, EVENTS / 3), forms, Addition::Decide);
    }
    check(&databases, &locations, "loaded");
    each_adds(&databases, (EVENTS / 3, EVENTS / 2), Addition::Layer);
    check(&databases, &locations, "with a layer");
    drop(databases);
    let databases = open();
    for update in UPDATES {
        for database in &databases {
            let done = database.update(&prefixed(update), &UpdateOptions::default());
            done.expect("it runs");
        }
        check(&databases, &locations, update);
    }
    drop(databases);
    let databases = open();
    check(&databases, &locations, "opened again");
    for database in &databases {
        database.merge_now().expect("it merges");
    }
    check(&databases, &locations, "merged");
    for database in &databases {
        database.optimize(&NoProgress).expect("it is rewritten");
    }
    each_adds(&databases, (EVENTS / 2, EVENTS), Addition::Rewrite);
    check(&databases, &locations, "rewritten");
}
