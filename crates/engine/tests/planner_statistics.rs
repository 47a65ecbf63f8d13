//! Statistics that go to a file and give the same plans without the data; and files that are damaged.

mod support;

use basalt_bsbm::{Draw, GenerateOptions, ParameterPool, UseCase, generate_to, query_text};
use basalt_engine::{Database, PlannerStatistics, QueryOptions};
use std::sync::LazyLock;
use support::{Configuration, Loaded, load_nquads, query_options};

/// The data of some products, with a change on top.
static SHOP: LazyLock<Loaded> = LazyLock::new(|| {
    let mut bytes = Vec::new();
    generate_to(&mut bytes, &GenerateOptions::new(60)).expect("the data is generated");
    let text = String::from_utf8(bytes).expect("N-Triples is UTF-8");
    let configuration = Configuration {
        is_changed: true,
        ..Configuration::default()
    };
    load_nquads(text, &configuration)
});

/// Every query of the benchmark, and some that look at rows for their conditions.
fn queries() -> Vec<String> {
    let pool = ParameterPool::from_options(60, basalt_bsbm::DEFAULT_SEED).expect("valid options");
    let mut all = Vec::new();
    for use_case in [UseCase::Explore, UseCase::Bi] {
        for number in 1..=use_case.queries() {
            for mix in 0..2 {
                let draw = Draw {
                    seed: 3,
                    mix,
                    position: u32::from(number),
                };
                let parameters = pool.draw(use_case, number, draw).expect("the query exists");
                let text = query_text(use_case, number, &parameters);
                all.push(text.expect("the parameters are complete"));
            }
        }
    }
    let prefixes = "PREFIX b: <http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/>
        PREFIX r: <http://purl.org/stuff/rev#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>";
    for text in [
        "SELECT * { ?o b:product ?p ; b:price ?price . ?p b:productFeature ?f FILTER(?price > 4000) }",
        "SELECT ?c (COUNT(DISTINCT ?r) AS ?n) { ?r b:reviewFor ?p ; r:reviewer ?who . ?who b:country ?c } GROUP BY ?c",
        "SELECT * { ?s ?p ?o . ?o rdfs:label \"no such label\"@en }",
        "SELECT * { GRAPH ?g { ?s a ?class } FILTER EXISTS { ?s rdfs:subClassOf+ ?up } }",
        "SELECT * { VALUES ?x { 1 2.5 \"a\" } ?s ?p ?x } ORDER BY ?s LIMIT 5",
    ] {
        all.push(format!("{prefixes} {text}"));
    }
    all
}

fn plan_of_store(text: &str, options: &QueryOptions) -> String {
    let prepared = SHOP.database.prepare(text, options);
    prepared.expect("it can be planned").explain().to_text()
}

fn exported() -> PlannerStatistics {
    let options = query_options(&Configuration::default());
    let statistics = PlannerStatistics::of(&SHOP.database.snapshot(), &queries(), &options);
    statistics.expect("the queries can be planned")
}

#[test]
fn the_file_gives_the_plans_of_the_store() {
    let options = query_options(&Configuration::default());
    let text = exported().to_json().expect("JSON");
    let imported = PlannerStatistics::parse(&text).expect("what was written is read");
    assert_eq!(imported, exported(), "and it is the same each time");
    assert_eq!(imported.quads(), SHOP.database.snapshot().quad_count());
    assert_eq!(imported.queries().count(), queries().len());
    for query in queries() {
        let report = imported.explain(&query, &options);
        let plan = report.expect("it can be planned").to_text();
        assert_eq!(plan, plan_of_store(&query, &options), "{query}");
    }
    // No text of the data is in it but names of predicates and what the queries and their plans say.
    assert!(!text.contains("/Reviewer"), "subjects are not told");
}

/// What one graph of several is asked for is planned by what is in it, from the file too.
#[test]
fn the_file_gives_the_plans_of_graphs() {
    let mut text = String::new();
    for thing in 0..3_000 {
        let graph = if thing % 100 == 0 { "rare" } else { "common" };
        text += &format!(
            "<http://e/t{thing}> <http://e/size> \"{}\" <http://e/{graph}> .\n",
            thing % 7
        );
        text += &format!(
            "<http://e/t{thing}> <http://e/next> <http://e/t{}> <http://e/{graph}> .\n",
            thing / 2
        );
    }
    text += "<http://e/t7> <http://e/size> \"odd\" <http://e/rare> .\n";
    let configuration = Configuration::default();
    let loaded = load_nquads(text, &configuration);
    let options = query_options(&configuration);
    let queries = [
        "SELECT * { GRAPH <http://e/rare> { ?s ?p ?o } }",
        "SELECT * { GRAPH <http://e/rare> { ?s <http://e/size> ?o ; <http://e/next> ?n . ?n <http://e/next> ?m } }",
        "SELECT * { VALUES ?g { <http://e/rare> } GRAPH ?g { ?s ?p ?o } }",
        "SELECT * { GRAPH <http://e/rare> { ?s ?p ?o . ?o ?q ?x } }",
    ]
    .map(str::to_owned);
    let statistics = PlannerStatistics::of(&loaded.database.snapshot(), &queries, &options);
    let text = statistics.and_then(|known| known.to_json()).expect("JSON");
    let imported = PlannerStatistics::parse(&text).expect("what was written is read");
    for query in &queries {
        let [here, there] = [
            loaded
                .database
                .prepare(query, &options)
                .map(|prepared| prepared.explain()),
            imported.explain(query, &options),
        ]
        .map(|report| report.expect("it can be planned").to_text());
        assert_eq!(there, here, "{query}");
    }
}

