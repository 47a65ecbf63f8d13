//! Star joins find the solutions of a key once for all rows of a batch that have it: the same rows in the same order as row by row,
//! with fewer rows read where keys repeat, and no sharing where rows with the same key may have different solutions.

mod support;

use SharedKeys::{Always, WhereItPays};
use basalt_engine::{Database, ForceJoin, GraphFormat, QueryOptions, SharedKeys};
use std::fmt::Write;
use support::triples::{NS, Triples, iri, number};
use support::{Configuration, ask, plain_and_changed, query_options, read_rows};

const OFFERS: usize = 400;
const PRODUCTS: usize = 20;

/// Queries whose joins read nothing but the key.
const SHARED: &[&str] = &[
    "SELECT * { ?o :of ?p . ?p :name ?n }",
    "SELECT * { ?o :of ?p . ?p :name ?n ; :size ?s ; :like ?q FILTER(?s > 3) }",
    "SELECT * { ?o :of ?p OPTIONAL { ?p :note ?x } }",
    "SELECT * { ?o :of ?p . ?p :name ?n OPTIONAL { ?p :note ?x ; :like ?q } }",
    "SELECT * { ?o :of ?p FILTER EXISTS { ?p :type ?t } }",
    "SELECT * { ?o :of ?p FILTER EXISTS { ?p :note ?x } }",
    "SELECT * { ?o :of ?p FILTER NOT EXISTS { ?p :note ?x } }",
    // By the object, with and without inverse.
    "SELECT * { ?a :like ?p . ?o :of ?p ; :days ?d }",
    "SELECT * { ?o :days ?s . ?p :size ?s ; :name ?n }",
    "SELECT * { ?o :label ?l . ?p :title ?l }",
];

/// Queries whose joins read more of a row, or may answer the same row in different ways.
const UNSHARED: &[&str] = &[
    "SELECT * { ?o :of ?p ; :days ?d . ?p :size ?s FILTER(?s > ?d) }",
    "SELECT * { ?o :of ?p ; :days ?s . ?p :size ?s }",
    "SELECT ?o ?p ?n { ?o :of ?p . ?p :name ?n FILTER(RAND() >= 0) }",
];

fn shop() -> String {
    let mut triples = Triples::default();
    for p in 0..PRODUCTS {
        let name = format!("p{p}");
        triples.add(&name, "type", &iri("T", p % 3));
        triples.add(&name, "size", &number(p % 7, "integer"));
        triples.add(&name, "title", &format!("\"a title of {}\"", p % 2));
        for n in 0..p % 4 {
            triples.add(&name, "name", &format!("\"name {n} of {p}\""));
        }
        for q in 0..1 + p % 3 {
            triples.add(&name, "like", &iri("p", (p + q * 5) % PRODUCTS));
        }
        if p % 3 == 1 {
            triples.add(&name, "note", &format!("\"note {p}\""));
        }
    }
    for o in 0..OFFERS {
        let name = format!("o{o}");
        triples.add(&name, "of", &iri("p", (o * o + o / 7) % PRODUCTS));
        triples.add(&name, "days", &number(o % 9, "integer"));
        triples.add(&name, "label", &format!("\"a title of {}\"", o % 6));
    }
    triples.0
}

/// Products that get and lose values, one of them with a value in another graph, and a new one.
const CHANGES: &str = r#"PREFIX : <http://example.org/>
    DELETE DATA { :p2 :name "name 0 of 2" . :p5 :size 5 } ;
    INSERT DATA { :p3 :name "one more" . :p4 :note "new" . :p5 :size 6 , 4 . :p7 :rare 1 .
        :p100 :name "a new one" ; :size 3 ; :note "n" ; :type :T1 . :o1 :of :p100 . :o9 :of :p100 .
        GRAPH :g { :p6 :name "elsewhere" . :o3 :of :p6 } }"#;

fn databases() -> [Database; 2] {
    plain_and_changed(&shop(), CHANGES)
}

fn options(shared_keys: SharedKeys) -> QueryOptions {
    let mut options = query_options(&Configuration::default());
    options.force_join = Some(ForceJoin::Index);
    options.exec.threads = 1;
    options.exec.shared_keys = shared_keys;
    options
}

/// Rows that a query reads in all.
fn read(database: &Database, query: &str, options: &QueryOptions) -> u64 {
    let text = format!("PREFIX : <{NS}> {query}");
    let prepared = database.prepare(&text, options).expect("it plans");
    let report = prepared.profile(options).expect("it runs");
    read_rows(&report.root)
}

