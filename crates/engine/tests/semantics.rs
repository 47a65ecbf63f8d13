//! The meaning of variables, group by group, graph by graph: small queries against the naive oracle under
//! every configuration, and against Oxigraph where it can be asked.

mod semantics_queries;
mod support;

use basalt_testkit::bag::{self, Numbers};
use basalt_testkit::{Answer, Dataset, naive, oxigraph_oracle};
use semantics_queries::{DATA, EXISTS, GRAPHS, LATERAL, SCOPES};
use spargebra::SparqlParser;
use support::{Configuration, ask, load, matrix, query_options};

fn dataset() -> Dataset {
    let quads = oxigraph::io::RdfParser::from_format(oxigraph::io::RdfFormat::NQuads)
        .for_slice(DATA.as_bytes());
    Dataset::from_quads(quads.map(|quad| quad.expect("the data parses")))
}

fn text(query: &str) -> String {
    format!("PREFIX : <http://e/>\n{query}")
}

/// What the standard says, by the naive oracle.
fn expected(dataset: &Dataset, query: &str) -> Answer {
    let parsed = SparqlParser::new().parse_query(&text(query));
    let parsed = parsed.unwrap_or_else(|error| unreachable!("{query}: {error}"));
    naive::evaluate(dataset, &parsed).unwrap_or_else(|error| unreachable!("{query}: {error}"))
}

fn differences(
    dataset: &Dataset,
    configuration: &Configuration,
    queries: &[(&str, Answer)],
) -> Vec<String> {
    let loaded = load(dataset, configuration);
    let options = query_options(configuration);
    let mut found = Vec::new();
    for (query, expected) in queries {
        let result = ask(&loaded.database, &text(query), &options).and_then(|actual| {
            bag::compare(expected, &actual, Numbers::ByValue).map_err(|what| what.to_string())
        });
        if let Err(what) = result {
            let plan = loaded.database.prepare(&text(query), &options);
            let plan = plan.map_or_else(|error| error.to_string(), |plan| plan.explain());
            found.push(format!("{query}\n{what}\n{configuration:?}\n{plan}"));
        }
    }
    found
}

fn check(queries: &[&'static str]) {
    let dataset = dataset();
    let with_answers = queries
        .iter()
        .map(|&query| (query, expected(&dataset, query)));
    let with_answers: Vec<_> = with_answers.collect();
    let found: Vec<String> = matrix()
        .iter()
        .flat_map(|configuration| differences(&dataset, configuration, &with_answers))
        .collect();
    let shown = found.len().min(5);
    assert!(
        found.is_empty(),
        "{} differences:\n{}",
        found.len(),
        found[..shown].join("\n")
    );
}

/// Queries that Oxigraph answers otherwise than the naive oracle.
fn oxigraph_differs(queries: &[&'static str]) -> Vec<&'static str> {
    let dataset = dataset();
    let differs = |query: &&&'static str| {
        let second = oxigraph_oracle::evaluate(&dataset, &text(query));
        second.map_or(true, |second| {
            bag::compare(&expected(&dataset, query), &second, Numbers::ByValue).is_err()
        })
    };
    queries.iter().filter(differs).copied().collect()
}

#[test]
fn graphs_are_evaluated_one_by_one() {
    check(GRAPHS);
}

#[test]
fn scopes_are_those_of_the_algebra() {
    check(SCOPES);
}

#[test]
fn exists_sees_the_row_around_it() {
    check(EXISTS);
}

#[test]
fn lateral_sees_each_left_row() {
    check(LATERAL);
}

#[test]
fn the_oracles_agree() {
    for queries in [GRAPHS, SCOPES, EXISTS] {
        for query in oxigraph_differs(queries) {
            eprintln!("differs: {query}");
        }
    }
}
