//! Equalities that become joins by id: the same answers as by comparing values, and the plans have keys.

mod support;

use basalt_engine::{Database, QueryOptions};
use support::triples::{NS, Triples, iri, number};
use support::{Configuration, ask, plain_and_changed, query_options, same_answers};

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
    }
    triples.0
}

const CHANGES: &str = r#"PREFIX : <http://example.org/>
    DELETE DATA { :p1 :name "text 1" . :p2 :title "text 8" . :p3 :likes :p9 } ;
    INSERT DATA { :p1 :name "text 1"@en . :p2 :title 5 . :p2 :name 5.0 . :new :name "text 7" ; :likes :p3 ; :size 1 ; :mark 5 .
        :p4 :likes :new }"#;

fn options(is_on: bool) -> QueryOptions {
    let mut options = query_options(&Configuration::default());
    if !is_on {
        options.disabled_rules = vec!["term_equality".to_owned()];
    }
    options
}

fn plan(database: &Database, text: &str, is_on: bool) -> String {
    let options = options(is_on);
    let prepared = database.prepare(text, &options).expect("it plans");
    prepared.explain().to_text()
}

#[test]
fn answers_are_those_of_comparing_values() {
    for (at, database) in plain_and_changed(&things(), CHANGES)
        .into_iter()
        .enumerate()
    {
        for &(query, before, after) in QUERIES {
            let text = format!("PREFIX : <{NS}> {query}");
            let answer = |is_on| ask(&database, &text, &options(is_on)).expect("the query runs");
            same_answers(&answer(false), &answer(true), query);
            // Of the changed ones also the merged one has terms of other kinds.
            let is_joined = if at == 0 { before } else { after };
            let (on, off) = (plan(&database, &text, true), plan(&database, &text, false));
            assert_eq!(on != off, is_joined, "{at} {query}\n{on}");
        }
    }
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
                let mut options = options(true);
                options.exec.batch_rows = batch_rows;
                // A text_equality would take the comparison away.
                options.disabled_rules.push("text_equality".to_owned());
                ask(&database, &text, &options).expect("the query runs")
            };
            let one_by_one = answer(1);
            for batch_rows in [100, 2048] {
                same_answers(&one_by_one, &answer(batch_rows), query);
            }
        }
    }
}
