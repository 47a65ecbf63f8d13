//! What BIND computes of one side of a join is the same before the join as after it, and so is what two of them join.

mod support;

use basalt_engine::Database;
use basalt_testkit::Answer;
use support::triples::{NS, Triples, iri, number};
use support::{ask, options_without, plain_and_changed};

/// Shops in towns, some without a name or with two, and sales of which some lack a time.
fn shop() -> String {
    let mut triples = Triples::default();
    for t in 0..24 {
        let name = format!("t{t}");
        triples.add(&name, "in", &iri("c", t % 5));
        if t % 6 != 0 {
            triples.add(&name, "name", &format!("\"Shop {}\"", t % 9));
        }
        if t % 8 == 1 {
            triples.add(&name, "name", &format!("\"shop {}\"@en", t % 9));
        }
        if t % 3 == 0 {
            triples.add(&name, "since", &number(1990 + t, "integer"));
        }
    }
    for s in 0..4000 {
        let name = format!("s{s}");
        triples.add(&name, "at", &iri("t", s * 7 % 25));
        triples.add(&name, "label", &format!("\"sHOP {}\"", s * 31 % 40));
        if s % 4 != 0 {
            triples.add(&name, "paid", &number(s * 17 % 4999, "integer"));
        }
    }
    triples.0
}

const CHANGES: &str = r#"PREFIX : <http://example.org/>
    DELETE DATA { :t1 :name "Shop 1" . :s5 :at :t10 } ;
    INSERT DATA { :t2 :name "another" , 7 . :s9000 :at :t2 ; :label "SHOP 4" ; :paid "dear" }"#;

const PATTERNS: &[&str] = &[
    "?t :name ?n . ?s :at ?t ; :paid ?x BIND(UCASE(STR(?n)) AS ?k)",
    "?t :name ?n . ?s :at ?t BIND(REPLACE(?n, \"hop\", \"\") AS ?k) FILTER(STRLEN(?k) > 3)",
    "?t :name ?n ; :since ?y . ?s :at ?t BIND(CONCAT(?n, STR(?y)) AS ?k) BIND(CONCAT(?k, \"!\") AS ?l)",
    "?s :at ?t OPTIONAL { ?t :name ?n } BIND(UCASE(STR(?n)) AS ?k)",
    "?t :in ?c OPTIONAL { ?t :name ?n } ?s :at ?t BIND(LCASE(?n) AS ?k)",
    "?t :name ?n OPTIONAL { ?s :at ?t ; :paid ?x } BIND(LCASE(?n) AS ?k)",
    "?t :name ?n FILTER NOT EXISTS { ?t :since ?y } ?s :at ?t BIND(SUBSTR(?n, 2, 4) AS ?k)",
    "?t :name ?n . ?s :at ?t BIND(IRI(CONCAT(\"http://example.org/\", STRAFTER(?n, \" \"))) AS ?k)",
    "?t :name ?n . ?s :label ?l ; :paid ?x BIND(LCASE(?n) AS ?k) BIND(LCASE(?l) AS ?j) FILTER(?k = ?j)",
    "?t :name ?n . ?s :label ?l BIND(UCASE(?n) AS ?k) BIND(STRLEN(?k) AS ?m) BIND(UCASE(?l) AS ?j) FILTER(?j = ?k && ?m > 3)",
    "?t :name ?n . ?u :name ?o BIND(REPLACE(LCASE(?n), \"[aeiou]\", \"\") AS ?k) BIND(REPLACE(LCASE(?o), \"[aeiou]\", \"\") AS ?j) FILTER(?k = ?j && STR(?t) < STR(?u))",
    "{ SELECT ?t (MAX(?x) AS ?most) { ?s :at ?t ; :paid ?x } GROUP BY ?t } ?s :at ?t BIND(CONCAT(STR(?most), \"-\", STR(?t)) AS ?k)",
];

fn bag(database: &Database, text: &str, off: &[&str], threads: usize) -> Answer {
    let options = options_without(7, threads, off);
    ask(database, text, &options).expect("it runs")
}

#[test]
fn answers_are_those_of_computing_at_the_end() {
    for database in plain_and_changed(&shop(), CHANGES) {
        for (number, pattern) in PATTERNS.iter().enumerate() {
            let select = ["SELECT *", "SELECT ?k (COUNT(*) AS ?rows)"][number % 2];
            let group = ["", "GROUP BY ?k"][number % 2];
            let text = format!("PREFIX : <{NS}> {select} {{ {pattern} }} {group}");
            let off = ["compute_early", "push_down_filter", "hoist_expressions"];
            let expected = bag(&database, &text, &off, 1);
            for off in [&[][..], &off[1..], &off[..1]] {
                let answer = bag(&database, &text, off, 2);
                support::same_answers(&expected, &answer, &text);
            }
        }
    }
}
