//! Odd literals: they keep their exact text, are found by their term, and compare by their value.
//!
//! Every literal is loaded in every layout, among enough regular ones that columns are made, and must
//! come out of a dump byte for byte and be found by a query that names it.

mod support;

use basalt_engine::dump::{DumpGraph, dump};
use basalt_engine::{CheckDepth, Database, GraphFormat, Layout, QueryOptions};
use basalt_testkit::Answer;
use oxrdf::Term;
use std::collections::{BTreeMap, BTreeSet};
use support::{Configuration, Loaded, ask, load_nquads};

const LAYOUTS: [Layout; 4] = [
    Layout::Discover,
    Layout::AllIrregular,
    Layout::OneTable,
    Layout::HalfDirty,
];

/// Short names for datatypes in the lists below.
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// Literals in N-Triples, `xsd:` written short; no two are the same term.
const LITERALS: &[&str] = &[
    // Integers in and out of their canonical form.
    "\"1\"^^xsd:integer",
    "\"01\"^^xsd:integer",
    "\"+1\"^^xsd:integer",
    "\"-0\"^^xsd:integer",
    "\"0\"^^xsd:integer",
    "\"-1\"^^xsd:integer",
    "\" 1 \"^^xsd:integer",
    "\"1.0\"^^xsd:integer",
    "\"\"^^xsd:integer",
    "\"one\"^^xsd:integer",
    "\"+1\"^^xsd:long",
    "\"1\"^^xsd:long",
    "\"1\"^^xsd:int",
    "\"1\"^^xsd:byte",
    "\"127\"^^xsd:byte",
    "\"128\"^^xsd:byte",
    "\"-1\"^^xsd:unsignedInt",
    "\"0\"^^xsd:positiveInteger",
    "\"9007199254740993\"^^xsd:integer",
    "\"9223372036854775807\"^^xsd:integer",
    "\"9223372036854775808\"^^xsd:integer",
    "\"-9223372036854775808\"^^xsd:integer",
    "\"18446744073709551615\"^^xsd:unsignedLong",
    // Decimals.
    "\"1\"^^xsd:decimal",
    "\"1.0\"^^xsd:decimal",
    "\"1.300\"^^xsd:decimal",
    "\"1.3\"^^xsd:decimal",
    "\"1.\"^^xsd:decimal",
    "\".5\"^^xsd:decimal",
    "\"-.5\"^^xsd:decimal",
    "\"-0.0\"^^xsd:decimal",
    "\"00.50\"^^xsd:decimal",
    "\"0.1234567890123456789\"^^xsd:decimal",
    "\"1e3\"^^xsd:decimal",
    // Floats and doubles.
    "\"960000.06\"^^xsd:float",
    "\"0.1\"^^xsd:float",
    "\"16777217\"^^xsd:float",
    "\"1\"^^xsd:double",
    "\"1.0\"^^xsd:double",
    "\"1.0E0\"^^xsd:double",
    "\"1e0\"^^xsd:double",
    "\"-0\"^^xsd:double",
    "\"-0.0E0\"^^xsd:double",
    "\"INF\"^^xsd:double",
    "\"-INF\"^^xsd:double",
    "\"+INF\"^^xsd:double",
    "\"NaN\"^^xsd:double",
    "\"1.7976931348623157E308\"^^xsd:double",
    "\"5e-324\"^^xsd:double",
    "\"1e400\"^^xsd:double",
    "\"1,5\"^^xsd:double",
    // Booleans.
    "\"true\"^^xsd:boolean",
    "\"1\"^^xsd:boolean",
    "\"0\"^^xsd:boolean",
    "\"TRUE\"^^xsd:boolean",
    // Dates and times, zones of all kinds.
    "\"2024-02-29\"^^xsd:date",
    "\"2023-02-29\"^^xsd:date",
    "\"2024-02-29Z\"^^xsd:date",
    "\"2024-02-29+14:00\"^^xsd:date",
    "\"2024-02-29-14:00\"^^xsd:date",
    "\"2024-02-29+14:01\"^^xsd:date",
    "\"-0044-03-15\"^^xsd:date",
    "\"0000-01-01\"^^xsd:date",
    "\"12024-01-01\"^^xsd:date",
    "\"2024-1-1\"^^xsd:date",
    "\"2024-06-01T12:00:00\"^^xsd:dateTime",
    "\"2024-06-01T12:00:00Z\"^^xsd:dateTime",
    "\"2024-06-01T12:00:00+00:00\"^^xsd:dateTime",
    "\"2024-06-01T12:00:00-00:00\"^^xsd:dateTime",
    "\"2024-06-01T12:00:00+05:45\"^^xsd:dateTime",
    "\"2024-06-01T12:00:00.0\"^^xsd:dateTime",
    "\"2024-06-01T12:00:00.120\"^^xsd:dateTime",
    "\"2024-06-01T12:00:00.120Z\"^^xsd:dateTime",
    "\"2024-06-01T12:00:00.12Z\"^^xsd:dateTime",
    "\"2024-06-01T13:00:00.120000+01:00\"^^xsd:dateTime",
    "\"2024-06-01T12:00:00.000\"^^xsd:dateTime",
    "\"2024-06-01T12:00:00.120+05:20\"^^xsd:dateTime",
    "\"2024-06-01T12:00:00.123456789012\"^^xsd:dateTime",
    "\"2024-06-01T24:00:00\"^^xsd:dateTime",
    "\"2024-06-01T23:59:60Z\"^^xsd:dateTime",
    "\"2024-06-01 12:00:00\"^^xsd:dateTime",
    "\"2024\"^^xsd:gYear",
    "\"-2024\"^^xsd:gYear",
    "\"2024Z\"^^xsd:gYear",
    "\"24\"^^xsd:gYear",
    "\"2024-06\"^^xsd:gYearMonth",
    "\"12:00:00\"^^xsd:time",
    "\"P1Y2M\"^^xsd:duration",
    "\"PT36H\"^^xsd:dayTimeDuration",
    // Strings and languages; tags are as they were written.
    "\"\"",
    "\"1\"",
    "\"a\"",
    "\"tab\there, \\\"quotes\\\" and \\\\ \\n \\r lines\"",
    "\"\u{0}\u{1}\u{7f}\"",
    "\"日本語 😀 \u{feff}\"",
    "\"a\"@en",
    "\"a\"@de",
    "\"\"@en",
    "\"colour\"@en-gb",
    "\"<b>x</b>\"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral>",
    // Datatypes of our own.
    "\"12.50\"^^<http://d/USD>",
    "\"012.50\"^^<http://d/USD>",
    "\"12.5\"^^<http://d/USD>",
    "\"cheap\"^^<http://d/USD>",
    "\"1\"^^<http://d/with%20space>",
    "\"POINT(1 2)\"^^<http://d/wkt>",
];

