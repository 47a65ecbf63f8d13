//! The power is cut at each operation in turn, and whatever was not synced is there, is not, or is there in part.
//!
//! Log and manifest are written through a disk that records; for each moment the files are made up that a crash could leave
//! (`testkit::crash_disk`), put into a folder beside the files of the versions, and opened. Files of versions count as
//! synced once a manifest that names them is written; that they are is shown by `crates/cli/tests/crash/system_calls.rs`.

use crate::data::{commit_one, is_full, load, quads, quads_in, quiet, regular};
use crate::disks::{Recorder, WatchedDisk, is_sync, link_files};
use crate::large::{at_once, update};
use crate::merge_pauses::Stages;
use basalt_engine::{Database, MergeStage, WriteOptions};
use basalt_testkit::crash_disk::{CrashDisk, Operation, Survival};
use basalt_testkit::split_mix::SplitMix;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use tempfile::TempDir;

/// What a store held after a commit.
type State = BTreeSet<String>;

/// What was done, and what was acknowledged when.
struct Story {
    disk: CrashDisk,
    /// The states after each commit, and the number of operations when it was acknowledged.
    states: Vec<(State, usize)>,
}

/// A store with some rows, whose disk is recorded from now on.
fn recorded(folder: &Path, options: WriteOptions) -> (Database, Arc<Recorder>) {
    let store = folder.join("store");
    let database = Database::open_or_empty_with(&store, quiet()).expect("an empty folder");
    load(&database, &regular(4));
    drop(database);
    let recorder = Recorder::new(&store, &folder.join("versions"));
    let options = WriteOptions {
        disk: WatchedDisk::watched_by(recorder.clone()),
        ..options
    };
    let database = Database::open_with(&store, options).expect("it opens");
    (database, recorder)
}

/// Commits with a merge and a load between them.
fn tell(folder: &Path) -> Story {
    let (database, recorder) = recorded(folder, quiet());
    let mut states = vec![(quads(&database.snapshot()), 0)];
    for i in 0..9 {
        match i {
            3 => drop(database.merge_now().expect("there is room")),
            6 => load(&database, "<http://e/loaded> <http://e/p> 1 ."),
            _ => {
                let text = format!("\"{}", "long text ".repeat(i * 3));
                commit_one(&database, ["s1", &format!("p{}", i % 3), &text]);
            }
        }
        states.push((quads(&database.snapshot()), recorder.operations()));
    }
    Story {
        disk: recorder.disk(),
        states,
    }
}

/// A merge with commits at each of its stages.
fn tell_of_a_merge(folder: &Path) -> Story {
    let store = folder.join("store");
    let database = Database::open_or_empty_with(&store, quiet()).expect("an empty folder");
    load(&database, &regular(4));
    commit_one(&database, ["s1", "p1", "\"before"]);
    drop(database);
    let recorder = Recorder::new(&store, &folder.join("versions"));
    let stages = Stages::new();
    let options = WriteOptions {
        disk: WatchedDisk::watched_by(recorder.clone()),
        merge_watcher: Some(stages.watcher()),
        ..quiet()
    };
    let database = Database::open_with(&store, options).expect("it opens");
    let mut states = vec![(quads(&database.snapshot()), 0)];
    let mut commit = |names: [&str; 3]| {
        commit_one(&database, names);
        states.push((quads(&database.snapshot()), recorder.operations()));
    };
    let mut round = 0;
    let merged = stages.during(
        || database.merge_now(),
        |stage| {
            if stage == MergeStage::Ready {
                return;
            }
            for i in 0..2 {
                round += 1;
                let text = format!("\"{}", "long text ".repeat(round * 2));
                commit(["s1", &format!("p{}", i % 3), &text]);
            }
        },
    );
    merged.expect("there is room");
    commit(["s1", "p1", "\"after"]);
    Story {
        disk: recorder.disk(),
        states,
    }
}

