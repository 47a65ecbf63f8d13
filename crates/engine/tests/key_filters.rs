//! Key filters turn rows of scans away that a hash join would drop, and never others: the same answers as without, in every layout,
//! on one thread and several, over changes too.
//!
//! The data are a shop with some thousand offers. The oracle is the same query without the rule; random queries against the naive
//! oracle run with key filters in the configurations of `support` that say so.

mod estimate_errors;
mod support;

use basalt_engine::{Database, ExplainedNode, ForceJoin, GraphFormat, Layout, QueryOptions};
use basalt_testkit::bag::{self, Numbers};
use estimate_errors::{bsbm, bsbm_queries, walked_queries};
use std::fmt::Write as _;
use std::time::Duration;
use support::{Configuration, LAYOUTS, ask, load_nquads, query_options, same_answers};

const NS: &str = "http://example.org/";

/// Queries, and whether a scan is reduced where joins are hash joins.
const QUERIES: &[(&str, bool)] = &[
    (
        "SELECT ?o ?x { ?o :of ?p ; :price ?x . ?p :type :T1 }",
        true,
    ),
    (
        "SELECT ?o ?x ?s { ?o :price ?x ; :days ?d . ?r :about ?o ; :stars ?s }",
        true,
    ),
    // Values are keys as subjects are, and so are values of a column with several.
    (
        "SELECT ?o ?r { ?o :price ?x ; :of ?p . ?r :stars ?x ; :about ?q }",
        true,
    ),
    (
        "SELECT ?o ?t { ?o :tag ?t ; :price ?x . ?r :tag ?t ; :stars ?s }",
        true,
    ),
    (
        "SELECT ?o ?x { ?o :of ?p ; :by ?v ; :price ?x . ?p :type :T1 . ?v :in :C2 }",
        true,
    ),
    (
        "SELECT ?o ?y { { ?o :of ?p ; :price ?x BIND(?x * 2 AS ?y) FILTER(?y > 30) } ?p :type :T1 }",
        true,
    ),
    (
        "SELECT ?p ?n { { SELECT ?p (SUM(?x) AS ?n) { ?o :of ?p ; :price ?x } GROUP BY ?p } ?p :type :T1 }",
        true,
    ),
    // Aggregated before the join: both sides by the slot that they share, or the pairs alone by another key.
    (
        "SELECT ?p ?n { { SELECT ?p (AVG(?x) AS ?n) { ?p :name ?l . ?o :of ?p ; :price ?x } GROUP BY ?p } ?p :type :T1 }",
        true,
    ),
    (
        "SELECT ?c ?n ?q { { SELECT ?c (AVG(?x) AS ?n) { ?v :in ?c . ?o :by ?v ; :price ?x } GROUP BY ?c } ?q :in ?c ; :name \"vendor 1\" }",
        true,
    ),
    (
        "SELECT ?p ?x { { SELECT DISTINCT ?p ?x { ?o :of ?p ; :price ?x } } ?p :type :T1 }",
        true,
    ),
    (
        "SELECT ?o { ?o :of ?p ; :price ?x FILTER EXISTS { ?p :type :T1 ; :name ?n } }",
        true,
    ),
    (
        "SELECT ?o ?x { { ?o :of ?p ; :price ?x MINUS { ?o :days 3 } } ?p :type :T1 }",
        true,
    ),
    (
        "SELECT ?o ?x ?f { { ?o :of ?p ; :price ?x OPTIONAL { ?o :flag ?f } } ?p :type :T1 }",
        true,
    ),
    // No review has so many stars, and no offer is wanted.
    (
        "SELECT ?o ?x { ?o :price ?x ; :days ?d . ?r :about ?o ; :stars ?s FILTER(?s > 100) }",
        true,
    ),
    (
        "SELECT ?o ?x { { SELECT ?o ?p ?x { ?o :of ?p ; :price ?x } ORDER BY ?x ?o LIMIT 900 } ?p :type :T1 }",
        false,
    ),
    (
        "SELECT ?o ?x { { SELECT ?o ?p ?x { ?o :of ?p ; :price ?x } ORDER BY ?o OFFSET 100 } ?p :type :T1 }",
        false,
    ),
    (
        "SELECT ?p ?o ?x { ?p :type :T1 OPTIONAL { ?o :of ?p ; :price ?x } }",
        false,
    ),
    (
        "SELECT ?o ?p { ?o :of ?p ; :price ?x FILTER NOT EXISTS { ?p :type :T1 } }",
        false,
    ),
    (
        "SELECT ?o ?p { ?o :of ?p ; :price ?x MINUS { ?p :type :T1 } }",
        false,
    ),
    (
        "SELECT ?o ?s { { ?o :price ?x OPTIONAL { ?o :flag ?s } } ?r :stars ?s ; :about ?q }",
        false,
    ),
    (
        "SELECT ?o ?r { { ?o :of ?p ; :price ?x BIND(RAND() >= 0 AS ?r) } ?p :type :T1 }",
        false,
    ),
    (
        "SELECT ?p { ?p :type :T1 FILTER EXISTS { ?o :of ?p ; :by ?v . ?v :in ?c FILTER(?c != :C1 || ?p = :p1) } }",
        true,
    ),
];

