//! SERVICE against its oracle: `SERVICE <iri> { P }` must be `GRAPH <iri> { P }` on a database that has
//! the endpoint's data in a graph of that name. Under the matrix of layouts and joins.

mod services;
mod support;

use basalt_engine::{Database, QueryOptions};
use basalt_testkit::Answer as OracleAnswer;
use basalt_testkit::bag::{self, Numbers};
use services::FakeServices;
use std::fmt::Write;
use std::sync::Arc;
use support::{ask, load_nquads, matrix};

const A: &str = "http://a.example/sparql";
const B: &str = "http://b.example/sparql";
const PREFIX: &str = "PREFIX : <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ";

/// Data as N-Triples: what is local, what `A` has and what `B` has.
fn data() -> [String; 3] {
    let [mut local, mut a, mut b] = [String::new(), String::new(), String::new()];
    let xsd = "http://www.w3.org/2001/XMLSchema#";
    for n in 0..40 {
        let s = format!("<http://e/p{n}>");
        let next = (n * 7 + 3) % 40;
        let _ = writeln!(local, "{s} <http://e/knows> <http://e/p{next}> .");
        let _ = writeln!(
            local,
            "{s} <http://e/level> \"{}\"^^<{xsd}integer> .",
            n % 5
        );
        if n % 3 == 0 {
            let _ = writeln!(local, "{s} <http://e/nick> \"n{}\" .", n % 6);
        }
        if n % 2 == 0 {
            let _ = writeln!(a, "{s} <http://e/age> \"{}\"^^<{xsd}integer> .", 20 + n % 9);
            let _ = writeln!(a, "{s} <http://e/label> \"l\\\"{n}\\n\\\\\"@en-GB .");
        }
        if n % 5 == 0 {
            let _ = writeln!(a, "{s} <http://e/label> \"zwei {n} \u{1F30B}\"@de .");
            let _ = writeln!(a, "{s} <http://e/nick> \"n{}\" .", n % 4);
        }
        if n % 4 == 1 {
            let _ = writeln!(b, "{s} <http://e/age> \"{}\"^^<{xsd}integer> .", 30 + n);
            let _ = writeln!(
                b,
                "{s} <http://e/limit> \"{}\"^^<{xsd}integer> .",
                40 + n % 13
            );
        }
    }
    for n in 0..5 {
        let _ = writeln!(b, "<http://e/only{n}> <http://e/near> <http://e/p{n}> .");
        let _ = writeln!(local, "_:b{n} <http://e/knows> <http://e/p{n}> .");
        let _ = writeln!(local, "<http://e/p{n}> <http://e/at> <{}> .", [A, B][n % 2]);
    }
    [local, a, b]
}

/// The local data with the endpoints' data in graphs of their names.
fn oracle(data: &[String; 3]) -> Database {
    let mut text = data[0].clone();
    for (graph, triples) in [(A, &data[1]), (B, &data[2])] {
        for line in triples.lines() {
            let triple = line.strip_suffix('.').expect("a line ends with a dot");
            let _ = writeln!(text, "{triple} <{graph}> .");
        }
    }
    let database = Database::in_memory();
    database
        .load_text(&text, basalt_engine::GraphFormat::NQuads)
        .expect("the data loads");
    database
}

