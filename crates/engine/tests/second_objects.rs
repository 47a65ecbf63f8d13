//! Stars joined by an object whose input binds a second one: the same answers as by the first one alone, planned in three ways and
//! beside changes, with fewer rows read.

mod support;

use basalt_engine::{Database, ForceJoin, QueryOptions, Waves};
use support::triples::{NS, Triples, iri, number};
use support::{Configuration, ask, plain_and_changed, query_options, read_rows, same_answers};

const PEOPLE: usize = 40;
/// Ties of each of two people who have more than are found together.
const HUB_TIES: usize = 1_100;

/// Queries with two bound objects: of one predicate, of two, in an EXISTS, in MINUS and OPTIONAL, with values of several kinds.
const QUERIES: &[&str] = &[
    "SELECT * { ?a :knows ?b . ?x :between ?a , ?b }",
    "SELECT * { ?a :knows ?b . ?x :between ?a , ?b ; :since ?d FILTER(?d > 5) }",
    "SELECT * { ?a :knows ?b . ?b :knows ?c . ?x :between ?a , ?b . ?y :between ?b , ?c . ?z :between ?a , ?c }",
    "SELECT * { ?g :member ?p FILTER NOT EXISTS { ?m :in ?g ; :by ?p } }",
    "SELECT * { ?g :member ?p FILTER EXISTS { ?m :in ?g ; :by ?p ; :since ?d FILTER(?d < 4) } }",
    "SELECT * { ?g :member ?p MINUS { ?m :in ?g ; :by ?p } }",
    "SELECT * { ?g :member ?p OPTIONAL { ?m :in ?g ; :by ?p ; :since ?d } }",
    "SELECT * { ?g :member ?p . ?p :size ?d FILTER EXISTS { ?m :in ?g ; :since ?d } }",
    "SELECT * { ?g :member ?p . ?p :label ?l OPTIONAL { ?m :in ?g ; :label ?l } }",
    "SELECT * { ?g :member ?p FILTER EXISTS { ?m :in ?g ; :by ?q . ?x :between ?p , ?q } }",
    "SELECT * { VALUES (?a ?b) { (:hub1 :hub2) (:hub2 :hub1) (:p1 :hub1) (:hub2 :p3) (:p1 :p1) (:none :p2) } ?x :near ?a , ?b }",
    "SELECT * { VALUES (?a ?b) { (:hub1 :hub2) (:p1 :hub1) (:p5 :p6) } FILTER NOT EXISTS { ?x :near ?a , ?b } }",
    "SELECT * { VALUES (?a ?b) { (:hub1 :hub2) (:p1 :hub1) } FILTER EXISTS { ?x :near ?a , ?b ; :since ?d FILTER(?d > 10) } }",
    "SELECT * { ?a :knows ?b FILTER NOT EXISTS { ?b :knows ?a } }",
    "SELECT * { ?a :knows ?b . ?b :knows ?c FILTER EXISTS { ?a :knows ?c } }",
    "SELECT * { ?g :member ?p FILTER EXISTS { GRAPH :h { ?m :in ?g ; :by ?p } } }",
    "SELECT * { ?g :member ?p GRAPH ?h { ?m :in ?g ; :by ?p } }",
];

fn network() -> String {
    let mut triples = Triples::default();
    let mut tie = 0;
    let mut add_tie = |triples: &mut Triples, a: &str, of: &str, b: &str| {
        let name = format!("tie{tie}");
        triples.add(&name, of, &format!("<{NS}{a}>"));
        triples.add(&name, of, &format!("<{NS}{b}>"));
        triples.add(&name, "since", &number(tie % 12, "integer"));
        tie += 1;
    };
    for p in 0..PEOPLE {
        let name = format!("p{p}");
        triples.add(&name, "size", &number(p % 12, "integer"));
        triples.add(&name, "label", &format!("\"label {}\"", p % 7));
        for k in 1..p % 9 {
            let friend = format!("p{}", (p + k * k) % PEOPLE);
            triples.add(&name, "knows", &format!("<{NS}{friend}>"));
            if (p + k) % 3 > 0 {
                add_tie(&mut triples, &name, "between", &friend);
            }
        }
    }
    for _ in 0..HUB_TIES {
        add_tie(&mut triples, "hub1", "near", "hub2");
    }
    add_tie(&mut triples, "hub1", "near", "p1");
    let mut message = 0;
    for g in 0..8 {
        for k in 0..4 + g * 2 {
            triples.add(&format!("g{g}"), "member", &iri("p", (g * 5 + k) % PEOPLE));
            for _ in 0..(g + k) % 4 {
                let name = format!("m{message}");
                triples.add(&name, "in", &iri("g", g));
                triples.add(&name, "by", &iri("p", (g * 5 + k * k) % PEOPLE));
                triples.add(&name, "since", &number(message % 12, "integer"));
                triples.add(&name, "label", &format!("\"label {}\"", message % 11));
                message += 1;
            }
        }
    }
    triples.0
}

