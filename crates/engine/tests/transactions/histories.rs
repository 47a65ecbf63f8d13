//! Snapshot isolation and the order of commits, checked over recorded histories of random transactions.
//!
//! Several threads read and write registers. A register is a subject with one value, which stands in two quads; every value is written
//! once, so a read tells whose write it saw. Each transaction notes what it read, what it wrote and the number of its commit; each reader notes
//! what it read and which commits were acknowledged before it began. From that [`check`] finds lost updates, dirty and torn reads, reads of
//! several states, and snapshots that are older than what was known. Merges and commits that are versions come in between.

use crate::data::{is_full, quads, quads_in, wait_until};
use crate::large::at_once;
use basalt_engine::{Database, Durability, MergePolicy, Snapshot, Transaction, WriteOptions};
use basalt_rdf::{TermId, TermView};
use basalt_store::{QuadIds, QuadPattern};
use basalt_testkit::split_mix::SplitMix;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

/// Registers.
const REGISTERS: usize = 6;
/// Threads that write, and threads that read.
const THREADS: usize = 3;

/// The values of registers, by number; both copies of each.
type Values = BTreeMap<usize, (Option<u64>, Option<u64>)>;

/// What was done.
#[derive(Clone, Debug)]
enum Event {
    /// A transaction that was acknowledged.
    Commit {
        number: u64,
        read: Values,
        written: BTreeMap<usize, u64>,
    },
    /// A query of all registers.
    Read {
        thread: usize,
        /// The number of the newest commit of the state.
        number: u64,
        /// The newest commit that was acknowledged before.
        known: u64,
        read: Values,
    },
}

fn iri(snapshot: &Snapshot, name: &str) -> TermId {
    let iri = format!("http://e/{name}");
    snapshot.intern(TermView::Iri(&iri)).expect("there is room")
}

fn register(snapshot: &Snapshot, register: usize, copy: &str, value: u64) -> QuadIds {
    QuadIds {
        subject: iri(snapshot, &format!("r{register}")),
        predicate: iri(snapshot, copy),
        object: iri(snapshot, &format!("v{value}")),
        graph: TermId::DEFAULT_GRAPH,
    }
}

/// The value in a copy of a register, or nothing; two of them are torn.
fn value(snapshot: &Snapshot, register: usize, copy: &str) -> Result<Option<u64>, String> {
    let pattern = QuadPattern {
        subject: Some(iri(snapshot, &format!("r{register}"))),
        predicate: Some(iri(snapshot, copy)),
        ..QuadPattern::default()
    };
    let mut found = Vec::new();
    let visited = snapshot.matching(&pattern, &mut |quad| {
        found.push(quad.object);
        ControlFlow::Continue(())
    });
    visited.map_err(|error| error.to_string())?;
    match found[..] {
        [] => Ok(None),
        [object] => {
            let term = snapshot.dictionary().term(object).expect("it is known");
            let text = term.view().to_string();
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            Ok(digits.parse().ok())
        }
        _ => Err(format!("register {register} has {} values", found.len())),
    }
}

fn values(snapshot: &Snapshot, registers: &[usize]) -> Values {
    let both = |&register: &usize| {
        let read = |copy| value(snapshot, register, copy);
        let pair = read("one").and_then(|one| Ok((one, read("two")?)));
        (register, pair.unwrap_or_else(|what| unreachable!("{what}")))
    };
    registers.iter().map(both).collect()
}

/// What cannot be in a history, if there is something. Cost: the events.
fn check(events: &[Event]) -> Result<(), String> {
    let mut commits: BTreeMap<u64, (&Values, &BTreeMap<usize, u64>)> = BTreeMap::new();
    for event in events {
        if let Event::Commit {
            number,
            read,
            written,
        } = event
            && commits.insert(*number, (read, written)).is_some()
        {
            return Err(format!("two commits have the number {number}"));
        }
    }
    let numbers = commits.keys().copied();
    if !numbers.eq(1..=commits.len() as u64) {
        return Err("the commits are not numbered without gaps".to_owned());
    }
    // The state after each commit, one after the other.
    let mut state: BTreeMap<usize, u64> = BTreeMap::new();
    let mut states = vec![state.clone()];
    let is_of = |state: &BTreeMap<usize, u64>, read: &Values| {
        read.iter().all(|(register, (one, two))| {
            let expected = state.get(register).copied();
            *one == expected && *two == expected
        })
    };
    for (number, (read, written)) in &commits {
        if !is_of(&state, read) {
            return Err(format!("commit {number} read {read:?} of {state:?}"));
        }
        state.extend(written.iter());
        states.push(state.clone());
    }
    let mut last: BTreeMap<usize, u64> = BTreeMap::new();
    for event in events {
        let Event::Read {
            thread,
            number,
            known,
            read,
        } = event
        else {
            continue;
        };
        if number < known {
            return Err(format!("a reader saw commit {number} after commit {known}"));
        }
        if last
            .insert(*thread, *number)
            .is_some_and(|before| before > *number)
        {
            return Err(format!("reader {thread} went back to commit {number}"));
        }
        if !states
            .get(*number as usize)
            .is_some_and(|state| is_of(state, read))
        {
            return Err(format!("a reader of commit {number} read {read:?}"));
        }
    }
    Ok(())
}