/// The literals in full, with integers and decimals of 200 digits.
fn literals() -> Vec<String> {
    let digits = "1234567890".repeat(20);
    let mut all: Vec<String> = LITERALS.iter().map(|text| in_full(text)).collect();
    all.push(in_full(&format!("\"{digits}\"^^xsd:integer")));
    all.push(in_full(&format!("\"-{digits}\"^^xsd:integer")));
    all.push(in_full(&format!("\"+0{digits}\"^^xsd:integer")));
    all.push(in_full(&format!("\"{digits}.0\"^^xsd:decimal")));
    all.push(in_full(&format!("\"{digits}.5\"^^xsd:decimal")));
    all
}

fn in_full(text: &str) -> String {
    match text.split_once("^^xsd:") {
        Some((lexical, datatype)) => format!("{lexical}^^<{XSD}{datatype}>"),
        None => text.to_owned(),
    }
}

/// Every literal at a subject of its own, with so many regular things around that there are tables.
fn data() -> Vec<String> {
    let mut lines = Vec::new();
    for (number, literal) in literals().iter().enumerate() {
        lines.push(format!("<http://d/s{number}> <http://d/value> {literal} ."));
        lines.push(format!(
            "<http://d/s{number}> <http://d/number> \"{number}\"^^<{XSD}integer> ."
        ));
        lines.push(format!(
            "<http://d/s{number}> <http://d/name> \"thing {number}\"@en ."
        ));
    }
    lines
}

fn loaded(layout: Layout) -> Loaded {
    load_nquads(
        data().join("\n"),
        &Configuration {
            layout,
            ..Configuration::default()
        },
    )
}

fn rows(database: &Database, query: &str) -> Vec<Vec<Option<Term>>> {
    match ask(database, query, &QueryOptions::default()) {
        Ok(Answer::Solutions { rows, .. }) => rows,
        other => unreachable!("{query}: {other:?}"),
    }
}

