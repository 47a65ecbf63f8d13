//! Counts from statistics against the general plan and the naive oracle, in every layout.
//!
//! The rule `count_scan` is switched off for the second opinion. Data have subjects in several graphs and
//! triples that repeat in several graphs; the empty store and a store of one graph are asked too.

mod support;

use basalt_engine::ForceJoin;
use basalt_testkit::random_data::{DataOptions, random_dataset};
use basalt_testkit::{Answer, Dataset, naive};
use oxrdf::{NamedNode, Quad};
use spargebra::SparqlParser;
use support::{Configuration, LAYOUTS, Loaded, ask, load, query_options, same_answers};

/// Questions that statistics answer, at least in some datasets.
const QUERIES: &[&str] = &[
    "SELECT DISTINCT ?p FROMS { ?s ?p ?o } ORDER BY ?p LIMIT 500",
    "SELECT ?p (COUNT(*) AS ?n) FROMS { ?s ?p ?o } GROUP BY ?p",
    "SELECT ?p (COUNT(?s) AS ?n) (COUNT(DISTINCT ?s) AS ?m) FROMS { ?s ?p ?o } GROUP BY ?p",
    "SELECT ?p (COUNT(*) AS ?n) FROMS { ?s ?p ?o } GROUP BY ?p HAVING (COUNT(*) > 3) ORDER BY DESC(?n) ?p LIMIT 4",
    "SELECT ?p (COUNT(*) AS ?n) FROMS { ?s ?p ?o FILTER(?p != :label && ?p != :name) } GROUP BY ?p",
    "SELECT (COUNT(*) AS ?n) FROMS { ?s ?p ?o }",
    "SELECT (COUNT(DISTINCT ?p) AS ?n) (COUNT(DISTINCT ?s) AS ?m) FROMS { ?s ?p ?o }",
    "SELECT (COUNT(*) AS ?n) FROMS { ?s :city ?o }",
    "SELECT (COUNT(DISTINCT ?s) AS ?n) (COUNT(?o) AS ?m) (COUNT(DISTINCT ?o) AS ?k) FROMS { ?s :city ?o }",
    "SELECT (COUNT(*) AS ?n) FROMS { ?s a :Person }",
    "SELECT (COUNT(DISTINCT ?s) AS ?n) FROMS { ?s a :Person }",
    "SELECT ?p (COUNT(*) AS ?n) FROMS { ?s ?p :Person } GROUP BY ?p",
    "SELECT ?c (COUNT(?s) AS ?n) FROMS { ?s a ?c } GROUP BY ?c",
    "SELECT ?c (COUNT(DISTINCT ?s) AS ?n) FROMS { ?s a ?c } GROUP BY ?c ORDER BY DESC(?n) LIMIT 100",
    "SELECT DISTINCT ?c FROMS { ?s a ?c }",
    "SELECT ?v (COUNT(*) AS ?n) FROMS { ?s :active ?v } GROUP BY ?v",
    "SELECT ?g (COUNT(*) AS ?n) (COUNT(DISTINCT ?p) AS ?m) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g",
    "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }",
    "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s a ?c } } GROUP BY ?g",
    "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s a :Person } } GROUP BY ?g",
    "SELECT ?p (COUNT(DISTINCT ?g) AS ?n) (COUNT(*) AS ?m) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?p",
    "SELECT (COUNT(*) AS ?n) (COUNT(DISTINCT ?g) AS ?m) (COUNT(DISTINCT ?s) AS ?k) { GRAPH ?g { ?s ?p ?o } }",
    "SELECT (COUNT(*) AS ?n) { GRAPH :g1 { ?s ?p ?o } }",
    "SELECT ?c (COUNT(*) AS ?n) { GRAPH :g1 { ?s a ?c } } GROUP BY ?c",
    "SELECT (COUNT(*) AS ?k) FROMS { { SELECT DISTINCT ?p { ?s ?p ?o } } }",
    "SELECT ?c ?n ?l FROMS { { SELECT ?c (COUNT(*) AS ?n) { ?s a ?c } GROUP BY ?c } OPTIONAL { ?c :label ?l } }",
    "SELECT ?p ?n FROMS { { SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p } FILTER EXISTS { ?x ?p ?y } }",
    "SELECT * FROMS { ?s a ?c FILTER EXISTS { SELECT ?s (COUNT(*) AS ?n) { ?s :city ?o } GROUP BY ?s } }",
    "SELECT ?c (COUNT(?x) AS ?n) FROMS { ?c :name ?l . ?x :city ?c } GROUP BY ?c",
    "SELECT ?c (COUNT(*) AS ?n) FROMS { ?c :near ?d . ?x :city ?c } GROUP BY ?c",
    "SELECT ?l (COUNT(?x) AS ?n) FROMS { ?c :name ?l . ?x :city ?c } GROUP BY ?l HAVING (COUNT(?x) > 1)",
    "SELECT ?b (COUNT(*) AS ?n) FROMS { ?r :by ?b ; :rating ?k . ?x :knows ?b } GROUP BY ?b ORDER BY DESC(?n) ?b",
    "SELECT ?c (COUNT(*) AS ?n) { ?c :name ?l . GRAPH ?g { ?x :city ?c } } GROUP BY ?c",
    "SELECT ?c (COUNT(*) AS ?n) { GRAPH :g1 { ?c :name ?l . ?x :city ?c } } GROUP BY ?c",
    "SELECT ?a (COUNT(*) AS ?n) { ?s :active ?a ; :label ?l . ?x :active ?a } GROUP BY ?a",
    "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?a a :Person } GRAPH ?g { ?s ?p ?o } } GROUP BY ?g",
    "SELECT ?g ?a (COUNT(?s) AS ?n) { GRAPH ?g { ?a a :Person } GRAPH ?g { ?s :city ?o } } GROUP BY ?g ?a",
    "SELECT ?p (COUNT(*) AS ?n) FROMS { ?x ?p :Person . ?s ?p ?o } GROUP BY ?p",
    "SELECT ?x (COUNT(*) AS ?n) FROMS { ?x ?p ?c . ?c :name ?l . ?s ?p ?o } GROUP BY ?x",
    "SELECT ?c ?l ?n FROMS { ?c :name ?l { SELECT ?c (COUNT(?x) AS ?n) { ?x :city ?c } GROUP BY ?c } }",
    "SELECT ?l ?n FROMS { ?x :by ?b ; :about ?t . ?b :name ?l { SELECT ?b (COUNT(*) AS ?n) { ?y :knows ?b } GROUP BY ?b } }",
    "SELECT ?c ?d { ?c :near ?d { SELECT ?c (COUNT(*) AS ?n) { GRAPH ?g { ?x :city ?c } } GROUP BY ?c } FILTER(?n > 1) }",
    "SELECT ?s ?a ?n FROMS { ?s :active ?a { SELECT ?a (COUNT(*) AS ?n) { ?x :active ?a } GROUP BY ?a } }",
    "SELECT (COUNT(*) AS ?n) FROMS { ?x :rating ?k . ?y :rating ?k }",
    "SELECT ?b (COUNT(*) AS ?n) FROMS { ?x :rating ?k ; :by ?b . ?y :rating ?k } GROUP BY ?b",
    "ASK FROMS { ?s ?p ?o }",
    "ASK { GRAPH ?g { ?s ?p ?o } }",
];

