//! Star joins that only test their subjects for constants keep and drop rows by bits, once it is known which rows of a table have
//! them: the same rows in the same order as row by row, also where some subjects are in no table, in another one or have changed.

mod support;

use basalt_engine::{Database, ForceJoin, QueryOptions, SharedKeys};
use support::triples::{NS, Triples, iri, number};
use support::{Configuration, ask, compared_rows, plain_and_changed, query_options};

const OFFERS: usize = 500;
const PRODUCTS: usize = 90;

const QUERIES: &[&str] = &[
    "SELECT ?o ?p { ?o :of ?p FILTER EXISTS { ?p :type :T1 } }",
    "SELECT ?o ?p { ?o :of ?p ; :days 3 . ?p :type :T1 }",
    "SELECT ?o ?d { ?o :of ?p ; :days ?d . ?p :type :T1 FILTER(?d < 2) }",
    "SELECT ?o ?p { ?o :of ?p . ?p :type :T1 }",
    "SELECT ?o { ?o :of ?p . ?p :type :T1 ; :size 3 }",
    "SELECT ?o ?p { ?o :of ?p . ?p :type :T1 ; :name ?n }",
    "SELECT ?o ?p { ?o :of ?p FILTER EXISTS { ?p :type :T2 } }",
    "SELECT ?o ?p { ?o :of ?p FILTER NOT EXISTS { ?p :type :T2 } }",
    "SELECT ?o ?p { ?o :of ?p FILTER NOT EXISTS { ?p :type :T2 ; :size 3 } }",
    "SELECT ?o ?p { ?o :of ?p . ?p :type ?t FILTER(?t = :T1) }",
    "SELECT ?o ?p { ?o :of ?p OPTIONAL { ?p :type :T1 } }",
    "SELECT ?o ?g { ?o :of ?p GRAPH ?g { ?p :name \"elsewhere\" } }",
];

fn shop() -> String {
    let mut triples = Triples::default();
    for p in 0..PRODUCTS {
        let name = format!("p{p}");
        triples.add(&name, "type", &iri("T", p % 3));
        triples.add(&name, "size", &number(p % 7, "integer"));
        triples.add(&name, "name", &format!("\"name of {p}\""));
    }
    for o in 0..OFFERS {
        let name = format!("o{o}");
        let of = match o % 61 {
            60 => "\"no product\"".to_owned(),
            59 => iri("nothing", o),
            57 | 58 => iri("o", o - 1),
            _ => iri("p", (o * o + o / 7) % PRODUCTS),
        };
        triples.add(&name, "of", &of);
        triples.add(&name, "days", &number(o % 9, "integer"));
    }
    triples.0
}

/// Products that change their type, one that is new, and offers of it.
const CHANGES: &str = r#"PREFIX : <http://example.org/>
    DELETE DATA { :p2 :type :T2 . :p4 :type :T1 } ;
    INSERT DATA { :p2 :type :T1 . :p6 :type :T1 . :p100 :type :T1 ; :size 3 ; :name "new" . :o1 :of :p100 . :o9 :of :p100 .
        GRAPH :g { :p6 :name "elsewhere" . :o3 :of :p6 } }"#;

fn options(batch_rows: usize) -> QueryOptions {
    let mut options = query_options(&Configuration::default());
    options.force_join = Some(ForceJoin::Index);
    options.exec.threads = 1;
    options.exec.batch_rows = batch_rows;
    options
}

fn text(query: &str) -> String {
    format!("PREFIX : <{NS}> {query}")
}

fn databases() -> [Database; 2] {
    plain_and_changed(&shop(), CHANGES)
}

#[test]
fn rows_and_their_order_are_those_of_row_by_row() {
    for database in databases() {
        for union_default_graph in [false, true] {
            for query in QUERIES {
                let answer = |shared_keys, batch_rows| {
                    let mut options = options(batch_rows);
                    options.exec.shared_keys = shared_keys;
                    options.union_default_graph = union_default_graph;
                    ask(&database, &text(query), &options).expect("the query runs")
                };
                let row_by_row = answer(SharedKeys::Never, 2048);
                for batch_rows in [1, 7, 64, 2048] {
                    let tested = answer(SharedKeys::WhereItPays, batch_rows);
                    assert_eq!(tested, row_by_row, "{query} by {batch_rows}");
                }
            }
        }
    }
}

#[test]
fn rows_that_are_tested_by_bits_are_not_read() {
    let [database, _] = databases();
    let compared = |batch_rows| {
        let options = options(batch_rows);
        let prepared = database.prepare(&text(QUERIES[0]), &options);
        let report = prepared.expect("it plans").profile(&options);
        compared_rows(&report.expect("it runs").root)
    };
    let (few, most) = (compared(2048), compared(20));
    assert!(most > few && most > OFFERS as u64 / 2, "{few} and {most}");
}
