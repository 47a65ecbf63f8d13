//! Short texts that ask for much: deep ones, products of many values, texts that double, plans within plans. Each is answered within its
//! limits or refused with a reason; none ends the program.

mod support;

use basalt_engine::{QueryOptions, STACK_BYTES};
use basalt_testkit::Answer;
use std::fmt::Write;
use std::time::{Duration, Instant};
use support::{Configuration, Loaded, ask, load_nquads, query_options};

const PREFIX: &str = "PREFIX : <http://e/> ";

fn little() -> Loaded {
    let text = "<http://e/a> <http://e/p> \"aaaaaaaaaa\" .\n<http://e/a> <http://e/q> <http://e/b> .\n\
                <http://e/b> <http://e/q> <http://e/c> .\n<http://e/b> <http://e/p> \"b\" .\n";
    load_nquads(text.to_owned(), &Configuration::default())
}

fn default_options() -> QueryOptions {
    query_options(&Configuration::default())
}

fn options_of(megabytes: usize, threads: usize) -> QueryOptions {
    let mut options = default_options();
    options.exec.memory_bytes_max = megabytes << 20;
    options.exec.threads = threads;
    options.exec.alone_for = Duration::ZERO;
    options
}

/// The number that a query of one row and one column gives.
fn number(loaded: &Loaded, query: &str, options: &QueryOptions) -> Result<u64, String> {
    let Answer::Solutions { rows, .. } =
        ask(&loaded.database, &format!("{PREFIX}{query}"), options)?
    else {
        return Err("no solutions".to_owned());
    };
    let term = rows.first().and_then(|row| row.first()?.clone());
    match term {
        Some(oxrdf::Term::Literal(literal)) => {
            literal.value().parse().map_err(|_| "no number".into())
        }
        other => Err(format!("{other:?} is no number")),
    }
}

/// Texts nested so many times, in every way that the grammar has.
fn nested(count: usize) -> Vec<String> {
    let around = |before: &str, inner: &str, after: &str| {
        format!("{}{inner}{}", before.repeat(count), after.repeat(count))
    };
    let expressions = [
        around("(", "true", ")"),
        around("-(", "1", ")"),
        around("ABS(", "1", ")"),
        around("IF(true, ", "1", ", 2)"),
        around("1 IN (", "1", ")"),
        around("1 = (", "1", ")"),
        around("EXISTS { FILTER(", "true", ") }"),
        around("1 <((", "1", "))"),
        around("", "true", " || false"),
        around("", "1", " + 1"),
        around("", "1", " * -1"),
    ];
    let patterns = [
        around("{ ", "?s :p ?o", " }"),
        around("?s :p ?o OPTIONAL { ", "?s :p ?o", " }"),
        around("{ ?s :p ?o MINUS { ", "?s :q ?o", " } }"),
        around("{ SELECT * { ", "?s :p ?o", " } }"),
        around("?s :p ?o LATERAL { ", "?s :p ?o", " }"),
        around("GRAPH ?g { ", "?s :p ?o", " }"),
        around("", "?s :p ?o", " UNION { ?s :q ?o }").replacen("?s :p ?o", "{ ?s :p ?o }", 1),
        around("", "?s :p ?o", " OPTIONAL { ?s :q ?o }"),
        around("", "?s :p ?o", " FILTER(?o != 1)"),
        format!("?s :p {}", around("[ :p ", "1", " ]")),
        format!("?s :p {}", around("( ", "1", " )")),
        format!("?s {} ?o", around("(", ":p", ")*")),
        format!("?s {} ?o", around("^(", ":p", ")")),
        format!("?s {} ?o", around("", ":p", "/:q")),
        format!("?s {} ?o", around("", ":p", "|:q")),
        format!("?s ({})+ ?o", around("", ":p", "|:q")),
        format!("?s ({})+ ?o", around("", ":p", "/:q")),
    ];
    let of_expressions = expressions.iter().map(|e| format!("ASK {{ FILTER({e}) }}"));
    let of_patterns = patterns.iter().map(|p| format!("ASK {{ {p} }}"));
    let of_updates = patterns
        .iter()
        .map(|p| format!("DELETE {{ ?s :r ?o }} WHERE {{ {p} }}"));
    of_expressions
        .chain(of_patterns)
        .chain(of_updates)
        .collect()
}

