//! The naive oracle on the W3C query-evaluation suites of SPARQL 1.1 and 1.0.
//!
//! The suites are found by `RDF_TESTS_DIR`; without them the test says that it was skipped.

use basalt_testkit::expectation::expectation;
use basalt_testkit::naive::NaiveError;
use basalt_testkit::w3c_sparql::{QueryTest, SPARQL_1_0, read_manifest, suite_folder};
use spargebra::SparqlParser;
use std::path::Path;

/// Entries the oracle is not held to, each with the reason.
const IGNORED: &[(&str, &str)] = &[
    (
        "case-insensitive-booleans",
        "the parser takes `TRUE` for no keyword",
    ),
    (
        "date-2",
        "written before xsd:date was comparable: the oracle compares dates by value",
    ),
    (
        "dawg-optional-filter-005-simplified",
        "wants groups simplified where 005-not-simplified, which passes, keeps them",
    ),
];

/// Whether a test passes; nothing if it uses what the oracle refuses.
fn outcome(test: &QueryTest) -> Result<Option<()>, String> {
    let text = test.query_text().map_err(|e| e.to_string())?;
    let query = SparqlParser::new()
        .with_base_iri(test.base_iri())
        .map_err(|e| e.to_string())?
        .parse_query(&text)
        .map_err(|e| e.to_string())?;
    let data = test.dataset().map_err(|e| e.to_string())?;
    let right = match expectation(&data, &query) {
        Ok(right) => right,
        Err(NaiveError::Unsupported(_) | NaiveError::Ambiguous(_)) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    // Few of the files with results say in which order rows come.
    let expected = test.expected().map_err(|e| e.to_string())?;
    let checked = right.check_rows(&expected);
    checked.map(Some).map_err(|e| e.to_string())
}

fn run(suite: &str, folders: &[&str]) {
    let Some(root) = suite_folder() else {
        eprintln!("skipped: no W3C suites (set RDF_TESTS_DIR)");
        return;
    };
    let (mut passed, mut unsupported) = (0, 0);
    let mut failures = Vec::new();
    for folder in folders {
        let manifest = root
            .join(Path::new(suite))
            .join(folder)
            .join("manifest.ttl");
        let tests = read_manifest(&manifest).expect("the manifest is readable");
        assert!(!tests.is_empty(), "no query tests in {folder}");
        for test in tests {
            if IGNORED.iter().any(|(name, _)| *name == test.name) {
                continue;
            }
            match outcome(&test) {
                Ok(Some(())) => passed += 1,
                Ok(None) => unsupported += 1,
                Err(what) => failures.push(format!("{folder}/{}: {what}", test.name)),
            }
        }
    }
    eprintln!("{suite}: {passed} passed, {unsupported} unsupported");
    assert!(
        failures.is_empty(),
        "{passed} passed, {} failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn sparql_1_1() {
    run(
        "sparql/sparql11",
        &[
            "aggregates",
            "bind",
            "bindings",
            "cast",
            "construct",
            "exists",
            "functions",
            "grouping",
            "negation",
            "project-expression",
            "property-path",
            "subquery",
        ],
    );
}

#[test]
fn sparql_1_0() {
    run("sparql/sparql10", SPARQL_1_0);
}
