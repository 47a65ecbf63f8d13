//! The meaning of variables, group by group, graph by graph: small queries against the naive oracle under
//! every configuration, and against Oxigraph where it can be asked.

mod semantics_queries;
mod support;

use basalt_testkit::bag::{self, Numbers};
use basalt_testkit::{Answer, Dataset, naive, oxigraph_oracle};
use semantics_queries::nearest::{BOOLEANS, INSIDE, NEAREST, WITHIN};
use semantics_queries::parts::{DISJUNCTIONS, GIVEN, GIVEN_GRAPHS, GROUPS, MINUS, SETS};
use semantics_queries::{
    CONDITIONS, DATA, EQUALITIES, EXISTS, GRAPHS, LATERAL, RANGES, SCOPES, TEXT_EQUALITIES,
    VALUE_EQUALITIES,
};
use spargebra::SparqlParser;
use support::{Configuration, ask, load, load_nquads, matrix, query_options};

fn dataset() -> Dataset {
    dataset_of(DATA)
}

fn dataset_of(nquads: &str) -> Dataset {
    let quads = oxigraph::io::RdfParser::from_format(oxigraph::io::RdfFormat::NQuads)
        .for_slice(nquads.as_bytes());
    Dataset::from_quads(quads.map(|quad| quad.expect("the data parses")))
}

fn text(query: &str) -> String {
    format!("PREFIX : <http://e/>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n{query}")
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
            let plan = plan.map_or_else(|error| error.to_string(), |plan| plan.explain().to_text());
            found.push(format!("{query}\n{what}\n{configuration:?}\n{plan}"));
        }
    }
    found
}

