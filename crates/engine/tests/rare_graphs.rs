//! What is asked of one graph of many reads the rows in that graph, whatever else their tables hold; answers are those of a store that has no
//! tables, in every layout and beside changes.

mod support;

use basalt_engine::{Database, ForceJoin, Layout, QueryOptions};
use std::fmt::Write;
use support::{Configuration, LAYOUTS, ask, load_nquads, query_options, read_rows, same_answers};

const NS: &str = "http://example.org/";
const DOCUMENTS: usize = 400;
const THINGS: usize = 5;

/// Documents, each in a graph of its own that tells of five things; every tenth repeats a quad of the one before.
fn documents(count: usize) -> String {
    let mut text = String::new();
    for document in 0..count {
        let mut quad = |subject: String, predicate: &str, object: String| {
            let graph = format!("<{NS}document{document}>");
            writeln!(text, "<{NS}{subject}> <{NS}{predicate}> {object} {graph} .")
                .expect("text takes all");
        };
        for thing in 0..THINGS {
            let subject = || format!("thing{document}-{thing}");
            quad(subject(), "kind", format!("<{NS}Kind{}>", thing % 2));
            quad(subject(), "label", format!("\"thing {thing}\""));
            quad(subject(), "size", format!("\"{}\"", document * 7 % 100));
            let next = format!("<{NS}thing{document}-{}>", (thing + 1) % THINGS);
            quad(subject(), "next", next);
            if thing % 2 == 0 {
                let other = format!("<{NS}thing{}-{thing}>", document * 31 % count);
                quad(subject(), "see", other);
            }
        }
        quad(
            format!("document{document}"),
            "date",
            format!("\"day {}\"", document % 30),
        );
        if document % 10 == 0 {
            let before = (document + count - 1) % count;
            quad(
                format!("thing{before}-0"),
                "label",
                "\"thing 0\"".to_owned(),
            );
        }
    }
    text
}

/// Rows that each of the queries may read: those of some documents, and the subjects that are in two graphs, which are forty.
const READ_MAX: u64 = 150;

const QUERIES: &[&str] = &[
    "SELECT * { GRAPH :document0 { ?s ?p ?o } }",
    "SELECT * { GRAPH :document1 { ?s :kind :Kind0 ; :label ?l } }",
    "SELECT * { GRAPH :document1 { ?s :next ?t . ?t :label ?l } }",
    "SELECT * { GRAPH :document1 { ?s :see ?t } GRAPH ?g { ?t :size ?n } }",
    "SELECT * { GRAPH :document1 { ?s :label ?l OPTIONAL { ?s :see ?t } FILTER NOT EXISTS { ?s :size '5' } } }",
    "SELECT ?k (COUNT(*) AS ?n) { GRAPH :document1 { ?s :kind ?k ; :size ?z } GRAPH ?g { ?o :see ?s } } GROUP BY ?k",
    "SELECT * FROM :document0 FROM :document1 { ?s ?p ?o }",
    "SELECT * FROM NAMED :document0 FROM NAMED :document2 { GRAPH ?g { ?s ?p ?o } }",
    "SELECT * { VALUES ?g { :document0 :document2 } GRAPH ?g { ?s ?p ?o } }",
    "SELECT * { GRAPH ?g { :thing1-1 :next ?t } GRAPH ?g { ?s ?p ?o } }",
    "SELECT * { GRAPH :document0 { ?s ?p ?o FILTER(ISIRI(?o)) } }",
    "SELECT ?p (COUNT(*) AS ?n) { GRAPH :document0 { ?s ?p ?o } } GROUP BY ?p",
    "SELECT * { GRAPH :nothing { ?s ?p ?o } }",
    "SELECT * { GRAPH :nothing { ?s :label ?l ; :size ?z } }",
];

fn text_of(query: &str) -> String {
    format!("PREFIX : <{NS}> {query}")
}

/// Rows that a query reads.
fn read(database: &Database, query: &str) -> u64 {
    let options = QueryOptions::default();
    let prepared = database
        .prepare(&text_of(query), &options)
        .expect("it plans");
    read_rows(&prepared.profile(&options).expect("it runs").root)
}

#[test]
fn rows_of_other_graphs_are_not_read() {
    let loaded = load_nquads(documents(DOCUMENTS), &Configuration::default());
    for query in QUERIES {
        let read = read(&loaded.database, query);
        assert!(read <= READ_MAX, "{query}: {read} rows");
    }
    // Of what is in every graph all is read.
    assert!(
        read(
            &loaded.database,
            "SELECT * { GRAPH ?g { ?s :label ?l ; :size ?z } }"
        ) > 1_000
    );
}

#[test]
fn answers_are_those_of_a_store_without_tables() {
    // Where documents are few, each is a good part of what is scanned.
    for count in [3, DOCUMENTS] {
        answers_of_documents(count);
    }
}

fn answers_of_documents(count: usize) {
    let without = Configuration {
        layout: Layout::AllIrregular,
        threads: 1,
        ..Configuration::default()
    };
    let oracle = load_nquads(documents(count), &without);
    for (number, layout) in LAYOUTS.into_iter().chain(LAYOUTS).enumerate() {
        let configuration = Configuration {
            layout,
            threads: 1 + number % 2,
            batch_rows: [2048, 3, 7][number % 3],
            is_changed: number >= LAYOUTS.len(),
            ..Configuration::default()
        };
        let loaded = load_nquads(documents(count), &configuration);
        for query in QUERIES {
            let text = text_of(query);
            let expected = ask(&oracle.database, &text, &query_options(&without));
            let found = ask(&loaded.database, &text, &query_options(&configuration));
            let (expected, found) = (expected.expect("it runs"), found.expect("it runs"));
            same_answers(&expected, &found, &format!("{query}\n{configuration:?}"));
        }
    }
}

