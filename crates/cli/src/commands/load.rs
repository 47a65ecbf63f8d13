//! `basalt load`: files into a store.

use crate::error::CliError;
use crate::interrupt::{Work, unless_stopped};
use crate::load_summary::{summary, to_text};
use crate::output::{message, write_stdout};
use crate::progress::LoadProgress;
use crate::values::{bytes, check_temp, graph_format, read_token, show_count};
use basalt_engine::{Database, GraphFormat, Holder, Input, LoadError, LoadOptions, NoProgress};
use basalt_server::{RemoteInput, RemoteLoad, on_stop_signal};
use clap::Args;
use serde_json::Value;
use std::fmt::Display;
use std::fs::File;
use std::io::Write;
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
    ends the load, with its place and text, and the store is as it was before. A store that a server has\n\
    open for writing is loaded by that server, with the same outcome."
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
    /// [default: three quarters of what is available; the server's where one has the store open]
    #[arg(long, env = "BASALT_MEMORY", value_name = "SIZE", value_parser = bytes,
        hide_env_values = true)]
    memory: Option<usize>,
    /// Folder for temporary files; not used where a server loads [default: the folder of the store]
    #[arg(long, env = "BASALT_TEMP", value_name = "DIR", hide_env_values = true)]
    temp: Option<PathBuf>,
    /// Threads [default: one per core]
    #[arg(long, env = "BASALT_THREADS", value_name = "N", hide_env_values = true)]
    threads: Option<usize>,
    /// File with the token of the server that has the store open for writing, if it wants one
    #[arg(
        long,
        env = "BASALT_TOKEN_FILE",
        value_name = "FILE",
        hide_env_values = true
    )]
    token_file: Option<PathBuf>,
    /// Print the summary as JSON on standard output
    #[arg(long, env = "BASALT_JSON", hide_env_values = true)]
    json: bool,
}

impl Load {
    /// Runs it.
    pub fn run(self) -> Result<(), CliError> {
        check_temp(self.temp.as_deref())?;
        let is_json = self.json;
        let loaded = match Database::holder_of(&self.location) {
            Some(holder) => self.load_there(holder)?,
            None => self.load_here()?,
        };
        match is_json {
            true => write_stdout(&format!("{loaded}\n")),
            false => {
                message(&to_text(&loaded));
                Ok(())
            }
        }
    }

    /// Loads in this process.
    fn load_here(self) -> Result<Value, CliError> {
        let start = Instant::now();
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
        let loaded = progress.show_during(|| unless_stopped(&self.location, Work::Load, load))?;
        if let Some(errors) = self.errors.as_deref().filter(|path| holds_lines(path)) {
            message(&format!("the bad lines are in '{}'", errors.display()));
        }
        let report = loaded?;
        show_skipped(&report.skipped, report.skipped_lines);
        Ok(summary(&database, &report, start, self.errors.as_deref())?)
    }

    /// Has the server load that has the store open for writing.
    fn load_there(self, holder: Holder) -> Result<Value, CliError> {
        message(&format!(
            "the store is open for writing: {holder}, and loads"
        ));
        if self.temp.is_some() {
            message("--temp has no meaning there: temporary files are in the store");
        }
        let load = RemoteLoad {
            holder,
            token: self.token_file.as_deref().map(read_token).transpose()?,
            graph: self.graph,
            base: self.base,
            lenient: self.lenient.then_some(self.max_errors.unwrap_or(u64::MAX)),
            memory: self.memory.map(|bytes| bytes as u64),
            threads: self.threads.unwrap_or(0),
            inputs: remote_inputs(&self.files, self.format),
        };
        let mut errors = errors_file(self.errors.as_deref(), &self.files)?;
        let progress = LoadProgress::new(&self.files);
        on_stop_signal(|signal| {
            message("error: stopped; the server loads nothing, unless its commit had begun");
            std::process::exit(i32::from(signal.exit_code()));
        })?;
        let bad_lines = errors.as_mut().map(|file| file as &mut dyn Write);
        let loaded = progress.show_during(|| load.run(&progress, bad_lines));
        if let Some(errors) = self.errors.as_deref().filter(|path| holds_lines(path)) {
            message(&format!("the bad lines are in '{}'", errors.display()));
        }
        let mut loaded = loaded?;
        let lines = loaded.summary["skipped_lines"].as_u64();
        show_skipped(&loaded.skipped, lines.unwrap_or(0));
        let errors = self.errors.map(|path| path.display().to_string());
        loaded.summary["errors_file"] = errors.into();
        Ok(loaded.summary)
    }
}

/// The file for the bad lines that a server sends back, empty.
fn errors_file(path: Option<&Path>, files: &[PathBuf]) -> Result<Option<File>, CliError> {
    let Some(path) = path else {
        return Ok(None);
    };
    let known = path.canonicalize().ok();
    let is_input = |file: &PathBuf| known.is_some() && file.canonicalize().ok() == known;
    if files.iter().any(is_input) {
        let path = path.to_owned();
        let error = LoadError::ErrorsFileIsInput { path };
        return Err(basalt_engine::Error::from(Box::new(error)).into());
    }
    let made = File::create(path).map_err(CliError::file("create", path));
    made.map(Some)
}

/// Inputs for a server, in this format if one is given.
fn remote_inputs(files: &[PathBuf], format: Option<GraphFormat>) -> Vec<RemoteInput> {
    let input = |path: &PathBuf| RemoteInput {
        path: path.clone(),
        format,
    };
    files.iter().map(input).collect()
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
pub fn show_skipped(skipped: &[impl Display], lines: u64) {
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
