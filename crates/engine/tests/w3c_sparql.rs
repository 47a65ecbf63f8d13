//! The W3C suites of SPARQL 1.0 and 1.1: query evaluation and query syntax.
//!
//! The suites are found by `RDF_TESTS_DIR` or beside the workspace; without them the tests say that they
//! were skipped. Suites that are not about queries over RDF (entailment, protocol) are left out,
//! federation is in `w3c_service.rs`, updates are in `w3c_update.rs`; single entries are in the ignore list with a reason each.

mod support;

use basalt_engine::{Error, Layout, QueryOptions};
use basalt_testkit::bag::{self, Numbers};
use basalt_testkit::w3c_sparql::{
    QueryTest, SPARQL_1_0, SPARQL_1_1, SyntaxTest, read_manifest, read_syntax_tests, suite_folder,
};
use std::fs;
use std::path::PathBuf;
use support::{Configuration, ask, load, matrix};

/// Folders of SPARQL 1.1 that are not run here, with the reason.
const LEFT_OUT: &[(&str, &str)] = &[
    ("add", "run by w3c_update.rs"),
    ("basic-update", "run by w3c_update.rs"),
    ("clear", "run by w3c_update.rs"),
    ("copy", "run by w3c_update.rs"),
    ("delete", "run by w3c_update.rs"),
    ("delete-data", "run by w3c_update.rs"),
    ("delete-insert", "run by w3c_update.rs"),
    ("delete-where", "run by w3c_update.rs"),
    ("drop", "run by w3c_update.rs"),
    ("entailment", "there are no entailment regimes"),
    (
        "graph-store-protocol",
        "run by the server's w3c_protocol.rs",
    ),
    (
        "http-rdf-update",
        "text for people; graph-store-protocol has the same as requests",
    ),
    ("move", "run by w3c_update.rs"),
    ("protocol", "run by the server's w3c_protocol.rs"),
    ("service", "run by w3c_service.rs"),
    ("service-description", "about requests, not about queries"),
    ("syntax-update-1", "run by w3c_update.rs"),
    ("syntax-update-2", "run by w3c_update.rs"),
    ("update-silent", "run by w3c_update.rs"),
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
const IGNORED: &[(&str, &str)] = &[(
    "date-2",
    "wants `2006-08-23 != 2006-08-23Z` to be an error, as the order of XML Schema 1.0 has it (2007, before dates \
     were in the table of operators); by XML Schema 1.1, which RDF 1.1 refers to, a date with a zone never equals \
     one without, so the comparison holds",
)];

/// Entries whose answers are wrong today, with what is wrong; one that passes must be taken off.
const KNOWN_WRONG: &[(&str, &str)] = &[];

/// Passed, failed and skipped entries of a folder.
#[derive(Default)]
struct Tally {
    passed: usize,
    failures: Vec<String>,
    skipped: Vec<String>,
    known_wrong: Vec<String>,
}

impl Tally {
    fn take(&mut self, name: &str, test: impl FnOnce() -> Result<(), String>) {
        if let Some((_, reason)) = IGNORED.iter().find(|(ignored, _)| *ignored == name) {
            self.skipped.push(format!("{name}: {reason}"));
            return;
        }
        let known = KNOWN_WRONG.iter().find(|(wrong, _)| *wrong == name);
        match (test(), known) {
            (Ok(()), Some(_)) => self
                .failures
                .push(format!("{name}: passes now, take it off the list")),
            (Err(_), Some((_, reason))) => self.known_wrong.push(format!("{name}: {reason}")),
            (Ok(()), None) => self.passed += 1,
            (Err(what), None) => self.failures.push(format!("{name}: {what}")),
        }
    }

    /// Prints the counts, and each entry that is skipped or known to be wrong; gives the failures.
    fn finish(self, folder: &str) -> Vec<String> {
        let (passed, skipped) = (self.passed, self.skipped.len());
        let failed = self.failures.len() + self.known_wrong.len();
        let mut line = format!("{folder}: {passed} passed, {failed} failed, {skipped} skipped");
        for entry in self.skipped.iter().chain(&self.known_wrong) {
            line.push_str(&format!("; {entry}"));
        }
        eprintln!("{line}");
        assert!(passed > 0, "no test of {folder} was run");
        let failures = self.failures.into_iter();
        failures.map(|what| format!("{folder}/{what}")).collect()
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
    let compare = match test.is_ordered().map_err(|error| told(&error))? {
        true => bag::compare_ordered,
        false => bag::compare,
    };
    compare(&expected, &actual, Numbers::ByValue).map_err(|error| told(&error))
}

fn run_evaluation(suite: &str, folders: &[&str], configurations: &[Configuration]) {
    let Some(root) = suites() else { return };
    let mut failures = Vec::new();
    for folder in folders {
        let folder = format!("{suite}/{folder}");
        let manifest = root.join("sparql").join(&folder).join("manifest.ttl");
        let mut tally = Tally::default();
        for test in read_manifest(&manifest).expect("the manifest can be read") {
            tally.take(&test.name, || {
                configurations.iter().try_for_each(|configuration| {
                    evaluate(&test, configuration)
                        .map_err(|what| format!("{what}\n  {configuration:?}"))
                })
            });
        }
        failures.extend(tally.finish(&folder));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// One configuration per layout with different batches and joins, one that is opened anew from disk, one
/// of several loads, and one of loads and changes.
fn layouts() -> Vec<Configuration> {
    let mut all: Vec<Configuration> = matrix()
        .into_iter()
        .filter(|c| c.rule_off.is_none())
        .step_by(5)
        .collect();
    all.push(Configuration {
        is_reopened: true,
        batch_rows: 7,
        ..Configuration::default()
    });
    all.push(Configuration {
        loads: 3,
        ..Configuration::default()
    });
    all.push(Configuration {
        is_changed: true,
        loads: 2,
        batch_rows: 7,
        ..Configuration::default()
    });
    all
}

#[test]
fn every_layout_is_among_the_configurations() {
    let all = layouts();
    for layout in [
        Layout::Discover,
        Layout::AllIrregular,
        Layout::OneTable,
        Layout::HalfDirty,
    ] {
        assert!(all.iter().any(|c| c.layout == layout), "{layout:?}");
    }
    assert!(all.iter().any(|c| c.batch_rows == 1), "batches of one row");
    assert!(all.iter().any(|c| c.is_reopened), "a store opened anew");
}

#[test]
fn sparql_1_0_evaluation() {
    run_evaluation("sparql10", SPARQL_1_0, &layouts());
}

#[test]
fn sparql_1_1_evaluation() {
    run_evaluation("sparql11", SPARQL_1_1, &layouts());
}

/// Every folder of the suites is run here or by another harness, or there is a reason why not.
#[test]
fn no_folder_is_forgotten() {
    let Some(root) = suites() else { return };
    for suite in ["sparql10", "sparql11"] {
        let evaluated = if suite == "sparql10" {
            SPARQL_1_0
        } else {
            SPARQL_1_1
        };
        for entry in fs::read_dir(root.join("sparql").join(suite)).expect("a folder of suites") {
            let entry = entry.expect("an entry of the folder");
            let name = entry.file_name().to_string_lossy().into_owned();
            if !entry.path().is_dir() {
                continue;
            }
            let is_left_out = suite == "sparql11" && LEFT_OUT.iter().any(|(out, _)| *out == name);
            let is_syntax = SYNTAX.contains(&format!("{suite}/{name}").as_str());
            assert!(
                is_left_out || is_syntax || evaluated.contains(&name.as_str()),
                "{suite}/{name} is not run"
            );
        }
    }
}

fn syntax(test: &SyntaxTest) -> Result<(), String> {
    let bytes = fs::read(&test.query).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&bytes);
    let base = Some(format!("file://{}", test.query.display()));
    let database = basalt_engine::Database::in_memory();
    let options = QueryOptions {
        base,
        ..QueryOptions::default()
    };
    match (database.prepare(&text, &options), test.is_query) {
        (Ok(_), true) | (Err(Error::Query { .. }), false) => Ok(()),
        (Ok(_), false) => Err(format!("accepted, but it is no query: {text}")),
        (Err(error), _) => Err(error.to_string()),
    }
}

#[test]
fn query_syntax() {
    let Some(root) = suites() else { return };
    let mut failures = Vec::new();
    for folder in SYNTAX {
        let manifest = root.join("sparql").join(folder).join("manifest.ttl");
        let mut tally = Tally::default();
        for test in read_syntax_tests(&manifest).expect("the manifest can be read") {
            tally.take(&test.name, || syntax(&test));
        }
        failures.extend(tally.finish(&format!("{folder} (syntax)")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
