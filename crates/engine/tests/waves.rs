//! Joins by object look at partners in waves where one solution is enough: the same answers as with all at once, planned in three ways and beside
//! changes, with fewer rows read where the first partners tell, and no more where none does.

mod support;

use basalt_engine::{Database, ForceJoin, QueryOptions, Waves};
use support::triples::{NS, Triples, iri, number};
use support::{Configuration, ask, plain_and_changed, query_options, read_rows};

const PRODUCTS: usize = 60;
const VENDORS: usize = 12;

/// Queries that run for many outer rows at once: chains of joins inside EXISTS, and single stars with conditions.
const QUERIES: &[&str] = &[
    "SELECT * { ?p :size ?s FILTER EXISTS { ?o :of ?p ; :by ?v . ?v :from ?c FILTER(?c = :c1) } }",
    "SELECT * { ?p :size ?s FILTER NOT EXISTS { ?o :of ?p ; :by ?v . ?v :from ?c FILTER(?c = :c1) } }",
    "SELECT * { ?p :size ?s FILTER NOT EXISTS { ?o :of ?p ; :by ?v . ?v :from :c0 } }",
    "SELECT * { ?p :size ?s FILTER NOT EXISTS { ?o :of ?p ; :by ?v . ?v :from :nowhere } }",
    "SELECT * { ?p :size ?s FILTER EXISTS { ?o :of ?p ; :days ?d FILTER(?d > ?s) } }",
    "SELECT * { ?p :size ?s FILTER NOT EXISTS { ?o :of ?p ; :days ?d FILTER(?d > 7) } }",
    "SELECT * { ?p :size ?s FILTER EXISTS { ?o :of ?p ; :days ?d . ?x :days ?d ; :by :v3 } }",
    "SELECT * { ?p :size ?s FILTER EXISTS { ?o :of ?p ; :by ?v . ?o2 :by ?v ; :of ?p2 . ?p2 :size 1 } }",
    "SELECT * { ?p :size ?s FILTER EXISTS { ?o :of ?p ; :note ?n . ?v :called ?n } }",
    "SELECT * { ?p :size ?s FILTER(?s > 1 || EXISTS { ?o :of ?p ; :by ?v . ?v :from :c1 }) }",
    "SELECT * { ?p :size ?s OPTIONAL { ?p :like ?q } FILTER NOT EXISTS { ?o :of ?q ; :by ?v . ?v :from :c1 } }",
    "SELECT * { ?p :size ?s MINUS { ?o :of ?p ; :days ?d FILTER(?d > 7) } }",
    "SELECT * { ?v :from ?c FILTER NOT EXISTS { ?o :by ?v ; :of ?p . ?p :size 0 } }",
    "SELECT * { ?p :size ?s FILTER EXISTS { GRAPH :g { ?o :of ?p } ?o :by ?v . ?v :from ?c } }",
];

fn shop() -> String {
    let mut triples = Triples::default();
    for v in 0..VENDORS {
        triples.add(&format!("v{v}"), "from", &iri("c", usize::from(v > 9)));
        triples.add(&format!("v{v}"), "called", &format!("\"name {}\"", v / 2));
    }
    let mut o = 0;
    for p in 0..PRODUCTS {
        let name = format!("p{p}");
        triples.add(&name, "size", &number(p % 4, "integer"));
        if p % 3 > 0 {
            triples.add(&name, "like", &iri("p", (p * 7) % PRODUCTS));
        }
        for k in 0..p {
            let name = format!("o{o}");
            triples.add(&name, "of", &iri("p", p));
            triples.add(&name, "by", &iri("v", (k * k + p) % VENDORS));
            triples.add(&name, "days", &number((k + p) % 9, "integer"));
            if o % 5 == 0 {
                triples.add(&name, "note", &format!("\"name {}\"", o % 31));
            }
            o += 1;
        }
    }
    triples.0
}

/// Offers that change their product or vendor, a second vendor, new offers, an offer in another graph too.
const CHANGES: &str = r#"PREFIX : <http://example.org/>
    DELETE DATA { :o1 :of :p2 . :o7 :by :v4 . :o100 :of :p14 . :v11 :from :c1 } ;
    INSERT DATA { :o1 :of :p3 . :o7 :by :v11 . :v2 :from :c1 . :o30 :by :v11 , :v10 . :o31 :of :p0 .
        :new1 :of :p0 ; :by :v10 ; :days 8 . :new2 :of :p50 ; :by :v11 . :v12 :from :c1 . :new3 :of :p1 ; :by :v12 .
        GRAPH :g { :o3 :of :p3 . :o40 :of :p9 . :new4 :of :p4 } }"#;

