//! The W3C suite of SPARQL 1.1 Federated Query, against databases in place of its endpoints.
//!
//! Found by `RDF_TESTS_DIR` or beside the workspace; without it the test says that it was skipped.

mod services;
mod support;

use basalt_rdf::reader::document::read_document;
use basalt_rdf::reader::lines::strict;
use basalt_rdf::{GraphFormat, QuadView};
use basalt_testkit::bag::{self, Numbers};
use basalt_testkit::w3c_sparql::{QueryTest, read_manifest, suite_folder};
use services::FakeServices;
use std::fs;
use std::path::Path;
use support::{ask, load, matrix};

const QT: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#";

/// The triples of a manifest, as texts.
fn triples(manifest: &Path) -> Vec<[String; 3]> {
    let base = format!("file://{}", manifest.display());
    let file = fs::File::open(manifest).expect("the manifest is there");
    let mut triples = Vec::new();
    let mut sink = |quad: QuadView<'_>| {
        let [s, p, o] = [quad.subject, quad.predicate, quad.object].map(|term| term.to_string());
        triples.push([s, p, o]);
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
    triples
}

/// Endpoints and their data, for the test with this name.
fn service_data(triples: &[[String; 3]], name: &str) -> Vec<(String, String)> {
    let objects = |subject: &str, predicate: &str| -> Vec<String> {
        let is_wanted = |triple: &&[String; 3]| {
            triple[0] == subject && triple[1].trim_matches(['<', '>']).ends_with(predicate)
        };
        triples
            .iter()
            .filter(is_wanted)
            .map(|triple| triple[2].clone())
            .collect()
    };
    let entry = triples
        .iter()
        .find(|triple| triple[0].ends_with(&format!("#{name}>")))
        .expect("the entry is in the manifest");
    let action = objects(&entry[0], "action").swap_remove(0);
    let plain = |term: &str| term.trim_matches(['<', '>']).to_owned();
    objects(&action, "serviceData")
        .iter()
        .map(|data| {
            let endpoint = objects(data, "endpoint").swap_remove(0);
            let file = objects(data, &format!("{QT}data")).swap_remove(0);
            let file = plain(&file);
            let path = file.strip_prefix("file://").expect("a file");
            let text = fs::read_to_string(path).expect("the data is there");
            (plain(&endpoint), text)
        })
        .collect()
}

fn run(test: &QueryTest, data: &[(String, String)]) -> Result<usize, String> {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let borrowed: Vec<(&str, &str)> = data.iter().map(|(e, d)| (&**e, &**d)).collect();
    let services = FakeServices::new(&borrowed);
    let text = test.query_text().map_err(|error| told(&error))?;
    let expected = test.expected().map_err(|error| told(&error))?;
    let dataset = test.dataset().map_err(|error| told(&error))?;
    let configurations = matrix();
    for configuration in &configurations {
        let loaded = load(&dataset, configuration);
        let mut options = services.with(support::query_options(configuration));
        options.base = Some(test.base_iri());
        let actual = ask(&loaded.database, &text, &options)
            .map_err(|error| format!("{error}\n  {configuration:?}"))?;
        bag::compare(&expected, &actual, Numbers::ByValue)
            .map_err(|error| format!("{error}\n  {configuration:?}"))?;
    }
    assert!(!services.take_log().is_empty(), "no service was asked");
    Ok(configurations.len())
}

#[test]
fn federated_query() {
    let Some(root) = suite_folder() else {
        eprintln!("skipped: there are no W3C suites (set RDF_TESTS_DIR)");
        return;
    };
    let manifest = root.join("sparql/sparql11/service/manifest.ttl");
    let tests = read_manifest(&manifest).expect("the manifest can be read");
    assert_eq!(tests.len(), 7, "the suite has seven tests");
    let triples = triples(&manifest);
    let mut failures = Vec::new();
    for test in &tests {
        let data = service_data(&triples, &test.name);
        match run(test, &data) {
            Ok(count) => eprintln!("{}: passed in {count} configurations", test.name),
            Err(what) => failures.push(format!("{}: {what}", test.name)),
        }
    }
    let (passed, failed) = (tests.len() - failures.len(), failures.len());
    eprintln!("sparql11/service: {passed} passed, {failed} failed, 0 skipped");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
