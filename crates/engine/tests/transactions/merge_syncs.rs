//! Syncs that fail while a merge runs: a commit that is not on the disk is in no version, and others go on.

use crate::data::{commit_one, load, quads, quads_in, regular, shown, try_commit_one};
use crate::disks::{WatchedDisk, Watcher};
use crate::merge_pauses::Stages;
use crate::merges::{OTHERS_WRITE, stopping};
use basalt_engine::{Database, MergeStage, WriteOptions};
use basalt_testkit::crash_disk::Operation;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use tempfile::TempDir;

/// Fails the next sync of a log when it is switched on.
#[derive(Debug, Default)]
struct BadSync(AtomicBool);

impl Watcher for BadSync {
    fn before(&self, operation: &Operation) -> io::Result<()> {
        let is_log = matches!(operation, Operation::Sync(name) if name.starts_with("log"));
        match is_log && self.0.swap(false, Ordering::Relaxed) {
            true => Err(io::Error::other("the disk is gone")),
            false => Ok(()),
        }
    }
}

#[test]
fn a_commit_whose_sync_fails_during_a_merge_is_not_in_the_new_version() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let stages = Stages::new();
    let watcher = Arc::new(BadSync::default());
    let options = WriteOptions {
        disk: WatchedDisk::watched_by(watcher.clone()),
        ..stopping(&stages)
    };
    let database = Database::open_or_empty_with(&path, options).expect("it opens");
    load(&database, &regular(10));
    commit_one(&database, ["before", "the", "\"merge"]);
    let mut expected = quads(&database.snapshot());
    let mut round = 0;
    let merged = stages.during(
        || database.merge_now(),
        |stage| {
            if !OTHERS_WRITE.contains(&stage) {
                return;
            }
            round += 1;
            let good = ["good", "commit", &format!("\"{round}")];
            commit_one(&database, good);
            expected.insert(shown(good));
            watcher.0.store(true, Ordering::Relaxed);
            let bad = ["bad", &format!("commit{round}"), &format!("\"{round} too")];
            let error = try_commit_one(&database, bad).expect_err("it is not synced");
            assert!(error.to_string().contains("the disk is gone"), "{error}");
            let after = ["after", &format!("commit{round}"), "\"it"];
            commit_one(&database, after);
            expected.insert(shown(after));
        },
    );
    merged.expect("the merge has nothing to do with it");
    assert_eq!(quads(&database.snapshot()), expected);
    assert_eq!(quads_in(&path), expected);
    assert_eq!(database.snapshot().commit_number(), 7);
    assert_eq!(commit_one(&database, ["at", "the", "\"end"]).number, 8);
}

/// Holds up the next sync of a log when it is switched on, and fails it when it is told to.
#[derive(Debug)]
struct HeldSync {
    is_on: AtomicBool,
    is_held: AtomicBool,
    fails: Mutex<Receiver<()>>,
}

impl Watcher for HeldSync {
    fn before(&self, operation: &Operation) -> io::Result<()> {
        let is_log = matches!(operation, Operation::Sync(name) if name == "log-1");
        if !is_log || !self.is_on.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        self.is_held.store(true, Ordering::Release);
        let fails = self.fails.lock().unwrap_or_else(PoisonError::into_inner);
        // Also if the test is over.
        let _ = fails.recv();
        Err(io::Error::other("the disk is gone"))
    }
}

/// A commit that is in the log, is not synced yet, and never will be, while a merge begins or catches up.
fn hold_up_a_sync(stage: Option<MergeStage>) {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let stages = Stages::new();
    let (fail, fails) = channel();
    let watcher = Arc::new(HeldSync {
        is_on: AtomicBool::new(false),
        is_held: AtomicBool::new(false),
        fails: Mutex::new(fails),
    });
    let options = WriteOptions {
        disk: WatchedDisk::watched_by(watcher.clone()),
        ..stopping(&stages)
    };
    let database = Database::open_or_empty_with(&path, options).expect("it opens");
    commit_one(&database, ["before", "the", "\"merge"]);
    let expected = quads(&database.snapshot());
    let bad = ["bad", "commit", "\"never"];
    let wait_until_held = || {
        while !watcher.is_held.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    };
    let release = || fail.send(()).expect("the sync is held up");
    stages.switch(stage.is_some());
    std::thread::scope(|scope| {
        let merge = || scope.spawn(|| database.merge_now());
        let commit = || scope.spawn(|| try_commit_one(&database, bad));
        let merging = stage.map(|stage| {
            let merging = merge();
            stages.wait_for(stage);
            merging
        });
        watcher.is_on.store(true, Ordering::Release);
        let committing = commit();
        wait_until_held();
        let is_begun = merging.is_some();
        let merging = merging.unwrap_or_else(merge);
        if is_begun {
            stages.let_go_on();
            stages.wait_for(MergeStage::CaughtUp);
        } else {
            // A chance for it to begin.
            (0..2_000).for_each(|_| std::thread::yield_now());
        }
        release();
        let committed = committing.join().expect("no panic");
        committed.expect_err("it is not synced");
        stages.switch(false);
        stages.let_go_on();
        let merged = merging.join().expect("no panic");
        // A merge that waits for the sync when it begins fails with it.
        assert!(merged.is_ok() || stage.is_none());
    });
    assert_eq!(quads(&database.snapshot()), expected);
    assert_eq!(quads_in(&path), expected);
    assert_eq!(commit_one(&database, ["at", "the", "\"end"]).number, 2);
}

#[test]
fn a_commit_that_is_not_synced_is_in_no_new_version() {
    hold_up_a_sync(None);
    hold_up_a_sync(Some(MergeStage::Begun));
    hold_up_a_sync(Some(MergeStage::Written));
}
