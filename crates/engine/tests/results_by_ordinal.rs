//! What expressions give for texts that are too many for a table of places and come several times, and what MIN, MAX and ORDER BY find among them,
//! compared with the same where each row is evaluated.

mod sorted_rows;
mod support;

use basalt_engine::query::Prepared;
use basalt_engine::{Answer, Database, QueryOptions};
use sorted_rows::sorted_rows;
use support::plain_and_changed;
use support::triples::{Triples, iri, number};

const PREFIXES: &str =
    "PREFIX : <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ";
/// Subjects.
const ROWS: usize = 24_000;
/// Texts, of which each subject has one.
const TEXTS: usize = 7_000;

/// Subjects with a text or a link of thousands, in no order, and a long integer.
fn data() -> String {
    let mut triples = Triples::default();
    for n in 0..ROWS {
        let subject = format!("x{n}");
        let text = n * 7_919 % TEXTS;
        let object = match text % 50 {
            0 => format!("\"a title of a page {text}\"@en"),
            1 => number(text, "integer"),
            2 => format!("\"P{text}D\"^^<http://www.w3.org/2001/XMLSchema#duration>"),
            3 => iri("page", text),
            _ => format!(
                "\"{} a title of a page /{text}\"",
                ["http://", "HTTP://é", ""][text % 3]
            ),
        };
        triples.add(&subject, "text", &object);
        triples.add(&subject, "link", &iri("page", n * 31 % 6_000));
        triples.add(&subject, "n", &number(n % 5, "integer"));
        let long = (1_u64 << 51) + (n * 104_729 % 9_000) as u64;
        let sign = ["", "-", "00"][n % 3];
        let datatype = ["integer", "integer", "long", "unsignedLong"][n % 4];
        triples.add(
            &subject,
            "long",
            &format!("\"{sign}{long}\"^^<http://www.w3.org/2001/XMLSchema#{datatype}>"),
        );
    }
    triples.0
}

const UPDATE: &str = "PREFIX : <http://example.org/> \
    DELETE { ?x :text ?t } INSERT { ?x :text ?changed } WHERE { ?x :n 3 ; :text ?t BIND(CONCAT(STR(?t), \" changed\") AS ?changed) }";

/// Expressions of `?v`.
const EXPRESSIONS: [(&str, &str); 15] = [
    ("text", "CONTAINS(?v, \"/1\")"),
    ("text", "STRLEN(STR(?v))"),
    ("text", "REGEX(STR(?v), \"page.*7$\")"),
    ("text", "UCASE(?v)"),
    ("text", "STRBEFORE(STR(?v), \"/\")"),
    ("text", "REPLACE(?v, \"[0-9]\", \"-\")"),
    ("text", "IF(STRSTARTS(?v, \"http\"), STRLEN(?v) + 1, ?v)"),
    ("text", "?v < \"http:// a title of a page /3\""),
    ("text", "?v >= \"a\""),
    (
        "text",
        "CONCAT(STR(?v), \"!\") = \"http:// a title of a page /3000!\"",
    ),
    ("link", "SUBSTR(STR(?v), 24)"),
    ("link", "IRI(CONCAT(STR(?v), \"x\"))"),
    ("long", "?v > 2251799813690000"),
    ("long", "?v + 1"),
    ("long", "STRLEN(STR(?v))"),
];

fn prepared(database: &Database, text: &str) -> Prepared {
    let text = format!("{PREFIXES}{text}");
    let prepared = database.prepare(&text, &QueryOptions::default());
    prepared.expect("it plans")
}

fn rows(database: &Database, text: &str) -> Vec<String> {
    let rows = sorted_rows(&prepared(database, text), &QueryOptions::default());
    assert!(!rows.is_empty(), "{text}");
    rows
}

fn in_order(database: &Database, text: &str) -> Vec<String> {
    let answer = prepared(database, text).run(&QueryOptions::default());
    let Ok(Answer::Solutions(solutions)) = answer else {
        unreachable!("{text}");
    };
    let rows = solutions.into_rows().expect("it runs to its end");
    assert!(!rows.is_empty(), "{text}");
    rows.iter().map(|row| format!("{row:?}")).collect()
}

#[test]
fn expressions_give_what_they_give_for_each_row() {
    for database in plain_and_changed(&data(), UPDATE) {
        for (predicate, expression) in EXPRESSIONS {
            let ask = |value: &str| {
                let expression = expression.replace("?v", value);
                let query =
                    format!("SELECT ?x ({expression} AS ?r) {{ ?x :{predicate} ?v ; :n ?n }}");
                rows(&database, &query)
            };
            // What reads two columns is evaluated for each row.
            assert_eq!(ask("?v"), ask("IF(?n >= 0, ?v, ?n)"), "{expression}");
        }
    }
}

#[test]
fn least_and_greatest_are_those_of_all() {
    for database in plain_and_changed(&data(), UPDATE) {
        for (predicate, condition) in [
            ("text", "isLITERAL(?v)"),
            ("link", "true"),
            ("long", "true"),
        ] {
            let body = format!("?x :{predicate} ?v ; :n ?n FILTER({condition})");
            for (function, direction) in [("MIN", "ASC"), ("MAX", "DESC")] {
                let by_group = format!("SELECT ?n ({function}(?v) AS ?r) {{ {body} }} GROUP BY ?n");
                // Distinct values are compared once each.
                let of_distinct = format!(
                    "SELECT ?n ({function}(?v) AS ?r) {{ {{ SELECT DISTINCT ?n ?v {{ {body} }} }} }} GROUP BY ?n"
                );
                assert_eq!(
                    rows(&database, &by_group),
                    rows(&database, &of_distinct),
                    "{by_group}"
                );
                let all = format!("SELECT ?v ?x {{ {body} }} ORDER BY {direction}(?v) ?x");
                let mut all_rows = in_order(&database, &all);
                all_rows.truncate(5);
                let first = format!("{all} LIMIT 5");
                assert_eq!(in_order(&database, &first), all_rows, "{first}");
            }
        }
        // Each value is added once.
        let body = "?x :long ?v FILTER(isNUMERIC(?v))";
        let sum = format!("SELECT (SUM(?v) AS ?r) (COUNT(?v) AS ?c) {{ {body} }}");
        let of_each = format!(
            "SELECT (SUM(?t) AS ?r) (SUM(?k) AS ?c) {{ {{ SELECT (xsd:integer(STR(?v)) * COUNT(*) AS ?t) (COUNT(*) AS ?k) {{ {body} }} GROUP BY ?v }} }}"
        );
        assert_eq!(rows(&database, &sum), rows(&database, &of_each));
    }
}
