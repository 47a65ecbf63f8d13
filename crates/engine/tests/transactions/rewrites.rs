//! Loads and merges over changes: nothing is lost, the log goes, and readers keep what they have.

use crate::data::{
    add, commit_one, line, load, names_in, quads, quads_in, quiet, regular, remove, shown,
    wait_until,
};
use crate::disks::{WatchedDisk, Watcher};
use basalt_engine::{Database, MergePolicy, Snapshot, WriteOptions};
use basalt_testkit::crash_disk::Operation;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// Changes regular data: quads of rows and of others go and come.
fn change(database: &Database) {
    let mut transaction = database.begin().expect("the turn");
    add(&mut transaction, ["s1", "likes", "s2"]);
    add(&mut transaction, ["new", "likes", "\"old"]);
    remove(&mut transaction, ["s3", "name", "\"name 3"]);
    transaction.commit().expect("it can be committed");
    let mut transaction = database.begin().expect("the turn");
    remove(&mut transaction, ["s1", "likes", "s2"]);
    add(&mut transaction, ["s3", "name", "\"name 3"]);
    remove(&mut transaction, ["s4", "next", "s2"]);
    transaction.commit().expect("it can be committed");
}

#[test]
fn a_merge_keeps_every_quad_and_removes_the_log() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    for database in [
        Database::in_memory(),
        Database::open_or_empty_with(&path, quiet()).expect("it opens"),
    ] {
        load(&database, &regular(20));
        change(&database);
        let before = database.snapshot();
        let expected = quads(&before);
        database.merge_now().expect("there is room");
        let after = database.snapshot();
        assert_eq!(quads(&after), expected);
        assert!(!after.has_delta() && before.has_delta());
        assert_eq!(after.commit_number(), 2, "numbers go on");
        assert_eq!(quads(&before), expected, "the old snapshot stays");
        assert_eq!(commit_one(&database, ["a", "b", "c"]).number, 3);
        assert_eq!(database.snapshot().quad_count(), expected.len() as u64 + 1);
    }
    assert_eq!(names_in(&path), ["LOCK", "MANIFEST", "log-2", "v2"]);
    let database = Database::open_with(&path, quiet()).expect("it opens");
    assert_eq!(database.snapshot().commit_number(), 3);
    assert_eq!(database.snapshot().quad_count(), 61);
}

#[test]
fn a_load_over_changes_keeps_both() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    for database in [
        Database::in_memory(),
        Database::open_or_empty_with(&path, quiet()).expect("it opens"),
    ] {
        load(&database, &regular(20));
        change(&database);
        let mut expected = quads(&database.snapshot());
        load(&database, &line("x", "y", "<http://e/z>"));
        expected.insert(shown(["x", "y", "z"]));
        assert_eq!(quads(&database.snapshot()), expected);
        change_again(&database);
        load(&database, &line("x", "y", "<http://e/z2>"));
        assert_eq!(database.snapshot().quad_count(), expected.len() as u64 + 2);
    }
    // The changes of the first process are there for a load of the next one.
    let database = Database::open_with(&path, quiet()).expect("it opens");
    commit_one(&database, ["one", "more", "\"commit"]);
    let before = quads(&database.snapshot());
    drop(database);
    let database = Database::open_with(&path, quiet()).expect("it opens");
    load(&database, &line("x", "y", "<http://e/z3>"));
    assert_eq!(quads_in(&path).len(), before.len() + 1);
    assert!(quads_in(&path).is_superset(&before));
}

fn change_again(database: &Database) {
    commit_one(database, ["again", "and", "\"again"]);
}

#[test]
fn a_store_whose_quads_are_all_removed_is_empty_after_a_merge() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let database = Database::open_or_empty_with(&path, quiet()).expect("it opens");
    commit_one(&database, ["a", "b", "c"]);
    database.merge_now().expect("there is room");
    let mut transaction = database.begin().expect("the turn");
    remove(&mut transaction, ["a", "b", "c"]);
    transaction.commit().expect("it can be committed");
    assert_eq!(quads_in(&path).len(), 0);
    database.merge_now().expect("there is room");
    assert_eq!(quads_in(&path).len(), 0);
    assert_eq!(commit_one(&database, ["a", "b", "c"]).number, 3);
}

/// Merges after more than so many changed quads.
fn merging(quads_min: u64, disk: Option<Arc<dyn Watcher>>) -> WriteOptions {
    let mut options = WriteOptions {
        merge: MergePolicy {
            quads_min,
            share_min: 0.0,
            retry_after: Duration::ZERO,
            ..MergePolicy::default()
        },
        ..WriteOptions::default()
    };
    if let Some(watcher) = disk {
        options.disk = WatchedDisk::watched_by(watcher);
    }
    options
}

