//! The W3C suites of SPARQL 1.0 and 1.1: query evaluation and query syntax.
//!
//! The suites are found by `RDF_TESTS_DIR` or beside the workspace; without them the tests say that they
//! were skipped. Whole suites that are not about queries over RDF (entailment, federation, protocol)
//! are left out; single entries are in the ignore list with a reason each.

mod support;

use basalt_engine::{Error, QueryOptions};
use basalt_rdf::reader::document::read_document;
use basalt_rdf::reader::lines::strict;
use basalt_rdf::{GraphFormat, QuadView, TermView};
use basalt_testkit::bag::{self, Numbers};
use basalt_testkit::w3c_sparql::{QueryTest, SPARQL_1_0, read_manifest, suite_folder};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use support::{Configuration, ask, load, matrix};

const MANIFEST: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#";

/// Folders of SPARQL 1.1 with evaluation tests.
const SPARQL_1_1: &[&str] = &[
    "aggregates",
    "bind",
    "bindings",
    "cast",
    "construct",
    "csv-tsv-res",
    "exists",
    "functions",
    "grouping",
    "json-res",
    "negation",
    "project-expression",
    "property-path",
    "subquery",
];

/// Folders with query syntax tests.
const SYNTAX: &[&str] = &[
    "sparql10/syntax-sparql1",
    "sparql10/syntax-sparql2",
    "sparql10/syntax-sparql3",
    "sparql10/syntax-sparql4",
    "sparql10/syntax-sparql5",
    "sparql11/aggregates",
    "sparql11/construct",
    "sparql11/grouping",
    "sparql11/syntax-query",
    "sparql11/syntax-fed",
];

/// Entries that are not held against us, with the reason.
const IGNORED: &[(&str, &str)] = &[
    (
        "case-insensitive-booleans",
        "the parser takes `TRUE` for no keyword",
    ),
    (
        "date-2",
        "written before xsd:date was comparable; dates are compared by value as SPARQL 1.1 allows",
    ),
    (
        "dawg-optional-filter-005-simplified",
        "wants groups simplified where 005-not-simplified, which passes, keeps them",
    ),
    (
        "syn-bad-26",
        "the parser takes `<?a&&?b>` for two comparisons, not for an IRI",
    ),
];

/// Entries whose answers are wrong today, with what is wrong; one that passes must be taken off.
const KNOWN_WRONG: &[(&str, &str)] = &[];

/// Passed, failed and skipped entries of a suite.
#[derive(Default)]
struct Tally {
    passed: usize,
    failures: Vec<String>,
    skipped: usize,
    known_wrong: usize,
}

impl Tally {
    fn take(&mut self, name: &str, folder: &str, test: impl FnOnce() -> Result<(), String>) {
        if IGNORED.iter().any(|(ignored, _)| *ignored == name) {
            self.skipped += 1;
            return;
        }
        let is_known = KNOWN_WRONG.iter().any(|(wrong, _)| *wrong == name);
        match test() {
            Ok(()) if is_known => {
                self.failures
                    .push(format!("{folder}/{name}: passes now, take it off the list"));
            }
            Err(_) if is_known => self.known_wrong += 1,
            Ok(()) => self.passed += 1,
            Err(what) => self.failures.push(format!("{folder}/{name}: {what}")),
        }
    }

    fn finish(self, suite: &str) {
        let (passed, skipped) = (self.passed, self.skipped);
        let failed = self.failures.len() + self.known_wrong;
        eprintln!("{suite}: {passed} passed, {failed} failed, {skipped} skipped");
        assert!(passed > 0, "no test of {suite} was run");
        assert!(self.failures.is_empty(), "{}", self.failures.join("\n"));
    }
}

fn suites() -> Option<PathBuf> {
    let folder = suite_folder();
    if folder.is_none() {
        eprintln!("skipped: there are no W3C suites (set RDF_TESTS_DIR)");
    }
    folder
}

/// Runs an evaluation test in one configuration.
fn evaluate(test: &QueryTest, configuration: &Configuration) -> Result<(), String> {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let loaded = load(
        &test.dataset().map_err(|error| told(&error))?,
        configuration,
    );
    let mut options = support::query_options(configuration);
    options.base = Some(test.base_iri());
    let text = test.query_text().map_err(|error| told(&error))?;
    let actual = ask(&loaded.database, &text, &options)?;
    let expected = test.expected().map_err(|error| told(&error))?;
    bag::compare(&expected, &actual, Numbers::ByValue).map_err(|error| told(&error))
}

