//! What adapting gives, measured: a store made by small updates beside one that was loaded at once, and a store whose
//! vocabulary changes half-way.
//!
//! `cargo xtask bench adapt [--products N]` prints Markdown. First, tables and coverage of both stores after the updates, with the merges
//! that came by themselves, and after `optimize`, and how long explore and BI queries take in each, asked by turns in this process: for each
//! text the least of some runs, and for each query the sum over its texts. Then coverage while half of the subjects come with
//! other names and the old half goes. The tests `adaptive` hold the same at a small size.

#[path = "../../cli/src/allocator.rs"]
mod allocator;
#[path = "../tests/adaptive/blocks.rs"]
mod blocks;
#[path = "questions/mod.rs"]
mod questions;

use basalt_engine::{Database, GraphFormat, SchemaReport, UpdateOptions};
use blocks::{Block, Renamed, blocks, by_product, renamed, requests, text_of};
use questions::{Question, generated, questions};
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Triples of an update.
const TRIPLES: usize = 100;
/// Runs of each text in each store, after one to warm up.
const RUNS: usize = 5;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Sends requests; the time.
fn update(database: &Database, requests: &[String]) -> Outcome<Duration> {
    let start = Instant::now();
    for request in requests {
        database.update(request, &UpdateOptions::default())?;
    }
    Ok(start.elapsed())
}

/// Waits until no merge runs.
fn wait(database: &Database) {
    while database.write_status().is_merging {
        thread::sleep(Duration::from_millis(20));
    }
}

/// One line of what a store looks like.
fn tell(out: &mut dyn Write, when: &str, database: &Database) -> Outcome<()> {
    let report = SchemaReport::new(&database.snapshot())?;
    let columns: usize = report.tables.iter().map(|table| table.columns.len()).sum();
    writeln!(
        out,
        "| {when} | {} | {} | {columns} | {:.2} % | {} |",
        report.quads,
        report.tables.len(),
        report.coverage * 100.0,
        database.write_status().merges
    )?;
    Ok(())
}

fn head(out: &mut dyn Write, title: &str) -> Outcome<()> {
    writeln!(out, "\n## {title}\n")?;
    writeln!(out, "| | quads | tables | columns | in cells | merges |")?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: | ---: |")?;
    Ok(())
}

/// Tables with rows and columns, in an order that does not depend on numbers of terms.
fn shapes(database: &Database) -> Outcome<Vec<String>> {
    let report = SchemaReport::new(&database.snapshot())?;
    let mut tables: Vec<String> = report
        .tables
        .iter()
        .map(|table| {
            let columns = table.columns.iter();
            let mut columns: Vec<String> = columns
                .map(|c| format!("{} {} {} {}", c.predicate, c.kind, c.multi_valued, c.values))
                .collect();
            columns.sort();
            format!("{} {} {}", table.name, table.rows, columns.join(", "))
        })
        .collect();
    tables.sort();
    Ok(tables)
}

/// The times of a question in some stores, asked by turns: the sum over its texts of the least of some runs.
fn times(question: &Question, stores: &[&Database]) -> Outcome<Vec<Duration>> {
    let mut sums = vec![Duration::ZERO; stores.len()];
    for text in &question.texts {
        let mut least = vec![Duration::MAX; stores.len()];
        for run in 0..=RUNS {
            for (store, least) in stores.iter().zip(&mut least) {
                let time = questions::ask(store, text)?;
                if run > 0 {
                    *least = time.min(*least);
                }
            }
        }
        for (sum, least) in sums.iter_mut().zip(least) {
            *sum += least;
        }
    }
    Ok(sums)
}