/// Queries, with `@A` and `@B` for SERVICE or GRAPH with its name, `@` before a variable as well.
const QUERIES: &[&str] = &[
    "SELECT * { ?s :knows ?o . @A { ?s :label ?l } }",
    "SELECT * { ?s :knows ?o . @A { ?o :age ?a } FILTER(?a > 24) }",
    "SELECT * { ?s :knows ?o OPTIONAL { @A { ?o :label ?l } } }",
    "SELECT * { ?s :level ?v OPTIONAL { @A { ?s :age ?a FILTER(?a > 22) } FILTER(?a - 22 < ?v) } }",
    "SELECT * { ?s :level 1 { @A { ?s :age ?a } } UNION { @B { ?s :age ?a } } }",
    "SELECT * { { @A { ?s :age ?a } } UNION { @B { ?s :limit ?a } } ?s :level ?v }",
    "SELECT * { ?s :level ?v MINUS { @A { ?s :age ?a } } }",
    "SELECT * { ?s :level ?v MINUS { @A { ?s :age ?a FILTER(?a > 23) } } }",
    "SELECT * { ?s :level ?v FILTER EXISTS { @A { ?s :age ?a FILTER(?a > 21) } } }",
    "SELECT * { ?s :level ?v FILTER NOT EXISTS { @B { ?s :age ?a } FILTER(?a - 30 > ?v) } }",
    "SELECT * { ?s :level ?v FILTER EXISTS { ?s :knows ?o . @A { ?o :age ?a } } }",
    "SELECT * { ?s :level ?v @A { SELECT ?s ?a { ?s :age ?a } ORDER BY ?a ?s LIMIT 5 } }",
    "SELECT * { ?s :level ?v @A { SELECT ?s (COUNT(?l) AS ?n) { ?s :label ?l } GROUP BY ?s HAVING (COUNT(?l) > 1) } }",
    "SELECT * { ?s :level ?v @A { SELECT (COUNT(*) AS ?n) { ?s :label ?l } } }",
    "SELECT * { ?s :level ?v . @B { { ?s :age ?a FILTER(?a > ?lim) } ?s :limit ?lim } }",
    "SELECT * { ?s :level ?v . @B { { ?s :age ?a FILTER(?a > 40) } ?s :limit ?lim } }",
    "SELECT * { @A { ?s :age ?a } @B { ?x :near ?s } }",
    "SELECT * { @A { ?s :age ?a } @B { ?t :age ?b } FILTER(?a + 17 = ?b) }",
    "SELECT * { @A { ?s :age ?a ; :label ?l } ?s :knows ?o . @B { ?o :age ?b } }",
    "SELECT * { ?s :nick ?n @A { ?t :nick ?n OPTIONAL { ?t :age ?a } } }",
    "SELECT * { ?s :level ?v OPTIONAL { ?s :nick ?n } @A { ?t :nick ?n } }",
    "SELECT * { ?s :level ?v @A { ?x :age ?a OPTIONAL { ?s :nick ?n FILTER(?s = ?x) } } }",
    "SELECT * { VALUES ?e { <http://a.example/sparql> <http://b.example/sparql> } @?e { ?s :age ?a } }",
    "SELECT * { ?s :at ?e ; :level ?v . @?e { ?s :age ?a } }",
    "SELECT * { ?s :at ?e OPTIONAL { @?e { ?s :age ?a } } }",
    "SELECT * { ?s :at ?e FILTER NOT EXISTS { @?e { ?s :age ?a } } }",
    "SELECT DISTINCT ?v (COUNT(*) AS ?n) { ?s :level ?v @A { ?s :label ?l } } GROUP BY ?v ORDER BY ?v",
    "SELECT * { { SELECT ?s (COUNT(*) AS ?n) { ?s :knows ?o @A { ?o :label ?l } } GROUP BY ?s } ?s :level ?v }",
    "SELECT * { ?s :level ?v BIND(?v + 20 AS ?a) @A { ?s :age ?a } }",
    "SELECT * { VALUES (?s ?a) { (:p0 20) (:p2 UNDEF) (UNDEF 24) (:nobody 1) } @A { ?s :age ?a } }",
    "SELECT ?v { ?s :level ?v @A { :p0 :age 20 } }",
    "SELECT ?v { ?s :level ?v @A { :p0 :age 21 } }",
    "ASK { ?s :level 4 @B { ?s :age ?a } }",
    "ASK { ?s :level 4 @B { ?s :age 1 } }",
    "CONSTRUCT { ?s :both ?l } { ?s :level ?v @A { ?s :label ?l } }",
    "SELECT * { ?s :knows ?o . { @A { ?s :age ?a } } { ?o :level ?v } FILTER(?a - 20 > ?v) }",
    "SELECT * { ?s :knows ?o . @A { ?s :age|:nick ?x . ?s ^:none*/:label ?l } }",
    "SELECT * { :p0 :knows+ ?s . @A { ?s :age ?a } }",
    "SELECT ?s { ?s :level ?v @A { ?s :age ?a ; :label ?l } }",
    "SELECT * { ?s :level ?v . FILTER(?v = 1) OPTIONAL { ?s :knows ?o . @A { ?o :age ?a } } }",
    "SELECT * { ?s :level ?v FILTER(?v IN (1, 2)) @A { ?s :age ?a } @B { ?y :near ?z } }",
];

