//! A disk that fails at each operation in turn: what failed has not happened, and the database goes on or says
//! that it does not.

use crate::data::{commit_one, names_in, quads, quads_in, quiet, shown, try_commit_one};
use crate::disks::{Failing, SlowSyncs, WatchedDisk, Watcher};
use crate::merge_pauses::Stages;
use basalt_engine::{
    CheckDepth, Database, Durability, Error, MergeStage, UpdateOptions, WriteOptions,
};
use basalt_testkit::crash_disk::Operation;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// What is tried, in this order.
const COMMITS: usize = 5;
/// The commit after which all is merged.
const MERGE_AFTER: usize = 2;

fn options(watcher: Arc<dyn Watcher>) -> WriteOptions {
    WriteOptions {
        disk: WatchedDisk::watched_by(watcher),
        ..quiet()
    }
}

fn names(i: usize) -> [String; 3] {
    [format!("s{i}"), "p".to_owned(), format!("\"text {i}")]
}

/// How a run ended.
struct Run {
    /// Quads whose commits were acknowledged.
    acknowledged: BTreeSet<String>,
    /// Quads whose commits failed.
    failed: BTreeSet<String>,
    /// Whether the database refused writes at the end.
    is_refused: bool,
}

/// Makes commits and a merge, some of which fail.
fn run(path: &Path, watcher: Arc<dyn Watcher>) -> Run {
    let database = Database::open_or_empty_with(path, options(watcher)).expect("an empty folder");
    let mut run = Run {
        acknowledged: BTreeSet::new(),
        failed: BTreeSet::new(),
        is_refused: false,
    };
    for i in 0..COMMITS {
        let names = names(i);
        let names = [&*names[0], &*names[1], &*names[2]];
        match try_commit_one(&database, names) {
            Ok(_) => run.acknowledged.insert(shown(names)),
            Err(_) => run.failed.insert(shown(names)),
        };
        let seen = quads(&database.snapshot());
        assert_eq!(seen, run.acknowledged, "readers see what is acknowledged");
        if i == MERGE_AFTER {
            // If it fails, all is as before; what readers see does not change in any case.
            let _ = database.merge_now();
            assert_eq!(quads(&database.snapshot()), run.acknowledged);
        }
    }
    let turn = database.begin().map(drop);
    run.is_refused = matches!(turn, Err(Error::WritesRefused(_)));
    run
}

/// Commits at each stage of a merge, some of which fail, or the merge.
fn run_during_a_merge(path: &Path, watcher: Arc<dyn Watcher>) -> (Run, bool) {
    let stages = Stages::new();
    let options = WriteOptions {
        merge_watcher: Some(stages.watcher()),
        ..options(watcher)
    };
    let database = Database::open_or_empty_with(path, options).expect("an empty folder");
    let mut run = Run {
        acknowledged: BTreeSet::new(),
        failed: BTreeSet::new(),
        is_refused: false,
    };
    let mut commits = 0;
    let mut commit = |run: &mut Run| {
        let names = names(commits);
        commits += 1;
        let names = [&*names[0], &*names[1], &*names[2]];
        match try_commit_one(&database, names) {
            Ok(_) => run.acknowledged.insert(shown(names)),
            Err(_) => run.failed.insert(shown(names)),
        };
        let seen = quads(&database.snapshot());
        assert_eq!(seen, run.acknowledged, "readers see what is acknowledged");
    };
    commit(&mut run);
    let merged = stages.during(
        || database.merge_now(),
        |stage| match stage {
            MergeStage::Ready => {}
            _ => (0..2).for_each(|_| commit(&mut run)),
        },
    );
    assert_eq!(quads(&database.snapshot()), run.acknowledged);
    commit(&mut run);
    let turn = database.begin().map(drop);
    run.is_refused = matches!(turn, Err(Error::WritesRefused(_)));
    (run, merged.is_ok())
}