/// Compares two stores by the queries.
fn compare(
    out: &mut dyn Write,
    title: &str,
    questions: &[Question],
    bulk: &Database,
    updated: &Database,
) -> Outcome<()> {
    writeln!(out, "\n## {title}\n")?;
    writeln!(out, "| query | loaded, ms | updated, ms | ratio |")?;
    writeln!(out, "| --- | ---: | ---: | ---: |")?;
    let mut logarithms = Vec::new();
    for question in questions {
        let times = times(question, &[bulk, updated])?;
        let ratio = times[1].as_secs_f64() / times[0].as_secs_f64();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let (one, other) = (ms(times[0]), ms(times[1]));
        writeln!(
            out,
            "| {} | {one:.2} | {other:.2} | {ratio:.2} |",
            question.name
        )?;
        logarithms.push(ratio.ln());
    }
    let mean = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
    writeln!(out, "| geometric mean | | | {mean:.2} |")?;
    out.flush()?;
    Ok(())
}

fn by_updates(out: &mut dyn Write, products: u64, folder: &Path) -> Outcome<()> {
    let text = generated(products)?;
    let questions = questions(products)?;
    let bulk = Database::open_or_empty(&folder.join("bulk"))?;
    // Both in one order, which decides where rows are; the tests load in another.
    let blocks = by_product(blocks(&text));
    let requests = requests("INSERT", &blocks, TRIPLES);
    bulk.load_text(&text_of(&blocks), GraphFormat::NTriples)?;
    let updated = Database::open_or_empty(&folder.join("updated"))?;
    let time = update(&updated, &requests)?;
    writeln!(
        out,
        "{} updates of some {TRIPLES} triples in {:.1} s",
        requests.len(),
        time.as_secs_f64()
    )?;
    head(out, "A store made by updates")?;
    tell(out, "loaded at once", &bulk)?;
    tell(out, "after the last update", &updated)?;
    wait(&updated);
    tell(out, "when merges have ended", &updated)?;
    let title = "Queries, with merges that came by themselves only";
    compare(out, title, &questions, &bulk, &updated)?;
    updated.merge_now()?;
    head(out, "After `optimize`")?;
    tell(out, "updated", &updated)?;
    let same = match shapes(&bulk)? == shapes(&updated)? {
        true => "the same tables, rows, columns and values",
        false => "OTHER tables, rows, columns or values",
    };
    writeln!(out, "\nBoth stores have {same}.")?;
    compare(
        out,
        "Queries, after `optimize`",
        &questions,
        &bulk,
        &updated,
    )
}

fn vocabulary(out: &mut dyn Write, products: u64, folder: &Path, what: Renamed) -> Outcome<()> {
    let (mut old, mut new): (Vec<Block>, Vec<Block>) = (Vec::new(), Vec::new());
    for (i, block) in blocks(&generated(products)?).into_iter().enumerate() {
        match i % 2 {
            0 => old.push(block),
            _ => new.push(renamed(&block, what)),
        }
    }
    let database = Database::open_or_empty(&folder.join(format!("{what:?}")))?;
    head(out, &format!("A vocabulary that changes: {what:?}"))?;
    database.load_text(&text_of(&old), GraphFormat::NTriples)?;
    tell(out, "first half loaded", &database)?;
    update(&database, &requests("INSERT", &new, TRIPLES))?;
    tell(
        out,
        "second half, renamed, after the last update",
        &database,
    )?;
    wait(&database);
    tell(out, "when merges have ended", &database)?;
    database.merge_now()?;
    tell(out, "after `optimize`", &database)?;
    update(&database, &requests("DELETE", &old, TRIPLES))?;
    wait(&database);
    tell(out, "first half deleted, when merges have ended", &database)?;
    database.merge_now()?;
    tell(out, "after `optimize`", &database)?;
    Ok(())
}

fn main() -> Outcome<()> {
    let mut out = io::stdout();
    let products = questions::number_after("--products")?.unwrap_or(2848);
    let folder = tempfile::tempdir()?;
    by_updates(&mut out, products, folder.path())?;
    for what in [Renamed::Predicates, Renamed::PredicatesAndClasses] {
        vocabulary(&mut out, products, folder.path(), what)?;
    }
    Ok(())
}