/// The bound cells of each row.
fn cells(database: &Database, query: &str) -> BTreeSet<Vec<String>> {
    let text = |row: Vec<Option<Term>>| row.into_iter().flatten().map(|t| t.to_string()).collect();
    rows(database, query).into_iter().map(text).collect()
}

fn subjects(database: &Database, query: &str) -> BTreeSet<String> {
    let first = |row: Vec<String>| row.into_iter().next().expect("a subject");
    cells(database, query).into_iter().map(first).collect()
}

#[test]
fn the_dump_has_every_literal_byte_for_byte() {
    for layout in LAYOUTS {
        let loaded = loaded(layout);
        loaded
            .database
            .check(CheckDepth::Deep)
            .expect("a sound store");
        let mut bytes = Vec::new();
        dump(
            &loaded.database.snapshot(),
            &mut bytes,
            GraphFormat::NTriples,
            DumpGraph::Default,
        )
        .expect("the store is dumped");
        let text = String::from_utf8(bytes).expect("N-Triples is UTF-8");
        let mut found: Vec<&str> = text.lines().collect();
        found.sort_unstable();
        let expected = data();
        let mut expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        expected.sort_unstable();
        let differs = expected.iter().zip(&found).find(|(a, b)| a != b);
        assert_eq!(differs, None, "{layout:?}");
        assert_eq!(expected.len(), found.len(), "{layout:?}");
    }
}

#[test]
fn every_literal_is_found_by_its_term_and_only_it() {
    for layout in LAYOUTS {
        let loaded = loaded(layout);
        for (number, literal) in literals().iter().enumerate() {
            // A raw NUL is text like any other, in SPARQL too.
            let query = format!("SELECT ?s {{ ?s <http://d/value> {literal} }}");
            let expected = BTreeSet::from([format!("<http://d/s{number}>")]);
            assert_eq!(
                subjects(&loaded.database, &query),
                expected,
                "{layout:?} {literal}"
            );
            let query =
                format!("SELECT ?s {{ ?s <http://d/value> ?v FILTER sameTerm(?v, {literal}) }}");
            assert_eq!(
                subjects(&loaded.database, &query),
                expected,
                "{layout:?} {literal}"
            );
        }
        let query =
            "SELECT ?s { ?s <http://d/value> \"001\"^^<http://www.w3.org/2001/XMLSchema#integer> }";
        assert_eq!(
            subjects(&loaded.database, query),
            BTreeSet::new(),
            "a term that is not there"
        );
    }
}

/// Subjects of the literals listed, in the short form.
fn subjects_of(listed: &[&str]) -> BTreeSet<String> {
    let all = literals();
    let number = |text: &&str| {
        let text = in_full(text);
        let place = all.iter().position(|literal| *literal == text);
        format!("<http://d/s{}>", place.expect("the literal is listed"))
    };
    listed.iter().map(number).collect()
}

/// Conditions on `?v`, and the literals that meet them.
const CONDITIONS: &[(&str, &[&str])] = &[
    (
        "?v = 1",
        &[
            "\"1\"^^xsd:integer",
            "\"01\"^^xsd:integer",
            "\"+1\"^^xsd:integer",
            "\"+1\"^^xsd:long",
            "\"1\"^^xsd:long",
            "\"1\"^^xsd:int",
            "\"1\"^^xsd:byte",
            "\"1\"^^xsd:decimal",
            "\"1.0\"^^xsd:decimal",
            "\"1.\"^^xsd:decimal",
            "\"1\"^^xsd:double",
            "\"1.0\"^^xsd:double",
            "\"1.0E0\"^^xsd:double",
            "\"1e0\"^^xsd:double",
        ],
    ),
    (
        "?v = 1.3",
        &["\"1.300\"^^xsd:decimal", "\"1.3\"^^xsd:decimal"],
    ),
    (
        "?v = 0.5",
        &["\".5\"^^xsd:decimal", "\"00.50\"^^xsd:decimal"],
    ),
    ("?v < 0 && ?v > -0.9", &["\"-.5\"^^xsd:decimal"]),
    ("?v > 900000 && ?v < 1000000", &["\"960000.06\"^^xsd:float"]),
    (
        "?v = true",
        &["\"true\"^^xsd:boolean", "\"1\"^^xsd:boolean"],
    ),
    (
        "?v = \"2024-06-01T12:00:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime>",
        &[
            "\"2024-06-01T12:00:00Z\"^^xsd:dateTime",
            "\"2024-06-01T12:00:00+00:00\"^^xsd:dateTime",
            "\"2024-06-01T12:00:00-00:00\"^^xsd:dateTime",
        ],
    ),
    ("?v = \"a\"", &["\"a\""]),
    ("?v = \"a\"@en", &["\"a\"@en"]),
    ("langMatches(lang(?v), \"en-GB\")", &["\"colour\"@en-gb"]),
    (
        "datatype(?v) = <http://d/USD>",
        &[
            "\"12.50\"^^<http://d/USD>",
            "\"012.50\"^^<http://d/USD>",
            "\"12.5\"^^<http://d/USD>",
            "\"cheap\"^^<http://d/USD>",
        ],
    ),
    ("str(?v) = \"12.50\"", &["\"12.50\"^^<http://d/USD>"]),
    (
        "<http://www.w3.org/2001/XMLSchema#double>(str(?v)) = 12.5",
        &[
            "\"12.50\"^^<http://d/USD>",
            "\"012.50\"^^<http://d/USD>",
            "\"12.5\"^^<http://d/USD>",
        ],
    ),
];

