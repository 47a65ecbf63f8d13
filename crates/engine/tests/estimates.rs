//! Row estimates stay near what comes out: the queries of the benchmark and generated ones over its data.
//!
//! `cargo xtask bench estimates` measures the same over more data and says more. The bounds here are loose, because
//! the data is small: they are to find out when estimates rot.

mod estimate_errors;

use estimate_errors::{Estimates, Summary, bsbm, bsbm_queries, walked_queries};

/// Products in the data.
const PRODUCTS: u64 = 100;

/// Asks the queries and holds the errors against bounds; most queries must have answers.
fn check(name: &str, database: &basalt_engine::Database, queries: &[String]) {
    let mut estimates = Estimates::default();
    for text in queries {
        estimates.ask(database, text);
    }
    let Some(Summary {
        count, median, p95, ..
    }) = estimates.summary()
    else {
        unreachable!("every query has a scan");
    };
    let worst: Vec<String> = estimates
        .worst(5)
        .into_iter()
        .map(|(e, text)| format!("{:.1}: {} of {}\n{text}", e.error(), e.line, e.actual))
        .collect();
    let worst = worst.join("\n");
    assert!(count >= queries.len(), "{name}: {count} estimates");
    // A walk may go through something that very many share; how soon its answer is there is the machine's.
    assert!(estimates.left_out * 20 <= queries.len(), "{name}");
    assert!(estimates.without_rows * 2 < queries.len(), "{name}");
    assert!(median <= 2.0, "{name}: the median is {median}\n{worst}");
    assert!(p95 <= 20.0, "{name}: the 95th percentile is {p95}\n{worst}");
}

#[test]
fn estimates_are_near_on_the_benchmark() {
    let database = bsbm(PRODUCTS);
    check("benchmark", &database, &bsbm_queries(PRODUCTS, 4));
    check("walks", &database, &walked_queries(&database, 100));
}

#[test]
fn errors_are_summed_up_rightly() {
    let summary = Summary::of((1..=100).rev().map(f64::from).collect());
    let expected = Summary {
        count: 100,
        median: 51.0,
        p90: 90.0,
        p95: 95.0,
        max: 100.0,
    };
    assert_eq!(summary, Some(expected));
    assert_eq!(Summary::of(Vec::new()), None);
    let database = bsbm(5);
    let mut estimates = Estimates::default();
    estimates.ask(
        &database,
        "SELECT * { ?s a ?t . ?s ?p ?o FILTER(?nothing) }",
    );
    estimates.ask(&database, "no query");
    assert_eq!((estimates.without_rows, estimates.left_out), (1, 1));
    assert!(!estimates.by_operator().is_empty());
}
