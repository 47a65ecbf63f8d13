//! Equalities that become joins by id or by keys of values: the same answers as by comparing values, and the plans have keys.

mod support;

use basalt_engine::{Database, QueryOptions};
use support::triples::{NS, Triples, iri, number};
use support::{Configuration, ask, plain_and_changed, query_options, same_answers};

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// Queries, and whether the equality joins by id before and after the changes.
const QUERIES: &[(&str, bool, bool)] = &[
    // Plain strings equal nothing else. The changes give one a language, and another one is a number then.
    (
        "SELECT * { ?p :name ?a . ?q :title ?b FILTER(?a = ?b) }",
        true,
        false,
    ),
    (
        "SELECT * { ?p :name ?a . ?q :mark ?b FILTER(?a = ?b) }",
        true,
        false,
    ),
    (
        "SELECT * { ?p :mark ?a . ?q :mark ?b FILTER(?a = ?b) }",
        false,
        false,
    ),
    (
        "SELECT * { ?p :mark ?a . ?q :mark ?b FILTER(sameTerm(?a, ?b)) }",
        true,
        true,
    ),
    (
        "SELECT * { ?p :name ?a . ?q :title ?b FILTER(sameTerm(?a, ?b) && ?p != ?q) }",
        true,
        true,
    ),
    (
        "SELECT * { ?p :likes ?a . ?q :likes ?b ; :mark ?m FILTER(?a = ?b) }",
        true,
        true,
    ),
    (
        "SELECT * { ?p :name ?a OPTIONAL { ?p :mark ?b } FILTER(sameTerm(?a, ?b)) }",
        false,
        false,
    ),
    // In the condition of an OPTIONAL.
    (
        "SELECT * { ?p :likes ?a ; :size ?s OPTIONAL { ?q :likes ?b ; :size ?t FILTER(?a = ?b && ?t < ?s) } }",
        true,
        true,
    ),
    (
        "SELECT * { ?p :likes ?a ; :size ?s OPTIONAL { ?q :likes ?b ; :size ?t FILTER(?a = ?b && ?t < ?s) } FILTER(!BOUND(?b)) }",
        true,
        true,
    ),
    (
        "SELECT * { ?p :size ?s OPTIONAL { ?q :likes ?b FILTER(?b = ?p) } }",
        true,
        true,
    ),
    (
        "SELECT * { ?p :mark ?s OPTIONAL { ?q :mark ?b FILTER(sameTerm(?s, ?b)) } }",
        true,
        true,
    ),
    (
        "SELECT * { ?p :mark ?s OPTIONAL { ?q :mark ?b FILTER(?s = ?b) } }",
        false,
        false,
    ),
    (
        "SELECT * { ?p :name ?s OPTIONAL { { ?q :title ?b } UNION { ?q :mark ?b } FILTER(?s = ?b) } }",
        true,
        false,
    ),
    (
        "SELECT * { ?p :name ?s OPTIONAL { ?q :likes ?o OPTIONAL { ?o :title ?b } FILTER(?s = ?b) } }",
        false,
        false,
    ),
    (
        "SELECT * { ?p :size ?s OPTIONAL { ?p :likes ?b FILTER(?b = ?p) } }",
        false,
        false,
    ),
    (
        "SELECT * { ?p :size ?s FILTER NOT EXISTS { ?q :likes ?b OPTIONAL { ?r :likes ?c FILTER(?b = ?c && ?p = ?r) } FILTER(!BOUND(?c)) } }",
        true,
        true,
    ),
];

/// Queries, and whether the equality joins by keys of values before and after the changes.
const BY_VALUE: &[(&str, bool, bool)] = &[
    // Integers and decimals, then doubles among them; the changes bring a float.
    (
        "SELECT * { ?p :mark ?a . ?q :mark ?b FILTER(?a = ?b) }",
        true,
        false,
    ),
    (
        "SELECT * { ?p :price ?a . ?q :mark ?b FILTER(?a = ?b) }",
        true,
        false,
    ),
    (
        "SELECT * { ?p :price ?a . ?q :size ?b FILTER(?a = ?b && ?p != ?q) }",
        true,
        true,
    ),
    // Integers that are their own ids, until one is written in another way: no key of a value is made for them before.
    (
        "SELECT * { ?p :size ?a . ?q :size ?b FILTER(?a = ?b) }",
        false,
        true,
    ),
    (
        "SELECT * { ?p :day ?a . ?q :day ?b FILTER(YEAR(?a) = YEAR(?b)) }",
        true,
        true,
    ),
    (
        "SELECT * { ?p :day ?a . ?q :born ?b FILTER(?a = ?b) }",
        true,
        true,
    ),
    (
        "SELECT * { ?p :day ?a OPTIONAL { ?q :born ?b ; :size ?s FILTER(?a = ?b && ?s > 1) } }",
        true,
        true,
    ),
    (
        "SELECT * { ?p :price ?a OPTIONAL { ?q :mark ?b FILTER(?b = ?a + 1) } }",
        true,
        false,
    ),
    // Others join the two sides, or nobody knows what a value is.
    (
        "SELECT * { ?p :price ?a . ?p :mark ?b FILTER(?a = ?b) }",
        false,
        false,
    ),
    (
        "SELECT * { ?p :price ?a . ?q ?r ?b FILTER(?a = ?b) }",
        false,
        false,
    ),
];

