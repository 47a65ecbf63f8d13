//! A process that is killed at random moments while it commits and merges: all that it had acknowledged is there, and
//! no commit is there in part.
//!
//! The process is this test program itself, told by an environment variable to write to a store and to print
//! each commit that is acknowledged. Rounds go on with the store that the one before has left.

use crate::data::{is_full, quads_in, quiet};
use basalt_engine::{Database, MergePolicy, WriteOptions};
use basalt_testkit::split_mix::SplitMix;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The store that the process writes to, and the number of its first commits.
const STORE: &str = "BASALT_TEST_KILLED_STORE";
const FIRST: &str = "BASALT_TEST_KILLED_FIRST";
/// Threads that commit.
const WRITERS: usize = 3;
/// Quads of each commit.
const QUADS: usize = 3;

/// What the process does: without the variables, which only the test below sets, nothing.
#[test]
fn child() {
    let Some(store) = std::env::var_os(STORE).map(PathBuf::from) else {
        return;
    };
    let first: usize = std::env::var(FIRST)
        .ok()
        .and_then(|first| first.parse().ok())
        .expect("a number");
    let options = WriteOptions {
        merge: MergePolicy {
            quads_min: 300,
            times_delta_max: f64::INFINITY,
            share_min: 0.0,
            ..MergePolicy::default()
        },
        ..quiet()
    };
    let database = Database::open_or_empty_with(&store, options).expect("it opens");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let database = &database;
            // It is killed sooner or later; the bound ends a process whose parent is gone.
            scope.spawn(move || (first..first + 100_000).for_each(|i| commit(database, writer, i)));
        }
    });
}

fn commit(database: &Database, writer: usize, i: usize) {
    let mut transaction = database.begin().expect("the turn");
    let subject = format!("w{writer}-{i}");
    let quads: Vec<_> = (0..QUADS)
        .map(|k| {
            let names = [subject.as_str(), "has", &format!("\"{k}")];
            crate::data::quad(transaction.snapshot(), names)
        })
        .collect();
    transaction.apply(&[], &quads).expect("it can be stored");
    transaction.commit().expect("it can be committed");
    let line = format!("\nACK {writer} {i}\n");
    // The parent may be gone.
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
}

/// Runs the process for a while, then kills it; returns the last commit that each writer had acknowledged.
fn run_and_kill(store: &Path, first: usize, time: Duration) -> BTreeMap<usize, usize> {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program)
        .args(["kills::child", "--exact", "--nocapture", "--test-threads=1"])
        .env(STORE, store)
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let stdout = child.stdout.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut last = BTreeMap::new();
        let mut reader = BufReader::new(stdout);
        let mut line = String::new();
        // A line that is not whole when the process ends is not counted.
        while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 0) && line.ends_with('\n') {
            if let Some(numbers) = line.trim().strip_prefix("ACK ") {
                let mut numbers = numbers.split(' ').filter_map(|n| n.parse::<usize>().ok());
                let (writer, i) = (numbers.next(), numbers.next());
                last.insert(writer.expect("a writer"), i.expect("a number"));
            }
            line.clear();
        }
        last
    });
    std::thread::sleep(time);
    // It may have failed by itself; then the verdict finds too few commits, or none.
    let _ = child.kill();
    let _ = child.wait();
    reader.join().expect("no panic")
}

#[test]
fn killed_at_random_moments() {
    let folder = TempDir::new().expect("a temporary folder");
    let store = folder.path().join("store");
    let (rounds, per_round) = if is_full() {
        (200, 1_000_000)
    } else {
        (8, 100_000)
    };
    let mut random = SplitMix::new(7);
    // The commits of each writer that must be there.
    let mut acknowledged: Vec<Vec<usize>> = vec![Vec::new(); WRITERS];
    let start = Instant::now();
    let mut commits = 0;
    for round in 0..rounds {
        let first = round * per_round;
        let time = Duration::from_millis(30 + random.below(400) as u64);
        let last = run_and_kill(&store, first, time);
        for (&writer, &last) in &last {
            acknowledged[writer].extend(first..=last);
            commits += last + 1 - first;
        }
        if !store.join("MANIFEST").exists() {
            continue;
        }
        let found = quads_in(&store);
        let mut by_commit: BTreeMap<&str, usize> = BTreeMap::new();
        for quad in &found {
            let subject = quad.split(' ').next().expect("a subject");
            *by_commit.entry(subject).or_default() += 1;
        }
        for (commit, quads) in &by_commit {
            assert_eq!(*quads, QUADS, "round {round}: part of {commit} is there");
        }
        for (writer, numbers) in acknowledged.iter().enumerate() {
            for i in numbers {
                let subject = format!("<http://e/w{writer}-{i}>");
                assert!(
                    by_commit.contains_key(&*subject),
                    "round {round}: {subject} is lost"
                );
            }
        }
        // At most one commit of each writer and round was not acknowledged yet.
        let known: usize = acknowledged.iter().map(Vec::len).sum();
        assert!(
            by_commit.len() <= known + WRITERS * (round + 1),
            "round {round}"
        );
    }
    assert!(
        commits > 20,
        "only {commits} commits in {:?}",
        start.elapsed()
    );
}
