//! Changed rows and new subjects are read as columns: the same answers as one by one and as of a store that was loaded with
//! the same quads, no look-ups where columns do, and plans that know the links of added quads.
//!
//! What random changes of random data do is held by `random_updates` and `differential`, which read them in all of these ways.

mod support;

use basalt_engine::{Database, ExplainedNode, GraphFormat, QueryOptions, UpdateOptions};
use basalt_testkit::Answer;
use basalt_testkit::bag::{self, Numbers};
use std::collections::BTreeSet;
use support::{Configuration, ask, query_options};

const NS: &str = "http://example.org/";
const OFFERS: usize = 3000;
const PRODUCTS: usize = 60;
const VENDORS: usize = 12;

/// Queries of the shop; all but the last few need no look-up beside changes that are in home graphs.
const QUERIES: &[&str] = &[
    "SELECT (AVG(?d) AS ?n) { ?o :days ?d }",
    "SELECT (COUNT(*) AS ?n) (SUM(?d) AS ?m) { ?o :days ?d ; :price ?x }",
    "SELECT ?o ?x { ?o :type :Offer ; :price ?x FILTER(?x > 85) }",
    // No cell has so many days, and some segments none at all.
    "SELECT ?o ?d { ?o :days ?d FILTER(?d > 100) }",
    "SELECT ?o ?v { ?o :type :Offer ; :by ?v ; :days 7 }",
    "SELECT (COUNT(*) AS ?n) { ?o :of ?p ; :by ?v . ?v :in ?c }",
    "SELECT ?c (AVG(?d) AS ?n) { ?o :by ?v ; :days ?d . ?v :in ?c } GROUP BY ?c",
    "SELECT ?p ?name ?o { ?p :type :T1 ; :name ?name . ?o :of ?p ; :days ?d FILTER(?d < 3) }",
    "SELECT ?o ?note { ?o :by :v3 OPTIONAL { ?o :note ?note } }",
    "SELECT ?o ?flag { ?o :flag ?flag ; :price ?x }",
    "SELECT ?o ?x ?y { ?o :flag ?flag ; :price ?x OPTIONAL { ?o :note ?y } FILTER(?x != ?flag) }",
    "SELECT ?v ?w { ?o :by ?v , ?w FILTER(?v != ?w) }",
    "SELECT ?p (COUNT(?o) AS ?n) { ?o :of ?p } GROUP BY ?p",
    "SELECT (COUNT(DISTINCT ?p) AS ?n) { ?o :of ?p }",
    "SELECT (COUNT(DISTINCT ?o) AS ?n) { ?o :by ?p }",
    "SELECT (COUNT(DISTINCT ?o) AS ?n) { ?o ?p ?x }",
    "SELECT ?p { ?p :type ?t ; :name ?name FILTER NOT EXISTS { ?o :of ?p ; :days ?d FILTER(?d > 15) } }",
    "SELECT ?o ?p ?q { ?o :of ?p . ?q :like ?p ; :name ?name }",
    // Objects that nobody reads: of all rows, of some, with several values, with none.
    "SELECT (COUNT(*) AS ?n) { ?o :price ?x ; :note ?y ; :of ?p }",
    "SELECT ?o { ?o :flag ?x ; :price ?y OPTIONAL { ?o :by ?v } OPTIONAL { ?o :note ?z } }",
    "SELECT ?v { ?v :in ?c ; :name ?name . ?o :by ?v ; :days ?d ; :price ?x }",
    "SELECT ?v (COUNT(*) AS ?n) { ?v :in ?c . ?o :by ?v ; :note ?y } GROUP BY ?v",
    "SELECT ?p { ?p :name ?name FILTER EXISTS { ?o :of ?p ; :flag ?x ; :days ?d } }",
    "SELECT ?g { GRAPH ?g { ?o :days ?d } }",
    "SELECT ?o ?x { GRAPH ?g { ?o :days ?d ; :price ?x } }",
];

type Triples = BTreeSet<String>;

fn line(subject: &str, predicate: &str, object: &str) -> String {
    let object = match object.starts_with('"') {
        true => object.to_owned(),
        false => format!("<{NS}{object}>"),
    };
    format!("<{NS}{subject}> <{NS}{predicate}> {object} .")
}

fn number(n: usize) -> String {
    format!("\"{n}\"^^<http://www.w3.org/2001/XMLSchema#integer>")
}

