//! `basalt update`: one update request on a store.
//!
//! A merge in the background would be given up when the process ends, so one that is due is waited for: a store that only
//! this command changes would be read with an ever longer log.

use crate::commands::limits::Limits;
use crate::commands::query::request_text;
use crate::error::CliError;
use crate::interrupt::{Work, unless_stopped};
use crate::output::{message, write_stdout};
use crate::values::show_count;
use basalt_engine::{Database, QueryOptions, UpdateOptions, UpdateReport};
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Operations of a request that the summary tells one by one.
const OPERATIONS_SHOWN_MAX: usize = 20;

/// Run one update request on a store, all or nothing; make the store if there is none
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    basalt update --location store --update 'INSERT DATA { <http://e/a> <http://e/p> 1 }'\n  \
    basalt update --location store --update-file changes.ru --json\n  \
    echo 'CLEAR GRAPH <http://e/g>' | basalt update --location store\n\n\
    The summary goes to standard error, with --json to standard output. Where the changes since the last merge\n\
    have become many they are merged before the command ends, after the summary. A store that a server has open\n\
    for writing is to be updated through that.")]
pub struct Update {
    /// Folder of the store
    #[arg(
        long,
        env = "BASALT_LOCATION",
        value_name = "DIR",
        hide_env_values = true
    )]
    location: PathBuf,
    /// The request: operations with `;` between them [default: standard input]
    #[arg(long, env = "BASALT_UPDATE", hide_env_values = true)]
    update: Option<String>,
    /// File with the request; `-` is standard input
    #[arg(
        long,
        env = "BASALT_UPDATE_FILE",
        value_name = "FILE",
        conflicts_with = "update",
        hide_env_values = true
    )]
    update_file: Option<PathBuf>,
    /// IRI that resolves relative IRIs of the request
    #[arg(long, env = "BASALT_BASE", value_name = "IRI", hide_env_values = true)]
    base: Option<String>,
    /// Graph that WHERE sees as the default graph, as USING; repeatable
    #[arg(
        long,
        env = "BASALT_USING_GRAPH",
        value_name = "IRI",
        hide_env_values = true
    )]
    using_graph: Vec<String>,
    /// Graph that WHERE sees as a named graph, as USING NAMED; repeatable
    #[arg(
        long,
        env = "BASALT_USING_NAMED_GRAPH",
        value_name = "IRI",
        hide_env_values = true
    )]
    using_named_graph: Vec<String>,
    /// Let a WHERE without USING see the union of all graphs
    #[arg(long, env = "BASALT_UNION_DEFAULT_GRAPH", hide_env_values = true)]
    union_default_graph: bool,
    #[command(flatten)]
    limits: Limits,
    /// Folder from which LOAD may read files (`file:` IRIs); repeatable [default: none]
    #[arg(
        long,
        env = "BASALT_LOAD_FOLDER",
        value_name = "DIR",
        hide_env_values = true
    )]
    load_folder: Vec<PathBuf>,
    /// Do not merge, however many changes there are: a later update, a server or `basalt optimize` does
    #[arg(long, env = "BASALT_NO_MERGE", hide_env_values = true)]
    no_merge: bool,
    /// Print the summary as JSON on standard output
    #[arg(long, env = "BASALT_JSON", hide_env_values = true)]
    json: bool,
}

impl Update {
    /// Runs it.
    pub fn run(self) -> Result<(), CliError> {
        let limits = self.limits.options()?;
        let text = request_text(
            self.update,
            self.update_file.as_deref(),
            "read the update from standard input",
        )?;
        let options = UpdateOptions {
            query: QueryOptions {
                base: self.base,
                default_graphs: self.using_graph,
                named_graphs: self.using_named_graph,
                union_default_graph: self.union_default_graph,
                ..limits
            },
            load_folders: self.load_folder,
        };
        let database = Database::open_or_empty(&self.location)?;
        let report = database.update(&text, &options)?;
        let quads = database.snapshot().quad_count();
        match self.json {
            true => write_stdout(&format!("{}\n", to_json(&report, quads)))?,
            false => message(&to_text(&report, quads)),
        }
        match self.no_merge {
            true => Ok(()),
            false => merge_if_due(&self.location, &database),
        }
    }
}

/// Merges if enough was changed. A merge that fails is told, and is no failure of the command: the update is committed.
fn merge_if_due(location: &Path, database: &Database) -> Result<(), CliError> {
    if !database.is_merge_due() {
        return Ok(());
    }
    let start = Instant::now();
    let changes = database.snapshot().delta_size();
    let merged = unless_stopped(location, Work::Merge, || database.merge_now())?;
    message(&match merged {
        Ok(_) => format!(
            "{} changed quads merged in {:.2} s",
            show_count(changes.added + changes.removed),
            start.elapsed().as_secs_f64()
        ),
        Err(error) => format!("warning: the update is committed, and was not merged: {error}"),
    });
    Ok(())
}

/// The summary for people.
fn to_text(report: &UpdateReport, quads: u64) -> String {
    let mut out = String::new();
    if report.operations.len() > 1 {
        for operation in report.operations.iter().take(OPERATIONS_SHOWN_MAX) {
            out.push_str(&format!(
                "{}: {} removed, {} added in {:.1} ms\n",
                operation.name,
                show_count(operation.removed),
                show_count(operation.added),
                operation.time.as_secs_f64() * 1e3
            ));
        }
        let rest = report.operations.len().saturating_sub(OPERATIONS_SHOWN_MAX);
        if rest > 0 {
            out.push_str(&format!("and {rest} more operations\n"));
        }
    }
    let seconds = report.run_time() + report.commit_time;
    out.push_str(&format!(
        "{} quads removed, {} added in {:.1} ms: commit {}, {} quads in the store",
        show_count(report.removed),
        show_count(report.added),
        seconds.as_secs_f64() * 1e3,
        report.commit,
        show_count(quads)
    ));
    out
}

/// The summary as one JSON object.
fn to_json(report: &UpdateReport, quads: u64) -> Value {
    let mut summary = report.to_json();
    summary["quads"] = json!(quads);
    summary["parse_seconds"] = json!(report.parse_time.as_secs_f64());
    summary["run_seconds"] = json!(report.run_time().as_secs_f64());
    summary["commit_seconds"] = json!(report.commit_time.as_secs_f64());
    summary
}
