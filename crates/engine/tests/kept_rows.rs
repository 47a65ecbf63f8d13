//! Pages: the rows of a LIMIT are kept where a plan reads them twice, and what is joined to them is made for these rows alone.

mod support;

use basalt_engine::Database;
use basalt_testkit::Answer as OracleAnswer;
use oxrdf::Term;
use std::collections::BTreeSet;
use support::triples::{NS, Triples, iri, number};
use support::{ask, options_without, plain_and_changed, plan_without, same_answers, same_without};

const RULE: &str = "seed_join";
const FILMS: usize = 12_000;

/// Films with actors, these with towns, these with names; many films of a year.
fn films() -> String {
    let mut triples = Triples::default();
    for film in 0..FILMS {
        let name = format!("f{film}");
        triples.add(&name, "year", &number(1950 + film % 7, "integer"));
        for actor in 0..film % 4 {
            let actor = iri("a", (film * 31 + actor * 17) % 9_000);
            triples.add(&name, "actor", &actor);
        }
        if film % 3 != 0 {
            triples.add(&name, "title", &format!("\"film {}\"", film % 900));
        }
    }
    for actor in 0..9_000 {
        let name = format!("a{actor}");
        triples.add(&name, "born", &iri("t", actor % 700));
        if actor % 5 != 0 {
            triples.add(&name, "label", &format!("\"actor {actor}\"@en"));
        }
    }
    for town in 0..700 {
        let name = format!("t{town}");
        triples.add(&name, "label", &format!("\"town {town}\""));
    }
    triples.0
}

const CHANGES: &str = r#"PREFIX : <http://example.org/>
    DELETE DATA { :f3 :actor :a93 . :a17 :born :t17 } ;
    INSERT DATA { :f90000 :year 1950 ; :actor :a5 , :nobody . :f2 :actor :a7 . :a7 :label "seven"@de }"#;

const DETAILS: &str = "OPTIONAL { ?f :title ?title } OPTIONAL { ?f :actor ?a OPTIONAL { ?a :label ?al } OPTIONAL { ?a :born ?t OPTIONAL { ?t :label ?tl } } }";

/// Pages whose rows are told by their order.
const PAGES: &[&str] = &[
    "{ SELECT ?f { ?f :year ?y } ORDER BY DESC(?y) ?f LIMIT 30 OFFSET 7 }",
    "{ SELECT ?f (COUNT(?b) AS ?n) { ?f :actor ?b } GROUP BY ?f ORDER BY DESC(?n) ?f LIMIT 25 } ?f :year ?y",
    "{ SELECT DISTINCT ?f { ?f :actor/:born ?b } ORDER BY ?f LIMIT 40 } { SELECT (MAX(?z) AS ?last) { ?w :year ?z } }",
    // What the sort turns away is dropped before it is joined.
    "{ SELECT ?f ?b { ?f :year ?y ; :actor/:born ?b } ORDER BY DESC(?y) ?f ?b LIMIT 20 }",
];

/// One that takes longer than all details: its groups are made once for both of its places, and it once.
const DEAR: &str = "{ SELECT ?f ?n { { SELECT ?f (COUNT(?b) AS ?n) { ?f :actor ?b } GROUP BY ?f } { SELECT (MAX(?m) AS ?n) { { SELECT ?g (COUNT(?b) AS ?m) { ?g :actor ?b } GROUP BY ?g } } } } ORDER BY ?f LIMIT 20 }";

/// Pages that may be any rows: none, or a part, of the order is given.
const ANY: &[&str] = &[
    "{ SELECT ?f { ?f :year ?y } LIMIT 50 }",
    "{ SELECT ?f { ?f :year ?y } ORDER BY ?y LIMIT 50 }",
    "{ SELECT ?f { ?f :year ?y FILTER(?y > 1951) } ORDER BY DESC(?y) LIMIT 50 OFFSET 100 }",
];

const VARIABLES: &str = "?f ?title ?a ?al ?t ?tl";

const WAYS: &[(usize, usize)] = &[(2048, 1), (64, 2), (7, 2)];

fn select(what: &str, pattern: &str) -> String {
    format!("PREFIX : <{NS}> SELECT {what} {{ {pattern} }}")
}

/// The plan, which keeps the rows of its limit.
fn keeps(database: &Database, text: &str) {
    let plan = plan_without(&[], database, text);
    assert!(plan.matches("Spool").count() >= 2, "{text}\n{plan}");
    let without = plan_without(&[RULE], database, text);
    assert!(!without.contains("Spool"), "{text}\n{without}");
}

#[test]
fn details_are_made_for_a_page() {
    for database in plain_and_changed(&films(), CHANGES) {
        for page in PAGES {
            let text = select("*", &format!("{page} {DETAILS}"));
            keeps(&database, &text);
            same_without(RULE, &database, &text, WAYS);
        }
        let text = select("*", &format!("{DEAR} {DETAILS}"));
        same_without(RULE, &database, &text, WAYS);
    }
}

#[test]
fn a_page_of_any_rows_is_the_same_in_both_places() {
    for database in plain_and_changed(&films(), CHANGES) {
        for page in ANY {
            let text = select(VARIABLES, &format!("{page} {DETAILS}"));
            keeps(&database, &text);
            for &(batch_rows, threads) in WAYS {
                let options = options_without(batch_rows, threads, &[]);
                let answer = ask(&database, &text, &options).expect("it runs");
                let films = films_of(&answer);
                assert_eq!(films.len(), 50, "{text}");
                let listed: Vec<&str> = films.iter().map(String::as_str).collect();
                let listed = format!("VALUES ?f {{ {} }} {DETAILS}", listed.join(" "));
                let listed = ask(&database, &select(VARIABLES, &listed), &options);
                same_answers(&listed.expect("it runs"), &answer, &text);
            }
        }
    }
}

/// The films of an answer, each once.
fn films_of(answer: &OracleAnswer) -> BTreeSet<String> {
    let OracleAnswer::Solutions { rows, .. } = answer else {
        return BTreeSet::new();
    };
    let film = |row: &Vec<Option<Term>>| row[0].as_ref().map(Term::to_string);
    rows.iter().filter_map(film).collect()
}

#[test]
fn subselects_and_unions_are_made_for_a_page() {
    let parts = [
        "{ ?f :actor ?x } UNION { ?f :title ?x } UNION { ?f :actor/:born ?x }",
        "{ SELECT ?f (COUNT(*) AS ?c) { ?f ?p ?o . ?o ?q ?r } GROUP BY ?f }",
        "{ SELECT DISTINCT ?f ?r { ?f ?p ?o . ?o ?q ?r } }",
        "{ ?f ?p ?o } UNION { ?f :actor ?o OPTIONAL { ?o :born ?t FILTER(?t != :t3) } }",
    ];
    for database in plain_and_changed(&films(), CHANGES) {
        for part in parts {
            for page in PAGES {
                let text = select("*", &format!("{page} {part}"));
                same_without(RULE, &database, &text, WAYS);
            }
        }
    }
}