fn shop(offers: usize) -> String {
    let mut text = String::new();
    let mut quad = |s: String, p: &str, o: String| {
        let o = match o.starts_with('"') {
            true => o,
            false => format!("<{NS}{o}>"),
        };
        writeln!(text, "<{NS}{s}> <{NS}{p}> {o} .").expect("text takes all");
    };
    let number = |n: usize| format!("\"{n}\"^^<http://www.w3.org/2001/XMLSchema#integer>");
    for p in 0..60 {
        quad(format!("p{p}"), "type", format!("T{}", p % 12));
        quad(format!("p{p}"), "name", format!("\"name {}\"", p % 25));
    }
    for v in 0..12 {
        quad(format!("v{v}"), "in", format!("C{}", v % 4));
        quad(format!("v{v}"), "name", format!("\"vendor {v}\""));
    }
    for o in 0..offers {
        let name = || format!("o{o:06}");
        quad(name(), "of", format!("p{}", (o * o + o / 5) % 55));
        quad(name(), "by", format!("v{}", o % 12));
        quad(name(), "price", number(o * 13 % 90));
        quad(name(), "days", number(o % 20));
        for tag in 0..o % 3 {
            quad(name(), "tag", format!("\"tag {}\"", (o + tag * 7) % 40));
        }
        if o % 9 == 0 {
            quad(name(), "flag", number(o % 7));
        }
    }
    for r in 0..150 {
        let name = || format!("r{r}");
        quad(name(), "about", format!("o{:06}", offers - 1 - r * 2));
        quad(name(), "stars", number(r % 5 + 1));
        quad(name(), "tag", format!("\"tag {}\"", r % 4));
    }
    text
}

fn configurations() -> Vec<Configuration> {
    let both = LAYOUTS.into_iter().enumerate();
    both.flat_map(|(idx, layout)| {
        [false, true].map(|is_changed| Configuration {
            layout,
            threads: 1 + (idx + usize::from(is_changed)) % 2,
            batch_rows: [2048, 7, 64][idx % 3],
            force_join: Some(ForceJoin::Hash),
            reduce_always: true,
            is_changed,
            ..Configuration::default()
        })
    })
    .collect()
}

fn sum(node: &ExplainedNode, of: &dyn Fn(&ExplainedNode) -> u64) -> u64 {
    of(node) + node.below().map(|below| sum(below, of)).sum::<u64>()
}

/// Rows that key filters turned away, and rows read.
fn measured(database: &Database, text: &str, options: &QueryOptions) -> (u64, u64) {
    let prepared = database.prepare(text, options).expect("it plans");
    let root = prepared.profile(options).expect("it runs").root;
    let turned_away = |node: &ExplainedNode| node.actual.map_or(0, |actual| actual.turned_away);
    (sum(&root, &turned_away), root.total_read_rows())
}

