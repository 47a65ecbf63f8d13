//! `basalt schema`: the shapes of a store.

use crate::error::CliError;
use crate::output::write_stdout;
use basalt_engine::html::schema_page;
use basalt_engine::{Database, HistoryReport, SchemaReport};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Print the tables that were found in the data, with their columns
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  basalt schema --location store --format html > shapes.html\n  \
    basalt schema --location store --history"
)]
pub struct Schema {
    /// Folder of the store
    #[arg(
        long,
        env = "BASALT_LOCATION",
        value_name = "DIR",
        hide_env_values = true
    )]
    location: PathBuf,
    /// How to print
    #[arg(long, env = "BASALT_FORMAT", value_enum, default_value_t = Format::Text, hide_env_values = true)]
    format: Format,
    /// Print instead when and why each version was written, and which tables and columns came and went
    #[arg(long, env = "BASALT_HISTORY", hide_env_values = true)]
    history: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
    Html,
}

impl Schema {
    /// Runs it.
    pub fn run(self) -> Result<(), CliError> {
        let database = Database::open(&self.location)?;
        if self.history {
            let history = HistoryReport::new(&database.snapshot())?;
            return write_stdout(&match self.format {
                Format::Text => history.to_text(),
                Format::Json => format!("{:#}\n", history.to_json()),
                Format::Html => {
                    let text = "the history comes as text and json".to_owned();
                    return Err(CliError::Other(text));
                }
            });
        }
        let report = SchemaReport::new(&database.snapshot())?;
        write_stdout(&match self.format {
            Format::Text => report.to_text(),
            Format::Json => format!("{:#}\n", report.to_json()),
            Format::Html => schema_page(&report),
        })
    }
}
