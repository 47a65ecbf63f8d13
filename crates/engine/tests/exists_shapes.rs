//! Shapes of EXISTS that are joined with the rows around, beside each row asked by itself: values computed of the row, both ends of a path, what two
//! conditions of a division ask for, and what is asked of few different values.

mod support;

use support::triples::{NS, Triples, iri, number};
use support::{plain_and_changed, plan_without, same_without};

const RULE: &str = "exists_to_join";

/// Readings of some gauges by number, links between these, and days of which some gauges lack one.
fn readings() -> String {
    let mut triples = Triples::default();
    for n in 0..4_000 {
        let name = format!("r{n}");
        triples.add(&name, "of", &iri("g", n % 8));
        triples.add(&name, "nr", &number(n / 8, "integer"));
        if n % 53 != 0 {
            triples.add(&name, "day", &iri("d", n / 8 % 90));
        }
        let level = format!(
            "\"{}.{}\"^^<http://www.w3.org/2001/XMLSchema#decimal>",
            n * 7 % 40,
            n % 10
        );
        triples.add(&name, "level", &level);
        if n % 3 == 0 {
            triples.add(&name, "next", &iri("r", n + 3));
        }
    }
    for gauge in 0..8 {
        triples.add(&format!("g{gauge}"), "kind", &iri("k", gauge % 2));
    }
    triples.0
}

const CHANGES: &str = r#"PREFIX : <http://example.org/>
    DELETE DATA { :r30 :next :r33 . :r8 :day :d1 } ;
    INSERT DATA { :r9001 :of :g1 ; :nr "no number" ; :level 3.5 ; :next :r0 . :r9002 :of :g2 ; :nr 3 ; :day :d5 . :g9 :kind :k1 }"#;

/// Conditions on `?x :of ?g ; :nr ?k`, and whether they are joined with the rows.
const CONDITIONS: &[(&str, bool)] = &[
    (
        "EXISTS { BIND(?k + 1 AS ?j) ?y :of ?g ; :nr ?j ; :level ?t FILTER(?t > 30) }",
        true,
    ),
    ("NOT EXISTS { BIND(?k - 3 AS ?j) ?y :of ?g ; :nr ?j }", true),
    (
        "NOT EXISTS { BIND(?k * 2 AS ?i) BIND(?i + 1 AS ?j) ?y :of ?g ; :nr ?j ; :day ?d }",
        true,
    ),
    (
        "EXISTS { BIND(IF(?k > 200, ?k - 1, 1/0) AS ?j) ?y :of ?g ; :nr ?j }",
        true,
    ),
    (
        "NOT EXISTS { BIND(?k + 1 AS ?j) ?y :of ?g ; :nr ?i FILTER(?i = ?j && ?y != ?x) }",
        false,
    ),
    ("EXISTS { ?x :next* ?y . }", true),
];

#[test]
fn values_of_the_row_around_are_computed_before() {
    for database in plain_and_changed(&readings(), CHANGES) {
        for (condition, is_joined) in CONDITIONS {
            let text =
                format!("PREFIX : <{NS}> SELECT ?x {{ ?x :of ?g ; :nr ?k FILTER {condition} }}");
            same_without(RULE, &database, &text, &[(2048, 1), (64, 2)]);
            let plan = plan_without(&[], &database, &text);
            let has_join = plan.contains("Join semi ") || plan.contains("Join anti ");
            assert_eq!(has_join, *is_joined, "{text}\n{plan}");
        }
    }
}

/// Whole queries: reachability of two ends, divisions, and few values of many rows.
const QUERIES: &[&str] = &[
    "SELECT ?x ?y { ?x :nr 3 . ?y :nr 9 FILTER NOT EXISTS { ?x :next* ?y } }",
    "SELECT ?x ?y { ?x :nr 3 . ?y :nr 3 FILTER EXISTS { ?x :next* ?y } }",
    "SELECT ?x ?y { ?x :nr 3 . ?y :nr 6 FILTER EXISTS { ?y ^:next* ?x } }",
    "SELECT ?d { { SELECT DISTINCT ?d { ?r :day ?d } } FILTER NOT EXISTS { ?g :kind :k0 FILTER NOT EXISTS { ?y :of ?g ; :day ?d } } }",
    "SELECT ?d ?g { { SELECT DISTINCT ?d { ?r :day ?d } } { SELECT DISTINCT ?g { ?r :of ?g } } FILTER NOT EXISTS { ?y :of ?g ; :day ?d } }",
    "SELECT ?d ?g { { SELECT DISTINCT ?d { ?r :day ?d } } ?g :kind :k1 FILTER EXISTS { ?y :of ?g ; :day ?d ; :level ?l FILTER(?l > 38) } }",
    "SELECT ?x ?y { ?x :of ?g ; :nr ?j . ?y :of ?g ; :nr ?k FILTER(?k - ?j = 1) }",
    "SELECT ?x ?y { ?x :of ?g ; :level ?j . ?y :of ?g ; :level ?k FILTER(?j - ?k = 2.5) FILTER NOT EXISTS { ?y :next ?z } }",
];

#[test]
fn pairs_are_asked_together_as_one_by_one() {
    for database in plain_and_changed(&readings(), CHANGES) {
        for query in QUERIES {
            let text = format!("PREFIX : <{NS}> {query}");
            same_without(RULE, &database, &text, &[(2048, 1), (64, 2), (7, 1)]);
        }
    }
}
