//! Joins inside an EXISTS build what does not depend on the rows around once for all of these, where that costs less than to look each up; the answers
//! are the same.

mod support;

use support::triples::{NS, Triples, iri};
use support::{plain_and_changed, plan_without, same_without};

const MAKERS: usize = 1_500;
const WORKS: usize = 6_000;
const WAYS: usize = 40;

/// Works of makers, each made in one or two of some ways.
fn works() -> String {
    let mut triples = Triples::default();
    for maker in 0..MAKERS {
        triples.add(&format!("m{maker}"), "name", &format!("\"maker {maker}\""));
    }
    for work in 0..WORKS {
        let name = format!("w{work}");
        triples.add(&name, "by", &iri("m", work * 7 % MAKERS));
        triples.add(&name, "way", &iri("t", work * work % WAYS));
        if work % 3 == 0 {
            triples.add(&name, "way", &iri("t", (work / 3) % WAYS));
        }
    }
    triples.0
}

const CHANGES: &str = r"PREFIX : <http://example.org/>
    DELETE DATA { :w14 :by :m98 . :w21 :way :t1 } ;
    INSERT DATA { :new :by :m3 , :m5 ; :way :t0 , :t1 , :t2 . :m9000 :name 'nobody' }";

/// Questions, and whether a table is built inside.
const QUESTIONS: &[(&str, bool)] = &[
    // Whose ways include all of another's.
    (
        "?a :name ?n FILTER NOT EXISTS { ?w :by :m21 ; :way ?t FILTER NOT EXISTS { ?v :by ?a ; :way ?t } }",
        true,
    ),
    (
        "VALUES ?b { :m7 :m21 :m35 :m700 } ?a :name ?n FILTER NOT EXISTS { ?w :by ?b ; :way ?t FILTER NOT EXISTS { ?v :by ?a ; :way ?t } }",
        true,
    ),
    (
        "?a :name ?n FILTER EXISTS { ?w :by :m21 ; :way ?t FILTER NOT EXISTS { ?v :by ?a ; :way ?t } }",
        true,
    ),
    // One row is looked up.
    (
        "?a :name 'maker 7' FILTER NOT EXISTS { ?w :by :m21 ; :way ?t FILTER NOT EXISTS { ?v :by ?a ; :way ?t } }",
        false,
    ),
];

#[test]
fn what_all_rows_share_is_built_once() {
    for database in plain_and_changed(&works(), CHANGES) {
        for (pattern, is_built) in QUESTIONS {
            let text = format!("PREFIX : <{NS}> SELECT * {{ {pattern} }}");
            same_without("exists_to_join", &database, &text, &[(2048, 1), (64, 2)]);
            let plan = plan_without(&[], &database, &text);
            let found = plan.contains("HashJoin anti");
            assert_eq!(found, *is_built, "{text}\n{plan}");
        }
    }
}