fn offer(name: &str, number_of: usize, to: &mut Triples) {
    let o = number_of;
    to.insert(line(name, "type", "Offer"));
    to.insert(line(
        name,
        "of",
        &format!("p{}", (o * o + o / 5) % (PRODUCTS - 5)),
    ));
    to.insert(line(name, "by", &format!("v{}", o % VENDORS)));
    to.insert(line(name, "price", &number(o * 13 % 90)));
    to.insert(line(name, "days", &number(o % 20)));
    if o.is_multiple_of(4) {
        to.insert(line(name, "note", &format!("\"note {}\"", o % 30)));
    }
}

fn product(name: &str, number: usize, to: &mut Triples) {
    to.insert(line(name, "type", &format!("T{}", number % 3)));
    to.insert(line(name, "name", &format!("\"name {}\"", number % 25)));
    to.insert(line(name, "like", &format!("p{}", (number + 7) % PRODUCTS)));
}

fn shop() -> Triples {
    let mut all = Triples::new();
    for p in 0..PRODUCTS {
        product(&format!("p{p}"), p, &mut all);
    }
    for v in 0..VENDORS {
        all.insert(line(&format!("v{v}"), "in", &format!("C{}", v % 4)));
        all.insert(line(&format!("v{v}"), "name", &format!("\"vendor {v}\"")));
    }
    for o in 0..OFFERS {
        offer(&format!("o{o}"), o, &mut all);
    }
    all
}

/// Offers that go, that get another price, a second vendor, a predicate that no table has, far more days; new offers and products, of
/// which some have several values; products without a name.
fn changed_shop() -> Triples {
    let mut all = shop();
    for o in 0..OFFERS {
        let name = format!("o{o}");
        let subject = format!("<{NS}{name}> ");
        if o.is_multiple_of(9) {
            all.retain(|line| !line.starts_with(&subject));
        } else if o.is_multiple_of(7) {
            all.remove(&line(&name, "price", &number(o * 13 % 90)));
            all.insert(line(&name, "price", &number(o % 100)));
        } else if o.is_multiple_of(11) {
            all.insert(line(&name, "by", &format!("v{}", (o + 1) % VENDORS)));
        } else if o.is_multiple_of(13) {
            all.insert(line(&name, "flag", &number(o % 50)));
        } else if o.is_multiple_of(53) {
            all.remove(&line(&name, "days", &number(o % 20)));
            all.insert(line(&name, "days", &number(500 + o)));
        }
    }
    for n in 0..300 {
        let name = format!("new{n}");
        offer(&name, n * 17, &mut all);
        if n.is_multiple_of(5) {
            all.insert(line(&name, "of", &format!("q{}", n % 20)));
            all.insert(line(&name, "price", &number(200 + n)));
        }
        if n.is_multiple_of(6) {
            all.insert(line(&name, "flag", &number(n)));
        }
    }
    for q in 0..20 {
        product(&format!("q{q}"), q, &mut all);
        all.insert(line(
            &format!("q{q}"),
            "like",
            &format!("q{}", (q + 1) % 20),
        ));
    }
    for p in (0..PRODUCTS).step_by(4) {
        all.remove(&line(
            &format!("p{p}"),
            "name",
            &format!("\"name {}\"", p % 25),
        ));
    }
    all
}

fn loaded(triples: &Triples) -> Database {
    let text: Vec<&str> = triples.iter().map(String::as_str).collect();
    let database = Database::in_memory();
    let report = database.load_text(&text.join("\n"), GraphFormat::NTriples);
    report.expect("the shop loads");
    database
}

fn update(database: &Database, text: &str) {
    let updated = database.update(text, &UpdateOptions::default());
    updated.expect("the update is well formed");
}

/// Makes one of the other, in parts, with queries in between that make columns which later parts change.
fn turn_into(database: &Database, from: &Triples, to: &Triples, parts: usize) {
    let gone: Vec<&String> = from.difference(to).collect();
    let come: Vec<&String> = to.difference(from).collect();
    for part in 0..parts {
        for (what, lines) in [("DELETE", &gone), ("INSERT", &come)] {
            let some = lines.iter().skip(part).step_by(parts);
            let some: Vec<&str> = some.map(|line| line.as_str()).collect();
            update(database, &format!("{what} DATA {{ {} }}", some.join("\n")));
        }
        for query in QUERIES.iter().take(4) {
            asked(database, query, &QueryOptions::default());
        }
    }
}

fn asked(database: &Database, query: &str, options: &QueryOptions) -> Answer {
    let text = format!("PREFIX : <{NS}> {query}");
    let answer = ask(database, &text, options);
    answer
        .map_err(|error| format!("{error}: {query}"))
        .expect("the query runs")
}

