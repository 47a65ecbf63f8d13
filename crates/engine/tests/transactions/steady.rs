//! Changes without end of data that does not grow: the space that a store takes is bounded, log and merges included.
//!
//! `BASALT_STEADY_TRIPLES` and `BASALT_STEADY_ROUNDS` set the size; thresholds of merges are those of the default then, and
//! scaled with the size where nothing is said. The space is looked at after each request, and the most is compared with
//! that of a store into which the same data is loaded.

use crate::data::{commit_one, is_full, load, quads, quads_in, regular, shown, wait_until};
use crate::large::update;
use basalt_engine::{Database, MergePolicy, Snapshot, UpdateOptions, WriteOptions};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// The store and a merge take twice that of a fresh one, the log half of it.
const SPACE_MAX: f64 = 3.0;

fn number_from_env(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

/// Bytes of all files under a folder; files that go meanwhile count nothing.
fn bytes_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes_of(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Bytes of memory of the process that belong to no file, where the system tells.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}

/// The triples of subjects with numbers in this range, in a round.
fn triples(range: std::ops::Range<usize>, round: usize) -> String {
    let mut text = String::new();
    for i in range {
        // Three that stay the same, and one that does not.
        let _ = writeln!(
            text,
            "<http://e/s{i}> <http://e/name> \"name {i}\" . <http://e/s{i}> <http://e/size> {i} . \
             <http://e/s{i}> <http://e/next> <http://e/s{}> . <http://e/s{i}> <http://e/round> {round} .",
            i / 2
        );
    }
    text
}

/// The default where a size is given; scaled with the size of a small store where not.
fn policy_for(is_full_size: bool, fresh_bytes: u64) -> MergePolicy {
    match is_full_size {
        true => MergePolicy::default(),
        false => MergePolicy {
            quads_min: 5_000,
            log_bytes_min: fresh_bytes / 2,
            ..MergePolicy::default()
        },
    }
}

/// In one request what stays the same cancels itself; in two it goes to the log each time.
fn requests_of(round: usize, old: &str, new: &str) -> Vec<String> {
    let (delete, insert) = (
        format!("DELETE DATA {{ {old} }}"),
        format!("INSERT DATA {{ {new} }}"),
    );
    match round % 3 {
        0 => vec![format!("{delete} ; {insert}")],
        _ => vec![delete, insert],
    }
}

#[test]
fn the_same_data_again_and_again_takes_bounded_space() {
    let size = number_from_env("BASALT_STEADY_TRIPLES");
    let rounds =
        number_from_env("BASALT_STEADY_ROUNDS").unwrap_or(if is_full() { 100 } else { 20 });
    let subjects = size.unwrap_or(20_000) / 4;
    let folder = TempDir::new().expect("a temporary folder");
    let (path, fresh) = (folder.path().join("store"), folder.path().join("fresh"));
    let loaded = Database::open_or_empty(&fresh).expect("an empty folder");
    load(&loaded, &triples(0..subjects, 0));
    let fresh_bytes = bytes_of(&fresh);
    let policy = policy_for(size.is_some(), fresh_bytes);
    let options = WriteOptions {
        merge: policy,
        ..WriteOptions::default()
    };
    let database = Database::open_or_empty_with(&path, options).expect("an empty folder");
    load(&database, &triples(0..subjects, 0));
    let (mut most, mut versions, mut memories) = (0, BTreeSet::new(), Vec::new());
    // A tenth at a time, and now and then all at once.
    for round in 0..rounds {
        let part = match round % 10 {
            9 => subjects,
            _ => subjects.div_ceil(10),
        };
        for start in (0..subjects).step_by(part.max(1)) {
            let range = start..(start + part).min(subjects);
            let (old, new) = (triples(range.clone(), round), triples(range, round + 1));
            for request in requests_of(round, &old, &new) {
                update(&database, &request);
                most = most.max(bytes_of(&path));
                if size.is_none() {
                    // So small a store is written to faster than merged.
                    wait_until(|| {
                        most = most.max(bytes_of(&path));
                        !database.write_status().is_merging
                    });
                }
            }
        }
        versions.insert(database.snapshot().version());
        memories.push(memory());
    }
    wait_until(|| !database.write_status().is_merging);
    let status = database.write_status();
    assert_eq!(status.merge_failure, None);
    let times = most as f64 / fresh_bytes as f64;
    let of = |at: usize| memories[at] >> 20;
    eprintln!(
        "{} triples, {rounds} rounds: {fresh_bytes} bytes fresh, {most} at most ({times:.2} times), {} versions seen, {} merges, \
         MiB of memory after a tenth of the rounds {}, half {}, all {}",
        4 * subjects,
        versions.len(),
        status.merges,
        of(rounds / 10),
        of(rounds / 2),
        of(rounds - 1)
    );
    assert!(
        times < SPACE_MAX,
        "{times:.2} times the space of a fresh store"
    );
    assert!(versions.len() * 10 > rounds, "too few merges");
    let found = quads(&database.snapshot());
    assert_eq!(found.len(), 4 * subjects);
    assert_eq!(quads_in(&path), found);
}

/// Bytes of terms from which on a merge is due here.
const TERM_BYTES_MAX: u64 = 1 << 20;

#[test]
fn terms_of_requests_that_fail_take_bounded_memory() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let options = || WriteOptions {
        merge: MergePolicy {
            term_bytes_max: TERM_BYTES_MAX,
            ..MergePolicy::default()
        },
        ..WriteOptions::default()
    };
    let nodes: String = (0..5_000)
        .map(|i| format!("_:n{i} <http://e/p> {i} .\n"))
        .collect();
    // The second operation fails, when the first has made its nodes.
    let request = format!("INSERT DATA {{ {nodes} }} ; CREATE GRAPH <http://e/g>");
    let in_memory = Database::in_memory_with(Snapshot::empty(), options());
    let on_disk = Database::open_or_empty_with(&path, options()).expect("an empty folder");
    for database in [in_memory, on_disk] {
        load(&database, &regular(40));
        let graph = "INSERT DATA { GRAPH <http://e/g> { <http://e/a> <http://e/p> 1 } }";
        update(&database, graph);
        let mut expected = quads(&database.snapshot());
        let mut most = 0;
        for round in 0..20 {
            let failed = database.update(&request, &UpdateOptions::default());
            assert!(failed.is_err(), "round {round}");
            wait_until(|| !database.write_status().is_merging);
            most = most.max(database.snapshot().added_term_bytes());
        }
        let status = database.write_status();
        assert_eq!(status.merge_failure, None);
        assert!(status.merges > 1, "{} merges", status.merges);
        let bounds = TERM_BYTES_MAX / 2..=TERM_BYTES_MAX;
        assert!(bounds.contains(&most), "{most} bytes of terms");
        assert_eq!(quads(&database.snapshot()), expected);
        // All terms that are left go to the log with the next commit.
        let before = database.write_status().log_bytes;
        commit_one(&database, ["x", "y", "z"]);
        let written = database.write_status().log_bytes - before;
        assert!(written < TERM_BYTES_MAX / 16, "{written} bytes of the log");
        expected.insert(shown(["x", "y", "z"]));
        assert_eq!(quads(&database.snapshot()), expected);
        if database.write_status().durability.is_some() {
            assert_eq!(quads_in(&path), expected);
        }
    }
}