#[test]
fn other_queries_are_planned_by_counts() {
    let options = query_options(&Configuration::default());
    let imported = PlannerStatistics::of(&SHOP.database.snapshot(), &[], &options);
    let imported = imported.expect("there are no queries");
    for query in queries() {
        let report = imported
            .explain(&query, &options)
            .expect("it can be planned");
        let plan = report.to_text();
        // A constant that the file does not know is taken to be in the data; there are no named graphs.
        let is_empty = plan.starts_with("Empty");
        assert!(!is_empty || query.contains("GRAPH"), "{query}\n{plan}");
    }
    let nothing = "SELECT * { ?s <http://e/no-such-predicate> ?o }";
    let plan = imported
        .explain(nothing, &options)
        .expect("it can be planned")
        .to_text();
    assert!(plan.contains("rows"), "{plan}");
    assert!(imported.explain("SELECT * {", &options).is_err());
}

#[test]
fn a_damaged_file_is_refused_or_harmless() {
    let options = query_options(&Configuration::default());
    let queries = &queries()[..6];
    let statistics = PlannerStatistics::of(&SHOP.database.snapshot(), queries, &options);
    let text = statistics.and_then(|s| s.to_json()).expect("JSON");
    let refused = |text: &str| {
        let error = PlannerStatistics::parse(text).expect_err("it is damaged");
        let message = error.to_string();
        assert!(
            message.starts_with("the statistics cannot be used: "),
            "{message}"
        );
        message
    };
    for step in 0..40 {
        let mut end = text.len() * step / 40;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        refused(&text[..end]);
    }
    let later = text.replacen("\"version\": 1", "\"version\": 2", 1);
    assert!(refused(&later).contains("version 2"));
    assert!(refused("{\"format\": \"other\", \"version\": 1}").contains("'other'"));
    assert!(refused("{}").contains("format"));
    let table = text.replacen("\"table\": 0", "\"table\": 9999", 1);
    assert_ne!(table, text, "sets have tables");
    assert!(refused(&table).contains("table 9999"));
    let question = text.replacen("\"objects table", "\"weather table", 1);
    assert_ne!(question, text, "objects are asked for");
    assert!(refused(&question).contains("'weather table"));
    assert!(refused(&text.replacen("\"quads\": ", "\"quads\": -", 1)).contains("line"));
    // Other numbers make other plans, and nothing worse.
    for digit in ["1", "3", "7"] {
        let changed = text.replace(digit, "9");
        if let Ok(statistics) = PlannerStatistics::parse(&changed) {
            for query in queries {
                assert!(statistics.explain(query, &options).is_ok());
            }
        }
    }
}

#[test]
fn an_empty_store_keeps_them_for_explain_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let location = folder.path().join("store");
    let statistics = exported();
    assert_eq!(
        PlannerStatistics::kept_in(&location).expect("nothing is there"),
        None
    );
    statistics
        .keep_in(&location)
        .expect("an empty store is made");
    let kept = PlannerStatistics::kept_in(&location).expect("it can be read");
    assert_eq!(kept.as_ref(), Some(&statistics));
    let database = Database::open(&location).expect("it is a store");
    assert_eq!(database.snapshot().quad_count(), 0);
    database
        .check(basalt_engine::CheckDepth::Deep)
        .expect("it is whole");
    let count = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }";
    let answer = database
        .query(count, &QueryOptions::default())
        .expect("it is answered");
    let basalt_engine::Answer::Solutions(solutions) = answer else {
        unreachable!("SELECT gives solutions")
    };
    let rows = solutions.into_rows().expect("one row");
    assert_eq!(
        rows[0][0],
        Some(oxrdf::Literal::from(0).into()),
        "the store's own count"
    );
    let turtle = basalt_engine::GraphFormat::Turtle;
    database
        .load_text("<http://e/a> <http://e/p> 1 .", turtle)
        .expect("it is loaded");
    drop(database);
    let refused = statistics.keep_in(&location).expect_err("it has data");
    assert!(refused.to_string().contains("1 quads"), "{refused}");
    assert!(PlannerStatistics::remove_from(&location).expect("it is removed"));
    assert!(!PlannerStatistics::remove_from(&location).expect("it is gone"));
}