#[test]
fn filters_compare_values() {
    for layout in LAYOUTS {
        let loaded = loaded(layout);
        for (condition, expected) in CONDITIONS {
            let query = format!("SELECT ?s {{ ?s <http://d/value> ?v FILTER({condition}) }}");
            assert_eq!(
                subjects(&loaded.database, &query),
                subjects_of(expected),
                "{layout:?} {condition}"
            );
        }
    }
}

#[test]
fn language_tags_are_found_in_any_case_and_printed_as_written() {
    let data = "<http://d/a> <http://d/p> \"colour\"@en-GB .\n<http://d/b> <http://d/p> \"color\"@en-us .\n";
    for layout in LAYOUTS {
        let configuration = Configuration {
            layout,
            ..Configuration::default()
        };
        let loaded = load_nquads(data.to_owned(), &configuration);
        for tag in ["en-GB", "en-gb", "EN-GB"] {
            let pattern = format!("SELECT ?s {{ ?s ?p \"colour\"@{tag} }}");
            let filter = format!("SELECT ?s {{ ?s ?p ?o FILTER(?o = \"colour\"@{tag}) }}");
            let expected = BTreeSet::from(["<http://d/a>".to_owned()]);
            assert_eq!(
                subjects(&loaded.database, &pattern),
                expected,
                "{layout:?} {pattern}"
            );
            assert_eq!(
                subjects(&loaded.database, &filter),
                expected,
                "{layout:?} {filter}"
            );
        }
        let mut bytes = Vec::new();
        dump(
            &loaded.database.snapshot(),
            &mut bytes,
            GraphFormat::NTriples,
            DumpGraph::All,
        )
        .expect("the store is dumped");
        let mut lines: Vec<&str> = std::str::from_utf8(&bytes)
            .expect("UTF-8")
            .lines()
            .collect();
        lines.sort_unstable();
        assert_eq!(lines, data.lines().collect::<Vec<_>>());
    }
}

/// Terms that are different and have one value; all others of the list are unlike each other or have no value.
const EQUAL: &[&[&str]] = &[
    &[
        "\"0\"^^xsd:integer",
        "\"-0\"^^xsd:integer",
        "\"-0.0\"^^xsd:decimal",
        "\"-0\"^^xsd:double",
        "\"-0.0E0\"^^xsd:double",
    ],
    &["\"1.300\"^^xsd:decimal", "\"1.3\"^^xsd:decimal"],
    &["\".5\"^^xsd:decimal", "\"00.50\"^^xsd:decimal"],
    &[
        "\"INF\"^^xsd:double",
        "\"+INF\"^^xsd:double",
        "\"1e400\"^^xsd:double",
    ],
    &["\"true\"^^xsd:boolean", "\"1\"^^xsd:boolean"],
    &[
        "\"2024-06-01T12:00:00Z\"^^xsd:dateTime",
        "\"2024-06-01T12:00:00+00:00\"^^xsd:dateTime",
        "\"2024-06-01T12:00:00-00:00\"^^xsd:dateTime",
    ],
    &[
        "\"2024-06-01T12:00:00\"^^xsd:dateTime",
        "\"2024-06-01T12:00:00.0\"^^xsd:dateTime",
        "\"2024-06-01T12:00:00.000\"^^xsd:dateTime",
    ],
    &[
        "\"2024-06-01T12:00:00.120Z\"^^xsd:dateTime",
        "\"2024-06-01T12:00:00.12Z\"^^xsd:dateTime",
        "\"2024-06-01T13:00:00.120000+01:00\"^^xsd:dateTime",
    ],
];