fn text_of(query: &str, word: &str) -> String {
    let query = query
        .replace("@A", &format!("{word} <{A}>"))
        .replace("@B", &format!("{word} <{B}>"))
        .replace("@?", &format!("{word} ?"));
    format!("{PREFIX}{query}")
}

#[test]
fn service_is_graph_elsewhere() {
    let data = data();
    let oracle = oracle(&data);
    let services = FakeServices::new(&[(A, &data[1]), (B, &data[2])]);
    let expected: Vec<OracleAnswer> = QUERIES
        .iter()
        .map(|query| {
            let text = text_of(query, "GRAPH");
            ask(&oracle, &text, &QueryOptions::default()).expect("the oracle answers")
        })
        .collect();
    let mut asked = 0;
    for configuration in matrix() {
        let loaded = load_nquads(data[0].clone(), &configuration);
        let options = services.with(support::query_options(&configuration));
        for (query, expected) in QUERIES.iter().zip(&expected) {
            let text = text_of(query, "SERVICE");
            let actual = ask(&loaded.database, &text, &options)
                .unwrap_or_else(|error| unreachable!("{text}: {error}\n  {configuration:?}"));
            let same = bag::compare(expected, &actual, Numbers::Exact);
            assert!(same.is_ok(), "{text}\n  {configuration:?}\n{same:?}");
        }
        asked += services.take_log().len();
    }
    assert!(asked > QUERIES.len() * 20, "{asked} requests");
}

fn rows(database: &Database, text: &str, options: &QueryOptions) -> Result<usize, String> {
    match ask(database, &format!("{PREFIX}{text}"), options)? {
        OracleAnswer::Solutions { rows, .. } => Ok(rows.len()),
        _ => Err("not solutions".to_owned()),
    }
}

fn many(count: usize) -> (Database, Arc<FakeServices>) {
    let mut local = String::new();
    let mut remote = String::new();
    for n in 0..count {
        let _ = writeln!(
            local,
            "<http://e/s{n}> <http://e/p> <http://e/o{}> .",
            n / 2
        );
        let _ = writeln!(remote, "<http://e/o{n}> <http://e/q> \"{n}\" .");
    }
    let database = Database::in_memory();
    database
        .load_text(&local, basalt_engine::GraphFormat::NTriples)
        .expect("the data loads");
    (database, FakeServices::new(&[(A, &remote)]))
}

#[test]
fn bindings_travel_in_batches_and_once_each() {
    let (database, services) = many(2400);
    let options = services.with(QueryOptions {
        force_join: Some(basalt_engine::ForceJoin::Index),
        ..QueryOptions::default()
    });
    let query = format!("SELECT * {{ ?s :p ?o SERVICE <{A}> {{ ?o :q ?v }} }}");
    assert_eq!(rows(&database, &query, &options), Ok(2400));
    let log = services.take_log();
    assert_eq!(
        log.len(),
        3,
        "1200 distinct values, at most 512 in a request"
    );
    let sent: usize = log
        .iter()
        .map(|(_, text)| text.matches("( <http://e/o").count())
        .sum();
    assert_eq!(sent, 1200);
}