fn same(expected: &Database, database: &Database, query: &str, options: &QueryOptions) {
    let one = asked(expected, query, options);
    same_rows(&one, &asked(database, query, options), (query, options));
}

fn same_rows(one: &Answer, other: &Answer, (query, options): (&str, &QueryOptions)) {
    if let Err(difference) = bag::compare(one, other, Numbers::ByValue) {
        assert_eq!(difference.to_string(), "", "{query} {options:?}");
    }
}

/// Options with which changes are read as columns always, if that is worth it, and never.
fn ways(batch_rows: usize, threads: usize) -> [QueryOptions; 3] {
    let mut options = query_options(&Configuration::default());
    options.exec.batch_rows = batch_rows;
    options.exec.threads = threads;
    options.exec.alone_for = std::time::Duration::ZERO;
    [1, 8, usize::MAX].map(|least| {
        let mut options = options.clone();
        options.exec.changed_columns_min = least;
        if least == 1 {
            options.exec.searched_rows_max = 0;
        }
        options
    })
}

fn one_by_one(node: &ExplainedNode) -> u64 {
    let own = node.actual.map_or(0, |actual| actual.read_one_by_one);
    own + node.below().map(one_by_one).sum::<u64>()
}

/// Subjects that a query looks up one by one.
fn looked_up(database: &Database, query: &str, options: &QueryOptions) -> u64 {
    let text = format!("PREFIX : <{NS}> {query}");
    let prepared = database.prepare(&text, options).expect("it plans");
    let report = prepared.profile(options).expect("it runs");
    one_by_one(&report.root)
}

#[test]
fn answers_are_those_of_a_store_that_was_loaded() {
    let (from, to) = (shop(), changed_shop());
    let expected = loaded(&to);
    let database = loaded(&from);
    turn_into(&database, &from, &to, 3);
    assert!(database.snapshot().has_delta());
    for (batch_rows, threads) in [(2048, 2), (7, 1)] {
        for options in ways(batch_rows, threads) {
            for query in QUERIES {
                same(&expected, &database, query, &options);
            }
        }
    }
    let checked = database.check(basalt_engine::CheckDepth::Deep);
    checked.expect("columns are what quads say");
}

#[test]
fn changes_that_come_to_nothing_leave_the_answers() {
    let (from, to) = (shop(), changed_shop());
    let database = loaded(&from);
    turn_into(&database, &from, &to, 2);
    turn_into(&database, &to, &from, 2);
    let expected = loaded(&from);
    for query in QUERIES {
        same(&expected, &database, query, &QueryOptions::default());
    }
    assert_eq!(database.snapshot().quad_count(), from.len() as u64);
}

#[test]
fn nothing_is_looked_up_where_columns_do() {
    let (from, to) = (shop(), changed_shop());
    let database = loaded(&from);
    turn_into(&database, &from, &to, 1);
    let [columns, _, singles] = ways(2048, 1);
    let mut looked_up_otherwise = 0;
    for query in QUERIES {
        assert_eq!(looked_up(&database, query, &columns), 0, "{query}");
        looked_up_otherwise += u64::from(looked_up(&database, query, &singles) > 0);
    }
    assert!(looked_up_otherwise > 10, "the changes are met");
}

fn read_rows(node: &ExplainedNode) -> u64 {
    let own = node.actual.map_or(0, |actual| actual.read_rows);
    own + node.below().map(read_rows).sum::<u64>()
}

/// Rows that a query reads.
fn read(database: &Database, query: &str, options: &QueryOptions) -> u64 {
    let text = format!("PREFIX : <{NS}> {query}");
    let prepared = database.prepare(&text, options).expect("it plans");
    read_rows(&prepared.profile(options).expect("it runs").root)
}

