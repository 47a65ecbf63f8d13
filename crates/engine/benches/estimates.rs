//! Row estimates, measured: `cargo xtask bench estimates [SET]...` prints how far they are from what came out.
//!
//! For the benchmark's own queries and for 500 generated ones on each data set: the number of scans and joins that
//! ran to their end, the median, the 90th and 95th percentile and the maximum of their q-errors, in all and by operator,
//! and the ten worst with their queries. The numbers do not depend on the machine. Sets that are not there
//! (see `BASALT_REAL_DATA_DIR`) are said to be skipped.

#[path = "../tests/estimate_errors/mod.rs"]
mod estimate_errors;
#[path = "../tests/real_sets/mod.rs"]
mod real_sets;

use basalt_engine::{Database, Layout};
use estimate_errors::{Estimates, Summary, bsbm, bsbm_queries, walked_queries};
use real_sets::{QUDT, files_of, loaded};
use std::io::{self, Write};

/// Products of the benchmark's data, a million triples.
const PRODUCTS: u64 = 2_848;
/// Parameters drawn for each query of the benchmark.
const DRAWS: i64 = 10;
/// Generated queries of each set.
const WALKED: u64 = 500;
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
        "\n{} queries, {} of them without rows; {} more took too long\n",
        estimates.queries.len(),
        estimates.without_rows,
        estimates.left_out
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
    // `cargo bench -- NAME` measures one set only; other options of benchmark programs mean nothing here.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    if is_wanted("bsbm") {
        let database = bsbm(PRODUCTS);
        let queries = bsbm_queries(PRODUCTS, DRAWS);
        measure(&mut out, "BSBM, its queries", &database, &queries)?;
        let queries = walked_queries(&database, WALKED);
        measure(&mut out, "BSBM, walks", &database, &queries)?;
    }
    let sets: [(&str, &[&str]); 2] = [("codex-m", &["codex-m.nt.gz"]), ("qudt", QUDT)];
    for (name, files) in sets {
        if is_wanted(name)
            && let Some(files) = files_of(files)
        {
            let database = loaded(&files, Layout::Discover);
            let queries = walked_queries(&database, WALKED);
            measure(&mut out, &format!("{name}, walks"), &database, &queries)?;
        }
    }
    Ok(())
}