/// One transaction: some registers are read, some of them are written; some are given up.
fn write(database: &Database, random: &mut SplitMix, fresh: &AtomicU64) -> Option<Event> {
    let mut transaction: Transaction<'_> = database.begin().expect("the turn");
    let registers: Vec<usize> = (0..REGISTERS).filter(|_| random.chance(50)).collect();
    let read = values(transaction.snapshot(), &registers);
    let mut written = BTreeMap::new();
    for (&register, (one, two)) in &read {
        if random.chance(30) {
            continue;
        }
        let new = fresh.fetch_add(1, Ordering::Relaxed);
        let snapshot = transaction.snapshot().clone();
        for (copy, old) in [("one", one), ("two", two)] {
            let gone = old.map(|old| self::register(&snapshot, register, copy, old));
            let gone: Vec<QuadIds> = gone.into_iter().collect();
            let come = [self::register(&snapshot, register, copy, new)];
            // In two steps, so that somebody could see the first alone.
            transaction.apply(&gone, &[]).expect("it can be stored");
            transaction.apply(&[], &come).expect("it can be stored");
        }
        written.insert(register, new);
    }
    if written.is_empty() || random.chance(15) {
        return None;
    }
    let commit = transaction.commit().expect("it can be committed");
    Some(Event::Commit {
        number: commit.number,
        read,
        written,
    })
}

/// Runs threads over a database and gives what they did.
fn history(database: &Database, seed: u64, rounds: usize) -> Vec<Event> {
    let events = Mutex::new(Vec::new());
    let (known, fresh) = (AtomicU64::new(0), AtomicU64::new(1));
    let note = |event| events.lock().expect("no holder panics").push(event);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (note, known, fresh) = (&note, &known, &fresh);
            scope.spawn(move || {
                let mut random = SplitMix::new(seed * 100 + thread as u64);
                for _ in 0..rounds {
                    if let Some(event) = write(database, &mut random, fresh) {
                        if let Event::Commit { number, .. } = &event {
                            known.fetch_max(*number, Ordering::SeqCst);
                        }
                        note(event);
                    }
                }
            });
            scope.spawn(move || {
                let all: Vec<usize> = (0..REGISTERS).collect();
                for _ in 0..rounds * 2 {
                    let known = known.load(Ordering::SeqCst);
                    let snapshot = database.snapshot();
                    let read = values(&snapshot, &all);
                    // A snapshot stays what it is.
                    std::thread::yield_now();
                    assert_eq!(values(&snapshot, &all), read);
                    note(Event::Read {
                        thread,
                        number: snapshot.commit_number(),
                        known,
                        read,
                    });
                }
            });
        }
    });
    events.into_inner().expect("no holder panics")
}

#[test]
fn random_histories_are_those_of_one_writer_after_the_other() {
    let rounds = if is_full() { 3_000 } else { 60 };
    let merging = WriteOptions {
        merge: MergePolicy {
            quads_min: 4,
            times_delta_max: f64::INFINITY,
            share_min: 0.0,
            ..MergePolicy::default()
        },
        ..at_once()
    };
    let unsynced = WriteOptions {
        durability: Durability::None,
        ..merging.clone()
    };
    let quiet = crate::data::quiet();
    for (seed, options) in [quiet, merging, unsynced].into_iter().enumerate() {
        let folder = TempDir::new().expect("a temporary folder");
        let path = folder.path().join("store");
        let database = Database::open_or_empty_with(&path, options).expect("an empty folder");
        let events = history(&database, seed as u64, rounds);
        check(&events).unwrap_or_else(|what| unreachable!("{what}"));
        let commits = events.iter().filter(|e| matches!(e, Event::Commit { .. }));
        assert!(commits.count() > rounds);
        // The last merge may have begun a moment ago.
        wait_until(|| !database.write_status().is_merging);
        let status = database.write_status();
        assert_eq!((status.merges > 0, status.merge_failure), (seed > 0, None));
        let found = quads(&database.snapshot());
        drop(database);
        assert_eq!(quads_in(&path), found);
    }
}

#[test]
fn wrong_histories_are_found() {
    let pair = |value: Option<u64>| (value, value);
    let commit = |number, read: &[(usize, Option<u64>)], written: &[(usize, u64)]| Event::Commit {
        number,
        read: read.iter().map(|&(r, value)| (r, pair(value))).collect(),
        written: written.iter().copied().collect(),
    };
    let read = |thread, number, known, one: Option<u64>, two: Option<u64>| Event::Read {
        thread,
        number,
        known,
        read: Values::from([(0, (one, two))]),
    };
    let right = vec![
        commit(1, &[(0, None)], &[(0, 7)]),
        read(0, 1, 1, Some(7), Some(7)),
        commit(2, &[(0, Some(7)), (1, None)], &[(0, 8), (1, 9)]),
        read(1, 1, 1, Some(7), Some(7)),
        read(0, 2, 1, Some(8), Some(8)),
    ];
    assert_eq!(check(&right), Ok(()));
    for (wrong, what) in [
        (commit(3, &[(0, Some(7))], &[(0, 10)]), "a lost update"),
        (commit(3, &[(0, Some(11))], &[(0, 10)]), "a dirty read"),
        (commit(2, &[], &[(0, 10)]), "a number given twice"),
        (commit(4, &[], &[(0, 10)]), "a gap"),
        (read(1, 2, 2, Some(8), Some(7)), "a torn read"),
        (read(1, 2, 2, Some(7), Some(7)), "an old value"),
        (
            read(1, 1, 2, Some(7), Some(7)),
            "an acknowledged commit missed",
        ),
        (read(0, 1, 1, Some(7), Some(7)), "a step back"),
        (read(1, 3, 2, Some(8), Some(8)), "a commit that is none"),
    ] {
        let events = [right.clone(), vec![wrong]].concat();
        assert!(check(&events).is_err(), "{what} is not found");
    }
}