const IN_ONE_GRAPH: &str =
    "SELECT * { GRAPH ?g { :thing1-1 :next ?t } GRAPH ?g { ?x :kind ?k ; :size ?z } }";

/// What is in the graph of a row is looked up by the graph, whether it is in cells, irregular or changed, and nothing else is read.
#[test]
fn a_graph_leads_to_what_is_in_it() {
    let queries = [
        IN_ONE_GRAPH,
        "SELECT * { GRAPH ?g { :document1 :date ?d } GRAPH ?g { ?x :kind :Kind0 ; :label ?l } }",
        "SELECT * { GRAPH ?g { :thing1-1 :next ?t } OPTIONAL { GRAPH ?g { ?x :see ?y } } }",
        "SELECT * { GRAPH ?g { :thing9-0 :label ?t } GRAPH ?g { ?x :label ?l } }",
        "SELECT * { GRAPH ?g { ?d :date 'day 7' } FILTER EXISTS { GRAPH ?g { ?x :size '49' } } }",
    ];
    let hash = QueryOptions {
        force_join: Some(ForceJoin::Hash),
        ..QueryOptions::default()
    };
    let index = QueryOptions {
        force_join: Some(ForceJoin::Index),
        ..QueryOptions::default()
    };
    for layout in LAYOUTS {
        for is_changed in [false, true] {
            let configuration = Configuration {
                layout,
                is_changed,
                ..Configuration::default()
            };
            let loaded = load_nquads(documents(DOCUMENTS), &configuration);
            for query in queries.map(text_of) {
                let prepared = loaded.database.prepare(&query, &index).expect("it plans");
                let plan = prepared.explain().to_text();
                assert!(plan.contains("by graph"), "{plan}");
                let [expected, found] = [&hash, &index]
                    .map(|options| ask(&loaded.database, &query, options).expect("it runs"));
                same_answers(&expected, &found, &plan);
            }
        }
    }
    let loaded = load_nquads(documents(DOCUMENTS), &Configuration::default());
    let read = read(&loaded.database, IN_ONE_GRAPH);
    assert!(read <= 3 * THINGS as u64, "{read} rows");
}

/// A scan that is joined by its graph turns away rows of other graphs.
#[test]
fn graphs_of_a_join_are_tested_by_scans() {
    let query = text_of(IN_ONE_GRAPH);
    let options = QueryOptions {
        force_join: Some(ForceJoin::Hash),
        reduce_always: true,
        ..QueryOptions::default()
    };
    for is_changed in [false, true] {
        let configuration = Configuration {
            is_changed,
            ..Configuration::default()
        };
        let loaded = load_nquads(documents(DOCUMENTS), &configuration);
        let prepared = loaded.database.prepare(&query, &options).expect("it plans");
        let report = prepared.profile(&options).expect("it runs");
        let plan = report.to_text();
        assert!(plan.contains("reduced by ?g"), "{plan}");
        assert_eq!(
            report.run.map(|run| run.rows),
            Some(THINGS as u64),
            "{plan}"
        );
        let mut without = options.clone();
        without.disabled_rules.push("reduce_scans".to_owned());
        let [expected, found] = [&without, &options]
            .map(|options| ask(&loaded.database, &query, options).expect("it runs"));
        same_answers(&expected, &found, &plan);
    }
}

/// Updates of one graph: what is in it goes, and nothing else.
#[test]
fn a_graph_is_emptied_alone() {
    let updates = [
        "DELETE WHERE { GRAPH :document1 { ?s ?p ?o } }",
        "DROP GRAPH :document1",
        "DELETE { GRAPH :document1 { ?s ?p ?o } } WHERE { GRAPH :document1 { ?s ?p ?o } }",
    ];
    for update in updates {
        let loaded = load_nquads(documents(DOCUMENTS), &Configuration::default());
        let count = |graph: &str| {
            let query = text_of(&format!("SELECT * {{ GRAPH {graph} {{ ?s ?p ?o }} }}"));
            let found = ask(&loaded.database, &query, &QueryOptions::default());
            match found.expect("it runs") {
                basalt_testkit::Answer::Solutions { rows, .. } => rows.len(),
                _ => 0,
            }
        };
        let before = [":document0", ":document1", ":document2", "?g"].map(count);
        let outcome = loaded
            .database
            .update(&text_of(update), &Default::default());
        outcome.expect("the graph goes");
        let after = [":document0", ":document1", ":document2", "?g"].map(count);
        assert_eq!(after[..1], before[..1], "{update}");
        assert_eq!(after[1..3], [0, before[2]], "{update}");
        assert_eq!(after[3], before[3] - before[1], "{update}");
    }
}

/// The graph of a quad follows from its subject: both together leave as many rows as the subject alone.
#[test]
fn graphs_and_subjects_are_not_taken_for_independent() {
    let loaded = load_nquads(documents(DOCUMENTS), &Configuration::default());
    let query = text_of("SELECT * { GRAPH ?g { ?s :see ?t } GRAPH ?g { ?r :next ?s } }");
    let options = QueryOptions::default();
    let prepared = loaded.database.prepare(&query, &options).expect("it plans");
    let report = prepared.profile(&options).expect("it runs");
    let found = report.run.map_or(0, |run| run.rows) as f64;
    let expected = report.root.estimated_rows;
    assert!(found > 1_000.0, "{}", report.to_text());
    assert!(
        (found / 3.0..found * 3.0).contains(&expected),
        "{}",
        report.to_text()
    );
}
