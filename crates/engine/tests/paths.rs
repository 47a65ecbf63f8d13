//! Paths over random graphs against the naive oracle: every way to find links, in every layout.
//!
//! The graphs are small and dense in what paths stumble over: cycles, self loops, literals in the
//! middle, the same triple in several graphs, nodes that only other predicates know. A second part
//! asks of graphs that are too large for anything quadratic or recursive.

mod support;

use basalt_engine::PathAccess;
use basalt_testkit::Dataset;
use basalt_testkit::bag::{self, Numbers};
use basalt_testkit::naive;
use basalt_testkit::split_mix::SplitMix;
use oxrdf::{GraphName, Literal, NamedNode, Quad, Term};
use spargebra::SparqlParser;
use std::fmt::Write;
use support::{Configuration, ask, load, load_nquads, matrix, query_options};

fn node(number: u64) -> NamedNode {
    NamedNode::new_unchecked(format!("http://e/n{number}"))
}

/// A random dataset over a few nodes, three predicates, and the default and two named graphs.
fn random_graph(seed: u64) -> Dataset {
    let mut random = SplitMix::new(seed);
    let nodes = 3 + random.below(9) as u64;
    let quads = (0..4 + random.below(30)).map(|_| {
        let predicate = ["p", "q", "r"][random.below(3)];
        let object: Term = match random.below(8) {
            0 => Literal::new_simple_literal(format!("l{}", random.below(3))).into(),
            _ => node(random.below(nodes as usize) as u64).into(),
        };
        let graph: GraphName = match random.below(3) {
            0 => GraphName::DefaultGraph,
            n => NamedNode::new_unchecked(format!("http://e/g{n}")).into(),
        };
        Quad::new(
            node(random.below(nodes as usize) as u64),
            NamedNode::new_unchecked(format!("http://e/{predicate}")),
            object,
            graph,
        )
    });
    Dataset::from_quads(quads.collect::<Vec<_>>())
}

/// A random path of some depth.
fn random_path(random: &mut SplitMix, depth: usize) -> String {
    let inner = |random: &mut SplitMix| random_path(random, depth - 1);
    let choice = if depth == 0 { 0 } else { random.below(10) };
    match choice {
        0 | 1 => [":p", ":q", ":r", "^:p", "^:q", ":unknown"][random.below(6)].to_owned(),
        2 => ["!:p", "!(:p|^:q)", "!(:p|:q|:r)", "!(^:p|^:unknown)"][random.below(4)].to_owned(),
        3 => format!("({}/{})", inner(random), inner(random)),
        4 => format!("({}|{})", inner(random), inner(random)),
        5 => format!("^({})", inner(random)),
        6 => format!("({})?", inner(random)),
        7 => format!("({})*", inner(random)),
        _ => format!("({})+", inner(random)),
    }
}

fn random_query(seed: u64) -> String {
    let mut random = SplitMix::new(seed);
    let path = random_path(&mut random, 3);
    let end = |random: &mut SplitMix, variable: &str| match random.below(4) {
        0 => format!(":n{}", random.below(13)),
        _ => variable.to_owned(),
    };
    let subject = end(&mut random, "?x");
    let object = match random.below(9) {
        0 => "\"l1\"".to_owned(),
        1 => "?x".to_owned(),
        _ => end(&mut random, "?y"),
    };
    let mut pattern = format!("{subject} {path} {object} .");
    match random.below(5) {
        0 => pattern = format!("?x :p ?z . {pattern}"),
        1 => pattern = format!("?y :q ?x . {pattern}"),
        2 => pattern = format!("VALUES ?x {{ :n1 :n2 :n99 }} {pattern}"),
        _ => {}
    }
    let from = ["", "", "", "FROM :g1 FROM :g2", "FROM NAMED :g1 FROM :g1"][random.below(5)];
    match random.below(4) {
        0 => pattern = format!("GRAPH ?g {{ {pattern} }}"),
        1 => pattern = format!("GRAPH :g1 {{ {pattern} }}"),
        _ => {}
    }
    if random.below(8) == 0 {
        pattern = format!("?a :r ?x FILTER EXISTS {{ {pattern} }}");
    }
    format!("PREFIX : <http://e/> SELECT * {from} {{ {pattern} }}")
}

#[test]
fn random_paths_agree_with_the_oracle() {
    let configurations = matrix();
    let accesses = [PathAccess::Adaptive, PathAccess::Probe, PathAccess::Index];
    let (mut asked, mut compared) = (0, 0);
    for seed in 0..160 {
        let dataset = random_graph(seed);
        let configuration = configurations[seed as usize % configurations.len()];
        let loaded = load(&dataset, &configuration);
        for number in 0..8 {
            let text = random_query(seed * 8 + number);
            let query = SparqlParser::new()
                .parse_query(&text)
                .expect("made queries parse");
            asked += 1;
            let Ok(expected) = naive::evaluate(&dataset, &query) else {
                continue;
            };
            compared += 1;
            for access in accesses {
                let mut options = query_options(&configuration);
                options.exec.path_access = access;
                let actual = ask(&loaded.database, &text, &options);
                let same = actual.and_then(|actual| {
                    let same = bag::compare(&expected, &actual, Numbers::Exact);
                    same.map_err(|mismatch| mismatch.to_string())
                });
                if let Err(what) = same {
                    let plan = loaded.database.prepare(&text, &options);
                    let plan = plan.map_or_else(|e| e.to_string(), |plan| plan.explain().to_text());
                    let data = dataset.to_nquads();
                    unreachable!("{access:?} {configuration:?}\n{what}\n{text}\n{plan}\n{data}");
                }
            }
        }
    }
    assert!(compared * 10 >= asked * 8, "{compared} of {asked} compared");
}

