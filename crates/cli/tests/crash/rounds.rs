//! Loads that end at random moments, by `kill -9` and by the signals that ask a process to stop.
//!
//! The moments are spread over the whole duration of a load, and a little beyond: round k of n falls at a
//! random point of the k-th part. `BASALT_CRASH_SEED` (default 1) chooses them; a failure prints it.

use crate::story::{Running, Story, Verdict, is_full, undisturbed};
use std::io::Write;
use std::time::Duration;

/// SplitMix64: a number for each seed, always the same.
fn mixed(seed: u64) -> u64 {
    let mut bits = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn seed() -> u64 {
    let given = std::env::var("BASALT_CRASH_SEED").ok();
    given.map_or(1, |text| {
        text.parse().expect("BASALT_CRASH_SEED is a number")
    })
}

/// The moment of a round.
fn moment(seed: u64, round: u32, rounds: u32, duration: Duration) -> Duration {
    let within = (mixed(seed ^ (u64::from(round) << 32)) >> 11) as f64 / (1_u64 << 53) as f64;
    duration.mul_f64(1.05 * (f64::from(round) + within) / f64::from(rounds))
}

/// How the rounds ended.
#[derive(Debug, Default)]
struct Tally {
    disturbed: u32,
    old: u32,
    new: u32,
}

/// The size of a test: products before and after, rounds.
fn size() -> (usize, usize, u32) {
    if is_full() {
        (200, 600, 40)
    } else {
        (30, 60, 8)
    }
}

/// Runs the rounds of one story; `disturb` ends the load and says whether anything may be left behind.
fn play(story: &Story, rounds: u32, disturb: &dyn Fn(Running, u32, &str) -> bool) -> Tally {
    let duration = undisturbed(story);
    let seed = seed();
    let mut tally = Tally::default();
    for round in 0..rounds {
        let moment = moment(seed, round, rounds, duration);
        let case =
            format!("seed {seed}, round {round} of {rounds}, after {moment:?} of {duration:?}");
        story.prepare("store");
        let mut running = Running::start(&story.place, None, &story.load("store"));
        let mut is_dead = false;
        match running.ends_before(moment) {
            Some(outcome) => assert_eq!(outcome.code, Some(0), "{case}: {outcome:?}"),
            None => {
                tally.disturbed += 1;
                is_dead = disturb(running, round, &case);
            }
        }
        let verdict = story.verdict("store", &case);
        match verdict {
            Verdict::Old => tally.old += 1,
            Verdict::New => tally.new += 1,
        }
        if !is_dead {
            story.assert_no_leftovers("store", &case);
        }
        story.assert_next_writer_cleans_up("store", verdict, &case);
    }
    eprintln!("seed {seed}: {rounds} rounds over {duration:?}: {tally:?}");
    assert!(tally.old > 0, "no round ended before the commit: {tally:?}");
    tally
}

fn kill(running: Running, _: u32, _: &str) -> bool {
    running.kill();
    true
}

#[test]
fn killed_while_loading_into_an_empty_folder() {
    let (_, new, rounds) = size();
    play(&Story::generated(None, new), rounds, &kill);
}

#[test]
fn killed_while_loading_into_a_store_with_data() {
    let (old, new, rounds) = size();
    play(&Story::generated(Some(old), new), rounds, &kill);
}

/// Ends a load by the signals that ask for it: it says so, and leaves no file.
fn stop(running: Running, round: u32, case: &str) -> bool {
    let (name, code, word) = match round % 2 {
        0 => ("INT", 130, "interrupted"),
        _ => ("TERM", 143, "terminated"),
    };
    running.signal(name);
    let outcome = running.end();
    match outcome.code {
        // The signal was too late, after the commit.
        Some(0) => {}
        // It came before the load began to listen: the process died as any other does.
        None => assert!(outcome.err.is_empty(), "{case}: {outcome:?}"),
        _ => {
            assert_eq!(outcome.code, Some(code), "{case}: {outcome:?}");
            let says = format!("error: {word}; nothing was loaded, 'store' is as it was");
            // Lines of progress may come before it.
            let last = outcome.err.lines().last();
            assert_eq!(last, Some(&*says), "{case}: {outcome:?}");
            let errors = outcome.err.matches("error").count();
            assert_eq!(errors, 1, "{case}: {outcome:?}");
        }
    }
    false
}

#[test]
fn stopped_while_loading_into_a_store_with_data() {
    let (old, new, rounds) = size();
    play(&Story::generated(Some(old), new), rounds, &stop);
}

/// The load hangs in the middle of its input, so the signal cannot be early or late.
#[test]
fn an_interrupted_load_removes_its_files_and_says_so() {
    for (name, code, word) in [("INT", 130, "interrupted"), ("TERM", 143, "terminated")] {
        for old in [None, Some(20)] {
            let story = Story::generated(old, 40);
            story.prepare("store");
            let case = format!("{name}, {old:?} products before");
            let mut running = Running::start(&story.place, None, &reading("store"));
            let stdin = begin_input(&story, &mut running);
            running.signal(name);
            let outcome = running.end();
            drop(stdin);
            assert_eq!(outcome.code, Some(code), "{case}: {outcome:?}");
            let says = format!("error: {word}; nothing was loaded, 'store' is as it was\n");
            // Lines of progress may come before it.
            assert!(outcome.err.ends_with(&says), "{case}: {outcome:?}");
            assert_eq!(
                outcome.err.matches("error").count(),
                1,
                "{case}: {outcome:?}"
            );
            story.assert_untouched("store", &case);
            story.assert_next_writer_cleans_up("store", Verdict::Old, &case);
            let again = Running::start(&story.place, None, &story.load("store")).end();
            assert_eq!(again.code, Some(0), "{case}: {again:?}");
            assert_eq!(story.verdict("store", &case), Verdict::New, "{case}");
        }
    }
}

/// A load that reads standard input.
pub fn reading(store: &str) -> Vec<String> {
    let arguments = ["load", "--location", store, "--format", "nq", "-"];
    arguments.map(str::to_owned).to_vec()
}

/// Gives a load more input than pipes hold, and no end of it: on return it is reading.
pub fn begin_input(story: &Story, running: &mut Running) -> std::process::ChildStdin {
    let mut stdin = running.stdin();
    let input = std::fs::read(story.place.path("new.nq")).expect("the new data");
    assert!(input.len() > 1 << 20, "more than a pipe holds");
    stdin.write_all(&input).expect("the load reads its input");
    stdin
}
