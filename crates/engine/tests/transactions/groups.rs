//! Many writers at once: syncs are shared, and nothing is seen before it is safe.

use crate::data::{commit_one, quads, quads_in, quiet, shown};
use crate::disks::{SlowSyncs, WatchedDisk};
use basalt_engine::{Database, WriteOptions};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

const WRITERS: usize = 8;
const COMMITS: usize = 25;

#[test]
fn commits_that_wait_together_share_a_sync() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    // A sync that takes a while, so that others come to wait for it.
    let syncs = Arc::new(SlowSyncs::default());
    let options = WriteOptions {
        disk: WatchedDisk::watched_by(syncs.clone()),
        ..quiet()
    };
    let database = Database::open_or_empty_with(&path, options).expect("it opens");
    commit_one(&database, ["first", "makes", "\"the log"]);
    let before = syncs.count();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // A reader sees a growing number of commits.
        scope.spawn(|| {
            let mut last = 0;
            while !done.load(Ordering::Relaxed) {
                let snapshot = database.snapshot();
                assert!(snapshot.commit_number() >= last);
                assert_eq!(snapshot.quad_count(), snapshot.commit_number());
                last = snapshot.commit_number();
                std::thread::yield_now();
            }
        });
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let database = &database;
                scope.spawn(move || {
                    for i in 0..COMMITS {
                        let names = [format!("w{writer}"), format!("\"{i}")];
                        let commit = commit_one(database, [&names[0], "has", &names[1]]);
                        // What was acknowledged is published.
                        assert!(database.snapshot().commit_number() >= commit.number);
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().expect("no panic");
        }
        done.store(true, Ordering::Relaxed);
    });
    let commits = WRITERS * COMMITS;
    let syncs = syncs.count() - before;
    assert!(
        syncs < commits * 3 / 4,
        "{syncs} syncs for {commits} commits"
    );
    assert_eq!(database.write_status().commit_number, commits as u64 + 1);
    let mut expected: BTreeSet<String> = (0..WRITERS)
        .flat_map(|w| {
            (0..COMMITS).map(move |i| shown([&format!("w{w}"), "has", &format!("\"{i}")]))
        })
        .collect();
    expected.insert(shown(["first", "makes", "\"the log"]));
    assert_eq!(quads(&database.snapshot()), expected);
    assert_eq!(quads_in(&path), expected);
}

#[test]
fn a_commit_without_changes_waits_for_what_it_has_read() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let syncs = Arc::new(SlowSyncs::default());
    let options = WriteOptions {
        disk: WatchedDisk::watched_by(syncs.clone()),
        ..quiet()
    };
    let database = Database::open_or_empty_with(&path, options).expect("it opens");
    commit_one(&database, ["a", "b", "c"]);
    for i in 0..10 {
        let object = format!("\"{i}");
        let names = ["a", "b", object.as_str()];
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    // One of the two adds the quad, the other finds it there; for both it is safe afterwards.
                    commit_one(&database, names);
                    assert!(quads(&database.snapshot()).contains(&shown(names)));
                });
            }
        });
    }
    assert_eq!(database.snapshot().commit_number(), 11);
}