fn options(waves: Waves) -> QueryOptions {
    let mut options = query_options(&Configuration::default());
    options.exec.threads = 1;
    options.exec.waves = waves;
    options
}

fn waves(first: usize, partners_min: usize) -> Waves {
    Waves {
        first,
        partners_min,
    }
}

/// Rows that a query reads in all, planned without joins instead of EXISTS.
fn read(database: &Database, query: &str, waves: Waves) -> u64 {
    let text = format!("PREFIX : <{NS}> {query}");
    let mut options = options(waves);
    options.disabled_rules = vec!["exists_to_join".to_owned()];
    let prepared = database.prepare(&text, &options).expect("it plans");
    let report = prepared.profile(&options).expect("it runs");
    read_rows(&report.root)
}

#[test]
fn answers_are_those_of_all_partners_at_once() {
    for database in plain_and_changed(&shop(), CHANGES) {
        for query in QUERIES {
            let text = format!("PREFIX : <{NS}> {query}");
            for (rules_off, force_join) in [
                (vec![], None),
                (vec!["exists_to_join".to_owned()], None),
                (vec![], Some(ForceJoin::Index)),
            ] {
                let answer = |waves, batch_rows, union_default_graph| {
                    let mut options = options(waves);
                    options.exec.batch_rows = batch_rows;
                    options.disabled_rules = rules_off.clone();
                    options.force_join = force_join;
                    options.union_default_graph = union_default_graph;
                    ask(&database, &text, &options).expect("the query runs")
                };
                for union_default_graph in [false, true] {
                    let at_once = answer(Waves::NONE, 2048, union_default_graph);
                    for (first, partners_min, batch_rows) in [
                        (1, 1, 2048),
                        (2, 1, 7),
                        (1, 1, 1),
                        (4, 512, 2048),
                        (3, 50, 20),
                    ] {
                        let in_waves =
                            answer(waves(first, partners_min), batch_rows, union_default_graph);
                        assert_eq!(
                            in_waves, at_once,
                            "{query} {first} {partners_min} {batch_rows}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn first_partners_that_tell_save_the_others() {
    for database in plain_and_changed(&shop(), CHANGES) {
        let all = "SELECT * { ?p :size ?s FILTER EXISTS { ?o :of ?p ; :by ?v . ?v :from :c0 } }";
        let none =
            "SELECT * { ?p :size ?s FILTER EXISTS { ?o :of ?p ; :by ?v . ?v :from :nowhere } }";
        let days =
            "SELECT * { ?p :size ?s FILTER EXISTS { ?o :of ?p ; :days ?d FILTER(?d > ?s) } }";
        for query in [all, days] {
            let (in_waves, at_once) = (
                read(&database, query, waves(2, 1)),
                read(&database, query, Waves::NONE),
            );
            assert!(in_waves * 4 < at_once, "{query}: {in_waves} of {at_once}");
        }
        // Each is looked at once, however many waves there are.
        let (in_waves, at_once) = (
            read(&database, none, waves(1, 1)),
            read(&database, none, Waves::NONE),
        );
        assert!(in_waves <= at_once, "{in_waves} of {at_once}");
    }
}

#[test]
fn an_object_of_many_subjects_is_not_looked_at_as_a_whole() {
    let mut triples = Triples::default();
    for n in 0..30_000 {
        let name = format!("s{n}");
        triples.add(&name, "in", &iri("place", 0));
        triples.add(&name, "with", &iri("s", n / 2));
    }
    triples.add("place0", "name", "\"a place\"");
    let [database, _] = plain_and_changed(&triples.0, "");
    let query = "SELECT * { ?x :name ?n FILTER EXISTS { ?s :in ?x ; :with ?t . ?t :in ?x } }";
    let (in_waves, at_once) = (
        read(&database, query, Waves::default()),
        read(&database, query, Waves::NONE),
    );
    assert!(in_waves < 3_000, "{in_waves} rows");
    assert!(at_once > 30_000, "{at_once} rows");
}