/// Ties that lose an end, or have a third one; messages that move, are of two people, are new, or are in another graph too.
const CHANGES: &str = r#"PREFIX : <http://example.org/>
    DELETE DATA { :tie1 :between :p2 . :m3 :by :p1 . :m5 :in :g3 . :m7 :label "label 7" } ;
    INSERT DATA { :tie1 :between :p7 . :tie2 :between :p8 , :p9 . :m3 :by :p2 . :m5 :in :g4 , :g5 . :m7 :label "label 1"@en .
        :m9 :by :p3 , :p4 . :new1 :in :g1 ; :by :p5 , :p6 ; :since 3 . :new2 :between :p1 , :p2 ; :since 9 . :p3 :knows :new3 .
        :new3 :knows :p3 . :new4 :between :p3 , :new3 ; :since 1 . :tie20 :near :hub1 , :p1 . :p1 :in :g2 ; :by :p11 .
        GRAPH :h { :m1 :in :g0 ; :by :p1 . :m9 :in :g1 . :new5 :in :g2 ; :by :p11 } }"#;

/// The same, and an end of so many ties that their subjects are not looked for by it.
fn many_changes() -> String {
    let ties = 0..900;
    let ends: Vec<String> = ties
        .map(|tie| format!(":tie{tie} :between :p3 ."))
        .collect();
    format!("{CHANGES} ; INSERT DATA {{ {} }}", ends.join(" "))
}

fn options(common_rows: bool, waves: Waves) -> QueryOptions {
    let mut options = query_options(&Configuration::default());
    options.exec.threads = 1;
    options.exec.common_rows = common_rows;
    options.exec.waves = waves;
    options
}

/// Compares answers of both ways, for joins of several kinds and batches of several sizes.
fn compare(database: &Database, query: &str) {
    let text = format!("PREFIX : <{NS}> {query}");
    for (rules_off, force_join) in [
        (vec![], None),
        (vec!["exists_to_join".to_owned()], None),
        (vec![], Some(ForceJoin::Index)),
        (vec!["exists_to_join".to_owned()], Some(ForceJoin::Index)),
    ] {
        let answer = |common_rows, first, batch_rows, union_default_graph| {
            let waves = Waves {
                first,
                partners_min: 1,
            };
            let mut options = options(common_rows, waves);
            options.exec.batch_rows = batch_rows;
            options.disabled_rules = rules_off.clone();
            options.force_join = force_join;
            options.union_default_graph = union_default_graph;
            ask(database, &text, &options).expect("the query runs")
        };
        for union_default_graph in [false, force_join.is_some()] {
            let alone = answer(false, 0, 2048, union_default_graph);
            for (first, batch_rows) in [(0, 2048), (1, 2048), (2, 7)] {
                let together = answer(true, first, batch_rows, union_default_graph);
                same_answers(&alone, &together, query);
            }
        }
    }
}

#[test]
fn answers_are_those_of_one_object_at_a_time() {
    let [plain, changed] = plain_and_changed(&network(), CHANGES);
    for database in [plain, changed] {
        QUERIES.iter().for_each(|query| compare(&database, query));
    }
    let [_, much_changed] = plain_and_changed(&network(), &many_changes());
    let of_hubs = QUERIES.iter().filter(|query| query.contains(":near"));
    of_hubs.for_each(|query| compare(&much_changed, query));
}

/// Rows that a query reads in all, with joins by objects.
fn read(database: &Database, query: &str, common_rows: bool) -> u64 {
    let text = format!("PREFIX : <{NS}> {query}");
    let mut options = options(common_rows, Waves::NONE);
    options.force_join = Some(ForceJoin::Index);
    let prepared = database.prepare(&text, &options).expect("it plans");
    let report = prepared.profile(&options).expect("it runs");
    read_rows(&report.root)
}

#[test]
fn rows_that_lack_one_object_are_not_read() {
    for database in plain_and_changed(&network(), CHANGES) {
        let of_ties = "SELECT * { ?a :knows ?b . ?x :between ?a , ?b }";
        let of_hubs = "SELECT * { VALUES (?a ?b) { (:p1 :hub1) (:hub1 :p1) } ?x :near ?a , ?b }";
        for (query, times) in [(of_ties, 3), (of_hubs, 20)] {
            let (together, alone) = (read(&database, query, true), read(&database, query, false));
            assert!(together * times < alone, "{query}: {together} of {alone}");
        }
    }
}