/// What changes make of the number of solutions is found once for each state.
#[test]
fn solutions_that_nobody_reads_are_counted() {
    let (from, to) = (shop(), changed_shop());
    let database = loaded(&from);
    let query = "SELECT ?c (COUNT(*) AS ?n) { ?v :in ?c . ?o :by ?v ; :days ?d } GROUP BY ?c";
    let [counted, _, _] = ways(2048, 1);
    let mut looked_for = counted.clone();
    looked_for.exec.counted_solutions = false;
    let few = 4 * VENDORS as u64;
    assert!(read(&database, query, &counted) < few);
    assert!(read(&database, query, &looked_for) > OFFERS as u64);
    turn_into(&database, &from, &to, 2);
    for number in 0..4 {
        let expected = asked(&database, query, &looked_for);
        // The first reads what has changed.
        let first = read(&database, query, &counted);
        assert!(first > few && first < OFFERS as u64, "{first}");
        assert!(read(&database, query, &counted) < few);
        let found = asked(&database, query, &counted);
        same_rows(&expected, &found, (query, &counted));
        // A row, a new subject, the whole of a row, a vendor.
        let subject = ["o1", "new1", "o2", "v1"][number];
        update(
            &database,
            &format!("DELETE WHERE {{ <{NS}{subject}> ?p ?x }}"),
        );
    }
    // Objects of a graph are not those of another.
    let more = format!("PREFIX : <{NS}> INSERT DATA {{ GRAPH :g {{ :o5 :by :v2 ; :days 3 }} }}");
    update(&database, &more);
    for union_default_graph in [false, true] {
        let with_graphs = |options: &QueryOptions| QueryOptions {
            union_default_graph,
            ..options.clone()
        };
        let expected = asked(&database, query, &with_graphs(&looked_for));
        let found = asked(&database, query, &with_graphs(&counted));
        same_rows(&expected, &found, (query, &with_graphs(&counted)));
    }
}

/// Stars of the same predicates have other solutions where one of these stands twice; whichever is asked first.
#[test]
fn stars_with_a_predicate_twice_are_not_counted_as_those_with_it_once() {
    let queries = [
        "SELECT (COUNT(*) AS ?n) { ?v :in ?c . ?o :by ?v ; :of ?p }",
        "SELECT (COUNT(*) AS ?n) { ?v :in ?c . ?o :by ?v ; :of ?p , ?q }",
    ];
    let (from, to) = (shop(), changed_shop());
    let expected = loaded(&to);
    for order in [[0, 1], [1, 0]] {
        let database = loaded(&from);
        turn_into(&database, &from, &to, 1);
        for number in order {
            for options in ways(2048, 1) {
                same(&expected, &database, queries[number], &options);
            }
        }
    }
}

/// Quads in other graphs than those of the rows, or of new subjects in several graphs, need look-ups; of the predicates alone
/// of which there are such quads.
#[test]
fn other_graphs_are_looked_up() {
    let (from, to) = (shop(), changed_shop());
    let mut options = query_options(&Configuration::default());
    options.union_default_graph = true;
    let database = loaded(&from);
    turn_into(&database, &from, &to, 1);
    let graph = "GRAPH <http://example.org/g>";
    let more = format!(
        "PREFIX : <{NS}> INSERT DATA {{ {graph} {{ :o1 :days 77 . :o1 :days 1 . :new3 :days 78 . :o2 :note \"there\" }} }}"
    );
    update(&database, &more);
    let expected = loaded(&to);
    update(&expected, &more);
    expected.merge_now().expect("a merge succeeds");
    for query in QUERIES {
        for union_default_graph in [false, true] {
            options.union_default_graph = union_default_graph;
            same(&expected, &database, query, &options);
        }
    }
    let plain = &ways(2048, 1)[0];
    assert!(looked_up(&database, "SELECT * { ?o :days ?d }", plain) > 0);
    assert_eq!(looked_up(&database, "SELECT * { ?o :price ?d }", plain), 0);
}

/// Subjects that the version knows as objects only have no place in columns.
#[test]
fn old_subjects_outside_tables_are_looked_up() {
    let database = loaded(&shop());
    let more = format!(
        "PREFIX : <{NS}> INSERT DATA {{ :C1 :name \"a country\" ; :of :p1 . :C9 :name \"new\" }}"
    );
    update(&database, &more);
    let mut to = shop();
    to.insert(line("C1", "name", "\"a country\""));
    to.insert(line("C1", "of", "p1"));
    to.insert(line("C9", "name", "\"new\""));
    let expected = loaded(&to);
    for options in ways(2048, 1) {
        for query in [
            "SELECT * { ?s :name ?n }",
            "SELECT * { ?s :name ?n ; :of ?p }",
        ] {
            same(&expected, &database, query, &options);
        }
        assert!(looked_up(&database, "SELECT * { ?s :name ?n }", &options) > 0);
    }
}