#[test]
fn one_failure_at_each_operation_of_a_merge_with_commits() {
    let folder = TempDir::new().expect("a temporary folder");
    let all = Failing::at(Vec::new());
    let (whole, is_merged) = run_during_a_merge(&folder.path().join("whole"), all.clone());
    assert!(is_merged && whole.acknowledged.len() == 8);
    let mut failed_merges = 0;
    for fails in 0..all.operations() {
        let path = folder.path().join(format!("store{fails}"));
        let (run, is_merged) = run_during_a_merge(&path, Failing::at(vec![fails]));
        let case = format!("operation {fails} fails");
        failed_merges += usize::from(!is_merged);
        assert!(run.failed.len() < 2, "{case}: {:?}", run.failed);
        assert!(!run.is_refused, "{case}: one failure can be undone");
        check(&path, &run, &case);
        let versions = names_in(&path);
        let versions = versions.iter().filter(|name| name.starts_with('v'));
        assert_eq!(versions.count(), 1, "{case}: files are left");
    }
    assert!(failed_merges > 5, "{failed_merges} merges failed");
}

fn check(path: &Path, run: &Run, case: &str) {
    let found = quads_in(path);
    if run.is_refused {
        assert!(found.is_superset(&run.acknowledged), "{case}");
        let known: BTreeSet<_> = run.acknowledged.union(&run.failed).cloned().collect();
        assert!(found.is_subset(&known), "{case}");
    } else {
        assert_eq!(found, run.acknowledged, "{case}");
    }
    // Whatever happened, the next writer finds its way.
    let database = Database::open_with(path, quiet()).expect("it opens");
    commit_one(&database, ["at", "the", "end"]);
    assert_eq!(quads_in(path).len(), found.len() + 1, "{case}");
}

#[test]
fn one_failure_at_each_operation() {
    let folder = TempDir::new().expect("a temporary folder");
    let all = Failing::at(Vec::new());
    let whole = run(&folder.path().join("whole"), all.clone());
    assert_eq!(whole.acknowledged.len(), COMMITS);
    assert!(all.operations() > 4 * COMMITS, "{}", all.operations());
    for fails in 0..all.operations() {
        let path = folder.path().join(format!("store{fails}"));
        let failing = Failing::at(vec![fails]);
        let run = run(&path, failing);
        let case = format!("operation {fails} fails");
        assert!(run.failed.len() < 2, "{case}: {:?}", run.failed);
        assert!(!run.is_refused, "{case}: one failure can be undone");
        check(&path, &run, &case);
    }
}

#[test]
fn a_failure_that_cannot_be_undone_ends_all_writing() {
    let folder = TempDir::new().expect("a temporary folder");
    let all = Failing::at(Vec::new());
    run(&folder.path().join("whole"), all.clone());
    let mut refused = 0;
    for fails in 0..all.operations() {
        let path = folder.path().join(format!("store{fails}"));
        // Cutting off and syncing again fails as well.
        let run = run(&path, Failing::at((fails..fails + 3).collect()));
        refused += usize::from(run.is_refused);
        if Database::open(&path).is_ok() {
            check(&path, &run, &format!("operations from {fails} on fail"));
        } else {
            assert!(
                run.acknowledged.is_empty(),
                "operations from {fails} on fail"
            );
        }
    }
    assert!(
        refused > 0,
        "in some of the cases the log cannot be cut back"
    );
}

/// Fails every sync of a log while it is switched on.
#[derive(Debug, Default)]
struct BadSyncs {
    slow: SlowSyncs,
    is_on: AtomicBool,
}

impl Watcher for BadSyncs {
    fn before(&self, operation: &Operation) -> io::Result<()> {
        self.slow.before(operation)?;
        let is_log = matches!(operation, Operation::Sync(name) if name.starts_with("log"));
        match is_log && self.is_on.swap(false, Ordering::Relaxed) {
            true => Err(io::Error::other("the disk is gone")),
            false => Ok(()),
        }
    }
}