fn same(database: &Database, text: &str, options: &QueryOptions, what: &str) {
    let answer = ask(database, text, options).expect("it runs");
    let mut without = options.clone();
    without.disabled_rules.push("reduce_scans".to_owned());
    let expected = ask(database, text, &without).expect("it runs");
    let plan = database.prepare(text, options).expect("it plans").explain();
    let what = format!("{what}\n{text}\n{}", plan.to_text());
    same_answers(&expected, &answer, &what);
}

#[test]
fn answers_are_the_same_without() {
    for configuration in configurations() {
        let loaded = load_nquads(shop(900), &configuration);
        let options = query_options(&configuration);
        for (query, is_reduced) in QUERIES {
            let text = format!("PREFIX : <{NS}> {query}");
            let plan = loaded.database.prepare(&text, &options).expect("it plans");
            let plan = plan.explain().to_text();
            if configuration.layout == Layout::Discover && !configuration.is_changed {
                assert_eq!(plan.contains("reduced by"), *is_reduced, "{text}\n{plan}");
            }
            same(
                &loaded.database,
                &text,
                &options,
                &format!("{configuration:?}"),
            );
        }
    }
}

/// Random queries along the data, and those of the benchmark, with key filters wherever they are sound.
#[test]
fn generated_queries_have_the_same_answers_without() {
    let database = bsbm(60);
    let mut queries = bsbm_queries(60, 1);
    queries.extend(walked_queries(&database, 0..60));
    let mut reduced = 0;
    for text in &queries {
        for force_join in [None, Some(ForceJoin::Hash)] {
            let mut options = QueryOptions {
                force_join,
                reduce_always: true,
                ..QueryOptions::default()
            };
            options.exec.timeout = Some(Duration::from_secs(5));
            let prepared = database.prepare(text, &options).expect("it plans");
            let has_filter = prepared.explain().to_text().contains("reduced by");
            // What takes too long without any filter is no test of them.
            if has_filter && ask(&database, text, &options).is_ok() {
                reduced += 1;
                options.exec.timeout = None;
                same(&database, text, &options, "generated");
            }
        }
    }
    assert!(reduced > 20, "only {reduced} plans have key filters");
}

#[test]
fn rows_are_turned_away_before_they_are_read() {
    let offers = 20_000;
    let database = Database::in_memory();
    let report = database.load_text(&shop(offers), GraphFormat::NTriples);
    report.expect("the shop loads");
    for threads in [1, 3] {
        let mut options = QueryOptions {
            force_join: Some(ForceJoin::Hash),
            ..QueryOptions::default()
        };
        options.exec.threads = threads;
        options.exec.alone_for = Duration::ZERO;
        let mut without = options.clone();
        without.disabled_rules.push("reduce_scans".to_owned());
        // Of a subject: only the last offers have reviews.
        let text = format!(
            "PREFIX : <{NS}> SELECT ?o ?x ?s {{ ?o :price ?x ; :days ?d . ?r :about ?o ; :stars ?s }}"
        );
        let (turned_away, read) = measured(&database, &text, &options);
        let (none, read_without) = measured(&database, &text, &without);
        assert_eq!((turned_away, none), (offers as u64 - 150, 0));
        assert_eq!(read + turned_away, read_without);
        same(&database, &text, &options, "subjects");
        // Of an object: one product of twelve.
        let text =
            format!("PREFIX : <{NS}> SELECT ?o ?x {{ ?o :of ?p ; :price ?x . ?p :type :T1 }}");
        let (turned_away, _) = measured(&database, &text, &options);
        assert!(turned_away > offers as u64 * 3 / 4, "{turned_away}");
        same(&database, &text, &options, "objects");
        // The same of what is aggregated before its join.
        let text = format!(
            "PREFIX : <{NS}> SELECT ?p ?n {{ ?p :type :T1
             {{ SELECT ?p (AVG(?x) AS ?n) {{ ?p :name ?l . ?o :of ?p ; :price ?x }} GROUP BY ?p }} }}"
        );
        let (turned_away, _) = measured(&database, &text, &options);
        assert!(turned_away > offers as u64 * 3 / 4, "{turned_away}");
        same(&database, &text, &options, "aggregated before the join");
        // No review has so many stars, so the offers are not even begun.
        let text = format!(
            "PREFIX : <{NS}> SELECT ?o ?x {{ ?o :price ?x ; :days ?d . ?r :about ?o ; :stars ?s FILTER(?s > 100) }}"
        );
        options.reduce_always = true;
        let (turned_away, read) = measured(&database, &text, &options);
        assert_eq!(turned_away, 0);
        assert!(read <= 150, "{read}");
    }
}

