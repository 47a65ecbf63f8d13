//! Random updates of random data: Basalt against the naive oracle, and a random query after each.
//!
//! Now and then the store is merged, with requests at each stage of the merge, or opened anew. Other stores have their power cut
//! at random moments, and go on with what is left.
//!
//! `BASALT_UPDATE_REQUESTS` sets how many requests, `BASALT_UPDATE_SEED` where the seeds begin. A difference is told
//! with the data before the request, so that it can be repeated by hand.

#[path = "transactions/disks.rs"]
#[allow(dead_code, reason = "each test program uses its own part")]
mod disks;
mod duel;
mod merge_pauses;
mod support;
mod update_crashes;
mod updates;

use basalt_engine::{CheckDepth, Database, MergeStage};
use basalt_testkit::Dataset;
use basalt_testkit::naive::update::{UpdateFailure, update};
use basalt_testkit::random_data::{DataOptions, random_dataset};
use basalt_testkit::random_query::update::random_update;
use basalt_testkit::random_query::{QueryOptions as Grammar, random_query};
use basalt_testkit::split_mix::SplitMix;
use duel::{Outcome, duel, expected, parsed};
use merge_pauses::Stages;
use support::{Configuration, Loaded, load, matrix, number_from_env};
use update_crashes::CrashingStore;
use updates::{compare_data, data_of, update_options};

/// Requests to one store.
const REQUESTS_PER_STORE: u64 = 12;

/// The first request at a stage of a merge: others than those between merges.
const STEPS_OF_MERGES: u64 = 1 << 32;

/// Without literals of which two spellings mean the same: what an update stores must be told by its text.
fn grammar() -> Grammar {
    Grammar {
        odd_literals: false,
        depth_max: 2,
        ..Grammar::default()
    }
}

/// What became of the requests.
#[derive(Debug, Default)]
struct Tally {
    requests: u64,
    changed: u64,
    /// Requests that must fail, and did.
    refused: u64,
    /// Requests that the standard leaves open, or that are too large for the oracle.
    open: u64,
    queries: u64,
    merges: u64,
    /// Merges after which there were changes that came during them.
    merged_with_changes: u64,
    reopened: u64,
    failures: Vec<String>,
}

/// One request; whether the store is still as the oracle has it.
fn one_request(
    loaded: &Loaded,
    configuration: &Configuration,
    data: &Dataset,
    operations: &[String],
    tally: &mut Tally,
) -> Result<(), String> {
    let text = operations.join(" ;\n");
    let actual = loaded
        .database
        .update(&text, &update_options(configuration));
    match (update(data, operations), actual) {
        (Err(UpdateFailure::Oracle(_)), _) => {
            tally.open += 1;
            Ok(())
        }
        (Err(UpdateFailure::Refused(_)), Err(_)) => {
            tally.refused += 1;
            compare_data(data, &loaded.database)
        }
        (Err(UpdateFailure::Refused(why)), Ok(_)) => Err(format!("it should be refused: {why}")),
        (Ok(_), Err(error)) => Err(format!("it is refused: {error}")),
        (Ok(after), Ok(report)) => {
            tally.changed += u64::from(after != *data);
            compare_data(&after, &loaded.database)?;
            let grown = after.quads().len() as i64 - data.quads().len() as i64;
            let reported = report.added as i64 - report.removed as i64;
            match grown == reported && report.operations.len() == operations.len() {
                true => Ok(()),
                false => Err(format!("{grown} quads more, but the report is {report:?}")),
            }
        }
    }
}

/// A query of the data as it is now.
fn one_query(
    loaded: &Loaded,
    configuration: &Configuration,
    data: &Dataset,
    seed: u64,
) -> Result<bool, String> {
    let text = random_query(seed, grammar()).to_string();
    let query = parsed(&text).ok_or("the query does not parse")?;
    let Ok(expected) = expected(data, &query) else {
        return Ok(false);
    };
    match duel(loaded, configuration, &text, &expected) {
        Outcome::Wrong(fault) => Err(format!("{fault:?} of the query\n{text}")),
        _ => Ok(true),
    }
}

