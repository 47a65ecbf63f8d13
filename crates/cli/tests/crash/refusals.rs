//! Loads that must not succeed, and loads that run at the same time as others and as readers.

use crate::rounds::{begin_input, reading};
use crate::story::{Running, Story, Verdict, is_full};
use crate::support::command;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn products() -> usize {
    if is_full() { 600 } else { 60 }
}

#[test]
fn a_bad_line_near_the_end_of_a_large_input() {
    for old in [None, Some(30)] {
        let story = Story::generated(old, products());
        let good = std::fs::read_to_string(story.place.path("new.nq")).expect("the new data");
        let lines = good.lines().count();
        let bad =
            format!("{good}<http://e/s> <http://e/p> bad .\n<http://e/s> <http://e/p> 'good' .\n");
        story.place.write("bad.nq", bad);
        story.place.ok(&format!(
            "bsbm generate --products {} --output packed.nt.gz",
            products()
        ));
        let mut cut = std::fs::read(story.place.path("packed.nt.gz")).expect("packed data");
        cut.truncate(cut.len() - 100);
        story.place.write("cut.nt.gz", cut);
        let line = format!("bad.nq:{}:", lines + 1);
        for (files, says) in [
            ("bad.nq", line.as_str()),
            ("new.nq bad.nq", &line),
            ("bad.nq new.nq", &line),
            ("cut.nt.gz", "cut.nt.gz"),
        ] {
            story.prepare("store");
            let outcome = story.place.run(&format!("load --location store {files}"));
            assert_eq!(outcome.code, Some(1), "{files}: {outcome:?}");
            assert!(
                outcome.err.contains(says),
                "{files}: {says} is not in {outcome:?}"
            );
            story.assert_untouched("store", files);
        }
        story.assert_next_writer_cleans_up("store", Verdict::Old, "the next writer");
    }
}

#[test]
fn a_folder_in_which_the_first_load_failed_is_free_for_the_next() {
    let story = Story::generated(None, 20);
    story.place.write("bad.nt", "bad\n");
    for _ in 0..2 {
        let outcome = story.place.run("load --location store bad.nt");
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(outcome.err.contains("bad.nt:1:"), "{outcome:?}");
    }
    let outcome = Running::start(&story.place, None, &story.load("store")).end();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(story.verdict("store", "after a failed load"), Verdict::New);
}

#[test]
fn one_writer_at_a_time_and_readers_beside_it() {
    let story = Story::generated(Some(30), 60);
    story.prepare("store");
    let mut first = Running::start(&story.place, None, &reading("store"));
    let stdin = begin_input(&story, &mut first);
    // The first load waits for more input.
    for _ in 0..2 {
        let second = Running::start(&story.place, None, &story.load("store")).end();
        assert_eq!(second.code, Some(1), "{second:?}");
        let says = "error: `store` is open for writing elsewhere\n";
        assert_eq!(second.err, says, "{second:?}");
    }
    assert_eq!(story.verdict("store", "while a load runs"), Verdict::Old);
    drop(stdin);
    let outcome = first.end();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(story.verdict("store", "after the first load"), Verdict::New);
    story.assert_no_leftovers("store", "after the first load");
}

#[test]
fn of_two_loads_that_start_together_the_store_shows_whole_ones() {
    let story = Story::generated(Some(20), 40);
    for round in 0..3 {
        let case = format!("round {round}");
        story.prepare("store");
        let start = || Running::start(&story.place, None, &story.load("store"));
        let running = [start(), start(), start()];
        let codes = running.map(|load| {
            let outcome = load.end();
            let is_locked = outcome.err.contains("is open for writing elsewhere");
            assert!(outcome.code == Some(0) || is_locked, "{case}: {outcome:?}");
            outcome.code
        });
        assert!(codes.contains(&Some(0)), "{case}: {codes:?}");
        assert_eq!(story.verdict("store", &case), Verdict::New, "{case}");
        story.assert_no_leftovers("store", &case);
    }
}

#[test]
fn readers_always_see_a_whole_version_while_loads_replace_it() {
    let story = Story::generated(Some(20), 30);
    let mut reads = 0;
    for load in 0..6 {
        story.prepare("store");
        let mut running = Running::start(&story.place, None, &story.load("store"));
        loop {
            // A dump that meets the commit is the one or the other version.
            story.verdict("store", &format!("read {reads} during load {load}"));
            reads += 1;
            if let Some(outcome) = running.ends_before(Duration::ZERO) {
                assert_eq!(outcome.code, Some(0), "{outcome:?}");
                break;
            }
        }
    }
    assert!(reads > 6, "some reads fell into the loads");
}

fn set_mode(path: &Path, mode: &str) {
    let done = Command::new("chmod").arg(mode).arg(path).status();
    assert!(
        done.is_ok_and(|status| status.success()),
        "the mode of {path:?} can be set"
    );
}

/// A user whom modes concern; `None` if this process is one, and cannot be another.
#[cfg(unix)]
fn as_ordinary_user(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let told = Command::new("id")
        .arg("-u")
        .output()
        .expect("id says who this is");
    if told.stdout.trim_ascii() == b"0" {
        // Nobody.
        command.uid(65_534);
    }
}

#[cfg(unix)]
#[test]
fn a_folder_that_may_only_be_read() {
    let story = Story::generated(Some(20), 30);
    story.prepare("store");
    // The folder itself has to be passed through.
    set_mode(&story.place.path(""), "755");
    let run = |arguments: &[String]| {
        let mut command = command(&story.place.path(""));
        command.args(arguments);
        as_ordinary_user(&mut command);
        command.output()
    };
    let version: Vec<String> = ["--version".to_owned()].to_vec();
    if !run(&version).is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: another user cannot run the binary here");
        return;
    }
    set_mode(&story.place.path("store"), "555");
    set_mode(&story.place.path("store/LOCK"), "444");
    for store in ["store", "store/below", "fresh"] {
        set_mode(&story.place.path(""), "555");
        let output = run(&story.load(store)).expect("the binary runs");
        set_mode(&story.place.path(""), "755");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{store}: {err}");
        let is_clear = err.starts_with("error: cannot ") && err.contains(&format!("`{store}"));
        assert!(
            is_clear && err.contains("Permission denied"),
            "{store}: {err}"
        );
        assert_eq!(err.lines().count(), 1, "{store}: {err}");
    }
    let dump = ["dump", "--location", "store"].map(str::to_owned);
    let output = run(&dump).expect("the binary runs");
    assert!(
        output.status.success(),
        "a store can be read by those who may not write: {output:?}"
    );
    assert!(!output.stdout.is_empty());
    set_mode(&story.place.path("store"), "755");
    set_mode(&story.place.path("store/LOCK"), "644");
    story.assert_untouched("store", "after the refusals");
}

/// The lock is the operating system's, not the file's: a file that a dead program left locks nobody out.
#[test]
fn an_old_lock_file_is_no_lock() {
    let story = Story::generated(None, 20);
    std::fs::create_dir(story.place.path("store")).expect("a folder");
    let mut lock = std::fs::File::create(story.place.path("store/LOCK")).expect("a file");
    lock.write_all(b"4711\n").expect("it can be written");
    let outcome = Running::start(&story.place, None, &story.load("store")).end();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    // Held by somebody else, it is one.
    lock.lock().expect("nobody holds it");
    let outcome = Running::start(&story.place, None, &story.load("store")).end();
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(
        outcome
            .err
            .contains("`store` is open for writing elsewhere"),
        "{outcome:?}"
    );
    assert_eq!(story.verdict("store", "locked"), Verdict::New);
}
