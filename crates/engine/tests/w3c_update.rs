//! The W3C suites of SPARQL 1.1 Update: evaluation and syntax.
//!
//! Found by `RDF_TESTS_DIR` or beside the workspace; without them the tests say that they were skipped. Each
//! evaluation entry runs in every layout of the data, in memory, and in two of them on disk. The data is looked at after the request,
//! in a store opened anew (which reads the log), after a merge, and once more in a store opened anew.

mod support;
mod updates;

use basalt_engine::{Database, Error, Layout, UpdateOptions};
use basalt_testkit::w3c_sparql::{SyntaxTest, suite_folder};
use basalt_testkit::w3c_update::{
    UPDATE_1_1, UPDATE_SYNTAX_1_1, UpdateTest, read_update_syntax_tests, read_update_tests,
};
use std::fs;
use std::path::PathBuf;
use support::{Configuration, LAYOUTS, load};
use updates::{compare_data, update_options};

/// Entries that are not held against us, with the reason.
const IGNORED: &[(&str, &str)] = &[];

fn suites() -> Option<PathBuf> {
    let folder = suite_folder();
    if folder.is_none() {
        eprintln!("skipped: there are no W3C suites (set RDF_TESTS_DIR)");
    }
    folder
}

/// Every layout in memory, and two of them on disk, where each entry takes dozens of syncs.
fn configurations() -> Vec<Configuration> {
    let mut all = Vec::new();
    for (number, layout) in LAYOUTS.into_iter().enumerate() {
        let is_on_disk = matches!(layout, Layout::Discover | Layout::HalfDirty);
        for is_reopened in [false, true].into_iter().take(1 + usize::from(is_on_disk)) {
            all.push(Configuration {
                layout,
                is_reopened,
                batch_rows: [2048, 1, 7][number % 3],
                ..Configuration::default()
            });
        }
    }
    all
}

fn evaluate(test: &UpdateTest, configuration: &Configuration) -> Result<(), String> {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let before = test.before.dataset().map_err(|error| told(&error))?;
    let after = test.after.dataset().map_err(|error| told(&error))?;
    let mut loaded = load(&before, configuration);
    let mut options = update_options(configuration);
    options.query.base = Some(test.base_iri());
    let text = test.text().map_err(|error| told(&error))?;
    let report = loaded.database.update(&text, &options);
    report.map_err(|error| told(&error))?;
    compare_data(&after, &loaded.database).map_err(|what| format!("after the update: {what}"))?;
    loaded.reopen();
    compare_data(&after, &loaded.database).map_err(|what| format!("opened anew: {what}"))?;
    let merged = loaded.database.merge_now();
    merged.map_err(|error| told(&error))?;
    compare_data(&after, &loaded.database).map_err(|what| format!("after a merge: {what}"))?;
    loaded.reopen();
    compare_data(&after, &loaded.database).map_err(|what| format!("merged, opened anew: {what}"))
}

fn syntax(test: &SyntaxTest) -> Result<(), String> {
    let text = fs::read_to_string(&test.query).map_err(|error| error.to_string())?;
    let mut options = UpdateOptions::default();
    options.query.base = Some(format!("file://{}", test.query.display()));
    let database = Database::in_memory();
    match (database.update(&text, &options), test.is_query) {
        (Err(Error::UpdateText { .. }), false) => Ok(()),
        (Err(Error::UpdateText { message }), true) => Err(message),
        // What is refused or fails when it runs is well-formed.
        (_, true) => Ok(()),
        (_, false) => Err(format!("accepted, but it is no update: {text}")),
    }
}

/// Runs the entries of folders, prints their counts, and fails with every failure.
fn run<T>(
    folders: &[&str],
    kind: &str,
    read: impl Fn(&std::path::Path) -> Vec<T>,
    name_of: impl Fn(&T) -> &str,
    test: impl Fn(&T) -> Result<(), String>,
) {
    let Some(root) = suites() else { return };
    let mut failures = Vec::new();
    for folder in folders {
        let manifest = root
            .join("sparql/sparql11")
            .join(folder)
            .join("manifest.ttl");
        let (mut passed, mut failed, mut skipped) = (0, 0, Vec::new());
        for entry in read(&manifest) {
            let name = name_of(&entry);
            if let Some((_, reason)) = IGNORED.iter().find(|(ignored, _)| *ignored == name) {
                skipped.push(format!("; {name}: {reason}"));
                continue;
            }
            match test(&entry) {
                Ok(()) => passed += 1,
                Err(what) => {
                    failed += 1;
                    failures.push(format!("{folder}/{name}: {what}"));
                }
            }
        }
        let skips = skipped.len();
        eprintln!(
            "sparql11/{folder}{kind}: {passed} passed, {failed} failed, {skips} skipped{}",
            skipped.concat()
        );
        assert!(passed + failed > 0, "no test of {folder} was run");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn sparql_1_1_update_evaluation() {
    let configurations = configurations();
    run(
        UPDATE_1_1,
        "",
        |manifest| read_update_tests(manifest).expect("the manifest can be read"),
        |test| &test.name,
        |test| {
            configurations.iter().try_for_each(|configuration| {
                evaluate(test, configuration).map_err(|what| format!("{what}\n  {configuration:?}"))
            })
        },
    );
}

#[test]
fn sparql_1_1_update_syntax() {
    run(
        UPDATE_SYNTAX_1_1,
        " (syntax)",
        |manifest| read_update_syntax_tests(manifest).expect("the manifest can be read"),
        |test| &test.name,
        syntax,
    );
}
