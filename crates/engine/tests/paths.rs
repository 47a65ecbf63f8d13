//! Paths over random graphs against the naive oracle: every way to find links, in every layout.
//!
//! The graphs are small and dense in what paths stumble over: cycles, self loops, literals in the
//! middle, the same triple in several graphs, nodes that only other predicates know. A second part
//! asks of graphs that are too large for anything quadratic or recursive.

mod support;

use basalt_engine::{Database, ExplainedNode, PathAccess, QueryOptions};
use basalt_testkit::Dataset;
use basalt_testkit::bag::{self, Numbers};
use basalt_testkit::naive;
use basalt_testkit::split_mix::SplitMix;
use oxrdf::{GraphName, Literal, NamedNode, Quad, Term};
use spargebra::SparqlParser;
use std::fmt::Write;
use support::{
    Configuration, ask, load, load_nquads, matrix, query_options, read_rows, same_answers,
};

fn node(number: u64) -> NamedNode {
    NamedNode::new_unchecked(format!("http://e/n{number}"))
}

/// A random dataset over a few nodes, three predicates, and the default and two to seven named graphs.
fn random_graph(seed: u64) -> Dataset {
    let mut random = SplitMix::new(seed);
    let nodes = 3 + random.below(9) as u64;
    let graphs = 3 + random.below(6);
    let quads = (0..4 + random.below(30)).map(|_| {
        let predicate = ["p", "q", "r"][random.below(3)];
        let object: Term = match random.below(8) {
            0 => Literal::new_simple_literal(format!("l{}", random.below(3))).into(),
            _ => node(random.below(nodes as usize) as u64).into(),
        };
        let graph: GraphName = match random.below(graphs) {
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
    match random.below(8) {
        0 => pattern = format!("?x :p ?z . {pattern}"),
        1 => pattern = format!("?y :q ?x . {pattern}"),
        2 => pattern = format!("VALUES ?x {{ :n1 :n2 :n99 }} {pattern}"),
        // Both ends are bound, in batches of which one has fewer subjects and another fewer objects.
        3 => {
            let ends = "{ VALUES (?x ?y) { (:n1 :n2) (:n1 :n3) } } UNION { VALUES (?x ?y) { (:n2 :n1) (:n3 :n1) (:n1 :n1) } }";
            pattern = format!("{ends} UNION {{ ?y :q ?x }} {pattern}");
        }
        4 => {
            let conditions = [
                "?x = :n1",
                "?y = :n2",
                "?x IN (:n1, :n2, :n1, :n99)",
                "?y = :n2 || ?y = :n3 || ?y = \"l1\"",
                "?x = ?y || ?x = :n1",
            ];
            pattern = format!(
                "{pattern} FILTER({})",
                conditions[random.below(conditions.len())]
            );
        }
        _ => {}
    }
    let from = ["", "", "", "FROM :g1 FROM :g2", "FROM NAMED :g1 FROM :g1"][random.below(5)];
    match random.below(4) {
        0 => pattern = format!("GRAPH ?g {{ {pattern} }}"),
        1 => pattern = format!("GRAPH :g1 {{ {pattern} }}"),
        _ => {}
    }
    // The oracle puts terms in the place of variables inside EXISTS: from a term that is no node of the graph, a path without links leads to it.
    let is_default = from.is_empty() && !pattern.starts_with("GRAPH");
    match random.below(16) {
        0 | 1 if is_default => pattern = format!("?a :r ?x FILTER EXISTS {{ {pattern} }}"),
        2 if is_default => pattern = format!("?a :r ?x FILTER NOT EXISTS {{ {pattern} }}"),
        3 => pattern = format!("?a :r ?x MINUS {{ {pattern} }}"),
        4 | 5 => pattern = format!("?a :r ?x OPTIONAL {{ {pattern} }}"),
        6 => pattern = format!("VALUES ?x {{ :n1 :n99 }} OPTIONAL {{ {pattern} }}"),
        _ => {}
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
        for number in 0..12 {
            let text = random_query(seed * 12 + number);
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

#[test]
fn ends_that_one_batch_found_are_not_starts_of_the_next() {
    let quads = "<http://e/s> <http://e/q> <http://e/t> .\n<http://e/t> <http://e/q> <http://e/t> .\n<http://e/u> <http://e/r> <http://e/t> .\n";
    let loaded = load_nquads(quads.to_owned(), &Configuration::default());
    // The second batch is followed from its one object, or subject, as the first is not.
    for (batches, expected) in [
        (
            "{ VALUES (?x ?y) { (:s :t) } } UNION { VALUES (?x ?y) { (:t :s) (:s :s) } }",
            "1",
        ),
        (
            "{ VALUES (?x ?y) { (:t :t) } } UNION { VALUES (?x ?y) { (:s :t) (:t :t) } }",
            "3",
        ),
        (
            "{ VALUES (?x ?y) { (:s :t) (:u :t) } } UNION { VALUES (?x ?y) { (:t :s) (:t :t) } }",
            "3",
        ),
    ] {
        for path in ["(:q|:r)", "(:q|:r+)", "^(^:q|^:r)"] {
            let pattern = format!("{batches} ?x {path} ?y");
            for access in [PathAccess::Adaptive, PathAccess::Probe, PathAccess::Index] {
                assert_eq!(count(&loaded, &pattern, access), expected, "{pattern}");
            }
        }
    }
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
fn paths_begin_at_the_terms_that_a_condition_lets_pass() {
    let mut text = String::new();
    for i in 0..2_000 {
        let next = i + 1;
        writeln!(text, "<http://e/n{i}> <http://e/next> <http://e/n{next}> .").expect("text grows");
    }
    let loaded = load_nquads(text, &Configuration::default());
    for (pattern, expected) in [
        ("?x :next+ ?y FILTER(?x = :n1990)", "10"),
        ("?x :next+ ?y FILTER(?y = :n10)", "10"),
        ("?x :next* ?y FILTER(?x = :n1990)", "11"),
        ("?x :next* ?y FILTER(?x = :n2000 || ?x = :n1999)", "3"),
        (
            "?x :next+ ?y FILTER(?x IN (:n1990, :n1995, :n1990, :unknown))",
            "15",
        ),
        ("?x :next+ ?y FILTER(?y IN (:n2, :n3) && ?x != :n0)", "3"),
        ("?x :next* ?y FILTER(?x = :unknown)", "0"),
    ] {
        assert_eq!(
            count(&loaded, pattern, PathAccess::Adaptive),
            expected,
            "{pattern}"
        );
        let query = format!("PREFIX : <http://e/> SELECT * {{ {pattern} }}");
        let options = query_options(&Configuration::default());
        let prepared = loaded.database.prepare(&query, &options).expect("it plans");
        let plan = prepared.explain().to_text();
        // With no end given, and no rows that give one.
        let makes_all = |line: &str| line.contains("PathJoin ?x ") && line.contains(" ?y ");
        let are_all = plan.lines().any(makes_all) && plan.contains("Unit");
        assert!(!are_all, "all pairs are made for {pattern}:\n{plan}");
    }
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

/// The rows that a query reads.
fn rows_read(database: &Database, text: &str) -> u64 {
    let options = QueryOptions::default();
    let prepared = database.prepare(text, &options).expect("it is planned");
    let report = prepared.profile(&options).expect("it runs");
    read_rows(&report.root)
}

#[test]
fn an_index_is_kept_until_its_links_change() {
    let mut text = String::new();
    for i in 1..3000 {
        writeln!(text, "<http://e/n{i}> <http://e/p> <http://e/n{}> .", i / 2).expect("text grows");
        writeln!(text, "<http://e/n{i}> <http://e/q> <http://e/n{}> .", i / 3).expect("text grows");
    }
    let database = load_nquads(text, &Configuration::default()).database;
    let all = "PREFIX : <http://e/> SELECT ?x { ?x :p+ :n0 }";
    assert!(rows_read(&database, all) >= 2999);
    assert_eq!(rows_read(&database, all), 0, "the index is there");
    let one = "PREFIX : <http://e/> SELECT ?x { :n2999 :p* ?x }";
    assert_eq!(rows_read(&database, one), 0, "it serves other starts too");
    let update = |text: &str| {
        let text = format!("PREFIX : <http://e/> {text}");
        let done = database.update(&text, &Default::default());
        done.expect("the update is well formed");
    };
    update("INSERT DATA { :n1 :q :new }");
    assert_eq!(rows_read(&database, all), 0, "other links changed");
    update("INSERT DATA { :new :p :n1 }");
    assert!(rows_read(&database, all) > 0, "these did");
    update("DELETE DATA { :n2 :p :n1 }");
    let left = ask(&database, all, &QueryOptions::default()).expect("it runs");
    let basalt_testkit::Answer::Solutions { rows, .. } = left else {
        unreachable!("a SELECT gives solutions");
    };
    // Of the two halves below n1 that of n2 is gone: n3 and all whose way up to n1 leads through it, n1 and the new one.
    let is_left = |mut n: u32| {
        while n > 3 {
            n /= 2;
        }
        n != 2
    };
    let expected = (1..3000).filter(|&n| is_left(n)).count() + 1;
    assert_eq!(rows.len(), expected);
}

/// Data of one graph: links with cycles among some, a hierarchy among others, groups.
fn linked(nodes: u64) -> Vec<String> {
    let mut random = SplitMix::new(51);
    let mut lines = Vec::new();
    for i in 0..nodes {
        let link = |predicate: &str, other: u64| {
            format!("<http://e/n{i}> <http://e/{predicate}> <http://e/n{other}>")
        };
        for _ in 0..random.below(4) {
            lines.push(link("p", random.below(nodes as usize / 3) as u64));
        }
        if i > 0 {
            lines.push(link("up", i / 3));
        }
        lines.push(link("in", nodes + i % 7));
    }
    lines
}

#[test]
fn many_rows_have_the_ends_that_each_has_alone() {
    let lines = linked(3000);
    let text = |graph: &str| {
        let quads = lines.iter().map(|line| format!("{line} {graph}.\n"));
        quads.collect::<String>()
    };
    let default = load_nquads(text(""), &Configuration::default()).database;
    // Rows of GRAPH ?g are joined one by one.
    let named = load_nquads(text("<http://e/g> "), &Configuration::default()).database;
    let patterns = [
        "?a :in :n3001 . ?a :up* ?b",
        "?b :in :n3002 . ?a :up+ ?b",
        "?a :in :n3001 . ?a :p+ ?b . ?b :in :n3003",
        "?a :in :n3001 . ?b :in :n3002 . ?a :up+ ?b",
        "?a :p ?b . ?b :up* ?c . FILTER(?c != :n0)",
        "?a :up ?b . ?a (:p|^:up)+ ?b",
        "?a :up ?b . ?b :p* ?a",
        "?a :p ?b . ?a :up+ :n7",
        "?a :up ?b . ?b (:p/:up)+ :n1",
        "?a :in ?g . ?a :p? ?b . ?b :in ?g",
    ];
    for pattern in patterns {
        let counted = "(COUNT(*) AS ?n) (COUNT(DISTINCT ?a) AS ?as) (COUNT(DISTINCT ?b) AS ?bs)";
        let query =
            |pattern: &str| format!("PREFIX : <http://e/> SELECT {counted} {{ {pattern} }}");
        let alone = query(&format!("GRAPH ?graph {{ {pattern} }}"));
        let expected = ask(&named, &alone, &QueryOptions::default()).expect("it runs");
        for access in [PathAccess::Probe, PathAccess::Index, PathAccess::Adaptive] {
            for batch_rows in [3, 2048] {
                let mut options = QueryOptions::default();
                options.exec.path_access = access;
                options.exec.batch_rows = batch_rows;
                let actual = ask(&default, &query(pattern), &options).expect("it runs");
                same_answers(
                    &expected,
                    &actual,
                    &format!("{access:?} {batch_rows} {pattern}"),
                );
            }
        }
    }
}

#[test]
fn kept_indexes_answer_as_walks_do_while_data_change() {
    for seed in 0..12 {
        let mut random = SplitMix::new(seed);
        let database = load(&random_graph(seed), &Configuration::default()).database;
        let queries: Vec<String> = (0..6)
            .map(|_| {
                let path = random_path(&mut random, 2);
                format!("PREFIX : <http://e/> SELECT * {{ ?x ({path})* ?y }}")
            })
            .collect();
        for round in 0..25 {
            let what = ["INSERT", "INSERT", "DELETE"][random.below(3)];
            let (from, to) = (random.below(12), random.below(12));
            let predicate = ["p", "q", "r", "other"][random.below(4)];
            let update =
                format!("PREFIX : <http://e/> {what} DATA {{ :n{from} :{predicate} :n{to} }}");
            let done = database.update(&update, &Default::default());
            done.expect("the update is well formed");
            for query in &queries {
                let with = |access| {
                    let mut options = QueryOptions::default();
                    options.exec.path_access = access;
                    ask(&database, query, &options).expect("it runs")
                };
                let expected = with(PathAccess::Probe);
                let what = format!("seed {seed}, round {round}: {query}");
                same_answers(&expected, &with(PathAccess::Index), &what);
                same_answers(&expected, &with(PathAccess::Adaptive), &what);
            }
        }
    }
}

/// The estimated rows of the path of a plan.
fn estimated(database: &Database, pattern: &str) -> f64 {
    fn find(node: &ExplainedNode) -> Option<f64> {
        let own = (node.operator() == "PathJoin").then_some(node.estimated_rows);
        own.or_else(|| node.below().find_map(find))
    }
    let text = format!("PREFIX : <http://e/> SELECT * {{ {pattern} }}");
    let prepared = database.prepare(&text, &QueryOptions::default());
    let report = prepared.expect("it is planned").explain();
    find(&report.root).expect("the plan has a path")
}

#[test]
fn walks_tell_how_much_a_constant_reaches() {
    let mut text = String::new();
    for i in 1..20_000 {
        writeln!(
            text,
            "<http://e/n{i}> <http://e/up> <http://e/n{}> .",
            i / 3
        )
        .expect("text grows");
        writeln!(text, "<http://e/hub> <http://e/has> <http://e/n{i}> .").expect("text grows");
        if i % 2 == 0 {
            writeln!(text, "<http://e/n{i}> <http://e/in> <http://e/club> .").expect("text grows");
        }
    }
    let database = load_nquads(text, &Configuration::default()).database;
    let near = |actual: f64, expected: f64| (actual - expected).abs() < 0.5;
    // Below n100: 3, 9, 27 and 81 of n300 to n19999 as far as they are.
    let below = (101..20_000_u32).filter(|&n| {
        let mut at = n;
        while at > 100 {
            at /= 3;
        }
        at == 100
    });
    let below = below.count() as f64;
    assert!(near(estimated(&database, "?x :up+ :n100"), below));
    assert!(near(estimated(&database, ":n100 ^:up+ ?x"), below));
    assert!(near(estimated(&database, "?x :up* :n100"), below + 1.0));
    assert!(near(estimated(&database, ":n19999 :up+ ?x"), 10.0));
    // More than is walked while planning: between what was met and all.
    let all = estimated(&database, "?x :up+ :n0");
    assert!((1000.0..20_000.0).contains(&all), "{all}");
    // Links of a node with many are counted, not followed; the ends of both predicates are counted one by one.
    let hub = estimated(&database, ":hub (:has|:up)+ ?x");
    assert!((10_000.0..=27_000.0).contains(&hub), "{hub}");
    let members = estimated(&database, "?x (:in)+ :club");
    assert!((5_000.0..=15_000.0).contains(&members), "{members}");
}

#[test]
fn ends_from_all_rows_at_once_are_those_of_each() {
    let lines = linked(3000);
    let quads: Vec<String> = lines.iter().map(|line| format!("{line} .\n")).collect();
    let database = load_nquads(quads.concat(), &Configuration::default()).database;
    let queries = [
        "SELECT DISTINCT ?b { ?a :in :n3001 . ?a :p+ ?b }",
        "SELECT DISTINCT ?b { ?a :in :n3001 . ?b (:up|^:p)+ ?a }",
        "SELECT (COUNT(DISTINCT ?b) AS ?n) { ?a :in :n3002 . ?a :up* ?b }",
        "SELECT DISTINCT ?g { ?a :up :n40 . ?a :p* ?b . ?b :in ?g }",
        "SELECT DISTINCT ?b { ?a :in :n3003 . ?a (:p/:up)+ ?b }",
        "SELECT ?b { ?b :in :n3001 FILTER NOT EXISTS { ?a :in :n3002 . ?a :up+ ?b } }",
        "SELECT ?b { ?b :in :n3001 MINUS { ?a :p :n5 . ?a :p+ ?b } }",
        "SELECT DISTINCT ?b { ?a :unknown ?c . ?a :p+ ?b }",
    ];
    let mut at_once = 0;
    for query in queries {
        let text = format!("PREFIX : <http://e/> {query}");
        let options = QueryOptions {
            disabled_rules: vec!["early_distinct".to_owned()],
            ..QueryOptions::default()
        };
        let expected = ask(&database, &text, &options).expect("it runs");
        for access in [PathAccess::Probe, PathAccess::Index, PathAccess::Adaptive] {
            let mut options = QueryOptions::default();
            options.exec.path_access = access;
            options.exec.batch_rows = 100;
            let actual = ask(&database, &text, &options).expect("it runs");
            same_answers(&expected, &actual, &format!("{access:?} {query}"));
        }
        let prepared = database.prepare(&text, &QueryOptions::default());
        let plan = prepared.expect("it is planned").explain().to_text();
        at_once += usize::from(plan.contains("PathJoin at once"));
    }
    assert!(at_once >= 5, "{at_once} of {} plans", queries.len());
}