#[test]
fn joins_by_term_and_by_value() {
    let digits = "1234567890".repeat(20);
    let long = ["", "+0", ".0"].map(|odd| match odd {
        ".0" => format!("\"{digits}.0\"^^xsd:decimal"),
        sign => format!("\"{sign}{digits}\"^^xsd:integer"),
    });
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    let mut expected = BTreeSet::new();
    for group in EQUAL.iter().copied().chain([CONDITIONS[0].1, &long]) {
        for a in subjects_of(group) {
            let others = subjects_of(group).into_iter().filter(|b| *b != a);
            expected.extend(others.map(|b| vec![a.clone(), b]));
        }
    }
    for layout in LAYOUTS {
        let loaded = loaded(layout);
        let by_value = "SELECT ?s ?t { ?s <http://d/value> ?v . ?t <http://d/value> ?w \
                        FILTER(?v = ?w && !sameTerm(?v, ?w)) }";
        assert_eq!(cells(&loaded.database, by_value), expected, "{layout:?}");
        let by_term = "SELECT ?s ?t { ?s <http://d/value> ?v . ?t <http://d/value> ?v }";
        let pairs = cells(&loaded.database, by_term);
        assert_eq!(pairs.len(), literals().len(), "{layout:?}");
        assert!(pairs.iter().all(|pair| pair[0] == pair[1]), "{layout:?}");
    }
}

#[test]
fn literals_are_returned_as_written() {
    for layout in LAYOUTS {
        let loaded = loaded(layout);
        let found = cells(&loaded.database, "SELECT ?s ?v { ?s <http://d/value> ?v }");
        for (number, literal) in literals().into_iter().enumerate() {
            // Terms print some characters with other escapes than the list has.
            if !literal.contains(['\\', '\u{0}', '\u{feff}']) {
                let row = vec![format!("<http://d/s{number}>"), literal];
                assert!(found.contains(&row), "{layout:?} {row:?}");
            }
        }
    }
}

#[test]
fn numbers_of_two_hundred_digits_are_added_and_grouped() {
    let digits = "1234567890".repeat(20);
    let integer = |digits: &str| format!("\"{digits}\"^^<{XSD}integer>");
    let query = format!(
        "SELECT (SUM(?v) AS ?sum) (MIN(?v) AS ?min) (COUNT(*) AS ?n) {{ ?s <http://d/value> ?v \
         FILTER(ABS(?v) > 1e100 && datatype(?v) = <{XSD}integer>) }}"
    );
    let grouped = "SELECT ?value (COUNT(*) AS ?n) { ?s <http://d/value> ?v FILTER(?v > 1e100) } \
                   GROUP BY (FLOOR(?v / 10) AS ?value) HAVING(COUNT(*) > 1)";
    for layout in LAYOUTS {
        let loaded = loaded(layout);
        let expected = vec![
            integer(&digits),
            integer(&format!("-{digits}")),
            integer("3"),
        ];
        let found = cells(&loaded.database, &query);
        assert_eq!(found, BTreeSet::from([expected]), "{layout:?}");
        // The three that are equal and the one that is greater by a half; the infinities, and one double.
        let tenth = format!("\"{}\"^^<{XSD}decimal>", &digits[..199]);
        let infinite = format!("\"INF\"^^<{XSD}double>");
        let expected = BTreeSet::from([vec![tenth, integer("4")], vec![infinite, integer("3")]]);
        assert_eq!(cells(&loaded.database, grouped), expected, "{layout:?}");
    }
}