#[test]
fn rows_and_their_order_are_those_of_row_by_row() {
    for database in databases() {
        for union_default_graph in [false, true] {
            for query in SHARED.iter().chain(UNSHARED) {
                let text = format!("PREFIX : <{NS}> {query}");
                let answer = |shared_keys, batch_rows| {
                    let mut options = options(shared_keys);
                    options.exec.batch_rows = batch_rows;
                    options.union_default_graph = union_default_graph;
                    ask(&database, &text, &options).expect("the query runs")
                };
                let row_by_row = answer(SharedKeys::Never, 2048);
                for (shared_keys, batch_rows) in [
                    (Always, 2048),
                    (WhereItPays, 2048),
                    (Always, 7),
                    (WhereItPays, 50),
                    (Always, 1),
                ] {
                    let shared = answer(shared_keys, batch_rows);
                    assert_eq!(shared, row_by_row, "{query} {shared_keys:?} {batch_rows}");
                }
            }
        }
    }
}

#[test]
fn repeated_keys_are_looked_up_once() {
    for database in databases() {
        for query in SHARED {
            let shared = read(&database, query, &options(SharedKeys::WhereItPays));
            let row_by_row = read(&database, query, &options(SharedKeys::Never));
            assert!(shared < row_by_row, "{query}: {shared} of {row_by_row}");
        }
        for query in UNSHARED {
            let shared = read(&database, query, &options(SharedKeys::Always));
            let row_by_row = read(&database, query, &options(SharedKeys::Never));
            assert_eq!(shared, row_by_row, "{query}");
        }
    }
}

/// Sales of products that have a dozen names each. The rank of a product says how often it is sold: the k-th 1/k as often as the first,
/// or all alike.
fn sales(is_popular: bool) -> String {
    const SALES: usize = 20_000;
    const SOLD: usize = 3_000;
    let mut triples = Triples::default();
    for sale in 0..SALES {
        // Batches are to be like each other.
        let at = (sale * 7_919 % SALES) as f64 / SALES as f64;
        let rank = match is_popular {
            true => (SOLD as f64).powf(at),
            false => at * SOLD as f64,
        };
        let product = rank as usize * 1_237 % SOLD;
        triples.add(&format!("sale{sale}"), "of", &iri("product", product));
    }
    for product in 0..SOLD {
        for name in 0..12 {
            let text = format!("\"{name} of {product}\"");
            triples.add(&format!("product{product}"), "name", &text);
        }
    }
    triples.0
}

/// Popular products are met often in a batch of sales; of others the names, a dozen rows each, are joined with the sales.
#[test]
fn popular_keys_are_expected_to_repeat() {
    let ways = [
        (true, "StarJoin by subject ?p"),
        (false, "StarJoin by object"),
    ];
    for (is_popular, operator) in ways {
        let database = Database::in_memory();
        let report = database.load_text(&sales(is_popular), GraphFormat::NTriples);
        report.expect("the sales load");
        let query = format!("PREFIX : <{NS}> SELECT * {{ ?s :of ?p . ?p :name ?n }}");
        let prepared = database.prepare(&query, &QueryOptions::default());
        let report = prepared.expect("it plans").explain();
        let mut node = &report.root;
        while node.text.starts_with("Project") {
            node = node.below().next().expect("it projects something");
        }
        assert!(
            node.text.starts_with(operator),
            "{is_popular}: {}",
            node.text
        );
    }
}

#[test]
fn a_batch_that_is_cut_keeps_no_later_batch_from_sharing() {
    const BATCH: usize = 256;
    const PARTNERS: usize = 200;
    let mut text = String::new();
    let mut line = |name: &str, number: usize, predicate: &str, key: usize| {
        writeln!(
            text,
            "<{NS}{name}{number:05}> <{NS}{predicate}> <{NS}k{key}> ."
        )
        .expect("memory has room");
    };
    // A batch of keys that do not repeat, with too many solutions; fifteen batches are not tried then. In the others each key comes twice, but
    // not in a part of a batch.
    for row in 0..BATCH * 25 {
        let key = if row < BATCH { row } else { row % (BATCH / 2) };
        line("x", row, "of", key);
    }
    for number in 0..BATCH * PARTNERS {
        line("y", number, "like", number / PARTNERS);
    }
    let database = Database::in_memory();
    database
        .load_text(&text, GraphFormat::NTriples)
        .expect("the data loads");
    let mut options = QueryOptions::default();
    options.exec.threads = 1;
    options.exec.batch_rows = BATCH;
    options.force_join = Some(ForceJoin::Index);
    let query = format!("SELECT * {{ ?x <{NS}of> ?k . ?y <{NS}like> ?k }}");
    let prepared = database.prepare(&query, &options).expect("a query");
    let report = prepared.profile(&options).expect("it runs");
    let text = report.to_text();
    assert!(text.contains("StarJoin by object"), "{text}");
    let scanned = BATCH * 25;
    let one_by_one = BATCH * 16 * PARTNERS;
    let shared = 9 * BATCH / 2 * PARTNERS;
    let read = read_rows(&report.root);
    assert_eq!(read, (scanned + one_by_one + shared) as u64, "{text}");
}
