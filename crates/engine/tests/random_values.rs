//! RAND, UUID and the like are computed as often as the standard says: for each solution, for each row of LATERAL, once in a subselect.

mod support;

use basalt_testkit::Answer;
use oxrdf::Term;
use std::collections::HashSet;
use std::fmt::Write;
use support::{Configuration, Loaded, ask, load_nquads, query_options};

/// Products with a label, each with three offers and two reviews.
fn products() -> Loaded {
    let mut text = String::new();
    for i in 0..1_000 {
        let mut line = |s: String, p: &str, o: String| {
            writeln!(text, "<http://e/{s}> <http://e/{p}> {o} .").expect("text grows");
        };
        line(format!("p{i}"), "label", format!("\"product {}\"", i % 50));
        for j in 0..3 {
            line(
                format!("o{}", 3 * i + j),
                "product",
                format!("<http://e/p{}>", (7 * i + j * 11) % 1_000),
            );
        }
        for j in 0..2 {
            line(
                format!("r{}", 2 * i + j),
                "for",
                format!("<http://e/p{}>", (3 * i + j) % 1_000),
            );
        }
    }
    load_nquads(text, &Configuration::default())
}

/// The terms in the last column.
fn terms(loaded: &Loaded, query: &str) -> Vec<Term> {
    let text = format!("PREFIX : <http://e/> {query}");
    let answer = ask(
        &loaded.database,
        &text,
        &query_options(&Configuration::default()),
    );
    let Ok(Answer::Solutions { rows, .. }) = answer else {
        unreachable!("{query}: {answer:?}");
    };
    let last = |mut row: Vec<Option<Term>>| row.pop().flatten().expect("it is bound");
    rows.into_iter().map(last).collect()
}

fn numbers(loaded: &Loaded, query: &str) -> Vec<u64> {
    let number = |term| match term {
        Term::Literal(literal) => literal.value().parse().expect("a number"),
        other => unreachable!("{other:?}"),
    };
    terms(loaded, query).into_iter().map(number).collect()
}

#[test]
fn a_random_condition_is_asked_once_for_each_solution() {
    let loaded = products();
    for (pattern, solutions) in [
        ("?p :label ?l", 1_000),
        ("?p :label ?l . ?o :product ?p", 3_000),
        ("?p :label ?l . ?o :product ?p . ?r :for ?p", 6_000),
        (
            "{ ?p :label ?l } { ?o :product ?p } OPTIONAL { ?p :none ?n }",
            3_000,
        ),
    ] {
        let query =
            format!("SELECT (COUNT(*) AS ?n) {{ {pattern} FILTER(RAND() < 0.5 || ?p = :nope) }}");
        let [found] = numbers(&loaded, &query)[..] else {
            unreachable!("one row");
        };
        // Half of them, within ten standard deviations.
        let off = 10.0 * (f64::from(solutions) / 4.0).sqrt();
        assert!(
            (found as f64 - f64::from(solutions) / 2.0).abs() < off,
            "{pattern}: {found}"
        );
    }
}

#[test]
fn a_subselect_beside_a_union_is_evaluated_once() {
    let loaded = products();
    let rest = "?p :label \"product 3\" . { ?o :product ?p } UNION { ?o :for ?p }";
    for select in [
        "SELECT (UUID() AS ?id) { :p1 :label ?l }",
        "SELECT (SAMPLE(UUID()) AS ?id) { :p1 :label ?l }",
        "SELECT (COUNT(*) AS ?id) { ?x :label ?l FILTER EXISTS { ?x :label ?m FILTER(RAND() < 0.5) } }",
    ] {
        let query = format!("SELECT ?id (COUNT(*) AS ?n) {{ {{ {select} }} {rest} }} GROUP BY ?id");
        assert_eq!(numbers(&loaded, &query), [100], "{select}");
    }
}

#[test]
fn lateral_computes_for_each_row() {
    let loaded = products();
    for inner in [
        "BIND(UUID() AS ?id)",
        "SELECT (STRUUID() AS ?id) {}",
        "SELECT ?id { BIND(BNODE() AS ?id) } LIMIT 1",
    ] {
        let query =
            format!("SELECT (COUNT(DISTINCT ?id) AS ?n) {{ ?s :for ?o LATERAL {{ {inner} }} }}");
        assert_eq!(numbers(&loaded, &query), [2_000], "{inner}");
    }
}

/// Rows that are read late have the same chance as those that are read early, when most are turned away by numbers.
#[test]
fn the_first_rows_of_a_random_order_are_from_everywhere() {
    let loaded = products();
    let all = terms(&loaded, "SELECT ?o { ?o :product ?p }");
    let late: HashSet<&Term> = all.iter().skip(all.len() / 2).collect();
    for key in ["RAND()", "(1 - RAND())", "STR(RAND())"] {
        let query = format!("SELECT ?o {{ ?o :product ?p }} ORDER BY {key} LIMIT 300");
        let drawn: Vec<Term> = (0..30).flat_map(|_| terms(&loaded, &query)).collect();
        assert_eq!(drawn.len(), 9_000);
        let from_late = drawn.iter().filter(|term| late.contains(term)).count();
        // Six standard deviations.
        assert!(from_late.abs_diff(4_500) < 300, "{key}: {from_late}");
    }
}

#[test]
fn random_numbers_spread_over_their_range() {
    let loaded = products();
    let spread = "SELECT (COUNT(*) AS ?n) { { SELECT (FLOOR(RAND() * 10) AS ?d) { ?o :product ?p } } } GROUP BY ?d";
    let counts = numbers(&loaded, spread);
    assert_eq!(counts.len(), 10);
    assert!(
        counts.iter().all(|count| (200..400).contains(count)),
        "{counts:?}"
    );
    let distinct = "SELECT (COUNT(DISTINCT ?x) AS ?n) { ?o :product ?p BIND(RAND() AS ?x) }";
    assert_eq!(numbers(&loaded, distinct), [3_000]);
}
