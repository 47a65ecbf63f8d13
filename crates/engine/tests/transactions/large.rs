//! Transactions that change so much that their commit is a version: the same as in the delta, whole or not at all.
//!
//! The oracle is a database that never merges, so that the same requests go through delta and log.

use crate::data::{commit_one, load, names_in, quads, quads_in, quiet, regular};
use crate::disks::{Failing, WatchedDisk};
use crate::merge_pauses::Stages;
use basalt_engine::{
    CheckDepth, Database, Error, MergePolicy, MergeStage, Snapshot, StoreError, UpdateOptions,
    UpdateReport, WriteOptions,
};
use std::collections::BTreeSet;
use std::path::Path;
use tempfile::TempDir;

/// Requests of one and of several operations; each changes more than [`QUADS_MIN`] quads, but for the fourth.
pub const REQUESTS: [&str; 9] = [
    "INSERT DATA { <http://e/a> <http://e/p> 1 , 2 , 'x'@en , _:b . _:b <http://e/p> 3.50 , '1'^^<http://e/t> \
     GRAPH <http://e/g> { <http://e/a> <http://e/p> 1 , _:b } }",
    "DELETE { ?s <http://e/size> ?n } INSERT { ?s <http://e/larger> ?m } \
     WHERE { ?s <http://e/size> ?n BIND(?n + 1000 AS ?m) }",
    // Removed and added again, in one operation and in several.
    "DELETE { ?s ?p ?o } INSERT { ?s ?p ?o . ?o <http://e/of> ?s } WHERE { ?s <http://e/next> ?o ; ?p ?o }",
    "INSERT DATA { <http://e/a> <http://e/p> 7 }",
    "DELETE WHERE { ?s <http://e/name> ?n } ; INSERT DATA { <http://e/s1> <http://e/name> 'name 1' , 'other' } ; \
     INSERT { ?s <http://e/name> 'name 1' } WHERE { ?s <http://e/larger> ?n }",
    "INSERT { ?s <http://e/blank> [ <http://e/is> ?n ] } WHERE { ?s <http://e/larger> ?n }",
    "COPY DEFAULT TO <http://e/g>",
    "DELETE { GRAPH ?g { ?s ?p ?o } } WHERE { GRAPH ?g { ?s ?p ?o FILTER(isLiteral(?o)) } }",
    "CLEAR ALL",
];

/// Changed quads from which on a transaction is written as a version here.
const QUADS_MIN: u64 = 4;

/// Options with which nearly every request becomes a version.
pub fn at_once() -> WriteOptions {
    WriteOptions {
        merge: MergePolicy {
            quads_min: QUADS_MIN,
            times_delta_max: f64::INFINITY,
            share_min: 0.0,
            ..MergePolicy::default()
        },
        ..WriteOptions::default()
    }
}

/// Runs a request with so much memory.
fn update_in(database: &Database, text: &str, memory: usize) -> Result<UpdateReport, Error> {
    let mut options = UpdateOptions::default();
    options.query.exec.memory_bytes_max = memory;
    database.update(text, &options)
}

pub fn update(database: &Database, text: &str) -> UpdateReport {
    let updated = update_in(database, text, 1 << 30);
    updated.unwrap_or_else(|error| unreachable!("{text}: {error}"))
}