#[test]
fn merges_come_by_themselves_while_others_read_and_write() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let database = Database::open_or_empty_with(&path, merging(10, None)).expect("it opens");
    load(&database, &regular(10));
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let database = &database;
            scope.spawn(move || {
                for i in 0..20 {
                    let (subject, object) = (format!("w{writer}"), format!("\"{i}"));
                    let names = [subject.as_str(), "has", object.as_str()];
                    commit_one(database, names);
                    let snapshot = database.snapshot();
                    assert!(quads(&snapshot).contains(&shown(names)));
                }
            });
        }
    });
    assert_eq!(database.snapshot().quad_count(), 30 + 60);
    // They may all have come during one merge.
    let mut commits = 60;
    while database.write_status().merges < 2 {
        commits += 1;
        commit_one(&database, ["more", "has", &format!("\"{commits}")]);
        wait_until(|| !database.write_status().is_merging);
    }
    let expected = quads(&database.snapshot());
    assert_eq!(expected.len(), 30 + commits);
    drop(database);
    assert_eq!(quads_in(&path), expected);
    let database = Database::open_with(&path, merging(10, None)).expect("it opens");
    let snapshot = database.snapshot();
    assert!(snapshot.version() > 2, "version {}", snapshot.version());
    assert_eq!(snapshot.commit_number(), commits as u64);
}

#[test]
fn others_open_the_store_at_any_time() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let database = Database::open_or_empty_with(&path, merging(7, None)).expect("it opens");
    commit_one(&database, ["a", "b", "\"first"]);
    let (acknowledged, is_done) = (AtomicU64::new(1), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut last = Snapshot::open(&path).expect("it opens");
                while !is_done.load(Ordering::Acquire) {
                    let before = acknowledged.load(Ordering::Acquire);
                    let opened = match before % 2 {
                        0 => Snapshot::open(&path),
                        _ => last.newest_of(&path),
                    };
                    last = opened.expect("it opens while it is written and merged");
                    assert!(before <= last.commit_number(), "a commit is not there");
                    assert_eq!(last.quad_count(), last.commit_number());
                }
            });
        }
        for i in 1..60 {
            let commit = commit_one(&database, ["a", "b", &format!("\"{i}")]);
            acknowledged.store(commit.number, Ordering::Release);
        }
        is_done.store(true, Ordering::Release);
    });
    drop(database);
    assert_eq!(quads_in(&path).len(), 60);
}

/// Fails every write of a manifest while it is switched on.
#[derive(Debug, Default)]
struct NoRoomForManifests(AtomicBool);

impl Watcher for NoRoomForManifests {
    fn before(&self, operation: &Operation) -> io::Result<()> {
        let is_manifest =
            matches!(operation, Operation::Write(name, ..) if name.starts_with("MANIFEST"));
        match is_manifest && self.0.load(Ordering::Relaxed) {
            true => Err(io::Error::from(io::ErrorKind::StorageFull)),
            false => Ok(()),
        }
    }
}

#[test]
fn a_merge_that_fails_changes_nothing_and_is_tried_again() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let watcher = Arc::new(NoRoomForManifests::default());
    let options = merging(2, Some(watcher.clone()));
    let database = Database::open_or_empty_with(&path, options).expect("it opens");
    for i in 0..2 {
        commit_one(&database, ["a", "b", &format!("\"{i}")]);
    }
    watcher.0.store(true, Ordering::Relaxed);
    commit_one(&database, ["a", "b", "\"2"]);
    wait_until(|| database.write_status().merge_failure.is_some());
    let failure = database.write_status().merge_failure.unwrap_or_default();
    assert!(failure.contains("MANIFEST"), "{failure}");
    let version = database.snapshot().version();
    assert_eq!(quads_in(&path).len(), 3);
    assert_eq!(names_in(&path), ["LOCK", "MANIFEST", "log-1", "v1"]);
    watcher.0.store(false, Ordering::Relaxed);
    commit_one(&database, ["a", "b", "\"3"]);
    wait_until(|| database.write_status().merges > 0);
    assert_eq!(database.write_status().merge_failure, None);
    assert_eq!(database.snapshot().version(), version + 1);
    assert_eq!(quads_in(&path).len(), 4);
    assert_eq!(commit_one(&database, ["a", "b", "\"4"]).number, 5);
}
