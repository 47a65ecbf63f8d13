//! Rows whose values pass comparisons are found among packed values: the answers are those of conditions that hide the comparison, where every
//! value is read, for numbers of one type and scale and of several, dates with zones, lists, rare values, changed rows and joins; and rows that
//! do not pass are not read.

mod support;

use basalt_engine::{Database, ForceJoin, QueryOptions};
use support::triples::{NS, Triples, iri, number};
use support::{
    Configuration, ask, compared_rows, plain_and_changed, query_options, read_rows, same_answers,
};

const PARTS: usize = 2_600;
const SHELVES: usize = 30;

/// Conditions on a value of a predicate.
const CONDITIONS: &[(&str, &[&str])] = &[
    (
        "size",
        &[
            "?v < 40",
            "?v <= 0",
            "?v > 998",
            "?v = 77",
            "?v != 77",
            "?v >= 100 && ?v < 130",
            "?v < 3 || ?v > 990",
            "20 > ?v",
            "?v < 20.5",
            "?v > 9.8e2",
            "?v = 77.0",
            "?v < -1",
            "?v > 5000",
            "?v = <http://example.org/p1>",
            "?v < 900",
            "?v < \"a\"",
            "!(?v > 30)",
            "?v IN (1, 2, 3)",
            "?v > 5 && ?v < 5",
            "xsd:decimal(STR(?v)) < 20.5",
            "30 > xsd:double(?v)",
            "xsd:float(STR(?v)) >= 990",
        ],
    ),
    (
        "price",
        &[
            "?v < 3",
            "?v <= 2.5",
            "?v = 2.50",
            "?v > 1.2e3",
            "?v >= 1000 && ?v <= 1000.99",
            "xsd:decimal(STR(?v)) < 3",
            "xsd:double(STR(?v)) <= 2.5",
            "xsd:double(?v) = 2.5e0",
            "1200 < xsd:decimal(xsd:string(?v))",
            "xsd:integer(?v) = 2",
        ],
    ),
    (
        "mixed",
        &[
            "?v < 40",
            "?v > 2500",
            "?v = 78",
            "?v = 81.0",
            "?v >= \"size 999\"",
            "xsd:decimal(STR(?v)) < 40",
            "xsd:double(?v) > 2500",
        ],
    ),
    (
        "day",
        &[
            "?v < \"2001-02-01\"^^xsd:date",
            "?v >= \"2008-01-20Z\"^^xsd:date",
            "?v = \"2003-03-03\"^^xsd:date",
            "YEAR(?v) = 2002",
            "YEAR(?v) < 2002.5",
        ],
    ),
    (
        "when",
        &[
            "?v < \"2001-02-01T00:00:00\"^^xsd:dateTime",
            "?v >= \"2008-01-20T00:00:00Z\"^^xsd:dateTime",
            "?v > \"2001-01-02T10:00:00+14:00\"^^xsd:dateTime && ?v < \"2001-01-09T10:00:00-14:00\"^^xsd:dateTime",
        ],
    ),
    ("year", YEARS),
    ("month", YEARS),
    ("exact", TIMES),
    ("moment", TIMES),
    (
        "mark",
        &[
            "?v < 3",
            "?v = 50",
            "?v > 97 || ?v = 4",
            "?v >= 10 && ?v <= 11",
            "xsd:decimal(?v) = 50",
        ],
    ),
    ("rare", &["?v < 30", "?v >= 2500", "?v > 100"]),
];

/// Of years and months, of which some are something else.
const YEARS: &[&str] = &[
    "?v = \"2003\"^^xsd:gYear",
    "?v <= \"2004\"^^xsd:gYear",
    "?v < \"2003\"^^xsd:gYear",
    "?v >= \"2005\"^^xsd:gYear",
    "?v > \"2002\"^^xsd:gYear && ?v <= \"2004\"^^xsd:gYear",
    "?v = \"2003-05\"^^xsd:gYearMonth",
    "?v <= \"2002-07\"^^xsd:gYearMonth",
    "?v >= \"2007-01\"^^xsd:gYearMonth",
    "?v >= \"2003-01-01\"^^xsd:date",
];

/// Of times with fractions of a second.
const TIMES: &[&str] = &[
    "?v < \"2001-02-01T00:00:00\"^^xsd:dateTime",
    "?v >= \"2008-01-20T00:00:00.000001Z\"^^xsd:dateTime",
    "?v <= \"2003-03-03T09:00:00.050+01:00\"^^xsd:dateTime && ?v > \"2003-03-01T00:00:00.0000001Z\"^^xsd:dateTime",
    "?v = \"2001-01-02T01:00:00.01\"^^xsd:dateTime",
    "YEAR(?v) = 2003 && MONTH(?v) = 4",
    "2007 <= YEAR(?v)",
    "xsd:date(?v) = \"2003-03-03Z\"^^xsd:date",
    "xsd:date(?v) < \"2001-02-01\"^^xsd:date",
    "?v IN (\"2001-01-02T01:00:00.01\"^^xsd:dateTime, \"2001-01-03T02:00:00.002\"^^xsd:dateTime)",
];