/// Quads without labels of blank nodes, which differ between two databases.
pub fn anonymous(snapshot: &Snapshot) -> Vec<String> {
    let mut lines: Vec<String> = quads(snapshot)
        .into_iter()
        .map(|line| {
            let parts = line.split(' ').map(|part| match part.starts_with("_:") {
                true => "_:",
                false => part,
            });
            parts.collect::<Vec<_>>().join(" ")
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn a_version_holds_what_the_delta_would() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    for is_on_disk in [false, true] {
        let snapshot = Snapshot::empty();
        let database = match is_on_disk {
            false => Database::in_memory_with(snapshot.clone(), at_once()),
            true => Database::open_or_empty_with(&path, at_once()).expect("it opens"),
        };
        let twin = Database::in_memory_with(snapshot, quiet());
        load(&database, &regular(60));
        load(&twin, &regular(60));
        for (number, text) in REQUESTS.iter().enumerate() {
            let before = database.snapshot();
            let kept = quads(&before);
            let (report, expected) = (update(&database, text), update(&twin, text));
            let after = database.snapshot();
            assert_eq!(anonymous(&after), anonymous(&twin.snapshot()), "{text}");
            let counts = |r: &UpdateReport| {
                let steps = r.operations.iter().map(|step| (step.removed, step.added));
                (r.removed, r.added, r.commit, steps.collect::<Vec<_>>())
            };
            assert_eq!(counts(&report), counts(&expected), "{text}");
            assert_eq!(after.commit_number(), number as u64 + 1);
            assert_eq!(before.shares_version_with(&after), number == 3, "{text}");
            assert_eq!(after.has_delta(), number == 3, "{text}");
            assert_eq!(quads(&before), kept, "a reader keeps what it has");
            let checked = database.check(CheckDepth::Deep);
            checked.expect("the store is whole");
            if is_on_disk {
                assert_eq!(quads_in(&path), quads(&after));
                let of_version = format!("v{}", after.version());
                let log = format!("log-{}", after.version());
                let mut expected = vec!["LOCK", "MANIFEST", &of_version];
                if number == 3 {
                    expected.insert(2, &log);
                }
                assert_eq!(names_in(&path), expected);
            }
        }
        assert_eq!(database.snapshot().quad_count(), 0);
        assert_eq!(database.write_status().merge_failure, None);
    }
}

#[test]
fn changes_in_files_are_the_same_as_changes_in_memory() {
    let database = Database::in_memory_with(Snapshot::empty(), at_once());
    let twin = Database::in_memory_with(Snapshot::empty(), quiet());
    load(&database, &regular(9_000));
    load(&twin, &regular(9_000));
    for text in [
        "DELETE { ?s ?p ?o } INSERT { ?o2 ?p ?s } \
         WHERE { ?s ?p ?o BIND(IRI(CONCAT('http://x/', STR(?o))) AS ?o2) }",
        "DELETE WHERE { ?s <http://e/name> ?o }",
        "MOVE DEFAULT TO <http://e/g>",
        "CLEAR ALL",
    ] {
        // What a set of 27,000 quads takes does not fit, what the terms take does.
        let (small, large) = (
            update_in(&database, text, 6 << 20),
            update_in(&twin, text, 1 << 30),
        );
        let (small, large) = (small.expect("it spills"), large.expect("it fits"));
        assert_eq!((small.removed, small.added), (large.removed, large.added));
        assert_eq!(anonymous(&database.snapshot()), anonymous(&twin.snapshot()));
    }
}

#[test]
fn a_transaction_that_changes_nothing_or_is_given_up_leaves_no_version() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let database = Database::open_or_empty_with(&path, at_once()).expect("it opens");
    load(&database, &regular(40));
    commit_one(&database, ["a", "p", "b"]);
    let (before, names) = (database.snapshot(), names_in(&path));
    let report = update(&database, "INSERT { ?s ?p ?o } WHERE { ?s ?p ?o }");
    assert_eq!((report.removed, report.added, report.commit), (0, 0, 1));
    let failing =
        "DELETE WHERE { ?s ?p ?o } ; CREATE GRAPH <http://e/g> ; MOVE <http://e/none> TO DEFAULT";
    assert!(update_in(&database, failing, 1 << 30).is_err());
    assert!(before.shares_version_with(&database.snapshot()));
    assert_eq!(names_in(&path), names);
    assert_eq!(quads_in(&path), quads(&before));
}

/// A request that comes while a merge in the background has come to a stage.
#[test]
fn a_merge_gives_up_for_a_large_transaction() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    for stage in [MergeStage::Begun, MergeStage::Written, MergeStage::CaughtUp] {
        let stages = Stages::new();
        let options = WriteOptions {
            merge_watcher: Some(stages.watcher()),
            ..at_once()
        };
        let database = Database::open_or_empty_with(&path, options).expect("it opens");
        load(&database, &regular(40));
        let version = database.snapshot().version();
        stages.switch(true);
        // Too few each to be versions.
        for i in 0..3 {
            let text = format!("INSERT DATA {{ <http://e/m{i}> <http://e/p> 1 , 2 }}");
            update(&database, &text);
        }
        stages.wait_for(stage);
        stages.switch(false);
        std::thread::scope(|scope| {
            let large = scope.spawn(|| update(&database, "DELETE WHERE { ?s <http://e/p> ?o }"));
            crate::data::wait_until(|| database.is_merge_given_up());
            stages.let_go_on();
            assert_eq!(large.join().expect("no panic").removed, 6);
        });
        let snapshot = database.snapshot();
        assert_eq!(
            (snapshot.version(), snapshot.quad_count()),
            (version + 1, 120)
        );
        crate::data::wait_until(|| !database.write_status().is_merging);
        let status = database.write_status();
        assert_eq!((status.merges, status.merge_failure), (0, None));
        commit_one(&database, ["goes", "on", "\"here"]);
        assert_eq!(quads_in(&path), quads(&database.snapshot()));
        drop(database);
        std::fs::remove_dir_all(&path).expect("a folder of the test");
    }
}

