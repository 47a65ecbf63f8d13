//! `basalt update`: one update request on a store.

use crate::commands::limits::Limits;
use crate::commands::query::request_text;
use crate::error::CliError;
use crate::output::{message, write_stdout};
use crate::values::show_count;
use basalt_engine::{Database, QueryOptions, UpdateOptions, UpdateReport};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Operations of a request that the summary tells one by one.
const OPERATIONS_SHOWN_MAX: usize = 20;

/// Run one update request on a store, all or nothing; make the store if there is none
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    basalt update --location store --update 'INSERT DATA { <http://e/a> <http://e/p> 1 }'\n  \
    basalt update --location store --update-file changes.ru --json\n  \
    echo 'CLEAR GRAPH <http://e/g>' | basalt update --location store\n\n\
    The summary goes to standard error, with --json to standard output. A store that a server or another\n\
    command has open for writing is updated through that.")]
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
            true => write_stdout(&format!("{}\n", to_json(&report, quads))),
            false => {
                message(&to_text(&report, quads));
                Ok(())
            }
        }
    }
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