#[test]
fn tags_that_differ_in_case_are_equal_and_not_the_same_term() {
    let data = "<http://d/a> <http://d/p> \"x\"@en-GB .\n<http://d/b> <http://d/p> \"x\"@EN-gb .\n\
                <http://d/c> <http://d/p> \"x\"@en .\n";
    let both = BTreeSet::from(["<http://d/a>".to_owned(), "<http://d/b>".to_owned()]);
    for layout in LAYOUTS {
        let configuration = Configuration {
            layout,
            ..Configuration::default()
        };
        let loaded = load_nquads(data.to_owned(), &configuration);
        for condition in [
            "?o = \"x\"@en-gb",
            "\"x\"@EN-GB = ?o",
            "?o IN (\"x\"@en-gb)",
        ] {
            let query = format!("SELECT ?s {{ ?s ?p ?o FILTER({condition}) }}");
            assert_eq!(
                subjects(&loaded.database, &query),
                both,
                "{layout:?} {query}"
            );
        }
        let pairs = |condition: &str| {
            let query = format!("SELECT ?s ?t {{ ?s ?p ?o . ?t ?p ?q FILTER({condition}) }}");
            rows(&loaded.database, &query).len()
        };
        assert_eq!(pairs("?o = ?q"), 5, "{layout:?}");
        assert_eq!(pairs("sameTerm(?o, ?q)"), 3, "{layout:?}");
    }
}

#[test]
fn language_and_datatype_are_those_of_the_literal() {
    let query = "SELECT ?v (LANG(?v) AS ?language) (DATATYPE(?v) AS ?datatype) ?tagged \
                 { ?s <http://d/value> ?v BIND(LANG(?v) IN (\"en\", \"de\") AS ?tagged) }";
    for layout in LAYOUTS {
        let loaded = loaded(layout);
        let rows = rows(&loaded.database, query);
        let mut languages = BTreeSet::new();
        for row in &rows {
            let Some(Term::Literal(literal)) = &row[0] else {
                assert!(row[1].is_none() && row[2].is_none(), "{layout:?} {row:?}");
                continue;
            };
            let language = literal.language().unwrap_or_default();
            let expected: [Term; 3] = [
                oxrdf::Literal::from(language).into(),
                literal.datatype().into_owned().into(),
                oxrdf::Literal::from(["en", "de"].contains(&language)).into(),
            ];
            let given: Vec<_> = row[1..].iter().flatten().cloned().collect();
            assert_eq!(given, expected, "{layout:?} {row:?}");
            languages.insert(language);
        }
        assert!(rows.len() > 20 && languages.len() > 2, "{languages:?}");
    }
}

/// The least and the greatest of each two literals, by their numbers.
fn extremes(database: &Database, pattern: &str) -> BTreeMap<(String, String), Vec<String>> {
    let query = format!(
        "SELECT ?i ?j (MIN(?v) AS ?least) (MAX(?v) AS ?greatest) {{ {pattern} }} GROUP BY ?i ?j"
    );
    let pairs = cells(database, &query).into_iter().map(|mut row| {
        let extremes = row.split_off(2);
        let [i, j] = row.try_into().expect("two numbers");
        ((i, j), extremes)
    });
    pairs.collect()
}

#[test]
fn stored_literals_are_in_the_order_of_those_of_a_query() {
    // A raw NUL is text like any other, but for the parser of such long lists.
    let all = literals();
    let listed = || {
        all.iter()
            .enumerate()
            .filter(|(_, text)| !text.contains('\0'))
    };
    let mut values = String::new();
    for ((i, first), (j, second)) in listed().flat_map(|one| listed().map(move |two| (one, two))) {
        values.push_str(&format!("({i} {j} {first}) ({i} {j} {second}) "));
    }
    let pattern = format!("VALUES (?i ?j ?v) {{ {values} }}");
    let of_a_query = extremes(&Database::in_memory(), &pattern);
    let stored = loaded(Layout::Discover);
    let pattern = "?s <http://d/number> ?i ; <http://d/value> ?x . ?t <http://d/number> ?j ; <http://d/value> ?y .
        VALUES ?k { 0 1 } BIND(IF(?k = 0, ?x, ?y) AS ?v)";
    let stored = extremes(&stored.database, pattern);
    assert_eq!(stored.len(), all.len() * all.len());
    let mut decided = 0;
    for ((i, j), extremes) in &of_a_query {
        // Of equal ones the first stays.
        if of_a_query[&(j.clone(), i.clone())] == *extremes {
            decided += 1;
            assert_eq!(stored[&(i.clone(), j.clone())], *extremes);
        }
    }
    assert!(decided > stored.len() * 9 / 10, "{decided}");
}