/// Transactions that become versions, and small ones between them.
fn tell_of_large_transactions(folder: &Path) -> Story {
    let (database, recorder) = recorded(folder, at_once());
    let mut states = vec![(quads(&database.snapshot()), 0)];
    for i in 0..8 {
        match i % 3 {
            0 => drop(commit_one(&database, ["s1", "p1", &format!("\"{i}")])),
            1 => drop(update(
                &database,
                &format!("INSERT DATA {{ <http://e/a> <http://e/p{i}> 1, 2, 3, 4, 5, 6 }}"),
            )),
            _ => drop(update(
                &database,
                "DELETE WHERE { <http://e/a> ?p ?o } ; DELETE { ?s <http://e/next> ?o } \
                 INSERT { ?o <http://e/next> ?s , <http://e/x> } WHERE { ?s <http://e/next> ?o }",
            )),
        }
        states.push((quads(&database.snapshot()), recorder.operations()));
    }
    Story {
        disk: recorder.disk(),
        states,
    }
}

/// Makes the folder that a crash has left.
fn put_together(folder: &Path, files: BTreeMap<String, Vec<u8>>) -> std::path::PathBuf {
    let crashed = folder.join("crashed");
    if crashed.exists() {
        fs::remove_dir_all(&crashed).expect("a folder of the test");
    }
    fs::create_dir(&crashed).expect("a folder of the test");
    let versions = folder.join("versions");
    for entry in fs::read_dir(&versions).expect("a folder of the test") {
        let entry = entry.expect("an entry");
        link_files(&entry.path(), &crashed.join(entry.file_name()));
    }
    for (name, bytes) in files {
        fs::write(crashed.join(name), bytes).expect("there is room");
    }
    crashed
}

/// Ways in which a crash can go.
fn survivals(rounds: usize) -> Vec<Survival> {
    let mut all = vec![Survival::Nothing, Survival::Everything];
    let percents = [50, 90, 20, 97].into_iter().cycle();
    all.extend(percents.take(rounds).map(Survival::Percent));
    all
}

#[test]
fn every_crash_leaves_the_acknowledged_commits() {
    let folder = TempDir::new().expect("a temporary folder");
    crash_at_every_moment(folder.path(), &tell(folder.path()), 5);
}

#[test]
fn every_crash_during_a_merge_leaves_the_acknowledged_commits() {
    let folder = TempDir::new().expect("a temporary folder");
    let story = tell_of_a_merge(folder.path());
    let operations = story.disk.operations();
    let place = |wanted: &dyn Fn(&Operation) -> bool| operations.iter().rposition(wanted);
    let of_log = |operation: &Operation| matches!(operation, Operation::Write(name, ..) | Operation::Sync(name) if name == "log-2");
    let renamed = place(&|operation| matches!(operation, Operation::Rename(..)));
    let renamed = renamed.expect("the manifest is renamed");
    let before = operations[..renamed].iter().filter(|o| of_log(o));
    // Its header, six commits, and the syncs of the header, of each round, and of the end.
    assert!(before.count() > 7, "the new log is there before");
    crash_at_every_moment(folder.path(), &story, 5);
}

#[test]
fn every_crash_around_large_transactions_leaves_whole_commits() {
    let folder = TempDir::new().expect("a temporary folder");
    let story = tell_of_large_transactions(folder.path());
    let is_rename = |o: &&Operation| matches!(o, Operation::Rename(..));
    let renames = story.disk.operations().iter().filter(is_rename).count();
    assert!(renames >= 4, "{renames} versions");
    crash_at_every_moment(folder.path(), &story, 1);
}

/// Cuts the power at every moment of a story, and looks at what is left. More than `few` logs must be torn, and more commits be there
/// before they were acknowledged.
fn crash_at_every_moment(folder: &Path, story: &Story, few: usize) {
    let operations = story.disk.operations().len();
    let (mut torn, mut ahead) = (0, 0);
    for moment in 0..=operations {
        // Between two syncs every moment can leave what the last of them can.
        let next = story.disk.operations().get(moment);
        if !is_full() && next.is_some_and(|next| !is_sync(next)) && moment % 3 != 0 {
            continue;
        }
        let mut random = SplitMix::new(moment as u64);
        for survival in survivals(if is_full() { 40 } else { 3 }) {
            let case = format!("crash before operation {moment} of {operations}, {survival:?}");
            let files = story.disk.after_crash(moment, survival, &mut random);
            let crashed = put_together(folder, files);
            let found = quads_in(&crashed);
            // A merge leaves the state as it was.
            let is_found = |(state, _): &(State, usize)| *state == found;
            let first = story.states.iter().position(is_found);
            let first = first.unwrap_or_else(|| unreachable!("{case}: no such state: {found:#?}"));
            let last = story.states.iter().rposition(is_found).unwrap_or(first);
            let acknowledged = story.states.iter().rposition(|(_, at)| *at <= moment);
            let acknowledged = acknowledged.expect("the first was there before");
            assert!(
                acknowledged <= last,
                "{case}: commit {acknowledged} is lost"
            );
            assert!(
                first <= acknowledged + 1,
                "{case}: a commit from the future"
            );
            ahead += usize::from(first > acknowledged);
            torn += usize::from(goes_on(&crashed, found, &case));
        }
    }
    assert!(torn > few, "{torn} logs with a torn tail");
    assert!(
        ahead > few,
        "{ahead} commits that were there before they were acknowledged"
    );
}

