//! Backups: consistent copies, made while the store is written, merged and loaded into.

use crate::data::{commit_one, line, load, names_in, quads, quads_in, quiet, regular, shown};
use basalt_engine::{BackupReport, Database, Error, MergePolicy, StoreError, WriteOptions};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tempfile::TempDir;

fn try_back_up(store: &Path, destination: &Path) -> Result<BackupReport, Error> {
    Database::back_up(store, destination, &mut |_, _| ControlFlow::Continue(()))
}

fn back_up(store: &Path, destination: &Path) -> BackupReport {
    try_back_up(store, destination).expect("there is room")
}

/// A store of several layers with commits in its log, its database still open.
fn layered(path: &Path) -> Database {
    let database = Database::open_or_empty_with(path, quiet()).expect("it opens");
    load(&database, &regular(40));
    load(&database, &line("x", "y", "<http://e/z>"));
    commit_one(&database, ["new", "and", "\"logged"]);
    database
}

#[test]
fn a_copy_has_the_version_its_layers_and_its_log() {
    let folder = TempDir::new().expect("a temporary folder");
    let (store, copy) = (folder.path().join("store"), folder.path().join("a/copy"));
    let database = layered(&store);
    let report = back_up(&store, &copy);
    let expected = quads(&database.snapshot());
    assert_eq!(report.quads, expected.len() as u64);
    assert_eq!(report.commit_number, 1);
    assert_eq!(names_in(&copy), names_in(&store));
    assert_eq!(quads_in(&copy), expected);
    // The copy is a store of its own.
    let of_copy = Database::open_with(&copy, quiet()).expect("it opens");
    assert_eq!(commit_one(&of_copy, ["a", "b", "c"]).number, 2);
    of_copy.merge_now().expect("there is room");
    assert_eq!(quads_in(&store), expected);
    assert_eq!(quads_in(&copy).len(), expected.len() + 1);
}

#[test]
fn a_copy_is_not_of_the_same_files() {
    use std::os::unix::fs::MetadataExt;
    let folder = TempDir::new().expect("a temporary folder");
    let (store, copy) = (folder.path().join("store"), folder.path().join("copy"));
    drop(layered(&store));
    back_up(&store, &copy);
    for name in ["v1/table-00000", "v2/quads", "log-2", "MANIFEST"] {
        let of_copy = copy.join(name).metadata().expect("the file is there");
        let of_store = store.join(name).metadata().expect("the file is there");
        assert_ne!(of_copy.ino(), of_store.ino(), "{name}");
        assert_eq!(of_copy.len(), of_store.len(), "{name}");
    }
}

#[test]
fn while_a_writer_commits_and_merges_a_copy_has_exactly_a_prefix() {
    let folder = TempDir::new().expect("a temporary folder");
    let store = folder.path().join("store");
    let options = WriteOptions {
        merge: MergePolicy {
            quads_min: 7,
            share_min: 0.0,
            ..MergePolicy::default()
        },
        ..WriteOptions::default()
    };
    let database = Database::open_or_empty_with(&store, options).expect("it opens");
    commit_one(&database, ["a", "b", "\"1"]);
    let (acknowledged, is_done) = (AtomicU64::new(1), AtomicBool::new(false));
    let prefix = |count: u64| -> BTreeSet<String> {
        let texts = (1..=count).map(|number| format!("\"{number}"));
        texts.map(|text| shown(["a", "b", &text])).collect()
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Bounded, should a backup below panic.
            for number in 2..100_000 {
                let commit = commit_one(&database, ["a", "b", &format!("\"{number}")]);
                acknowledged.store(commit.number, Ordering::Release);
                if is_done.load(Ordering::Acquire) {
                    break;
                }
            }
        });
        for round in 0..12 {
            let destination = folder.path().join(format!("copy{round}"));
            let before = acknowledged.load(Ordering::Acquire);
            let report = back_up(&store, &destination);
            // One more may be in the log and not yet acknowledged.
            let after = acknowledged.load(Ordering::Acquire) + 1;
            let number = report.commit_number;
            assert!(
                before <= number && number <= after,
                "{before} {number} {after}"
            );
            assert_eq!(quads_in(&destination), prefix(number), "round {round}");
        }
        is_done.store(true, Ordering::Release);
    });
    assert!(database.write_status().merges > 0, "merges ran meanwhile");
}