/// The tables of a star that an added link leads to are still told, and new ones are among them.
#[test]
fn links_of_added_quads_choose_tables() {
    /// The tables of the star of `?v`.
    fn tables(node: &ExplainedNode) -> Option<Vec<String>> {
        let own = node.tables.clone().filter(|_| node.text.contains("?v {"));
        own.or_else(|| node.below().find_map(tables))
    }
    let database = loaded(&shop());
    let query = format!("PREFIX : <{NS}> SELECT ?o ?n {{ ?o :by ?v . ?v :name ?n }}");
    let options = QueryOptions::default();
    let shown = || {
        let prepared = database.prepare(&query, &options).expect("it plans");
        let tables = tables(&prepared.explain().root);
        tables.expect("a star of its own").len()
    };
    assert_eq!(shown(), 1, "vendors only, not products");
    update(
        &database,
        &format!("PREFIX : <{NS}> INSERT DATA {{ :o5 :by :v1 }}"),
    );
    assert_eq!(shown(), 1, "another vendor");
    update(
        &database,
        &format!("PREFIX : <{NS}> INSERT DATA {{ :o6 :by :p1 }}"),
    );
    assert_eq!(shown(), 2, "a product sells");
    update(
        &database,
        &format!("PREFIX : <{NS}> DELETE DATA {{ :o6 :by :p1 }}"),
    );
    assert_eq!(shown(), 1, "and does so no more");
}

/// Groups with their numbers of members.
fn groups(sizes: &[(String, usize)]) -> Triples {
    let mut all = Triples::new();
    for (name, size) in sizes {
        all.insert(line(name, "kind", &format!("K{}", name.len() % 3)));
        all.insert(line(name, "label", &format!("\"{name}\"")));
        all.extend((0..*size).map(|m| line(name, "member", &format!("m{m}"))));
    }
    for n in 0..60 {
        let group = &sizes[n % sizes.len()].0;
        all.insert(line(&format!("x{n}"), "in", group));
    }
    all
}

/// Subjects of very many values are looked up, and they alone: whether these are in cells or new, and also where they are fewer by now.
#[test]
fn large_subjects_are_looked_up() {
    const LARGE: usize = 5000;
    let size = |n: usize| match n {
        0 | 1 => LARGE,
        2 => 4000,
        _ => 2 + n % 3,
    };
    let mut sizes: Vec<_> = (0..40).map(|n| (format!("g{n}"), size(n))).collect();
    let from = groups(&sizes);
    sizes[0].1 = LARGE + 1;
    sizes[1].1 = 3;
    sizes[2].1 = LARGE;
    for (_, size) in &mut sizes[3..20] {
        *size += 1;
    }
    sizes.extend((40..50).map(|n| (format!("g{n}"), if n == 41 { LARGE } else { 4 })));
    let to = groups(&sizes);
    let database = loaded(&from);
    turn_into(&database, &from, &to, 2);
    let expected = loaded(&to);
    let queries = [
        ("SELECT ?g ?m { ?g :kind ?k ; :member ?m }", 4),
        (
            "SELECT ?g ?l ?m { ?g :label ?l OPTIONAL { ?g :member ?m } }",
            4,
        ),
        // The cells of one that has lost it still have it.
        ("SELECT ?g ?k { ?g :kind ?k ; :member :m4998 }", 4),
        (
            "SELECT (COUNT(*) AS ?n) { ?x :in ?g . ?g :member ?m ; :kind ?k }",
            0,
        ),
        ("SELECT ?x ?k { ?x :in ?g . ?g :member :m3 ; :kind ?k }", 0),
        ("SELECT (COUNT(*) AS ?n) { ?g :kind ?k ; :label ?l }", 0),
        // Filters come before the product of all values with all, which is 25 million of each large one.
        (
            "SELECT ?g ?m ?o { ?g :member ?m , ?o FILTER(?m = :m17) FILTER(STRENDS(STR(?o), \"99\")) }",
            4,
        ),
        ("SELECT ?g ?o { ?g :member :m4 , ?o FILTER(?o != :m5) }", 4),
        (
            "SELECT ?g ?m { ?g :kind ?k OPTIONAL { ?g :member ?m } FILTER(!BOUND(?m) || ?m = :m6) }",
            0,
        ),
    ];
    for (number, options) in ways(2048, 1).iter().enumerate() {
        for (query, looked_up_max) in queries {
            same(&expected, &database, query, options);
            if number == 0 && looked_up_max > 0 {
                let count = looked_up(&database, query, options);
                assert!((1..=looked_up_max).contains(&count), "{query}: {count}");
            }
        }
    }
    let checked = database.check(basalt_engine::CheckDepth::Deep);
    checked.expect("columns are what quads say");
}
