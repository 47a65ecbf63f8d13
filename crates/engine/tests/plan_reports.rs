//! EXPLAIN and PROFILE as people and programs read them: text and JSON say the same, and what is said of a run is
//! true: rows are those of the answer, times add up, memory and spilled bytes belong to the operator that took them.

use basalt_engine::{Answer, Database, GraphFormat, Prepared, QueryOptions};
use serde_json::Value;

/// Offers of vendors; enough for several morsels and for a sort that does not fit in little memory.
fn database(offers: usize) -> Database {
    let mut text = String::new();
    for offer in 0..offers {
        let (vendor, price) = (offer % 50, offer * 7919 % 10_007);
        text.push_str(&format!(
            "<http://e/offer{offer}> <http://e/vendor> <http://e/vendor{vendor}> ;\n\
             <http://e/price> {price} ; <http://e/note> \"offer number {offer}\" .\n"
        ));
    }
    for vendor in 0..50 {
        let country = vendor % 7;
        text.push_str(&format!(
            "<http://e/vendor{vendor}> <http://e/name> \"vendor {vendor}\" ; <http://e/country> \"{country}\" .\n"
        ));
    }
    let database = Database::in_memory();
    database
        .load_text(&text, GraphFormat::Turtle)
        .expect("the data loads");
    database
}

const QUERIES: [&str; 7] = [
    "SELECT * { ?o <http://e/price> ?p ; <http://e/vendor> ?v . ?v <http://e/country> \"3\" }",
    "SELECT ?v (COUNT(*) AS ?n) { ?o <http://e/vendor> ?v } GROUP BY ?v",
    "SELECT ?o { ?o <http://e/price> ?p ; <http://e/note> ?n } ORDER BY ?n",
    "SELECT ?o { ?o <http://e/price> ?p } LIMIT 3",
    "SELECT ?v { ?v <http://e/name> ?n FILTER EXISTS { ?o <http://e/vendor> ?v ; <http://e/price> ?p FILTER(?p < 40) } }",
    "SELECT ?a ?b { ?a <http://e/price> ?p . ?b <http://e/price> ?p FILTER(?a != ?b) }",
    "SELECT * { ?o <http://e/nothing> ?x . ?o <http://e/price> ?p }",
];

fn rows_of(database: &Database, query: &str, options: &QueryOptions) -> u64 {
    let Answer::Solutions(solutions) = database.query(query, options).expect("the query runs")
    else {
        unreachable!("all are SELECT")
    };
    solutions.into_rows().expect("the rows are read").len() as u64
}

fn prepared(database: &Database, query: &str, options: &QueryOptions) -> Prepared {
    database.prepare(query, options).expect("the query plans")
}

/// Visits each operator, parents first.
fn visit<'a>(node: &'a Value, each: &mut dyn FnMut(&'a Value)) {
    each(node);
    for name in ["exists", "inputs"] {
        for below in node[name].as_array().into_iter().flatten() {
            visit(below, each);
        }
    }
}

fn number(node: &Value, name: &str) -> f64 {
    node[name]
        .as_f64()
        .unwrap_or_else(|| unreachable!("{name} of {node}"))
}

/// The operators of a plan; their times must add up.
fn operators(json: &Value) -> Vec<&Value> {
    let mut all = Vec::new();
    visit(&json["plan"], &mut |node| all.push(node));
    for node in &all {
        let actual = &node["actual"];
        let mut below = 0.0;
        for name in ["exists", "inputs"] {
            for inside in node[name].as_array().into_iter().flatten() {
                below += number(&inside["actual"], "time_ms");
            }
        }
        let own = number(actual, "own_time_ms");
        let error = number(actual, "time_ms") - own - below;
        assert!(error.abs() < 1e-6, "{node}");
    }
    all
}

#[test]
fn json_is_read_back_and_tells_the_rows_of_the_answer() {
    let database = database(20_000);
    for threads in [1, 2] {
        let mut options = QueryOptions::default();
        options.exec.threads = threads;
        options.exec.alone_for = std::time::Duration::ZERO;
        for query in QUERIES {
            let rows = rows_of(&database, query, &options);
            let report = prepared(&database, query, &options).profile(&options);
            let report = report.expect("the query runs");
            let text = report.to_json().to_string();
            let json: Value = serde_json::from_str(&text).expect("the report is JSON");
            let said = [&json["run"]["rows"], &json["plan"]["actual"]["rows"]];
            assert_eq!(said, [rows, rows], "{query}\n{text}");
            let all = operators(&json);
            let lines = report.to_text();
            for node in &all {
                let line = node["text"].as_str().expect("a text");
                assert!(lines.contains(line), "{line} is in\n{lines}");
                let name = node["operator"].as_str().expect("a name");
                assert!(line.starts_with(name), "{line}");
            }
            let is_scan = |n: &&&Value| n["operator"] == "StarScan";
            let complete = |n: &Value| n["actual"]["is_complete"] == true;
            if query.contains("LIMIT") {
                assert!(!all.iter().filter(is_scan).all(|n| complete(n)), "{lines}");
                assert!(lines.contains("(not to its end)"), "{lines}");
            }
        }
    }
}

