//! `basalt load`: files into a store.

use crate::error::CliError;
use crate::interrupt::unless_stopped;
use crate::load_summary::LoadSummary;
use crate::output::{message, write_stdout};
use crate::progress::LoadProgress;
use crate::values::{bytes, check_temp, graph_format, show_count};
use basalt_engine::{Database, GraphFormat, Input, LoadOptions, NoProgress, SyntaxError};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Lines that `--lenient` skipped and that are shown.
const SKIPPED_SHOWN_MAX: usize = 20;

/// Load RDF files into a store, all or nothing; make the store if there is none
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  basalt load --location store data.nt.gz more.ttl\n  \
    basalt load --location store --memory 4G --temp /scratch dump.nq.zst\n  \
    basalt load --location store --lenient --errors bad.nt dump.nt\n  \
    zcat dump.nt.gz | grep -v draft | basalt load --location store --format nt -\n\n\
    Progress and summary go to standard error, with --json the summary to standard output. A bad line\n\
    ends the load, with its place and text, and the store is as it was before."
)]
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
    /// File for the bad lines: each as it is, after a comment with its place and what is wrong
    #[arg(
        long,
        env = "BASALT_ERRORS",
        value_name = "FILE",
        requires = "lenient",
        hide_env_values = true
    )]
    errors: Option<PathBuf>,
    /// Memory to use, such as 512M or 4G; what does not fit goes to temporary files
    /// [default: three quarters of the machine's]
    #[arg(long, env = "BASALT_MEMORY", value_name = "SIZE", value_parser = bytes,
        hide_env_values = true)]
    memory: Option<usize>,
    /// Folder for temporary files [default: the folder of the store]
    #[arg(long, env = "BASALT_TEMP", value_name = "DIR", hide_env_values = true)]
    temp: Option<PathBuf>,
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
        check_temp(self.temp.as_deref())?;
        let database = Database::open_to_load(&self.location)?;
        let options = LoadOptions {
            inputs: inputs(&self.files, self.format),
            graph: self.graph,
            base: self.base,
            lenient: self.lenient,
            errors_max: self.max_errors.unwrap_or(u64::MAX),
            errors: self.errors.clone(),
            memory: self.memory.map(|bytes| bytes as u64),
            temp: self.temp,
            threads: self.threads.unwrap_or(0),
            ..LoadOptions::default()
        };
        let progress = LoadProgress::new(&self.files);
        let load = || database.load(options, &progress);
        let loaded = progress.show_during(|| unless_stopped(&self.location, load))?;
        if let Some(errors) = self.errors.as_deref().filter(|path| holds_lines(path)) {
            message(&format!("the bad lines are in '{}'", errors.display()));
        }
        let report = loaded?;
        show_skipped(&report.skipped, report.skipped_lines);
        let summary = LoadSummary::new(&database, report, start, self.errors)?;
        match self.json {
            true => write_stdout(&format!("{}\n", summary.to_json())),
            false => {
                message(&summary.to_text());
                Ok(())
            }
        }
    }
}

/// Whether the file for bad lines is there and has any.
fn holds_lines(errors: &Path) -> bool {
    errors.metadata().is_ok_and(|known| known.len() > 0)
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
