//! `basalt load`: files into a store.

use crate::error::CliError;
use crate::interrupt::unless_stopped;
use crate::output::{message, write_stdout};
use crate::progress::LoadProgress;
use crate::values::{graph_format, show_bytes, show_count};
use basalt_engine::{
    CheckDepth, Database, GraphFormat, Input, LoadOptions, LoadReport, NoProgress, SyntaxError,
};
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Lines that `--lenient` skipped and that are shown.
const SKIPPED_SHOWN_MAX: usize = 20;

/// Load RDF files into a store, all or nothing; make the store if there is none
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  basalt load --location store data.nt.gz more.ttl")]
pub struct Load {
    /// Files in N-Triples, N-Quads, Turtle, TriG, RDF/XML or JSON-LD, also .gz, .zst and .bz2; `-` is
    /// standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Folder of the store
    #[arg(
        long,
        env = "BASALT_LOCATION",
        value_name = "DIR",
        hide_env_values = true
    )]
    location: PathBuf,
    /// Graph for triples that name none
    #[arg(long, env = "BASALT_GRAPH", value_name = "IRI", hide_env_values = true)]
    graph: Option<String>,
    /// Format of all files (nt, nq, ttl, trig, rdfxml, jsonld) [default: by file name]
    #[arg(long, env = "BASALT_FORMAT", value_parser = graph_format, hide_env_values = true)]
    format: Option<GraphFormat>,
    /// IRI that resolves relative IRIs
    #[arg(long, env = "BASALT_BASE", value_name = "IRI", hide_env_values = true)]
    base: Option<String>,
    /// Skip bad lines of N-Triples and N-Quads, and report them; an error in any other format is final
    #[arg(long, env = "BASALT_LENIENT", hide_env_values = true)]
    lenient: bool,
    /// Bad lines to skip before giving up
    #[arg(
        long,
        env = "BASALT_MAX_ERRORS",
        value_name = "N",
        requires = "lenient",
        hide_env_values = true
    )]
    max_errors: Option<u64>,
    /// Threads [default: one per core]
    #[arg(long, env = "BASALT_THREADS", value_name = "N", hide_env_values = true)]
    threads: Option<usize>,
    /// Print the summary as JSON on standard output
    #[arg(long, env = "BASALT_JSON", hide_env_values = true)]
    json: bool,
}

impl Load {
    /// Runs it.
    pub fn run(self) -> Result<(), CliError> {
        let start = Instant::now();
        let database = Database::open_or_empty(&self.location)?;
        let options = LoadOptions {
            inputs: inputs(&self.files, self.format),
            graph: self.graph,
            base: self.base,
            lenient: self.lenient,
            errors_max: self.max_errors.unwrap_or(u64::MAX),
            threads: self.threads.unwrap_or(0),
            ..LoadOptions::default()
        };
        let progress = LoadProgress::new(plain_bytes(&self.files));
        let load = || database.load(options, &progress);
        let report = progress.show_during(|| unless_stopped(&self.location, load))??;
        let seconds = start.elapsed().as_secs_f64();
        show_skipped(&report.skipped, report.skipped_lines);
        let bytes = database.check(CheckDepth::Quick)?.bytes;
        match self.json {
            true => write_stdout(&format!("{}\n", to_json(&report, seconds, bytes))),
            false => {
                message(&summary(&report, seconds, bytes));
                Ok(())
            }
        }
    }
}

/// Inputs of all files, in this format if one is given.
pub fn inputs(files: &[PathBuf], format: Option<GraphFormat>) -> Vec<Input> {
    let input = |path: &PathBuf| Input {
        format,
        ..Input::path(path)
    };
    files.iter().map(input).collect()
}

/// A database in memory with these files in it.
pub fn load_in_memory(
    files: &[PathBuf],
    format: Option<GraphFormat>,
    base: Option<String>,
) -> Result<Database, CliError> {
    let database = Database::in_memory();
    let options = LoadOptions {
        inputs: inputs(files, format),
        base,
        ..LoadOptions::default()
    };
    database.load(options, &NoProgress)?;
    Ok(database)
}

/// The size of all files, if all are files and none is compressed.
fn plain_bytes(files: &[PathBuf]) -> Option<u64> {
    let is_compressed = |path: &Path| {
        path.extension()
            .is_some_and(|e| e == "gz" || e == "gzip" || e == "zst" || e == "zstd" || e == "bz2")
    };
    let sizes = files.iter().map(|path| {
        let known = path.metadata().ok()?;
        (known.is_file() && !is_compressed(path)).then_some(known.len())
    });
    sizes.sum()
}

/// Shows some of the bad lines that were skipped, and how many there were.
pub fn show_skipped(skipped: &[SyntaxError], lines: u64) {
    for error in skipped.iter().take(SKIPPED_SHOWN_MAX) {
        message(&format!("skipped: {error}"));
    }
    let shown = skipped.len().min(SKIPPED_SHOWN_MAX) as u64;
    if lines > shown {
        message(&format!(
            "skipped: {} more lines",
            show_count(lines - shown)
        ));
    }
}

/// The summary for people.
pub fn summary(report: &LoadReport, seconds: f64, bytes: u64) -> String {
    let rate = (report.quads_read as f64 / seconds.max(1e-9)) as u64;
    let mut out = format!(
        "{} quads read in {seconds:.2} s, {} quads/s; {} duplicates, {} quads before, {} stored",
        show_count(report.quads_read),
        show_count(rate),
        show_count(report.duplicates),
        show_count(report.quads_before),
        show_count(report.quads_stored)
    );
    out.push_str(&format!(
        "\n{:.2} % in the cells of {} tables, {} irregular quads; {} on disk",
        report.coverage() * 100.0,
        report.tables.len(),
        show_count(report.irregular_quads),
        show_bytes(bytes)
    ));
    for table in &report.tables {
        out.push_str(&format!(
            "\n  {}: {} rows, {} columns",
            table.name,
            show_count(table.rows),
            table.columns
        ));
    }
    out
}

fn to_json(report: &LoadReport, seconds: f64, bytes: u64) -> Value {
    let tables: Vec<Value> = report
        .tables
        .iter()
        .map(|table| json!({"name": table.name, "rows": table.rows, "columns": table.columns}))
        .collect();
    let phases: Vec<Value> = report
        .phases
        .iter()
        .map(|(phase, time)| json!({"phase": phase.name(), "seconds": time.as_secs_f64()}))
        .collect();
    json!({
        "quads_read": report.quads_read,
        "quads_before": report.quads_before,
        "duplicates": report.duplicates,
        "quads": report.quads_stored,
        "coverage": report.coverage(),
        "irregular_quads": report.irregular_quads,
        "skipped_lines": report.skipped_lines,
        "seconds": seconds,
        "quads_per_second": report.quads_read as f64 / seconds.max(1e-9),
        "bytes_read": report.bytes_read,
        "bytes": bytes,
        "tables": tables,
        "phases": phases,
    })
}
