//! How even the queries are, and what the second thread gains: `cargo xtask bench draws [STORE DATA_DIR [DRAWS]]`.
//!
//! Every query of BI and of explore is asked with a number of draws of its parameters; product types are drawn for each level of
//! their tree where the query drills down. For each query and level: the rows touched (what all operators read from the store
//! and what they gave, those inside EXISTS too), the time with one thread and with all, and the time per row touched with each.
//! Where its largest is many times its least, some draw falls off a cliff: another plan or another path, not more work. What a
//! query costs however few its rows are is in it. A plan may touch more rows than must be touched, if each takes less time: those that must be are the
//! least that this plan or some with joins in another order touch, and the last columns have the time for each of them.
//!
//! Times are the least of several runs from the plan to the last row, without a profile, in this process. Without a store it makes the data of a
//! million triples.

#[path = "../../cli/src/allocator.rs"]
mod allocator;
#[path = "../tests/estimate_errors/mod.rs"]
mod estimate_errors;

use basalt_bsbm::{Draw, GenerateOptions, ParameterPool, UseCase, query_text};
use basalt_engine::{Answer, Database, ExplainedNode, OrderDraw, QueryOptions};
use estimate_errors::bsbm;
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Products of the data that is made where no store is given.
const PRODUCTS: u64 = 2_848;
/// Draws where no number is given.
const DRAWS: i64 = 5;
/// Runs of each query on each number of threads, after one that counts rows.
const RUNS: usize = 9;
/// Plans with joins in another order that are asked how many rows they touch: half of them near the chosen one.
const OTHER_PLANS: u64 = 12;
/// Costs of those that are near differ by up to so many times.
const COST_SPREAD: f64 = 8.0;
/// How many times as long as the chosen plan another one may take.
const TIME_FACTOR: f64 = 20.0;

/// One draw of a query.
struct Measured {
    /// Rows that the plan touches.
    rows: u64,
    /// Rows that must be touched.
    must: u64,
    one_ms: f64,
    all_ms: f64,
}

impl Measured {
    /// Nanoseconds for each row touched, of a time in milliseconds.
    fn row_ns(&self, ms: f64) -> f64 {
        ms * 1e6 / self.rows.max(1) as f64
    }

    /// Nanoseconds of one thread for each row that must be touched.
    fn must_ns(&self) -> f64 {
        self.one_ms * 1e6 / self.must.max(1) as f64
    }
}

/// Rows that a node and all below it gave, and those that they read from the store.
fn rows_of(node: &ExplainedNode) -> u64 {
    let own = node
        .actual
        .map_or(0, |actual| actual.rows + actual.read_rows);
    own + node.below().map(rows_of).sum::<u64>()
}