fn one_store(seed: u64, configuration: &Configuration, tally: &mut Tally) {
    let options = DataOptions {
        quads_max: [160, 60, 20][seed as usize % 3],
        ..DataOptions::default()
    };
    let mut loaded = load(&random_dataset(seed, options), configuration);
    let stages = Stages::new();
    loaded.watch_merges(stages.watcher());
    for number in 0..REQUESTS_PER_STORE {
        let step = seed * REQUESTS_PER_STORE + number;
        let mut outcome = one_step(&loaded, configuration, step, tally);
        if outcome.is_ok() && step % 3 == 2 {
            outcome = between_requests(&mut loaded, configuration, &stages, step, tally);
        }
        if let Err(what) = outcome {
            tally
                .failures
                .push(format!("seed {seed}, request {number}: {what}"));
            return;
        }
    }
    let checked = loaded.database.check(CheckDepth::Deep);
    if let Err(error) = checked {
        tally.failures.push(format!("seed {seed}: {error}"));
    }
}

/// A request and a query.
fn one_step(
    loaded: &Loaded,
    configuration: &Configuration,
    step: u64,
    tally: &mut Tally,
) -> Result<(), String> {
    // Labels of blank nodes are those of the store from here on.
    let data = data_of(&loaded.database);
    let operations = random_update(step, grammar(), &data);
    tally.requests += 1;
    let mut outcome = one_request(loaded, configuration, &data, &operations, tally);
    if outcome.is_ok() {
        let now = data_of(&loaded.database);
        outcome = one_query(loaded, configuration, &now, step).map(|is_asked| {
            tally.queries += u64::from(is_asked);
        });
    }
    outcome.map_err(|what| {
        format!(
            "{what}\n{}\nin {configuration:?} on\n{}",
            operations.join(" ;\n"),
            data.to_nquads()
        )
    })
}

/// Merges while requests come, or opens the store anew; either must change nothing.
fn between_requests(
    loaded: &mut Loaded,
    configuration: &Configuration,
    stages: &Stages,
    step: u64,
    tally: &mut Tally,
) -> Result<(), String> {
    let mut data = data_of(&loaded.database);
    if step.is_multiple_of(2) {
        let mut steps = STEPS_OF_MERGES + step * 3;
        let mut outcome = Ok(());
        let before = loaded.database.snapshot();
        let loaded = &*loaded;
        let merged = stages.during(
            || loaded.database.merge_now(),
            |stage| {
                if stage != MergeStage::Ready && outcome.is_ok() {
                    outcome = one_step(loaded, configuration, steps, tally);
                    steps += 1;
                    data = data_of(&loaded.database);
                }
            },
        );
        merged.expect("a merge succeeds");
        outcome.map_err(|what| format!("during a merge: {what}"))?;
        let after = loaded.database.snapshot();
        tally.merges += 1;
        tally.merged_with_changes += u64::from(after.has_delta());
        if before.shares_version_with(&after) {
            return Err("the merge has made no version".to_owned());
        }
    } else {
        tally.reopened += u64::from(loaded.reopen());
    }
    compare_data(&data, &loaded.database).map_err(|what| format!("step {step}: {what}"))
}

