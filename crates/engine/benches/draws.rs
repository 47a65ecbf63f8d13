//! How even the BI queries are, and what the second thread gains: `cargo xtask bench draws [STORE DATA_DIR [DRAWS]]`.
//!
//! Every query is asked with a number of draws of its parameters; product types are drawn for each level of their tree. For
//! each query and level: the rows touched (what all operators read from the store and what they gave, those inside EXISTS too), the time with one
//! thread and with all, and the time per row touched with all threads. Where its largest is many times its
//! least, some draw falls off a cliff: another plan or another path, not more work. Times are the least of several runs
//! from the plan to the last row, in this process. Without a store it makes the data of a million triples.

#[path = "../../cli/src/allocator.rs"]
mod allocator;
#[path = "../tests/estimate_errors/mod.rs"]
mod estimate_errors;

use basalt_bsbm::{Draw, GenerateOptions, ParameterPool, UseCase, query_text};
use basalt_engine::{Database, ExplainedNode, QueryOptions};
use estimate_errors::bsbm;
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;

/// Products of the data that is made where no store is given.
const PRODUCTS: u64 = 2_848;
/// Draws where no number is given.
const DRAWS: i64 = 5;
/// Runs of each query on each number of threads, after one to warm up.
const RUNS: usize = 3;

/// One draw of a query.
struct Measured {
    rows: u64,
    one_ms: f64,
    all_ms: f64,
}

impl Measured {
    /// Nanoseconds for each row touched, with all threads.
    fn row_ns(&self) -> f64 {
        self.all_ms * 1e6 / self.rows.max(1) as f64
    }
}

/// Rows that a node and all below it gave, and those that they read from the store.
fn rows_of(node: &ExplainedNode) -> u64 {
    let own = node
        .actual
        .map_or(0, |actual| actual.rows + actual.read_rows);
    own + node.below().map(rows_of).sum::<u64>()
}

/// The rows touched, and the least time of some runs in milliseconds.
fn run(database: &Database, text: &str, threads: usize) -> Result<(u64, f64), Box<dyn Error>> {
    let mut options = QueryOptions::default();
    options.exec.threads = threads;
    let (mut rows, mut least) = (0, f64::INFINITY);
    for number in 0..=RUNS {
        let report = database.prepare(text, &options)?.profile(&options)?;
        rows = rows_of(&report.root);
        if let Some(run) = report.run.filter(|_| number > 0) {
            least = least.min(run.time.as_secs_f64() * 1e3);
        }
    }
    Ok((rows, least))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// One line of the table.
fn line(out: &mut impl Write, name: &str, measured: &[Measured]) -> io::Result<()> {
    let of = |value: &dyn Fn(&Measured) -> f64| measured.iter().map(value).collect::<Vec<f64>>();
    let row_ns = of(&Measured::row_ns);
    let least = row_ns.iter().copied().fold(f64::INFINITY, f64::min);
    let most = row_ns.iter().copied().fold(0.0, f64::max);
    writeln!(
        out,
        "| {name} | {} | {:.0} | {:.2} | {:.2} | {:.2} | {least:.1} | {most:.1} | {:.1} |",
        measured.len(),
        median(of(&|m| m.rows as f64)),
        median(of(&|m| m.one_ms)),
        median(of(&|m| m.all_ms)),
        median(of(&|m| m.one_ms / m.all_ms)),
        most / least,
    )
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let (database, pool) = match arguments.as_slice() {
        [store, data, ..] => (
            Database::open(Path::new(store))?,
            ParameterPool::open(Path::new(data))?,
        ),
        _ => {
            let seed = GenerateOptions::new(PRODUCTS).seed;
            (bsbm(PRODUCTS), ParameterPool::from_options(PRODUCTS, seed)?)
        }
    };
    let draws = arguments.get(2).map_or(Ok(DRAWS), |count| count.parse())?;
    let threads = QueryOptions::default().exec.threads;
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "| BI, level | draws | rows touched | ms, 1 thread | ms, {threads} threads | times | ns a row, least | most | times |"
    )?;
    writeln!(
        out,
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    )?;
    for number in 1..=UseCase::Bi.queries() {
        let levels = if UseCase::Bi.can_drill_down(number) {
            pool.depth()
        } else {
            0
        };
        let mut all = Vec::new();
        for level in 0..=levels {
            let mut measured = Vec::new();
            // There is one type at the root; queries with other parameters are drawn there as well.
            for mix in 0..draws {
                let draw = Draw {
                    seed: 7,
                    mix,
                    position: u32::from(number),
                };
                let parameters = pool.draw_at_level(UseCase::Bi, number, draw, level);
                let text = parameters.and_then(|drawn| query_text(UseCase::Bi, number, &drawn));
                let text = text.ok_or("a query has no parameters")?;
                let (rows, one_ms) = run(&database, &text, 1)?;
                let (_, all_ms) = run(&database, &text, threads)?;
                measured.push(Measured {
                    rows,
                    one_ms,
                    all_ms,
                });
            }
            let name = match levels {
                0 => number.to_string(),
                _ => format!("{number}, {level}"),
            };
            line(&mut out, &name, &measured)?;
            all.append(&mut measured);
        }
        if levels > 0 {
            line(&mut out, &format!("{number}, all"), &all)?;
        }
    }
    Ok(())
}