#[test]
fn few_rows_send_their_bindings_and_many_fetch_the_whole() {
    let (database, services) = many(6000);
    let options = services.with(QueryOptions::default());
    let one = format!("SELECT * {{ :s8 :p ?o SERVICE <{A}> {{ ?o :q ?v }} }}");
    assert_eq!(rows(&database, &one, &options), Ok(1));
    let log = services.take_log();
    assert!(
        log.len() == 1 && log[0].1.contains("VALUES ( ?o ) { ( <http://e/o4> ) }"),
        "{log:?}"
    );
    let limited =
        format!("SELECT * {{ ?s :p ?o SERVICE <{A}> {{ SELECT ?o ?v {{ ?o :q ?v }} LIMIT 3 }} }}");
    assert!(rows(&database, &limited, &options).is_ok());
    let log = services.take_log();
    assert!(log.len() == 1 && !log[0].1.contains("VALUES"), "{log:?}");
}

#[test]
fn only_wanted_variables_are_asked_for() {
    let (database, services) = many(10);
    let options = services.with(QueryOptions::default());
    let query = format!("SELECT ?s {{ ?s :p ?o SERVICE <{A}> {{ ?o :q ?v ; :q ?w }} }}");
    assert_eq!(rows(&database, &query, &options), Ok(10));
    let log = services.take_log();
    assert!(log[0].1.starts_with("SELECT ?o WHERE"), "{log:?}");
}

#[test]
fn no_rows_ask_nobody() {
    let (database, services) = many(10);
    let options = services.with(QueryOptions::default());
    for query in [
        format!("SELECT * {{ ?s :none ?o SERVICE <{A}> {{ ?o :q ?v }} }}"),
        format!("SELECT * {{ ?s :p ?o FILTER(?o = :nobody) SERVICE <{A}> {{ ?o :q ?v }} }}"),
    ] {
        assert_eq!(rows(&database, &query, &options), Ok(0), "{query}");
    }
    assert_eq!(services.take_log(), Vec::new());
}

#[test]
fn blank_nodes_never_meet() {
    let local = "_:x <http://e/p> 1 . <http://e/s> <http://e/p> 2 .";
    let remote = "_:x <http://e/q> 1 . <http://e/s> <http://e/q> 2 . _:x <http://e/r> 3 .";
    let database = Database::in_memory();
    database
        .load_text(local, basalt_engine::GraphFormat::Turtle)
        .expect("the data loads");
    let services = FakeServices::new(&[(A, remote), (B, remote)]);
    for force_join in [None, Some(basalt_engine::ForceJoin::Hash)] {
        let options = services.with(QueryOptions {
            force_join,
            ..QueryOptions::default()
        });
        for (query, expected) in [
            (
                format!("SELECT * {{ ?s :p ?v SERVICE <{A}> {{ ?s :q ?w }} }}"),
                1,
            ),
            (
                format!("SELECT * {{ ?s :p ?v OPTIONAL {{ SERVICE <{A}> {{ ?s :q ?w }} }} }}"),
                2,
            ),
            (
                format!("SELECT * {{ SERVICE <{A}> {{ ?s :q ?v }} SERVICE <{B}> {{ ?s :q ?w }} }}"),
                1,
            ),
            // One answer: the blank node is the same in it.
            (
                format!("SELECT * {{ SERVICE <{A}> {{ ?s :q ?v . ?s :r ?w }} }}"),
                1,
            ),
            (
                format!("SELECT DISTINCT ?s {{ SERVICE <{A}> {{ ?s ?p ?v }} }}"),
                2,
            ),
        ] {
            assert_eq!(rows(&database, &query, &options), Ok(expected), "{query}");
        }
        let log = services.take_log();
        assert!(log.iter().all(|(_, text)| !text.contains("_:")), "{log:?}");
    }
}

