//! The history: what each version was written for, and what that did to the tables.

use crate::data::{commit_one, line, load, quads_in, quiet, regular};
use basalt_engine::{CheckDepth, Database, HistoryReport, Snapshot};
use serde_json::Value;
use std::ops::ControlFlow;
use std::path::Path;
use tempfile::TempDir;

fn history_of(path: &Path) -> Value {
    let snapshot = Snapshot::open(path).expect("it opens");
    snapshot.check(CheckDepth::Deep).expect("it is whole");
    HistoryReport::new(&snapshot)
        .expect("it can be read")
        .to_json()
}

#[test]
fn every_version_tells_why_it_was_written_and_what_it_changed() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let database = Database::open_or_empty_with(&path, quiet()).expect("it opens");
    commit_one(&database, ["a", "b", "c"]);
    load(&database, &regular(400));
    load(&database, &line("x", "y", "<http://e/z>"));
    commit_one(&database, ["new", "and", "\"logged"]);
    database.merge_now().expect("there is room");
    database.merge_now().expect("there is room");
    drop(database);
    let history = history_of(&path);
    let versions = history.as_array().expect("an array");
    let kinds: Vec<&str> = versions
        .iter()
        .map(|version| version["reason"]["kind"].as_str().expect("a kind"))
        .collect();
    assert_eq!(
        kinds,
        ["new", "load", "load", "optimize", "optimize"],
        "{history}"
    );
    let numbers: Vec<u64> = versions
        .iter()
        .filter_map(|v| v["version"].as_u64())
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    let quads: Vec<u64> = versions
        .iter()
        .filter_map(|v| v["quads"].as_u64())
        .collect();
    assert_eq!(quads, [0, 1201, 1202, 1203, 1203]);
    let first = &versions[1];
    assert_eq!(first["reason"]["inputs"], serde_json::json!(["text"]));
    assert_eq!(first["reason"]["quads_read"], 1200);
    let table = &first["changes"][0];
    assert_eq!(
        (&table["what"], &table["rows"]),
        (&"new".into(), &400.into())
    );
    let added = table["columns_added"].as_array().expect("an array");
    assert_eq!(added.len(), 3, "{table}");
    assert!(added.iter().all(|column| column["fill"] == 1.0), "{table}");
    assert_eq!(versions[2]["reason"]["layer"], true, "{history}");
    assert_eq!(versions[2]["changes"], serde_json::json!([]));
    assert_eq!(versions[3]["reason"]["added"], 1);
    assert_eq!(versions[3]["commits"], 2);
    for version in versions {
        let written = version["written"].as_str().expect("a time");
        assert!(
            written.starts_with("20") && written.ends_with('Z'),
            "{written}"
        );
    }
    the_text_tells_the_same(&path);
}

fn the_text_tells_the_same(path: &Path) {
    let snapshot = Snapshot::open(path).expect("it opens");
    let text = HistoryReport::new(&snapshot)
        .expect("it can be read")
        .to_text();
    for told in [
        "made, empty",
        "load of 1200 quads from text",
        "load of 1 quads from text, as a layer",
        "optimize, with 1 added and 0 removed quads",
        "optimize, with 0 added and 0 removed quads",
        "1203 quads up to commit 2, 99.75 % in cells, 3 irregular",
        "http://e/size",
        "100.0 % filled",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
}

#[test]
fn a_backup_keeps_the_history_and_goes_on_with_it() {
    let folder = TempDir::new().expect("a temporary folder");
    let (path, copy) = (folder.path().join("store"), folder.path().join("copy"));
    let database = Database::open_or_empty_with(&path, quiet()).expect("it opens");
    load(&database, &regular(40));
    load(&database, &regular(400));
    let backed_up = Database::back_up(&path, &copy, &mut |_, _| ControlFlow::Continue(()));
    backed_up.expect("there is room");
    let expected = history_of(&path);
    assert_eq!(history_of(&copy), expected);
    let of_copy = Database::open_with(&copy, quiet()).expect("it opens");
    of_copy.merge_now().expect("there is room");
    drop(of_copy);
    let history = history_of(&copy);
    let versions = history.as_array().expect("an array");
    let known = expected.as_array().expect("an array");
    assert_eq!(versions.len(), known.len() + 1);
    assert_eq!(&versions[..known.len()], known.as_slice());
}

#[test]
fn columns_that_come_and_go_are_told() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let database = Database::open_or_empty_with(&path, quiet()).expect("it opens");
    load(&database, &regular(400));
    let more = |i: usize| line(&format!("s{i}"), "more", &format!("\"more {i}\"")) + "\n";
    load(&database, &(0..400).map(more).collect::<String>());
    database.merge_now().expect("there is room");
    drop(database);
    let history = history_of(&path);
    let last = history
        .as_array()
        .and_then(|list| list.last())
        .expect("a version");
    let changes = last["changes"].to_string();
    assert!(changes.contains("http://e/more"), "{history}");
    assert_eq!(quads_in(&path).len(), 1600);
}