/// The rows touched, and the least time of some runs in milliseconds. Rows are counted in a run of their own: counting takes time too.
fn run(database: &Database, text: &str, threads: usize) -> Result<(u64, f64), Box<dyn Error>> {
    let mut options = QueryOptions::default();
    options.exec.threads = threads;
    let prepared = database.prepare(text, &options)?;
    let rows = rows_of(&prepared.profile(&options)?.root);
    let mut least = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        match prepared.run(&options)? {
            Answer::Solutions(mut solutions) => while solutions.next_batch()?.is_some() {},
            Answer::Graph(mut graph) => while graph.next_triples()?.is_some() {},
            Answer::Boolean(_) => {}
        }
        least = least.min(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok((rows, least))
}

/// The least number of rows that plans with joins in another order touch, of those that do not take far longer than `ms`.
fn least_rows(database: &Database, text: &str, ms: f64) -> Result<u64, Box<dyn Error>> {
    let mut least = u64::MAX;
    for seed in 0..OTHER_PLANS {
        let mut options = QueryOptions::default();
        options.exec.threads = 1;
        options.exec.timeout = Some(Duration::from_secs_f64(ms * TIME_FACTOR / 1e3 + 1e-3));
        let spread = (seed % 2 == 0).then_some(COST_SPREAD);
        options.order_draw = Some(OrderDraw { seed, spread });
        match database.prepare(text, &options)?.profile(&options) {
            Ok(report) => least = least.min(rows_of(&report.root)),
            Err(basalt_engine::Error::Timeout { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(least)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// The least of some values, the most, and how many times the least that is.
fn spread(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    format!("{least:.1} to {most:.1} | {:.1}", most / least)
}

/// One line of the table.
fn line(out: &mut impl Write, name: &str, measured: &[Measured]) -> io::Result<()> {
    let of = |value: &dyn Fn(&Measured) -> f64| measured.iter().map(value).collect::<Vec<f64>>();
    writeln!(
        out,
        "| {name} | {} | {:.0} | {:.3} | {:.3} | {:.2} | {} | {} | {:.0} | {} |",
        measured.len(),
        median(of(&|m| m.rows as f64)),
        median(of(&|m| m.one_ms)),
        median(of(&|m| m.all_ms)),
        median(of(&|m| m.one_ms / m.all_ms)),
        spread(&of(&|m| m.row_ns(m.one_ms))),
        spread(&of(&|m| m.row_ns(m.all_ms))),
        median(of(&|m| m.must as f64)),
        spread(&of(&Measured::must_ns)),
    )
}

/// What every query is asked of, and how often.
struct Bench {
    database: Database,
    pool: ParameterPool,
    /// Draws of each query and level.
    draws: i64,
    threads: usize,
}

impl Bench {
    /// The draws of a query at a level; those of queries without product types are drawn at level 0 too.
    fn measure(
        &self,
        use_case: UseCase,
        number: u8,
        level: usize,
    ) -> Result<Vec<Measured>, Box<dyn Error>> {
        let mut measured = Vec::new();
        for mix in 0..self.draws {
            let draw = Draw {
                seed: 7,
                mix,
                position: u32::from(number),
            };
            let parameters = match use_case {
                UseCase::Bi => self.pool.draw_at_level(use_case, number, draw, level),
                _ => self.pool.draw(use_case, number, draw),
            };
            let text = parameters.and_then(|drawn| query_text(use_case, number, &drawn));
            let text = text.ok_or("a query has no parameters")?;
            let (rows, one_ms) = run(&self.database, &text, 1)?;
            let (_, all_ms) = run(&self.database, &text, self.threads)?;
            let must = rows.min(least_rows(&self.database, &text, one_ms)?);
            measured.push(Measured {
                rows,
                must,
                one_ms,
                all_ms,
            });
        }
        Ok(measured)
    }

    /// The table of a use case.
    fn table(&self, out: &mut impl Write, use_case: UseCase) -> Result<(), Box<dyn Error>> {
        writeln!(
            out,
            "| {}, level | draws | rows touched | ms, 1 thread | ms, {} threads | times | ns a row, 1 thread | times | {} threads | times | rows that must be | ns for each, 1 thread | times |",
            use_case.name(),
            self.threads,
            self.threads
        )?;
        writeln!(
            out,
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
        )?;
        for number in 1..=use_case.queries() {
            let levels = match use_case.can_drill_down(number) {
                true => self.pool.depth(),
                false => 0,
            };
            let mut all = Vec::new();
            for level in 0..=levels {
                let mut measured = self.measure(use_case, number, level)?;
                let name = match levels {
                    0 => number.to_string(),
                    _ => format!("{number}, {level}"),
                };
                line(out, &name, &measured)?;
                all.append(&mut measured);
            }
            if levels > 0 {
                line(out, &format!("{number}, all"), &all)?;
            }
        }
        writeln!(out)?;
        Ok(())
    }
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
    let bench = Bench {
        database,
        pool,
        draws: arguments.get(2).map_or(Ok(DRAWS), |count| count.parse())?,
        threads: QueryOptions::default().exec.threads,
    };
    let mut out = io::stdout().lock();
    bench.table(&mut out, UseCase::Bi)?;
    bench.table(&mut out, UseCase::Explore)
}
