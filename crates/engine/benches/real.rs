//! Questions on real data sets, timed: Basalt beside Oxigraph, both in memory and in this process.
//!
//! `cargo xtask bench real` prints a table in Markdown: the median of five runs after one to warm up, from
//! the text of the query to the last row as terms. The questions are those of the test `real_questions`, which
//! compares the answers; here only the numbers of rows are compared. Basalt may use all cores, Oxigraph uses one.
//! Sets that are not there (see `BASALT_REAL_DATA_DIR`) are said to be skipped.

#[path = "../../cli/src/allocator.rs"]
mod allocator;
#[path = "../tests/real_questions/mod.rs"]
mod questions;
#[path = "../tests/real_sets/mod.rs"]
mod real_sets;

use basalt_engine::Layout;
use questions::{Oracle, Question, SETS};
use real_sets::{ask_basalt, loaded};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Runs that are timed.
const RUNS: usize = 5;
/// A run may take so long.
const TIME_MAX: Duration = Duration::from_secs(60);

/// The rows and the median time of some runs, or what went wrong.
fn measure(run: impl Fn() -> Result<usize, String>) -> Result<(usize, Duration), String> {
    let rows = run()?;
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok((rows, times[RUNS / 2]))
}

fn table_row(
    question: &Question,
    basalt: Result<(usize, Duration), String>,
    oracle: Result<(usize, Duration), String>,
) -> String {
    let asks = &question.asks;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    match (basalt, oracle) {
        (Ok((rows, ours)), Ok((theirs_rows, theirs))) => {
            let factor = ms(theirs) / ms(ours);
            let differ = match rows == theirs_rows {
                true => String::new(),
                false => format!(" (Oxigraph: {theirs_rows})"),
            };
            let (ours, theirs) = (ms(ours), ms(theirs));
            format!("| {asks} | {rows}{differ} | {ours:.2} | {theirs:.2} | {factor:.1} |")
        }
        (Ok((rows, ours)), Err(error)) => {
            format!("| {asks} | {rows} | {:.2} | {error} | |", ms(ours))
        }
        (Err(error), _) => format!("| {asks} | | {error} | | |"),
    }
}

fn main() -> io::Result<()> {
    let mut out = io::stdout();
    // `cargo bench -- NAME` asks one set only; other options of benchmark programs mean nothing here.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    for set in SETS {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == set.name) {
            continue;
        }
        let Some(files) = set.files() else { continue };
        let database = loaded(&files, Layout::Discover);
        let oracle = Oracle::of(&database);
        writeln!(
            out,
            "\n| {} | rows | Basalt ms | Oxigraph ms | times faster |",
            set.name
        )?;
        writeln!(out, "| --- | ---: | ---: | ---: | ---: |")?;
        for question in set.questions() {
            let ours = measure(|| {
                let answer = ask_basalt(&database, &question.text, question.is_union, TIME_MAX);
                answer.map(|a| a.len()).map_err(|error| error.to_string())
            });
            let theirs = measure(|| oracle.ask(&question, TIME_MAX).map(|a| a.len()));
            writeln!(out, "{}", table_row(&question, ours, theirs))?;
        }
    }
    Ok(())
}