#[test]
fn deep_texts_are_answered_or_refused() {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let thread = thread.spawn(ask_deep_texts).expect("a thread");
    thread.join().expect("no text is too deep");
}

fn ask_deep_texts() {
    let loaded = little();
    let options = default_options();
    let mut refused = 0;
    for count in [49, 95, 190, 399, 1_000, 4_000] {
        for text in nested(count) {
            let text = format!("{PREFIX}{text}");
            let error = match text.contains("DELETE") {
                true => {
                    let outcome = loaded.database.update(&text, &Default::default());
                    outcome.err().map(|error| error.to_string())
                }
                false => ask(&loaded.database, &text, &options).err(),
            };
            let Some(error) = error else {
                continue;
            };
            let reasons = [
                "nested",
                "too many",
                "in a chain",
                "bind",
                "cannot be parsed",
            ];
            let start: String = text.chars().take(60).collect();
            assert!(
                reasons.iter().any(|reason| error.contains(reason)),
                "{start}: {error}"
            );
            assert!(
                count > 190 || !error.contains("brackets"),
                "{start}: {error}"
            );
            refused += 1;
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn negations_are_counted() {
    let loaded = little();
    let negated = |count: usize| {
        format!(
            "ASK {{ FILTER({}true{}) }}",
            "!(".repeat(count),
            ")".repeat(count)
        )
    };
    assert!(ask(&loaded.database, &negated(6), &default_options()).is_ok());
    let start = Instant::now();
    let error = ask(&loaded.database, &negated(60), &default_options()).expect_err("too many");
    assert!(error.contains("nested negations"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(1));
}

/// Subjects with some values of each of three predicates, and one that names them all.
fn many_valued(subjects: u32, values: u32) -> Loaded {
    let mut text = String::new();
    for s in 0..subjects {
        writeln!(text, "<http://e/x{}> <http://e/k> <http://e/s{s}> .", s % 7).expect("text grows");
        for v in 0..values {
            for p in ["p", "q", "r"] {
                writeln!(text, "<http://e/s{s}> <http://e/{p}> <http://e/{p}{v}> .")
                    .expect("text grows");
            }
        }
    }
    load_nquads(text, &Configuration::default())
}

#[test]
fn products_of_values_are_made_in_parts() {
    let (subjects, values) = (50, 90);
    let loaded = many_valued(subjects, values);
    let product = u64::from(subjects * values * values);
    for (query, expected) in [
        (
            "SELECT (COUNT(*) AS ?n) { ?s :p ?a ; :q ?b FILTER(?a != ?b) }",
            product,
        ),
        (
            "SELECT (COUNT(?b) AS ?n) { ?s :p ?a OPTIONAL { ?s :q ?b } }",
            product,
        ),
        (
            "SELECT (COUNT(*) AS ?n) { ?x :k ?s . ?s :p ?a ; :q ?b FILTER(?a != ?b) }",
            product,
        ),
        (
            "SELECT (COUNT(*) AS ?n) { :s3 :p ?a ; :q ?b ; :r ?c FILTER(?a != ?c) }",
            u64::from(values * values * values),
        ),
    ] {
        for threads in [1, 2] {
            // Far less than the solutions take.
            let counted = number(&loaded, query, &options_of(24, threads));
            assert_eq!(counted, Ok(expected), "{query}");
        }
    }
}

#[test]
fn solutions_come_in_the_order_of_rows_where_batches_are_cut() {
    // Each of a few rows has more solutions than a batch may have.
    let loaded = many_valued(30, 200);
    let query = "SELECT (SUM(?wrong) AS ?n) { ?x :k ?s . ?s :p ?a ; :q ?b BIND(IF(?a = ?b, 1, 0) AS ?wrong) }";
    assert_eq!(number(&loaded, query, &options_of(512, 1)), Ok(0));
    let query = "SELECT (COUNT(*) AS ?n) { ?x :k ?s . ?s :p ?a ; :q ?b }";
    assert_eq!(
        number(&loaded, query, &options_of(512, 1)),
        Ok(30 * 200 * 200)
    );
}

#[test]
fn texts_that_double_end_at_the_memory_limit() {
    let loaded = little();
    let binds = |call: &dyn Fn(&str) -> String| -> String {
        let names = ["?a", "?b", "?c", "?d", "?e", "?f", "?g", "?h", "?i"];
        let mut text = "BIND(\"aaaaaaaaaa\" AS ?a)".to_owned();
        for pair in names.windows(2) {
            write!(text, " BIND({} AS {})", call(pair[0]), pair[1]).expect("text grows");
        }
        format!("SELECT (STRLEN(?i) AS ?n) {{ {text} }}")
    };
    let queries = [
        binds(&|x| format!("REPLACE({x}, \"a\", {x})")),
        binds(&|x| format!("CONCAT({})", vec![x; 20].join(", "))),
        binds(&|x| format!("ENCODE_FOR_URI(REPLACE({x}, \"[a%]\", \"%%%%%%\"))")),
    ];
    for query in queries {
        let error = number(&loaded, &query, &options_of(16, 2)).expect_err("too long");
        assert!(error.contains("memory limit"), "{error}");
    }
    let replaced =
        "SELECT (STRLEN(?i) AS ?n) { :a :p ?a BIND(REPLACE(?a, \"(a)(a)\", \"$2-$1\") AS ?i) }";
    assert_eq!(number(&loaded, replaced, &options_of(16, 2)), Ok(15));
}

#[test]
fn nested_groups_are_planned_in_a_moment() {
    let loaded = little();
    let mut query = "SELECT DISTINCT ?k { ?a0 :p ?k }".to_owned();
    for i in 1..30 {
        query = format!(
            "SELECT ?k {{ {{ {query} }} ?x{i} :q ?y{i} . FILTER NOT EXISTS {{ ?x{i} :p ?k }} }} GROUP BY ?k HAVING(COUNT(*) > 0)"
        );
    }
    let start = Instant::now();
    let answer = ask(
        &loaded.database,
        &format!("{PREFIX}{query}"),
        &default_options(),
    );
    assert!(answer.is_ok(), "{answer:?}");
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn long_chains_are_joined_along_their_links() {
    let ring: String = (0..30).fold(String::new(), |mut text, i| {
        writeln!(
            text,
            "<http://e/u{i}> <http://e/knows> <http://e/u{}> .",
            (i * 7 + 1) % 30
        )
        .expect("text grows");
        text
    });
    let loaded = load_nquads(ring, &Configuration::default());
    let links: Vec<String> = (0..130)
        .map(|i| format!("?x{i} :knows ?x{} .", i + 1))
        .collect();
    let (even, odd) = (links.iter().step_by(2), links.iter().skip(1).step_by(2));
    let mixed: Vec<&str> = even.chain(odd).map(String::as_str).collect();
    let query = format!("SELECT (COUNT(*) AS ?n) {{ {} }}", mixed.join(" "));
    assert_eq!(number(&loaded, &query, &default_options()), Ok(30));
}

#[test]
fn paths_give_all_when_the_index_has_no_room() {
    let mut text = String::new();
    let (chains, length) = (3_000, 8);
    for chain in 0..chains {
        for i in 0..length {
            writeln!(
                text,
                "<http://e/n{chain}_{i}> <http://e/p> <http://e/n{chain}_{}> .",
                i + 1
            )
            .expect("text grows");
        }
        writeln!(text, "<http://e/n{chain}_0> <http://e/t> \"x\" .").expect("text grows");
    }
    let loaded = load_nquads(text, &Configuration::default());
    let query = "SELECT (COUNT(*) AS ?n) { ?x :t \"x\" . ?x :p+ ?y }";
    let mut answered = 0;
    for kilobytes in [
        300, 400, 600, 800, 1_000, 1_200, 1_500, 2_000, 3_000, 100_000,
    ] {
        let mut options = options_of(0, 4);
        options.exec.memory_bytes_max = kilobytes << 10;
        match number(&loaded, query, &options) {
            Ok(count) => {
                assert_eq!(count, chains * length, "{kilobytes} KB");
                answered += 1;
            }
            Err(error) => assert!(error.contains("memory limit"), "{error}"),
        }
    }
    assert!(answered >= 3, "{answered}");
}

#[test]
fn what_links_to_a_hub_is_scanned_where_it_is_much() {
    let mut text = String::new();
    for i in 0..60_000 {
        writeln!(
            text,
            "<http://e/i{i}> <http://e/p{}> <http://e/hub> .",
            i % 3
        )
        .expect("text grows");
    }
    let loaded = load_nquads(text, &Configuration::default());
    for threads in [1, 2] {
        let options = options_of(1, threads);
        let counted = number(&loaded, "SELECT (COUNT(?p) AS ?n) { ?s ?p :hub }", &options);
        assert_eq!(counted, Ok(60_000));
        let first = ask(
            &loaded.database,
            &format!("{PREFIX}SELECT * {{ ?s ?p :hub }} LIMIT 1"),
            &options,
        );
        assert_eq!(first.map(|answer| answer.len()), Ok(1));
    }
}

#[test]
fn joins_by_what_may_be_unbound_compare_few_pairs() {
    let subjects = 60_000;
    let mut text = String::new();
    for i in 0..subjects {
        writeln!(text, "<http://e/a{i}> <http://e/kind> \"a\" .").expect("text grows");
        if i % 20_000 != 7 {
            writeln!(text, "<http://e/a{i}> <http://e/name> \"{i}\" .").expect("text grows");
        }
        writeln!(text, "<http://e/b{i}> <http://e/label> \"{i}\" .").expect("text grows");
    }
    let loaded = load_nquads(text, &Configuration::default());
    let mut options = default_options();
    options.exec.timeout = Some(Duration::from_secs(8));
    let unbound = "?a :kind \"a\" OPTIONAL { ?a :name ?v }";
    let cases = [
        // Three names are missing, and each of these fits every label.
        ("OPTIONAL { ?b :label ?v }", 59_997 + 3 * 60_000),
        ("FILTER EXISTS { ?b :label ?v }", 60_000),
        ("FILTER NOT EXISTS { ?b :label ?v }", 0),
    ];
    for (rest, expected) in cases {
        let query = format!("SELECT (COUNT(*) AS ?n) {{ {unbound} {rest} }}");
        assert_eq!(number(&loaded, &query, &options), Ok(expected), "{rest}");
    }
}

/// Limits beyond all numbers are none.
#[test]
fn limits_that_no_clock_or_count_reaches_are_none() {
    let line = |n: u32| format!("<http://e/s{n}> <http://e/p> \"{n}\" .\n");
    let loaded = load_nquads((0..3_000).map(line).collect(), &Configuration::default());
    let mut options = default_options();
    options.exec.timeout = Some(Duration::MAX);
    let query =
        format!("{PREFIX}SELECT ?o {{ ?s :p ?o }} ORDER BY ?o LIMIT 9223372036854775807 OFFSET 1");
    let answer = ask(&loaded.database, &query, &options);
    assert_eq!(answer.map(|answer| answer.len()), Ok(2_999));
}