/// The merge that has given up for nothing is done after all, without another commit.
#[test]
fn a_merge_comes_back_after_a_large_transaction_that_comes_to_nothing() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let stages = Stages::new();
    let options = WriteOptions {
        merge_watcher: Some(stages.watcher()),
        ..at_once()
    };
    let database = Database::open_or_empty_with(&path, options).expect("it opens");
    load(&database, &regular(40));
    stages.switch(true);
    for i in 0..3 {
        let text = format!("INSERT DATA {{ <http://e/m{i}> <http://e/p> 1 , 2 }}");
        update(&database, &text);
    }
    stages.wait_for(MergeStage::Begun);
    stages.switch(false);
    std::thread::scope(|scope| {
        let text = "INSERT { ?s ?p ?o } WHERE { ?s ?p ?o }";
        let large = scope.spawn(|| update(&database, text));
        crate::data::wait_until(|| database.is_merge_given_up());
        stages.let_go_on();
        let report = large.join().expect("no panic");
        assert_eq!((report.removed, report.added), (0, 0));
    });
    crate::data::wait_until(|| database.write_status().merges == 1);
    assert!(!database.snapshot().has_delta());
    assert_eq!(quads_in(&path), quads(&database.snapshot()));
}

/// Somebody who has asked for a merge keeps the right to write the version, so the changes go to the delta.
#[test]
fn a_merge_by_request_is_not_given_up_for_a_large_transaction() {
    let stages = Stages::new();
    let options = WriteOptions {
        merge_watcher: Some(stages.watcher()),
        ..at_once()
    };
    let database = Database::in_memory_with(Snapshot::empty(), options);
    load(&database, &regular(40));
    let mut round = 0;
    let merged = stages.during(
        || database.merge_now(),
        |stage| {
            if stage != MergeStage::Ready {
                let text = format!(
                    "INSERT DATA {{ <http://e/r{round}> <http://e/p> 1 , 2 , 3 , 4 , 5 , 6 }}"
                );
                update(&database, &text);
                round += 1;
            }
        },
    );
    merged.expect("there is room");
    let snapshot = database.snapshot();
    assert_eq!((round, snapshot.quad_count()), (3, 138));
    assert!(snapshot.has_delta());
    // Nobody has it now.
    update(&database, "DELETE WHERE { ?s <http://e/p> ?o }");
    assert!(!database.snapshot().has_delta());
    assert_eq!(database.snapshot().quad_count(), 120);
}

/// Runs the requests on a disk some of whose operations fail; after each the store is as the request has left it or as it
/// was before, and it is the latter if the error does not say that this is unknown. The operations of the disk, the failures,
/// and how many of those said so.
fn run_failing(path: &Path, fails: Vec<usize>) -> (usize, usize, usize) {
    let failing = Failing::at(fails);
    let options = WriteOptions {
        disk: WatchedDisk::watched_by(failing.clone()),
        ..at_once()
    };
    let database = Database::open_or_empty_with(path, options).expect("an empty folder");
    let (mut failures, mut unknown) = (0, 0);
    let mut state = BTreeSet::new();
    for i in 0..4 {
        let text = format!(
            "DELETE WHERE {{ ?s <http://e/p> {i} }} ; INSERT DATA {{ <http://e/a{i}> <http://e/p> 1 , 2 , 3 , 4 , 5 , 6 }}"
        );
        let updated = update_in(&database, &text, 1 << 30);
        let now = quads(&database.snapshot());
        match updated {
            Ok(_) => assert_ne!(now, state),
            Err(Error::WritesRefused(_)) => {
                return (failing.operations(), failures + 1, unknown);
            }
            Err(error) => {
                failures += 1;
                assert_eq!(now, state, "request {i} failed and has changed something");
                // The next turn finds what is on the disk.
                drop(database.begin().expect("the disk works again"));
                let found = quads(&database.snapshot());
                match error {
                    Error::Store(StoreError::OutcomeUnknown { .. }) => unknown += 1,
                    error => assert_eq!(found, state, "request {i}: {error}"),
                }
            }
        }
        state = quads(&database.snapshot());
    }
    drop(database);
    assert_eq!(quads_in(path), state, "what was acknowledged is there");
    (failing.operations(), failures, unknown)
}

#[test]
fn one_failure_at_each_operation_of_large_transactions() {
    let folder = TempDir::new().expect("a temporary folder");
    let (operations, none, _) = run_failing(&folder.path().join("whole"), Vec::new());
    assert!(operations > 15 && none == 0, "{operations}");
    let (mut failures, mut unknown) = (0, 0);
    for operation in 0..operations {
        let path = folder.path().join(format!("at-{operation}"));
        let (_, failed, unknown_here) = run_failing(&path, vec![operation]);
        failures += failed;
        unknown += unknown_here;
    }
    assert!(failures > operations / 3, "{failures} of {operations}");
    // Each of the four requests renames a manifest and syncs the folder.
    assert!(unknown >= 4, "{unknown}");
}