/// Parts that are found one by one, however few pass.
const NAMED_PARTS: &str =
    "SELECT ?u ?p ?v { { SELECT ?u ?p { ?u :uses ?p } LIMIT 9000 } ?p :P ?v FILTER(C) }";

/// What surrounds them.
const QUERIES: &[&str] = &[
    "SELECT ?p ?v { ?p :P ?v FILTER(C) }",
    "SELECT ?p ?n { ?p :P ?v ; :number ?n FILTER(C) }",
    "SELECT ?p ?n { ?p :on :s3 ; :P ?v ; :number ?n FILTER(C) }",
    "SELECT ?p ?s { ?p :P ?v ; :size ?s FILTER(C) FILTER(?s > 500) }",
    "SELECT ?p ?n { ?p :number ?n OPTIONAL { ?p :P ?v FILTER(C) } FILTER(?n < 90) }",
    "SELECT ?t ?p ?v { ?t :name ?n . ?p :on ?t ; :P ?v FILTER(C) }",
    "SELECT ?u ?p ?v { ?u :uses ?p . ?p :P ?v FILTER(C) }",
    "SELECT ?u ?p ?v { ?u :uses ?p OPTIONAL { ?p :P ?v FILTER(C) } }",
    NAMED_PARTS,
    "SELECT ?g ?p { GRAPH ?g { ?p :P ?v } FILTER(C) }",
    "SELECT ?u { ?u :uses ?p FILTER EXISTS { ?p :P ?v FILTER(C) } }",
];

fn store() -> String {
    let mut triples = Triples::default();
    for s in 0..SHELVES {
        triples.add(&format!("s{s}"), "name", &format!("\"shelf {s}\""));
    }
    let xsd = "http://www.w3.org/2001/XMLSchema#";
    for p in 0..PARTS {
        let name = format!("p{p}");
        // No order of parts is that of their values.
        let spread = p * 1_009 % PARTS;
        triples.add(&name, "number", &number(p, "integer"));
        triples.add(&name, "size", &number(spread % 1_000, "integer"));
        triples.add(&name, "on", &iri("s", p % SHELVES));
        let price = format!("\"{}.{:02}\"^^<{xsd}decimal>", spread / 2, spread % 2 * 50);
        triples.add(&name, "price", &price);
        let mixed = match p % 5 {
            0 => number(spread, "integer"),
            1 => format!("\"{spread}.5\"^^<{xsd}decimal>"),
            2 => format!("\"{spread}\"^^<{xsd}double>"),
            3 => format!("\"size {spread}\""),
            _ => number(spread, "short"),
        };
        triples.add(&name, "mixed", &mixed);
        let (year, month, day) = (2_001 + spread / 325, 1 + spread / 27 % 12, 1 + spread % 27);
        let date = format!("{year}-{month:02}-{day:02}");
        triples.add(&name, "day", &format!("\"{date}\"^^<{xsd}date>"));
        let of_year = match p % 60 {
            0 => format!("\"{date}\"^^<{xsd}date>"),
            1 if p > PARTS / 2 => format!("\"{year}-{month:02}\"^^<{xsd}gYearMonth>"),
            _ => format!("\"{year}\"^^<{xsd}gYear>"),
        };
        triples.add(&name, "year", &of_year);
        let of_month = match p % 60 {
            0 => format!("\"{year}\"^^<{xsd}gYear>"),
            1 if p > PARTS / 2 => format!("\"in {year}\""),
            _ => format!("\"{year}-{month:02}\"^^<{xsd}gYearMonth>"),
        };
        triples.add(&name, "month", &of_month);
        let zone = ["", "Z", "+14:00", "-14:00", "+05:30"][p % 5];
        let time = format!("{date}T{:02}:00:00", p % 24);
        let when = format!("\"{time}{zone}\"^^<{xsd}dateTime>");
        triples.add(&name, "when", &when);
        let exact = format!("\"{time}.0{:02}{zone}\"^^<{xsd}dateTime>", p % 24);
        triples.add(&name, "exact", &exact);
        let fraction = match p % 7 {
            0..3 => String::new(),
            3..5 => format!(".0{:02}", p % 24),
            5 => format!(".0{:02}5", p % 24),
            _ => format!(".0{:02}000", p % 24),
        };
        let moment = format!("\"{time}{fraction}{zone}\"^^<{xsd}dateTime>");
        triples.add(&name, "moment", &moment);
        for mark in 0..p % 4 {
            triples.add(
                &name,
                "mark",
                &number((spread + mark * 37) % 100, "integer"),
            );
        }
        if p % 8 == 0 {
            triples.add(&name, "rare", &number(spread, "integer"));
        }
        let user = format!("u{p}");
        triples.add(&user, "uses", &iri("p", p * 7 % PARTS));
        triples.add(&user, "title", &format!("\"user {p}\""));
    }
    triples.0
}