#[test]
fn rows_of_each_operator_are_those_of_its_part_of_the_query() {
    let database = database(7_000);
    let options = QueryOptions::default();
    let query = QUERIES[0];
    let report = prepared(&database, query, &options).profile(&options);
    let json = report.expect("the query runs").to_json();
    let vendors = rows_of(
        &database,
        "SELECT * { ?v <http://e/country> \"3\" }",
        &options,
    );
    let all = operators(&json);
    let leaf = all.last().expect("there is a leaf");
    assert_eq!(leaf["actual"]["rows"], vendors, "{json}");
    assert_eq!(leaf["access"], "rows", "{json}");
    assert_eq!(leaf["actual"]["read_rows"], vendors, "{json}");
    assert_eq!(
        leaf["actual"]["compared_rows"], 50,
        "of all vendors: {json}"
    );
    let read: f64 = all.iter().map(|n| number(&n["actual"], "read_rows")).sum();
    assert_eq!(number(&json["run"], "read_rows"), read, "{json}");
    let has_table = |node: &&Value| node["tables"].as_array().is_some_and(|t| t.len() == 1);
    assert_eq!(all.iter().filter(|node| has_table(node)).count(), 2);
    let with_alternative = |node: &&Value| {
        let cost = &node["alternative"]["estimated_cost_ms"];
        cost.as_f64()
            .is_some_and(|cost| cost >= number(node, "estimated_cost_ms"))
    };
    assert!(all.iter().any(with_alternative), "{json}");
}

#[test]
fn memory_and_spilled_bytes_are_those_of_the_operator() {
    let database = database(30_000);
    for threads in [1, 2] {
        let mut options = QueryOptions::default();
        options.exec.threads = threads;
        options.exec.alone_for = std::time::Duration::ZERO;
        let measured = |options: &QueryOptions| {
            let report = prepared(&database, QUERIES[2], options).profile(options);
            report.expect("the query runs").to_json()
        };
        let sort = |json: &Value| {
            let all = operators(json);
            let found = all.into_iter().find(|node| node["operator"] == "OrderBy");
            found.expect("there is a sort")["actual"].clone()
        };
        let plenty = measured(&options);
        let sorted = sort(&plenty);
        assert!(number(&sorted, "memory_bytes") > 30_000.0 * 8.0, "{plenty}");
        assert_eq!(sorted["spilled_bytes"], 0, "{plenty}");
        options.exec.memory_bytes_max = 1 << 20;
        let little = measured(&options);
        let sorted = sort(&little);
        assert!(number(&sorted, "spilled_bytes") > 0.0, "{little}");
        assert_eq!(sorted["spilled_bytes"], little["run"]["spilled_bytes"]);
        let held = number(&little["run"], "memory_bytes");
        assert!(number(&sorted, "memory_bytes") <= held, "{little}");
        assert!(held <= f64::from(1 << 20), "{little}");
        for node in operators(&little) {
            if node["operator"] == "StarScan" {
                assert_eq!(node["actual"]["memory_bytes"], 0, "{node}");
            }
        }
    }
}

#[test]
fn what_was_not_run_has_nothing_measured() {
    let database = database(10);
    let options = QueryOptions::default();
    let prepared = prepared(&database, QUERIES[0], &options);
    let json = prepared.explain().to_json();
    assert!(json["run"].is_null(), "{json}");
    visit(&json["plan"], &mut |node| {
        assert!(node["actual"].is_null(), "{node}");
        assert!(number(node, "estimated_rows") >= 0.0);
    });
    assert!(!prepared.explain().to_text().contains("actual="));
}

#[test]
fn plans_of_a_template_have_a_shape_for_each_magnitude_of_cost() {
    let things = (0..9_000).map(|thing| {
        let kind = match thing {
            0..3 => "few",
            3..7 => "some",
            _ => "most",
        };
        format!("<http://e/{thing}> a <http://e/{kind}> ; <http://e/name> \"{thing}\" .\n")
    });
    let database = Database::in_memory();
    database
        .load_text(&things.collect::<String>(), GraphFormat::Turtle)
        .expect("the data loads");
    let shape = |kind: &str| {
        let text = format!("SELECT ?n {{ ?x a <http://e/{kind}> ; <http://e/name> ?n }}");
        prepared(&database, &text, &QueryOptions::default()).shape
    };
    assert_eq!(shape("few"), shape("some"));
    assert_ne!(shape("few"), shape("most"));
}