const PREFIX: &str = "PREFIX : <http://example.org/> ";

/// The texts of a query: alone, and over merges of graphs if it says where.
fn texts(query: &str) -> Vec<String> {
    let mut texts = vec![format!("{PREFIX}{}", query.replace("FROMS", ""))];
    if query.contains("FROMS") {
        for from in ["FROM :g1 FROM :g2", "FROM :g0", "FROM :unknown"] {
            let text = query.replace("FROMS {", &format!("{from} {{"));
            texts.push(format!("{PREFIX}{}", text.replace("ASK FROMS", "ASK")));
        }
    }
    texts
}

fn same(expected: &Answer, actual: &Answer, text: &str, how: &str) {
    same_answers(expected, actual, &format!("{how}\n{text}"));
}

/// Asks everything with the rule and without, and of the oracle.
fn check(dataset: &Dataset, loaded: &Loaded, configuration: &Configuration) {
    let (mut counted, mut for_rows) = (0, 0);
    for text in QUERIES.iter().flat_map(|query| texts(query)) {
        for union in [false, true] {
            let mut with = query_options(configuration);
            with.union_default_graph = union;
            let mut without = with.clone();
            without.disabled_rules.push("count_scan".to_owned());
            let plan = loaded.database.prepare(&text, &with).expect("it plans");
            counted += u32::from(plan.explain().to_text().contains("CountScan"));
            let how = format!(
                "{configuration:?} union={union}\n{}",
                plan.explain().to_text()
            );
            let mut indexed = with.clone();
            indexed.force_join = Some(ForceJoin::Index);
            let plan = loaded.database.prepare(&text, &indexed).expect("it plans");
            let plan = plan.explain().to_text();
            for_rows += u32::from(plan.contains("CountJoin"));
            let general = ask(&loaded.database, &text, &without).expect("it runs");
            let answer = ask(&loaded.database, &text, &with).expect("it runs");
            same(&general, &answer, &text, &how);
            let answer_by_row = ask(&loaded.database, &text, &indexed).expect("it runs");
            same(&general, &answer_by_row, &text, &plan);
            if !union {
                let query = SparqlParser::new().parse_query(&text).expect("it parses");
                if let Ok(expected) = naive::evaluate(dataset, &query) {
                    same(&expected, &answer, &text, &how);
                }
            }
        }
    }
    // An empty store is known to have no solutions before anything is counted.
    let least = if dataset.quads().is_empty() { 0 } else { 40 };
    assert!(
        counted >= least,
        "only {counted} plans count from statistics"
    );
    assert!(
        for_rows * 5 >= least,
        "only {for_rows} plans count for each row"
    );
}

