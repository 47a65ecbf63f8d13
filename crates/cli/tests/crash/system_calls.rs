//! Death and failure at chosen system calls, and the order in which a load makes things durable.
//!
//! `strace` watches the real binary: it tells which files were written, synced, renamed and removed, kills the
//! process as it enters the k-th of these calls, or lets the call fail. Where there is no `strace`, or it
//! may not watch, the tests say that they were skipped.

use crate::story::{Running, Story, Verdict, is_full};
use crate::support::Outcome;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Calls by which a load changes what is on disk.
const CALLS: &str = "mkdir,write,pwrite64,writev,ftruncate,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,rmdir";

/// One call, in the order of their completion.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    name: String,
    /// What it is about: the file that is open, or the first path; absolute.
    path: String,
    /// The other path of a rename, the name within a folder of an `unlinkat`.
    second: String,
}

/// Whether the binary can be watched here.
fn can_watch() -> bool {
    let watched = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "true"])
        .output();
    let can = watched.is_ok_and(|output| output.status.success());
    if !can {
        eprintln!("skipped: strace is not there or may not watch");
    }
    can
}

/// Runs the load under strace with more options of it.
fn watch(story: &Story, options: &[&str]) -> Outcome {
    let mut arguments = vec![
        "-f".to_owned(),
        "-y".to_owned(),
        "-o".to_owned(),
        "trace".to_owned(),
    ];
    arguments.extend(options.iter().map(|&option| option.to_owned()));
    arguments.push(env!("CARGO_BIN_EXE_basalt").to_owned());
    arguments.extend(story.load("store"));
    Running::start(&story.place, Some("strace"), &arguments).end()
}

/// The calls of an undisturbed load that are about the store.
fn calls(story: &Story) -> Vec<Call> {
    story.prepare("store");
    let outcome = watch(story, &["-e", &format!("trace={CALLS}")]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let text = std::fs::read(story.place.path("trace")).expect("strace has written");
    let root = std::fs::canonicalize(story.place.path("")).expect("the folder of the test");
    let mut pending: BTreeMap<String, Call> = BTreeMap::new();
    let mut found = Vec::new();
    for line in String::from_utf8_lossy(&text).lines() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        let rest = rest.trim_start();
        if rest.starts_with("<...") {
            found.extend(pending.remove(thread));
        } else if let Some(call) = parse(rest, &root) {
            match rest.contains("<unfinished ...>") {
                true => drop(pending.insert(thread.to_owned(), call)),
                false if rest.contains(" = -1 ") => {}
                false => found.push(call),
            }
        }
    }
    let store = root.join("store");
    found.retain(|call| {
        Path::new(&call.path).starts_with(&store) || call.path == root.to_string_lossy()
    });
    found
}

/// Reads `name(fd<path>, ...` and `name("path", "path"...`.
fn parse(line: &str, root: &Path) -> Option<Call> {
    let (name, arguments) = line.split_once('(')?;
    let quoted: Vec<&str> = arguments.split('"').skip(1).step_by(2).collect();
    let absolute = |path: &str| root.join(path).to_string_lossy().into_owned();
    let digits = arguments.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    let open = arguments[digits..]
        .strip_prefix('<')
        .and_then(|rest| rest.split_once('>'));
    let (path, second) = match (digits, open) {
        (1.., Some((path, _))) => (path.to_owned(), (*quoted.first().unwrap_or(&"")).to_owned()),
        _ => {
            let second = quoted.get(1).map(|path| absolute(path)).unwrap_or_default();
            (absolute(quoted.first()?), second)
        }
    };
    Some(Call {
        name: name.to_owned(),
        path,
        second,
    })
}

fn is_sync(call: &Call) -> bool {
    call.name == "fsync" || call.name == "fdatasync"
}

fn is_write(call: &Call) -> bool {
    matches!(&*call.name, "write" | "pwrite64" | "writev" | "ftruncate")
}

fn is_removal(call: &Call) -> bool {
    matches!(&*call.name, "unlink" | "unlinkat" | "rmdir")
}

/// Every file and folder below.
fn paths(folder: &Path, found: &mut Vec<String>) {
    found.push(folder.to_string_lossy().into_owned());
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => paths(&path, found),
            false => found.push(path.to_string_lossy().into_owned()),
        }
    }
}

/// What is known of a load that was watched to its end.
struct Watched {
    /// The folder of the test.
    root: PathBuf,
    /// Files and folders of the store before the load.
    old: Vec<String>,
    /// The same, afterwards.
    new: Vec<String>,
    calls: Vec<Call>,
}