fn check(queries: &[&'static str]) {
    check_on(&dataset(), queries);
}

fn check_on(dataset: &Dataset, queries: &[&'static str]) {
    let with_answers = queries
        .iter()
        .map(|&query| (query, expected(dataset, query)));
    let with_answers: Vec<_> = with_answers.collect();
    let found: Vec<String> = matrix()
        .iter()
        .flat_map(|configuration| differences(dataset, configuration, &with_answers))
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
        let query_read = SparqlParser::new()
            .parse_query(&text(query))
            .expect("it parses");
        let second = oxigraph_oracle::evaluate(&dataset, &query_read);
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
fn what_must_be_one_term_is_it_everywhere() {
    check(EQUALITIES);
}

#[test]
fn equal_strings_join_as_the_condition_says() {
    check(TEXT_EQUALITIES);
}

#[test]
fn equalities_of_values_are_the_same_however_they_are_planned() {
    check(VALUE_EQUALITIES);
}

#[test]
fn conditions_mean_the_same_wherever_they_are_asked() {
    check(CONDITIONS);
}

#[test]
fn a_join_by_one_thing_or_another_has_each_pair_once() {
    check(DISJUNCTIONS);
}

#[test]
fn minus_takes_away_what_agrees_in_something_bound() {
    check(MINUS);
}

#[test]
fn equalities_with_a_given_value_are_those_of_what_it_is_given() {
    check(GIVEN);
}

#[test]
fn groups_beside_rows_are_whole() {
    check(GROUPS);
}

#[test]
fn bounded_partners_are_those_of_comparing_all() {
    check(RANGES);
}

#[test]
fn partners_at_an_end_are_those_that_not_exists_keeps() {
    check(NEAREST);
}

#[test]
fn what_is_computed_inside_an_exists_meets_what_is_around() {
    check(INSIDE);
}

#[test]
fn booleans_are_ordered_and_are_numbers_if_cast() {
    check(BOOLEANS);
}

#[test]
fn what_is_asked_within_is_asked_of_each_row() {
    check(WITHIN);
}

#[test]
fn sets_of_partners_tell_what_pairs_do() {
    check(SETS);
}

#[test]
fn a_graph_that_is_given_has_its_name_inside() {
    check(GIVEN_GRAPHS);
}

#[test]
fn the_oracles_agree() {
    let differ = [
        SCOPES,
        EXISTS,
        LATERAL,
        EQUALITIES,
        TEXT_EQUALITIES,
        VALUE_EQUALITIES,
        RANGES,
        NEAREST,
        WITHIN,
        CONDITIONS,
        DISJUNCTIONS,
        GIVEN,
        GROUPS,
        SETS,
    ]
    .concat();
    let differ = oxigraph_differs(&differ).into_iter();
    // Oxigraph counts solutions that differ in a blank node of the query alone. It evaluates GRAPH with a
    // variable for all graphs at once, so those queries are not asked of it; nor are those over several graphs, whose triples it does not merge.
    // Any term is at least itself there.
    // A decimal cast to a string has its written form there, and not that of its value; an integer has 64 bits.
    let is_known = [
        "COUNT(DISTINCT *)",
        "GRAPH ?g",
        "FROM :g1 FROM :g2",
        "#string>(?a)",
        "123456789012345678901",
        "?o >= ?",
    ];
    let unknown: Vec<&str> = differ
        .filter(|query| !is_known.iter().any(|known| query.contains(known)))
        .collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// Patterns that read the default graph, named graphs, or both.
const DATASET_PATTERNS: &[&str] = &[
    "{ ?s ?p ?o }",
    "{ ?s :p ?o . ?s :q ?x }",
    "{ ?s :p ?o OPTIONAL { ?s :q ?x } }",
    "{ ?s (:p|:q)+ ?o }",
    "{ GRAPH ?g {} }",
    "{ GRAPH ?g { ?s :p ?o } }",
    "{ GRAPH :g2 { ?s :p ?o } }",
    "{ ?s :p ?o GRAPH ?g { ?c :q ?s } }",
    "{ ?s :p ?o FILTER NOT EXISTS { GRAPH ?g { ?s :p ?o } } }",
    "{ GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?s :p ?o } } }",
];

/// What the patterns find when the graphs are given beside the query.
fn check_given(default: &[&str], named: &[&str], clauses: &str) {
    let dataset = dataset();
    let given = |names: &[&str]| {
        names
            .iter()
            .map(|name| format!("http://e/{name}"))
            .collect()
    };
    for configuration in matrix() {
        let loaded = load(&dataset, &configuration);
        let mut options = query_options(&configuration);
        options.default_graphs = given(default);
        options.named_graphs = given(named);
        for pattern in DATASET_PATTERNS {
            let expected = expected(&dataset, &format!("SELECT * {clauses} {pattern}"));
            // What stands beside the query replaces its own clauses.
            for own in ["", "FROM :g3 FROM NAMED :g3"] {
                let query = format!("SELECT * {own} {pattern}");
                let actual = ask(&loaded.database, &text(&query), &options);
                let actual = actual.unwrap_or_else(|error| unreachable!("{query}: {error}"));
                let result = bag::compare(&expected, &actual, Numbers::ByValue);
                let told = |what| format!("{query} given {clauses}\n{what}\n{configuration:?}");
                assert_eq!(result.map_err(told), Ok(()));
            }
        }
    }
}

#[test]
fn graphs_given_beside_the_query_replace_its_clauses() {
    check_given(&["g1"], &[], "FROM :g1");
    check_given(&["g1", "g2"], &[], "FROM :g1 FROM :g2");
    check_given(
        &[],
        &["g1", "nowhere"],
        "FROM NAMED :g1 FROM NAMED :nowhere",
    );
    check_given(&["nowhere"], &["g2"], "FROM :nowhere FROM NAMED :g2");
}

#[test]
fn the_union_of_all_graphs_has_each_triple_once() {
    let dataset = dataset();
    let everywhere = |mut quad: oxigraph::model::Quad| {
        quad.graph_name = oxigraph::model::GraphName::DefaultGraph;
        quad
    };
    let all = dataset.quads().iter().cloned();
    let union = Dataset::from_quads(all.clone().chain(all.map(everywhere)));
    for configuration in matrix() {
        let loaded = load(&dataset, &configuration);
        let mut options = query_options(&configuration);
        options.union_default_graph = true;
        for pattern in DATASET_PATTERNS {
            let query = format!("SELECT * {pattern}");
            let actual = ask(&loaded.database, &text(&query), &options);
            let actual = actual.unwrap_or_else(|error| unreachable!("{query}: {error}"));
            let result = bag::compare(&expected(&union, &query), &actual, Numbers::ByValue);
            let told = |what| format!("{query}\n{what}\n{configuration:?}");
            assert_eq!(result.map_err(told), Ok(()));
        }
    }
}

/// Triples of the description of `:a`, whose blank nodes are in a cycle.
#[test]
fn descriptions_follow_blank_nodes_and_end() {
    let data = r#"
<http://e/a> <http://e/p> _:x .
_:x <http://e/q> _:y .
_:y <http://e/q> _:x .
_:y <http://e/q> <http://e/b> .
<http://e/b> <http://e/p> "far" .
<http://e/a> <http://e/p> "elsewhere" <http://e/g> .
"#;
    let cases = [
        ("DESCRIBE :a", 4),
        ("DESCRIBE :nowhere", 0),
        ("DESCRIBE ?s { ?s :p \"far\" }", 1),
        ("DESCRIBE ?o { ?s :p ?o }", 3),
        ("DESCRIBE ?s :b { ?s :p ?o }", 5),
        ("DESCRIBE * { ?s :q :b }", 3),
        ("DESCRIBE :a FROM :g", 1),
        ("DESCRIBE :a FROM :nowhere", 0),
        ("DESCRIBE :a FROM NAMED :g", 0),
        ("DESCRIBE ?s { ?s :zzz ?o }", 0),
        ("DESCRIBE ?unbound {}", 0),
    ];
    for configuration in matrix() {
        let loaded = load_nquads(data.to_owned(), &configuration);
        for (query, triples) in cases {
            let answer = ask(
                &loaded.database,
                &text(query),
                &query_options(&configuration),
            );
            let count = answer.map(|answer| answer.len());
            assert_eq!(count, Ok(triples), "{query}\n{configuration:?}");
        }
        let mut options = query_options(&configuration);
        options.named_graphs = vec!["http://e/g".to_owned()];
        let answer = ask(&loaded.database, &text("DESCRIBE :a"), &options);
        assert_eq!(answer.map(|answer| answer.len()), Ok(0));
    }
}

#[test]
fn what_is_too_large_is_said_so() {
    let loaded = load(&dataset(), &Configuration::default());
    let nested = |open: &str| format!("SELECT * {{ {}{}}}", open.repeat(500), "} ".repeat(500));
    let variables: String = (0..1100).map(|n| format!("?s :p ?v{n} . ")).collect();
    let cases = [
        (nested("?s :p ?o OPTIONAL { "), "too many"),
        (nested("?s :p ?o LATERAL { "), "too many"),
        (format!("SELECT * {{ {variables} }}"), "too many variables"),
    ];
    for (query, message) in cases {
        // A parser that gives up before the planner does says so too.
        let error = ask(
            &loaded.database,
            &text(&query),
            &support::query_options(&Configuration::default()),
        );
        let error = error.expect_err("the query is too large");
        assert!(
            error.contains(message) || error.contains("nested"),
            "{error}"
        );
    }
}

/// Plans that run for each row give back what they held, remember no more than there is room for, and stop.
#[test]
fn evaluations_for_each_row_keep_to_the_limits() {
    let line = |n: u32| format!("<http://e/s{n}> <http://e/p> <http://e/o{}> .\n", n % 1500);
    let loaded = load_nquads((0..3000).map(line).collect(), &Configuration::default());
    let queries = [
        "SELECT * { ?s :p ?o FILTER EXISTS { SELECT DISTINCT ?s ?x { ?s :p ?x } } }",
        "SELECT * { ?s :p ?o FILTER EXISTS { SELECT ?s { ?s :p ?x } ORDER BY ?x LIMIT 3 } }",
        "SELECT * { ?s :p ?o LATERAL { SELECT DISTINCT ?s ?x { ?s :p ?x } } }",
        "SELECT * { ?s :p ?o LATERAL { { SELECT ?o (COUNT(*) AS ?n) { ?z :p ?o } GROUP BY ?o } } }",
    ];
    for query in queries {
        let mut options = query_options(&Configuration::default());
        options.exec.memory_bytes_max = 200_000;
        let answer = ask(&loaded.database, &text(query), &options);
        assert_eq!(answer.map(|answer| answer.len()), Ok(3000), "{query}");
        options
            .exec
            .cancel
            .store(true, std::sync::atomic::Ordering::Relaxed);
        let stopped = ask(&loaded.database, &text(query), &options).expect_err("it was cancelled");
        assert!(stopped.contains("cancel"), "{stopped}");
    }
    let sorted =
        "SELECT * { VALUES ?a { 1 2 } LATERAL { SELECT ?a ?s ?o { ?s :p ?o } ORDER BY ?o } }";
    let mut options = query_options(&Configuration::default());
    options.exec.memory_bytes_max = 20_000;
    let answer = ask(&loaded.database, &text(sorted), &options);
    assert_eq!(
        answer.map(|answer| answer.len()),
        Ok(6000),
        "it is sorted in files"
    );
    let pairs = "SELECT * { VALUES ?a { 1 2 } LATERAL {
        SELECT ?a ?s ?t { ?s :p ?o . ?t :p ?u FILTER(STR(?o) < STR(?u)) } } }";
    let refused = ask(&loaded.database, &text(pairs), &options).expect_err("it is too large");
    assert!(refused.contains("HashJoin"), "{refused}");
}

/// A triple with one variable twice is no part of a star; what is optional beside it is there all the same, or not.
#[test]
fn what_is_its_own_object_keeps_what_is_optional() {
    let data = "<http://e/a> <http://e/p> <http://e/a> .\n<http://e/a> <http://e/q> \"5\" .\n\
        <http://e/b> <http://e/p> <http://e/b> .\n<http://e/c> <http://e/p> <http://e/a> .\n";
    let loaded = load_nquads(data.to_owned(), &Configuration::default());
    let query = text("SELECT ?s ?v { ?s :p ?o OPTIONAL { ?s :q ?v } FILTER(?s = ?o) } ORDER BY ?s");
    let options = query_options(&Configuration::default());
    let answer = ask(&loaded.database, &query, &options);
    assert_eq!(answer.map(|answer| answer.len()), Ok(2));
}

/// A scan of several graphs together remembers nothing, or, where it goes quad by quad, what it gave, within the query's memory.
#[test]
fn merged_graphs_keep_to_the_limit() {
    let line = |n: u32| {
        let graph = n % 2;
        format!("<http://e/s{n}> <http://e/p> <http://e/s{n}> <http://e/g{graph}> .\n")
    };
    let loaded = load_nquads((0..20_000).map(line).collect(), &Configuration::default());
    let by_blocks = "SELECT (COUNT(?s) AS ?n) FROM :g0 FROM :g1 { ?s ?p ?o FILTER(isIRI(?o)) }";
    let by_quads = "SELECT (COUNT(?s) AS ?n) FROM :g0 FROM :g1 { ?s ?p ?s }";
    let mut options = query_options(&Configuration::default());
    let counts_all = |query: &str, options: &basalt_engine::QueryOptions| {
        let answer = ask(&loaded.database, &text(query), options).expect("there is room");
        assert!(format!("{answer:?}").contains("20000"), "{answer:?}");
    };
    counts_all(by_blocks, &options);
    counts_all(by_quads, &options);
    options.exec.memory_bytes_max = 256 << 10;
    counts_all(by_blocks, &options);
    let refused = ask(&loaded.database, &text(by_quads), &options).expect_err("it is too large");
    assert!(refused.contains("PatternScan"), "{refused}");
}

/// Escapes of characters stand for these wherever they are; what only looks like one is text, or an error.
#[test]
fn escapes_are_read_before_the_query() {
    let data = "<http://e/A> <http://e/p> \"A\\\\Users\" .\n";
    let loaded = load_nquads(data.to_owned(), &Configuration::default());
    let options = query_options(&Configuration::default());
    let answer = |query: &str| {
        let answer = ask(&loaded.database, &text(query), &options);
        answer.map(|answer| answer.len())
    };
    assert_eq!(answer(r"SELECT * { :\u0041 :p ?o FILTER(TRUE) }"), Ok(1));
    assert_eq!(answer(r"SELECT * { ?s :p '\U00000041\\Users' }"), Ok(1));
    assert_eq!(
        answer(r"SELECT * { ?s :p ?o FILTER(?o != '\u007B') \u007D"),
        Ok(1)
    );
    for bad in [
        r"SELECT * { ?s :p '\u12\éu0041' }",
        r"SELECT * { ?s :p '\Uéééé' }",
    ] {
        assert!(answer(bad).is_err(), "{bad}");
    }
}

/// One text with four spellings of two languages; `nl` has a spelling of its own in a named graph.
const SPELLINGS: &str = r#"
<http://e/a> <http://e/label> "colour"@en-GB .
<http://e/b> <http://e/label> "colour"@EN-gb .
<http://e/c> <http://e/label> "colour"@en-gb .
<http://e/d> <http://e/label> "colour"@fr .
<http://e/e> <http://e/label> "colour" .
<http://e/a> <http://e/alt> "colour"@en-GB .
<http://e/b> <http://e/alt> "colour"@en-GB .
<http://e/c> <http://e/alt> "color"@en-us .
<http://e/a> <http://e/part> <http://e/b> .
<http://e/d> <http://e/part> <http://e/c> .
<http://e/a> <http://e/label> "kleur"@NL <http://e/g> .
<http://e/b> <http://e/label> "kleur"@nl <http://e/g> .
<http://e/c> <http://e/label> "kleur"@nl <http://e/h> .
"#;

/// Queries with one text column of subjects, and the subjects.
const SPELLED: &[(&str, &str)] = &[
    ("SELECT ?s { ?s :label \"colour\"@en-GB }", "abc"),
    (
        "SELECT ?s { ?s :label \"colour\"@EN-GB . ?s :label \"colour\"@en-gb }",
        "abc",
    ),
    (
        "SELECT ?s { ?s :label \"colour\"@en-GB ; :alt \"colour\"@en-gb }",
        "ab",
    ),
    ("SELECT ?s { ?s :label \"colour\"@fr }", "d"),
    ("SELECT ?s { ?s :label \"colour\" }", "e"),
    ("SELECT ?s { ?s :alt \"color\"@en-US }", "c"),
    ("SELECT ?s { ?s :label \"colour\"@de }", ""),
    (
        "SELECT ?s { ?s :label ?l FILTER NOT EXISTS { ?s :label \"colour\"@en-gb } }",
        "de",
    ),
    (
        "SELECT ?s { ?s :label ?l FILTER EXISTS { ?s :part/:label \"colour\"@en-gb } }",
        "ad",
    ),
    (
        "SELECT ?s { ?s :label ?l MINUS { ?s :label \"colour\"@en-gb } }",
        "de",
    ),
    (
        "SELECT ?s { ?s :part ?o OPTIONAL { ?o :label \"colour\"@en-gb . ?s :alt ?x } FILTER(BOUND(?x)) }",
        "a",
    ),
    ("SELECT ?s { ?s (:part|:label)+ \"colour\"@en-gb }", "aabcd"),
    ("SELECT ?s { ?s :part*/:label \"colour\"@en-gb }", "aabcd"),
    ("SELECT ?s { ?s (:label|:alt) \"colour\"@en-gb }", "aabbc"),
    ("SELECT ?s { \"colour\"@en-gb ^:label ?s }", "abc"),
    ("SELECT ?s { \"colour\"@en-gb (^:label)+ ?s }", "abc"),
    (
        "SELECT ?s { ?s :label ?l VALUES ?l { \"colour\"@en-gb \"colour\"@fr } }",
        "abcd",
    ),
    (
        "SELECT ?s { VALUES (?s ?l) { (:a \"colour\"@en-gb) (:d UNDEF) } ?s :label ?l }",
        "ad",
    ),
    ("SELECT ?s { GRAPH ?g { ?s :label \"kleur\"@nl } }", "abc"),
    ("SELECT ?s { GRAPH :g { ?s :label \"kleur\"@NL } }", "ab"),
    ("SELECT ?s FROM :h { ?s :label \"kleur\"@NL }", "c"),
    (
        "SELECT ?s { GRAPH ?g { SELECT ?s { ?s :label \"kleur\"@nl } ORDER BY ?s LIMIT 1 } }",
        "ac",
    ),
    (
        "SELECT ?s { { ?s :label \"colour\"@en-gb } UNION { ?s :label \"colour\"@fr } }",
        "abcd",
    ),
    (
        "SELECT ?s { ?s :part ?o LATERAL { SELECT ?o { ?o :label \"colour\"@en-gb } LIMIT 1 } }",
        "ad",
    ),
];

#[test]
fn a_constant_stands_for_every_case_of_its_language_tag() {
    for configuration in matrix() {
        let loaded = load_nquads(SPELLINGS.to_owned(), &configuration);
        for (query, subjects) in SPELLED {
            let answer = ask(
                &loaded.database,
                &text(query),
                &query_options(&configuration),
            );
            let Ok(Answer::Solutions { rows, .. }) = answer else {
                unreachable!("{query}: {answer:?}");
            };
            let mut found: Vec<char> = rows
                .iter()
                .map(|row| row[0].as_ref().expect("?s is bound").to_string())
                .filter_map(|iri| iri.trim_end_matches('>').chars().last())
                .collect();
            found.sort_unstable();
            let found: String = found.into_iter().collect();
            assert_eq!(found, *subjects, "{query}\n{configuration:?}");
        }
    }
}

/// Each subject has a graph of its own, so that its row is clean and is read column by column.
#[test]
fn conditions_on_the_graph_alone_drop_clean_rows() {
    let quads: String = (0..6)
        .map(|i| {
            let graph = i % 3;
            format!(
                "<http://e/s{i}> <http://e/p> \"{i}\" <http://e/g{graph}> .\n\
                     <http://e/t{i}> <http://e/q> <http://e/s{i}> <http://e/g{graph}> .\n"
            )
        })
        .collect();
    check_on(
        &dataset_of(&quads),
        &[
            "SELECT ?nothing { GRAPH ?g { ?s :p ?o } FILTER(!(?g != :g1)) }",
            "SELECT ?s { GRAPH ?g { ?s :p ?o } FILTER(!(?g != :nowhere)) }",
            "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s :p ?o } FILTER(STRENDS(STR(?g), '2')) }",
            "SELECT ?t ?o { GRAPH ?g { ?t :q ?s . ?s :p ?o } FILTER(STRENDS(STR(?g), '1')) }",
            "SELECT ?t ?o { ?t :r ?x . GRAPH ?g { ?t :q ?s } FILTER(STRENDS(STR(?g), '1')) }",
        ],
    );
}