/// Parts that get other values, other kinds of them or a second one, and new parts.
const CHANGES: &str = r#"PREFIX : <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
    DELETE { ?p :size ?v } INSERT { ?p :size 7 , "large" } WHERE { ?p :size ?v ; :on :s3 } ;
    DELETE { ?p :price ?v } WHERE { ?p :price ?v ; :on :s4 } ;
    INSERT { ?p :day "2001-01-01+05:00"^^xsd:date ; :mark 2 ; :rare 4 } WHERE { ?p :on :s5 } ;
    INSERT DATA { :new :size 3 ; :price 2.50 ; :mixed 3 ; :number 1 ; :on :s3 ; :mark 1, 2 . :u9 :uses :new }"#;

fn text(query: &str, predicate: &str, condition: &str) -> String {
    let query = query.replace(":P ", &format!(":{predicate} "));
    let query = query.replace("(C)", &format!("({condition})"));
    format!("PREFIX : <{NS}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> {query}")
}

fn options(join: ForceJoin) -> QueryOptions {
    let mut options = query_options(&Configuration::default());
    options.force_join = Some(join);
    options.exec.threads = 1;
    options
}

fn databases() -> [Database; 2] {
    plain_and_changed(&store(), CHANGES)
}

#[test]
fn answers_are_those_of_reading_every_value() {
    for database in databases() {
        for (predicate, conditions) in CONDITIONS {
            for (condition, query) in conditions
                .iter()
                .flat_map(|condition| QUERIES.iter().map(move |query| (condition, query)))
            {
                let hidden = format!("IF({condition}, true, false)");
                let answer = |condition: &str, join| {
                    let text = text(query, predicate, condition);
                    ask(&database, &text, &options(join)).expect("the query runs")
                };
                let expected = answer(&hidden, ForceJoin::Hash);
                for join in [ForceJoin::Hash, ForceJoin::Index] {
                    let what = text(query, predicate, condition);
                    same_answers(&expected, &answer(condition, join), &what);
                }
            }
        }
    }
}

/// Rows read and rows compared by a query with a condition.
fn looked_at(database: &Database, query: &str, predicate: &str, condition: &str) -> (u64, u64) {
    let options = options(ForceJoin::Index);
    let prepared = database.prepare(&text(query, predicate, condition), &options);
    let report = prepared.expect("it plans").profile(&options);
    let root = report.expect("it runs").root;
    (read_rows(&root), compared_rows(&root))
}

#[test]
fn rows_that_do_not_pass_are_not_read() {
    let [database, _] = databases();
    let parts = PARTS as u64;
    for (predicate, condition) in [
        ("size", "?v < 40"),
        ("price", "?v < 30"),
        ("price", "xsd:decimal(STR(?v)) < 30"),
        ("price", "30.5e0 > xsd:double(?v)"),
        ("day", "?v < \"2001-02-01\"^^xsd:date"),
        ("when", "?v < \"2001-02-01T00:00:00\"^^xsd:dateTime"),
        ("exact", "?v < \"2001-02-01T00:00:00\"^^xsd:dateTime"),
        ("exact", "xsd:date(?v) = \"2003-03-03Z\"^^xsd:date"),
        ("mark", "?v >= 10 && ?v <= 11"),
    ] {
        let (read, compared) = looked_at(&database, QUERIES[0], predicate, condition);
        assert!(read < parts / 5, "{predicate}: {read} read");
        assert!(compared >= parts / 2, "{predicate}: {compared} compared");
        // Of each part that a user names, a bit is looked at.
        let (read, _) = looked_at(&database, NAMED_PARTS, predicate, condition);
        let (all, _) = looked_at(&database, NAMED_PARTS, predicate, "true");
        assert!(read + parts / 2 < all, "{predicate}: {read} and {all} read");
    }
    // Of eight years one.
    for (predicate, condition) in [("when", "YEAR(?v) = 2003"), ("exact", "YEAR(?v) > 2007")] {
        let (read, _) = looked_at(&database, QUERIES[0], predicate, condition);
        assert!(read < parts / 3, "{predicate}: {read} read");
    }
    // Where many pass, all are read in order and nothing is looked for.
    let (read, compared) = looked_at(&database, QUERIES[0], "size", "?v < 900");
    assert_eq!((read, compared), (parts, 0));
}