fn configurations() -> Vec<Configuration> {
    let both = LAYOUTS.iter().enumerate();
    both.map(|(idx, &layout)| Configuration {
        layout,
        threads: 1 + idx % 2,
        batch_rows: [2048, 1, 7][idx % 3],
        is_reopened: idx % 2 == 1,
        ..Configuration::default()
    })
    .flat_map(|loaded| {
        let changed = Configuration {
            is_changed: true,
            ..loaded
        };
        [loaded, changed]
    })
    .collect()
}

#[test]
fn counts_from_statistics_are_exact() {
    for seed in 0..5 {
        let dataset = random_dataset(seed, DataOptions::default());
        for configuration in configurations() {
            let loaded = load(&dataset, &configuration);
            check(&dataset, &loaded, &configuration);
        }
    }
}

#[test]
fn an_empty_store_and_a_store_of_one_graph_are_counted() {
    let whole = random_dataset(9, DataOptions::default());
    let quads = whole.quads().iter();
    let one_graph = quads.filter(|q| q.graph_name.is_default_graph());
    let one_graph = Dataset::from_quads(one_graph.cloned());
    let name = NamedNode::new_unchecked("http://example.org/g1");
    let renamed = one_graph.quads().iter().map(|quad| Quad {
        graph_name: name.clone().into(),
        ..quad.clone()
    });
    let named = Dataset::from_quads(renamed);
    for dataset in [Dataset::default(), one_graph, named] {
        for configuration in configurations() {
            let loaded = load(&dataset, &configuration);
            check(&dataset, &loaded, &configuration);
        }
    }
}