/// A star join reads its rows and turns them away before they are grouped.
#[test]
fn rows_of_a_star_join_are_turned_away_before_they_are_grouped() {
    let offers = 6_000;
    let text = format!(
        "PREFIX : <{NS}> SELECT ?p ?c ?s {{
         {{ SELECT ?p (COUNT(*) AS ?n) {{ ?q :of ?p }} GROUP BY ?p ORDER BY DESC(?n) ?p LIMIT 2 }}
         {{ SELECT ?p ?c (SUM(?x) AS ?s) {{ ?v :in ?c . ?o :by ?v ; :of ?p ; :price ?x }} GROUP BY ?p ?c }} }}"
    );
    for configuration in configurations() {
        let loaded = load_nquads(shop(offers), &configuration);
        let mut options = query_options(&configuration);
        options.force_join = Some(ForceJoin::Index);
        options.aggregate_parts_always = false;
        options.exec.alone_for = Duration::ZERO;
        let prepared = loaded.database.prepare(&text, &options).expect("it plans");
        let plan = prepared.explain().to_text();
        let of_join = |line: &str| line.contains("StarJoin") && line.contains("reduced by ?p");
        assert!(plan.lines().any(of_join), "{plan}");
        let (turned_away, _) = measured(&loaded.database, &text, &options);
        assert!(turned_away > offers as u64 * 3 / 4, "{turned_away}");
        same(&loaded.database, &text, &options, "grouped");
    }
}

/// A build side that goes to files makes no filter, and the scan reads all.
#[test]
fn a_build_side_in_files_makes_none() {
    let database = Database::in_memory();
    let report = database.load_text(&shop(9_000), GraphFormat::NTriples);
    report.expect("the shop loads");
    let text = format!(
        "PREFIX : <{NS}> SELECT ?o ?x ?n {{ ?o :price ?x ; :days ?d
         {{ SELECT ?o (COUNT(*) AS ?n) {{ ?o :tag ?t ; :by ?v FILTER(?t != ?v) }} GROUP BY ?o }} }}"
    );
    let mut options = QueryOptions {
        force_join: Some(ForceJoin::Hash),
        reduce_always: true,
        ..QueryOptions::default()
    };
    options.exec.threads = 1;
    let plan = database.prepare(&text, &options).expect("it plans");
    let plan = plan.explain().to_text();
    assert!(plan.contains("reduced by ?o"), "{plan}");
    let in_memory = ask(&database, &text, &options).expect("it runs");
    assert_eq!(measured(&database, &text, &options).0, 3_000);
    options.exec.memory_bytes_max = 256 << 10;
    let prepared = database.prepare(&text, &options).expect("it plans");
    let root = prepared.profile(&options).expect("it runs").root;
    let join = |node: &ExplainedNode| match node.operator() {
        "HashJoin" => node.actual.map_or(0, |actual| actual.spilled_bytes),
        _ => 0,
    };
    assert!(sum(&root, &join) > 0, "the join goes to files");
    assert_eq!(measured(&database, &text, &options).0, 0);
    let in_files = ask(&database, &text, &options).expect("it runs");
    assert!(bag::compare(&in_memory, &in_files, Numbers::ByValue).is_ok());
}
