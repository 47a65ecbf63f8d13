//! `basalt check`: whether a store is what it must be.

use crate::error::CliError;
use crate::output::write_stdout;
use crate::values::{show_bytes, show_count};
use basalt_engine::{CheckDepth, Database};
use clap::Args;
use std::path::PathBuf;

/// Verify a store: its files, and with --deep every byte and every invariant
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  basalt check --location store --deep")]
pub struct Check {
    /// Folder of the store
    #[arg(
        long,
        env = "BASALT_LOCATION",
        value_name = "DIR",
        hide_env_values = true
    )]
    location: PathBuf,
    /// Read everything: checksums, cells, terms, indexes
    #[arg(long, env = "BASALT_DEEP", hide_env_values = true)]
    deep: bool,
}

impl Check {
    /// Runs it.
    pub fn run(self) -> Result<(), CliError> {
        let depth = if self.deep {
            CheckDepth::Deep
        } else {
            CheckDepth::Quick
        };
        let report = Database::open(&self.location)?.check(depth)?;
        write_stdout(&format!(
            "no problem found: {} files, {}; {} tables, {} rows, {} quads in cells, {} irregular quads{}\n",
            report.files,
            show_bytes(report.bytes),
            report.tables,
            show_count(report.rows),
            show_count(report.quads_in_cells),
            show_count(report.irregular_quads),
            match report.commits_in_log {
                0 => String::new(),
                commits => format!("; {} commits in the log", show_count(commits as u64)),
            }
        ))
    }
}
