//! Row estimates, measured: `cargo xtask bench estimates [SET]...` prints how far they are from what came out.
//!
//! For the benchmark's own queries and for 500 generated ones on each data set: the number of scans and joins that
//! ran to their end, the median, the 90th and 95th percentile and the maximum of their q-errors, in all and by operator,
//! the ten worst with their queries, and how long planning took. But for that the numbers do not depend on the machine. Sets that are not there
//! (see `BASALT_REAL_DATA_DIR`) are said to be skipped.

#[path = "../tests/estimate_errors/mod.rs"]
mod estimate_errors;
mod query_sets;
#[path = "../tests/real_sets/mod.rs"]
mod real_sets;

use basalt_engine::Database;
use estimate_errors::{Estimates, Summary};
use query_sets::{Sizes, for_each_set};
use std::io::{self, Write};

/// How many queries there are.
const SIZES: Sizes = Sizes {
    draws: 10,
    walked: 500,
};
/// Estimates shown with their query.
const WORST: usize = 10;

fn row(out: &mut impl Write, name: &str, summary: Summary) -> io::Result<()> {
    let Summary {
        count,
        median,
        p90,
        p95,
        max,
    } = summary;
    writeln!(
        out,
        "| {name} | {count} | {median:.2} | {p90:.2} | {p95:.2} | {max:.0} |"
    )
}

fn measure(
    out: &mut impl Write,
    name: &str,
    database: &Database,
    queries: &[String],
) -> io::Result<()> {
    let mut estimates = Estimates::default();
    for text in queries {
        estimates.ask(database, text);
    }
    writeln!(
        out,
        "\n| {name} | estimates | median | 90 % | 95 % | max |\n| --- | ---: | ---: | ---: | ---: | ---: |"
    )?;
    if let Some(summary) = estimates.summary() {
        row(out, "all", summary)?;
    }
    for (operator, summary) in estimates.by_operator() {
        row(out, &operator, summary)?;
    }
    writeln!(
        out,
        "\n{} queries, {} of them without rows; {} more took too long",
        estimates.queries.len(),
        estimates.without_rows,
        estimates.left_out
    )?;
    let planned = |share: f64| estimates.planned_within(share).as_secs_f64() * 1e3;
    writeln!(
        out,
        "planned in {:.3} ms (median), {:.3} ms (95 %), {:.3} ms at most\n",
        planned(0.5),
        planned(0.95),
        planned(1.0)
    )?;
    for (estimate, text) in estimates.worst(WORST) {
        writeln!(
            out,
            "- {:.0}: {:.1} expected, {} came of {}\n\n```sparql\n{}\n```\n",
            estimate.error(),
            estimate.estimated,
            estimate.actual,
            estimate.line,
            text.trim()
        )?;
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for_each_set(SIZES, |name, database, queries| {
        measure(&mut out, name, database, queries)
    })
}