#[test]
fn random_updates_do_what_the_oracle_does() {
    let requests = number_from_env("BASALT_UPDATE_REQUESTS", 360);
    let first = number_from_env("BASALT_UPDATE_SEED", 1);
    let configurations = matrix();
    let mut tally = Tally::default();
    for seed in first..first + requests.div_ceil(REQUESTS_PER_STORE) {
        let configuration = &configurations[seed as usize % configurations.len()];
        one_store(seed, configuration, &mut tally);
        if tally.failures.len() >= 3 {
            break;
        }
    }
    let failures = std::mem::take(&mut tally.failures);
    eprintln!("{tally:?}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(
        tally.changed * 2 > tally.requests,
        "too few requests change something"
    );
    assert!(
        tally.open * 5 < tally.requests,
        "too many requests are left out"
    );
    assert!(
        tally.merges > 0 && tally.reopened > 0,
        "neither merged nor opened anew"
    );
    assert!(
        tally.merged_with_changes * 3 > tally.merges,
        "too few changes come during merges"
    );
    assert!(
        tally.queries * 2 > tally.requests,
        "too few queries were asked"
    );
}

/// Requests between two crashes.
const REQUESTS_PER_CRASH: u64 = 5;
/// The first request to a store that crashes.
const STEPS_OF_CRASHES: u64 = 1 << 40;

/// Requests to a store that crashes again and again; how many requests its crashes have lost.
fn one_crashing_store(
    seed: u64,
    configuration: &Configuration,
    tally: &mut Tally,
) -> Result<usize, String> {
    let options = DataOptions {
        quads_max: [60, 20, 5][seed as usize % 3],
        ..DataOptions::default()
    };
    let mut random = SplitMix::new(seed);
    let mut store = CrashingStore::new(&random_dataset(seed, options), configuration, seed);
    let mut lost = 0;
    for number in 0..REQUESTS_PER_STORE {
        let step = STEPS_OF_CRASHES + seed * REQUESTS_PER_STORE + number;
        one_step(&store.loaded, configuration, step, tally)?;
        store.acknowledged();
        if random.chance(10) {
            let merged = store.loaded.database.merge_now();
            merged.map_err(|error| error.to_string())?;
            tally.merges += 1;
        }
        if number % REQUESTS_PER_CRASH == REQUESTS_PER_CRASH - 1 {
            lost += store.crash(step, &mut random)?;
            tally.reopened += 1;
        }
    }
    let checked = store.loaded.database.check(CheckDepth::Deep);
    checked.map_err(|error| error.to_string())?;
    Ok(lost)
}

#[test]
fn random_crashes_leave_what_was_acknowledged() {
    let requests = number_from_env("BASALT_UPDATE_REQUESTS", 240);
    let first = number_from_env("BASALT_UPDATE_SEED", 1);
    let configurations = matrix();
    let mut tally = Tally::default();
    let mut lost = 0;
    for seed in first..first + requests.div_ceil(REQUESTS_PER_STORE) {
        let configuration = &configurations[seed as usize % configurations.len()];
        match one_crashing_store(seed, configuration, &mut tally) {
            Ok(more) => lost += more,
            Err(what) => tally.failures.push(format!("seed {seed}: {what}")),
        }
        if tally.failures.len() >= 3 {
            break;
        }
    }
    let failures = std::mem::take(&mut tally.failures);
    eprintln!("{lost} requests lost that were not acknowledged, {tally:?}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(
        tally.changed * 2 > tally.requests,
        "too few requests change something"
    );
    assert!(tally.merges > 0, "no merges");
    assert!(
        lost as u64 * 4 > tally.reopened && lost as u64 * 4 < tally.requests * 3,
        "crashes come too late, or too early"
    );
}

/// A transaction that is dropped leaves nothing, and readers keep what they see.
#[test]
fn snapshots_stay_as_they_are() {
    let database = Database::in_memory();
    let options = update_options(&Configuration::default());
    let empty = database.snapshot();
    let insert = "INSERT DATA { <e:a> <e:p> 1 , 2 . GRAPH <e:g> { <e:a> <e:p> 1 } }";
    database.update(insert, &options).expect("it runs");
    let full = database.snapshot();
    database.update("CLEAR ALL", &options).expect("it runs");
    assert_eq!((empty.quad_count(), full.quad_count()), (0, 3));
    assert_eq!(database.snapshot().quad_count(), 0);
}
