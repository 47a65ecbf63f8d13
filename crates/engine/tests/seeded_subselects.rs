//! A subselect with GROUP BY is made for the keys that the rest of its group has, where these are few; the answers are those of making all of its groups.

mod support;

use support::triples::{NS, Triples, iri, number};
use support::{plain_and_changed, plan_without, same_without};

const RULE: &str = "seed_join";
const NODES: usize = 60_000;
const GAMES: usize = 60;

/// A tree of nodes, each with a colour, and a few games that lead to some of them.
fn tree() -> String {
    let mut triples = Triples::default();
    for node in 1..NODES {
        let name = format!("n{node}");
        triples.add(&name, "up", &iri("n", node / 4));
        if node % 3 != 0 {
            triples.add(&name, "weight", &number(node % 11, "integer"));
        }
        triples.add(&name, "tone", &iri("c", node % 7));
    }
    for game in 0..GAMES {
        let name = format!("g{game}");
        triples.add(&name, "of", &iri("n", game * 37 % 900));
        triples.add(&name, "score", &number(game % 5, "integer"));
    }
    triples.0
}

const CHANGES: &str = r"PREFIX : <http://example.org/>
    DELETE DATA { :g3 :of :n111 . :n37 :up :n9 } ;
    INSERT DATA { :g99 :of :n5 , :n6 , :nowhere ; :score 2 . :n5 :up :n77 . :n9000000 :up :n3 ; :weight 4.5 }";

/// Questions, and whether the subselect is made for some keys.
const QUESTIONS: &[(&str, bool)] = &[
    (
        "{ SELECT ?x (COUNT(?y) AS ?d) { ?x :up* ?y } GROUP BY ?x } ?g :of ?x",
        true,
    ),
    (
        "{ SELECT ?x (COUNT(?y) AS ?d) (SUM(?w) AS ?s) { ?x :up* ?y OPTIONAL { ?y :weight ?w } } GROUP BY ?x HAVING (COUNT(?y) > 3) }
            ?g :of ?x ; :score ?n FILTER(?d + ?n > 5)",
        true,
    ),
    (
        "{ SELECT ?x ?c (COUNT(?y) AS ?d) { ?x :up* ?y . ?y :tone ?c } GROUP BY ?x ?c } ?g :of ?x FILTER(?g != :g4)",
        true,
    ),
    (
        "{ SELECT ?x (MIN(?w) AS ?d) { ?x :up* ?y . ?y :weight ?w } GROUP BY ?x } VALUES ?x { :n40 :n5 :none UNDEF } ?g :of ?x",
        true,
    ),
    (
        "{ SELECT ?x (COUNT(*) AS ?d) { ?z ?q ?x } GROUP BY ?x } { SELECT DISTINCT ?x { ?g :of ?x ; :score 3 } }",
        true,
    ),
    // The keys are those of two things; a group without keys has one row whatever is asked for.
    (
        "{ SELECT ?x (COUNT(?y) AS ?d) { ?x :up* ?y } GROUP BY ?x } ?g :of ?x . { SELECT (MAX(?w) AS ?m) { ?k :weight ?w } } FILTER(?d < ?m)",
        true,
    ),
    // All keys are asked for.
    (
        "{ SELECT ?x (COUNT(?y) AS ?d) { ?x :up* ?y } GROUP BY ?x } ?x :tone ?c",
        false,
    ),
    // The first groups may be any.
    (
        "{ SELECT ?x (COUNT(?y) AS ?d) { ?x :up* ?y } GROUP BY ?x ORDER BY DESC(?d) ?x LIMIT 50 } ?g :of ?x",
        false,
    ),
];

#[test]
fn groups_are_made_of_keys_that_the_rest_has() {
    for database in plain_and_changed(&tree(), CHANGES) {
        for (pattern, is_seeded) in QUESTIONS {
            let text = format!("PREFIX : <{NS}> SELECT * {{ {pattern} }}");
            same_without(RULE, &database, &text, &[(2048, 1), (64, 2), (7, 2)]);
            let plan = plan_without(&[], &database, &text);
            let differs = plan != plan_without(&[RULE], &database, &text);
            assert_eq!(differs, *is_seeded, "{text}\n{plan}");
        }
    }
}
