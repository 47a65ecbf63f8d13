//! Stores on disk: commit, reopen, replace, lock, leftovers.

use super::patterns::found;
use super::splitter::{load, number, resource};
use crate::manifest::Manifest;
use crate::{
    CheckDepth, QuadIds, QuadPattern, RealDisk, Snapshot, Storage, StoreError, StoreLock,
    VersionWriter,
};
use basalt_rdf::TermId;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn some_quads(count: u64) -> BTreeSet<QuadIds> {
    (0..count)
        .map(|i| QuadIds {
            subject: resource(10 + i % 50),
            predicate: resource(i % 4),
            object: if i % 3 == 0 {
                number(i as i64)
            } else {
                resource(40 + i % 15)
            },
            graph: if i % 7 == 0 {
                resource(6)
            } else {
                TermId::DEFAULT_GRAPH
            },
        })
        .collect()
}

fn all(snapshot: &Snapshot) -> BTreeSet<QuadIds> {
    found(snapshot, &QuadPattern::default())
        .into_iter()
        .collect()
}

fn load_into(dir: &Path, quads: &BTreeSet<QuadIds>) -> Snapshot {
    load(quads, Storage::Directory(dir.to_path_buf()))
}

fn entries(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .expect("the folder exists")
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_store_is_the_same_after_reopening() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let quads = some_quads(200);
    assert_eq!(all(&load_into(dir.path(), &quads)), quads);
    let snapshot = Snapshot::open(dir.path()).expect("the store opens");
    assert_eq!(all(&snapshot), quads);
    let report = snapshot.check(CheckDepth::Deep).expect("it is whole");
    assert_eq!(report.quads_in_cells + report.irregular_quads, 200);
    assert!(report.quads_in_cells > 0 && report.irregular_quads > 0);
    assert_eq!(entries(dir.path()), ["LOCK", "MANIFEST", "v1"]);
}

#[test]
fn both_storages_hold_the_same_bytes() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let quads = some_quads(200);
    load_into(dir.path(), &quads);
    let in_memory = load(&quads, Storage::Memory);
    let mut names = Vec::new();
    for (name, bytes) in in_memory.parts().folders.get(1).memory_files() {
        names.push(name.clone());
        if name == "history" {
            // It has the time.
            continue;
        }
        let on_disk = fs::read(dir.path().join("v1").join(&name)).expect("the file exists");
        assert_eq!(bytes, on_disk, "{name}");
    }
    assert_eq!(entries(&dir.path().join("v1")), names);
}

#[test]
fn old_snapshots_outlive_a_new_version() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let (old_quads, new_quads) = (some_quads(50), some_quads(120));
    let old = load_into(dir.path(), &old_quads);
    let new = load_into(dir.path(), &new_quads);
    assert_eq!((old.version(), new.version()), (1, 2));
    assert_eq!(all(&old), old_quads);
    assert_eq!(all(&new), new_quads);
    assert_eq!(entries(dir.path()), ["LOCK", "MANIFEST", "v2"]);
    assert_eq!(
        all(&Snapshot::open(dir.path()).expect("it opens")),
        new_quads
    );
}

#[test]
fn a_version_that_was_replaced_can_be_checked_and_one_that_lost_a_file_cannot() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    load_into(dir.path(), &some_quads(200));
    let old = Snapshot::open(dir.path()).expect("the store opens");
    let new = load_into(dir.path(), &some_quads(100));
    assert_eq!(entries(dir.path()), ["LOCK", "MANIFEST", "v2"]);
    let report = old.check(CheckDepth::Deep).expect("it is whole");
    assert_eq!(report.quads_in_cells + report.irregular_quads, 200);
    fs::remove_file(dir.path().join("v2").join("resources.dict")).expect("it is there");
    assert!(new.check(CheckDepth::Quick).is_err());
}