#[test]
fn a_sync_that_fails_fails_all_that_wait_for_it_and_nobody_else() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let watcher = Arc::new(BadSyncs::default());
    let database = Database::open_or_empty_with(&path, options(watcher.clone())).expect("it opens");
    commit_one(&database, ["makes", "the", "log"]);
    let writers = 6;
    let results: Vec<(String, bool)> = std::thread::scope(|scope| {
        let writer = |writer: usize| {
            let (database, watcher) = (&database, &watcher);
            move || {
                let mut results = Vec::new();
                for i in 0..12 {
                    if writer == 0 && i % 4 == 2 {
                        watcher.is_on.store(true, Ordering::Relaxed);
                    }
                    let (subject, object) = (format!("w{writer}"), format!("\"{i}"));
                    let names = [subject.as_str(), "has", object.as_str()];
                    let committed = try_commit_one(database, names);
                    if let Err(error) = &committed {
                        assert!(error.to_string().contains("the disk is gone"), "{error}");
                    }
                    results.push((shown(names), committed.is_ok()));
                }
                results
            }
        };
        let started: Vec<_> = (0..writers).map(|w| scope.spawn(writer(w))).collect();
        let joined = started.into_iter().map(|thread| thread.join());
        joined
            .flat_map(|results| results.expect("no panic"))
            .collect()
    });
    let failed = results.iter().filter(|(_, is_done)| !is_done).count();
    assert!(failed > 0, "some commits met the bad sync");
    let mut acknowledged: BTreeSet<String> = results
        .into_iter()
        .filter_map(|(quad, is_done)| is_done.then_some(quad))
        .collect();
    acknowledged.insert(shown(["makes", "the", "log"]));
    assert_eq!(quads(&database.snapshot()), acknowledged);
    assert_eq!(quads_in(&path), acknowledged);
}

#[test]
fn a_sync_in_the_background_that_fails_ends_writing() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let watcher = Arc::new(BadSyncs::default());
    let options = WriteOptions {
        durability: Durability::Interval(Duration::from_millis(1)),
        ..options(watcher.clone())
    };
    let database = Database::open_or_empty_with(&path, options).expect("it opens");
    commit_one(&database, ["makes", "the", "log"]);
    watcher.is_on.store(true, Ordering::Relaxed);
    let mut done = 1;
    // Termination: the sync that fails comes within some milliseconds.
    loop {
        let object = format!("\"{done}");
        match try_commit_one(&database, ["a", "b", &object]) {
            Ok(_) => done += 1,
            Err(Error::WritesRefused(_)) => break,
            Err(error) => assert!(error.to_string().contains("the disk is gone"), "{error}"),
        }
    }
    // What was published stays visible.
    assert_eq!(database.snapshot().quad_count(), done);
}

/// Neither many terms nor few large ones of a request that fails are written by the next commit; codes of languages are free again.
#[test]
fn terms_of_what_is_given_up_go_to_no_commit() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let database = Database::open_or_empty_with(&path, quiet()).expect("an empty folder");
    commit_one(&database, ["a", "b", "c"]);
    let many = |i: u32| {
        format!(
            "<http://e/n{i}> <http://e/p> 'x'@l-a{}-b{} . ",
            i % 300,
            i / 300
        )
    };
    let long = |i: u32| {
        format!(
            "<http://e/m{i}> <http://e/p> '{i} {}' . ",
            "long ".repeat(40_000)
        )
    };
    let requests: [String; 2] = [(0..60_000).map(many).collect(), (0..20).map(long).collect()];
    for (round, data) in (0..).zip(&requests) {
        // The copy fails when the first operation is done.
        let request = format!("INSERT DATA {{ {data} }} ; COPY <http://e/none> TO <http://e/g>");
        let failed = database.update(&request, &UpdateOptions::default());
        assert!(failed.is_err(), "{round}");
        let before = database.write_status().log_bytes;
        commit_one(&database, ["a", "b", &format!("c{round}")]);
        let written = database.write_status().log_bytes - before;
        assert!(written < 1_000, "{written} bytes of the log");
    }
    let expected: BTreeSet<_> = ["c", "c0", "c1"].map(|o| shown(["a", "b", o])).into();
    assert_eq!(quads(&database.snapshot()), expected);
    assert_eq!(quads_in(&path), expected);
    let checked = database.check(CheckDepth::Deep);
    assert!(checked.is_ok(), "{checked:?}");
}