#[test]
fn silent_failures_are_one_empty_solution() {
    let (database, services) = many(4);
    let nobody = "http://nobody.example/";
    for force_join in [None, Some(basalt_engine::ForceJoin::Hash)] {
        let options = services.with(QueryOptions {
            force_join,
            ..QueryOptions::default()
        });
        for (query, expected) in [
            (
                format!("SELECT * {{ SERVICE SILENT <{nobody}> {{ ?s ?p ?o }} }}"),
                1,
            ),
            (
                format!("SELECT * {{ ?s :p ?o SERVICE SILENT <{nobody}> {{ ?o :q ?v }} }}"),
                4,
            ),
            (
                format!(
                    "SELECT * {{ ?s :p ?o MINUS {{ SERVICE SILENT <{nobody}> {{ ?s :p ?o }} }} }}"
                ),
                4,
            ),
            (
                format!(
                    "SELECT * {{ ?s :p ?o FILTER EXISTS {{ SERVICE SILENT <{nobody}> {{ ?s :x ?o }} }} }}"
                ),
                4,
            ),
            (
                format!(
                    "SELECT * {{ ?s :p ?o OPTIONAL {{ SERVICE SILENT <{nobody}> {{ ?o :q ?v }} }} FILTER(!BOUND(?v)) }}"
                ),
                4,
            ),
            (
                "SELECT * { ?s :p ?o SERVICE SILENT ?nowhere { ?o :q ?v } }".to_owned(),
                4,
            ),
            (
                "SELECT * { BIND(1 AS ?e) ?s :p ?o SERVICE SILENT ?e { ?o :q ?v } }".to_owned(),
                4,
            ),
            (
                format!(
                    "SELECT * {{ VALUES ?e {{ <{A}> <{nobody}> }} SERVICE SILENT ?e {{ :o1 :q ?v }} }}"
                ),
                2,
            ),
        ] {
            assert_eq!(rows(&database, &query, &options), Ok(expected), "{query}");
        }
    }
}

#[test]
fn errors_name_the_endpoint_or_its_absence() {
    let (database, services) = many(4);
    let options = services.with(QueryOptions::default());
    for (query, what) in [
        (
            "SELECT * { SERVICE <http://nobody.example/> { ?s ?p ?o } }",
            "<http://nobody.example/>",
        ),
        (
            "SELECT * { ?s :p ?o SERVICE ?e { ?o :q ?v } }",
            "nothing binds",
        ),
        (
            "SELECT * { ?s :p ?e SERVICE ?e { ?o :q ?v } }",
            "<http://e/o0> failed",
        ),
        (
            "SELECT * { VALUES ?e { 1 } SERVICE ?e { ?o :q ?v } }",
            "is not an IRI",
        ),
    ] {
        let error = rows(&database, query, &options).expect_err("it fails");
        assert!(error.contains(what), "{query}: {error}");
    }
    let refused = rows(
        &database,
        "SELECT * { SERVICE SILENT <http://a.example/sparql> { ?s ?p ?o } }",
        &QueryOptions::default(),
    );
    let error = refused.expect_err("it is refused, also with SILENT");
    assert!(error.contains("services are switched off"), "{error}");
}

#[test]
fn plans_say_what_is_sent() {
    let (database, services) = many(2400);
    let options = services.with(QueryOptions::default());
    let explain = |query: &str| {
        let text = format!("{PREFIX}{query}");
        let prepared = database.prepare(&text, &options).expect("it has a plan");
        prepared.explain().to_text()
    };
    let bound = explain(&format!(
        "SELECT * {{ :s8 :p ?o SERVICE <{A}> {{ ?o :q ?v }} }}"
    ));
    assert!(
        bound.contains(&format!("Service <{A}> {{ ?o <http://e/q> ?v . }} send ?o")),
        "{bound}"
    );
    let whole = explain(&format!(
        "SELECT * {{ ?s :p ?o SERVICE SILENT <{A}> {{ ?x :q 1 }} }}"
    ));
    assert!(
        whole.contains(&format!("silent <{A}>")) && whole.contains("whole"),
        "{whole}"
    );
}