/// The next writer commits, and that is all that is new; whether it had to cut off something.
fn goes_on(crashed: &Path, mut expected: State, case: &str) -> bool {
    let bytes = |folder: &Path| -> u64 {
        let entries = fs::read_dir(folder).expect("a folder of the test");
        let files = entries.map(|entry| entry.expect("an entry"));
        let logs = files.filter(|f| f.file_name().to_string_lossy().starts_with("log"));
        logs.map(|f| f.metadata().expect("it is there").len()).sum()
    };
    let before = bytes(crashed);
    let database = Database::open_with(crashed, quiet()).expect("it opens");
    drop(database.begin().expect("the turn"));
    let is_cut = bytes(crashed) < before;
    let names = ["after", "the", "\"crash"];
    commit_one(&database, names);
    expected.insert(crate::data::shown(names));
    assert_eq!(quads_in(crashed), expected, "{case}: after the next commit");
    is_cut
}

#[test]
fn crashes_while_many_write() {
    let folder = TempDir::new().expect("a temporary folder");
    let store = folder.path().join("store");
    let database = Database::open_or_empty_with(&store, quiet()).expect("an empty folder");
    commit_one(&database, ["makes", "the", "log"]);
    drop(database);
    let recorder = Recorder::new(&store, &folder.path().join("versions"));
    let options = WriteOptions {
        disk: WatchedDisk::watched_by(recorder.clone()),
        ..quiet()
    };
    let database = Database::open_with(&store, options).expect("it opens");
    // Quads and the number of operations when they were acknowledged.
    let acknowledged = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (database, recorder, acknowledged) = (&database, &recorder, &acknowledged);
            scope.spawn(move || {
                for i in 0..8 {
                    let (subject, object) = (format!("w{writer}"), format!("\"{i}"));
                    let names = [subject.as_str(), "has", object.as_str()];
                    commit_one(database, names);
                    let at = recorder.operations();
                    let mut acknowledged = acknowledged.lock().expect("no holder panics");
                    acknowledged.push((crate::data::shown(names), at));
                }
            });
        }
    });
    let disk = recorder.disk();
    let acknowledged = acknowledged.into_inner().expect("no holder panics");
    let writes = disk
        .operations()
        .iter()
        .filter(|o| matches!(o, Operation::Write(..)));
    assert_eq!(writes.count(), 32);
    for moment in 0..=disk.operations().len() {
        let mut random = SplitMix::new(moment as u64);
        for survival in survivals(if is_full() { 20 } else { 1 }) {
            let files = disk.after_crash(moment, survival, &mut random);
            let crashed = put_together(folder.path(), files);
            let found = quads_in(&crashed);
            for (quad, at) in &acknowledged {
                let case = format!("{quad} at {at}, crash before operation {moment}, {survival:?}");
                assert!(*at > moment || found.contains(quad), "{case}: it is lost");
            }
            // Each writer's commits are there from its first one on.
            for writer in 0..4 {
                let has = |i: usize| {
                    let (subject, object) = (format!("w{writer}"), format!("\"{i}"));
                    found.contains(&crate::data::shown([&subject, "has", &object]))
                };
                let count = (0..8).filter(|&i| has(i)).count();
                assert!((0..count).all(has), "a commit without the one before");
            }
        }
    }
}