fn run_evaluation(suite: &str, folders: &[&str], configurations: &[Configuration]) {
    let Some(root) = suites() else { return };
    let mut tally = Tally::default();
    for folder in folders {
        let manifest = root
            .join("sparql")
            .join(suite)
            .join(folder)
            .join("manifest.ttl");
        let tests = read_manifest(&manifest).expect("the manifest can be read");
        assert!(!tests.is_empty(), "no evaluation tests in {folder}");
        for test in tests {
            tally.take(&test.name, folder, || {
                configurations.iter().try_for_each(|configuration| {
                    evaluate(&test, configuration)
                        .map_err(|what| format!("{what}\n  {configuration:?}"))
                })
            });
        }
    }
    tally.finish(suite);
}

/// One configuration per layout, with different batches and joins.
fn layouts() -> Vec<Configuration> {
    matrix()
        .into_iter()
        .filter(|c| c.rule_off.is_none())
        .step_by(5)
        .collect()
}

#[test]
fn sparql_1_0_evaluation() {
    run_evaluation("sparql10", SPARQL_1_0, &layouts());
}

#[test]
fn sparql_1_1_evaluation() {
    run_evaluation("sparql11", SPARQL_1_1, &layouts());
}

/// The query syntax tests of a manifest: name, file, and whether the query is one.
fn syntax_tests(manifest: &Path) -> Vec<(String, PathBuf, bool)> {
    let base = format!("file://{}", manifest.display());
    let file = fs::File::open(manifest).expect("the manifest is there");
    let mut kinds = BTreeMap::new();
    let mut actions = BTreeMap::new();
    let mut sink = |quad: QuadView<'_>| {
        if let (TermView::Iri(subject), TermView::Iri(predicate), TermView::Iri(object)) =
            (quad.subject, quad.predicate, quad.object)
        {
            if predicate == "http://www.w3.org/1999/02/22-rdf-syntax-ns#type" {
                kinds.insert(subject.to_owned(), object.to_owned());
            } else if predicate.strip_prefix(MANIFEST) == Some("action") {
                actions.insert(subject.to_owned(), object.to_owned());
            }
        }
        Ok::<(), std::convert::Infallible>(())
    };
    read_document(
        file,
        GraphFormat::Turtle,
        Some(&base),
        &mut sink,
        &mut strict,
    )
    .expect("the manifest parses");
    let mut tests = Vec::new();
    for (entry, kind) in kinds {
        let is_query = match kind.strip_prefix(MANIFEST) {
            Some("PositiveSyntaxTest" | "PositiveSyntaxTest11") => true,
            Some("NegativeSyntaxTest" | "NegativeSyntaxTest11") => false,
            _ => continue,
        };
        let action = actions[&entry]
            .strip_prefix("file://")
            .expect("a file")
            .to_owned();
        let name = entry.rsplit('#').next().unwrap_or(&entry).to_owned();
        tests.push((name, PathBuf::from(action), is_query));
    }
    tests
}

fn syntax(file: &Path, is_query: bool) -> Result<(), String> {
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&bytes);
    let base = Some(format!("file://{}", file.display()));
    let database = basalt_engine::Database::in_memory();
    let options = QueryOptions {
        base,
        ..QueryOptions::default()
    };
    match (database.prepare(&text, &options), is_query) {
        // Federation is not there, but its syntax is known.
        (Ok(_) | Err(Error::Unsupported(_)), true) | (Err(Error::Query { .. }), false) => Ok(()),
        (Ok(_) | Err(Error::Unsupported(_)), false) => {
            Err(format!("accepted, but it is no query: {text}"))
        }
        (Err(error), _) => Err(error.to_string()),
    }
}

#[test]
fn query_syntax() {
    let Some(root) = suites() else { return };
    let mut tally = Tally::default();
    for folder in SYNTAX {
        let tests = syntax_tests(&root.join("sparql").join(folder).join("manifest.ttl"));
        assert!(!tests.is_empty(), "no syntax tests in {folder}");
        for (name, file, is_query) in tests {
            tally.take(&name, folder, || syntax(&file, is_query));
        }
    }
    tally.finish("syntax");
}