/// The number that a query counts.
fn count(loaded: &support::Loaded, pattern: &str, access: PathAccess) -> String {
    let mut options = query_options(&Configuration::default());
    options.exec.path_access = access;
    let text = format!("PREFIX : <http://e/> SELECT (COUNT(*) AS ?n) {{ {pattern} }}");
    let answer = ask(&loaded.database, &text, &options).expect("the query runs");
    match answer {
        basalt_testkit::Answer::Solutions { rows, .. } => match &rows[0][0] {
            Some(Term::Literal(literal)) => literal.value().to_owned(),
            other => unreachable!("no count but {other:?}"),
        },
        other => unreachable!("no solutions but {other:?}"),
    }
}

#[test]
fn long_chains_take_neither_stack_nor_quadratic_time() {
    const LENGTH: usize = 60_000;
    let mut text = String::new();
    for i in 0..LENGTH {
        writeln!(
            text,
            "<http://e/n{i}> <http://e/next> <http://e/n{}> .",
            i + 1
        )
        .expect("text grows");
    }
    let loaded = load_nquads(text, &Configuration::default());
    for access in [PathAccess::Adaptive, PathAccess::Index] {
        let forward = count(&loaded, ":n0 :next+ ?x", access);
        assert_eq!(forward, LENGTH.to_string());
        let backward = count(&loaded, &format!("?x :next* :n{LENGTH}"), access);
        assert_eq!(backward, (LENGTH + 1).to_string());
        let pairs = count(&loaded, ":n0 (:next/:next)+ ?x", access);
        assert_eq!(pairs, (LENGTH / 2).to_string());
        let between = count(&loaded, &format!(":n10 :next+ :n{LENGTH}"), access);
        assert_eq!(between, "1");
        assert_eq!(count(&loaded, "?x :next+ ?x", access), "0");
    }
    assert_eq!(
        count(&loaded, ":n59000 :next+ ?x", PathAccess::Probe),
        "1000"
    );
}

#[test]
fn one_large_component_and_what_hangs_on_it() {
    // A ring of 1000 with 500 tails into it and a literal out of it.
    let mut text = String::new();
    for i in 0..1000 {
        let next = (i + 1) % 1000;
        writeln!(text, "<http://e/n{i}> <http://e/p> <http://e/n{next}> .").expect("text grows");
    }
    for i in 0..500 {
        writeln!(text, "<http://e/t{i}> <http://e/p> <http://e/n{i}> .").expect("text grows");
    }
    text.push_str(
        "<http://e/n5> <http://e/p> \"end\" .\n<http://e/a> <http://e/q> <http://e/b> .\n",
    );
    let loaded = load_nquads(text, &Configuration::default());
    for access in [PathAccess::Adaptive, PathAccess::Probe, PathAccess::Index] {
        assert_eq!(
            count(&loaded, "?x :p+ ?y", access),
            (1500 * 1001).to_string()
        );
        let with_zero = 1500 * 1001 + 500 + 1 + 2;
        assert_eq!(count(&loaded, "?x :p* ?y", access), with_zero.to_string());
        assert_eq!(count(&loaded, "?x :p+ ?x", access), "1000");
        assert_eq!(count(&loaded, "?x :p+ \"end\"", access), "1500");
    }
}

#[test]
fn little_memory_is_an_error_or_enough_but_never_wrong() {
    let mut text = String::new();
    for i in 0..5000 {
        let parent = i / 3;
        writeln!(
            text,
            "<http://e/n{}> <http://e/p> <http://e/n{parent}> .",
            i + 1
        )
        .expect("text grows");
    }
    let loaded = load_nquads(text, &Configuration::default());
    let mut options = query_options(&Configuration::default());
    for kilobytes in [64, 256, 512, 100_000] {
        options.exec.memory_bytes_max = kilobytes << 10;
        let text = "PREFIX : <http://e/> SELECT (COUNT(*) AS ?n) { ?x :p+ ?y }";
        match ask(&loaded.database, text, &options) {
            Err(message) => assert!(message.contains("memory limit"), "{message}"),
            Ok(answer) => assert!(kilobytes >= 256, "{answer:?}"),
        }
        let text = "PREFIX : <http://e/> SELECT * { ?x :p+ :n0 }";
        let answer = ask(&loaded.database, text, &options);
        let enough = answer.as_ref().is_ok_and(|answer| match answer {
            basalt_testkit::Answer::Solutions { rows, .. } => rows.len() == 5000,
            _ => false,
        });
        assert!(enough || answer.is_err_and(|e| e.contains("memory limit")));
    }
}