impl Watched {
    fn new(story: &Story) -> Self {
        let root = std::fs::canonicalize(story.place.path("")).expect("the folder of the test");
        story.prepare("store");
        let (mut old, mut new) = (Vec::new(), Vec::new());
        if root.join("store").exists() {
            paths(&root.join("store"), &mut old);
        }
        let calls = calls(story);
        paths(&root.join("store"), &mut new);
        Self {
            root,
            old,
            new,
            calls,
        }
    }

    fn name(&self, path: &str) -> String {
        self.root.join(path).to_string_lossy().into_owned()
    }

    /// The calls until the commit, and from the commit on.
    fn around_commit(&self) -> (&[Call], &[Call]) {
        let is_commit = |call: &Call| {
            call.name.starts_with("rename") && call.second == self.name("store/MANIFEST")
        };
        let commits = self.calls.iter().filter(|call| is_commit(call));
        assert_eq!(commits.count(), 1, "one commit: {:#?}", self.calls);
        let commit = self.calls.iter().position(is_commit);
        let (before, after) = self.calls.split_at(commit.expect("there is one"));
        assert_eq!(after[0].path, self.name("store/MANIFEST.tmp"));
        (before, after)
    }

    /// Where the first file or folder of the version before is removed.
    fn first_removal(&self, calls: &[Call]) -> Option<usize> {
        calls.iter().position(|call| {
            let removed = Path::new(&call.path).join(&call.second);
            let removed = removed.to_string_lossy();
            is_removal(call) && self.old.iter().any(|path| *path == removed)
        })
    }
}

/// Everything that the version consists of is synced after the last write to it, before the commit.
fn assert_durable(watched: &Watched, before: &[Call]) {
    let is_about = |call: &Call, path: &str| call.path == path;
    for path in &watched.new {
        if path.ends_with("/LOCK") {
            continue;
        }
        let temporary = path.replace("/MANIFEST", "/MANIFEST.tmp");
        let written = before
            .iter()
            .rposition(|c| is_about(c, &temporary) && is_write(c));
        let synced = before
            .iter()
            .rposition(|c| is_about(c, &temporary) && is_sync(c));
        // A file of a version before may be kept as it is.
        let is_new = !watched.old.contains(path) || temporary != *path;
        let must_be = is_new || written.is_some() || *path == watched.name("store");
        assert!(synced.is_some() || !must_be, "{path} is not synced");
        assert!(synced >= written, "{path} is written to after its sync");
    }
    if watched.old.is_empty() {
        let above = watched.root.to_string_lossy();
        let is_synced = before.iter().any(|c| is_sync(c) && is_about(c, &above));
        assert!(is_synced, "the folder above a new store: {before:#?}");
    }
}

#[test]
fn everything_is_durable_before_the_manifest_and_the_manifest_before_the_end() {
    if !can_watch() {
        return;
    }
    for old in [None, Some(10)] {
        let watched = Watched::new(&Story::generated(old, 15));
        let (before, after) = watched.around_commit();
        assert_durable(&watched, before);
        assert_eq!(watched.first_removal(before), None, "{before:#?}");
        let store = watched.name("store");
        let synced = after.iter().position(|c| is_sync(c) && c.path == store);
        assert!(synced.is_some(), "the manifest's new name: {after:#?}");
        let removed = watched.first_removal(after);
        let is_late = removed.is_none_or(|removed| Some(removed) > synced);
        assert!(
            is_late,
            "the old version is removed before that: {after:#?}"
        );
        for call in after.iter().filter(|call| is_write(call)) {
            assert!(
                !watched.new.contains(&call.path),
                "after the commit: {call:?}"
            );
        }
    }
}

/// A call to be disturbed: the k-th of this name that is about this path.
struct Target {
    name: String,
    path: String,
    count: usize,
}

/// Every different call of a load; many writes to one file are the first and the last.
fn targets(calls: &[Call]) -> Vec<Target> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for call in calls {
        *counts.entry((&call.name, &call.path)).or_default() += 1;
    }
    let mut found = Vec::new();
    for ((name, path), number) in counts {
        let chosen: BTreeSet<usize> = match number {
            ..=3 => (1..=number).collect(),
            _ => [1, number].into(),
        };
        found.extend(chosen.into_iter().map(|count| Target {
            name: name.to_owned(),
            path: path.to_owned(),
            count,
        }));
    }
    found
}