#[test]
fn folders_with_files_and_folders_in_the_store_are_refused() {
    let folder = TempDir::new().expect("a temporary folder");
    let store = folder.path().join("store");
    drop(layered(&store));
    let before = names_in(&store);
    let taken = folder.path().join("taken");
    std::fs::create_dir(&taken).expect("a folder");
    std::fs::write(taken.join("letter.txt"), "dear").expect("a file");
    let other = folder.path().join("other");
    back_up(&store, &other);
    for destination in [
        &taken,
        &other,
        &store,
        &store.join("v9"),
        &store.join("in/it"),
    ] {
        let refused = try_back_up(&store, destination);
        assert!(
            matches!(refused, Err(Error::Store(StoreError::Destination { .. }))),
            "{refused:?}"
        );
    }
    assert_eq!(names_in(&taken), ["letter.txt"]);
    assert_eq!(names_in(&store), before);
    let nothing = try_back_up(&folder.path().join("none"), &folder.path().join("copy"));
    let is_told = matches!(nothing, Err(Error::Store(StoreError::NotAStore { .. })));
    assert!(is_told && !folder.path().join("copy").exists());
}

#[test]
fn a_backup_that_does_not_end_is_no_store_and_the_next_one_cleans_up() {
    let folder = TempDir::new().expect("a temporary folder");
    let (store, copy) = (folder.path().join("store"), folder.path().join("copy"));
    let database = layered(&store);
    let mut steps = 0;
    let counted = Database::back_up(&store, &folder.path().join("all"), &mut |_, _| {
        steps += 1;
        ControlFlow::Continue(())
    });
    counted.expect("there is room");
    assert!(5 < steps, "{steps} steps");
    for last in 1..=steps {
        let mut step = 0;
        let stopped = Database::back_up(&store, &copy, &mut |done, total| {
            assert!(done <= total);
            step += 1;
            match step < last {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        assert!(stopped.is_err(), "step {last}");
        assert_eq!(names_in(&copy), ["LOCK"], "step {last}");
    }
    // One that was killed had no time to remove anything.
    std::fs::create_dir(copy.join("v1")).expect("a folder");
    std::fs::write(copy.join("v1/quads"), "half").expect("a file");
    std::fs::write(copy.join("log-2"), "half").expect("a file");
    let opened = Database::open(&copy);
    assert!(matches!(
        opened,
        Err(Error::Store(StoreError::NotAStore { .. }))
    ));
    back_up(&store, &copy);
    assert_eq!(quads_in(&copy), quads(&database.snapshot()));
}

#[test]
fn a_damaged_store_is_not_copied() {
    let folder = TempDir::new().expect("a temporary folder");
    let (store, copy) = (folder.path().join("store"), folder.path().join("copy"));
    drop(layered(&store));
    for name in ["v1/table-00000", "v1/resources.dict", "v2/quads"] {
        let whole = std::fs::read(store.join(name)).expect("the file is there");
        let mut damaged = whole.clone();
        // Behind the header begins the first section.
        damaged[64] ^= 1;
        std::fs::write(store.join(name), damaged).expect("it can be written");
        let refused = try_back_up(&store, &copy);
        let is_told = matches!(
            &refused,
            Err(Error::Store(StoreError::Corrupt { file, .. })) if file == name
        );
        assert!(is_told, "{name}: {refused:?}");
        std::fs::write(store.join(name), whole).expect("it can be written");
    }
    back_up(&store, &copy);
}
