//! What readers and writers notice of a merge: latencies of explore queries and of commits of one triple, while nothing
//! else goes on and while the store is merged in the background.
//!
//! `cargo xtask bench merge [--products N] [--clients N] [--merges N] [--niceness N]` prints Markdown. A store on disk is loaded; clients
//! ask explore queries one after the other without a pause, and one writer commits a triple every few milliseconds. Phases of quiet
//! and of one merge each follow each other by turns, so that what else the machine does falls on both. A merge is started by the commits
//! themselves, by a policy that makes the second commit start one: the store is opened anew with it for each such phase, and the phase ends when the merge
//! has.

#[path = "../../cli/src/allocator.rs"]
mod allocator;
#[path = "questions/mod.rs"]
mod questions;

use basalt_engine::{Database, GraphFormat, MergePolicy, UpdateOptions, WriteOptions};
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Between two commits.
const COMMIT_PAUSE: Duration = Duration::from_millis(5);
/// A phase without a merge.
const QUIET: Duration = Duration::from_secs(3);

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Times of many queries, and of many commits.
#[derive(Default)]
struct Latencies {
    queries: Vec<Duration>,
    commits: Vec<Duration>,
    time: Duration,
    phases: usize,
}

impl Latencies {
    fn add(&mut self, mut other: Self) {
        self.queries.append(&mut other.queries);
        self.commits.append(&mut other.commits);
        self.time += other.time;
        self.phases += other.phases;
    }
}

/// The time that so many of a thousand do not exceed.
fn permille(times: &mut [Duration], permille: usize) -> Duration {
    times.sort_unstable();
    let at = (times.len() * permille / 1000).min(times.len().saturating_sub(1));
    times.get(at).copied().unwrap_or_default()
}

/// Whether a merge is part of a phase.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Quiet,
    Merge,
}

/// Clients and the writer, until the phase is over.
fn run(
    phase: Phase,
    dir: &Path,
    texts: &[String],
    clients: usize,
    niceness: u8,
) -> Outcome<Latencies> {
    let merge = match phase {
        Phase::Quiet => MergePolicy::NEVER,
        // Of none at all a commit of one triple would be written as a version itself.
        Phase::Merge => MergePolicy {
            quads_min: 1,
            share_min: 0.0,
            niceness,
            ..MergePolicy::default()
        },
    };
    let options = WriteOptions {
        merge,
        ..WriteOptions::default()
    };
    let database = Database::open_with(dir, options)?;
    // What is read lazily once for a version.
    for text in texts.iter().take(200) {
        questions::ask(&database, text)?;
    }
    let is_over = AtomicBool::new(false);
    let next = AtomicUsize::new(0);
    let ask_all = || -> Result<Vec<Duration>, String> {
        let mut times = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            let text = &texts[next.fetch_add(1, Ordering::Relaxed) % texts.len()];
            times.push(questions::ask(&database, text).map_err(|error| error.to_string())?);
        }
        Ok(times)
    };
    let start = Instant::now();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(ask_all)).collect();
        let commits = commit_until_over(phase, &database);
        is_over.store(true, Ordering::Relaxed);
        let mut latencies = Latencies {
            commits: commits?,
            time: start.elapsed(),
            phases: 1,
            ..Latencies::default()
        };
        for client in clients {
            let times = client.join().map_err(|_| "a client ended badly")?;
            latencies.queries.extend(times?);
        }
        Ok(latencies)
    })
}

/// Commits a triple each few milliseconds until the time is over, or one merge.
fn commit_until_over(phase: Phase, database: &Database) -> Outcome<Vec<Duration>> {
    let start = Instant::now();
    let first = database.snapshot().commit_number();
    let mut times = Vec::new();
    loop {
        let number = first + times.len() as u64;
        let text = format!("INSERT DATA {{ <http://e/s{number}> <http://e/p> {number} }}");
        let before = Instant::now();
        database.update(&text, &UpdateOptions::default())?;
        times.push(before.elapsed());
        let is_over = match phase {
            Phase::Quiet => start.elapsed() > QUIET,
            // The next commit would start another.
            Phase::Merge => database.write_status().merges > 0,
        };
        if is_over {
            return Ok(times);
        }
        thread::sleep(COMMIT_PAUSE);
    }
}

fn main() -> Outcome<()> {
    let products = questions::number_after("--products")?.unwrap_or(2848);
    let clients = questions::number_after("--clients")?.unwrap_or(1) as usize;
    let merges = questions::number_after("--merges")?.unwrap_or(5);
    let niceness = match questions::number_after("--niceness")? {
        None => MergePolicy::default().niceness,
        Some(given) => u8::try_from(given)?,
    };
    let folder = tempfile::tempdir()?;
    let dir = folder.path().join("store");
    let text = questions::generated(products)?;
    Database::open_or_empty(&dir)?.load_text(&text, GraphFormat::NTriples)?;
    let texts = questions::explore_mixes(products, 50)?;
    let (mut quiet, mut merging) = (Latencies::default(), Latencies::default());
    for _ in 0..merges {
        quiet.add(run(Phase::Quiet, &dir, &texts, clients, niceness)?);
        merging.add(run(Phase::Merge, &dir, &texts, clients, niceness)?);
    }
    let mut out = io::stdout();
    writeln!(
        out,
        "{products} products, {clients} clients, {merges} merges of niceness {niceness}, {} cores\n",
        thread::available_parallelism()?
    )?;
    writeln!(
        out,
        "| | seconds | what | times | 50 % ms | 99 % ms | 99.9 % ms | longest ms |"
    )?;
    writeln!(
        out,
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |"
    )?;
    let mut p99 = Vec::new();
    for (name, latencies) in [("quiet", &mut quiet), ("merge", &mut merging)] {
        let seconds = latencies.time.as_secs_f64() / latencies.phases as f64;
        for (what, times) in [
            ("query", &mut latencies.queries),
            ("commit", &mut latencies.commits),
        ] {
            let ms = [500, 990, 999, 1000].map(|p| permille(times, p).as_secs_f64() * 1e3);
            p99.push(ms[1]);
            writeln!(
                out,
                "| {name} | {seconds:.1} | {what} | {} | {:.2} | {:.2} | {:.2} | {:.2} |",
                times.len(),
                ms[0],
                ms[1],
                ms[2],
                ms[3]
            )?;
        }
    }
    let (queries, commits) = (p99[2] / p99[0], p99[3] / p99[1]);
    writeln!(
        out,
        "\n99 %: queries {queries:.2} times, commits {commits:.2} times the quiet ones"
    )?;
    Ok(())
}