/// Runs the load with one call disturbed as strace says it.
fn disturb(story: &Story, target: &Target, how: &str) -> Outcome {
    story.prepare("store");
    let root = std::fs::canonicalize(story.place.path("")).expect("the folder of the test");
    // Calls that are given a path are given it as the load was: relative to the folder of the test.
    let relative = Path::new(&target.path).strip_prefix(&root).unwrap_or(&root);
    let mut options = vec!["-P", &target.path];
    let relative = relative.to_string_lossy().into_owned();
    if !relative.is_empty() {
        options.extend(["-P", &relative]);
    }
    let trace = format!("trace={}", target.name);
    let inject = format!("inject={}:{how}:when={}", target.name, target.count);
    options.extend(["-e", &trace, "-e", &inject]);
    watch(story, &options)
}

/// In quick runs every third target, not the same ones in both stories.
fn chosen(targets: Vec<Target>, first: usize) -> Vec<Target> {
    let step = if is_full() { 1 } else { 3 };
    targets
        .into_iter()
        .skip(first % step)
        .step_by(step)
        .collect()
}

#[test]
fn death_at_every_system_call_that_matters() {
    if !can_watch() {
        return;
    }
    let mut verdicts = Vec::new();
    for (i, old) in [None, Some(10)].into_iter().enumerate() {
        let story = Story::generated(old, 15);
        for target in chosen(targets(&calls(&story)), i) {
            let Target { name, path, count } = &target;
            let case = format!("killed at {name} {count} of {path}, {old:?} before");
            let outcome = disturb(&story, &target, "signal=KILL");
            // Threads may share the work otherwise than in the run that was watched.
            let is_dead = outcome.code != Some(0);
            let verdict = story.verdict("store", &case);
            assert!(is_dead || verdict == Verdict::New, "{case}: {outcome:?}");
            story.assert_next_writer_cleans_up("store", verdict, &case);
            verdicts.push((is_dead, verdict));
        }
    }
    let dead = verdicts.iter().filter(|(is_dead, _)| *is_dead).count();
    eprintln!("{} system calls, {dead} deaths", verdicts.len());
    assert!(
        dead * 10 >= verdicts.len() * 8,
        "strace kills: {dead} of {}",
        verdicts.len()
    );
    assert!(verdicts.contains(&(true, Verdict::Old)));
    assert!(verdicts.contains(&(true, Verdict::New)) || !is_full());
}

#[test]
fn failure_of_every_system_call_that_matters() {
    if !can_watch() {
        return;
    }
    let mut failures = 0;
    for (i, old) in [None, Some(10)].into_iter().enumerate() {
        let story = Story::generated(old, 15);
        let calls = calls(&story);
        let synced_last = calls
            .iter()
            .rposition(is_sync)
            .map(|i| calls[i].path.clone());
        let syncs_of_last = calls
            .iter()
            .filter(|c| is_sync(c) && Some(&c.path) == synced_last.as_ref())
            .count();
        for target in chosen(targets(&calls), i + 1) {
            let Target { name, path, count } = &target;
            let error = if name.contains("write") {
                "ENOSPC"
            } else {
                "EIO"
            };
            let case = format!("{error} of {name} {count} of {path}, {old:?} before");
            let outcome = disturb(&story, &target, &format!("error={error}"));
            let verdict = story.verdict("store", &case);
            let is_removal = name.starts_with("unlink") || name == "rmdir";
            let is_last_sync = is_sync(&Call {
                name: name.clone(),
                path: path.clone(),
                second: String::new(),
            }) && Some(path) == synced_last.as_ref()
                && *count == syncs_of_last;
            if outcome.code == Some(0) {
                // What cannot be removed is left to the next writer; all else must be noticed.
                let is_hit = std::fs::read_to_string(story.place.path("trace"));
                let is_hit = is_hit.is_ok_and(|text| text.contains("(INJECTED)"));
                assert!(is_removal || !is_hit, "{case} goes unnoticed: {outcome:?}");
                assert_eq!(verdict, Verdict::New, "{case}: {outcome:?}");
            } else {
                assert_eq!(outcome.code, Some(1), "{case}: {outcome:?}");
                // Only the last sync comes when the new version is in place already.
                let said = match is_last_sync {
                    true => "error: the outcome is unknown: ",
                    false => "error: cannot ",
                };
                assert!(outcome.err.contains(said), "{case}: {outcome:?}");
                let expected = if is_last_sync {
                    Verdict::New
                } else {
                    Verdict::Old
                };
                assert_eq!(verdict, expected, "{case}: {outcome:?}");
                if !is_last_sync {
                    story.assert_no_leftovers("store", &case);
                }
                failures += 1;
            }
            story.assert_next_writer_cleans_up("store", verdict, &case);
        }
    }
    eprintln!("{failures} failures");
    assert!(failures > 5, "strace lets calls fail: {failures}");
}