#[test]
fn a_writer_that_is_dropped_changes_nothing() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let quads = some_quads(50);
    load_into(dir.path(), &quads);
    let storage = Storage::Directory(dir.path().to_path_buf());
    let mut writer = VersionWriter::create(storage).expect("a writer");
    writer
        .irregular_quads(some_quads(3).into_iter().collect())
        .expect("quads are valid");
    drop(writer);
    assert_eq!(entries(dir.path()), ["LOCK", "MANIFEST", "v1"]);
    assert_eq!(all(&Snapshot::open(dir.path()).expect("it opens")), quads);
}

#[test]
fn leftovers_of_a_dead_writer_are_removed() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let quads = some_quads(50);
    load_into(dir.path(), &quads);
    // A writer that was killed has left a folder and an unpublished manifest.
    fs::create_dir(dir.path().join("v2")).expect("room");
    fs::write(dir.path().join("v2").join("quads"), b"half").expect("room");
    fs::write(dir.path().join("MANIFEST.tmp"), b"half").expect("room");
    assert_eq!(all(&Snapshot::open(dir.path()).expect("it opens")), quads);
    let more = some_quads(60);
    load_into(dir.path(), &more);
    assert_eq!(entries(dir.path()), ["LOCK", "MANIFEST", "v2"]);
    assert_eq!(all(&Snapshot::open(dir.path()).expect("it opens")), more);
}

#[test]
fn a_version_without_history_opens_and_the_next_begins_one() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let quads = some_quads(50);
    load_into(dir.path(), &quads);
    // As a program wrote it that knew no history.
    let mut manifest = Manifest::read(dir.path()).expect("a manifest");
    manifest.files.retain(|file| file.name != "v1/history");
    manifest.publish(&RealDisk, dir.path()).expect("room");
    fs::remove_file(dir.path().join("v1/history")).expect("it is there");
    let snapshot = Snapshot::open(dir.path()).expect("it opens");
    assert_eq!(all(&snapshot), quads);
    assert_eq!(snapshot.history().expect("it can be read"), []);
    snapshot.check(CheckDepth::Deep).expect("it is whole");
    let storage = Storage::Directory(dir.path().to_path_buf());
    let mut writer = VersionWriter::create(storage).expect("a writer");
    writer.takes_over(&snapshot);
    let next = writer.commit().expect("room");
    let history = next.history().expect("it can be read");
    assert_eq!((history.len(), history[0].version), (1, 2));
    assert!(!history[0].changes.is_empty(), "its tables are gone");
}

#[test]
fn there_is_one_writer_at_a_time() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let storage = Storage::Directory(dir.path().to_path_buf());
    let lock = StoreLock::acquire(dir.path()).expect("the first lock");
    let refused = VersionWriter::create(storage.clone());
    assert!(matches!(refused, Err(StoreError::Locked { .. })));
    drop(lock);
    VersionWriter::create(storage).expect("the lock is free");
}

#[test]
fn a_folder_without_manifest_is_no_store() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for path in [dir.path().to_path_buf(), dir.path().join("absent")] {
        let refused = Snapshot::open(&path);
        assert!(matches!(refused, Err(StoreError::NotAStore { .. })));
    }
}

#[test]
fn a_missing_file_is_an_error() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    load_into(dir.path(), &some_quads(50));
    for name in entries(&dir.path().join("v1")) {
        let path = dir.path().join("v1").join(&name);
        let bytes = fs::read(&path).expect("the file exists");
        fs::remove_file(&path).expect("it can be removed");
        let error = Snapshot::open(dir.path()).expect_err("a file is missing");
        assert!(error.to_string().contains(&name), "{error}");
        fs::write(&path, bytes).expect("room");
    }
    Snapshot::open(dir.path()).expect("all files are back");
}

#[test]
fn an_unfinished_table_fails_the_commit() {
    let mut writer = VersionWriter::create(Storage::Memory).expect("a writer");
    let table = writer
        .begin_table(crate::TableDefinition {
            name: "unfinished".to_owned(),
            classes: Vec::new(),
            first_ordinal: 0,
            rows: 0,
            columns: Vec::new(),
            home_graph: crate::HomeGraph::Constant(TermId::DEFAULT_GRAPH),
        })
        .expect("a valid definition");
    drop(table);
    assert!(matches!(
        writer.commit(),
        Err(StoreError::InvalidInput { .. })
    ));
}