fn things() -> String {
    let mut triples = Triples::default();
    for p in 0..30 {
        let name = format!("p{p}");
        triples.add(&name, "size", &number(p % 5, "integer"));
        triples.add(&name, "name", &format!("\"text {}\"", p % 11));
        triples.add(&name, "title", &format!("\"text {}\"", p % 7 + 6));
        triples.add(&name, "likes", &iri("p", (p * p) % 13));
        let mark = match p % 4 {
            0 => number(p % 3, "integer"),
            1 => number(p % 3, "double"),
            2 => format!("\"text {}\"", p % 9),
            _ => format!("\"text {}\"@en", p % 9),
        };
        triples.add(&name, "mark", &mark);
        let price = format!("\"{}.{}\"", p % 3, 5 * (p % 2));
        triples.add(&name, "price", &format!("{price}^^<{XSD}decimal>"));
        let day = format!("200{}-0{}-01", p % 3, p % 5 + 1);
        triples.add(&name, "day", &format!("\"{day}\"^^<{XSD}date>"));
        let born = format!("200{}-0{}-01{}", p % 2, p % 7 + 1, ["", "Z"][p % 4 / 3]);
        triples.add(&name, "born", &format!("\"{born}\"^^<{XSD}date>"));
    }
    triples.0
}

const CHANGES: &str = r#"PREFIX : <http://example.org/>
    DELETE DATA { :p1 :name "text 1" . :p2 :title "text 8" . :p3 :likes :p9 } ;
    INSERT DATA { :p1 :name "text 1"@en . :p2 :title 5 . :p2 :name 5.0 . :new :name "text 7" ; :likes :p3 ; :size 1 ; :mark 5 .
        :p4 :likes :new ; :mark "1"^^<http://www.w3.org/2001/XMLSchema#float> . :p5 :size 02 ; :day "2001-02-01Z"^^<http://www.w3.org/2001/XMLSchema#date> }"#;

fn options(disabled: &[&str]) -> QueryOptions {
    let mut options = query_options(&Configuration::default());
    options.disabled_rules = disabled.iter().map(|rule| (*rule).to_owned()).collect();
    options
}

fn plan(database: &Database, text: &str, disabled: &[&str]) -> String {
    let prepared = database.prepare(text, &options(disabled));
    prepared.expect("it plans").explain().to_text()
}

/// Checks that queries have the answers of comparing values, and plans with keys by a rule where there should be some.
fn check(queries: &[(&str, bool, bool)], rule: &str) {
    for (at, database) in plain_and_changed(&things(), CHANGES)
        .into_iter()
        .enumerate()
    {
        for &(query, before, after) in queries {
            let text = format!("PREFIX : <{NS}> {query}");
            let answer = |disabled: &[&str]| {
                ask(&database, &text, &options(disabled)).expect("the query runs")
            };
            let by_value = answer(&["term_equality", "value_equality"]);
            same_answers(&by_value, &answer(&[]), query);
            same_answers(&by_value, &answer(&[rule]), query);
            let is_joined = if at == 0 { before } else { after };
            let (on, off) = (plan(&database, &text, &[]), plan(&database, &text, &[rule]));
            assert_eq!(on != off, is_joined, "{at} {query}\n{on}");
        }
    }
}

#[test]
fn answers_by_term_are_those_of_comparing_values() {
    check(QUERIES, "term_equality");
}

#[test]
fn answers_by_key_are_those_of_comparing_values() {
    check(BY_VALUE, "value_equality");
}

#[test]
fn strings_are_in_the_order_of_their_texts_however_many_are_compared() {
    const PAIRS: &[&str] = &[
        "SELECT * { ?p :name ?a . ?q :title ?b FILTER(?a < ?b) }",
        "SELECT * { ?p :name ?a . ?q :title ?b FILTER(?a >= ?b) }",
        "SELECT * { ?p :name ?a . ?q :mark ?b FILTER(?a <= ?b) }",
        "SELECT * { ?p :likes ?a . ?q :likes ?b FILTER(STR(?a) < STR(?b)) }",
        "SELECT * { ?p :likes ?a . ?q :mark ?b FILTER(STR(?a) > STR(?b)) }",
        "SELECT * { ?p :likes ?a . ?q :name ?b FILTER(STR(?a) < ?b) }",
        "SELECT * { ?p :title ?a . ?q :mark ?b FILTER(STR(?a) = STR(?b)) }",
    ];
    for database in plain_and_changed(&things(), CHANGES) {
        for query in PAIRS {
            let text = format!("PREFIX : <{NS}> {query}");
            let answer = |batch_rows| {
                // A key would take the comparison away.
                let mut options = options(&["value_equality"]);
                options.exec.batch_rows = batch_rows;
                ask(&database, &text, &options).expect("the query runs")
            };
            let one_by_one = answer(1);
            for batch_rows in [100, 2048] {
                same_answers(&one_by_one, &answer(batch_rows), query);
            }
        }
    }
}
